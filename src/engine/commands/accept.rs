//! A person's word: approving a changed check, or vouching for a feature.

use crate::checklist::Accepted as Place;
use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::engine::commands::feature;
use crate::engine::facts::Fact;
use crate::engine::prepare;
use crate::engine::verify;
use crate::engine::verify::Attempt;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::gate;
use crate::gate::Finding;
use crate::gate::Known;
use crate::gate::Verdict;
use anyhow::Result;
use serde_json::json;

/// What accepting did for one feature.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Accepted {
    /// The check had changed; its present form is pinned and has a new baseline. The difference is for people.
    Check { id: String, difference: String, state: State },
    /// A person vouches for the feature; says too how its check failed, if it did.
    Feature { id: String, failing: Option<String> },
    /// The check proves it by now.
    Proven(String),
    /// Nothing was done: it is proven, or a person vouched for it before and no other reason was given.
    Already { id: String, state: State },
    /// Not accepted: the check does not pass now. Says how.
    Left { id: String, why: String },
}

/// Accepts these features. One whose check differs from its pins gets the check approved; any other is vouched for, and
/// that takes a reason.
pub fn accept(ws: &mut Workspace, ids: &[String], reason: &str) -> Result<Vec<Accepted>> {
    prepare::adopt(ws)?;
    prepare::require_clean(ws)?;
    let checklist = ws.checklist()?;
    ws.refuse_secret("the reason", reason)?;
    let mut done = Vec::new();
    for id in ids {
        if is_already(checklist.find(id)?, reason) {
            continue;
        }
        if reason.trim().is_empty() && check_difference(ws, &checklist, id)?.is_none() {
            return Err(Failure::usage(format!("vouching for `{id}` needs a reason; nothing was accepted"))
                .hint(format!("say what you looked at: `longhaul accept {id} --reason TEXT`"))
                .into());
        }
    }
    for id in ids {
        done.push(accept_one(ws, id, reason)?);
    }
    Ok(done)
}

/// Accepts every feature whose check passed before any work and passes now; what the others found is recorded.
pub fn accept_already_green(ws: &mut Workspace, reason: &str) -> Result<Vec<Accepted>> {
    let tree = ws.tree()?;
    let checklist = ws.checklist()?;
    let green =
        checklist.features().iter().filter(|feature| checklist.state(&feature.id, &tree) == State::AlreadyGreen);
    let ids: Vec<String> = green.map(|feature| feature.id.clone()).collect();
    if ids.is_empty() {
        return Err(Failure::usage("no feature is already green").hint("see `longhaul status`").into());
    }
    if reason.trim().is_empty() {
        return Err(Failure::usage("vouching for features needs a reason; nothing was accepted")
            .hint("say what you looked at: `longhaul accept --already-green --reason TEXT`")
            .into());
    }
    ws.refuse_secret("the reason", reason)?;
    prepare::adopt(ws)?;
    prepare::require_clean(ws)?;
    ids.iter().map(|id| accept_if_green(ws, id, reason)).collect()
}

fn accept_if_green(ws: &mut Workspace, id: &str, reason: &str) -> Result<Accepted> {
    let at = Occasion::outside(ws);
    let checklist = ws.checklist()?;
    let verdict = verify::judge(ws, checklist.find(id)?, &at)?;
    if verdict.finding() == Finding::AlreadyGreen {
        return vouch(ws, id, reason, Some(&verdict));
    }
    let outcome = verify::settle(ws, verdict, Attempt::Free, &at)?;
    Ok(match outcome.verdict.proves() {
        true => Accepted::Proven(outcome.id),
        false => Accepted::Left { id: outcome.id, why: outcome.verdict.trial().sentence() },
    })
}

fn accept_one(ws: &mut Workspace, id: &str, reason: &str) -> Result<Accepted> {
    let mut checklist = ws.checklist()?;
    if let Some(difference) = check_difference(ws, &checklist, id)? {
        let before = checklist.find(id)?.clone();
        checklist.approve(id, "user")?;
        feature::save_approved(
            ws,
            checklist,
            &[id.to_owned()],
            &format!("checklist: accept the changed check of {id}"),
        )?;
        prove_by_earlier(ws, &before)?;
        let mut state = ws.checklist()?.state(id, &ws.tree()?);
        if state == State::AlreadyGreen && !reason.trim().is_empty() {
            let now = ws.checklist()?;
            let verdict = look(ws, now.find(id)?)?;
            vouch(ws, id, reason, verdict.as_ref())?;
            state = ws.checklist()?.state(id, &ws.tree()?);
        }
        return Ok(Accepted::Check { id: id.to_owned(), difference, state });
    }
    if is_already(checklist.find(id)?, reason) {
        return Ok(Accepted::Already { id: id.to_owned(), state: checklist.state(id, &ws.tree()?) });
    }
    let verdict = look(ws, checklist.find(id)?)?;
    vouch(ws, id, reason, verdict.as_ref())
}

/// Looks at a check that was approved only now, and passes: where its approved files fail on the commit on which the check of
/// `old` was red, the work since then is what made them pass. What tools load by themselves cannot be laid over that commit,
/// so of such a change nothing is known.
fn prove_by_earlier(ws: &mut Workspace, old: &Feature) -> Result<()> {
    let (mut checklist, id) = (ws.checklist()?, &old.id);
    let feature = checklist.find(id)?;
    let (Some(red), Some(check)) = (old.red(), feature.check.clone()) else { return Ok(()) };
    let same_files = old.check.as_ref().is_some_and(|old| old.pins == check.pins);
    if same_files || checklist.state(id, &ws.tree()?) != State::AlreadyGreen {
        return Ok(());
    }
    let before = red.commit.as_str();
    let known = Known { since: Some(before.to_owned()), ..verify::known(ws, feature) };
    let gate = ws.gate(&Occasion::outside(ws))?;
    let Some(verdict) = gate.red_before(id, &check, &known, before, &|id| ws.pinned(id))? else { return Ok(()) };
    drop(gate);
    checklist.set_baseline(id, &verdict)?;
    let origin = ws.origin(None, Some(id));
    let told = [Fact::verdict("baseline", &verdict)];
    ws.save_told(&checklist, &format!("gate: {id} was red before the work"), &told, vec![], &origin)?;
    verify::verify(ws, id, Attempt::Free, &Occasion::outside(ws)).map(drop)
}

/// Tells whether a person's word would add nothing. That a check changed is another matter.
fn is_already(feature: &Feature, reason: &str) -> bool {
    feature.passes || (feature.accepted.is_some() && reason.trim().is_empty())
}

/// Commits a person's word for a feature, with what its check found.
fn vouch(ws: &mut Workspace, id: &str, reason: &str, verdict: Option<&Verdict>) -> Result<Accepted> {
    let mut checklist = ws.checklist()?;
    let head = ws.head()?;
    let at = ws.clock.now().to_string();
    let place = Place { commit: &head.commit, tree: &head.tree, at: &at };
    checklist.accept(id, reason.trim(), place, verdict)?;
    let origin = ws.origin(None, Some(id));
    let found = verdict.map(|verdict| verdict.finding().as_str());
    let told = json!({"reason": reason.trim(), "verdict": found, "commit": head.commit});
    let told = [Fact::of("accept", id, told)];
    ws.save_told(&checklist, &format!("checklist: accept {id}"), &told, vec![], &origin)?;
    let failing = verdict.filter(|verdict| !verdict.finding().is_green()).map(|verdict| verdict.trial().sentence());
    Ok(Accepted::Feature { id: id.to_owned(), failing })
}

/// Says how the files that decide the check differ from what was approved, if they do.
fn check_difference(ws: &Workspace, checklist: &Checklist, id: &str) -> Result<Option<String>> {
    let feature = checklist.find(id)?;
    let Some(check) = &feature.check else { return Ok(None) };
    ws.gate(&Occasion::outside(ws))?.difference(check, &verify::known(ws, feature), &|id| ws.pinned(id))
}

/// Runs the check of a feature that a person vouches for, so that what it said is kept; it decides nothing.
fn look(ws: &Workspace, feature: &Feature) -> Result<Option<Verdict>> {
    let runs = feature.check.as_ref().is_some_and(|check| check.kind == gate::Kind::Command);
    runs.then(|| verify::judge(ws, feature, &Occasion::outside(ws))).transpose()
}
