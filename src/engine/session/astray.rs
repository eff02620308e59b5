//! Sessions that left the branch they began on, or rewrote it: nothing they committed is lost, the run goes on where it was.

use crate::engine::session::Session;
use crate::engine::workspace::Workspace;
use crate::project::Rejoined;
use crate::project::Ways;
use anyhow::Result;

/// Goes back to the session's branch from a detached HEAD, keeps the commits reachable of one that left or rewrote its
/// branch, and says so in sentences.
pub(in crate::engine) fn keep(ws: &Workspace, session: &Session) -> Result<Vec<String>> {
    let mut moved = Vec::new();
    let head = ws.head()?;
    match (&session.branch, &head.branch) {
        (Some(branch), None) => moved.push(rejoined(ws, branch, &session.started_at)?),
        (before, now) if before != now => {
            ws.project.keep_base(&head.commit)?;
            moved.push(format!("the session began on {} and ended on {}", name(before), name(now)));
        }
        _ => {}
    }
    if !ws.project.contains(&ws.head()?.commit, &session.started_at)? {
        moved.push(taken_out(ws, &session.started_at)?);
    }
    moved.extend(ws.project.since(&session.standing, session.branch.as_deref())?);
    Ok(moved)
}

/// Gives the branch of a session that was cut off the commits that it made on a detached HEAD, where they can be no others,
/// and says what became of them.
pub(in crate::engine) fn keep_interrupted(ws: &Workspace, number: u32, branch: &str) -> Result<()> {
    let Some(head) = ws.project.head()?.filter(|head| head.branch.is_none()) else { return Ok(()) };
    let commit = &head.commit[..7];
    let fate = match ws.project.rejoin(branch, &head.commit, Ways::Forward)? {
        Rejoined::Forward => format!("`{branch}` has its commits now, up to {commit}"),
        _ => format!("commit {commit} is kept below `refs/longhaul/base/`"),
    };
    ws.warn(format!("session {number} began on `{branch}` and was cut off on a detached HEAD; {fate}"));
    Ok(())
}

fn rejoined(ws: &Workspace, branch: &str, start: &str) -> Result<String> {
    let commit = &ws.head()?.commit[..7];
    let fate = match ws.project.rejoin(branch, start, Ways::All)? {
        Rejoined::Forward => format!("the branch has its commits now, up to {commit}"),
        Rejoined::Switched => {
            format!(
                "its commits, up to {commit}, are kept below `refs/longhaul/base/`, and the project is back on `{branch}`"
            )
        }
        Rejoined::Stays(reason) => {
            format!("its commits are kept below `refs/longhaul/base/`; there was no way back: {reason}")
        }
    };
    Ok(format!("the session began on `{branch}` and ended on a detached HEAD; {fate}"))
}

fn taken_out(ws: &Workspace, start: &str) -> Result<String> {
    let fate = if ws.project.holds(start)? {
        ws.project.keep_base(start)?;
        "it is kept below `refs/longhaul/base/`"
    } else {
        "it is gone from the repository too"
    };
    Ok(format!("commit {}, where the session began, is out of the branch now; {fate}", &start[..7]))
}

fn name(branch: &Option<String>) -> String {
    branch.as_ref().map_or_else(|| "a detached HEAD".to_owned(), |name| format!("`{name}`"))
}
