//! One writer at a time: an flock held for one write.

use std::fs::DirBuilder;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use rustix::fs::FlockOperation;
use rustix::io::Errno;

/// How long a wait may stay silent.
const SILENT: Duration = Duration::from_secs(1);
/// How long another writer may take; one write takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The right to write; given back when dropped. The kernel takes it from a killed process.
pub(in crate::memory) struct WriteLock {
    file: File,
}

impl Drop for WriteLock {
    /// Closing is not enough: a child that another thread just forked holds the file open until it runs its program.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

impl WriteLock {
    fn path(state: &Path) -> PathBuf {
        state.join("write.lock")
    }

    /// Takes the lock if nobody holds it, and the disk can be written.
    pub(in crate::memory) fn if_free(state: &Path) -> Option<Self> {
        let file = open(state, &Self::path(state)).ok()?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Self { file })
    }

    /// Takes the lock; a wait of more than a second is told to `notice`.
    pub(in crate::memory) fn take(state: &Path, notice: &dyn Fn(&str)) -> Result<Self> {
        let path = Self::path(state);
        let file = open(state, &path).with_context(|| format!("could not open `{}`", path.display()))?;
        let start = Instant::now();
        let mut silent = true;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(error).with_context(|| format!("could not lock `{}`", path.display())),
            }
            let waited = start.elapsed();
            if waited > PATIENCE {
                bail!(
                    "another process has been writing to the memory for {} s: end it (`fuser {}` names it) and try again",
                    PATIENCE.as_secs(),
                    path.display()
                );
            }
            if silent && waited > SILENT {
                notice("waiting for another process that is writing to the memory");
                silent = false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn open(state: &Path, path: &Path) -> std::io::Result<File> {
    let open = || OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    match open() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(state)?;
            open()
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_lock_can_be_taken_again_once_given_back() {
        let folder = tempfile::tempdir().unwrap();
        drop(WriteLock::take(folder.path(), &|_| panic!("waited")).unwrap());
        drop(WriteLock::take(folder.path(), &|_| panic!("waited")).unwrap());
    }

    #[test]
    fn a_copy_of_the_file_that_a_forked_child_has_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let held = WriteLock::take(folder.path(), &|_| {}).unwrap();
        let copy = held.file.try_clone().unwrap();
        drop(held);
        assert!(WriteLock::if_free(folder.path()).is_some());
        drop(copy);
    }

    #[test]
    fn a_long_wait_is_told_and_ends_when_the_holder_goes() {
        let folder = tempfile::tempdir().unwrap();
        let held = RefCell::new(Some(WriteLock::take(folder.path(), &|_| {}).unwrap()));
        let told = RefCell::new(String::new());
        let lock = WriteLock::take(folder.path(), &|text| {
            told.replace(text.to_owned());
            held.replace(None);
        });
        lock.unwrap();
        assert_eq!(told.into_inner(), "waiting for another process that is writing to the memory");
    }
}
