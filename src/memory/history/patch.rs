//! What differs between two states of the memory, as git tells it.

use std::path::Path;

use anyhow::Context;
use anyhow::Result;
use git2::Diff;
use git2::DiffFindOptions;
use git2::Oid;

use crate::memory::history::changed;
use crate::memory::history::changed::Changed;
use crate::memory::repository;
use crate::memory::repository::Repository;

/// Returns what a commit changed.
pub(super) fn of<'r>(repository: &'r Repository, commit: &str) -> Result<Diff<'r>> {
    let (old, new) = trees(repository, commit)?;
    // That libgit2 need not look for these itself, which takes it long in a large memory.
    let found = changed::between(repository, old, Some(new))?;
    between(repository, old, new, &paths(&found))
}

/// Returns the tree of the commit before, and that of the commit.
pub(super) fn trees(repository: &Repository, commit: &str) -> Result<(Option<Oid>, Oid)> {
    let parent = repository::commit(repository, commit)?.parent;
    let old = parent.map(|parent| repository::tree_of(repository, &parent)).transpose()?;
    Ok((old, repository::tree_of(repository, commit)?))
}

pub(super) fn paths(found: &[Changed]) -> Vec<&[u8]> {
    found.iter().map(|file| file.path.as_slice()).collect()
}

/// Returns how one tree became another, files that only moved recognised; of these paths, where some are given.
pub(super) fn between<'r>(repository: &'r Repository, old: Option<Oid>, new: Oid, paths: &[&[u8]]) -> Result<Diff<'r>> {
    let compare = || {
        let old = old.map(|old| repository.git.find_tree(old)).transpose()?;
        let mut options = git2::DiffOptions::new();
        options.disable_pathspec_match(true);
        for path in paths {
            options.pathspec(*path);
        }
        let new = repository.git.find_tree(new)?;
        let mut diff = repository.git.diff_tree_to_tree(old.as_ref(), Some(&new), Some(&mut options))?;
        diff.find_similar(Some(DiffFindOptions::new().renames(true)))?;
        Ok::<_, git2::Error>(diff)
    };
    compare().context("could not compare two states of the memory")
}

/// Renders a difference as a patch.
pub(super) fn text(diff: &Diff<'_>) -> Result<String> {
    let mut text = Vec::new();
    let printed = diff.print(git2::DiffFormat::Patch, |_, _, line| {
        if matches!(line.origin(), '+' | '-' | ' ') {
            text.push(line.origin() as u8);
        }
        text.extend_from_slice(line.content());
        true
    });
    printed.context("could not show what differs")?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns how the bytes of a file became others, as a patch.
pub(super) fn of_bytes(path: &str, old: Option<&[u8]>, new: &[u8]) -> Result<String> {
    let place = Path::new(path);
    let patch = || {
        let mut patch = git2::Patch::from_buffers(old.unwrap_or_default(), Some(place), new, Some(place), None)?;
        Ok::<_, git2::Error>(String::from_utf8_lossy(&patch.to_buf()?).into_owned())
    };
    let text = patch().with_context(|| format!("could not show what differs in `{path}`"))?;
    if old.is_some() {
        return Ok(text);
    }
    // libgit2 takes it for a file that was empty.
    let text = text.replacen("\nindex ", "\nnew file mode 100644\nindex ", 1);
    Ok(text.replacen(&format!("\n--- a/{path}\n"), "\n--- /dev/null\n", 1))
}
