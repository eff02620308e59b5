//! The right to pack, or to take old objects away for good: what one moves the other must not miss.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;

use anyhow::Context;
use anyhow::Result;
use rustix::fs::FlockOperation;

use crate::memory::repository::upkeep::SILENT;

/// The right, by a file that is locked; given back when it and what was passed on are gone.
pub(in crate::memory) struct Right {
    file: File,
}

impl Right {
    /// Waits for the right; a wait of more than a second is told to `notice`.
    pub(in crate::memory) fn take(state: &Path, notice: &dyn Fn(&str)) -> Result<Self> {
        if let Some(right) = Self::if_free(state)? {
            return Ok(right);
        }
        thread::sleep(SILENT);
        notice("waiting for another process that is packing the memory");
        let file = open(state)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .context("could not wait for the memory to be packed")?;
        Ok(Self { file })
    }

    /// Returns the right unless another process has it.
    pub(in crate::memory) fn if_free(state: &Path) -> Result<Option<Self>> {
        let file = open(state)?;
        Ok(rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| Self { file }))
    }

    /// Returns what a git gets as its standard input, which it does not read: so the right lasts until it has ended, also
    /// when we are killed, and no other command that is started meanwhile has it.
    pub(super) fn passed_on(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

fn open(state: &Path) -> Result<File> {
    let path = state.join("pack.lock");
    let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    file.with_context(|| format!("could not open `{}`", path.display()))
}
