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

/// Its name among the objects: their folder changes at each write in any case, and the repository's own then does not.
pub(in crate::memory) const FILE: &str = "main.spare";

/// A file that may be there, and may be another's.
pub(super) struct Spare(PathBuf);

impl Spare {
    pub(super) fn of(repository: &Repository) -> Self {
        Self(repository.objects().join(FILE))
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
        // Where that is another disk there is no spare one.
        fs::rename(lock, &self.0).or_else(|_| fs::remove_file(lock))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves the branch in a folder as `branch` does.
    fn put(folder: &Path, text: &str) {
        let (spare, lock, file) = (Spare(folder.join("spare")), folder.join("main.lock"), folder.join("main"));
        spare.lock(&lock, text.as_bytes()).unwrap();
        spare.replace(&lock, &file).unwrap();
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), lock.exists()), (text, false));
    }

    fn inode(path: &Path) -> u64 {
        fs::metadata(path).unwrap().ino()
    }

    #[test]
    fn two_files_take_turns_and_no_third_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let (file, spare) = (folder.path().join("main"), folder.path().join("spare"));
        ["one\n", "two\n"].iter().for_each(|text| put(folder.path(), text));
        let (first, second) = (inode(&spare), inode(&file));
        put(folder.path(), "six\n");
        assert_eq!((inode(&file), inode(&spare)), (first, second));
    }

    #[test]
    fn what_others_name_too_is_never_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let (spare, other) = (folder.path().join("spare"), folder.path().join("other"));
        ["one\n", "two\n"].iter().for_each(|text| put(folder.path(), text));
        fs::hard_link(&spare, &other).unwrap();
        put(folder.path(), "six\n");
        assert_eq!(fs::read_to_string(&other).unwrap(), "one\n");
        // As a kill between the swap and the last rename leaves it: the branch itself is the spare one.
        fs::remove_file(&spare).unwrap();
        fs::hard_link(folder.path().join("main"), &spare).unwrap();
        let error = Spare(spare).lock(&folder.path().join("main.lock"), b"ten\n");
        assert!(error.is_ok());
        assert_eq!(fs::read_to_string(folder.path().join("main")).unwrap(), "six\n");
    }

    #[test]
    fn who_holds_the_lock_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let lock = folder.path().join("main.lock");
        fs::write(&lock, "git's").unwrap();
        let refused = Spare(folder.path().join("spare")).lock(&lock, b"one\n").unwrap_err();
        assert_eq!(
            (refused.kind(), fs::read_to_string(&lock).unwrap().as_str()),
            (io::ErrorKind::AlreadyExists, "git's")
        );
    }
}
