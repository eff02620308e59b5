//! One run a project: the lock that a second one meets.

use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Context;
use anyhow::Result;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Held while a run, or a command that changes the checklist, works on a project. The kernel frees it when we die.
pub struct RunLock {
    _file: File,
}

impl RunLock {
    /// Takes the lock, or fails at once as busy.
    pub fn take(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(|error| {
            Failure::new(Kind::Failed, format!("could not open the lock `{}`: {error}", path.display()))
                .hint("longhaul has to write there: check owner, permissions and free space")
        })?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(Failure::new(Kind::Busy, "another longhaul is working on this project")
                .hint("wait for it to end, or look at it with `longhaul status`")
                .into()),
            Err(error) => Err(error).with_context(|| format!("could not lock `{}`", path.display())),
        }
    }
}

/// Whether somebody holds the lock.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Held {
    Free,
    /// The process, where the system tells it.
    By(Option<u32>),
    /// It cannot be told, and why.
    Unknown(String),
}

/// Looks who holds the lock, for people: it may be another one the next moment.
pub fn look(path: &Path) -> Held {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Held::Free,
        Err(error) => return Held::Unknown(error.to_string()),
    };
    // A shared lock for a moment; whoever asks for the other kind right then is told that the project is busy.
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Held::Free,
        Err(Errno::WOULDBLOCK) => Held::By(holder(&file)),
        Err(error) => Held::Unknown(error.to_string()),
    }
}

/// Finds the holder in the system's list of locks, by the file's number.
fn holder(file: &File) -> Option<u32> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let fields = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut held = fields.filter(|fields| fields.get(1) == Some(&"FLOCK"));
    held.find(|fields| fields.get(5).is_some_and(|file| file.ends_with(&inode)))?.get(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_until_the_first_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.lock");

        let first = RunLock::take(&path).unwrap();
        let refused = RunLock::take(&path).err().unwrap();
        assert_eq!(refused.downcast_ref::<Failure>().unwrap().kind, Kind::Busy);

        drop(first);
        RunLock::take(&path).unwrap();
    }

    #[test]
    fn a_look_tells_who_holds_it_and_leaves_it_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.lock");
        assert_eq!(look(&path), Held::Free);
        let lock = RunLock::take(&path).unwrap();
        assert_eq!(look(&path), Held::By(Some(std::process::id())));
        drop(lock);
        assert_eq!(look(&path), Held::Free);
        RunLock::take(&path).unwrap();
    }
}
