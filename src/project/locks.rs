//! Locks that a git left which is gone: killed with its sandbox, or by the user in the middle of a commit.

use super::Project;
use crate::process;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Deeper than this no branch name goes.
const DEPTH: u32 = 16;

impl Project {
    /// Moves stale locks of the repository into `keep_in` and returns their names; with one in place every later commit
    /// fails. None is touched while a git works in the project, since it may be a person's. Whoever asks has ended its own.
    pub fn set_aside_stale_locks(&self, keep_in: &Path) -> Result<Vec<String>> {
        let own = self.repository.path();
        let mut locks: Vec<PathBuf> = [own.join("index.lock"), own.join("HEAD.lock")].into();
        locks.extend(["packed-refs.lock", "shallow.lock"].map(|name| self.common_dir.join(name)));
        locks.retain(|lock| lock.symlink_metadata().is_ok());
        locks_below(&self.common_dir.join("refs"), DEPTH, &mut locks);
        if locks.is_empty() || process::works_in("git", &[&self.root, &self.common_dir]) {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for lock in locks {
            let name = lock.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let context = || format!("could not move the stale lock `{}` out of the way", lock.display());
            fs::create_dir_all(keep_in).with_context(context)?;
            // What is in it may be an index that somebody was about to commit.
            match fs::rename(&lock, keep_in.join(&name)) {
                Err(error) if error.kind() != std::io::ErrorKind::CrossesDevices => {
                    return Err(error).with_context(context);
                }
                Err(_) => {
                    fs::copy(&lock, keep_in.join(&name)).with_context(context)?;
                    fs::remove_file(&lock).with_context(context)?;
                }
                Ok(()) => {}
            }
            names.push(name);
        }
        Ok(names)
    }
}

fn locks_below(folder: &Path, depth: u32, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            locks_below(&entry.path(), depth - 1, into);
        } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(".lock") {
            into.push(entry.path());
        }
    }
}
