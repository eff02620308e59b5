//! The memory's bare repository, one function a verb; the only place of this part that knows git2.
//!
//! There is no index and no work tree. Only `main` moves, by compare-and-swap; the user's git
//! configuration is set aside on opening, so no signing, hook, filter or identity of theirs reaches a memory commit.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use anyhow::Result;
use anyhow::anyhow;
use anyhow::bail;
use git2::ErrorCode;
use git2::FileMode;
use git2::ObjectType;
use git2::Oid;
use git2::Signature;
use git2::Time;
use git2::Tree;
use git2::build::TreeUpdateBuilder;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::durability;

pub(super) const BRANCH: &str = "refs/heads/main";

/// An open memory repository.
pub(super) struct Repository {
    git: git2::Repository,
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
    /// A lock file is in the way.
    Locked,
}

/// One commit, without its files.
pub(super) struct Commit {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) author: String,
    pub(super) seconds: i64,
    pub(super) message: String,
}

/// Who makes a commit, when, and with which text.
pub(super) struct Signed<'a> {
    pub(super) author: &'a str,
    pub(super) committer: &'a str,
    pub(super) seconds: i64,
    pub(super) message: &'a str,
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
    Ok(Repository { git })
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
    let tree = tree(repository, commit)?;
    match tree.get_path(Path::new(path)) {
        Ok(entry) => Ok(kind(&entry)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not look up `{path}` in the memory")),
    }
}

/// Returns all files of a commit with the ids of their bytes.
pub(super) fn files(repository: &Repository, commit: Option<&str>) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let Some(commit) = commit else { return Ok(files) };
    let mut folders = vec![(String::new(), tree(repository, commit)?)];
    while let Some((folder, tree)) = folders.pop() {
        for entry in &tree {
            let Ok(name) = entry.name() else { continue };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            match kind(&entry) {
                Some(Entry::File(blob)) => {
                    files.insert(path, blob);
                }
                Some(Entry::Folder(_)) => {
                    let tree = repository.git.find_tree(entry.id());
                    let tree = tree.with_context(|| format!("could not read the folder `{path}` of the memory"))?;
                    folders.push((path, tree));
                }
                None => {}
            }
        }
    }
    Ok(files)
}

fn kind(entry: &git2::TreeEntry<'_>) -> Option<Entry> {
    match entry.kind() {
        Some(ObjectType::Tree) => Some(Entry::Folder(entry.id().to_string())),
        Some(ObjectType::Blob) if entry.filemode() != i32::from(FileMode::Link) => {
            Some(Entry::File(entry.id().to_string()))
        }
        _ => None,
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

/// Writes a commit with these changes and makes it durable, but moves nothing; none when nothing would change.
pub(super) fn write_commit(
    repository: &Repository,
    parent: Option<&str>,
    changes: &[(&str, Option<&[u8]>)],
    signed: &Signed<'_>,
) -> Result<Option<String>> {
    let git = &repository.git;
    let parent = parent.map(|id| git.find_commit(oid(id)?).context("could not read the memory's newest commit"));
    let parent = parent.transpose()?;
    let base = match &parent {
        Some(parent) => parent.tree().context("could not read the memory's newest tree")?,
        None => empty_tree(git)?,
    };
    let tree = write_tree(git, &base, changes)?;
    if tree.id() == base.id() {
        return Ok(None);
    }
    let author = signature(signed.author, signed.seconds)?;
    let committer = signature(signed.committer, signed.seconds)?;
    let parents: Vec<_> = parent.iter().collect();
    let id = git.commit(None, &author, &committer, signed.message, &tree, &parents);
    Ok(Some(id.context("could not write a commit to the memory")?.to_string()))
}

fn write_tree<'r>(git: &'r git2::Repository, base: &Tree<'_>, changes: &[(&str, Option<&[u8]>)]) -> Result<Tree<'r>> {
    let mut update = TreeUpdateBuilder::new();
    for (path, bytes) in changes {
        match bytes {
            Some(bytes) => {
                let id = git.blob(bytes).with_context(|| format!("could not write `{path}` to the memory"))?;
                update.upsert(*path, id, FileMode::Blob);
            }
            // The builder refuses to remove what is not there.
            None if base.get_path(Path::new(path)).is_ok() => {
                update.remove(*path);
            }
            None => {}
        }
    }
    let id = update.create_updated(git, base).context("could not write a tree to the memory")?;
    git.find_tree(id).context("could not read back a tree of the memory")
}

/// The empty tree, which libgit2 knows without an object: one written here would lie about unused for ever.
fn empty_tree(git: &git2::Repository) -> Result<Tree<'_>> {
    let id = Oid::hash_object(ObjectType::Tree, b"").context("could not hash the empty tree")?;
    git.find_tree(id).context("could not read the empty tree")
}

fn signature(name: &str, seconds: i64) -> Result<Signature<'static>> {
    let time = Time::new(seconds, 0);
    Signature::new(name, &format!("{name}@longhaul.invalid"), &time).context("could not make a commit's signature")
}

/// Moves the branch to `commit` if it is still at `parent`; durable when this returns.
pub(super) fn move_branch(repository: &Repository, commit: &str, parent: Option<&str>, why: &str) -> Result<Moved> {
    let id = oid(commit)?;
    let moved = match parent {
        Some(parent) => repository.git.reference_matching(BRANCH, id, true, oid(parent)?, why),
        None => repository.git.reference(BRANCH, id, false, why),
    };
    match moved {
        Ok(_) => Ok(Moved::Yes),
        Err(error) => match error.code() {
            ErrorCode::Modified | ErrorCode::Exists | ErrorCode::NotFound => Ok(Moved::Stale),
            ErrorCode::Locked => Ok(Moved::Locked),
            _ => Err(error).context("could not move the memory's branch `main`"),
        },
    }
}

/// Moves the branch back to `ours`, and returns the ref that keeps `found`, if that can be kept.
pub(super) fn move_back(repository: &Repository, ours: &str, found: Option<&str>) -> Result<Option<String>> {
    let git = &repository.git;
    let kept = found.and_then(|found| {
        let name = format!("refs/longhaul/found/{found}");
        git.reference(&name, oid(found).ok()?, true, "found at `main`").ok().map(|_| name)
    });
    if found.is_none() {
        // A file that is no ref would be in the way; where there is none, there is nothing to remove.
        let _ = fs::remove_file(git.path().join(BRANCH));
    }
    let moved = git.reference(BRANCH, oid(ours)?, true, "put back");
    moved.context("could not put the memory's branch `main` back")?;
    Ok(kept)
}

/// Removes the lock files that a killed process left in the way of the branch; tells whether there were any.
pub(super) fn remove_locks(repository: &Repository) -> Result<bool> {
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
            if entry.file_name().to_string_lossy().starts_with("tmp_object_git2_") {
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

fn tree<'r>(repository: &'r Repository, commit: &str) -> Result<Tree<'r>> {
    find(repository, commit)?.tree().with_context(|| format!("could not read the tree of `{commit}`"))
}

fn oid(id: &str) -> Result<Oid> {
    Oid::from_str(id).map_err(|error| anyhow!("`{id}` is no object id: {}", error.message()))
}
