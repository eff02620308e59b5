//! Which files differ between two trees: folders that are the same in both are not read, so that it costs what was changed.

use std::cmp::Ordering;
use std::iter;
use std::sync::Arc;

use anyhow::Result;
use git2::Oid;

use crate::memory::repository::tree;
use crate::memory::repository::tree::Row;
use crate::memory::repository::tree::Trees;

/// A path that differs, and whether something lay there before and lies there now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Changed {
    pub(super) path: Vec<u8>,
    pub(super) was: bool,
    pub(super) is: bool,
}

/// Returns the paths that differ, in the order of git.
pub(super) fn between(trees: &dyn Trees, old: Option<Oid>, new: Option<Oid>) -> Result<Vec<Changed>> {
    let mut found = Vec::new();
    folders(trees, (old, new), b"", &mut found)?;
    Ok(found)
}

/// Merges the rows of a folder as it was and as it is.
fn folders(
    trees: &dyn Trees,
    (old, new): (Option<Oid>, Option<Oid>),
    at: &[u8],
    found: &mut Vec<Changed>,
) -> Result<()> {
    let read = |id: Option<Oid>| id.map_or_else(|| Ok(Arc::default()), |id| trees.tree(id));
    let (old, new): (Arc<[u8]>, Arc<[u8]>) = (read(old)?, read(new)?);
    let (mut olds, mut news) = (tree::rows(&old).peekable(), tree::rows(&new).peekable());
    loop {
        // One that cannot be read comes first, and ends it.
        let order = match (olds.peek(), news.peek()) {
            (None, None) => return Ok(()),
            (Some(Ok(was)), Some(Ok(is))) => place(was).cmp(place(is)),
            (_, None) | (Some(Err(_)), _) => Ordering::Less,
            (None, _) | (_, Some(Err(_))) => Ordering::Greater,
        };
        let was = if order == Ordering::Greater { None } else { olds.next().transpose()? };
        let is = if order == Ordering::Less { None } else { news.next().transpose()? };
        if was != is {
            differ(trees, (was, is), at, found)?;
        }
    }
}

fn differ(
    trees: &dyn Trees,
    (was, is): (Option<Row<'_>>, Option<Row<'_>>),
    at: &[u8],
    found: &mut Vec<Changed>,
) -> Result<()> {
    let Some(row) = was.as_ref().or(is.as_ref()) else { return Ok(()) };
    let path = [at, row.name].concat();
    if row.is_folder() {
        let id = |row: Option<Row<'_>>| row.map(|row| row.id);
        return folders(trees, (id(was), id(is)), &[&path[..], b"/"].concat(), found);
    }
    found.push(Changed { path, was: was.is_some(), is: is.is_some() });
    Ok(())
}

/// Returns what git sorts the rows of a tree by: a folder as if its name ended with a slash.
fn place<'r>(row: &Row<'r>) -> impl Iterator<Item = &'r u8> {
    row.name.iter().chain(iter::repeat_n(&b'/', usize::from(row.is_folder())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::repository;

    /// Holds what differs between each two of the commits against what git says.
    fn as_git_says(memory: &Memory) {
        let commits: Vec<String> = memory.git(&["rev-list", "--all"]).lines().map(str::to_owned).collect();
        let tree = |commit: &str| repository::tree_of(&memory.store.repository, commit).unwrap();
        for (old, new) in commits.iter().flat_map(|old| commits.iter().map(move |new| (old, new))) {
            let found = between(&memory.store.repository, Some(tree(old)), Some(tree(new))).unwrap();
            let letter = |changed: &Changed| match (changed.was, changed.is) {
                (true, true) => "M",
                (false, _) => "A",
                (true, false) => "D",
            };
            let told = found
                .iter()
                .map(|changed| format!("{}\t{}\n", letter(changed), String::from_utf8_lossy(&changed.path)));
            let git = memory.git(&["-c", "core.quotePath=false", "diff", "--no-renames", "--name-status", old, new]);
            assert_eq!(told.collect::<String>(), git, "{old} {new}");
        }
    }

    #[test]
    fn what_differs_is_what_git_says() {
        let files = [("a", "1"), ("a.b", "1"), ("a-b/c", "1"), ("d/e/f", "1"), ("d/e.f", "1"), ("d/ü", "1")];
        let mut memory = Memory::free(&files);
        let calls = [
            json!({"command": "delete", "path": "/memories/a"}),
            json!({"command": "create", "path": "/memories/a/now/a/folder", "file_text": "2"}),
            json!({"command": "rename", "old_path": "/memories/d/e", "new_path": "/memories/d/e0"}),
            json!({"command": "create", "path": "/memories/d/e", "file_text": "3"}),
            json!({"command": "delete", "path": "/memories/d"}),
        ];
        calls.iter().for_each(|call| assert!(!memory.run(call).is_error, "{call}"));
        as_git_says(&memory);
    }
}
