//! Checks run by hand; they prove just as they do after a session.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::engine::prepare;
use crate::engine::prepare::Dirty;
use crate::engine::run::stop;
use crate::engine::session;
use crate::engine::verify;
use crate::engine::verify::Attempt;
use crate::engine::verify::Outcome;
use crate::engine::verify::sweep;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::gate::Finding;
use crate::gate::Kind;
use crate::transcript;
use anyhow::Result;

/// Which checks to run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Which {
    These(Vec<String>),
    /// Those of features that are not done.
    Undone,
    All,
}

/// Runs checks one after another and commits each result; stops early only when interrupted.
pub fn check(ws: &mut Workspace, which: &Which) -> Result<Vec<Outcome>> {
    let left_out = prepare(ws)?;
    let checklist = ws.checklist()?;
    let ids = ids(&checklist, which)?;
    let at = Occasion { left_out, ..Occasion::outside(ws) };
    let mut outcomes = Vec::new();
    for id in ids {
        let outcome = verify::verify(ws, &id, Attempt::Free, &at)?;
        let interrupted = outcome.verdict.finding() == Finding::Interrupted;
        outcomes.push(outcome);
        if interrupted {
            return Err(stop::interrupted().into());
        }
    }
    Ok(outcomes)
}

/// Brings the project to where checks may run. A session that was cut off stays open for `run --continue`, with what it left
/// uncommitted; returns the files of that, on which no check may rest.
fn prepare(ws: &mut Workspace) -> Result<Vec<String>> {
    let dir = ws.sessions();
    let Some(number) = transcript::unfinished(&dir)? else {
        prepare::prepare(ws, Dirty::Refuse)?;
        sweep::baselines(ws, &Occasion::outside(ws))?;
        return Ok(Vec::new());
    };
    prepare::require_branch(ws)?;
    prepare::adopt(ws)?;
    let marks = session::read_untracked(&dir, number).map_or_else(|| ws.project.untracked_marks(), Ok)?;
    let left = ws.project.has_leftover(&marks)?;
    let unseen = if left { "; what it left uncommitted is not looked at" } else { "" };
    ws.notice(format!(
        "session {number} was cut off and stays open{unseen}: `longhaul run --continue` goes on with it, `longhaul run` \
         from memory"
    ));
    Ok(if left { ws.project.changes()?.untracked } else { Vec::new() })
}

fn ids(checklist: &Checklist, which: &Which) -> Result<Vec<String>> {
    if let Which::These(ids) = which {
        for id in ids {
            checklist.find(id)?;
        }
        return Ok(ids.clone());
    }
    let runs = |feature: &&Feature| feature.check.as_ref().is_some_and(|check| check.kind == Kind::Command);
    let wanted = |feature: &&Feature| *which == Which::All || !feature.is_done();
    Ok(checklist.features().iter().filter(runs).filter(wanted).map(|feature| feature.id.clone()).collect())
}
