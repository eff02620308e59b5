//! The walk over the files of a closure, in a tree that an agent has written: never more than can be looked at, nothing
//! outside, and nothing opened but regular files.

use crate::failure::Failure;
use crate::gate::pin::Mode;
use crate::gate::pin::Pinned;
use crate::project;
use anyhow::Result;
use globset::GlobSet;
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// What tools write beside tests by themselves, and what is ours.
const PASSED_OVER: [&str; 6] = [".git", ".longhaul", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache"];

/// Most files and folders that are passed on the way.
const SEEN: usize = 500_000;
/// Most files of one closure.
const HELD: usize = 50_000;
/// Deepest folder below the project's root.
const DEPTH: usize = 100;
/// Most bytes that are read for their ids.
const READ: u64 = 8 << 30;
/// Largest file whose bytes are kept: it is shown where it differs, and laid out from its pin.
const KEPT: u64 = 10 << 20;
/// Most bytes that are kept of all files.
const KEPT_OF_ALL: u64 = 256 << 20;

/// What was found so far, and what it took.
pub(in crate::gate) struct Walk<'a> {
    root: &'a Path,
    unwanted: &'a GlobSet,
    /// With pins, what has none is not read where it is large.
    pins: Option<&'a BTreeMap<String, Option<String>>>,
    found: BTreeMap<String, Pinned>,
    limits: Limits,
    seen: usize,
    read: u64,
    kept: u64,
}

/// What one closure may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    seen: usize,
    held: usize,
    depth: usize,
    read: u64,
}

/// Which files of those on the way belong to the closure.
type Wanted<'a> = &'a dyn Fn(&Path) -> bool;

impl<'a> Walk<'a> {
    pub(in crate::gate) fn new(
        root: &'a Path,
        unwanted: &'a GlobSet,
        pins: Option<&'a BTreeMap<String, Option<String>>>,
    ) -> Self {
        let limits = Limits { seen: SEEN, held: HELD, depth: DEPTH, read: READ };
        Self { root, unwanted, pins, found: BTreeMap::new(), limits, seen: 0, read: 0, kept: 0 }
    }

    /// Returns the files by path.
    pub(in crate::gate) fn found(self) -> BTreeMap<String, Pinned> {
        self.found
    }

    /// Collects a file, or all below a folder that is wanted. What is neither is collected as absent, unless it is a
    /// pattern. `pattern` is what the check says.
    pub(in crate::gate) fn over(&mut self, path: &str, pattern: &str, wanted: Wanted<'_>) -> Result<()> {
        self.collect(Path::new(path), wanted).map_err(|reason| {
            Failure::usage(format!("the check's files `{pattern}` cannot be looked at: {reason}"))
                .hint("name fewer files in its `closure`, or take some out with `!pattern`")
                .into()
        })
    }

    fn collect(&mut self, path: &Path, wanted: Wanted<'_>) -> Result<(), String> {
        let name = path.file_name().unwrap_or_default();
        if PASSED_OVER.iter().any(|passed| name == *passed) || self.unwanted.is_match(path) {
            return Ok(());
        }
        self.seen += 1;
        if self.seen > self.limits.seen {
            return Err(format!("more than {} files and folders lie there", self.limits.seen));
        }
        if path.components().count() > self.limits.depth {
            let start: PathBuf = path.components().take(5).collect();
            return Err(format!("`{}/…` has folders more than {} deep", start.display(), self.limits.depth));
        }
        let full = self.root.join(path);
        let failed = |error: std::io::Error| format!("`{}`: {error}", path.display());
        let found = match fs::symlink_metadata(&full) {
            Ok(metadata) => Some(metadata),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            Err(error) => return Err(failed(error)),
        };
        if found.as_ref().is_some_and(fs::Metadata::is_dir) {
            for entry in fs::read_dir(&full).map_err(failed)? {
                self.collect(&path.join(entry.map_err(failed)?.file_name()), wanted)?;
            }
            return Ok(());
        }
        if wanted(path) { self.hold(path, found.as_ref()) } else { Ok(()) }
    }

    /// Takes what is no folder into the closure.
    fn hold(&mut self, path: &Path, found: Option<&fs::Metadata>) -> Result<(), String> {
        if self.found.len() >= self.limits.held {
            return Err(format!("these are more than {} files", self.limits.held));
        }
        let name = pin_name(path);
        let (mode, target) = match found {
            Some(found) if found.is_file() && found.permissions().mode() & 0o100 != 0 => (Mode::Executable, None),
            Some(found) if found.is_file() => (Mode::Plain, None),
            Some(found) if found.is_symlink() => (Mode::Link, fs::read_link(self.root.join(path)).ok()),
            Some(_) => (Mode::Special, None),
            None => (Mode::Plain, None),
        };
        let is_there = found.is_some() && mode != Mode::Special;
        if !is_there && mode != Mode::Special && crate::gate::words::is_pattern(&name) {
            return Ok(());
        }
        let (id, bytes) = if is_there { self.content(path, &name, target.as_deref())? } else { (None, None) };
        self.found.insert(name.clone(), Pinned { path: name, id, mode, bytes });
        Ok(())
    }

    /// Returns the id and the bytes of a file; of a link, of where it leads to and, if that is a file of the same tree,
    /// what is in it. What lies outside is not for whoever sees a difference.
    fn content(&mut self, path: &Path, name: &str, target: Option<&Path>) -> Result<Content, String> {
        let told = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
        let file = project::open_beneath(self.root, path).map_err(|error| told(&error))?;
        let size = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |found| found.len());
        let start = target.map(|target| target.as_os_str().as_bytes().to_vec());
        let Some(file) = file else {
            return Ok(start.map_or((None, None), |bytes| (Some(project::blob_id(&bytes)), Some(bytes))));
        };
        let small = size <= KEPT && self.kept + size <= KEPT_OF_ALL;
        let is_pinned = self.pins.is_none_or(|pins| matches!(pins.get(name), Some(Some(_))));
        if !small && !is_pinned {
            // It is new, and nobody compares it.
            return Ok((Some(String::new()), None));
        }
        self.read += size;
        if self.read > self.limits.read {
            return Err(format!("together they have more than {} bytes", self.limits.read));
        }
        if !small {
            let id = project::open_id(&file).map_err(|error| told(&error))?;
            let whole = start.map(|start| project::blob_id(&[&start, b"\n".as_slice(), id.as_bytes()].concat()));
            return Ok((Some(whole.unwrap_or(id)), None));
        }
        let read = project::read_beneath(self.root, path, KEPT).map_err(|error| told(&error))?.unwrap_or_default();
        let bytes = start.map_or_else(|| read.clone(), |start| [&start, b"\n".as_slice(), &read].concat());
        self.kept += bytes.len() as u64;
        Ok((Some(project::blob_id(&bytes)), Some(bytes)))
    }
}

/// The id and the bytes of a file, where there are any.
type Content = (Option<String>, Option<Vec<u8>>);

/// Keeps a project's own `checks/` apart from memory's.
fn pin_name(path: &Path) -> String {
    let name = project::name_of(path.as_os_str().as_bytes());
    if name.starts_with("checks/") { format!("./{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
    use rustix::fs::FileType;

    const ALL: Limits = Limits { seen: 100, held: 100, depth: 100, read: 100 << 20 };

    /// Walks over all below a folder of that name.
    fn walk(root: &Path, limits: Limits, pins: Option<&BTreeMap<String, Option<String>>>) -> Result<Vec<Pinned>> {
        let none = GlobSet::empty();
        let mut walk = Walk { limits, ..Walk::new(root, &none, pins) };
        walk.over("tests", "tests/**", &|_| true)?;
        Ok(walk.found().into_values().collect())
    }

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files.iter().map(|file| folder.path().join(file)) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "text").unwrap();
        }
        folder
    }

    #[test]
    fn each_limit_ends_the_walk_and_names_the_pattern() {
        let folder = tree(&["tests/a/b/c/file", "tests/other"]);
        assert_eq!(walk(folder.path(), ALL, None).unwrap().len(), 2);
        for (limits, reason) in [
            (Limits { seen: 3, ..ALL }, "more than 3 files and folders lie there"),
            (Limits { held: 1, ..ALL }, "these are more than 1 files"),
            (Limits { depth: 3, ..ALL }, "`tests/a/b/c/…` has folders more than 3 deep"),
            (Limits { read: 7, ..ALL }, "together they have more than 7 bytes"),
        ] {
            let error = walk(folder.path(), limits, None).unwrap_err();
            assert_eq!(error.to_string(), format!("the check's files `tests/**` cannot be looked at: {reason}"));
            assert!(error.downcast_ref::<Failure>().unwrap().hint.as_ref().unwrap().contains("`!pattern`"));
        }
    }

    #[test]
    fn a_large_file_is_told_by_its_id_and_only_read_where_it_is_compared() {
        let folder = tree(&["tests/large"]);
        let path = folder.path().join("tests/large");
        fs::File::options().write(true).open(&path).unwrap().set_len(KEPT + 1).unwrap();
        let id = project::file_id(&path).unwrap();
        let seen = |pins: Option<&BTreeMap<String, Option<String>>>| walk(folder.path(), ALL, pins).unwrap().remove(0);

        let large = Pinned { path: "tests/large".to_owned(), id: Some(id.clone()), mode: Mode::Plain, bytes: None };
        assert_eq!(seen(None), large);
        assert_eq!(seen(Some(&BTreeMap::from([("tests/large".to_owned(), Some(id))]))), large);
        assert_eq!(seen(Some(&BTreeMap::new())), Pinned { id: Some(String::new()), ..large });
    }

    #[test]
    fn a_special_file_is_named_and_never_opened() {
        let folder = tree(&["tests/a"]);
        let make = |name: &str, kind| {
            rustix::fs::mknodat(CWD, folder.path().join("tests").join(name), kind, 0o600.into(), 0).unwrap();
        };
        make("pipe", FileType::Fifo);
        make("socket", FileType::Socket);
        std::os::unix::fs::symlink("pipe", folder.path().join("tests/to-pipe")).unwrap();

        let found = walk(folder.path(), ALL, None).unwrap();

        let kinds: Vec<(&str, Mode, bool)> =
            found.iter().map(|file| (file.path.as_str(), file.mode, file.id.is_some())).collect();
        assert_eq!(
            kinds,
            [
                ("tests/a", Mode::Plain, true),
                ("tests/pipe", Mode::Special, false),
                ("tests/socket", Mode::Special, false),
                ("tests/to-pipe", Mode::Link, true)
            ]
        );
    }

    #[test]
    fn a_name_that_is_no_text_is_one_of_a_file() {
        let folder = tree(&["tests/a"]);
        fs::write(folder.path().join("tests").join(std::ffi::OsStr::from_bytes(b"test_\xff.py")), "x").unwrap();
        let found = walk(folder.path(), ALL, None).unwrap();
        assert_eq!((found[0].path.as_str(), found[0].id.is_some()), (r#""tests/test_\xff.py""#, true));
    }
}
