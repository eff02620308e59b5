//! The file that the branch had before, kept for its next move.
//!
//! To make a file and remove one at each write costs more than it looks: for minutes ext4 gives a removed file's place to
//! no other, and each new file has to look past all of them. So two files take turns: one is the branch, the other lies
//! beside as the spare one, and is the lock file of git's while the branch moves.

use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use rustix::fs::CWD;
use rustix::fs::OFlags;
use rustix::fs::RenameFlags;

use crate::memory::repository::Repository;
use crate::memory::repository::exchange;

/// Its name in the repository.
const NAME: &str = "main.spare";

/// A file that may be there, and may be another's.
pub(super) struct Spare(PathBuf);

impl Spare {
    pub(super) fn of(repository: &Repository) -> Self {
        Self(repository.git.path().join(NAME))
    }

    /// Makes a lock file with these bytes, of the spare file if it is ours alone.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` when somebody holds the lock.
    pub(super) fn lock(&self, lock: &Path, bytes: &[u8]) -> io::Result<()> {
        let write = |mut file: File| file.write_all(bytes).inspect_err(|_| drop(fs::remove_file(lock)));
        match fs::hard_link(&self.0, lock) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // There is none, or the file system has no second names.
            Err(_) => return write(new(lock)?),
        }
        if let Some(file) = ours(lock, bytes.len()) {
            return write(file);
        }
        fs::remove_file(&self.0)?;
        fs::remove_file(lock)?;
        write(new(lock)?)
    }

    /// Puts the lock file in the place of `file`, which is the spare one then.
    pub(super) fn replace(&self, lock: &Path, file: &Path) -> io::Result<()> {
        let swapped = rustix::fs::renameat_with(CWD, lock, CWD, file, RenameFlags::EXCHANGE);
        if swapped.is_err() {
            // The spare one's second name would be the branch's.
            let _ = fs::remove_file(&self.0);
            return exchange::replace((CWD, lock), (CWD, file));
        }
        fs::rename(lock, &self.0)
    }
}

fn new(lock: &Path) -> io::Result<File> {
    fs::create_dir_all(lock.parent().unwrap_or(lock))?;
    OpenOptions::new().write(true).create_new(true).open(lock)
}

/// Opens the lock file if it has no names but the two we know, and as many bytes as are to be written.
fn ours(lock: &Path, size: usize) -> Option<File> {
    let file = OpenOptions::new().write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(lock).ok()?;
    let found = file.metadata().ok()?;
    (found.is_file() && found.nlink() == 2 && found.len() == size as u64).then_some(file)
}
