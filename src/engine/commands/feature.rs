//! Changes to the checklist by a person: features added, edited, moved, removed, set aside, tried again.

use crate::checklist::Checklist;
use crate::checklist::Edit;
use crate::checklist::Edited;
use crate::checklist::Place;
use crate::checklist::State;
use crate::engine::facts::Fact;
use crate::engine::prepare;
use crate::engine::verify::pin::pin;
use crate::engine::verify::sweep;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::gate;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;

/// A feature that was added, and what now decides its check.
#[derive(Clone, Debug)]
pub struct Added {
    pub id: String,
    pub state: State,
    /// The files of its hard closure, and whether each was there.
    pub closure: Vec<(String, bool)>,
}

/// Adds one feature or an array of them, pins their checks and runs each once for its baseline.
pub fn add(ws: &mut Workspace, json: &Value) -> Result<Vec<Added>> {
    prepare::adopt(ws)?;
    ws.refuse_secret("what was given", &json.to_string())?;
    let mut checklist = ws.checklist()?;
    let ids = checklist.add(json, "user").map_err(|problem| {
        Failure::usage(format!("nothing was added: {problem:#}")).hint("`longhaul feature add --help` shows the form")
    })?;
    if ids.is_empty() {
        return Err(Failure::usage("there is nothing to add: the array is empty").into());
    }
    let subject = match ids.as_slice() {
        [id] => format!("checklist: add {id}"),
        ids => format!("checklist: add {} features", ids.len()),
    };
    save_approved(ws, checklist, &ids, &subject)?;
    let checklist = ws.checklist()?;
    let tree = ws.tree()?;
    ids.into_iter().map(|id| added(&checklist, id, &tree)).collect()
}

/// Changes a feature; another check is pinned anew and run once for its baseline. Also returns what was changed.
pub fn edit(ws: &mut Workspace, id: &str, edit: &Edit) -> Result<(Added, Edited)> {
    prepare::adopt(ws)?;
    let mut checklist = ws.checklist()?;
    checklist.find(id)?;
    if let Edit::Merge(json) = edit {
        ws.refuse_secret("the change", &json.to_string())?;
    }
    let edited = checklist.edit(id, edit, "user").map_err(|problem| {
        Failure::usage(format!("nothing was changed: {problem:#}"))
            .hint("`longhaul feature add --help` shows the form of a feature")
    })?;
    let subject = format!("checklist: edit {id}");
    match edited {
        Edited::Nothing => {}
        Edited::Words => {
            let origin = ws.origin(None, Some(id));
            ws.save_told(&checklist, &subject, &[Fact::of("edit", id, json!({}))], vec![], &origin)?;
        }
        Edited::Check => save_approved(ws, checklist, &[id.to_owned()], &subject)?,
    }
    let tree = ws.tree()?;
    Ok((added(&ws.checklist()?, id.to_owned(), &tree)?, edited))
}

/// Moves a feature in the order of work; returns those it depends on that still come first.
pub fn move_to(ws: &mut Workspace, id: &str, place: &Place) -> Result<Vec<String>> {
    let mut checklist = ws.checklist()?;
    checklist.find(id)?;
    if let Place::Before(other) | Place::After(other) = place {
        checklist.find(other)?;
    }
    checklist.move_to(id, place).map_err(|problem| Failure::usage(format!("{problem:#}")))?;
    let origin = ws.origin(None, Some(id));
    ws.save_told(&checklist, &format!("checklist: move {id}"), &[Fact::of("move", id, json!({}))], vec![], &origin)?;
    let undone = |needed: &&String| checklist.get(needed).is_some_and(|needed| !needed.is_done());
    Ok(checklist.find(id)?.depends_on.iter().filter(undone).cloned().collect())
}

/// Sets a feature aside until a person reopens it.
pub fn block(ws: &mut Workspace, id: &str, reason: &str) -> Result<()> {
    let mut checklist = ws.checklist()?;
    if reason.trim().is_empty() {
        return Err(Failure::usage("`--reason` is empty: say why, for whoever reopens it").into());
    }
    ws.refuse_secret("the reason", reason)?;
    if checklist.find(id)?.is_done() {
        let done = checklist.state(id, &ws.tree()?);
        return Err(Failure::usage(format!("`{id}` is {done}, so there is nothing to set aside"))
            .hint(format!("`longhaul show {id}` tells how it came to be"))
            .into());
    }
    checklist.block(id, reason.trim())?;
    let origin = ws.origin(None, Some(id));
    let told = Fact::of("block", id, json!({"reason": reason.trim()}));
    ws.save_told(&checklist, &format!("checklist: block {id}"), &[told], vec![], &origin)
}

fn added(checklist: &Checklist, id: String, tree: &str) -> Result<Added> {
    let check = checklist.find(&id)?.check.as_ref();
    let pins = check.into_iter().flat_map(|check| &check.pins);
    let closure = pins.map(|(path, pin)| (path.clone(), pin.is_some())).collect();
    Ok(Added { state: checklist.state(&id, tree), id, closure })
}

/// Pins the checks of these features as they stand now, commits, and runs the baselines where the project allows it.
pub(in crate::engine) fn save_approved(
    ws: &mut Workspace,
    mut checklist: Checklist,
    ids: &[String],
    subject: &str,
) -> Result<()> {
    let pinned = pin(ws, &mut checklist, ids)?;
    // A repository that git cannot look at is told before anything is kept.
    let clean = is_clean(ws)?;
    let origin = ws.origin(None, None);
    let told: Vec<Fact> = ids.iter().map(|id| Fact::approval(&checklist, id)).collect();
    ws.save_told(&checklist, subject, &told, pinned, &origin)?;
    baselines_if(clean, ws)
}

/// Tells whether the project has a clean commit to stand on.
fn is_clean(ws: &Workspace) -> Result<bool> {
    Ok(ws.project.head()?.is_some() && ws.project.changes()?.tracked.is_empty())
}

/// Runs the baselines now if the project is clean; the next run does it otherwise.
fn baselines_if(clean: bool, ws: &mut Workspace) -> Result<()> {
    if !clean {
        ws.notice("the new checks run at the start of the next run: the project has no clean commit yet");
        return Ok(());
    }
    sweep::baselines(ws, &Occasion::outside(ws))
}

/// Removes a feature; refuses while another one depends on it.
pub fn remove(ws: &mut Workspace, id: &str) -> Result<()> {
    let mut checklist = ws.checklist()?;
    checklist.find(id)?;
    checklist.remove(id).map_err(|problem| Failure::usage(format!("{problem:#}")))?;
    let origin = ws.origin(None, Some(id));
    let told = Fact::of("remove", id, json!({}));
    ws.save_told(&checklist, &format!("checklist: remove {id}"), &[told], vec![], &origin)
}

/// Clears the block and the attempts of a feature, so that it is tried again; returns its state. A check that has no
/// baseline is run at once: if that fails as before, the feature is blocked again, and no session is spent on it.
pub fn reopen(ws: &mut Workspace, id: &str) -> Result<State> {
    let mut checklist = ws.checklist()?;
    checklist.find(id)?;
    checklist.reopen(id)?;
    let origin = ws.origin(None, Some(id));
    let told = Fact::of("reopen", id, json!({}));
    ws.save_told(&checklist, &format!("checklist: reopen {id}"), &[told], vec![], &origin)?;
    let feature = checklist.find(id)?;
    let runs = feature.check.as_ref().is_some_and(|check| check.kind == gate::Kind::Command);
    if runs && feature.baseline.is_none() {
        baselines_if(is_clean(ws)?, ws)?;
    }
    Ok(ws.checklist()?.state(id, &ws.tree()?))
}
