//! The private folder in which a tree is laid out: one a project, at the same place each time, so that absolute paths
//! made by `prepare` stay right.

use crate::failure::Failure;
use crate::failure::Kind;
use crate::project;
use crate::project::Elsewhere;
pub(in crate::gate) use crate::project::remove_folder as remove;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::path::PathBuf;

/// A folder that only this user can enter. It is empty at first and gone when this is dropped.
pub(in crate::gate) struct Private {
    folder: PathBuf,
    /// The objects that the git folder names, once it was lent.
    pub objects: Option<PathBuf>,
}

/// Returns the folder for temporary files, links followed, or says that none can be had there.
pub fn outside(scratch: &Path, root: &Path) -> Result<PathBuf, Failure> {
    let place = scratch.display();
    let found = fs::canonicalize(scratch).map_err(|error| {
        Failure::usage(format!("could not read the folder for temporary files `{place}`: {error}"))
            .hint("set TMPDIR to a folder that is there")
    })?;
    // Tools look for their configuration in the folders above, which must not be the project's.
    if fs::canonicalize(root).is_ok_and(|root| found.starts_with(root)) {
        let text = format!("the folder for temporary files `{place}` is inside the project");
        return Err(Failure::usage(text).hint("set TMPDIR to a folder outside of it"));
    }
    Ok(found)
}

impl Private {
    /// Opens the folder of the project at `root` below `scratch`.
    pub(in crate::gate) fn open(scratch: &Path, root: &Path) -> Result<Self> {
        let path = outside(scratch, root)?.join(project::scratch_name(root));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => require_own(&path)?,
            made => made.with_context(|| format!("could not make the folder `{}`", path.display()))?,
        }
        let private = Self { folder: path, objects: None };
        private.empty()?;
        Ok(private)
    }

    /// Returns where the tree lies.
    pub(in crate::gate) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    /// Returns the git folder of the tree.
    pub(in crate::gate) fn git_dir(&self) -> PathBuf {
        self.folder.join("git")
    }

    /// Returns the tree and its index, for `git`.
    pub(in crate::gate) fn place(&self) -> Elsewhere {
        Elsewhere { folder: self.tree(), index: self.git_dir().join("index") }
    }

    /// Removes what is inside.
    pub(in crate::gate) fn empty(&self) -> Result<()> {
        for folder in [self.tree(), self.git_dir()] {
            remove(&folder).with_context(|| format!("could not empty `{}`", folder.display()))?;
        }
        for folder in [self.tree(), self.git_dir()] {
            fs::create_dir(&folder).with_context(|| format!("could not make `{}`", folder.display()))?;
        }
        Ok(())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next use.
        remove(&self.folder).ok();
    }
}

/// Refuses a folder that somebody else may have laid there.
fn require_own(path: &Path) -> Result<()> {
    if project::is_own(path) {
        return Ok(());
    }
    let text = format!("`{}` is not a folder that only you can enter", path.display());
    Err(Failure::new(Kind::Failed, text).hint("remove it, or set TMPDIR to another folder").into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_folder_is_the_same_each_time_empty_and_gone_afterwards() {
        let scratch = tempfile::tempdir().unwrap();
        let open = || Private::open(scratch.path(), Path::new("/some/project")).unwrap();
        let first = open().tree();
        let private = open();
        assert_eq!(private.tree(), first);
        assert_eq!(fs::metadata(first.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(first.join("left"), "").unwrap();
        std::mem::forget(private);
        assert!(!open().tree().join("left").exists());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Private::open(scratch.path(), Path::new("/p")).unwrap().folder.clone();
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Private::open(scratch.path(), Path::new("/p")).is_err());
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(scratch.path(), &folder).unwrap();
        assert!(Private::open(scratch.path(), Path::new("/p")).is_err());
    }

    #[test]
    fn a_folder_inside_the_project_is_refused() {
        let project = tempfile::tempdir().unwrap();
        let scratch = project.path().join("tmp");
        fs::create_dir(&scratch).unwrap();
        let refused = Private::open(&scratch, project.path()).err().unwrap().to_string();
        assert!(refused.contains("is inside the project"), "{refused}");
    }

    #[test]
    fn read_only_folders_can_be_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let deep = scratch.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("c"), "").unwrap();
        fs::set_permissions(&deep, fs::Permissions::from_mode(0o500)).unwrap();
        remove(&scratch.path().join("a")).unwrap();
        remove(&scratch.path().join("a")).unwrap();
        assert!(!scratch.path().join("a").exists());
    }
}
