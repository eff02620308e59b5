//! Removes what slipped through from memory for good: its history is written anew without it, and all files around it too.
//!
//! The new commits are packed and synced beside the old ones first; one record in the journal then moves the branch, and only
//! after that the old objects go. A kill leaves the old history or the new one, and the same purge once more ends the work.

mod commit;
mod drop;
mod files;
mod json;
mod mark;
mod misnamed;
mod own;
mod refs;
mod rewrite;
mod words;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use git2::Oid;

use crate::memory::Place;
use crate::memory::fsck;
use crate::memory::history::trailers;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;
use crate::memory::journal::Appended;
use crate::memory::journal::Journal;
use crate::memory::journal::Record;
use crate::memory::purge::mark::Mark;
use crate::memory::purge::own::Own;
use crate::memory::purge::rewrite::Rewriting;
use crate::memory::purge::rewrite::Task;
use crate::memory::recovery;
use crate::memory::repository;
use crate::memory::repository::branch;
use crate::memory::repository::branch::From;
use crate::memory::repository::branch::Moved;
use crate::memory::repository::object::Signed;
use crate::memory::repository::upkeep::Right;
use crate::memory::seal::Depth;
use crate::memory::store::Store;
use crate::memory::write;
use crate::secrets::Secrets;

pub use mark::Unfinished;
pub use misnamed::Misnamed;
pub use misnamed::misnamed;

/// Tells whether bytes are a checklist, and why not.
pub type Readable = dyn Fn(&[u8]) -> std::result::Result<(), String> + Send;

/// Whether something is removed, or only looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Purging {
    Look,
    Remove,
}

/// What a purge found and removed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Purged {
    /// Paths in memory, of now and of before, that had it in one version or in their name.
    pub paths: BTreeSet<String>,
    /// Versions of these files.
    pub versions: usize,
    /// Commits whose text had it.
    pub messages: usize,
    /// Commits that have another id now: those that had it, and all after them.
    pub commits: usize,
    /// All commits that were looked at.
    pub looked_at: usize,
    /// Files around the memory: the view, records of sessions, kept outputs.
    pub files: Vec<PathBuf>,
    /// Paths where it stands in a name, key or number that longhaul or git needs as it is: there it stays.
    pub left: BTreeSet<PathBuf>,
}

impl Purged {
    /// Tells whether there was nothing to remove.
    pub fn is_nothing(&self) -> bool {
        self.versions == 0 && self.paths.is_empty() && self.messages == 0 && self.commits == 0 && self.files.is_empty()
    }
}

impl Store {
    /// Removes these values, in each of their spellings, from the history, the view and all records beside it; to be called
    /// by who holds the run lock. What no branch or ref leads to goes in any case. A version of the checklist that was
    /// `readable` has to stay so.
    pub fn purge(&mut self, values: &Secrets, readable: &Readable, purging: Purging) -> Result<Purged> {
        words::refuse(values)?;
        let _right = match purging {
            Purging::Look => None,
            // A packing that has begun would bring old objects back.
            Purging::Remove => Some(Right::take(&self.place.state, &self.notice)?),
        };
        let _lock = self.lock()?;
        let was_unfinished = self.unfinished_purge() != Unfinished::No;
        let mark = match purging {
            Purging::Look => None,
            Purging::Remove => {
                self.keep_seal(Depth::Everything)?;
                self.put_branch_back()?;
                Some(Mark::set(&self.place.state)?)
            }
        };
        let own = Own::of(&self.place, self.policy, self.views()?);
        let task = Task { values, own, readable, purging };
        let rewriting = match self.prepare(&task) {
            Ok(rewriting) => rewriting,
            Err(error) => {
                // It removed nothing yet, and its caller hears why it ended.
                let _ = mark.filter(|_| !was_unfinished).map(Mark::remove);
                return Err(error);
            }
        };
        if purging == Purging::Remove {
            self.move_to_rewritten(&rewriting)?;
        }
        let mut purged = rewriting.purged();
        let files::Around { files, left } = files::purge(&self.folders()?, &rewriting, purging)?;
        purged.files = files;
        purged.left.extend(left);
        if let Some(mark) = mark {
            self.forget_old()?;
            mark.remove()?;
            self.repository = repository::open(&self.place.repository)?;
        }
        Ok(purged)
    }

    /// Makes the history anew beside the old one, and looks whether it is sound: until then nothing has moved.
    fn prepare<'s>(&'s self, task: &'s Task<'s>) -> Result<Rewriting<'s>> {
        if task.purging == Purging::Remove {
            self.with_journal(|journal| recovery::checkpoint(&self.repository, journal))?;
        }
        let mut rewriting = Rewriting::of(&self.repository, task);
        let head = self.head()?.map(|head| repository::oid(&head)).transpose()?;
        rewriting.all(head, &self.notice)?;
        if head.is_some() && rewriting.purged().looked_at == 0 {
            bail!("no commit of the memory could be looked at, though there are some");
        }
        if task.purging == Purging::Remove {
            let doing = "the purge was given up, and the memory is as it was";
            files::purge(&self.folders()?, &rewriting, Purging::Look).context(doing)?;
            self.require_sound(&rewriting, head).context(doing)?;
        }
        Ok(rewriting)
    }

    fn require_sound(&self, rewriting: &Rewriting<'_>, head: Option<Oid>) -> Result<()> {
        rewriting.require_sound()?;
        let new = head.map(|head| rewriting.new_id(head));
        if new != head && !fsck::holds(&self.place.repository, new)? {
            bail!("the new history would not be whole");
        }
        Ok(())
    }

    /// Tells whether a purge is at work, or was killed before it had removed all.
    pub fn unfinished_purge(&self) -> Unfinished {
        mark::look(&self.place.state)
    }

    /// Makes the new commits durable, and then the branch and all other refs lead to them.
    fn move_to_rewritten(&self, rewriting: &Rewriting<'_>) -> Result<()> {
        let Some(old) = self.with_journal(|journal| Ok(journal.head()))? else { return Ok(()) };
        let new = rewriting.new_id(old);
        if new != old {
            let new = self.tell_of_purge(rewriting, new)?;
            recovery::sync_all(&self.repository)?;
            let record = Record { old: Some(old), new, objects: Vec::new() };
            match self.with_journal(|journal| journal.append(&record))? {
                Appended::Yes => self.move_branch_to(new)?,
                Appended::Full | Appended::TooLarge => {
                    bail!("the journal of the memory has no room after a checkpoint")
                }
            }
        }
        rewriting.move_refs()
    }

    fn tell_of_purge(&self, rewriting: &Rewriting<'_>, head: Oid) -> Result<Oid> {
        let Purged { versions, messages, commits, .. } = rewriting.purged();
        let body = format!(
            "A person had a text removed for good: from {versions} versions of files and {messages} commit texts. \
             {commits} commits have new ids."
        );
        let origin = Origin::of(Author::External);
        let message = trailers::compose("memory: purge", &body, &origin, None);
        let seconds = self.clock.now().as_second();
        let [author, committer] = [Author::External, Author::Longhaul].map(|author| author.name());
        rewriting.telling(head, &Signed { author, committer, seconds, message: &message })
    }

    fn move_branch_to(&self, new: Oid) -> Result<()> {
        match branch::move_branch(&self.repository, From::Anywhere, new, ("purged", self.clock.now().as_second()))? {
            Moved::Yes => Ok(()),
            Moved::Stale => bail!("{}", write::busy()),
        }
    }

    /// Removes all that only the old history needed.
    fn forget_old(&self) -> Result<()> {
        let head = self.head()?.map(|head| repository::oid(&head)).transpose()?;
        drop::unreachable(&self.repository, head)?;
        self.with_journal(|journal| {
            recovery::sync_all(&self.repository)?;
            let head = journal.head();
            journal.restart(head)?;
            journal.wipe()
        })
    }

    /// Returns the folders around the memory in which it may stand, and what to leave out of them. The views come first: the
    /// record of what they show must not be ahead of them.
    fn folders(&self) -> Result<Vec<files::Folder>> {
        let Place { repository, state, view, .. } = &self.place;
        let held = vec![Journal::path(state), repository.join("objects"), repository.join("refs")];
        // What lies beside the view of a memory without a project belongs to others.
        let alone = view.parent().is_some_and(|parent| repository.starts_with(parent));
        let around = |view: PathBuf| view.parent().filter(|_| !alone).map_or(view.clone(), Path::to_owned);
        let views: BTreeSet<PathBuf> = self.views()?.into_iter().map(around).collect();
        let outer = if repository.starts_with(state) { state } else { repository };
        let all = views.into_iter().chain([outer.clone()]);
        Ok(all.map(|path| files::Folder { path, without: held.clone() }).collect())
    }
}

/// Takes what is gone already as gone.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests;
