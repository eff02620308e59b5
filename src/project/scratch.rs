//! The folders for temporary files: named after the project and the process that works in them, so that what a killed one
//! left is known for what it is.

use super::Project;
use anyhow::Context;
use anyhow::Result;
use rustix::io::Errno;
use rustix::process::Pid;
use sha2::Digest;
use sha2::Sha256;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use tempfile::TempDir;

impl Project {
    /// Makes a folder for temporary files below `scratch`; `what` says for a person what it is for.
    pub fn scratch_folder(&self, scratch: &Path, what: &str) -> Result<TempDir> {
        let prefix = format!("{}-{}-{what}-", name(&self.common_dir), std::process::id());
        let own = fs::Permissions::from_mode(0o700);
        let made = tempfile::Builder::new().prefix(&prefix).permissions(own).tempdir_in(scratch);
        made.with_context(|| format!("could not make a folder in `{}`", scratch.display()))
    }

    /// Removes the folders below `scratch` that a killed longhaul left; only for who holds the lock on the project.
    pub fn remove_left(&self, scratch: &Path) {
        let [shared, private] = [&self.common_dir, &self.root].map(|folder| name(folder));
        let entries = fs::read_dir(scratch).into_iter().flatten().flatten();
        let is_left = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let maker = name.strip_prefix(&format!("{shared}-")).and_then(|rest| rest.split('-').next()?.parse().ok());
            name == *private || maker.is_some_and(is_gone)
        };
        let left = entries.map(|entry| entry.path()).filter(|path| is_left(path) && is_own(path));
        // What cannot be removed is in nobody's way.
        left.for_each(|path| drop(remove(&path)));
    }
}

/// Returns how the names of the folders begin that belong to what lies at a path.
pub fn name(path: &Path) -> String {
    let digest = format!("{:x}", Sha256::digest(path.as_os_str().as_bytes()));
    format!("longhaul-{}", &digest[..16])
}

/// Tells whether this is a folder, and no link, that only this user can enter.
pub fn is_own(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        let own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        own && found.permissions().mode() & 0o077 == 0
    })
}

/// Removes a folder with all in it, also where folders inside are read-only; what is not there is fine.
pub fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open_up(folder)?;
            fs::remove_dir_all(folder)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn open_up(folder: &Path) -> std::io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

fn is_gone(process: i32) -> bool {
    Pid::from_raw(process).is_some_and(|id| rustix::process::test_kill_process(id) == Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::os::unix::fs::DirBuilderExt;
    use std::os::unix::fs::symlink;

    /// No system gives out such a number.
    const GONE: i32 = i32::MAX;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (root, scratch) = (folder.path().join("project"), folder.path().join("scratch"));
        git2::Repository::init(&root).unwrap();
        let project = Project::discover(&root, BTreeMap::new()).unwrap();
        let make = |name: &str, mode: u32| {
            let path = scratch.join(name);
            fs::DirBuilder::new().recursive(true).mode(mode).create(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            fs::write(path.join("file"), "").unwrap();
            path
        };
        let own = name(project.common_dir());
        let left = [make(&format!("{own}-{GONE}-check-a"), 0o700), make(&name(project.root()), 0o700)];
        let kept = [
            make(&format!("{own}-{}-check-b", std::process::id()), 0o700),
            make(&format!("{own}-{GONE}-check-open"), 0o755),
            make(&format!("{}-{GONE}-check-c", name(Path::new("/another"))), 0o700),
            make("longhaul-mine", 0o700),
        ];
        let link = scratch.join(format!("{own}-{GONE}-link"));
        symlink(&kept[3], &link).unwrap();
        symlink(&kept[3], left[0].join("inner")).unwrap();

        project.remove_left(&scratch);

        assert!(left.iter().all(|path| !path.exists()), "{left:?}");
        assert!(kept.iter().all(|path| path.join("file").exists()) && link.is_symlink(), "{kept:?}");
    }

    #[test]
    fn a_folder_is_named_after_its_project_and_is_its_users_alone() {
        let folder = tempfile::tempdir().unwrap();
        git2::Repository::init(folder.path()).unwrap();
        let project = Project::discover(folder.path(), BTreeMap::new()).unwrap();
        let made = project.scratch_folder(folder.path(), "check").unwrap();
        let expected = format!("{}-{}-check-", name(project.common_dir()), std::process::id());
        assert!(made.path().file_name().unwrap().to_str().unwrap().starts_with(&expected), "{made:?}");
        assert!(is_own(made.path()));
    }
}
