//! The memory's bare repository, one function a verb: git2 reads it, and what is written is made in `object`, `tree` and
//! `loose`, unsynced, since the journal has it.
//!
//! There is no index and no work tree. Only `main` moves, by compare-and-swap; the user's git
//! configuration is set aside on opening, so no signing, hook, filter or identity of theirs reaches a memory commit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::io::ErrorKind;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use anyhow::Result;
use anyhow::anyhow;
use anyhow::bail;
use git2::ErrorCode;
use git2::ObjectType;
use git2::Oid;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::durability;
use crate::memory::journal::Record;
use crate::memory::loose;
use crate::memory::loose::Loose;
use crate::memory::object;
use crate::memory::object::Signed;
use crate::memory::tree;
use crate::memory::tree::Row;
use crate::memory::tree::Trees;

pub(super) const BRANCH: &str = "refs/heads/main";

/// Trees that are remembered; most of them come up again at the next write.
const REMEMBERED: usize = 4096;

/// An open memory repository.
pub(super) struct Repository {
    git: git2::Repository,
    trees: RefCell<HashMap<Oid, Arc<[u8]>>>,
}

/// What lies at a path of a commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Entry {
    /// A regular file and the id of its bytes.
    File(String),
    /// A folder and the id of what it holds.
    Folder(String),
}

/// What became of the wish to move the branch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Moved {
    Yes,
    /// Somebody else moved it first.
    Stale,
}

/// From where the branch may be moved.
#[derive(Clone, Copy, Debug)]
pub(super) enum From {
    At(Option<Oid>),
    Anywhere,
}

/// How long a lock file of git's may be in the way. Whoever holds the write lock may then remove it: only a killed
/// process leaves one for so long.
const GIT_LOCK: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);

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
    durability::switch_on()?;
    let doing = || format!("could not open the memory at `{}`", path.display());
    let git = git2::Repository::open_bare(path).map_err(|error| match error.class() {
        git2::ErrorClass::Os => anyhow::Error::new(error).context(doing()),
        _ => {
            let hint = "bring it back from a backup; `.longhaul/memory` still shows what was in it last";
            Failure::new(Kind::Integrity, format!("{}: {}", doing(), error.message())).hint(hint).into()
        }
    })?;
    git.set_config(&own_config(path).with_context(doing)?).with_context(doing)?;
    Ok(Repository { git, trees: RefCell::default() })
}

fn own_config(path: &Path) -> Result<git2::Config, git2::Error> {
    git2::Config::open(&path.join("config"))
}

/// Points HEAD at the branch again when somebody moved it away; the branch itself is the truth.
pub(super) fn attach_head(repository: &Repository) -> Result<()> {
    let folder = repository.git.path();
    let (head, attached) = (folder.join("HEAD"), format!("ref: {BRANCH}\n"));
    if fs::read(&head).is_ok_and(|text| text == attached.as_bytes()) {
        return Ok(());
    }
    if !folder.join("objects").is_dir() {
        let gone = format!("the memory at `{}` is gone", folder.display());
        let hint = "bring it back, for example from a backup, before anything else is run";
        return Err(Failure::new(Kind::Integrity, gone).hint(hint).into());
    }
    // By hand, because libgit2 does not replace a HEAD that it cannot read, such as an emptied one.
    let new = folder.join("HEAD.longhaul-new");
    let attach = || fs::write(&new, &attached).and_then(|()| fs::rename(&new, &head));
    attach().context("could not point the memory's HEAD at `main`")
}

/// Returns the newest commit, if there is one yet.
pub(super) fn head(repository: &Repository) -> Result<Option<String>> {
    match repository.git.refname_to_id(BRANCH) {
        Ok(id) => Ok(Some(id.to_string())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error).context("could not read the memory's branch `main`"),
    }
}

/// Returns what lies at a path; links and other foreign entries count as nothing.
pub(super) fn entry(repository: &Repository, commit: Option<&str>, path: &str) -> Result<Option<Entry>> {
    let Some(commit) = commit else { return Ok(None) };
    let mut at = Some(Entry::Folder(tree_of(repository, commit)?.to_string()));
    for name in path.split('/') {
        let Some(Entry::Folder(id)) = at else { return Ok(None) };
        let tree = repository.tree(oid(&id)?)?;
        at = None;
        for row in tree::rows(&tree) {
            let row = row?;
            if row.name == name.as_bytes() {
                at = kind(&row);
            }
        }
    }
    Ok(at)
}

/// Returns all files of a commit with the ids of their bytes.
pub(super) fn files(repository: &Repository, commit: Option<&str>) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let Some(commit) = commit else { return Ok(files) };
    let mut folders = vec![(String::new(), tree_of(repository, commit)?)];
    while let Some((folder, id)) = folders.pop() {
        for row in tree::rows(&repository.tree(id)?) {
            let row = row?;
            let Ok(name) = std::str::from_utf8(row.name) else { continue };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            match kind(&row) {
                Some(Entry::File(blob)) => drop(files.insert(path, blob)),
                Some(Entry::Folder(_)) => folders.push((path, row.id)),
                None => {}
            }
        }
    }
    Ok(files)
}

fn kind(row: &Row<'_>) -> Option<Entry> {
    match row.is_folder() {
        true => Some(Entry::Folder(row.id.to_string())),
        false => row.is_file().then(|| Entry::File(row.id.to_string())),
    }
}

fn tree_of(repository: &Repository, commit: &str) -> Result<Oid> {
    Ok(find(repository, commit)?.tree_id())
}

impl Trees for Repository {
    fn tree(&self, id: Oid) -> Result<Arc<[u8]>> {
        if let Some(known) = self.trees.borrow().get(&id) {
            return Ok(known.clone());
        }
        let odb = self.git.odb().context("could not open the memory's objects")?;
        let bytes: Arc<[u8]> = match odb.read(id) {
            Ok(object) => object.data().into(),
            // Git knows it without an object.
            Err(_) if id == Oid::hash_object(ObjectType::Tree, b"")? => Arc::new([]),
            Err(error) => return Err(unreadable(self, &id.to_string(), &error)),
        };
        self.remember(id, bytes.clone());
        Ok(bytes)
    }
}

impl Repository {
    fn remember(&self, id: Oid, bytes: Arc<[u8]>) {
        let mut trees = self.trees.borrow_mut();
        if trees.len() >= REMEMBERED {
            trees.clear();
        }
        trees.insert(id, bytes);
    }

    /// Returns the folder of its objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.git.path().join("objects")
    }
}

/// Returns the bytes with this id.
pub(super) fn read(repository: &Repository, blob: &str) -> Result<Vec<u8>> {
    let found = repository.git.find_blob(oid(blob)?).map_err(|error| unreadable(repository, blob, &error))?;
    Ok(found.content().to_vec())
}

/// Returns how many bytes have this id, without reading them all.
pub(super) fn size(repository: &Repository, blob: &str) -> Result<u64> {
    let odb = repository.git.odb().context("could not open the memory's objects")?;
    let (size, _) = odb.read_header(oid(blob)?).with_context(|| format!("could not read `{blob}` of the memory"))?;
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
            repository.remember(object.id, object.bytes.as_slice().into());
        }
    }
    Ok(())
}

/// Moves the branch to `new`, unsynced, and waits a little for who holds it; what nobody holds any more is removed.
pub(super) fn move_branch(repository: &Repository, from: From, new: Oid, why: (&str, i64)) -> Result<Moved> {
    let mut waited = Duration::ZERO;
    loop {
        match try_move(repository, from, new, why)? {
            Some(moved) => return Ok(moved),
            None if waited < GIT_LOCK => {
                thread::sleep(PAUSE);
                waited += PAUSE;
            }
            None if remove_locks(repository)? => waited = Duration::ZERO,
            None => bail!("the memory's branch is locked, and no lock file is there to remove"),
        }
    }
}

/// Moves the branch once; none when a lock file is in the way.
fn try_move(repository: &Repository, from: From, new: Oid, why: (&str, i64)) -> Result<Option<Moved>> {
    let file = repository.git.path().join(BRANCH);
    let lock = file.with_extension("lock");
    let text = format!("{new}\n");
    let written = || {
        fs::create_dir_all(file.parent().unwrap_or(&file))?;
        let mut held = OpenOptions::new().write(true).create_new(true).open(&lock)?;
        held.write_all(text.as_bytes()).inspect_err(|_| drop(fs::remove_file(&lock)))
    };
    match written() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        written => written.context("could not move the memory's branch `main`")?,
    }
    let at = head(repository).ok().flatten().and_then(|id| Oid::from_str(&id).ok());
    let moved = || {
        if let From::At(from) = from
            && at != from
        {
            fs::remove_file(&lock)?;
            return Ok(Moved::Stale);
        }
        if file.is_dir() {
            fs::remove_dir_all(&file)?;
        }
        // A record of git's that cannot be written is only one help less.
        let known = at.filter(|_| matches!(from, From::At(_)));
        let _ = log_move(repository, known, new, why);
        fs::rename(&lock, &file)?;
        Ok::<_, io::Error>(Moved::Yes)
    };
    moved().map(Some).context("could not move the memory's branch `main`")
}

/// Adds a line to git's own record of where the branch was.
fn log_move(repository: &Repository, old: Option<Oid>, new: Oid, (why, seconds): (&str, i64)) -> io::Result<()> {
    let path = repository.git.path().join("logs").join(BRANCH);
    let open = || OpenOptions::new().append(true).create(true).open(&path);
    let mut file = match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            open()?
        }
        file => file?,
    };
    let old = old.unwrap_or(Oid::ZERO_SHA1);
    file.write_all(format!("{old} {new} longhaul <longhaul@longhaul.invalid> {seconds} +0000\t{why}\n").as_bytes())
}

/// Keeps a commit that was found at the branch, and returns the ref that does; none when that cannot be.
pub(super) fn keep_found(repository: &Repository, found: Oid) -> Option<String> {
    let name = format!("refs/longhaul/found/{found}");
    repository.git.reference(&name, found, true, "found at `main`").ok().map(|_| name)
}

/// Tells whether a commit and its tree can be read. Files of their own are looked at first: one that was cut makes libgit2
/// spin for ever.
pub(super) fn is_sound(repository: &Repository, commit: Oid) -> bool {
    let objects = repository.objects();
    let whole = |id: Oid| Loose(&objects).is_whole(id) != Some(false);
    whole(commit)
        && repository
            .git
            .find_commit(commit)
            .is_ok_and(|commit| whole(commit.tree_id()) && repository.tree(commit.tree_id()).is_ok())
}

/// Returns the newest commit that git's own record of the branch names and that can be read.
pub(super) fn newest_logged(repository: &Repository) -> Option<Oid> {
    let log = fs::read_to_string(repository.git.path().join("logs").join(BRANCH)).ok()?;
    let named = log.lines().rev().filter_map(|line| Oid::from_str(line.split(' ').nth(1)?).ok());
    named.into_iter().find(|commit| is_sound(repository, *commit))
}

/// Tells whether one commit came after another.
pub(super) fn descends(repository: &Repository, commit: Oid, from: Oid) -> bool {
    repository.git.graph_descendant_of(commit, from).unwrap_or(false)
}

/// Removes the lock files that a killed process left in the way of the branch; tells whether there were any.
fn remove_locks(repository: &Repository) -> Result<bool> {
    let mut removed = false;
    for name in ["refs/heads/main.lock", "packed-refs.lock", "HEAD.lock"] {
        let path = repository.git.path().join(name);
        match fs::remove_file(&path) {
            Ok(()) => removed = true,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("could not remove `{}`", path.display())),
        }
    }
    Ok(removed)
}

/// Removes the half-written objects of killed processes; to be called under the write lock.
pub(super) fn sweep(repository: &Repository) -> Result<()> {
    let objects = repository.git.path().join("objects");
    let sweep = || {
        for entry in fs::read_dir(&objects)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(loose::HALF) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok::<(), std::io::Error>(())
    };
    sweep().with_context(|| format!("could not tidy `{}`", objects.display()))
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

/// Returns the full id of the commit that this prefix of an id names.
pub(super) fn resolve(repository: &Repository, prefix: &str) -> Result<String> {
    if prefix.len() < 4 || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
        bail!("`{prefix}` is no commit id; `longhaul log` shows them");
    }
    let commit = repository.git.find_commit_by_prefix(prefix);
    let commit = commit.with_context(|| format!("the memory has no commit `{prefix}`; `longhaul log` shows them"))?;
    Ok(commit.id().to_string())
}

/// Returns the paths that a commit changed, with git's letter for how.
pub(super) fn touched(repository: &Repository, id: &str) -> Result<Vec<(char, String)>> {
    let diff = diff(repository, id)?;
    let path = |delta: &git2::DiffDelta<'_>| {
        let file = if delta.status() == git2::Delta::Deleted { delta.old_file() } else { delta.new_file() };
        String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned()
    };
    let letter = |delta: &git2::DiffDelta<'_>| match delta.status() {
        git2::Delta::Added => 'A',
        git2::Delta::Deleted => 'D',
        _ => 'M',
    };
    Ok(diff.deltas().map(|delta| (letter(&delta), path(&delta))).collect())
}

/// Returns what a commit changed, as a patch.
pub(super) fn patch(repository: &Repository, id: &str) -> Result<String> {
    let mut text = Vec::new();
    let printed = diff(repository, id)?.print(git2::DiffFormat::Patch, |_, _, line| {
        if matches!(line.origin(), '+' | '-' | ' ') {
            text.push(line.origin() as u8);
        }
        text.extend_from_slice(line.content());
        true
    });
    printed.with_context(|| format!("could not show what `{id}` changed"))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn diff<'r>(repository: &'r Repository, id: &str) -> Result<git2::Diff<'r>> {
    let commit = find(repository, id)?;
    let new = commit.tree().with_context(|| format!("could not read the tree of `{id}`"))?;
    let old = match commit.parent(0) {
        Ok(parent) => Some(parent.tree().with_context(|| format!("could not read the tree before `{id}`"))?),
        Err(_) => None,
    };
    let diff = repository.git.diff_tree_to_tree(old.as_ref(), Some(&new), None);
    diff.with_context(|| format!("could not compare `{id}` with the commit before it"))
}

fn find<'r>(repository: &'r Repository, id: &str) -> Result<git2::Commit<'r>> {
    repository.git.find_commit(oid(id)?).map_err(|error| unreadable(repository, id, &error))
}

/// Says that an object cannot be read; one that is gone, longhaul cannot make again.
fn unreadable(repository: &Repository, id: &str, error: &git2::Error) -> anyhow::Error {
    let message = format!("could not read the object `{id}` of the memory: {}", error.message());
    if error.code() != ErrorCode::NotFound {
        return anyhow!(message);
    }
    let place = repository.git.path().display();
    let hint = format!("bring it back, for example from a backup of `{place}`; `git fsck` there names what is missing");
    Failure::new(Kind::Integrity, message).hint(hint).into()
}

fn oid(id: &str) -> Result<Oid> {
    Oid::from_str(id).map_err(|error| anyhow!("`{id}` is no object id: {}", error.message()))
}
