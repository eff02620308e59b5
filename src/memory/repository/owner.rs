//! What the superuser writes into the memory of somebody else is theirs: it must not keep them out.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::Gid;
use rustix::fs::Uid;

/// Gives what was just made to whom the folder around it belongs, if the superuser made it.
pub(in crate::memory) fn as_around(made: impl AsFd, around: impl AsFd) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = rustix::fs::fstat(around)?;
    if owner.st_uid != 0 {
        rustix::fs::fchown(made, Some(Uid::from_raw(owner.st_uid)), Some(Gid::from_raw(owner.st_gid)))?;
    }
    Ok(())
}

/// Does the same for a folder.
pub(super) fn of_folder(made: &Path, around: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    as_around(File::open(made)?, File::open(around)?)
}
