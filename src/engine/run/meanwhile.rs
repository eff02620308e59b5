//! Features looked at between sessions: what has come to pass, or to fail, without one of their own.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::engine::verify;
use crate::engine::verify::Before;
use crate::engine::verify::sweep;
use crate::engine::verify::sweep::Swept;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::gate;
use crate::gate::Reuse;
use anyhow::Result;

/// Runs the feature's check where nobody has on this tree.
pub fn look(ws: &mut Workspace, feature: &Feature) -> Result<Before> {
    if was_judged(ws, feature)? { Ok(Before::Open) } else { green_now(ws, &feature.id) }
}

/// Looks once more at features that were set aside before the run gives up: work on others may have made their checks pass.
pub fn proven(ws: &mut Workspace, checklist: &Checklist) -> Result<bool> {
    let mut any = false;
    let set_aside = |feature: &&Feature| {
        feature.blocked.is_some() || feature.check_problem.is_some() || !feature.unapproved.is_empty()
    };
    for feature in checklist.features().iter().filter(set_aside).filter(|feature| !feature.is_done()) {
        let runs = feature.check.as_ref().is_some_and(|check| check.kind == gate::Kind::Command);
        any |= runs && !was_judged(ws, feature)? && green_now(ws, &feature.id)? == Before::Proven;
    }
    Ok(any)
}

/// Looks once more at what is done or already green before the run gives up; tells whether a check fails now, so that
/// there is work. Nobody is asked to take a feature as already green that is not.
pub fn lost(ws: &mut Workspace, checklist: &Checklist, tree: &str) -> Result<bool> {
    if sweep::due(ws, checklist, tree, Reuse::Alike).is_empty() {
        return Ok(false);
    }
    let swept = sweep::sweep(ws, &[], None, &Occasion::outside(ws))?;
    warn_of_regressed(ws, &swept);
    Ok(!swept.regressed.is_empty())
}

/// Warns of checks that passed and fail now.
pub fn warn_of_regressed(ws: &Workspace, swept: &Swept) {
    if !swept.regressed.is_empty() {
        ws.warn(format!("regressed: {}; a check that passed fails now", swept.regressed.join(", ")));
    }
}

/// Tells whether this very check was already run on this very tree; nothing runs twice.
fn was_judged(ws: &Workspace, feature: &Feature) -> Result<bool> {
    let head = ws.head()?;
    let at_baseline = feature.red().is_some_and(|red| red.commit == head.commit && !red.unprepared);
    Ok(at_baseline || feature.was_judged_on(&head.tree))
}

/// Runs the feature's check before spending a session on it: other work may have made it pass.
fn green_now(ws: &mut Workspace, id: &str) -> Result<Before> {
    let before = verify::prove_if_green(ws, id, &Occasion::outside(ws))?;
    if before == Before::Proven {
        ws.notice(format!("{id} is proven without a session: its check passes now and did not before"));
    }
    Ok(before)
}
