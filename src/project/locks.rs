//! Locks that a git left which is gone: killed with its sandbox, or by the user in the middle of a commit.

use super::Project;
use super::aside::set_aside;
use crate::process;
use anyhow::Result;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

/// Deeper than this no branch name goes.
const DEPTH: u32 = 16;

impl Project {
    /// Moves what does not belong into the git folder, and stale locks, into `keep_in` and says so; with a lock in place every later commit
    /// fails. None is touched while a git works in the project, since it may be a person's. Whoever asks has ended its own.
    pub fn set_aside_stale_locks(&self, keep_in: &Path) -> Result<Vec<String>> {
        self.require_same_pointer()?;
        let mut told = self.set_aside_misplaced(keep_in)?;
        let own = self.repository.path();
        let mut locks: Vec<PathBuf> = [own.join("index.lock"), own.join("HEAD.lock")].into();
        locks.extend(["packed-refs.lock", "shallow.lock"].map(|name| self.common_dir.join(name)));
        locks.retain(|lock| lock.symlink_metadata().is_ok());
        locks_below(&self.common_dir.join("refs"), DEPTH, &mut locks);
        let locks: Vec<_> = locks.into_iter().map(|lock| (file_at(&lock), lock)).collect();
        if locks.is_empty() || process::works_in("git", &[&self.root, &self.common_dir]) {
            return Ok(told);
        }
        // One that went, or came, since then is of a git that worked in between. What is in one may be an index that somebody
        // was about to commit.
        for (_, lock) in locks.iter().filter(|(seen, lock)| *seen == file_at(lock)) {
            let name = lock.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let kept = match set_aside(&self.common_dir, lock, keep_in) {
                Err(_) if file_at(lock).is_none() => continue,
                kept => kept?.display().to_string(),
            };
            told.push(format!("a git that was stopped had left `{name}`; it is kept as `{kept}`"));
        }
        Ok(told)
    }
}

/// Tells one file from the next of the same name: its number, and when it was last changed.
fn file_at(path: &Path) -> Option<(u64, i64, i64)> {
    let meta = path.symlink_metadata().ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

fn locks_below(folder: &Path, depth: u32, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // No part of a name of a ref ends so: whatever it is, it is in the way.
        if entry.file_name().as_bytes().ends_with(b".lock") {
            into.push(entry.path());
        } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            locks_below(&entry.path(), depth - 1, into);
        }
    }
}
