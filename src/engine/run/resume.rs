//! A session that was cut off and goes on: what it started from, its conversation, and what it has used.
//!
//! Where anything stands in the way, the session is closed as one that was interrupted (`recover`), and the next one starts
//! from memory.

use crate::driver::Past;
use crate::engine::budget::records::used;
use crate::engine::pick;
use crate::engine::prepare;
use crate::engine::prepare::Dirty;
use crate::engine::run::initializer;
use crate::engine::run::meanwhile;
use crate::engine::session;
use crate::engine::session::Began;
use crate::engine::session::Session;
use crate::engine::session::reminding;
use crate::engine::session::resumed::Cut;
use crate::engine::session::resumed::Resumed;
use crate::engine::verify::Before;
use crate::engine::workspace::Workspace;
use crate::memory::Filter;
use crate::memory::ToolUse;
use crate::message::ToolCall;
use crate::transcript;
use anyhow::Result;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Instant;

/// Commits among which an edit of the feature is looked for: a session that was cut off has few behind it.
const LOOKED_THROUGH: usize = 1000;

/// Where a run begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Start {
    /// With a fresh session; one that was cut off is closed first.
    Afresh,
    /// In the middle of the session that was cut off, if there is one.
    Continue,
}

/// Brings the project to where a run may begin; returns the session that it goes on with, if so.
pub fn prepare(ws: &mut Workspace, dirty: Dirty, start: Start) -> Result<Option<Resumed>> {
    let resumed = match start {
        Start::Afresh => None,
        Start::Continue => find(ws)?,
    };
    match resumed {
        // What lies uncommitted in the project is the session's.
        Some(_) => prepare::adopt(ws)?,
        None => prepare::prepare(ws, dirty)?,
    }
    Ok(resumed)
}

/// Finds the session to go on with; says so if there is none.
fn find(ws: &mut Workspace) -> Result<Option<Resumed>> {
    let Some(number) = transcript::unfinished(&ws.sessions())? else {
        ws.notice("nothing to continue: no session was cut off; the run goes on from memory");
        return Ok(None);
    };
    match reopen(ws, number)? {
        Ok(resumed) => Ok(Some(resumed)),
        Err(reason) => {
            ws.notice(format!("session {number} is not continued: {reason}; the run goes on from memory"));
            Ok(None)
        }
    }
}

/// Opens a session again, or says why that cannot be.
fn reopen(ws: &mut Workspace, number: u32) -> Result<Result<Resumed, String>> {
    const EARLY: &str = "its record ends before its first turn";
    let dir = ws.sessions();
    let events = transcript::read(&dir, number)?;
    let Some(start) = events.iter().find(|event| event["type"] == "session_started") else {
        return Ok(Err(EARLY.to_owned()));
    };
    let (Some(began), Some(untracked)) = (session::read_began(&dir, number), session::read_untracked(&dir, number))
    else {
        return Ok(Err("nothing tells what the project was like when it began".to_owned()));
    };
    let mut past = match Past::read(&events) {
        Ok(past) => past,
        Err(reason) => return Ok(Err(reason.to_owned())),
    };
    let Began { commit, branch, branches, standing } = began;
    let used = used(&events);
    let session = Session {
        number,
        feature: start["feature"].as_str().map(str::to_owned),
        started_at: commit,
        branch,
        branches,
        standing,
        untracked,
        artifacts: transcript::artifacts(&dir, number),
        began: Instant::now().checked_sub(used.time).unwrap_or_else(Instant::now),
        used,
    };
    if let Some(reason) = settled(ws, &session)? {
        return Ok(Err(reason));
    }
    if let Some(id) = &session.feature
        && is_edited_since(ws, id, &start["at"])?
    {
        return Ok(Err(format!("{id} was edited since it began, and its agent knows only what it was")));
    }
    past.settle(&mut |call: &ToolCall, turn| match call.name.as_str() {
        "memory" => ws.memory.landed(number, &ToolUse { id: call.id.clone(), turn }, &call.input),
        _ => Ok(None),
    })?;
    Ok(Ok(Resumed { session, cut: Cut { past, seen: reminding::seen(&events) } }))
}

/// Says why there is nothing left to do for the session, or no place to do it in.
fn settled(ws: &mut Workspace, session: &Session) -> Result<Option<String>> {
    let now = ws.head()?.branch;
    if now != session.branch {
        let name = |branch: &Option<String>| branch.as_ref().map_or("no branch".to_owned(), |name| format!("`{name}`"));
        return Ok(Some(format!("it began on {}, and the project is on {}", name(&session.branch), name(&now))));
    }
    let checklist = ws.checklist()?;
    let Some(id) = &session.feature else {
        let due = initializer::due(ws, &checklist, false)?;
        return Ok((!due).then(|| "the checklist needs no initializer any more".to_owned()));
    };
    if was_judged_at_its_end(ws, session.number, id)? {
        return Ok(Some("it had made its last turn".to_owned()));
    }
    if !pick::workable(&checklist, &ws.tree()?).iter().any(|feature| feature.id == *id) {
        return Ok(Some(format!("{id} is not to be worked on any more")));
    }
    // What lies uncommitted is the session's unfinished work, of which a check would say nothing.
    if !ws.project.has_leftover(&session.untracked)? && meanwhile::look(ws, checklist.find(id)?)? != Before::Open {
        return Ok(Some(format!("the check of {id} passes by now")));
    }
    Ok(None)
}

/// Tells whether somebody changed the feature's words or its check since this time.
fn is_edited_since(ws: &Workspace, id: &str, since: &Value) -> Result<bool> {
    let since = since.as_str().and_then(|at| at.parse::<Timestamp>().ok()).unwrap_or_default();
    let newest = Filter { limit: Some(LOOKED_THROUGH), ..Filter::default() };
    let commits = ws.memory.history(&newest)?;
    let edit = format!("checklist: edit {id}");
    // A commit has whole seconds.
    Ok(commits.iter().any(|commit| commit.subject == edit && commit.at.as_second() >= since.as_second()))
}

/// Tells whether the gate recorded something of the feature in this session: its hook did, after the last turn.
fn was_judged_at_its_end(ws: &Workspace, number: u32, id: &str) -> Result<bool> {
    let filter = Filter { session: Some(number), feature: Some(id.to_owned()), ..Filter::default() };
    Ok(ws.memory.history(&filter)?.iter().any(|commit| commit.subject.starts_with("gate: ")))
}
