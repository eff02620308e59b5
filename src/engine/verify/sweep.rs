//! Checks run again, and for the first time: what passes before any work, and whether what is done still passes.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::clock::deadline;
use crate::clock::duration;
use crate::engine::counted;
use crate::engine::facts::Fact;
use crate::engine::verify::Seen;
use crate::engine::verify::begins;
use crate::engine::verify::judge;
use crate::engine::verify::keep_moved;
use crate::engine::verify::known;
use crate::engine::verify::says_nothing;
use crate::engine::verify::tell;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::gate;
use crate::gate::Candidate;
use crate::gate::Finding;
use crate::gate::Reuse;
use crate::gate::Step;
use crate::gate::Verdict;
use anyhow::Result;
use serde_json::json;
use std::time::Duration;

/// Gives every check that has none its baseline: the record that it does not pass yet, or that it already does.
pub fn baselines(ws: &mut Workspace, at: &Occasion) -> Result<()> {
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
        tell_wait(ws, checklist.find(id)?);
        let verdict = judge(ws, checklist.find(id)?, at)?;
        tell(ws, &verdict, Seen::Before);
        warn_of_unknown_command(ws, checklist.find(id)?, &verdict);
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

/// Tells what the first run of a check waits for: before the work it often does not come, and nothing else is heard of it.
fn tell_wait(ws: &Workspace, feature: &Feature) {
    let Some(check) = &feature.check else { return };
    let Some(ready) = &check.ready else { return };
    let limit = duration::spell(check.timeout.unwrap_or(ws.settings.gate.timeout));
    ws.notice(format!(
        "check {}: waits at most {limit}, its limit, until `{}` ends with 0; Ctrl-C leaves it to the next run",
        feature.id,
        gate::first_line(ready)
    ));
}

/// Tells of a mistyped command, which no work makes right.
fn warn_of_unknown_command(ws: &Workspace, feature: &Feature, verdict: &Verdict) {
    let command = feature.check.as_ref().and_then(|check| gate::unknown_command(&ws.project, check, verdict.trial()));
    if let Some(command) = command {
        ws.warn(format!(
            "the check of {0} cannot pass as it is: it runs `{command}`, and there is no such command here. Mend it by \
             `longhaul feature edit {0}`, or install the program",
            feature.id
        ));
    }
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
    let ids = found.out_of_time.join(", ");
    if !ids.is_empty() && deadline::is_over(ws.deadline) {
        return ws.notice(format!("not looked at again, since the run's time is used up: {ids}"));
    }
    let Some(limit) = limit.filter(|limit| !limit.is_zero() && !ids.is_empty()) else { return };
    let limit = duration::spell(limit);
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
