//! One run a project: the lock that a second one meets.

use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Context;
use anyhow::Result;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::File;
use std::fs::OpenOptions;
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
}
