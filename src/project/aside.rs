//! Files of the repository that are moved out of the way: what was found is kept.

use super::command::unfix;
use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Context;
use anyhow::Result;
use rustix::fs::AtFlags;
use rustix::fs::CWD;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// Moves what lies at `path` below the git folder `root` into `keep_in`, under a name that is not taken there, and returns
/// where it is now. Whatever links lie on the way, nothing outside of the folder is moved.
pub(super) fn set_aside(root: &Path, path: &Path, keep_in: &Path) -> Result<PathBuf> {
    let context = || format!("could not move `{}` out of the way", path.display());
    let below = path.strip_prefix(root).with_context(context)?;
    anyhow::ensure!(below.components().all(|step| matches!(step, Component::Normal(_))), context());
    let name = below.file_name().with_context(context)?;
    let parent = open_parent(root, below).with_context(context)?;
    fs::create_dir_all(keep_in).with_context(context)?;
    let kept = free_name(keep_in, name);
    match rustix::fs::renameat(&parent, name, CWD, &kept) {
        Err(Errno::XDEV) => copy_over(&parent, name, &kept).with_context(context)?,
        Err(Errno::PERM) => {
            let text = format!("{}: {}", context(), Errno::PERM);
            return Err(Failure::new(Kind::Integrity, text).hint(unfix(root)).into());
        }
        moved => moved.with_context(context)?,
    }
    Ok(kept)
}

/// Opens the folder that a path below `root` lies in, step by step, and follows no link.
fn open_parent(root: &Path, below: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
    let mut steps = below.parent().into_iter().flatten();
    steps.try_fold(top, |folder, step| rustix::fs::openat(&folder, step, flags | OFlags::NOFOLLOW, Mode::empty()))
}

/// Copies a file to another disk; of what is no plain file there is nothing that could be copied.
fn copy_over(parent: &OwnedFd, name: &OsStr, kept: &Path) -> std::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(parent, name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(Errno::XDEV.into());
    }
    std::io::copy(&mut file, &mut File::create_new(kept)?)?;
    Ok(rustix::fs::unlinkat(parent, name, AtFlags::empty())?)
}

/// Returns a name that is not taken; in a few steps, since a command may have made any number of the same name.
fn free_name(folder: &Path, name: &OsStr) -> PathBuf {
    let numbered = |number: u64| {
        let mut name = name.to_owned();
        if number > 0 {
            name.push(format!(".{number}"));
        }
        folder.join(name)
    };
    let is_taken = |number: &u64| numbered(*number).symlink_metadata().is_ok();
    if !is_taken(&0) {
        return numbered(0);
    }
    let (mut taken, mut free) = (0, 1);
    while is_taken(&free) {
        (taken, free) = (free, free * 2);
    }
    while free - taken > 1 {
        let between = taken + (free - taken) / 2;
        if is_taken(&between) { taken = between } else { free = between }
    }
    numbered(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_before_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let (path, kept) = (folder.path().join("index"), folder.path().join("kept"));
        for (text, name) in [("one", "index"), ("two", "index.1"), ("three", "index.2"), ("four", "index.3")] {
            fs::write(&path, text).unwrap();
            assert_eq!(set_aside(folder.path(), &path, &kept).unwrap(), kept.join(name));
            assert_eq!(fs::read_to_string(kept.join(name)).unwrap(), text);
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_link_is_moved_and_never_what_lies_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let (root, kept, outside) =
            (folder.path().join("git"), folder.path().join("kept"), folder.path().join("outside"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("key"), "key").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("refs")).unwrap();

        set_aside(&root, &root.join("refs/key"), &kept).unwrap_err();
        set_aside(&root, &root.join("../outside/key"), &kept).unwrap_err();
        set_aside(&root, &outside.join("key"), &kept).unwrap_err();
        assert_eq!(set_aside(&root, &root.join("refs"), &kept).unwrap(), kept.join("refs"));
        assert!(kept.join("refs").is_symlink());
        assert_eq!(fs::read_to_string(outside.join("key")).unwrap(), "key");
    }
}
