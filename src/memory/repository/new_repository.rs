//! The making of a repository, by hand, because libgit2 would ask the user's settings for templates; and as a whole,
//! because a half-made one would stand in the way of every later run.

use std::fs;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;
use anyhow::Result;
use rustix::fs::FlockOperation;

use crate::memory::repository::branch::BRANCH;
use crate::memory::repository::durability;

/// A new repository's settings; the last two are for whoever works on it with plain git: as durable as what we write, and
/// without a list of commits, of which nobody could tell whether it is forged.
pub(in crate::memory) const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\t\
     fsync = all\n[gc]\n\twriteCommitGraph = false\n";
/// What they were before.
pub(in crate::memory) const OLD_CONFIG: &str =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\tfsync = all\n";

/// How the name of a repository begins that is not yet whole.
const HALF: &str = "memory.git.new-";

/// Makes an empty repository; false when another process made one meanwhile. Fails when something else lies there.
pub(in crate::memory) fn create(path: &Path) -> Result<bool> {
    let make = || {
        let parent = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        let handle = File::open(parent)?;
        // Where folders cannot be locked, of two that begin at the same time one may fail.
        let _ = rustix::fs::flock(&handle, FlockOperation::LockExclusive);
        if path.join("HEAD").exists() {
            return Ok(false);
        }
        sweep_halves(parent)?;
        // Whatever the umask lets through below it, nobody else gets in.
        let shut = fs::Permissions::from_mode(0o700);
        let new = tempfile::Builder::new().prefix(HALF).permissions(shut).tempdir_in(parent)?;
        for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            fs::create_dir_all(new.path().join(folder))?;
        }
        fs::write(new.path().join("HEAD"), format!("ref: {BRANCH}\n"))?;
        fs::write(new.path().join("config"), CONFIG)?;
        durability::sync_new_repository(new.path())?;
        fs::rename(new.path(), path)?;
        // It has moved away from the name that would be removed.
        let _ = new.keep();
        durability::sync(parent)?;
        Ok::<_, anyhow::Error>(true)
    };
    make().with_context(|| format!("could not make the memory at `{}`", path.display()))
}

/// Removes what a process that was killed while making a repository left beside it.
fn sweep_halves(parent: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(HALF) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
