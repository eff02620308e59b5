//! What names commits: the branch, other refs, and git's own record of where the branch was.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use git2::Oid;

use crate::memory::repository::branch::BRANCH;
use crate::memory::seal::layout;

/// The refs of a repository, read by hand: libgit2 tells of what it cannot read only that it cannot.
#[derive(Default)]
pub(super) struct Refs {
    pub(super) good: BTreeMap<String, Oid>,
    /// Files that name no commit.
    pub(super) nonsense: Vec<String>,
    /// Files of those who move refs.
    pub(super) locks: Vec<PathBuf>,
}

/// One line of git's record of the branch.
pub(super) struct Line {
    pub(super) text: String,
    /// Where the branch was and where it went.
    pub(super) ids: Vec<Oid>,
}

impl Refs {
    /// Reads all refs; one in a file of its own wins over a packed one.
    pub(super) fn read(repository: &Path) -> Self {
        let mut refs = Self::default();
        let packed = fs::read(repository.join("packed-refs")).unwrap_or_default();
        for line in String::from_utf8_lossy(&packed).lines().filter(|line| !line.starts_with(['#', '^'])) {
            match line.split_once(' ').and_then(|(id, name)| Some((Oid::from_str(id).ok()?, name))) {
                Some((id, name)) => drop(refs.good.insert(name.to_owned(), id)),
                None => refs.nonsense.push("packed-refs".to_owned()),
            }
        }
        refs.nonsense.dedup();
        // A folder that is gone has no refs.
        let _ = refs.read_folder(repository, "refs");
        refs.locks = layout::locks(repository);
        refs
    }

    fn read_folder(&mut self, repository: &Path, folder: &str) -> io::Result<()> {
        for entry in fs::read_dir(repository.join(folder))? {
            let entry = entry?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            if kind.is_dir() && name != BRANCH {
                // `refs/replace` is no ref of ours; `layout` tells of it.
                if name != "refs/replace" {
                    self.read_folder(repository, &name)?;
                }
            } else if !name.ends_with(".lock") {
                let text =
                    Some(kind.is_file()).filter(|file| *file).and_then(|_| fs::read_to_string(entry.path()).ok());
                match text.filter(|text| text.trim_end().len() == 40).map(|text| Oid::from_str(text.trim_end())) {
                    Some(Ok(id)) => drop(self.good.insert(name, id)),
                    _ => {
                        self.good.remove(&name);
                        self.nonsense.push(name);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns where the branch is.
    pub(super) fn branch(&self) -> Option<Oid> {
        self.good.get(BRANCH).copied()
    }
}

/// Returns git's own record of the branch, oldest first.
pub(super) fn record(repository: &Path) -> Vec<Line> {
    let bytes = fs::read(repository.join("logs").join(BRANCH)).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let line = |text: &str| {
        let ids = text.split(' ').take(2).filter_map(|id| Oid::from_str(id).ok()).filter(|id| !id.is_zero());
        Line { text: text.to_owned(), ids: ids.collect() }
    };
    text.lines().map(line).collect()
}
