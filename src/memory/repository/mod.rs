//! The memory's bare repository, one function a verb: git2 reads it, and what is written is made in `object`, `tree` and
//! `loose`, unsynced, since the journal has it.
//!
//! There is no index and no work tree; the user's git configuration is set aside on opening, so no signing, hook, filter
//! or identity of theirs reaches a memory commit.

pub(super) mod branch;
pub(super) mod contents;
mod durability;
pub(super) mod exchange;
pub(super) mod lock;
pub(super) mod loose;
pub(super) mod new_repository;
pub(super) mod object;
pub(super) mod owner;
mod remembered;
pub(super) mod snapshot;
pub(super) mod spare;
pub(super) mod tree;
pub(super) mod upkeep;

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use anyhow::Result;
use anyhow::anyhow;
use git2::ErrorCode;
use git2::ObjectType;
use git2::Oid;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::journal::Record;
use crate::memory::repository::loose::Loose;
use crate::memory::repository::object::Object;
use crate::memory::repository::object::Signed;
use crate::memory::repository::remembered::Remembered;
use crate::memory::repository::tree::Trees;

/// Where objects in memory are asked for: before those on disk.
const OVER_ALL: i32 = 999;

/// An open memory repository.
pub(super) struct Repository {
    pub(super) git: git2::Repository,
    trees: RefCell<Remembered>,
    /// The tree of the commit that was asked for last: a write asks a dozen times.
    newest: Cell<Option<(Oid, Oid)>>,
    /// Files in a folder and all below it.
    counts: RefCell<HashMap<Oid, usize>>,
    /// Objects that are read from memory, whatever their files hold.
    laid_over: RefCell<HashSet<Oid>>,
}

/// One commit, without its files.
pub(super) struct Commit {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) author: String,
    pub(super) seconds: i64,
    pub(super) message: String,
}

/// Opens the repository.
pub(super) fn open(path: &Path) -> Result<Repository> {
    let git = open_git(path)?;
    let (trees, newest, counts, laid_over) = Default::default();
    Ok(Repository { git, trees, newest, counts, laid_over })
}

fn open_git(path: &Path) -> Result<git2::Repository> {
    durability::switch_on()?;
    let doing = || format!("could not open the memory at `{}`", path.display());
    let git = git2::Repository::open_bare(path).map_err(|error| match error.class() {
        git2::ErrorClass::Os => anyhow::Error::new(error).context(doing()),
        _ => {
            let hint = "mend it with `longhaul memory fsck --repair`, else bring it back from a backup; `.longhaul/memory` \
                        still shows what was in it last";
            Failure::new(Kind::Integrity, format!("{}: {}", doing(), error.message())).hint(hint).into()
        }
    })?;
    git.set_config(&own_config(path).with_context(doing)?).with_context(doing)?;
    Ok(git)
}

fn own_config(path: &Path) -> Result<git2::Config, git2::Error> {
    git2::Config::open(&path.join("config"))
}

/// Returns the tree of a commit.
pub(super) fn tree_of(repository: &Repository, commit: &str) -> Result<Oid> {
    let id = oid(commit)?;
    if let Some((known, tree)) = repository.newest.get()
        && known == id
    {
        return Ok(tree);
    }
    let tree = find(repository, commit)?.tree_id();
    repository.newest.set(Some((id, tree)));
    Ok(tree)
}

impl Trees for Repository {
    fn tree(&self, id: Oid) -> Result<Arc<[u8]>> {
        if let Some(known) = self.trees.borrow().get(id) {
            return Ok(known.clone());
        }
        // Git knows the empty one without an object.
        let bytes: Arc<[u8]> = match id == Oid::hash_object(ObjectType::Tree, b"")? {
            true => Arc::new([]),
            false => self.object(id)?.into(),
        };
        self.trees.borrow_mut().add(id, bytes.clone());
        Ok(bytes)
    }
}

impl Repository {
    /// Returns the bytes of an object. A file of its own is read by our own code: one that was cut makes libgit2 spin.
    fn object(&self, id: Oid) -> Result<Vec<u8>> {
        if let Some(object) = self.in_its_file(id)? {
            return Ok(object.bytes);
        }
        let odb = self.git.odb().context("could not open the memory's objects")?;
        let found = self.again(|| odb.read(id)).map_err(|error| unreadable(self, &id.to_string(), &error))?;
        Ok(found.data().to_vec())
    }

    /// Asks libgit2 once more when it finds no object: git may have put it into another pack meanwhile.
    fn again<T>(&self, ask: impl Fn() -> Result<T, git2::Error>) -> Result<T, git2::Error> {
        ask().or_else(|_| {
            self.git.odb()?.refresh()?;
            ask()
        })
    }

    /// Returns an object that has a file of its own; none when libgit2 can be asked for it.
    fn in_its_file(&self, id: Oid) -> Result<Option<Object>> {
        if self.laid_over.borrow().contains(&id) {
            return Ok(None);
        }
        Loose(&self.objects()).read(id).map_err(|error| match error.kind() {
            ErrorKind::InvalidData | ErrorKind::IsADirectory => damaged(id),
            // The file may be as whole as ever: too many are open, say.
            _ => anyhow::Error::new(error).context(format!("could not read the object `{id}` of the memory")),
        })
    }

    /// Tells whether an object can be asked of libgit2.
    fn is_askable(&self, id: Oid) -> Result<bool> {
        if self.laid_over.borrow().contains(&id) {
            return Ok(true);
        }
        let whole = Loose(&self.objects()).is_whole(id);
        let whole = whole.with_context(|| format!("could not read the object `{id}` of the memory"))?;
        Ok(whole != Some(false))
    }

    /// Tells whether there is an object, in whatever form; its bytes are not looked at.
    pub(super) fn has(&self, id: Oid) -> Result<bool> {
        let odb = self.git.odb().context("could not open the memory's objects")?;
        Ok(odb.exists(id) || id == Oid::hash_object(ObjectType::Tree, b"")?)
    }

    /// Lets go of packs that are gone: libgit2 holds each open that it once read, with all the room it takes.
    pub(super) fn forget_packs(&mut self) -> Result<()> {
        if self.laid_over.borrow().is_empty() {
            self.git = open_git(self.git.path())?;
        }
        Ok(())
    }

    /// Returns a folder that was read or written lately.
    pub(super) fn remembered(&self, id: Oid) -> Option<Object> {
        let bytes = self.trees.borrow().get(id)?.to_vec();
        Some(Object { id, kind: ObjectType::Tree, bytes })
    }

    /// Returns the folder of its objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.git.path().join("objects")
    }
}

/// Returns the bytes with this id.
pub(super) fn read(repository: &Repository, blob: &str) -> Result<Vec<u8>> {
    repository.object(oid(blob)?)
}

/// Returns how many bytes have this id, without reading them all.
pub(super) fn size(repository: &Repository, blob: &str) -> Result<u64> {
    let odb = repository.git.odb().context("could not open the memory's objects")?;
    let id = oid(blob)?;
    let (size, _) =
        repository.again(|| odb.read_header(id)).with_context(|| format!("could not read `{blob}` of the memory"))?;
    Ok(size as u64)
}

/// Returns the id that these bytes have in git.
pub(super) fn blob_id(bytes: &[u8]) -> Result<String> {
    let id = Oid::hash_object(ObjectType::Blob, bytes).context("could not hash the bytes of a file")?;
    Ok(id.to_string())
}

/// Makes a commit with these changes, of which nothing is on disk yet; none when nothing would change.
pub(super) fn stage(
    repository: &Repository,
    parent: Option<&str>,
    changes: &[(&str, Option<&[u8]>)],
    signed: &Signed<'_>,
) -> Result<Option<Record>> {
    let base = parent.map(|parent| tree_of(repository, parent)).transpose()?;
    let mut objects = Vec::new();
    let tree = tree::change(repository, base, changes, &mut objects)?;
    if Some(tree) == base || base.is_none() && tree == Oid::hash_object(ObjectType::Tree, b"")? {
        return Ok(None);
    }
    let old = parent.map(oid).transpose()?;
    let commit = object::commit(tree, old, signed)?;
    let new = commit.id;
    objects.push(commit);
    Ok(Some(Record { old, new, objects }))
}

/// Writes the objects of a commit, unsynced.
pub(super) fn write(repository: &Repository, commit: &Record) -> Result<()> {
    let folder = repository.objects();
    for object in &commit.objects {
        Loose(&folder).write(object)?;
        if object.kind == ObjectType::Tree {
            repository.trees.borrow_mut().add(object.id, object.bytes.as_slice().into());
        }
        if let Some(parts) = object::parts_of_commit(object) {
            repository.newest.set(Some((object.id, parts.tree)));
        }
    }
    Ok(())
}

/// Tells whether a commit and its tree can be read. Files of their own are looked at first: one that was cut makes libgit2
/// spin for ever.
pub(super) fn is_sound(repository: &Repository, commit: Oid) -> Result<bool> {
    if !repository.is_askable(commit)? {
        return Ok(false);
    }
    let Ok(commit) = repository.again(|| repository.git.find_commit(commit)) else { return Ok(false) };
    Ok(repository.is_askable(commit.tree_id())? && repository.tree(commit.tree_id()).is_ok())
}

/// Tells whether one commit came after another.
pub(super) fn descends(repository: &Repository, commit: Oid, from: Oid) -> bool {
    repository.git.graph_descendant_of(commit, from).unwrap_or(false)
}

/// Removes the half-written objects of killed processes, and returns how many there were; to be called under the write lock.
pub(super) fn sweep(objects: &Path) -> Result<usize> {
    let sweep = || {
        let mut removed = 0;
        for entry in fs::read_dir(objects)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(loose::HALF) {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        Ok::<usize, std::io::Error>(removed)
    };
    sweep().with_context(|| format!("could not tidy `{}`", objects.display()))
}

/// Lets these objects be read though their files are missing or damaged; nothing is written.
pub(super) fn lay_over(repository: &Repository, objects: &[Object]) -> Result<()> {
    let lay = || {
        // Written before the disk is asked: libgit2 takes an object that it finds there for written.
        let odb = git2::Odb::new()?;
        odb.add_new_mempack_backend(OVER_ALL)?;
        for object in objects {
            odb.write(object.kind, &object.bytes)?;
        }
        odb.add_disk_alternate(&repository.objects().to_string_lossy())?;
        repository.git.set_odb(&odb)?;
        repository.laid_over.borrow_mut().extend(objects.iter().map(|object| object.id));
        Ok::<(), git2::Error>(())
    };
    lay().context("could not show the memory as its journal has it")
}

/// Returns one commit.
pub(super) fn commit(repository: &Repository, id: &str) -> Result<Commit> {
    let commit = find(repository, id)?;
    Ok(Commit {
        id: commit.id().to_string(),
        parent: commit.parent_id(0).ok().map(|id| id.to_string()),
        author: String::from_utf8_lossy(commit.author().name_bytes()).into_owned(),
        seconds: commit.time().seconds(),
        message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
    })
}

/// What the history is walked by: a commit's tree, when it was made, and the commits before it.
pub(super) struct Step {
    pub(super) tree: Oid,
    pub(super) seconds: i64,
    pub(super) parents: Vec<Oid>,
}

/// Returns what a commit says of its place in the history.
pub(super) fn step(repository: &Repository, id: Oid) -> Result<Step> {
    let found = repository.again(|| repository.git.find_commit(id));
    let commit = found.map_err(|error| unreadable(repository, &id.to_string(), &error))?;
    let parents = commit.parent_ids().collect();
    Ok(Step { tree: commit.tree_id(), seconds: commit.time().seconds(), parents })
}

/// Returns the full id of the commit that this prefix of an id names.
pub(super) fn resolve(repository: &Repository, prefix: &str) -> Result<String> {
    let hint = "`longhaul log` shows the commits; `@7` stands for what session 7 left, `now` for the newest";
    if prefix.len() < 4 || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Failure::usage(format!("`{prefix}` is no commit id")).hint(hint).into());
    }
    match repository.git.find_commit_by_prefix(prefix) {
        Ok(commit) => Ok(commit.id().to_string()),
        Err(error) if error.code() == ErrorCode::Ambiguous => {
            Err(Failure::usage(format!("more than one object of the memory begins with `{prefix}`")).hint(hint).into())
        }
        Err(_) => Err(Failure::usage(format!("the memory has no commit `{prefix}`")).hint(hint).into()),
    }
}

fn find<'r>(repository: &'r Repository, id: &str) -> Result<git2::Commit<'r>> {
    let oid = oid(id)?;
    repository.in_its_file(oid)?;
    repository.again(|| repository.git.find_commit(oid)).map_err(|error| unreadable(repository, id, &error))
}

fn damaged(id: Oid) -> anyhow::Error {
    let text = format!("the object `{id}` of the memory is damaged");
    Failure::new(Kind::Integrity, text).hint("mend it with `longhaul memory fsck --repair`").into()
}

/// Says that an object cannot be read; one that is gone, longhaul cannot make again.
fn unreadable(repository: &Repository, id: &str, error: &git2::Error) -> anyhow::Error {
    let message = format!("could not read the object `{id}` of the memory: {}", error.message());
    if error.code() != ErrorCode::NotFound {
        return anyhow!(message);
    }
    let place = repository.git.path().display();
    let hint = format!(
        "`longhaul memory fsck --repair` mends it where that can be, and names what is lost; that comes back from a backup \
         of `{place}`"
    );
    Failure::new(Kind::Integrity, message).hint(hint).into()
}

/// Reads an id.
pub(super) fn oid(id: &str) -> Result<Oid> {
    Oid::from_str(id).map_err(|error| anyhow!("`{id}` is no object id: {}", error.message()))
}
