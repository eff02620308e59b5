//! The memory, open: making and opening it, and reading what the newest commit holds.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use anyhow::anyhow;

use crate::clock::Clock;
use crate::memory::Place;
use crate::memory::adoption::Findings;
use crate::memory::guard::Caps;
use crate::memory::guard::Policy;
use crate::memory::path::MemoryPath;
use crate::memory::repository;
use crate::memory::repository::Repository;
use crate::memory::snapshot::Snapshot;
use crate::memory::trailers::Author;
use crate::memory::trailers::Origin;

/// An open memory.
pub struct Store {
    pub(super) place: Place,
    pub(super) policy: Policy,
    pub(super) caps: Caps,
    pub(super) clock: Clock,
    pub(super) repository: Repository,
    /// Found by looks at the view that a write made on the way; told at the next inspection.
    pub(super) pending: Findings,
    /// Where such looks keep what may not stay in the view.
    pub(super) keep_in: PathBuf,
    pub(super) notice: Box<dyn Fn(&str) + Send>,
}

/// One file to write, or without bytes to remove.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// Relative to the memory's root, such as `notes/db.md`.
    pub path: String,
    pub bytes: Option<Vec<u8>>,
}

impl Change {
    /// Makes a change that writes a file.
    pub fn put(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: Some(bytes.into()) }
    }

    /// Makes a change that removes a file.
    pub fn remove(path: impl Into<String>) -> Self {
        Self { path: path.into(), bytes: None }
    }
}

impl Store {
    /// Tells whether a memory lies there.
    pub fn exists(place: &Place) -> bool {
        place.repository.exists()
    }

    /// Makes an empty memory; an existing one is never touched.
    pub fn create(place: &Place, policy: Policy, caps: Caps, clock: Clock) -> Result<Self> {
        if Self::exists(place) {
            return Err(anyhow!("there is a memory already at `{}`", place.repository.display()));
        }
        let repository = repository::create(&place.repository)?;
        Ok(Self::around(repository, place, policy, caps, clock))
    }

    /// Opens a memory. Nothing is compared or changed yet; [`Store::inspect`] does that.
    pub fn open(place: &Place, policy: Policy, caps: Caps, clock: Clock) -> Result<Self> {
        if !Self::exists(place) {
            return Err(anyhow!("there is no memory at `{}`; `longhaul init` makes one", place.repository.display()));
        }
        let repository = repository::open(&place.repository)?;
        Ok(Self::around(repository, place, policy, caps, clock))
    }

    /// Opens the memory that stands by itself in a folder, or makes it, unseeded and without a project's rules; files
    /// that already lie in its view are taken in first.
    pub fn open_or_create_free(folder: &std::path::Path, clock: Clock) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("could not make the folder `{}`", folder.display()))?;
        let place = Place::at(folder);
        let open = if Self::exists(&place) { Self::open } else { Self::create };
        let mut store = open(&place, Policy::Free, Caps::default(), clock)?;
        let keep_in = store.keep_in.clone();
        store.inspect(&Origin::of(Author::External), &keep_in)?;
        Ok(store)
    }

    fn around(repository: Repository, place: &Place, policy: Policy, caps: Caps, clock: Clock) -> Self {
        Self {
            place: place.clone(),
            policy,
            caps,
            clock,
            repository,
            pending: Findings::default(),
            keep_in: place.state.join("found"),
            notice: Box::new(|_| {}),
        }
    }

    /// Sets who is told what a person should know while it happens, such as a long wait.
    pub fn on_notice(&mut self, notice: impl Fn(&str) + Send + 'static) {
        self.notice = Box::new(notice);
    }

    /// Returns where the memory lies.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the newest commit, if there is one yet.
    pub fn head(&self) -> Result<Option<String>> {
        repository::head(&self.repository)
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
