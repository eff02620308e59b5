//! Runs a check through the gate and commits what it found: the one place where a feature's state follows a verdict.

pub mod checkout;
pub mod facts;

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::clock::duration;
use crate::engine::counted;
use crate::engine::verify::facts::Fact;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::gate;
use crate::gate::Candidate;
use crate::gate::Finding;
use crate::gate::Known;
use crate::gate::Red;
use crate::gate::Reuse;
use crate::gate::Step;
use crate::gate::Verdict;
use anyhow::Result;
use serde_json::json;
use std::time::Duration;

/// Lines of a check's output that are told at once; the rest is in its file.
const TAIL: usize = 12;

/// What files of the soft closure that changed are.
const LOADED: &str = "changed since approval, and loaded by tools by themselves";

/// Files that are named at once; `show` has all.
const NAMED: usize = 8;

/// Whether a verdict that does not prove counts as one of the feature's attempts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Attempt {
    Counts,
    Free,
}

/// What one check run meant for its feature.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub id: String,
    pub verdict: Verdict,
    pub state: State,
}

/// Runs the check of one feature and commits the result.
///
/// # Errors
/// A usage failure when there is no such feature, or it has no check.
pub fn verify(ws: &mut Workspace, id: &str, attempt: Attempt, at: &Occasion) -> Result<Outcome> {
    let checklist = ws.checklist()?;
    let verdict = judge(ws, checklist.find(id)?, at)?;
    settle(ws, verdict, attempt, at)
}

/// Tells a verdict and commits what follows from it for its feature.
pub fn settle(ws: &mut Workspace, verdict: Verdict, attempt: Attempt, at: &Occasion) -> Result<Outcome> {
    let mut checklist = ws.checklist()?;
    let id = verdict.feature();
    let feature = checklist.find(id)?.clone();
    tell(ws, &verdict, if feature.is_done() { Seen::Again } else { Seen::ForProof });
    // A feature that is not done keeps the reason, for the session that comes next.
    let silent = says_nothing(&verdict) || verdict.trial().is_uninstalled();
    if verdict.finding() == Finding::Interrupted || (feature.is_done() && silent) {
        let state = checklist.state(id, &ws.head()?.tree);
        return Ok(Outcome { id: id.to_owned(), verdict, state });
    }
    let (subject, kind) = record(&mut checklist, &feature, &verdict, attempt)?;
    let origin = ws.origin(at.session, Some(id));
    ws.save_told(&checklist, &subject, &[Fact::verdict(kind, &verdict)], vec![], &origin)?;
    if verdict.is_red() {
        ws.project.keep_base(verdict.commit())?;
    }
    let state = checklist.state(id, &ws.head()?.tree);
    Ok(Outcome { id: id.to_owned(), verdict, state })
}

/// What a look at a feature before a session found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Before {
    Proven,
    /// It passed all along, so there is nothing to work on.
    AlreadyGreen,
    Open,
}

/// Runs the check of a feature and commits only a pass: work done elsewhere may have made it pass.
pub fn prove_if_green(ws: &mut Workspace, id: &str, at: &Occasion) -> Result<Before> {
    let checklist = ws.checklist()?;
    let verdict = judge(ws, checklist.find(id)?, at)?;
    if !verdict.finding().is_green() {
        // That it fails before the work is what one expects; its output would only be noise.
        ws.notice(format!("check {id}: {} before the session", verdict.finding()));
        return Ok(Before::Open);
    }
    let outcome = settle(ws, verdict, Attempt::Free, at)?;
    Ok(if outcome.verdict.proves() { Before::Proven } else { Before::AlreadyGreen })
}

/// Runs the check of one feature; decides nothing.
pub fn judge(ws: &Workspace, feature: &Feature, at: &Occasion) -> Result<Verdict> {
    let Some(check) = &feature.check else {
        return Err(Failure::usage(format!("the feature `{}` has no check", feature.id))
            .hint(format!("`longhaul feature edit {}` gives it one", feature.id))
            .into());
    };
    begins(ws, &feature.id);
    let ways = ws.ways();
    let verdict = ws.gate(at)?.judge(&feature.id, check, &known(ws, feature), &|id| ws.pinned(id));
    ws.reopen(&ways);
    let verdict = verdict?;
    keep_moved(ws, &verdict)?;
    Ok(verdict)
}

/// Tells that a check is about to run; it may take long.
fn begins(ws: &Workspace, id: &str) {
    ws.tell(&Event::CheckStarted { feature: id.to_owned() });
}

/// Tells whether a verdict is about the circumstances only, so that nothing follows from it for the feature.
fn says_nothing(verdict: &Verdict) -> bool {
    verdict.finding().is_silent()
}

/// Hands the recorded non-pass of a feature to the gate.
fn red(feature: &Feature) -> Option<Red> {
    let baseline = feature.red()?;
    Some(Red {
        commit: baseline.commit.clone(),
        verdict: baseline.verdict.clone(),
        check: baseline.check.clone(),
        // What is done was looked at twice.
        unprepared: baseline.unprepared && !feature.is_done(),
    })
}

/// Hands to the gate what is recorded of a feature.
pub fn known(ws: &Workspace, feature: &Feature) -> Known {
    let tree_of = |commit: &str| ws.project.tree_of(commit).ok();
    let since = feature.since().map(str::to_owned);
    let mut known = Known { red: red(feature), since, flaky: feature.is_flaky(), results: feature.results() };
    let digest = feature.check.as_ref().map(gate::Check::digest);
    let failure = feature.red().filter(|red| red.is_failure() && Some(&red.check) == digest.as_ref());
    known.results.extend(failure.and_then(|red| Some((tree_of(&red.commit)?, false))));
    known
}

/// Commits what a check changed in tracked files, so that the next one meets a clean tree and nothing is thrown away.
fn keep_moved(ws: &Workspace, verdict: &Verdict) -> Result<()> {
    // What was uncommitted before the check, or when it ran elsewhere, is not the check's.
    if !verdict.is_in_place() || ws.project.changes()?.tracked.is_empty() {
        return Ok(());
    }
    let subject = format!("wip(changed by the check of {})", verdict.feature());
    if let Some(id) = ws.project.commit_leftover(&subject, &ws.project.untracked_marks()?)?.commit {
        ws.tell(&Event::Committed { place: "project".to_owned(), id, subject });
    }
    Ok(())
}

/// Puts a verdict into the checklist and returns the subject of its commit, and what followed from the verdict.
fn record(
    checklist: &mut Checklist,
    feature: &Feature,
    verdict: &Verdict,
    attempt: Attempt,
) -> Result<(String, &'static str)> {
    let id = &feature.id;
    match (feature.is_done(), verdict.finding().is_green()) {
        (true, true) => {
            checklist.rechecked(id, verdict)?;
            Ok((format!("gate: {id} still passes"), "recheck"))
        }
        // A person vouched in spite of this check, or before there was one: it takes nothing back.
        (true, false) if !feature.passes && !feature.is_accepted_green() => {
            checklist.record(id, verdict, false)?;
            Ok((format!("gate: {id} does not pass, and stays accepted: {}", verdict.finding()), "verdict"))
        }
        (true, false) => {
            checklist.regress(id, verdict)?;
            Ok((format!("gate: regress {id}"), "regression"))
        }
        (false, _) if verdict.proves() => {
            checklist.prove(id, verdict)?;
            Ok((format!("gate: prove {id}"), "proof"))
        }
        (false, _) => {
            // That nothing can be installed is no fault of the feature.
            let counts = attempt == Attempt::Counts && !verdict.trial().is_uninstalled();
            checklist.record(id, verdict, counts)?;
            Ok((format!("gate: {id} not proven: {}", verdict.finding()), "verdict"))
        }
    }
}

/// Why a check was run; decides what of its verdict is news.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Seen {
    /// The feature is not done, and a pass would prove it.
    ForProof,
    /// Its feature is done already.
    Again,
    /// For the record of what passes before any work.
    Before,
}

/// Tells a verdict.
fn tell(ws: &Workspace, verdict: &Verdict, seen: Seen) {
    // Whether an accepted feature was ever red is no news in a sweep.
    let shown = match (seen, verdict.finding()) {
        (Seen::Again, Finding::AlreadyGreen) => Finding::Passed,
        (_, finding) => finding,
    };
    let proves = seen == Seen::ForProof && verdict.proves();
    // Nor is it where all are looked at for the first time.
    let tail = match (seen, verdict.finding()) {
        (Seen::Before, Finding::AlreadyGreen) => String::new(),
        _ => said(verdict),
    };
    ws.tell(&Event::CheckEnded {
        feature: verdict.feature().to_owned(),
        finding: shown.to_string(),
        seconds: verdict.trial().duration().as_secs_f64(),
        proves,
        ended_by: verdict.trial().ended_by().unwrap_or_default(),
        tail,
    });
    // In a sweep it would be said again and again.
    if seen == Seen::ForProof && !verdict.soft().is_empty() {
        ws.notice(format!("check {}: {LOADED}: {}", verdict.feature(), named(verdict.soft())));
    }
}

/// Names some of many files.
fn named(files: &[String]) -> String {
    let more = files.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", "))
}

/// Returns what the check said: the end of its output, and the gate's reason where the exit code does not tell.
fn said(verdict: &Verdict) -> String {
    let (tail, detail) = (verdict.trial().last_lines(TAIL), verdict.trial().detail());
    let changed = verdict.finding() == Finding::CheckChanged || !verdict.overlaid().is_empty();
    let way_out = match changed && !verdict.finding().is_green() {
        true => format!("if the change is right, `longhaul accept {}` approves it", verdict.feature()),
        false => String::new(),
    };
    // What is said last is surely seen.
    [&tail, detail, &way_out].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Gives every check that has none its baseline: the record that it does not pass yet, or that it already does.
pub fn sweep_baselines(ws: &mut Workspace, at: &Occasion) -> Result<()> {
    let checklist = ws.checklist()?;
    let bare = |feature: &&Feature| {
        feature.check.as_ref().is_some_and(|check| check.kind == gate::Kind::Command)
            && feature.baseline.is_none()
            && !feature.passes
    };
    let ids: Vec<String> = checklist.features().iter().filter(bare).map(|feature| feature.id.clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    ws.notice(format!("running {} once, to record what passes before any work", counted(ids.len(), "new check")));
    let mut checklist = checklist;
    let mut told = Vec::new();
    for id in &ids {
        let verdict = judge(ws, checklist.find(id)?, at)?;
        tell(ws, &verdict, Seen::Before);
        if says_nothing(&verdict) {
            break;
        }
        if verdict.is_red() || verdict.finding().is_green() {
            checklist.set_baseline(id, &verdict)?;
            told.push(Fact::verdict("baseline", &verdict));
            ws.project.keep_base(verdict.commit())?;
        } else {
            // Without a baseline nothing could ever prove it: a person has to look before a session is spent.
            let why = format!("its check has no baseline: {}", verdict.trial().sentence());
            checklist.record(id, &verdict, false)?;
            checklist.block(id, &why)?;
            told.extend([Fact::verdict("verdict", &verdict), Fact::of("block", id, json!({"reason": why}))]);
        }
    }
    let origin = ws.origin(at.session, None);
    let subject = format!("gate: baseline of {}", counted(ids.len(), "check"));
    ws.save_told(&checklist, &subject, &told, vec![], &origin)?;
    if ws.interrupt.requested() {
        let text = "interrupted; checks that were not run to their end are run by the next `longhaul run`";
        return Err(Failure::new(Kind::Interrupted, text).into());
    }
    Ok(())
}

/// What a sweep over the features already done found.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    pub passed: Vec<String>,
    pub regressed: Vec<String>,
    /// Nothing is said about them.
    pub left: Vec<String>,
    /// Those of them whose turn did not come within the time.
    pub out_of_time: Vec<String>,
    /// Those of them for which nothing could be installed.
    pub uninstalled: Vec<String>,
}

/// Re-runs the checks of features done or already green whose newest pass is of another tree; all in one commit.
///
/// `touched` are the paths changed by the session: checks that depend on them go first.
pub fn sweep(ws: &mut Workspace, touched: &[String], limit: Option<Duration>, at: &Occasion) -> Result<Swept> {
    let mut checklist = ws.checklist()?;
    let due = due(ws, &checklist, &ws.head()?.tree, at.reuse);
    if due.is_empty() {
        return Ok(Swept::default());
    }
    let proves =
        |verdict: &Verdict| verdict.proves() && !checklist.get(verdict.feature()).is_some_and(Feature::is_done);
    let told = &mut |step: Step| match step {
        Step::Begins(id) => begins(ws, id),
        Step::Ended(verdict) => tell(ws, verdict, if proves(verdict) { Seen::ForProof } else { Seen::Again }),
    };
    let swept = ws.gate(at)?.sweep(gate::order(due, touched), limit, &|id| ws.pinned(id), told)?;
    let mut found = Swept::default();
    for (id, reason) in swept.left {
        match reason {
            Finding::OutOfTime => found.out_of_time.push(id.clone()),
            Finding::NotReady => found.uninstalled.push(id.clone()),
            _ => {}
        }
        found.left.push(id);
    }
    tell_out_of_time(ws, &found, limit);
    if !found.uninstalled.is_empty() {
        let ids = found.uninstalled.join(", ");
        ws.warn(format!("not looked at again, since what a clean checkout needs could not be installed: {ids}"));
    }
    let mut facts = Vec::new();
    for verdict in &swept.verdicts {
        keep_moved(ws, verdict)?;
        facts.push(Fact::verdict(look_again(&mut checklist, verdict)?, verdict));
        let list = if verdict.finding().is_green() { &mut found.passed } else { &mut found.regressed };
        list.push(verdict.feature().to_owned());
    }
    let origin = ws.origin(at.session, None);
    ws.save_told(&checklist, &subject_of(&found), &facts, vec![], &origin)?;
    for verdict in swept.verdicts.iter().filter(|verdict| verdict.is_red()) {
        ws.project.keep_base(verdict.commit())?;
    }
    Ok(found)
}

/// Names the features whose turn did not come; whoever gave a sweep no time at all knows.
fn tell_out_of_time(ws: &Workspace, found: &Swept, limit: Option<Duration>) {
    let Some(limit) = limit.filter(|limit| !limit.is_zero() && !found.out_of_time.is_empty()) else { return };
    let (ids, limit) = (found.out_of_time.join(", "), duration::spell(limit));
    ws.notice(format!(
        "not looked at again, since the sweep's {limit} are over: {ids}; `run.sweep_budget` gives it more"
    ));
}

/// Puts a sweep's verdict into the checklist; returns what followed from it.
fn look_again(checklist: &mut Checklist, verdict: &Verdict) -> Result<&'static str> {
    let id = verdict.feature();
    let (done, green) = (checklist.find(id)?.is_done(), verdict.finding().is_green());
    match done {
        true if green => checklist.rechecked(id, verdict)?,
        true => checklist.regress(id, verdict)?,
        false if verdict.proves() => {
            checklist.prove(id, verdict)?;
            return Ok("proof");
        }
        // It was green before any work: still so, or open from now on.
        false => checklist.record(id, verdict, false)?,
    }
    Ok(if green { "recheck" } else { "regression" })
}

/// Lists the features that are done, or were green before any work, and whose newest pass is of another tree than `tree`,
/// or stands on something installed that will not do.
pub fn due(ws: &Workspace, checklist: &Checklist, tree: &str, reuse: Reuse) -> Vec<Candidate> {
    let older = |feature: &Feature| reuse == Reuse::Same && feature.stands_on_older_install();
    let is_due = |feature: &Feature| match checklist.state(&feature.id, tree) {
        State::Stale => true,
        State::Proven => older(feature),
        State::Accepted => feature.is_accepted_green() && (!feature.was_green_on(tree) || older(feature)),
        State::AlreadyGreen => !feature.was_judged_on(tree) && green_baseline(ws, feature).as_deref() != Some(tree),
        _ => false,
    };
    let candidate = |feature: &Feature| {
        let check = feature.check.clone().filter(|_| is_due(feature))?;
        Some(Candidate { feature: feature.id.clone(), check, known: known(ws, feature), at: feature.checked_at() })
    };
    checklist.features().iter().filter_map(candidate).collect()
}

/// Returns the tree on which the check passed before any work.
fn green_baseline(ws: &Workspace, feature: &Feature) -> Option<String> {
    let baseline = feature.baseline.as_ref().filter(|_| feature.red().is_none())?;
    ws.project.tree_of(&baseline.commit).ok()
}

fn subject_of(swept: &Swept) -> String {
    match swept.regressed.as_slice() {
        [] => format!("gate: sweep of {} passed", swept.passed.len()),
        regressed => format!("gate: regress {}", regressed.join(", ")),
    }
}
