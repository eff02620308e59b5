//! The history read back: who wrote what, in which session, why.

use anyhow::Result;
use jiff::Timestamp;
use serde_json::Value;

use crate::memory::command::Command;
use crate::memory::path::MemoryPath;
use crate::memory::plan;
use crate::memory::plan::Outcome;
use crate::memory::repository;
use crate::memory::repository::Commit;
use crate::memory::repository::Entry as Found;
use crate::memory::snapshot::Snapshot;
use crate::memory::store::Store;
use crate::memory::trailers;
use crate::memory::trailers::ToolUse;
use crate::message::ToolResult;

/// Which commits are wanted; the default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only commits that changed this file, or something in this folder.
    pub path: Option<MemoryPath>,
    pub session: Option<u32>,
    pub feature: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// One commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    pub id: String,
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

/// What a commit did to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Touch {
    Added,
    Changed,
    Removed,
}

impl Store {
    /// Returns the commits that fit, newest first.
    pub fn history(&self, filter: &Filter) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let limit = filter.limit.unwrap_or(usize::MAX);
        let mut next = self.head()?;
        while let Some(id) = next.filter(|_| entries.len() < limit) {
            let commit = repository::commit(&self.repository, &id)?;
            next = commit.parent.clone();
            let message = trailers::parse(&commit.message);
            if filter.session.is_some() && session(&message.trailers) != filter.session {
                continue;
            }
            if filter.feature.is_some() && value(&message.trailers, "Feature") != filter.feature.as_deref() {
                continue;
            }
            if let Some(path) = &filter.path
                && !self.changes_path(&commit, path)?
            {
                continue;
            }
            entries.push(self.entry(commit, message)?);
        }
        Ok(entries)
    }

    /// Returns what a commit changed, as a patch; a unique beginning of its id will do.
    pub fn diff(&self, commit: &str) -> Result<String> {
        repository::patch(&self.repository, &repository::resolve(&self.repository, commit)?)
    }

    /// Returns the number of the newest session that wrote something; 0 before the first.
    pub fn last_session(&self) -> Result<u32> {
        let mut next = self.head()?;
        while let Some(id) = next {
            let commit = repository::commit(&self.repository, &id)?;
            if let Some(session) = session(&trailers::parse(&commit.message).trailers) {
                return Ok(session);
            }
            next = commit.parent;
        }
        Ok(0)
    }

    /// Returns the newest version of a file whose bytes are accepted, and its commit. Versions that cannot be read are
    /// passed over.
    pub fn newest_version(&self, path: &str, accept: &dyn Fn(&[u8]) -> bool) -> Result<Option<(String, Vec<u8>)>> {
        let path = MemoryPath::relative(path)?;
        let mut tried = None;
        let mut next = self.head()?;
        while let Some(id) = next {
            if let Some(Found::File(blob)) = repository::entry(&self.repository, Some(&id), path.as_str())?
                && tried.as_ref() != Some(&blob)
            {
                match repository::read(&self.repository, &blob) {
                    Ok(bytes) if accept(&bytes) => return Ok(Some((id, bytes))),
                    _ => tried = Some(blob),
                }
            }
            next = repository::commit(&self.repository, &id)?.parent;
        }
        Ok(None)
    }

    /// Returns the answer to a call whose commit landed before a crash. For recovery only: an id is not unique.
    pub fn landed(&self, session_number: u32, call: &ToolUse, input: &Value) -> Result<Option<ToolResult>> {
        let wanted = ("Tool-Use".to_owned(), trailers::tool_use(call, Some(input)));
        let mut next = self.head()?;
        while let Some(id) = next {
            let commit = repository::commit(&self.repository, &id)?;
            let found = trailers::parse(&commit.message).trailers;
            match session(&found) {
                Some(number) if number < session_number => return Ok(None),
                Some(number) if number == session_number && found.contains(&wanted) => {
                    return self.answer_again(commit.parent, input);
                }
                _ => next = commit.parent,
            }
        }
        Ok(None)
    }

    /// Works the answer out on the commit before; nothing is written.
    fn answer_again(&self, parent: Option<String>, input: &Value) -> Result<Option<ToolResult>> {
        let Ok(command) = Command::parse(input) else { return Ok(None) };
        let snapshot = Snapshot::of(&self.repository, parent);
        match plan::plan(&snapshot, &command, self.caps.view_chars)? {
            Outcome::Write(plan) => Ok(Some(ToolResult::text(plan.answer))),
            Outcome::Answer(_) => Ok(None),
        }
    }

    fn changes_path(&self, commit: &Commit, path: &MemoryPath) -> Result<bool> {
        if path.is_root() {
            return Ok(true);
        }
        let now = repository::entry(&self.repository, Some(&commit.id), path.as_str())?;
        let before = repository::entry(&self.repository, commit.parent.as_deref(), path.as_str())?;
        Ok(now != before)
    }

    fn entry(&self, commit: Commit, message: trailers::Message) -> Result<Entry> {
        let touched = repository::touched(&self.repository, &commit.id)?;
        let how = |letter| match letter {
            'A' => Touch::Added,
            'D' => Touch::Removed,
            _ => Touch::Changed,
        };
        Ok(Entry {
            id: commit.id,
            author: commit.author,
            at: Timestamp::from_second(commit.seconds).unwrap_or_default(),
            subject: message.subject,
            body: message.body,
            session: session(&message.trailers),
            feature: value(&message.trailers, "Feature").map(str::to_owned),
            trailers: message.trailers,
            touched: touched.into_iter().map(|(letter, path)| Touched { path, how: how(letter) }).collect(),
        })
    }
}

fn session(trailers: &[(String, String)]) -> Option<u32> {
    value(trailers, "Session")?.parse().ok()
}

fn value<'t>(trailers: &'t [(String, String)], key: &str) -> Option<&'t str> {
    trailers.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}
