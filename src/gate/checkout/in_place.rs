//! The working tree itself, once everything in it is committed.

use crate::project::Head;
use crate::project::Project;
use crate::project::listed;
use anyhow::Result;

/// Tells in words what lies in the working tree and is in no commit, though a check might rest on it.
pub(in crate::gate) fn uncommitted(project: &Project, left_out: &[String]) -> Result<Option<String>> {
    let (changes, changed) = project.changes_and_uncommitted()?;
    if !changed.is_empty() {
        // `git status` does not show these, so the way out has to be told.
        let overlooked = !changes.tracked.iter().any(|path| changed.contains(path));
        let way_out = "; git was told to overlook it: `git update-index --no-assume-unchanged --no-skip-worktree FILE`";
        return Ok(Some(format!("not in any commit: {}{}", listed(&changed), if overlooked { way_out } else { "" })));
    }
    if !left_out.is_empty() {
        let way_out = "commit them yourself, or ignore them if the feature does not need them";
        return Ok(Some(format!("left out of the session's commit: {}; {way_out}", listed(left_out))));
    }
    let nested = project.nested_among(&changes)?;
    Ok((!nested.is_empty()).then(|| format!("a git repository of its own: {}", listed(&nested))))
}

/// Tells in words whether the project's HEAD is another commit than it was.
pub(in crate::gate) fn left_head(project: &Project, before: &Head) -> Result<Option<String>> {
    let same = project.head()?.is_some_and(|head| head.commit == before.commit);
    Ok((!same).then(|| format!("HEAD was `{}` before the check and is another commit now", before.commit)))
}
