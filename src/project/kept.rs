//! Folders kept by name below longhaul's own: each filled once, whole or not at all, and only the newest of them.

use super::scratch::remove;
use anyhow::Context;
use anyhow::Result;
use std::cmp::Reverse;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

/// How many are kept: going back to the state before is common.
const KEPT: usize = 2;

/// How the names of those begin that are not whole yet.
const HALF: &str = "half-";

/// What lies beside one such folder; the whole and the newest come first.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Beside {
    half: bool,
    made: Reverse<(i64, i64)>,
    path: PathBuf,
}

/// One such folder, there or not.
#[derive(Clone, Debug)]
pub struct Kept {
    all: PathBuf,
    folder: PathBuf,
}

impl Kept {
    /// Names the folder `name` among those below `all`.
    pub fn new(all: &Path, name: &str) -> Self {
        Self { all: all.to_owned(), folder: all.join(name) }
    }

    /// Returns where it lies, or would lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tells whether it was filled.
    pub fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    /// Lists the others that are whole, newest first.
    pub fn others(&self) -> Result<Vec<PathBuf>> {
        Ok(self.beside()?.into_iter().filter(|other| !other.half).map(|other| other.path).collect())
    }

    /// Fills a folder and puts it in place of what was there under the name; older ones go.
    pub fn fill(&self, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let context = || format!("could not keep `{}`", self.folder.display());
        fs::create_dir_all(&self.all).with_context(context)?;
        let half = tempfile::Builder::new().prefix(HALF).tempdir_in(&self.all).with_context(context)?;
        fill(half.path())?;
        remove(&self.folder).with_context(context)?;
        fs::rename(half.keep(), &self.folder).with_context(context)?;
        self.prune()
    }

    /// Removes all but the newest, and what a kill left half done.
    fn prune(&self) -> Result<()> {
        let beside = self.beside()?;
        let old = beside.iter().filter(|other| !other.half).skip(KEPT - 1);
        for Beside { path, .. } in old.chain(beside.iter().filter(|other| other.half)) {
            remove(path).with_context(|| format!("could not remove the old `{}`", path.display()))?;
        }
        Ok(())
    }

    fn beside(&self) -> Result<Vec<Beside>> {
        let context = || format!("could not list `{}`", self.all.display());
        let mut beside = Vec::new();
        if !self.all.is_dir() {
            return Ok(beside);
        }
        for entry in fs::read_dir(&self.all).with_context(context)? {
            let entry = entry.with_context(context)?;
            if entry.path() != self.folder {
                let half = entry.file_name().to_string_lossy().starts_with(HALF);
                let made = entry.metadata().with_context(context)?;
                let made = Reverse((made.ctime(), made.ctime_nsec()));
                beside.push(Beside { half, made, path: entry.path() });
            }
        }
        beside.sort();
        Ok(beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_whole_or_not_there_and_the_newest_stay() {
        let all = tempfile::tempdir().unwrap();
        let kept = |name: &str| Kept::new(all.path(), name);
        fs::create_dir(all.path().join("half-a")).unwrap();
        assert!(kept("a").fill(|_| anyhow::bail!("full")).is_err());
        assert!(!kept("a").is_there());
        for (name, text) in [("a", "1"), ("b", "1"), ("b", "2"), ("c", "1")] {
            kept(name).fill(|folder| Ok(fs::write(folder.join("file"), text)?)).unwrap();
        }
        let mut names: Vec<_> = fs::read_dir(all.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert!(names.len() == 2 && names[1] == "c", "{names:?}");
        assert_eq!(kept("c").others().unwrap().len(), 1);
        kept("c").fill(|folder| Ok(fs::write(folder.join("file"), "2")?)).unwrap();
        assert_eq!(fs::read_to_string(kept("c").folder().join("file")).unwrap(), "2");
    }
}
