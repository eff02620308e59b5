//! The memory, open: making and opening it, and reading what the newest commit holds.

use std::any::Any;
use std::cell::Cell;
use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use anyhow::anyhow;
use git2::Oid;

use crate::clock::Clock;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::Place;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;
use crate::memory::journal::Journal;
use crate::memory::recovery;
use crate::memory::recovery::Found;
use crate::memory::recovery::Order;
use crate::memory::repository::Repository;
use crate::memory::repository::branch;
use crate::memory::repository::lock::WriteLock;
use crate::memory::repository::new_repository;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::repository::upkeep::Packing;
use crate::memory::rules::caps::Caps;
use crate::memory::rules::guard::Policy;
use crate::memory::rules::path::MemoryPath;
use crate::memory::rules::screen::Screen;
use crate::memory::seal::Seal;
use crate::memory::view::adoption::Findings;
use crate::memory::view::projection::Projection;

/// An open memory.
pub struct Store {
    pub(super) place: Place,
    pub(super) policy: Policy,
    pub(super) caps: Caps,
    pub(super) screen: Screen,
    pub(super) clock: Clock,
    pub(super) repository: Repository,
    projection: RefCell<Projection>,
    /// Found by looks at the view that a write made on the way; told at the next inspection.
    pub(super) pending: Findings,
    /// Where such looks keep what may not stay in the view.
    pub(super) keep_in: PathBuf,
    pub(super) notice: Box<dyn Fn(&str) + Send>,
    /// Asked before a person writes what a session may not; what it returns is held during the write.
    pub(super) protected: Box<dyn Fn() -> Result<Box<dyn Any>> + Send>,
    /// None only while another process writes and there is none yet, or on a disk that cannot be written.
    pub(super) journal: RefCell<Option<Journal>>,
    /// Whether this process put in order what a kill or a power cut left. Before that it only looks.
    pub(super) in_order: Cell<bool>,
    pub(super) seal: Seal,
    /// The newest commit that is durable while the branch could not be moved to it.
    pub(super) unmoved: Cell<Option<Oid>>,
    /// What was put in order, in sentences.
    pub(super) told: RefCell<Vec<String>>,
    /// Packs on the way, where that is asked for.
    pub(super) packing: RefCell<Option<Packing>>,
}

impl Store {
    /// Tells whether a memory lies there.
    pub fn exists(place: &Place) -> bool {
        place.repository.exists()
    }

    /// Makes an empty memory; an existing one is never touched.
    pub fn create(place: &Place, policy: Policy, caps: Caps, clock: Clock) -> Result<Self> {
        if Self::exists(place) || !new_repository::create(&place.repository)? {
            return Err(anyhow!("there is a memory already at `{}`", place.repository.display()));
        }
        Self::open(place, policy, caps, clock)
    }

    /// Opens a memory, and puts in order what a kill or a power cut left, unless another process is writing: then the first
    /// write does. The view is not looked at yet; [`Store::inspect`] does that.
    pub fn open(place: &Place, policy: Policy, caps: Caps, clock: Clock) -> Result<Self> {
        if !Self::exists(place) {
            return Err(anyhow!("there is no memory at `{}`; `longhaul init` makes one", place.repository.display()));
        }
        if !place.repository.is_dir() {
            return Err(no_folder(place));
        }
        // On a disk that cannot be written they stay, and what they stop says so.
        let moved = recovery::make_way(place).unwrap_or_default();
        let lock = WriteLock::if_free(&place.state);
        let mut found = match &lock {
            Some(_) => recovery::open_or_look(place)?,
            None => recovery::look(place)?,
        };
        found.told.splice(0..0, moved);
        let order = found.order;
        let store = Self::around(found, place, policy, caps, clock)?;
        store.in_order.set(order == Order::Made);
        store.require_branch()?;
        Ok(store)
    }

    /// Refuses a memory whose branch is gone: an empty one in its place would hide all that was written.
    fn require_branch(&self) -> Result<()> {
        if self.head()?.is_some() {
            return Ok(());
        }
        let Some(last) = self.projection.borrow_mut().any()? else { return Ok(()) };
        let git = format!("git --git-dir='{}'", self.place.repository.display());
        let hint =
            format!("bring it back with `{git} update-ref refs/heads/main {last}`, then look at it with `{git} log`");
        Err(Failure::new(Kind::Integrity, "the branch `main` of the memory is gone").hint(hint).into())
    }

    /// Opens the memory that stands by itself in a folder, or makes it, unseeded and without a project's rules; files
    /// that already lie in its view are taken in first.
    pub fn open_or_create_free(
        folder: &std::path::Path,
        clock: Clock,
        notice: impl Fn(&str) + Send + 'static,
    ) -> Result<Self> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.with_context(|| format!("could not make the folder `{}`", folder.display()))?;
        let place = Place::at(folder);
        if !Self::exists(&place) {
            new_repository::create(&place.repository)?;
        }
        let mut store = Self::open(&place, Policy::Free, Caps::default(), clock)?;
        store.on_notice(notice);
        let keep_in = store.keep_in.clone();
        // A disk that takes nothing can be read all the same; a write says why it cannot be done.
        if store.told.borrow().is_empty() || store.in_order.get() {
            let Findings { moved, undone, .. } = store.inspect(&Origin::of(Author::External), &keep_in)?;
            store.pending.extend(Findings { moved, undone, ..Findings::default() });
        }
        Ok(store)
    }

    fn around(found: Found, place: &Place, policy: Policy, caps: Caps, clock: Clock) -> Result<Self> {
        Ok(Self {
            seal: Seal::on(place)?,
            journal: RefCell::new(found.journal),
            in_order: Cell::new(false),
            unmoved: Cell::new(None),
            told: RefCell::new(found.told),
            packing: RefCell::new(None),
            place: place.clone(),
            policy,
            caps,
            screen: Screen::default(),
            clock,
            repository: found.repository,
            projection: RefCell::new(Projection::of(&place.state)),
            pending: Findings::default(),
            keep_in: place.state.join("found"),
            notice: Box::new(|_| {}),
            protected: Box::new(|| Ok(Box::new(()))),
        })
    }

    /// Returns what was put in order since the last time that this was asked.
    pub fn recovered(&self) -> Vec<String> {
        self.told.take()
    }

    /// Returns what writes found on their way since the last inspection, where none follows.
    pub fn unsaid(&mut self) -> Findings {
        std::mem::take(&mut self.pending)
    }

    /// Sets who is told what a person should know while it happens, such as a long wait.
    pub fn on_notice(&mut self, notice: impl Fn(&str) + Send + 'static) {
        self.notice = Box::new(notice);
    }

    /// Sets who is asked before a person writes what a session may not write.
    pub fn on_protected(&mut self, ask: impl Fn() -> Result<Box<dyn Any>> + Send + 'static) {
        self.protected = Box::new(ask);
    }

    /// Returns where the memory lies.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the newest commit, if there is one yet.
    pub fn head(&self) -> Result<Option<String>> {
        let Some(journal) = &mut *self.journal.borrow_mut() else { return branch::head(&self.repository) };
        journal.refresh()?;
        Ok(journal.head().map(|head| head.to_string()))
    }

    /// Returns the newest commit as this process knows it; to be called under the write lock, when nobody else adds one.
    pub(super) fn known_head(&self) -> Result<Option<String>> {
        let known = self.journal.borrow().as_ref().map(|journal| journal.head().map(|head| head.to_string()));
        known.map_or_else(|| branch::head(&self.repository), Ok)
    }

    /// Returns the commit that the view was last brought up to; none when that is not known.
    pub(super) fn last_shown(&self) -> Option<String> {
        self.projection.borrow_mut().last(&self.place.view)
    }

    /// Remembers that the view shows the commit; to be called under the write lock.
    pub(super) fn remember_shown(&self, commit: &str) -> Result<()> {
        self.projection.borrow_mut().remember(&self.place.view, commit)
    }

    /// Returns all views that this memory has now, this one among them.
    pub(super) fn views(&self) -> Result<Vec<PathBuf>> {
        let mut views = vec![self.place.view.clone()];
        for view in self.projection.borrow_mut().views()? {
            let is_ours = self.place.has_view(&view);
            if is_ours.with_context(|| format!("could not look whose view `{}` is", view.display()))? {
                views.push(view);
            }
        }
        Ok(views)
    }

    /// Returns the bytes of a file.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let path = MemoryPath::relative(path)?;
        self.snapshot()?.read(path.as_str())
    }

    /// Returns all files with their sizes, in byte order.
    pub fn list(&self) -> Result<Vec<(String, u64)>> {
        let snapshot = self.snapshot()?;
        snapshot.files()?.into_iter().map(|(path, blob)| Ok((path, snapshot.size(&blob)?))).collect()
    }

    /// Returns all files at or below a path with their bytes, in byte order.
    pub fn read_all(&self, below: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let below = MemoryPath::relative(below)?;
        let snapshot = self.snapshot()?;
        let files = snapshot.files_at(below.as_str())?;
        files.into_iter().map(|(path, blob)| Ok((path, snapshot.bytes(&blob)?))).collect()
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot<'_>> {
        Ok(Snapshot::of(&self.repository, self.head()?))
    }
}

/// Says that something else lies where the memory was, and the way out.
fn no_folder(place: &Place) -> anyhow::Error {
    let text = format!("`{}` is no folder, and so not the memory any more", place.repository.display());
    let hint =
        "move it away and bring the memory back from a backup; `.longhaul/memory` still shows what was in it last";
    Failure::new(Kind::Integrity, text).hint(hint).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture;
    use crate::memory::fixture::Memory;

    #[test]
    fn a_memory_is_never_made_twice() {
        let memory = Memory::project(&[("a", "x")]);
        let again = Store::create(&memory.place, Policy::Project, Caps::default(), fixture::clock());
        assert!(again.is_err_and(|error| error.to_string().contains("already")));
        assert_eq!(memory.committed("a").as_deref(), Some("x"));
    }

    #[test]
    fn what_a_kill_leaves_of_a_new_memory_is_swept_up_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::in_project(folder.path(), folder.path());
        let half = place.state.join("memory.git.new-0123/objects");
        fs::create_dir_all(&half).unwrap();
        Store::create(&place, Policy::Project, Caps::default(), fixture::clock()).unwrap();
        assert!(Store::exists(&place) && !half.exists());
    }

    #[test]
    fn opening_what_is_not_there_names_the_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let opened = Store::open(&Place::at(folder.path()), Policy::Free, Caps::default(), fixture::clock());
        assert!(opened.is_err_and(|error| error.to_string().contains("`longhaul init`")));
    }

    #[test]
    fn files_are_read_from_the_newest_commit_not_from_the_view() {
        let memory = Memory::project(&[("checks/a", "1"), ("checks/b/c", "22"), ("checks.md", "333")]);
        memory.edit("checks/a", "planted");
        assert_eq!(memory.committed("checks/a").as_deref(), Some("1"));
        let all = memory.store.read_all("checks").unwrap();
        assert_eq!(all, [("checks/a".to_owned(), b"1".to_vec()), ("checks/b/c".to_owned(), b"22".to_vec())]);
        let sizes = [("checks.md".to_owned(), 3), ("checks/a".to_owned(), 1), ("checks/b/c".to_owned(), 2)];
        assert_eq!(memory.store.list().unwrap(), sizes);
        assert_eq!(memory.store.read("checks").unwrap(), None);
    }

    #[test]
    fn a_free_store_takes_in_what_lies_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("memory/notes")).unwrap();
        fs::write(folder.path().join("memory/notes/a"), "x").unwrap();
        fs::write(folder.path().join("memory/features.json"), "y").unwrap();

        let store = Store::open_or_create_free(folder.path(), fixture::clock(), |_| {}).unwrap();

        assert_eq!(store.read("features.json").unwrap().as_deref(), Some(&b"y"[..]));
        let log = fixture::git(&folder.path().join("memory.git"), &["log", "--format=%an: %s"]);
        assert_eq!(log, "external: memory: adopt 2 files\n");
        let head = store.head().unwrap();
        let again = Store::open_or_create_free(folder.path(), fixture::clock(), |_| {}).unwrap();
        assert_eq!(again.head().unwrap(), head);
    }

    #[test]
    fn a_head_that_was_moved_away_is_attached_again() {
        let mut memory = Memory::project(&[("a", "x")]);
        memory.git(&["update-ref", "--no-deref", "HEAD", "main"]);
        assert_eq!(memory.git(&["rev-parse", "--symbolic-full-name", "HEAD"]), "HEAD\n");
        memory.inspect();
        assert_eq!(memory.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    }
}
