//! The branch `main` of the memory: it alone moves, by compare-and-swap, unsynced, since the journal has every commit.

use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::ErrorKind;
use std::io::Read;
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

use crate::memory::aside;
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

/// Returns where the branch is, read by hand; none when there is none, or bytes that name no commit. What cannot be read may
/// be there: it is an error.
pub(in crate::memory) fn at(repository: &Repository) -> Result<Option<Oid>> {
    read(repository).context("could not read the memory's branch `main`")
}

fn read(repository: &Repository) -> io::Result<Option<Oid>> {
    let folder = repository.git.path();
    match read_line(&folder.join(BRANCH)) {
        // Something else made it a name of another ref, which git follows.
        Ok(bytes) if bytes.starts_with(b"ref: ") => return Ok(repository.git.refname_to_id(BRANCH).ok()),
        Ok(bytes) => return Ok(id(&bytes)),
        Err(error) if is_absent(&error) => {}
        Err(error) => return Err(error),
    }
    let packed = match fs::read(folder.join("packed-refs")) {
        Err(error) if is_absent(&error) => return Ok(None),
        packed => packed?,
    };
    let mut lines = packed.split(|byte| *byte == b'\n').filter_map(|line| line.split_at_checked(41));
    Ok(lines.find(|(_, name)| *name == BRANCH.as_bytes()).and_then(|(named, _)| id(named)))
}

/// Returns the bytes of a file that is a line in most cases, which takes one read then.
fn read_line(path: &Path) -> io::Result<Vec<u8>> {
    let (mut file, mut bytes) = (File::open(path)?, vec![0; 128]);
    let read = file.read(&mut bytes)?;
    bytes.truncate(read);
    if read == 128 || !bytes.ends_with(b"\n") {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Returns the commit that the bytes of a ref name.
pub(in crate::memory) fn id(bytes: &[u8]) -> Option<Oid> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end();
    Oid::from_str(text).ok().filter(|id| text.len() == 40 && !id.is_zero())
}

/// Tells whether an error says that no such file is there.
pub(in crate::memory) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
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
    // Who moves it from anywhere does not ask.
    let at_first = || match from {
        From::At(_) => at(repository),
        From::Anywhere => Ok(None),
    };
    let spare = Spare::of(repository);
    match spare.lock(&lock, format!("{new}\n").as_bytes()) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        written => written.context("could not move the memory's branch `main`")?,
    }
    let at = at_first().inspect_err(|_| drop(fs::remove_file(&lock)))?;
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

/// Keeps a commit that was found at the branch, and returns the ref that does; none when there is no such commit.
pub(in crate::memory) fn keep_found(repository: &Repository, found: Oid) -> Result<Option<String>> {
    if !repository.has(found)? {
        return Ok(None);
    }
    let name = format!("refs/longhaul/found/{found}");
    let kept = repository.git.reference(&name, found, true, "found at `main`");
    kept.map(|_| Some(name)).context("could not keep what was found at the memory's branch")
}

/// Tells whether git's own record says last that the branch was taken from one commit to another.
pub(in crate::memory) fn was_taken_back(repository: &Repository, from: Oid, to: Oid) -> bool {
    let log = fs::read(repository.git.path().join("logs").join(BRANCH)).unwrap_or_default();
    let last = log.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    last.starts_with(format!("{from} {to} ").as_bytes())
}

/// Returns the newest commit that git's own record of the branch names and that can be read.
pub(in crate::memory) fn newest_logged(repository: &Repository) -> Result<Option<Oid>> {
    let log = match fs::read(repository.git.path().join("logs").join(BRANCH)) {
        Err(error) if is_absent(&error) => return Ok(None),
        log => log.context("could not read git's record of the memory's branch")?,
    };
    let log = String::from_utf8_lossy(&log);
    for commit in log.lines().rev().filter_map(|line| Oid::from_str(line.split(' ').nth(1)?).ok()) {
        if repository::is_sound(repository, commit)? {
            return Ok(Some(commit));
        }
    }
    Ok(None)
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
        // What a person may have put into a folder is kept.
        let removed = match aside::make_way(path, &keep_in(repository)) {
            Ok(None) => fs::remove_file(path),
            kept => kept.map(|_| ()),
        };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("could not remove `{}`", path.display()));
            }
            _ => {}
        }
    }
    Ok(locks)
}

/// Returns where the memory of this repository keeps what was found; one that stands by itself has it within.
fn keep_in(repository: &Path) -> PathBuf {
    let within = repository.join("longhaul");
    let state = if within.is_dir() { &within } else { repository.parent().unwrap_or(repository) };
    state.join("found")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;

    #[test]
    fn a_branch_that_is_absent_or_nonsense_is_none_and_one_that_cannot_be_read_an_error() {
        let memory = Memory::project(&[("a", "x")]);
        let (repository, file) = (&memory.store.repository, memory.place.repository.join(BRANCH));
        let newest = memory.store.head().unwrap();
        let now = || at(repository).map(|at| at.map(|id| id.to_string()));
        assert_eq!(now().unwrap(), newest);
        memory.git(&["pack-refs", "--all"]);
        assert!(!file.exists());
        assert_eq!(now().unwrap(), newest, "packed");
        fs::write(&file, "0123").unwrap();
        assert_eq!(now().unwrap(), None);
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&file, &file).unwrap();
        assert!(now().is_err());
        fs::remove_file(&file).unwrap();
        fs::remove_file(memory.place.repository.join("packed-refs")).unwrap();
        assert_eq!(now().unwrap(), None);
    }
}
