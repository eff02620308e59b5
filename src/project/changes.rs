//! What differs between HEAD, the index and the working tree.

use super::Project;
use super::name_of;
use super::path_of;
use anyhow::Result;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Untracked files, each with a mark that changes when the file does.
pub type Marks = BTreeMap<String, String>;

/// The folder of memory's view. It is excluded, but the exclusion can be lost, or the folder added by force.
const VIEW: &[u8] = b".longhaul/memory/";
/// What would be in its place.
const OWN: &[u8] = b".longhaul";

/// How git is asked for all that differs.
const STATUS: [&str; 7] = [
    "--no-optional-locks",
    "status",
    "--porcelain=v2",
    "-z",
    "--no-renames",
    "--untracked-files=all",
    "--ignore-submodules=none",
];

/// Paths that differ from HEAD, relative to the root, in git's order. Ignored files are not among them, nor is the view
/// of memory.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// Changed, deleted or staged.
    pub tracked: Vec<String>,
    /// Those of them that are staged and in no commit yet.
    pub added: Vec<String>,
    pub untracked: Vec<String>,
    /// Submodules with changes inside that no commit of the project can hold.
    pub submodules: Vec<String>,
}

/// Names at most five paths and counts the rest, for people.
pub fn listed(paths: &[String]) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(|path| format!("`{path}`")).collect();
    match paths.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl Project {
    /// Compares the working tree with HEAD.
    pub fn changes(&self) -> Result<Changes> {
        self.read_changes(self.git(&STATUS, None))
    }

    /// Compares the working tree with HEAD, and does something else meanwhile.
    pub(super) fn changes_beside<T>(&self, meanwhile: impl FnOnce() -> T) -> (Result<Changes>, T) {
        let (listing, done) = self.git_beside(&STATUS, meanwhile);
        (self.read_changes(listing), done)
    }

    fn read_changes(&self, listing: Result<Vec<u8>>) -> Result<Changes> {
        Ok(parse(&listing.map_err(|error| self.unless_index_damaged(error))?))
    }

    /// Lists the files that an unfinished merge leaves with conflicts.
    pub fn unmerged(&self) -> Result<Vec<String>> {
        let listing = self.git(&["diff", "--name-only", "--diff-filter=U", "-z"], None)?;
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(name_of).collect())
    }

    /// Marks the files that git does not track now, and the submodules that are changed inside, so that it can be told
    /// later which of them were left alone.
    pub fn untracked_marks(&self) -> Result<Marks> {
        let Changes { untracked, submodules, .. } = self.changes()?;
        let marked = untracked.into_iter().chain(submodules);
        Ok(marked.map(|path| (path.clone(), mark(&self.root.join(path_of(&path))))).collect())
    }

    /// Tells whether an untracked file is as it was when it was marked.
    pub(super) fn is_untouched(&self, path: &str, marks: &Marks) -> bool {
        marks.get(path).is_some_and(|known| *known == mark(&self.root.join(path_of(path))))
    }
}

/// Size and times tell an edit without reading what may be gigabytes; unlike the time of the last edit, that of the last
/// change of the entry cannot be set back.
fn mark(path: &Path) -> String {
    path.symlink_metadata().map_or_else(
        |_| String::new(),
        |found| format!("{} {} {}.{:09}", found.ino(), found.size(), found.ctime(), found.ctime_nsec()),
    )
}

/// Reads git's second porcelain form: `1 XY SUB …`, `u XY SUB …` and `? PATH`, each ended by a NUL.
pub(super) fn parse(listing: &[u8]) -> Changes {
    let mut changes = Changes::default();
    for entry in listing.split(|byte| *byte == 0) {
        // The path is the last of so many fields, and may hold blanks itself.
        let fields = match entry.first() {
            Some(b'1') => 9,
            Some(b'u') => 11,
            Some(b'?') => 2,
            _ => continue,
        };
        let fields: Vec<&[u8]> = entry.splitn(fields, |byte| *byte == b' ').collect();
        let Some(path) = fields.last().filter(|path| !path.starts_with(VIEW) && **path != OWN) else { continue };
        let path = name_of(path);
        match fields.as_slice() {
            [b"?", ..] => changes.untracked.push(path),
            // Nothing staged, and the submodule itself is at the commit that is recorded.
            [b"1", b".M", submodule, ..] if submodule.starts_with(b"S.") => changes.submodules.push(path),
            [_, staged, ..] => {
                changes.added.extend(staged.starts_with(b"A").then(|| path.clone()));
                changes.tracked.push(path);
            }
            _ => {}
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_split_into_tracked_and_untracked_paths() {
        let changes = parse(
            b"1 .M N... 100644 100644 100644 aa bb src/a b.rs\0\
              1 A. N... 000000 100644 100644 aa bb new\nline.rs\0\
              1 .M SC.. 160000 160000 160000 aa bb moved\0\
              1 .M S.MU 160000 160000 160000 aa bb dirty\0\
              u UU N... 100644 100644 100644 100644 a b c torn\0\
              ? my notes.txt\0? gr\xfcn\0",
        );

        assert_eq!(changes.tracked, ["src/a b.rs", "new\nline.rs", "moved", "torn"]);
        assert_eq!(changes.added, ["new\nline.rs"]);
        assert_eq!(changes.untracked, ["my notes.txt", r#""gr\xfcn""#]);
        assert_eq!(changes.submodules, ["dirty"]);
        for nothing in [b"1 .M N... 1 1 1 a b .longhaul/memory/a\0? .longhaul/memory/b\0? .longhaul\0".as_slice(), b""]
        {
            assert_eq!(parse(nothing), Changes::default());
        }
    }
}
