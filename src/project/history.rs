//! Reads commits, trees and differences of the user's repository.

use super::Project;
use super::name_of;
use super::path_of;
use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use git2::Oid;
use std::fs;
use std::io::Write;
use std::path::Path;

impl Project {
    /// Lists the paths that differ between two commits, in git's order.
    pub fn changed_paths(&self, from: &str, to: &str) -> Result<Vec<String>> {
        let tree = |commit: &str| -> Result<git2::Tree<'_>> {
            Ok(self.repository.find_commit(Oid::from_str(commit)?)?.tree()?)
        };
        let context = || format!("could not compare the commits `{from}` and `{to}`");
        let (old, new) = (tree(from).with_context(context)?, tree(to).with_context(context)?);
        let diff = self.repository.diff_tree_to_tree(Some(&old), Some(&new), None).with_context(context)?;
        let paths = diff.deltas().filter_map(|delta| delta.new_file().path_bytes().or(delta.old_file().path_bytes()));
        Ok(paths.map(name_of).collect())
    }

    /// Tells whether two trees differ, and in nothing but empty lines and the blanks at line ends.
    pub fn differ_in_blanks_only(&self, old: &str, new: &str) -> Result<bool> {
        if old == new {
            return Ok(false);
        }
        let context = || format!("could not compare the trees `{old}` and `{new}`");
        let tree = |id: &str| self.repository.find_tree(Oid::from_str(id)?);
        let (old, new) = (tree(old).with_context(context)?, tree(new).with_context(context)?);
        let mut options = git2::DiffOptions::new();
        options.ignore_whitespace_eol(true).ignore_blank_lines(true);
        // libgit2 looks for attributes in the index, whose form it may not know; what cannot be compared is a change.
        let Ok(diff) = self.repository.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options)) else {
            return Ok(false);
        };
        let same_kind = |delta: git2::DiffDelta<'_>| {
            let modes = delta.old_file().mode() == delta.new_file().mode();
            delta.status() == git2::Delta::Modified && modes && !delta.flags().is_binary()
        };
        let unchanged = diff.stats().is_ok_and(|stats| stats.insertions() + stats.deletions() == 0);
        Ok(unchanged && diff.deltas().all(same_kind))
    }

    /// Returns the bytes of a file as committed, or none when the commit has no such file.
    pub fn blob_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>> {
        let context = || format!("could not read `{path}` at the commit `{commit}`");
        let tree = self
            .repository
            .find_commit(Oid::from_str(commit)?)
            .and_then(|commit| commit.tree())
            .with_context(context)?;
        let entry = match tree.get_path(&path_of(path)) {
            Ok(entry) => entry,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(context),
        };
        Ok(self.repository.find_blob(entry.id()).ok().map(|blob| blob.content().to_vec()))
    }

    /// Returns the bytes of an object that is a file and not larger than `most`.
    pub fn blob(&self, id: &str, most: usize) -> Option<Vec<u8>> {
        let blob = self.repository.find_blob(Oid::from_str(id).ok()?).ok()?;
        (blob.size() <= most).then(|| blob.content().to_vec())
    }

    /// Returns the newest commits of HEAD, one line each: short id and subject.
    pub fn last_commits(&self, count: usize) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut next = self.head()?.map(|head| Oid::from_str(&head.commit)).transpose()?;
        while let Some(id) = next.filter(|_| lines.len() < count) {
            let commit =
                self.repository.find_commit(id).with_context(|| format!("could not read the commit `{id}`"))?;
            let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned();
            lines.push(format!("{} {subject}", &id.to_string()[..7]));
            next = commit.parent_id(0).ok();
        }
        Ok(lines)
    }

    /// Tells whether the repository holds a commit; one that was rewritten away can be gone for good.
    pub fn holds(&self, commit: &str) -> Result<bool> {
        // Asked of the object store: the repository itself remembers what it read before.
        let store = self.repository.odb().context("could not open the objects of the project")?;
        Ok(store.exists(Oid::from_str(commit)?))
    }

    /// Tells whether `ancestor` is in the history of `commit`.
    pub fn contains(&self, commit: &str, ancestor: &str) -> Result<bool> {
        if !self.holds(ancestor)? {
            return Ok(false);
        }
        let (commit, ancestor) = (Oid::from_str(commit)?, Oid::from_str(ancestor)?);
        let descends = self.repository.graph_descendant_of(commit, ancestor);
        Ok(commit == ancestor || descends.context("could not compare two commits of the project")?)
    }

    /// Lists the commits of HEAD that `from` does not hold, newest first, as full ids; after an amend these are the new ones.
    pub fn commits_since(&self, from: &str) -> Result<Vec<String>> {
        let Some(head) = self.head()? else { return Ok(Vec::new()) };
        let context = || format!("could not list the commits after `{from}`");
        let mut walk = self.repository.revwalk().with_context(context)?;
        walk.push(Oid::from_str(&head.commit)?).with_context(context)?;
        if self.holds(from)? {
            walk.hide(Oid::from_str(from)?).with_context(context)?;
        }
        walk.map(|id| Ok(id.with_context(context)?.to_string())).collect()
    }

    /// Adds a line to `.git/info/exclude` unless it is there; returns whether it was added.
    pub fn exclude(&self, pattern: &str) -> Result<bool> {
        let path = self.common_dir.join("info/exclude");
        let context = || format!("could not add `{pattern}` to `{}`", path.display());
        // Commands write in there, too, and may have put a link or a pipe in its place.
        let folder = self.common_dir.join("info");
        let plain = |path: &Path, is: fn(&fs::Metadata) -> bool| path.symlink_metadata().is_ok_and(|found| is(&found));
        let text = match fs::symlink_metadata(&path) {
            Ok(_) if plain(&path, fs::Metadata::is_file) && plain(&folder, fs::Metadata::is_dir) => {
                fs::read_to_string(&path).with_context(context)?
            }
            Ok(_) => bail!("`{}` is no plain file: remove it, git makes do without", path.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(context),
        };
        if text.lines().any(|line| line == pattern) {
            return Ok(false);
        }
        fs::create_dir_all(self.common_dir.join("info")).with_context(context)?;
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let mut file = fs::OpenOptions::new().append(true).create(true).open(&path).with_context(context)?;
        file.write_all(format!("{gap}{pattern}\n").as_bytes()).with_context(context)?;
        Ok(true)
    }
}
