//! What a killed session left behind: its work is committed, its entry written, and the next one told.

use crate::engine::session;
use crate::engine::session::astray;
use crate::engine::session::hook;
use crate::engine::session::hook::Entry;
use crate::engine::session::leftover;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::event::Sink;
use crate::failure::Failure;
use crate::memory::Filter;
use crate::project::Marks;
use crate::transcript;
use crate::transcript::CUT_OFF;
use crate::transcript::Transcript;
use anyhow::Result;
use serde_json::Value;

/// Finishes the session that a kill or a crash cut off, if there is one, and returns its number.
///
/// Its check is not run here: the feature is looked at before the next session, as any other.
pub fn finish_interrupted(ws: &mut Workspace) -> Result<Option<u32>> {
    let dir = ws.sessions();
    let Some(number) = transcript::unfinished(&dir)? else { return Ok(None) };
    ws.warn(format!("session {number} was interrupted; its memory and its project changes are kept"));
    let untracked = match session::read_untracked(&dir, number) {
        Some(marks) => marks,
        // It had not yet looked what was there, so it has made nothing of it.
        None => ws.project.untracked_marks()?,
    };
    let start = started(ws, number)?;
    if let Some(branch) = start["branch"].as_str() {
        astray::keep_interrupted(ws, number, branch)?;
    }
    require_same_branch(ws, number, &start, &untracked)?;
    let leftover = leftover::save(ws, number, ", interrupted", &untracked)?;
    let mut facts = vec![what_it_was(ws, number, &start)?];
    facts.extend(leftover::facts(&leftover));
    if let Some(began) = session::read_began(&dir, number) {
        let others = ws.project.since(&began.standing, began.branch.as_deref())?;
        others.iter().for_each(|text| ws.warn(text));
        facts.extend(others);
    }
    facts.push(format!("ended: {CUT_OFF}"));
    let entry = Entry { facts, words: String::new() };
    hook::append_progress(ws, number, &entry)?;
    let record = Transcript::open(&dir, number, ws.clock, &ws.settings.secrets)?;
    record.take(&Event::SessionEnded { session: number, reason: CUT_OFF.to_owned(), outcome: String::new() });
    Ok(Some(number))
}

/// Returns the event that began the session; null when the end came before it.
fn started(ws: &Workspace, number: u32) -> Result<Value> {
    let events = transcript::read(&ws.sessions(), number)?;
    Ok(events.into_iter().find(|event| event["type"] == "session_started").unwrap_or_default())
}

/// Refuses to put what the session left uncommitted on another branch than the one it worked on.
fn require_same_branch(ws: &Workspace, number: u32, start: &Value, untracked: &Marks) -> Result<()> {
    let Some(branch) = start["branch"].as_str() else { return Ok(()) };
    let now = ws.project.head()?.and_then(|head| head.branch);
    if now.as_deref() == Some(branch) || !ws.project.has_leftover(untracked)? {
        return Ok(());
    }
    let now = now.map_or_else(|| "a detached HEAD".to_owned(), |now| format!("`{now}`"));
    let text =
        format!("session {number} was interrupted on branch `{branch}`, and its uncommitted work lies here on {now}");
    Err(Failure::usage(text)
        .hint(format!("`git switch {branch}`, then run again; or commit or stash it yourself"))
        .into())
}

/// Says what the session worked on, and what the gate had found of it when the end came.
fn what_it_was(ws: &Workspace, number: u32, start: &Value) -> Result<String> {
    if start.is_null() {
        return Ok("stopped before it began".to_owned());
    }
    let Some(id) = start["feature"].as_str() else { return Ok("initializer".to_owned()) };
    let filter = Filter { session: Some(number), feature: Some(id.to_owned()), ..Filter::default() };
    let found = ws.memory.history(&filter)?.into_iter().find(|commit| commit.subject.starts_with("gate: "));
    Ok(match found {
        Some(commit) => format!("feature: {id}, recorded before the end: {}", commit.subject),
        None => format!("feature: {id}, check not run"),
    })
}
