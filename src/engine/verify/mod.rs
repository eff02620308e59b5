//! Runs a check through the gate and commits what it found: the one place where a feature's state follows a verdict.

pub mod checkout;
pub mod pin;
pub mod sweep;

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::engine::facts::Fact;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::failure::Failure;
use crate::gate;
use crate::gate::Finding;
use crate::gate::Known;
use crate::gate::Red;
use crate::gate::Verdict;
use anyhow::Result;
use std::time::Duration;

/// Lines of a check's output that are told at once; the rest is in its file.
const TAIL: usize = 12;

/// What files of the soft closure that changed are.
const LOADED: &str = "changed since approval, and loaded by tools by themselves";

/// Time that checks have at a session's end and at the run's, whatever is left: what was done up to the limit is proven if
/// that is soon told.
pub const LEAST: Duration = Duration::from_secs(10);

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
    let cut = matches!(verdict.finding(), Finding::Interrupted | Finding::OutOfTime);
    if cut || (feature.is_done() && silent) {
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
        skips: baseline.skips,
        ended: baseline.ended,
        chose_none: baseline.chose_none,
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
