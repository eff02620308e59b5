//! Trees of the project written somewhere else, as `git` would check them out.

use super::Marks;
use super::Project;
use super::blob_id;
use super::built;
use super::command::Elsewhere;
use super::command::refusal;
use super::filters;
use super::name_of;
use super::names::bytes_of;
use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Context;
use anyhow::Result;
use anyhow::ensure;
use git2::ObjectType;
use git2::Oid;
use git2::Tree;
use git2::TreeEntry;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fmt::Formatter;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

/// How many commits before HEAD are asked for good names.
const EARLIER: usize = 1000;

/// What git stores a file as.
const EXECUTABLE: i32 = 0o100_755;
const LINK: i32 = 0o120_000;
const SUBMODULE: i32 = 0o160_000;

/// One file of a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    pub path: PathBuf,
    pub id: String,
    pub kind: EntryKind,
}

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EntryKind {
    File,
    Executable,
    Link,
    Submodule,
}

/// A tree holds what git cannot write here, such as a name that is too long.
#[derive(Debug)]
pub struct NotLaidOut(String);

impl Display for NotLaidOut {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the commit cannot be laid out: {}", self.0)
    }
}

impl std::error::Error for NotLaidOut {}

impl EntryKind {
    /// Tells what an entry is; none for a folder.
    fn of(entry: &TreeEntry<'_>) -> Option<Self> {
        match (entry.kind(), entry.filemode()) {
            (Some(ObjectType::Tree), _) => None,
            (_, SUBMODULE) => Some(Self::Submodule),
            (_, LINK) => Some(Self::Link),
            (_, EXECUTABLE) => Some(Self::Executable),
            _ => Some(Self::File),
        }
    }
}

impl Project {
    /// Returns the tree of a commit.
    pub fn tree_of(&self, commit: &str) -> Result<String> {
        let context = || format!("could not read the commit `{commit}`");
        let commit = self.repository.find_commit(Oid::from_str(commit).with_context(context)?).with_context(context)?;
        Ok(commit.tree_id().to_string())
    }

    /// Lists the files of a tree, in git's order.
    ///
    /// # Errors
    /// An integrity failure where a name in it is none.
    pub fn entries(&self, tree: &str) -> Result<Vec<Entry>> {
        self.list(tree).map_err(|error| match error.downcast_ref::<NoName>() {
            Some(NoName(text)) => Failure::new(Kind::Integrity, text).hint(self.back_to_names()).into(),
            None => error,
        })
    }

    /// Names the newest commit before HEAD of which all names are good: git itself has no other way out.
    fn back_to_names(&self) -> String {
        let more = "`git fsck` says more";
        let head = self.repository.head().and_then(|head| head.peel_to_commit()).ok();
        let mut before = std::iter::successors(head, |commit| commit.parent(0).ok()).take(EARLIER);
        let is_good = |commit: &git2::Commit| self.list(&commit.tree_id().to_string()).is_ok();
        let good = before.next().filter(|head| !is_good(head)).and_then(|_| before.find(is_good));
        good.map_or_else(
            || more.to_owned(),
            |good| {
                let short = &good.id().to_string()[..7];
                format!("no git can check that out. `git reset {short}` goes back to the newest commit without it, and no file changes; {more}")
            },
        )
    }

    fn list(&self, tree: &str) -> Result<Vec<Entry>> {
        let context = || format!("could not list the tree `{tree}`");
        let mut pending = vec![(PathBuf::new(), Oid::from_str(tree).with_context(context)?, None)];
        let mut entries = Vec::new();
        while let Some((path, id, kind)) = pending.pop() {
            if let Some(kind) = kind {
                entries.push(Entry { path, id: id.to_string(), kind });
                continue;
            }
            let tree = self.repository.find_tree(id).with_context(context)?;
            require_names(&tree)?;
            // The last to be pushed is the first to be listed.
            for entry in tree.iter().rev() {
                let path = path.join(OsStr::from_bytes(entry.name_bytes()));
                pending.push((path, entry.id(), EntryKind::of(&entry)));
            }
        }
        Ok(entries)
    }

    /// Writes a tree into the folder `place.folder`, through the project's filters. Its submodules come too, as they are
    /// stored, where their commits are there; returned are those that could not. The filters of the settings `without` run
    /// nothing.
    pub fn check_out(&self, tree: &str, place: &Elsewhere, without: &[String]) -> Result<Vec<String>> {
        let without = filters::without(without).map_err(NotLaidOut)?;
        fs::create_dir_all(&place.folder)
            .with_context(|| format!("could not make the folder `{}`", place.folder.display()))?;
        // What a sparse checkout leaves out belongs to the commit like the rest.
        let whole = ["-c", "core.sparseCheckout=false", "-c", "submodule.recurse=false"];
        let without: Vec<&str> = without.iter().map(String::as_str).collect();
        let read = ["read-tree", "--reset", "-u", tree];
        let written = self.git_elsewhere(place, &[&whole[..], &without, &read].concat(), None);
        written.map_err(|error| refusal(&error).map_or(error, |why| NotLaidOut(why).into()))?;
        let entries = self.entries(tree)?;
        if built::age(&place.folder, &entries).context("could not give built files their time")? {
            // Else what asks git by its index alone would be told that they differ; whatever does differ is seen later.
            let refresh = ["update-index", "-q", "--refresh"];
            self.git_elsewhere(place, &[&whole[..], &without, &refresh].concat(), None).ok();
        }
        let mut missing = Vec::new();
        let known = self.submodules(&place.folder)?;
        for entry in entries.into_iter().filter(|entry| entry.kind == EntryKind::Submodule) {
            let name = name_of(entry.path.as_os_str().as_bytes());
            // Of a repository that is no submodule, nobody else has the commit.
            let there = if known.contains(&name) { self.check_out_submodule(&entry, place) } else { Err(vec![name]) };
            missing.extend(there.err().into_iter().flatten());
        }
        Ok(missing)
    }

    /// Reads a tree into the index of `place`; the files there stay as they are.
    pub fn read_index(&self, tree: &str, place: &Elsewhere) -> Result<()> {
        self.git_elsewhere(place, &["read-tree", tree], None).map(drop)
    }

    /// Writes the recorded commit of one submodule; what is absent of it is returned as an error.
    fn check_out_submodule(&self, entry: &Entry, place: &Elsewhere) -> Result<(), Vec<String>> {
        let name = name_of(entry.path.as_os_str().as_bytes());
        let absent = |_| vec![name.clone()];
        let here = self.root.join(&entry.path);
        // Without a `.git` of its own, the search would find the project around it.
        if !here.join(".git").exists() || leads_through_link(&place.folder, &entry.path) {
            return Err(vec![name]);
        }
        let inner = Self::discover(&here, self.environment.clone()).map_err(absent)?;
        let tree = inner.tree_of(&entry.id).map_err(absent)?;
        // Its settings are an agent's to write: none of its filters is run.
        inner.write_plainly(&tree, &place.folder.join(&entry.path)).map_err(absent)
    }

    /// Writes a tree as it is stored, without any filter, and without submodules.
    fn write_plainly(&self, tree: &str, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for entry in self.entries(tree)? {
            let path = folder.join(&entry.path);
            if entry.kind == EntryKind::Submodule {
                continue;
            }
            ensure!(!leads_through_link(folder, &entry.path), "`{}` lies behind a link", entry.path.display());
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let blob = self.repository.find_blob(Oid::from_str(&entry.id)?)?;
            if entry.kind == EntryKind::Link {
                std::os::unix::fs::symlink(OsStr::from_bytes(blob.content()), &path)?;
                continue;
            }
            let mode = if entry.kind == EntryKind::Executable { 0o755 } else { 0o644 };
            let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path);
            file?.write_all(blob.content())?;
        }
        Ok(())
    }

    /// Returns the tree that the commit of what lies here now would have, without committing it; `before` as for
    /// [`Project::commit_leftover`].
    pub fn snapshot(&self, before: &Marks) -> Result<String> {
        let folder = self.temporary()?;
        let index = folder.path().join("index");
        if let Some(head) = self.head()? {
            self.git_with(&index, &["read-tree", &head.commit], None)?;
        }
        let (take, _) = self.select(before)?;
        self.add_all(take, &|args, list| self.git_with(&index, args, Some(list)).map(drop))?;
        Ok(String::from_utf8_lossy(&self.git_with(&index, &["write-tree"], None)?).trim().to_owned())
    }

    /// Puts tracked files of the working tree back as they are committed.
    pub fn put_back(&self, paths: &[String]) -> Result<()> {
        let list = paths.iter().flat_map(|path| bytes_of(path).into_iter().chain([0])).collect();
        self.git_changing(&["checkout-index", "--force", "--index", "-z", "--stdin"], Some(list)).map(drop)
    }

    /// Lists the files in `place` that its index does not know, ignored ones too; folders without any known file end
    /// with a slash.
    pub fn unknown_in(&self, place: &Elsewhere) -> Result<Vec<PathBuf>> {
        let listing = self.git_elsewhere(place, &["ls-files", "--others", "--directory", "-z"], None)?;
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// Lists the files of the working tree that are not tracked, ignored ones too.
    pub fn untracked_and_ignored(&self) -> Result<Vec<String>> {
        let listing = self.git(&["ls-files", "--others", "-z"], None)?;
        let paths = listing.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(name_of).collect())
    }
}

impl Project {
    /// Refuses an object whose bytes are not those it is named after; git itself does not look.
    pub fn require_sound(&self, id: &str, path: &str) -> Result<()> {
        let blob = self.repository.find_blob(Oid::from_str(id)?);
        if blob.is_ok_and(|blob| blob_id(blob.content()) == id) {
            return Ok(());
        }
        let text = format!("git's object `{id}` of `{path}` is not what it is named after");
        Err(Failure::new(Kind::Integrity, text).hint("`git fsck` says more; fetch it anew").into())
    }
}

/// Refuses a tree whose names are none, which git never writes and libgit2 does not look at: an absolute one would lead out of
/// the folder in which the tree is laid, and a link and a folder of one name would too.
fn require_names(tree: &Tree) -> Result<(), NoName> {
    let mut names = BTreeSet::new();
    for entry in tree {
        let name = entry.name_bytes();
        let is_name =
            !matches!(name, b"" | b"." | b"..") && !name.contains(&b'/') && !name.eq_ignore_ascii_case(b".git");
        if !is_name || !names.insert(name.to_vec()) {
            let name = String::from_utf8_lossy(name);
            return Err(NoName(format!("git's tree `{}` holds `{name}`, which is no name", tree.id())));
        }
    }
    Ok(())
}

/// A tree holds what is no name.
#[derive(Debug)]
struct NoName(String);

impl Display for NoName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NoName {}

/// Tells whether a link lies on the way to a path below `folder`, or in its place: what is written there would lie elsewhere.
fn leads_through_link(folder: &Path, path: &Path) -> bool {
    path.ancestors().filter(|part| !part.as_os_str().is_empty()).any(|part| folder.join(part).is_symlink())
}

/// Returns the id git would give a file as it lies there, without any filter.
pub fn file_id(path: &Path) -> Result<String> {
    let id = Oid::hash_file(ObjectType::Blob, path);
    Ok(id.with_context(|| format!("could not read `{}`", path.display()))?.to_string())
}
