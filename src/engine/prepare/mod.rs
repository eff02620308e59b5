//! Before anything runs in a project: what a killed session left is finished, edits are taken over, the tree is clean.

pub mod recover;

use crate::engine::session;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::failure::Failure;
use crate::project::listed;
use anyhow::Result;

/// What becomes of a person's uncommitted changes to tracked files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dirty {
    /// Nothing is worked on before they are out of the way.
    Refuse,
    /// The person asked to have them committed first.
    Commit,
}

/// Brings the project to where checks may run: recovered, adopted, clean and with a commit.
pub fn prepare(ws: &mut Workspace, dirty: Dirty) -> Result<()> {
    recover::finish_interrupted(ws)?;
    adopt(ws)?;
    if dirty == Dirty::Commit {
        commit_dirty(ws)?;
    }
    require_clean(ws)?;
    if ws.project.head()?.is_none() {
        let id = ws.project.first_commit("start")?;
        ws.tell(&Event::Committed { place: "project".to_owned(), id, subject: "start".to_owned() });
    }
    require_branch(ws)
}

/// Takes over what people changed in the view between two commands.
pub fn adopt(ws: &mut Workspace) -> Result<()> {
    let keep_in = ws.outputs();
    ws.inspect(None, &keep_in)?;
    Ok(())
}

/// Commits a person's changes to tracked files as they are; untracked files stay where they lie.
fn commit_dirty(ws: &Workspace) -> Result<()> {
    if ws.project.changes()?.tracked.is_empty() {
        return Ok(());
    }
    let unmerged = ws.project.unmerged()?;
    if !unmerged.is_empty() {
        let text = format!("a merge is not finished, so `--include-dirty` commits nothing: {}", listed(&unmerged));
        return Err(Failure::usage(text).hint("resolve the conflicts and commit, or `git merge --abort`").into());
    }
    if ws.project.head()?.is_some() {
        require_branch(ws)?;
    }
    let subject = format!("wip(before session {})", session::next_number(ws)?);
    let marks = ws.project.untracked_marks()?;
    if let Some(id) = ws.project.commit_leftover(&subject, &marks)?.commit {
        ws.tell(&Event::Committed { place: "project".to_owned(), id, subject });
    }
    Ok(())
}

/// Refuses to work over a person's uncommitted changes.
pub fn require_clean(ws: &Workspace) -> Result<()> {
    let changes = ws.project.changes()?;
    if !changes.untracked.is_empty() {
        ws.notice(format!("untracked files stay out of longhaul's commits: {}", listed(&changes.untracked)));
    }
    if !changes.submodules.is_empty() {
        ws.notice(format!("changes inside submodules stay where they are: {}", listed(&changes.submodules)));
    }
    if !changes.tracked.is_empty() {
        return Err(Failure::usage(format!("the project has uncommitted changes: {}", listed(&changes.tracked)))
            .hint("commit or stash them (`git stash -u`) first; `longhaul run --include-dirty` commits them for you")
            .into());
    }
    let nested = ws.project.nested()?;
    if !nested.is_empty() {
        let text = format!(
            "these folders are git repositories of their own, in no commit of the project: {}",
            listed(&nested)
        );
        return Err(Failure::usage(text)
            .hint("remove the `.git` inside, make it a submodule, or ignore the folder in `.gitignore`")
            .into());
    }
    let overlooked = ws.project.uncommitted()?;
    if overlooked.is_empty() {
        return Ok(());
    }
    let text = format!("the project has uncommitted changes that git was told to overlook: {}", listed(&overlooked));
    Err(Failure::usage(text)
        .hint(
            "`git update-index --no-assume-unchanged --no-skip-worktree FILE` shows them again; nothing is proven on \
               files that are in no commit",
        )
        .into())
}

/// Refuses to work where new commits would belong to no branch.
pub fn require_branch(ws: &Workspace) -> Result<()> {
    match ws.head()?.branch {
        Some(_) => Ok(()),
        None => Err(Failure::usage("HEAD of the project is detached, so new commits would belong to no branch")
            .hint("run `git switch -c NAME` to make a branch here, or `git switch BRANCH`")
            .into()),
    }
}
