//! Every change of the memory: under the write lock, one commit, durable before the view follows and the call is answered.

use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use serde_json::Value;

use crate::memory::change::Change;
use crate::memory::command::Command;
use crate::memory::command::plan;
use crate::memory::command::plan::Outcome;
use crate::memory::history::trailers;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;
use crate::memory::journal::Appended;
use crate::memory::journal::Journal;
use crate::memory::journal::Record;
use crate::memory::notes::index;
use crate::memory::recovery;
use crate::memory::repository;
use crate::memory::repository::branch;
use crate::memory::repository::branch::From;
use crate::memory::repository::branch::Moved;
use crate::memory::repository::lock::WriteLock;
use crate::memory::repository::object::Signed;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::guard;
use crate::memory::rules::guard::Policy;
use crate::memory::rules::path;
use crate::memory::rules::path::MemoryPath;
use crate::memory::store::Store;
use crate::memory::view::View;
use crate::message::ToolResult;

/// How often a write starts over when something without the lock moves the branch.
pub(super) const TRIES: usize = 20;
/// What became of a commit.
pub(super) enum Committed {
    Done(String),
    /// There was nothing to change.
    Unchanged,
    /// The branch moved in between.
    Stale,
}

impl Store {
    /// Runs a call of the memory tool. What is wrong with the call is a result; an error is for the session.
    pub fn run(&mut self, input: &Value, origin: &Origin) -> Result<ToolResult> {
        self.pack_meanwhile()?;
        let command = match Command::parse(input) {
            Ok(command) => command,
            Err(text) => return Ok(ToolResult::error(text)),
        };
        // Before anything else is said about the command: a hint at how to word it better would invite another try.
        if let Some(text) = guard::forbidden(self.policy, origin.author, &command.writes()) {
            return Ok(ToolResult::error(text));
        }
        let by_hand = origin.author == Author::External;
        let is_protected = command.writes().iter().any(|path| guard::is_guarded(self.policy, path));
        let _apart = if by_hand && is_protected { Some((self.protected)()?) } else { None };
        let lock = match command.writes().is_empty() {
            true => None,
            false => Some(self.lock()?),
        };
        for _ in 0..TRIES {
            self.take_in(&command.writes(), origin)?;
            let head = if lock.is_some() { self.known_head()? } else { self.head()? };
            let snapshot = Snapshot::of(&self.repository, head.clone());
            let plan = match plan::plan(&snapshot, &command, self.caps.view_chars)? {
                Outcome::Answer(answer) => {
                    self.note_use(origin, &command);
                    return Ok(answer);
                }
                Outcome::Write(plan) => plan,
            };
            let changes = (plan.changes.as_slice(), plan.kind);
            if let Some(text) = guard::refusal(self.policy, &self.caps, origin.author, changes, &snapshot)? {
                return Ok(ToolResult::error(text));
            }
            if let Some(text) = self.screen.refusal(changes, origin.author, &snapshot)? {
                return Ok(ToolResult::error(text));
            }
            if let Some(text) = self.obstacle(&plan.changes, &snapshot)? {
                return Ok(ToolResult::error(text));
            }
            let message = trailers::compose(&plan.subject, "", origin, Some(input));
            let changes = self.with_index(&snapshot, &plan.changes)?;
            match self.commit(head.as_deref(), &changes, origin.author, &message)? {
                Committed::Done(commit) => self.show_changes(&changes, &commit),
                Committed::Unchanged => {}
                Committed::Stale => continue,
            }
            self.note_use(origin, &command);
            let unlisted = index::unlisted(&plan.changes).filter(|_| self.policy == Policy::Project);
            let parts = [Some(plan.answer), unlisted];
            return Ok(ToolResult::text(parts.into_iter().flatten().collect::<Vec<_>>().join("\n")));
        }
        bail!("{}", busy())
    }

    /// Takes in what a person changed in the view at or below a path.
    pub fn take_in_edits(&mut self, path: &MemoryPath, origin: &Origin) -> Result<()> {
        let _lock = self.lock()?;
        self.take_in(&[path.as_str()], origin)
    }

    /// Writes files as one commit and returns its id; longhaul's own way, which no rule about who may write what binds.
    /// Without a difference nothing is committed and the newest commit is returned.
    pub fn write(&mut self, subject: &str, changes: &[Change], origin: &Origin) -> Result<String> {
        self.write_told(subject, "", changes, origin)
    }

    /// Writes files as [`Store::write`] does, with a text that says more than the subject.
    pub fn write_told(&mut self, subject: &str, body: &str, changes: &[Change], origin: &Origin) -> Result<String> {
        self.pack_meanwhile()?;
        for Change { path, .. } in changes {
            let checked = MemoryPath::relative(path)?;
            if checked.is_root() || checked.as_str() != path {
                bail!("`{path}` is no path of a memory file; write it like `notes/db.md`");
            }
        }
        let _lock = self.lock()?;
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        let message = trailers::compose(subject, body, origin, None);
        for _ in 0..TRIES {
            self.take_in(&paths, origin)?;
            let head = self.known_head()?;
            let changes = self.with_index(&Snapshot::of(&self.repository, head.clone()), changes)?;
            match self.commit(head.as_deref(), &changes, origin.author, &message)? {
                Committed::Done(commit) => {
                    self.show_changes(&changes, &commit);
                    return Ok(commit);
                }
                Committed::Unchanged => {
                    return head.ok_or_else(|| anyhow::anyhow!("nothing to write to an empty memory: `{subject}`"));
                }
                Committed::Stale => {}
            }
        }
        bail!("{}", busy())
    }

    /// Takes the right to write, and takes in what other processes wrote meanwhile.
    pub(super) fn lock(&self) -> Result<WriteLock> {
        self.lock_telling(&self.notice)
    }

    pub(super) fn lock_telling(&self, notice: &dyn Fn(&str)) -> Result<WriteLock> {
        self.told.borrow_mut().extend(recovery::make_way(&self.place).unwrap_or_default());
        let lock = WriteLock::take(&self.place.state, notice)?;
        if !self.in_order.get() {
            let found = recovery::open(&self.place)?;
            self.journal.replace(found.journal);
            self.told.borrow_mut().extend(found.told);
            self.in_order.set(true);
        }
        self.head()?;
        Ok(lock)
    }

    /// Hands the journal to who holds the write lock.
    pub(super) fn with_journal<T>(&self, work: impl FnOnce(&mut Journal) -> Result<T>) -> Result<T> {
        work(self.journal.borrow_mut().as_mut().context("the memory has no journal")?)
    }

    /// Remembers which notes a call of the agent read or wrote. That it could not be written down is told, and no more: the
    /// call itself is answered.
    fn note_use(&self, origin: &Origin, command: &Command) {
        if self.policy == Policy::Free || origin.author != Author::Agent {
            return;
        }
        let notes = command.names().into_iter().filter(|path| index::is_note(path));
        if let Err(error) = self.mark_used(notes) {
            (self.notice)(&format!("it is not kept which notes are used: {error:#}"));
        }
    }

    /// Adds the change of the index that belongs to changes of notes.
    pub(super) fn with_index(&self, snapshot: &Snapshot<'_>, changes: &[Change]) -> Result<Vec<Change>> {
        match self.policy {
            Policy::Free => Ok(changes.to_vec()),
            Policy::Project => index::follow(snapshot, changes, self.clock.today()),
        }
    }

    /// Says what lies, not taken in, where a new file is to be shown.
    pub(super) fn obstacle(&self, changes: &[Change], snapshot: &Snapshot<'_>) -> Result<Option<String>> {
        for Change { path, bytes } in changes {
            if bytes.is_none() || snapshot.entry(path)?.is_some() {
                continue;
            }
            for found in View::of(&self.place).scan(path)?.into_keys() {
                if snapshot.entry(&found)?.is_none() {
                    return Ok(Some(format!(
                        "Error: in the memory folder something that memory cannot hold, such as a link, lies at {}. \
                         Instead: use another name",
                        path::shown(&found)
                    )));
                }
            }
        }
        Ok(None)
    }

    pub(super) fn commit(
        &self,
        parent: Option<&str>,
        changes: &[Change],
        author: Author,
        message: &str,
    ) -> Result<Committed> {
        let changes: Vec<_> = changes.iter().map(|change| (change.path.as_str(), change.bytes.as_deref())).collect();
        let signed = Signed {
            author: author.name(),
            committer: Author::Longhaul.name(),
            seconds: self.clock.now().as_second(),
            message,
        };
        let Some(commit) = repository::stage(&self.repository, parent, &changes, &signed)? else {
            return Ok(Committed::Unchanged);
        };
        if branch::at(&self.repository)? != commit.old || self.known_head()?.as_deref() != parent {
            return Ok(Committed::Stale);
        }
        repository::write(&self.repository, &commit)?;
        self.make_durable(&commit)?;
        self.seal.note(&self.repository, &commit);
        let subject = message.lines().next().unwrap_or_default();
        // Where it did not move, the next look puts it there.
        let from = From::At(commit.old);
        match branch::move_branch(&self.repository, from, commit.new, (subject, signed.seconds)) {
            Ok(Moved::Yes) => {}
            Ok(Moved::Stale) => self.unmoved.set(Some(commit.new)),
            Err(error) => {
                self.unmoved.set(Some(commit.new));
                (self.notice)(&format!("memory is written, but its branch lags: {error:#}"));
            }
        }
        Ok(Committed::Done(commit.new.to_string()))
    }

    /// Puts a commit on disk; it counts when this returns.
    fn make_durable(&self, commit: &Record) -> Result<()> {
        self.with_journal(|journal| {
            match journal.append(commit)? {
                Appended::Yes => return Ok(()),
                Appended::Full => recovery::checkpoint(&self.repository, journal)?,
                Appended::TooLarge => {}
            }
            if journal.append(commit)? != Appended::Yes {
                recovery::sync_all(&self.repository)?;
                journal.restart(Some(commit.new))?;
            }
            Ok(())
        })
    }

    /// Syncs all that was written, so that nothing has to be made again when the memory is opened next.
    pub fn checkpoint(&self) -> Result<()> {
        let _lock = self.lock()?;
        self.with_journal(|journal| match journal.commits() {
            0 => Ok(()),
            _ => recovery::checkpoint(&self.repository, journal),
        })
    }

    /// Brings the view up to a commit that changed these files. The commit is durable already, so a view that cannot
    /// follow now is told and catches up later.
    fn show_changes(&self, changes: &[Change], commit: &str) {
        let view = View::of(&self.place);
        let show = || {
            // Removals first: a new file may need the place of an old folder.
            for change in changes.iter().filter(|change| change.bytes.is_none()) {
                view.remove(&change.path)?;
            }
            for Change { path, bytes } in changes {
                if let Some(bytes) = bytes {
                    view.put(path, bytes)?;
                }
            }
            self.remember_shown(commit)
        };
        if let Err(error) = show() {
            (self.notice)(&format!("memory is written, but its view lags: {error:#}"));
        }
    }
}

pub(super) fn busy() -> String {
    format!("something else keeps moving the memory's branch `main`: gave up after {TRIES} tries")
}

#[cfg(test)]
mod tests;
