//! Which folder is the project: the one that holds `.git`, wherever the git folder itself lies.

use super::Project;
use super::mend::read_short;
use crate::failure::Failure;
use crate::failure::Kind;
use git2::ErrorClass;
use git2::ErrorCode;
use git2::Repository;
use git2::RepositoryOpenFlags;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

/// What `.git` at the root is, and where it leads when it is no folder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Pointer {
    Folder,
    File(String),
    Link(PathBuf),
    Nothing,
}

impl Pointer {
    pub(super) fn of(root: &Path) -> Self {
        let path = root.join(".git");
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() => Self::Folder,
            Ok(found) if found.is_symlink() => Self::Link(fs::read_link(&path).unwrap_or_default()),
            Ok(_) => Self::File(read_short(&path).unwrap_or_default()),
            Err(_) => Self::Nothing,
        }
    }
}

impl Project {
    /// Refuses to go on where `.git` leads to another place than when the project was opened; commands in plain mode can
    /// write there what they like.
    ///
    /// # Errors
    /// An integrity failure that names it.
    pub fn require_same_pointer(&self) -> Result<(), Failure> {
        let now = Pointer::of(&self.root);
        // Of one that is gone everything says so.
        if now == self.pointer || now == Pointer::Nothing {
            return Ok(());
        }
        let path = self.root.join(".git");
        let text = format!("`{}` was replaced while longhaul worked, and is not what it was", path.display());
        let was = match &self.pointer {
            Pointer::File(text) => format!("a file with the line `{}`", text.trim()),
            Pointer::Link(target) => format!("a link to `{}`", target.display()),
            Pointer::Folder | Pointer::Nothing => "the git folder itself".to_owned(),
        };
        let hint = format!("it was {was}: look where that is now, put it back, then run again");
        Err(Failure::new(Kind::Integrity, text).hint(hint))
    }
}

/// Opens the repository around `dir`, and keeps in mind from which folder it was found.
pub(super) fn open(dir: &Path) -> Result<Repository, git2::Error> {
    Repository::open_ext(dir, RepositoryOpenFlags::empty(), std::iter::empty::<&OsStr>())
}

/// Returns the top folder of the working tree.
///
/// # Errors
/// Where there is none, or the repository's settings name another one than that around `dir`.
pub(super) fn root(dir: &Path, repository: &Repository) -> Result<PathBuf, Failure> {
    let Some(named) = repository.workdir() else {
        let bare = format!("`{}` is a bare repository", repository.path().display());
        return Err(Failure::usage(bare).hint(match repository.path().file_name() == Some(OsStr::new(".git")) {
            true => "where there are files beside it, a setting was left behind: `git config core.bare false` makes them the working tree again",
            false => "run longhaul in a clone that has a working tree",
        }));
    };
    let found = holder(dir, repository).map_err(|reason| {
        let text = format!("could not look which folder `{}` belongs to: {reason}", repository.path().display());
        Failure::new(Kind::Failed, text)
    })?;
    let Some(holder) = found else {
        let inside = format!("`{}` is inside a git folder", dir.display());
        return Err(Failure::usage(inside).hint("change into the working tree that belongs to it"));
    };
    require_own_git(dir, &holder)?;
    let has_setting = repository.config().is_ok_and(|config| config.get_path("core.worktree").is_ok());
    if has_setting && named.canonicalize().ok().as_ref() != Some(&holder) {
        let text = format!("the git settings of `{}` name `{}` as its working tree", holder.display(), named.display());
        let hint = "`git config --unset core.worktree` makes the folder with `.git` the working tree again";
        return Err(Failure::new(Kind::Integrity, text).hint(hint));
    }
    require_no_others(&holder, repository, has_setting)?;
    Ok(holder)
}

/// Refuses a project of ours whose `.git` is gone: it must not be taken for a part of the repository around it.
fn require_own_git(dir: &Path, holder: &Path) -> Result<(), Failure> {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let mut below = dir.ancestors().take_while(|folder| *folder != holder);
    let Some(ours) = below.find(|folder| folder.join(".longhaul/memory/features.json").exists()) else { return Ok(()) };
    let text = format!("`{}` has a view of longhaul's memory and no `.git` of its own", ours.display());
    let hint = format!(
        "put its `.git` back; if it is a part of `{}` now, move `{}` away and run longhaul there",
        holder.display(),
        ours.join(".longhaul").display()
    );
    Err(Failure::new(Kind::Integrity, text).hint(hint))
}

/// Returns the nearest folder around `dir` whose `.git` is or leads to this repository.
///
/// # Errors
/// Why one could not be looked at, with which it stays open whether it is that folder: too many files are open, say.
fn holder(dir: &Path, repository: &Repository) -> Result<Option<PathBuf>, String> {
    let dir = dir.canonicalize().map_err(|error| error.to_string())?;
    let git = repository.path().symlink_metadata().map_err(|error| error.to_string())?;
    for folder in dir.ancestors() {
        let Ok(found) = folder.join(".git").symlink_metadata() else { continue };
        // The usual case, without opening it once more.
        if (found.dev(), found.ino()) == (git.dev(), git.ino()) || leads(folder, repository)? {
            return Ok(Some(folder.to_owned()));
        }
    }
    Ok(None)
}

/// Tells whether the `.git` of a folder leads to this repository.
fn leads(folder: &Path, repository: &Repository) -> Result<bool, String> {
    match Repository::open(folder) {
        Ok(found) => Ok(found.path() == repository.path()),
        Err(error) if error.class() == ErrorClass::Os && error.code() != ErrorCode::NotFound => {
            Err(error.message().to_owned())
        }
        Err(_) => Ok(false),
    }
}

/// Refuses the git folder of another working tree, which `.git` was made to lead to.
fn require_no_others(holder: &Path, repository: &Repository, has_setting: bool) -> Result<(), Failure> {
    let git = repository.path();
    let owner = git.parent().filter(|owner| git.file_name() == Some(OsStr::new(".git")) && *owner != holder);
    let is_own = |owner: &Path| fs::read_dir(owner).is_ok_and(|inside| inside.count() == 1);
    let Some(owner) = owner.filter(|owner| !has_setting && !is_own(owner)) else { return Ok(()) };
    let text = format!("`{}` leads to the git folder of `{}`", holder.join(".git").display(), owner.display());
    let hint = "put back what was there; for a second working tree of one repository there is `git worktree add`, and a \
                git folder that lies elsewhere must not be named `.git` beside other files";
    Err(Failure::new(Kind::Integrity, text).hint(hint))
}
