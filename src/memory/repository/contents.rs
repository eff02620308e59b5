//! What a commit holds: the files and folders at its paths.

use std::collections::BTreeMap;

use anyhow::Result;
use git2::Oid;

use crate::memory::repository::Repository;
use crate::memory::repository::oid;
use crate::memory::repository::tree;
use crate::memory::repository::tree::Row;
use crate::memory::repository::tree::Trees;
use crate::memory::repository::tree_of;

/// Folders whose files are counted.
const COUNTED: usize = 4096;

/// What lies at a path of a commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::memory) enum Entry {
    /// A regular file and the id of its bytes.
    File(String),
    /// A folder and the id of what it holds.
    Folder(String),
}

/// Returns what lies at a path; links and other foreign entries count as nothing.
pub(in crate::memory) fn entry(repository: &Repository, commit: Option<&str>, path: &str) -> Result<Option<Entry>> {
    let Some(commit) = commit else { return Ok(None) };
    let mut at = Some(Entry::Folder(tree_of(repository, commit)?.to_string()));
    for name in path.split('/') {
        at = entry_in(repository, at.as_ref(), name)?;
    }
    Ok(at)
}

/// Returns what has this name in a folder.
pub(in crate::memory) fn entry_in(
    repository: &Repository,
    folder: Option<&Entry>,
    name: &str,
) -> Result<Option<Entry>> {
    let Some(Entry::Folder(id)) = folder else { return Ok(None) };
    for row in tree::rows(&repository.tree(oid(id)?)?) {
        let row = row?;
        if row.name == name.as_bytes() {
            return Ok(kind(&row));
        }
    }
    Ok(None)
}

/// Returns the files of a commit at or below a path with the ids of their bytes; `""` is all of them.
pub(in crate::memory) fn files(
    repository: &Repository,
    commit: Option<&str>,
    path: &str,
) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let Some(commit) = commit else { return Ok(files) };
    let mut folders = match path {
        "" => vec![(String::new(), tree_of(repository, commit)?)],
        path => match entry(repository, Some(commit), path)? {
            Some(Entry::File(blob)) => return Ok([(path.to_owned(), blob)].into()),
            Some(Entry::Folder(id)) => vec![(path.to_owned(), oid(&id)?)],
            None => return Ok(files),
        },
    };
    while let Some((folder, id)) = folders.pop() {
        for row in tree::rows(&repository.tree(id)?) {
            let row = row?;
            let Ok(name) = std::str::from_utf8(row.name) else { continue };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            match kind(&row) {
                Some(Entry::File(blob)) => drop(files.insert(path, blob)),
                Some(Entry::Folder(_)) => folders.push((path, row.id)),
                None => {}
            }
        }
    }
    Ok(files)
}

/// Tells how many files a commit has. What is known of a folder is remembered, so that the next commit costs what it changed.
pub(in crate::memory) fn count(repository: &Repository, commit: Option<&str>) -> Result<usize> {
    commit.map_or(Ok(0), |commit| count_below(repository, tree_of(repository, commit)?))
}

fn count_below(repository: &Repository, folder: Oid) -> Result<usize> {
    if let Some(count) = repository.counts.borrow().get(&folder) {
        return Ok(*count);
    }
    let mut count = 0;
    for row in tree::rows(&repository.tree(folder)?) {
        let row = row?;
        // As everywhere, a name that is no text is no file of the memory.
        count += match row.is_folder() {
            _ if std::str::from_utf8(row.name).is_err() => 0,
            true => count_below(repository, row.id)?,
            false => usize::from(row.is_file()),
        };
    }
    let mut counts = repository.counts.borrow_mut();
    if counts.len() >= COUNTED {
        counts.clear();
    }
    counts.insert(folder, count);
    Ok(count)
}

/// Returns what is on the way to a path, or would be but for letter case.
pub(in crate::memory) fn twins(repository: &Repository, commit: Option<&str>, path: &str) -> Result<Vec<String>> {
    let mut twins = Vec::new();
    let Some(commit) = commit else { return Ok(twins) };
    let (mut folder, mut at) = (Some(tree_of(repository, commit)?), String::new());
    for name in path.split('/') {
        let Some(id) = folder.take() else { break };
        for row in tree::rows(&repository.tree(id)?) {
            let row = row?;
            let Ok(other) = std::str::from_utf8(row.name) else { continue };
            match other == name {
                true => folder = row.is_folder().then_some(row.id),
                false if other.to_lowercase() == name.to_lowercase() => twins.push(format!("{at}{other}")),
                false => {}
            }
        }
        at = format!("{at}{name}/");
    }
    Ok(twins)
}

fn kind(row: &Row<'_>) -> Option<Entry> {
    match row.is_folder() {
        true => Some(Entry::Folder(row.id.to_string())),
        false => row.is_file().then(|| Entry::File(row.id.to_string())),
    }
}
