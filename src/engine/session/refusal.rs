//! A model that refuses to go on: what that means for the feature it was asked to work on.

use crate::driver::Ending;
use crate::engine::facts::Fact;
use crate::engine::session::Session;
use crate::engine::verify::Attempt;
use crate::engine::workspace::Workspace;
use anyhow::Result;
use serde_json::json;

/// Tells whether this ending costs the feature an attempt. A refusal before anything was changed is no attempt: it is of the
/// words, and the next session gets the same.
pub fn attempt(ws: &Workspace, session: &Session, ending: &Ending) -> Result<Attempt> {
    let refused = matches!(ending, Ending::Refused(_)) && ws.tree()? == ws.project.tree_of(&session.started_at)?;
    Ok(if refused || ending.is_free() { Attempt::Free } else { Attempt::Counts })
}

/// Keeps that the model refused, or that it does no more. The second time in a row, with nothing done, sets the feature aside:
/// a person has to find other words, or another model.
pub fn note(ws: &mut Workspace, session: &Session, id: &str, ending: &Ending, attempt: Attempt) -> Result<()> {
    let mut checklist = ws.checklist()?;
    let feature = checklist.find(id)?;
    let (before, blocked) = (feature.refused.is_some(), feature.blocked.is_some());
    let Ending::Refused(reason) = ending else {
        if before {
            checklist.note_refusal(id, None)?;
            let origin = ws.origin(Some(session.number), Some(id));
            ws.save_told(&checklist, &format!("checklist: {id} is refused no more"), &[], vec![], &origin)?;
        }
        return Ok(());
    };
    checklist.note_refusal(id, Some(reason))?;
    let mut told = vec![Fact::of("refusal", id, json!({"reason": reason}))];
    let mut subject = format!("checklist: the model refused to work on {id}");
    if before && !blocked && attempt == Attempt::Free {
        let why = format!("the model refused twice in a row to go on: {reason}");
        checklist.block(id, &why)?;
        ws.warn(format!("{id} is blocked: {why}"));
        told.push(Fact::of("block", id, json!({"reason": why})));
        subject = format!("checklist: block {id}, which the model refused twice in a row");
    }
    let origin = ws.origin(Some(session.number), Some(id));
    ws.save_told(&checklist, &subject, &told, vec![], &origin)
}
