//! What the model would see at the start of a session, without one.

use crate::checklist::Checklist;
use crate::driver::Opening;
use crate::engine::budget::spent::Spent;
use crate::engine::pick;
use crate::engine::session;
use crate::engine::session::Session;
use crate::engine::session::opening;
use crate::engine::session::recall;
use crate::engine::session::recall::Question;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::project::Standing;
use anyhow::Result;
use std::collections::BTreeSet;
use std::time::Instant;

/// Bytes that one token stands for, about; what a service counts differs by model and by text.
const BYTES_A_TOKEN: usize = 4;

/// Renders the start of a session on a feature, or on the one whose turn it is. Notes are chosen by words, and the init
/// script is not run.
pub fn session(ws: &mut Workspace, id: Option<&str>) -> Result<Opening> {
    let (checklist, tree) = (ws.checklist()?, ws.tree()?);
    let id = match id {
        Some(id) => checklist.find(id)?.id.clone(),
        None => next(&checklist, &tree)?,
    };
    let text = opening::question(checklist.find(&id)?);
    let recalled = recall::recall(ws, None, &Question { text: &text, seen: &BTreeSet::new() })?;
    let session = foreseen(ws, Some(id))?;
    opening::open(ws, &session, None, recalled)
}

/// Renders the start of an initializer session.
pub fn initializer(ws: &mut Workspace) -> Result<Opening> {
    let session = foreseen(ws, None)?;
    opening::open(ws, &session, None, Vec::new())
}

/// Says about how many tokens a text has.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_A_TOKEN)
}

fn next(checklist: &Checklist, tree: &str) -> Result<String> {
    let feature = pick::pick(checklist, tree).map(|feature| feature.id.clone());
    let none = || Failure::usage("no feature can be worked on now").hint("name one; `longhaul status` lists them");
    feature.ok_or_else(|| none().into())
}

fn foreseen(ws: &Workspace, feature: Option<String>) -> Result<Session> {
    let head = ws.head()?;
    Ok(Session {
        number: session::next_number(ws)?,
        feature,
        started_at: head.commit,
        branch: head.branch,
        branches: Vec::new(),
        standing: Standing::default(),
        untracked: ws.project.untracked_marks()?,
        artifacts: ws.outputs(),
        used: Spent::default(),
        began: Instant::now(),
    })
}
