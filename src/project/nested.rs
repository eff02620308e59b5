//! Repositories inside the project whose files belong to no commit of it.

use super::Changes;
use super::EntryKind;
use super::Project;
use super::name_of;
use super::names::bytes_of;
use super::path_of;
use anyhow::Result;
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
