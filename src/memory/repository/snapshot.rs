//! The files of one commit, to read.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::memory::repository;
use crate::memory::repository::Repository;
use crate::memory::repository::contents;
use crate::memory::repository::contents::Entry;
use crate::memory::rules::path;

/// The memory as one commit holds it; empty when there is none yet.
#[derive(Clone)]
pub(in crate::memory) struct Snapshot<'r> {
    repository: &'r Repository,
    commit: Option<String>,
}

impl<'r> Snapshot<'r> {
    /// Takes the files of this commit.
    pub(in crate::memory) fn of(repository: &'r Repository, commit: Option<String>) -> Self {
        Self { repository, commit }
    }

    /// Returns what lies at a clean path; the root is always a folder.
    pub(in crate::memory) fn entry(&self, path: &str) -> Result<Option<Entry>> {
        if path.is_empty() {
            return Ok(Some(Entry::Folder(String::new())));
        }
        contents::entry(self.repository, self.commit.as_deref(), path)
    }

    /// Returns the bytes of the file at a path.
    pub(in crate::memory) fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        match self.entry(path)? {
            Some(Entry::File(blob)) => repository::read(self.repository, &blob).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns all files with the ids of their bytes, in byte order.
    pub(in crate::memory) fn files(&self) -> Result<BTreeMap<String, String>> {
        self.files_at("")
    }

    /// Returns the files at or below a path with the ids of their bytes.
    pub(in crate::memory) fn files_at(&self, folder: &str) -> Result<BTreeMap<String, String>> {
        contents::files(self.repository, self.commit.as_deref(), folder)
    }

    /// Tells how many files there are.
    pub(in crate::memory) fn count(&self) -> Result<usize> {
        contents::count(self.repository, self.commit.as_deref())
    }

    /// Returns the files and folders that differ from the path, or from a folder on its way, only by letter case.
    pub(in crate::memory) fn twins(&self, path: &str) -> Result<Vec<String>> {
        contents::twins(self.repository, self.commit.as_deref(), path)
    }

    /// Returns the bytes with this id.
    pub(in crate::memory) fn bytes(&self, blob: &str) -> Result<Vec<u8>> {
        repository::read(self.repository, blob)
    }

    /// Returns how many bytes have this id.
    pub(in crate::memory) fn size(&self, blob: &str) -> Result<u64> {
        repository::size(self.repository, blob)
    }

    /// Returns the outermost file in whose place the path would need a folder.
    pub(in crate::memory) fn file_above<'p>(&self, path: &'p str) -> Result<Option<&'p str>> {
        for parent in path::parents(path) {
            match self.entry(parent)? {
                Some(Entry::File(_)) => return Ok(Some(parent)),
                Some(Entry::Folder(_)) => {}
                None => return Ok(None),
            }
        }
        Ok(None)
    }
}
