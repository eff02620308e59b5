//! The branch `main` of the memory: it alone moves, by compare-and-swap, unsynced, since the journal has every commit.

use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::io::ErrorKind;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use git2::ErrorCode;
use git2::Oid;

use crate::memory::repository;
use crate::memory::repository::Repository;
use crate::memory::repository::spare::Spare;
use crate::memory::seal::layout;

pub(in crate::memory) const BRANCH: &str = "refs/heads/main";

/// What became of the wish to move the branch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::memory) enum Moved {
    Yes,
    /// Somebody else moved it first.
    Stale,
}

/// From where the branch may be moved.
#[derive(Clone, Copy, Debug)]
pub(in crate::memory) enum From {
    At(Option<Oid>),
    Anywhere,
}

/// How long a lock file of git's may be in the way. Whoever holds the write lock may then remove it: only a killed
/// process leaves one for so long.
const GIT_LOCK: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);
/// How often locks are cleared before a move is given up.
const TRIES: usize = 20;

/// Returns the newest commit, if there is one yet.
pub(in crate::memory) fn head(repository: &Repository) -> Result<Option<String>> {
    match repository.git.refname_to_id(BRANCH) {
        Ok(id) => Ok(Some(id.to_string())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error).context("could not read the memory's branch `main`"),
    }
}

/// Moves the branch to `new`, unsynced, and waits a little for who holds it; what nobody holds any more is removed.
pub(in crate::memory) fn move_branch(repository: &Repository, from: From, new: Oid, why: (&str, i64)) -> Result<Moved> {
    for _ in 0..TRIES {
        if let Some(moved) = try_move(repository, from, new, why)? {
            return Ok(moved);
        }
        clear_locks(repository.git.path())?;
    }
    bail!("something keeps locking the memory's branch")
}

/// Moves the branch once; none when a lock file is in the way.
fn try_move(repository: &Repository, from: From, new: Oid, why: (&str, i64)) -> Result<Option<Moved>> {
    let file = repository.git.path().join(BRANCH);
    let lock = file.with_extension("lock");
    let spare = Spare::of(repository);
    match spare.lock(&lock, format!("{new}\n").as_bytes()) {
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
        spare.replace(&lock, &file)?;
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
pub(in crate::memory) fn keep_found(repository: &Repository, found: Oid) -> Option<String> {
    let name = format!("refs/longhaul/found/{found}");
    repository.git.reference(&name, found, true, "found at `main`").ok().map(|_| name)
}

/// Returns the newest commit that git's own record of the branch names and that can be read.
pub(in crate::memory) fn newest_logged(repository: &Repository) -> Option<Oid> {
    let log = fs::read_to_string(repository.git.path().join("logs").join(BRANCH)).ok()?;
    let named = log.lines().rev().filter_map(|line| Oid::from_str(line.split(' ').nth(1)?).ok());
    named.into_iter().find(|commit| repository::is_sound(repository, *commit))
}

/// Removes the lock files that killed processes left, and returns them; who still holds one has a moment to end.
pub(in crate::memory) fn clear_locks(repository: &Path) -> Result<Vec<PathBuf>> {
    let mut waited = Duration::ZERO;
    while waited < GIT_LOCK && !layout::locks(repository).is_empty() {
        thread::sleep(PAUSE);
        waited += PAUSE;
    }
    let locks = layout::locks(repository);
    for path in &locks {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("could not remove `{}`", path.display()));
            }
            _ => {}
        }
    }
    Ok(locks)
}
