//! Views of other worktrees: whether a path that was written down once still shows this memory. A project may have been
//! moved or copied since, and something else may lie there now.

use std::fs;
use std::io;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

use crate::memory::Place;

impl Place {
    /// Tells whether the view at a path is one of this memory now: this one, or that of a worktree of the same repository.
    pub(in crate::memory) fn has_view(&self, view: &Path) -> io::Result<bool> {
        if view == self.view {
            return Ok(true);
        }
        let root = view.parent().and_then(Path::parent).filter(|root| root.join(".longhaul/memory") == view);
        // A memory that stands by itself has one view.
        let ours = self.state.parent().filter(|_| self.repository.starts_with(&self.state));
        let (Some(root), Some(ours)) = (root, ours) else { return Ok(false) };
        let Some(theirs) = common_dir(root)? else { return Ok(false) };
        Ok(inode(&theirs)?.is_some_and(|theirs| Some(theirs) == inode(ours).ok().flatten()))
    }
}

/// Returns where the worktree at a path has its repository; none when there is no worktree.
fn common_dir(root: &Path) -> io::Result<Option<PathBuf>> {
    let git = root.join(".git");
    match known(fs::metadata(&git))? {
        None => return Ok(None),
        Some(found) if found.is_dir() => return Ok(Some(git)),
        Some(_) => {}
    }
    let text = fs::read(&git)?;
    let Some(folder) = String::from_utf8_lossy(&text).strip_prefix("gitdir:").map(|folder| root.join(folder.trim()))
    else {
        return Ok(None);
    };
    let common = known(fs::read(folder.join("commondir")))?;
    let common = common.map(|common| folder.join(String::from_utf8_lossy(&common).trim()));
    Ok(Some(common.unwrap_or(folder)))
}

fn inode(path: &Path) -> io::Result<Option<(u64, u64)>> {
    Ok(known(fs::metadata(path))?.map(|found| (found.dev(), found.ino())))
}

/// Takes what is not there as none; what cannot be looked at may be there.
fn known<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_to_the_same_repository_is_a_view_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let make = |path: &str, text: &str| {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), text).unwrap();
        };
        let place = Place::in_project(&at("one"), &at("one/.git"));
        make("one/.git/worktrees/two/commondir", "../..\n");
        make("two/.git", &format!("gitdir: {}\n", at("one/.git/worktrees/two").display()));
        make("beside/.git", "gitdir: ../one/.git\n");
        make("other/.git/HEAD", "");
        make("theirs/.git", &format!("gitdir: {}\n", at("other/.git").display()));
        make("stale/.git", "gitdir: /nowhere/at/all\n");
        make("odd/.git", "nonsense");
        make("none/file", "");
        let of = |root: &str| place.has_view(&at(root).join(".longhaul/memory")).unwrap();
        assert_eq!(["one", "two", "beside"].map(of), [true; 3]);
        assert_eq!(["other", "theirs", "stale", "odd", "none", "gone"].map(of), [false; 6]);
        assert!(!place.has_view(&at("two/memory")).unwrap());
    }

    #[test]
    fn a_memory_by_itself_has_its_own_view_alone() {
        let place = Place::at(Path::new("/a"));
        assert!(place.has_view(Path::new("/a/memory")).unwrap() && !place.has_view(Path::new("/b/memory")).unwrap());
    }
}
