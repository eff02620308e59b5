//! What differs between HEAD, the index and the working tree.

use super::Project;
use anyhow::Result;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Untracked files, each with a mark that changes when the file does.
pub type Marks = BTreeMap<String, String>;

/// The folder of memory's view. It is excluded, but the exclusion can be lost, or the folder added by force.
const VIEW: &str = ".longhaul/memory/";

/// Paths that differ from HEAD, relative to the root, in git's order. Ignored files are not among them, nor is the view
/// of memory.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// Changed, deleted or staged.
    pub tracked: Vec<String>,
    pub untracked: Vec<String>,
}

impl Changes {
    /// Tells whether git knows of no difference at all.
    pub fn is_empty(&self) -> bool {
        self.tracked.is_empty() && self.untracked.is_empty()
    }
}

impl Project {
    /// Compares the working tree with HEAD.
    pub fn changes(&self) -> Result<Changes> {
        let listing = self.git(
            &["--no-optional-locks", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"],
            None,
        )?;
        Ok(parse(&listing))
    }
}

impl Project {
    /// Marks the files that git does not track now, so that it can be told later which of them were left alone.
    pub fn untracked_marks(&self) -> Result<Marks> {
        Ok(self.changes()?.untracked.into_iter().map(|path| (path.clone(), mark(&self.root.join(path)))).collect())
    }

    /// Tells whether an untracked file is as it was when it was marked.
    pub(super) fn is_untouched(&self, path: &str, marks: &Marks) -> bool {
        marks.get(path).is_some_and(|known| *known == mark(&self.root.join(path)))
    }
}

/// Size and time of change tell an edit without reading what may be gigabytes.
fn mark(path: &Path) -> String {
    path.symlink_metadata().map_or_else(
        |_| String::new(),
        |found| format!("{} {} {}.{:09}", found.ino(), found.size(), found.mtime(), found.mtime_nsec()),
    )
}

/// Reads `XY path NUL …`; `??` is an untracked path.
pub(super) fn parse(listing: &[u8]) -> Changes {
    let mut changes = Changes::default();
    for entry in listing.split(|byte| *byte == 0).filter(|entry| entry.len() > 3) {
        let path = String::from_utf8_lossy(&entry[3..]).into_owned();
        if path.starts_with(VIEW) {
            continue;
        }
        if entry.starts_with(b"??") {
            changes.untracked.push(path);
        } else {
            changes.tracked.push(path);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_split_into_tracked_and_untracked_paths() {
        let changes = parse(b" M src/a b.rs\0A  new\nline.rs\0?? notes.txt\0");

        assert_eq!(changes.tracked, ["src/a b.rs", "new\nline.rs"]);
        assert_eq!(changes.untracked, ["notes.txt"]);
        assert!(parse(b" M .longhaul/memory/a\0?? .longhaul/memory/b\0").is_empty());
        assert!(parse(b"").is_empty());
    }
}
