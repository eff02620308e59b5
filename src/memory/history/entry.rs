//! One commit as people read it.

use anyhow::Result;
use git2::Delta;
use git2::Oid;
use jiff::Timestamp;

use crate::memory::history::changed;
use crate::memory::history::changed::Changed;
use crate::memory::history::filter;
use crate::memory::history::patch;
use crate::memory::history::trailers;
use crate::memory::history::trailers::Message;
use crate::memory::repository::Commit;
use crate::memory::repository::Repository;

/// One commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    pub id: String,
    pub parent: Option<String>,
    /// `agent`, `longhaul` or `external`.
    pub author: String,
    pub at: Timestamp,
    pub subject: String,
    pub body: String,
    pub session: Option<u32>,
    pub feature: Option<String>,
    /// All trailers, in their order.
    pub trailers: Vec<(String, String)>,
}

/// One file that a commit changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Touched {
    pub path: String,
    pub how: Touch,
}

/// What became of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Touch {
    Added,
    Changed,
    Removed,
    Renamed { from: String },
}

impl Entry {
    pub(super) fn of(commit: Commit, message: Message) -> Self {
        Self {
            id: commit.id,
            parent: commit.parent,
            author: commit.author,
            at: Timestamp::from_second(commit.seconds).unwrap_or_default(),
            subject: message.subject,
            body: message.body,
            session: filter::session(&message.trailers),
            feature: trailers::value(&message.trailers, "Feature").map(str::to_owned),
            trailers: message.trailers,
        }
    }
}

/// Lists the files that differ between two trees; one that only moved is recognised.
pub(super) fn touched(repository: &Repository, old: Option<Oid>, new: Oid) -> Result<Vec<Touched>> {
    let found = changed::between(repository, old, Some(new))?;
    let (came, went) = (found.iter().any(|file| !file.was), found.iter().any(|file| !file.is));
    // Where nothing came, or nothing went, nothing has moved.
    if came && went {
        return Ok(of_diff(&patch::between(repository, old, new, &patch::paths(&found))?));
    }
    let touched = |file: Changed| {
        let how = match (file.was, file.is) {
            (false, _) => Touch::Added,
            (true, false) => Touch::Removed,
            (true, true) => Touch::Changed,
        };
        Touched { path: String::from_utf8_lossy(&file.path).into_owned(), how }
    };
    Ok(found.into_iter().map(touched).collect())
}

fn of_diff(diff: &git2::Diff<'_>) -> Vec<Touched> {
    let path = |file: git2::DiffFile<'_>| String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned();
    let touched = |delta: git2::DiffDelta<'_>| match delta.status() {
        Delta::Deleted => Touched { path: path(delta.old_file()), how: Touch::Removed },
        Delta::Added => Touched { path: path(delta.new_file()), how: Touch::Added },
        Delta::Renamed => {
            Touched { path: path(delta.new_file()), how: Touch::Renamed { from: path(delta.old_file()) } }
        }
        _ => Touched { path: path(delta.new_file()), how: Touch::Changed },
    };
    diff.deltas().map(touched).collect()
}
