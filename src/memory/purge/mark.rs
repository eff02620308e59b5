//! The mark of a purge at work: a file that its process holds locked, so that one that was killed is told from one that runs.

use std::fs;
use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;

/// Its name in the folder of the state.
const NAME: &str = "purge.unfinished";
/// Its name until it is locked.
const NEW: &str = "purge.new";

/// Whether a purge has begun and not come to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unfinished {
    No,
    AtWork,
    /// It was killed before it had removed all.
    Killed,
}

/// Lies beside the memory until a purge has removed all.
pub(super) struct Mark {
    path: PathBuf,
    file: File,
}

impl Drop for Mark {
    /// Closing is not enough: a child that another thread just forked holds the file open until it runs its program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Mark {
    /// Makes the mark; to be called under the write lock.
    pub(super) fn set(state: &Path) -> Result<Self> {
        let (new, path) = (state.join(NEW), state.join(NAME));
        let set = || {
            let file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&new)?;
            file.lock()?;
            fs::rename(&new, &path)?;
            File::open(state)?.sync_all()?;
            io::Result::Ok(file)
        };
        let file = set().with_context(|| format!("could not write `{}`", path.display()))?;
        Ok(Self { path, file })
    }

    /// Takes it away: nothing is left to do.
    pub(super) fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("could not remove `{}`", self.path.display()))
    }
}

/// Looks whether a purge is at work, or was killed.
pub(super) fn look(state: &Path) -> Unfinished {
    let path = state.join(NAME);
    match File::open(&path).map(|file| file.try_lock_shared()) {
        Ok(Err(TryLockError::WouldBlock)) => Unfinished::AtWork,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Unfinished::No,
        _ => Unfinished::Killed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purge_at_work_is_told_from_one_that_was_killed() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(look(state.path()), Unfinished::No);
        let mark = Mark::set(state.path()).unwrap();
        assert_eq!(look(state.path()), Unfinished::AtWork);
        drop(mark);
        assert_eq!(look(state.path()), Unfinished::Killed);

        let again = Mark::set(state.path()).unwrap();
        assert_eq!(look(state.path()), Unfinished::AtWork);
        again.remove().unwrap();
        assert_eq!(look(state.path()), Unfinished::No);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }
}
