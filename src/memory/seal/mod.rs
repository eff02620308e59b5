//! What was opened still lies there: the repository's folder, its settings, the journal and the newest commit. Looked at before
//! every write and by every inspection; what something else put in their place is set aside, and ours is put back.

pub(super) mod layout;
mod looks;
pub(super) mod shortcuts;
mod watch;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;
use std::slice;

use anyhow::Context;
use anyhow::Result;
use git2::ObjectType;
use git2::Oid;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::Place;
use crate::memory::aside;
use crate::memory::fsck;
use crate::memory::journal;
use crate::memory::journal::Identity;
use crate::memory::journal::Journal;
use crate::memory::journal::Record;
use crate::memory::recovery;
use crate::memory::recovery::identity;
use crate::memory::recovery::identity::IDENTITY;
use crate::memory::repository;
use crate::memory::repository::Repository;
use crate::memory::repository::loose::Loose;
use crate::memory::repository::object::Object;
use crate::memory::repository::tree;
use crate::memory::repository::tree::Trees;
use crate::memory::rules::guard::Policy;
use crate::memory::rules::path;
use crate::memory::seal::layout::Foreign;
use crate::memory::seal::looks::Looks;
use crate::memory::seal::looks::Stamp;
use crate::memory::store::Store;
use crate::memory::view::View;

/// Objects of which is remembered that they were whole.
const REMEMBERED: usize = 16_384;

/// How much of the newest commit is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Depth<'p> {
    /// What a write replaces: the commit, and the folders and files on the way to these paths.
    Paths(&'p [&'p str]),
    /// All of its folders and files.
    Everything,
}

impl Depth<'_> {
    fn reaches(self, path: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Paths(paths) => {
                paths.iter().any(|wanted| path::is_at_or_below(wanted, path) || path::is_at_or_below(path, wanted))
            }
        }
    }
}

/// Tells a folder from another of the same name.
type Inode = (u64, u64);

/// What was seen when the memory was opened, and since.
pub(super) struct Seal {
    folder: File,
    state: Option<Inode>,
    whole: RefCell<HashMap<Oid, Stamp>>,
    looks: Looks,
    watch: Watch,
}

/// Whether what others do is looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Watch {
    On,
    #[cfg_attr(not(test), expect(dead_code, reason = "only a test shows what the watch is for"))]
    Off,
}

fn inode(path: &Path) -> Option<Inode> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir).map(|found| (found.dev(), found.ino()))
}

impl Seal {
    /// Remembers the folders as they are now.
    pub(super) fn on(place: &Place) -> Result<Self> {
        let doing = || format!("could not open `{}`", place.repository.display());
        Ok(Self {
            folder: File::open(&place.repository).with_context(doing)?,
            state: inode(&place.state),
            whole: RefCell::default(),
            looks: Looks::default(),
            watch: Watch::On,
        })
    }

    /// Remembers that the objects of a commit were written whole.
    pub(super) fn note(&self, repository: &Repository, commit: &Record) {
        let objects = repository.objects();
        for object in &commit.objects {
            self.remember(object.id, Stamp::of(&Loose(&objects).path(object.id)));
        }
    }

    fn remember(&self, id: Oid, stamp: Option<Stamp>) {
        let mut whole = self.whole.borrow_mut();
        if whole.len() >= REMEMBERED {
            whole.clear();
        }
        if let Some(stamp) = stamp {
            whole.insert(id, stamp);
        }
    }

    fn was_whole(&self, id: Oid) -> Option<Stamp> {
        self.whole.borrow().get(&id).copied()
    }

    fn inode(&self) -> Option<Inode> {
        self.folder.metadata().ok().map(|found| (found.dev(), found.ino()))
    }

    /// Returns where the folder is that was opened; none when it was deleted.
    fn now_at(&self) -> Option<PathBuf> {
        let path = fs::read_link(format!("/proc/self/fd/{}", self.folder.as_raw_fd())).ok()?;
        Some(path).filter(|path| inode(path).is_some() && inode(path) == self.inode())
    }
}

impl Store {
    /// Tells whether what others do is looked for.
    pub(super) fn watches(&self) -> bool {
        self.seal.watch == Watch::On
    }

    /// Looks at all of it; to be called under the write lock.
    pub(super) fn keep_seal(&mut self, depth: Depth<'_>) -> Result<()> {
        if depth == Depth::Everything {
            self.seal.looks.forget();
        }
        self.keep_folder()?;
        for foreign in self.foreign()? {
            let kept = layout::set_aside(&self.place.repository, &foreign, &self.keep_in)?;
            let told = foreign.told(kept.as_deref());
            match foreign.innocent {
                true => (self.notice)(&told),
                false => self.undid(told),
            }
        }
        self.keep_journal()?;
        self.keep_commit(depth)
    }

    /// Finds what has no place in the repository's folder.
    fn foreign(&self) -> Result<Vec<Foreign>> {
        let (repository, mut found) = (&self.place.repository, Vec::new());
        self.seal.looks.find("foreign", || {
            let shortcuts = shortcuts::look_if_known(&self.place);
            let is_known = shortcuts.is_some();
            found = layout::look(repository).into_iter().chain(shortcuts.into_iter().flatten()).collect();
            let rests_on = || layout::rests_on(repository).chain(shortcuts::rests_on(repository));
            Ok((found.is_empty() && is_known).then(rests_on))
        })?;
        Ok(found)
    }

    /// Tells whether the repository says that it is this memory.
    fn is_named(&self, identity: &Identity) -> Result<bool> {
        self.seal.looks.find("identity", || {
            let is_named = identity::known(&self.place.repository)? == Some(*identity);
            Ok(is_named.then(|| vec![self.place.repository.join(IDENTITY)]))
        })
    }

    /// Notes what something else did and what was undone, to be told by the next inspection.
    fn undid(&mut self, text: String) {
        recovery::write_down(&self.place.state, slice::from_ref(&text));
        self.pending.undone.push(text);
    }

    /// Brings the repository back that was opened, when another lies in its place.
    fn keep_folder(&mut self) -> Result<()> {
        let path = self.place.repository.clone();
        let there = inode(&path);
        if there.is_some() && there == self.seal.inode() && path.join("objects").is_dir() {
            return Ok(());
        }
        let gone = || {
            let gone = format!("the memory at `{}` is gone", path.display());
            let hint = "bring it back, for example from a backup, before anything else is run";
            Failure::new(Kind::Integrity, gone).hint(hint)
        };
        // Where the whole project went elsewhere, there is nothing to bring back.
        let is_apart = !self.place.state.starts_with(&path);
        if is_apart && inode(&self.place.state) != self.seal.state {
            return Err(gone().into());
        }
        let doing = || format!("could not put `{}` back", path.display());
        if let Some(ours) = self.seal.now_at().filter(|ours| *ours != path) {
            let kept = aside::keep(&path, "memory.git", &self.keep_in).with_context(doing)?;
            fs::rename(&ours, &path).with_context(doing)?;
            let kept = kept.map(|kept| format!("; what lay there is kept as `{}`", kept.display())).unwrap_or_default();
            self.undid(format!("the memory's repository was moved away and was put back{kept}"));
            return Ok(());
        }
        let head = self.known_head()?.and_then(|head| Oid::from_str(&head).ok());
        if there.is_none() || !path.join("objects").is_dir() || !fsck::holds(&path, head)? {
            return Err(gone().into());
        }
        // A copy that has all of it is as good.
        self.seal.folder = File::open(&path).with_context(doing)?;
        self.undid("the memory's repository was replaced by a copy, which has all that it had".to_owned());
        Ok(())
    }

    /// Begins the journal anew from what is known here, when something else changed or replaced its file.
    fn keep_journal(&mut self) -> Result<()> {
        let state = self.place.state.clone();
        let (identity, head) = match &*self.journal.borrow() {
            None => return Ok(()),
            Some(journal) => {
                let identity = *journal.identity();
                if self.is_named(&identity)? && journal.is_intact(&state)? {
                    return Ok(());
                }
                (identity, journal.head())
            }
        };
        identity::set(&self.place.repository, &identity)?;
        if let journal::Found::Journal(theirs) = Journal::open(&state, &identity)?
            && self.is_continued(head, theirs.head())?
        {
            self.journal.replace(Some(theirs));
        } else {
            if fs::symlink_metadata(Journal::path(&state)).is_ok() {
                recovery::set_aside(&state)?;
            }
            recovery::sync_all(&self.repository)?;
            self.journal.replace(Some(Journal::create(&state, identity, head)?));
        }
        self.undid("the memory's journal was changed, and was put in order".to_owned());
        Ok(())
    }

    /// Tells whether a journal that another process began goes on from ours. In a project only one process writes.
    fn is_continued(&self, ours: Option<Oid>, theirs: Option<Oid>) -> Result<bool> {
        if ours == theirs {
            return Ok(true);
        }
        let both = theirs.zip(ours).filter(|_| self.policy == Policy::Free);
        let Some((theirs, ours)) = both else { return Ok(false) };
        Ok(repository::is_sound(&self.repository, theirs)? && repository::descends(&self.repository, theirs, ours))
    }

    /// Writes objects of the newest commit again that something else damaged or deleted.
    fn keep_commit(&mut self, depth: Depth<'_>) -> Result<()> {
        let Some(head) = self.known_head()?.and_then(|head| Oid::from_str(&head).ok()) else { return Ok(()) };
        self.keep_object(head, "")?;
        let mut folders = vec![(repository::tree_of(&self.repository, &head.to_string())?, String::new())];
        while let Some((id, path)) = folders.pop() {
            self.keep_object(id, &path)?;
            for row in tree::rows(&self.repository.tree(id)?) {
                let row = row?;
                let name = String::from_utf8_lossy(row.name);
                let below = if path.is_empty() { name.into_owned() } else { format!("{path}/{name}") };
                match row.is_folder() {
                    _ if !depth.reaches(&below) => {}
                    true => folders.push((row.id, below)),
                    false if row.is_file() => self.keep_object(row.id, &below)?,
                    false => {}
                }
            }
        }
        Ok(())
    }

    fn keep_object(&mut self, id: Oid, path: &str) -> Result<()> {
        let objects = self.repository.objects();
        let loose = Loose(&objects);
        let (stamp, before) = (Stamp::of(&loose.path(id)), self.seal.was_whole(id));
        if stamp.is_some() && stamp == before {
            return Ok(());
        }
        let whole = loose.is_whole(id);
        match whole {
            Ok(Some(true)) => {
                self.seal.remember(id, stamp);
                return Ok(());
            }
            Ok(None) if self.repository.has(id)? => return Ok(()),
            _ => {}
        }
        let what = if path.is_empty() { "the newest commit".to_owned() } else { format!("`{path}`") };
        let Some(object) = self.spare(id, path)? else {
            whole.with_context(|| format!("could not read an object of {what} in the memory: {id}"))?;
            let lost = format!("an object of {what} in the memory is damaged or gone: {id}");
            let hint = "`longhaul memory fsck --repair` looks for it everywhere; else bring it back from a backup";
            return Err(Failure::new(Kind::Integrity, lost).hint(hint).into());
        };
        loose.mend(&object)?;
        self.seal.remember(id, Stamp::of(&loose.path(id)));
        let told = format!("an object of {what} in the memory was damaged or gone, and was written again");
        // What was not seen whole before, a fault of the disk may have taken long ago.
        match before {
            Some(_) => self.undid(told),
            None => (self.notice)(&told),
        }
        Ok(())
    }

    /// Looks for the bytes of an object in the journal, among the folders that are remembered, and in the view.
    fn spare(&self, id: Oid, path: &str) -> Result<Option<Object>> {
        let mut found = self.repository.remembered(id);
        if let Some(journal) = &mut *self.journal.borrow_mut() {
            journal.each(&mut |record| {
                found = found.take().or_else(|| record.objects.into_iter().find(|object| object.id == id));
                Ok(())
            })?;
        }
        if found.is_none() && !path.is_empty() {
            let shown =
                View::of(&self.place).read(path).ok().and_then(|bytes| Object::new(ObjectType::Blob, bytes).ok());
            found = shown.filter(|object| object.id == id);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
