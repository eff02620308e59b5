//! A path followed through history, back to its older names.

use anyhow::Result;
use git2::Oid;

use crate::memory::history::entry;
use crate::memory::history::entry::Touch;
use crate::memory::history::graph::Key;
use crate::memory::repository::Repository;
use crate::memory::repository::contents;
use crate::memory::repository::contents::Entry;
use crate::memory::rules::path;
use crate::memory::rules::path::MemoryPath;

/// The path by the name that it had in the commits that are looked at now.
pub(super) struct Followed {
    path: String,
    pub(super) key: Key,
}

impl Followed {
    pub(super) fn new(path: &MemoryPath) -> Self {
        Self::named(path.as_str().to_owned())
    }

    fn named(path: String) -> Self {
        Self { key: Key::of(&path), path }
    }

    /// Tells whether the path differs between two trees.
    pub(super) fn differs(&self, repository: &Repository, old: Option<Oid>, new: Oid) -> Result<bool> {
        Ok(changed(repository, old, new, &self.path)?.is_some())
    }

    /// Returns the path by the name that it had before, where it came by another one.
    pub(super) fn before(&self, repository: &Repository, old: Oid, new: Oid) -> Result<Option<Self>> {
        let Some((None, Some(now))) = changed(repository, Some(old), new, &self.path)? else { return Ok(None) };
        Ok(older_name(repository, (old, new), &self.path, &now)?.map(Self::named))
    }
}

/// What lay at a path in two trees.
type Both = (Option<Entry>, Option<Entry>);

/// Returns what lay at a path, before and now, if that differs. Where a folder on the way is the same in both, it is not read.
fn changed(repository: &Repository, old: Option<Oid>, new: Oid, path: &str) -> Result<Option<Both>> {
    let folder = |id: Oid| Entry::Folder(id.to_string());
    let (mut old, mut new) = (old.map(folder), Some(folder(new)));
    for name in path.split('/') {
        if old == new {
            return Ok(None);
        }
        old = contents::entry_in(repository, old.as_ref(), name)?;
        new = contents::entry_in(repository, new.as_ref(), name)?;
    }
    Ok((old != new).then_some((old, new)))
}

/// Returns the name under which what appeared at a path lay before, if it went from there in the same commit.
fn older_name(repository: &Repository, (old, new): (Oid, Oid), path: &str, now: &Entry) -> Result<Option<String>> {
    let touched = entry::touched(repository, Some(old), new)?;
    if matches!(now, Entry::File(_)) {
        let found = touched.into_iter().find(|touched| touched.path == path);
        return Ok(found.and_then(|touched| match touched.how {
            Touch::Renamed { from } => Some(from),
            _ => None,
        }));
    }
    for touched in touched {
        let gone = match touched.how {
            Touch::Removed => touched.path,
            Touch::Renamed { from } => from,
            Touch::Added | Touch::Changed => continue,
        };
        for folder in path::parents(&gone) {
            if let Some((Some(before), None)) = changed(repository, Some(old), new, folder)?
                && before == *now
            {
                return Ok(Some(folder.to_owned()));
            }
        }
    }
    Ok(None)
}
