//! Repositories inside the project whose files belong to no commit of it.

use super::Changes;
use super::Entry;
use super::EntryKind;
use super::Project;
use super::listed;
use super::name_of;
use super::names::bytes_of;
use super::path_of;
use anyhow::Result;
use git2::Oid;
use git2::Repository;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Project {
    /// Lists the folders that hold a git repository of their own and are no submodules. Of their files the project's
    /// commits know nothing, or only the name of a commit that nobody else has.
    pub fn nested(&self) -> Result<Vec<String>> {
        self.nested_among(&self.changes()?)
    }

    /// The same where the changes that git sees are known already.
    pub fn nested_among(&self, changes: &Changes) -> Result<Vec<String>> {
        // git names an untracked folder as a whole only when it is a repository.
        let mut nested: BTreeSet<String> =
            changes.untracked.iter().filter_map(|path| bytes_of(path).strip_suffix(b"/").map(name_of)).collect();
        let entries = self.head()?.map_or_else(|| Ok(Vec::new()), |head| self.entries(&head.tree))?;
        let links = entries.into_iter().filter(|entry| entry.kind == EntryKind::Submodule);
        let paths = links.map(|entry| name_of(entry.path.as_os_str().as_bytes()));
        // What was not fetched cannot help a check to pass.
        let mut paths = paths.filter(|path| self.root.join(path_of(path)).join(".git").exists()).peekable();
        if paths.peek().is_some() {
            let submodules = self.submodules(&self.root)?;
            nested.extend(paths.filter(|path| !submodules.contains(path)));
        }
        Ok(nested.into_iter().collect())
    }

    /// Says which submodules among these entries are at a commit that no remote of theirs is known to have.
    pub fn unpublished(&self, entries: &[Entry]) -> Option<String> {
        let links = entries.iter().filter(|entry| entry.kind == EntryKind::Submodule);
        let alone = links.filter(|entry| is_unpublished(&self.root.join(&entry.path), &entry.id) == Some(true));
        let paths: Vec<String> = alone.map(|entry| name_of(entry.path.as_os_str().as_bytes())).collect();
        (!paths.is_empty()).then(|| {
            format!(
                "not pushed, so that no clone of the project gets it: the commit of the submodule {}",
                listed(&paths)
            )
        })
    }

    /// Returns the paths in the `.gitmodules` of a folder; none when there is no such file.
    pub(super) fn submodules(&self, folder: &Path) -> Result<BTreeSet<String>> {
        let file = folder.join(".gitmodules");
        if !file.is_file() {
            return Ok(BTreeSet::new());
        }
        let file = file.to_string_lossy();
        let listed = ["config", "--file", &file, "-z", "--get-regexp", r"^submodule\..*\.path$"];
        // It fails when nothing matches.
        let listing = self.git(&listed, None).unwrap_or_default();
        let values = listing.split(|byte| *byte == 0).filter_map(|entry| entry.splitn(2, |byte| *byte == b'\n').nth(1));
        Ok(values.map(name_of).collect())
    }
}

/// Tells whether the repository in `folder` has this commit, and no branch or tag that it was given leads there; none where
/// that cannot be known.
fn is_unpublished(folder: &Path, commit: &str) -> Option<bool> {
    let repository = Repository::open(folder).ok().filter(|repository| !repository.is_shallow())?;
    let mut walk = repository.revwalk().ok()?;
    walk.push(Oid::from_str(commit).ok()?).ok()?;
    for given in ["refs/remotes/*", "refs/tags/*"] {
        walk.hide_glob(given).ok()?;
    }
    Some(walk.next().is_some())
}
