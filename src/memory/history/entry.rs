//! One commit as people read it.

use anyhow::Result;
use git2::Delta;
use jiff::Timestamp;

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
    pub touched: Vec<Touched>,
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
    pub(super) fn of(repository: &Repository, commit: Commit, message: Message) -> Result<Self> {
        let touched = touched(&patch::of(repository, &commit.id)?);
        Ok(Self {
            id: commit.id,
            parent: commit.parent,
            author: commit.author,
            at: Timestamp::from_second(commit.seconds).unwrap_or_default(),
            subject: message.subject,
            body: message.body,
            session: filter::session(&message.trailers),
            feature: trailers::value(&message.trailers, "Feature").map(str::to_owned),
            trailers: message.trailers,
            touched,
        })
    }
}

/// Lists the files of a difference.
pub(in crate::memory) fn touched(diff: &git2::Diff<'_>) -> Vec<Touched> {
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
