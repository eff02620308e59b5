//! What a session leaves uncommitted in the project: it is committed, and what stays out of that is told.

use crate::engine::session::Session;
use crate::engine::session::mend;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::project::Leftover;
use crate::project::Marks;
use crate::project::listed;
use anyhow::Result;
use std::collections::BTreeMap;

/// More paths than these that are left out for one reason share a line.
const TOLD: usize = 5;

/// Commits what the session left uncommitted. On another branch than the one it began on, unless the session made that,
/// nothing is committed: the branch is somebody else's.
pub fn of_session(ws: &Workspace, session: &Session) -> Result<Leftover> {
    let branch = ws.head()?.branch;
    let of_others = branch.as_ref().is_some_and(|branch| session.branches.contains(branch));
    if !of_others || branch == session.branch {
        return save(ws, session.number, "", &session.untracked);
    }
    let reason = "the session ended on another branch than it began on";
    let leftover = ws.project.leave_leftover(&session.untracked, reason)?;
    tell_left_out(ws, &leftover);
    Ok(leftover)
}

/// Commits what lies uncommitted in the project as `wip(session N)`; `mark` says more, such as `, interrupted`.
pub fn save(ws: &Workspace, number: u32, mark: &str, before: &Marks) -> Result<Leftover> {
    let subject = format!("wip(session {number}{mark})");
    mend::set_aside_stale_locks(ws)?;
    let unmerged = ws.project.unmerged()?;
    let leftover = ws.project.commit_leftover(&subject, before)?;
    if !unmerged.is_empty() {
        ws.warn(format!(
            "a merge was left unfinished; it is committed as it lies, conflicts and all: {}",
            listed(&unmerged)
        ));
    }
    if let Some(id) = &leftover.commit {
        ws.tell(&Event::Committed { place: "project".to_owned(), id: id.clone(), subject });
    }
    tell_left_out(ws, &leftover);
    if leftover.commit.is_some() && !leftover.large.is_empty() {
        ws.warn(told_large(&leftover.large));
    }
    if leftover.commit.is_some() && !leftover.revealing.is_empty() {
        ws.warn(told_revealing(&leftover.revealing));
    }
    Ok(leftover)
}

/// Says what became of uncommitted work, for the progress log.
pub fn facts(leftover: &Leftover) -> Vec<String> {
    let saved = leftover.commit.as_ref().map(|id| format!("left uncommitted by the session, saved as {}", &id[..7]));
    let large = Some(&leftover.large).filter(|large| saved.is_some() && !large.is_empty());
    let revealing = Some(&leftover.revealing).filter(|revealing| saved.is_some() && !revealing.is_empty());
    let told = large.map(|large| told_large(large)).into_iter().chain(revealing.map(|all| told_revealing(all)));
    saved.into_iter().chain(told).collect()
}

fn told_large(large: &[String]) -> String {
    format!("larger than 10 MB, and committed since git tracks it: {}", listed(large))
}

fn told_revealing(revealing: &[String]) -> String {
    format!(
        "with a value that longhaul keeps secret, such as its key, and committed since git tracks it: {}; take it out of the \
         history before you push, or replace the key",
        listed(revealing)
    )
}

fn tell_left_out(ws: &Workspace, leftover: &Leftover) {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, reason) in &leftover.left_out {
        by_reason.entry(reason.as_ref()).or_default().push(path.clone());
    }
    for (reason, paths) in by_reason {
        if paths.len() > TOLD {
            let (count, paths) = (paths.len(), listed(&paths));
            ws.warn(format!("{count} paths were left out of the commit: {reason}: {paths}"));
            continue;
        }
        paths.iter().for_each(|path| ws.warn(format!("`{path}` was left out of the commit: {reason}")));
    }
    if !leftover.own.is_empty() {
        let own = listed(&leftover.own);
        ws.warn(format!("`.longhaul/` is longhaul's own and belongs into no commit; it was taken out of git: {own}"));
    }
    if !leftover.made_by_tools.is_empty() {
        let made = listed(&leftover.made_by_tools);
        ws.notice(format!(
            "what tools make by themselves stays out of the commit, and belongs into `.gitignore`: {made}; what a check needs of \
             it, `git add -f PATH` takes in"
        ));
    }
}
