//! The project's repository made whole again, before anything of ours runs git in it.
//!
//! What `Project::mend` needs to know is in the records: which branch the newest session began on, and at which commits of
//! the project memory was written.

use crate::engine::session::Session;
use crate::engine::workspace::Workspace;
use crate::memory::Filter;
use crate::project::Known;
use crate::project::Mover;
use crate::sandbox::Level;
use crate::transcript;
use anyhow::Result;

/// How many of memory's newest commits are asked for a commit of the project.
const NEWEST: usize = 200;

/// Mends what a session that has just ended left broken; returns what was done, in sentences.
pub(in crate::engine) fn after_session(ws: &Workspace, session: &Session) -> Result<Vec<String>> {
    // A link made by the session would keep the next sandbox from opening.
    if ws.settings.sandbox.level == Level::Bubblewrap {
        ws.project.set_aside_links(&ws.outputs())?.into_iter().for_each(|text| ws.warn(text));
    }
    set_aside_stale_locks(ws)?;
    if ws.project.is_whole(session.branch.as_deref()) {
        return Ok(Vec::new());
    }
    let commits = vec![session.started_at.clone()];
    ws.project.mend(&Known { branch: session.branch.clone(), commits, mover: Mover::Session }, &ws.outputs())
}

/// Mends what a crash or a killed session left broken, and says so.
pub fn before_work(ws: &Workspace) -> Result<()> {
    set_aside_stale_locks(ws)?;
    if ws.project.is_whole(None) {
        return Ok(());
    }
    for text in ws.project.mend(&known(ws)?, &ws.outputs())? {
        ws.warn(text);
    }
    Ok(())
}

/// Moves locks out of the way that a git left which is gone, and says so.
pub(in crate::engine) fn set_aside_stale_locks(ws: &Workspace) -> Result<()> {
    ws.project.set_aside_stale_locks(&ws.outputs())?.into_iter().for_each(|text| ws.warn(text));
    Ok(())
}

/// Gathers what the records say of where the project stood.
fn known(ws: &Workspace) -> Result<Known> {
    let dir = ws.sessions();
    let newest = transcript::sessions(&dir)?.pop();
    let events = newest.map(|number| transcript::read(&dir, number)).transpose()?.unwrap_or_default();
    let began = events.iter().find(|event| event["type"] == "session_started");
    let branch = began.and_then(|event| event["branch"].as_str()).map(str::to_owned);
    let cut_off = began.is_some() && transcript::unfinished(&dir)?.is_some();
    let mover = if cut_off { Mover::Session } else { Mover::Anybody };
    let history = ws.memory.history(&Filter { limit: Some(NEWEST), ..Filter::default() })?;
    let trailers = history.into_iter().flat_map(|entry| entry.trailers);
    let commits = trailers.filter(|(name, _)| name == "Project-Commit").map(|(_, commit)| commit);
    Ok(Known { branch, commits: commits.collect(), mover })
}
