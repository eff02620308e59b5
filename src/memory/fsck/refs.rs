//! What names commits: the branch, other refs, and git's own record of where the branch was.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use git2::Oid;

use crate::memory::repository::branch;
use crate::memory::repository::branch::BRANCH;
use crate::memory::seal::layout;

/// The refs of a repository, read by hand: libgit2 tells of what it cannot read only that it cannot.
#[derive(Default)]
pub(in crate::memory) struct Refs {
    pub(in crate::memory) good: BTreeMap<String, Oid>,
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
    ///
    /// # Errors
    /// When one cannot be read: it is not to be taken for one that is not there.
    pub(in crate::memory) fn read(repository: &Path) -> Result<Self> {
        let doing = || format!("could not read the refs in `{}`", repository.display());
        Self::try_read(repository).with_context(doing)
    }

    fn try_read(repository: &Path) -> io::Result<Self> {
        let mut refs = Self::default();
        let packed = or_nothing(fs::read(repository.join("packed-refs")))?;
        for line in String::from_utf8_lossy(&packed).lines().filter(|line| !line.starts_with(['#', '^'])) {
            match line.split_once(' ').and_then(|(id, name)| Some((Oid::from_str(id).ok()?, name))) {
                Some((id, name)) => drop(refs.good.insert(name.to_owned(), id)),
                None => refs.nonsense.push("packed-refs".to_owned()),
            }
        }
        refs.nonsense.dedup();
        refs.read_folder(repository, "refs")?;
        refs.locks = layout::locks(repository);
        Ok(refs)
    }

    fn read_folder(&mut self, repository: &Path, folder: &str) -> io::Result<()> {
        // A folder that is gone has no refs.
        let entries = match fs::read_dir(repository.join(folder)) {
            Err(error) if branch::is_absent(&error) => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            if kind.is_dir() && name != BRANCH {
                // `refs/replace` is no ref of ours; `layout` tells of it.
                if name != "refs/replace" {
                    self.read_folder(repository, &name)?;
                }
            } else if !name.ends_with(".lock") {
                // One that went meanwhile is packed, or deleted.
                let text = match kind.is_file().then(|| fs::read(entry.path())) {
                    Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => continue,
                    text => text.transpose()?,
                };
                match text.and_then(|text| branch::id(&text)) {
                    Some(id) => drop(self.good.insert(name, id)),
                    None => {
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
pub(super) fn record(repository: &Path) -> Result<Vec<Line>> {
    let path = repository.join("logs").join(BRANCH);
    let bytes = or_nothing(fs::read(&path)).with_context(|| format!("could not read `{}`", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let line = |text: &str| {
        let ids = text.split(' ').take(2).filter_map(|id| Oid::from_str(id).ok()).filter(|id| !id.is_zero());
        Line { text: text.to_owned(), ids: ids.collect() }
    };
    Ok(text.lines().map(line).collect())
}

/// Takes what is not there for nothing.
fn or_nothing(read: io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    match read {
        Err(error) if branch::is_absent(&error) => Ok(Vec::new()),
        read => read,
    }
}
