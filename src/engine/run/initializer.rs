//! When an initializer session is due.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::engine::session::hold;
use crate::engine::workspace::Workspace;
use crate::memory::SPEC;
use anyhow::Result;

/// Tells whether the checklist has to be written, or finished, by an initializer session first; one that was
/// `held` in this run is not held again for what it left unfinished.
pub fn due(ws: &Workspace, checklist: &Checklist, held: bool) -> Result<bool> {
    let features = checklist.features();
    if features.is_empty() {
        return Ok(ws.memory.read(SPEC)?.is_some());
    }
    if features.iter().any(|feature| feature.draft) {
        return Ok(true);
    }
    let needed = checklist.needed();
    let without_check =
        |feature: &Feature| needed.contains(feature.id.as_str()) && feature.check.is_none() && !feature.is_done();
    let given = |feature: &Feature| feature.check.as_ref().is_some_and(|check| check.approved_by == "initializer");
    let unfinished = features.iter().any(without_check)
        || (features.iter().any(given) && !hold::missing_after_initializer(ws, checklist)?.is_empty());
    Ok(unfinished && !held)
}
