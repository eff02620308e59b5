//! Whether the files of the working tree are those of HEAD, without taking anybody's word for it.

use super::Changes;
use super::Head;
use super::Project;
use super::changes::parse;
use super::name_of;
use super::path_of;
use anyhow::Context;
use anyhow::Result;
use git2::Index;
use git2::Oid;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

impl Project {
    /// Lists the tracked files that differ from HEAD, also those that git was told to overlook.
    pub fn uncommitted(&self) -> Result<Vec<String>> {
        Ok(self.changes_and_uncommitted()?.1)
    }

    /// Returns what git sees, and with it the tracked files that differ from HEAD, also those that git was told to overlook.
    ///
    /// `git status` believes the index: a file marked there (`--assume-unchanged`, `--skip-worktree`), or one whose
    /// remembered times fit, is unchanged to it. A fresh index remembers nothing, so that every file is read.
    pub fn changes_and_uncommitted(&self) -> Result<(Changes, Vec<String>)> {
        let Some(head) = self.head()? else {
            let changes = self.changes()?;
            let differing: BTreeSet<String> = changes.tracked.iter().cloned().collect();
            return Ok((changes, differing.into_iter().collect()));
        };
        let (changes, read) = self.changes_beside(|| self.read_anew(&head));
        let (changes, mut read) = (changes?, read?);
        let mut differing: BTreeSet<String> = changes.tracked.iter().cloned().collect();
        read.retain(|path| !differing.contains(path));
        // A clean filter may store other bytes than lie here; the same bytes are no difference, whatever it would do.
        read.retain(|path| !self.lies_as_committed(&head.commit, path));
        let absent = |path: &String| self.root.join(path_of(path)).symlink_metadata().is_err();
        if read.iter().any(absent) {
            let sparse = self.left_out_by_sparse_checkout()?;
            read.retain(|path| !(absent(path) && sparse.contains(path)));
        }
        differing.extend(read);
        Ok((changes, differing.into_iter().collect()))
    }

    /// Lists the tracked files in which a `git` that remembers nothing of them sees a difference from HEAD.
    fn read_anew(&self, head: &Head) -> Result<Vec<String>> {
        self.entries(&head.tree)?;
        let folder = self.temporary()?;
        let index = folder.path().join("index");
        self.write_fresh_index(&head.tree, &index).context("could not make an index of HEAD")?;
        // What git would note in this index serves nobody.
        let status = [
            "--no-optional-locks",
            "status",
            "--porcelain=v2",
            "-z",
            "--no-renames",
            "--untracked-files=no",
            "--ignore-submodules=none",
        ];
        Ok(parse(&self.git_with(&index, &status, None)?).tracked)
    }

    /// Writes an index of a tree that remembers nothing of any file.
    fn write_fresh_index(&self, tree: &str, path: &Path) -> Result<()> {
        let tree = self.repository.find_tree(Oid::from_str(tree)?)?;
        let mut index = Index::open(path)?;
        index.read_tree(&tree)?;
        Ok(index.write()?)
    }

    /// Tells whether a regular file has the very bytes of the commit.
    fn lies_as_committed(&self, commit: &str, path: &str) -> bool {
        let full = self.root.join(path_of(path));
        let Ok(Some(blob)) = self.blob_at(commit, path) else { return false };
        let found = full.symlink_metadata();
        let alike = found.is_ok_and(|found| found.is_file() && found.len() == blob.len() as u64);
        alike && fs::read(full).is_ok_and(|bytes| bytes == blob)
    }

    /// Tells whether git was told to leave files out of the working tree.
    pub(super) fn is_sparse(&self) -> bool {
        self.git_line(&["config", "--type=bool", "--get", "core.sparseCheckout"]).ok().as_deref() == Some("true")
    }

    /// Lists the files that a sparse checkout leaves out; none where there is no such checkout.
    fn left_out_by_sparse_checkout(&self) -> Result<BTreeSet<String>> {
        if !self.is_sparse() {
            return Ok(BTreeSet::new());
        }
        let listing = self.git(&["ls-files", "-t", "-z"], None)?;
        let skipped = listing.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(b"S "));
        Ok(skipped.map(name_of).collect())
    }
}

/// Adds to an environment what makes git look at this repository and this working tree, whatever their settings say.
pub(super) fn pin_down(env: &mut BTreeMap<String, String>, git_dir: &Path, common_dir: &Path, root: &Path) {
    // As a hook of git's would hand them down.
    for name in ["GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"] {
        env.remove(name);
    }
    let places = [("GIT_DIR", git_dir), ("GIT_COMMON_DIR", common_dir), ("GIT_WORK_TREE", root)];
    env.extend(places.map(|(name, place)| (name.to_owned(), place.to_string_lossy().into_owned())));
    // Replacements and grafts are seen by this repository's `git` alone: a clone would get the commit as it is.
    env.insert("GIT_NO_REPLACE_OBJECTS".into(), "1".into());
    // An empty file would do, but git has a hint about it.
    env.insert("GIT_GRAFT_FILE".into(), "/dev/null/none".into());
}
