//! The plain folder that shows the newest commit to people and to the agent's shell.
//!
//! Only what lies there is told here; what counts as an edit is decided in `compare`.

pub(super) mod adoption;
mod aside;
pub(super) mod compare;
pub(super) mod directory;
mod elsewhere;
mod inspect;
mod overtaken;
pub(super) mod projection;
#[cfg(test)]
mod races;
mod torn;

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::hash::BuildHasher;
use std::hash::Hasher;
use std::io;
use std::path::Path;

use anyhow::Context;
use anyhow::Result;

use crate::memory::Place;
use crate::memory::rules::path;
use crate::memory::view::directory::Directory;
use crate::memory::view::directory::Kind;

/// Temporary files lie beside the view, so no look into the view ever sees one.
const TEMPORARY: &str = ".longhaul-new-";

/// The view of one place.
pub(super) struct View<'p> {
    place: &'p Place,
}

/// What lies at a path, folders left out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Found {
    File {
        size: u64,
        shared: bool,
    },
    Link,
    Special,
    /// The name is not UTF-8; the path is a rendering of it.
    Unnameable,
}

impl<'p> View<'p> {
    pub(super) fn of(place: &'p Place) -> Self {
        Self { place }
    }

    /// Makes the folder when it is missing, and sweeps up what a killed process left beside it.
    pub(super) fn prepare(&self) -> Result<()> {
        let beside = self.beside().with_context(|| self.doing("make"))?;
        self.make_in(&beside).with_context(|| self.doing("make"))?;
        for name in beside.names().with_context(|| self.doing("read"))? {
            if name.to_str().is_some_and(|name| name.starts_with(TEMPORARY)) {
                beside.remove(&name).with_context(|| self.doing("tidy"))?;
            }
        }
        Ok(())
    }

    /// Returns all that lies at or below a path; `""` is the whole view. When something else than a folder lies on
    /// the way, that is what is found.
    pub(super) fn scan(&self, path: &str) -> Result<BTreeMap<String, Found>> {
        let mut found = BTreeMap::new();
        let scanned = self.try_scan(path, &mut found);
        scanned.with_context(|| self.doing("read"))?;
        Ok(found)
    }

    fn try_scan(&self, path: &str, found: &mut BTreeMap<String, Found>) -> io::Result<()> {
        let Some(mut folder) = self.root()? else { return Ok(()) };
        let mut on_the_way = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            on_the_way = join(&on_the_way, name);
            let is_last = on_the_way == path;
            if !is_last && let Some(below) = folder.enter_if_folder(OsStr::new(name))? {
                folder = below;
                continue;
            }
            match folder.kind(OsStr::new(name))? {
                Some(Kind::Folder) => folder = folder.enter(OsStr::new(name))?,
                Some(kind) => {
                    found.insert(on_the_way, found_kind(kind));
                    return Ok(());
                }
                None => return Ok(()),
            }
        }
        scan_folder(folder, on_the_way, found)
    }

    /// Returns the bytes of the file at a path.
    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>> {
        let read = || {
            let (folder, name) = self.folder_of(path)?;
            folder.read_file(name)
        };
        read().with_context(|| format!("could not read `{path}` in `{}`", self.place.view.display()))
    }

    /// Returns the folder that holds a path, and the path's last name.
    pub(super) fn folder_of<'n>(&self, path: &'n str) -> io::Result<(Directory, &'n OsStr)> {
        let mut folder = self.root()?.ok_or(io::ErrorKind::NotFound)?;
        let (parents, name) = split(path);
        for parent in parents {
            folder = folder.enter(OsStr::new(parent))?;
        }
        Ok((folder, OsStr::new(name)))
    }

    /// Puts a file in place as a whole: readers see the old bytes or the new ones.
    pub(super) fn put(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.try_put(path, bytes)
            .with_context(|| format!("could not write `{path}` in `{}`", self.place.view.display()))
    }

    fn try_put(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let beside = self.beside()?;
        let mut folder = self.make_in(&beside)?;
        let (parents, name) = split(path);
        for parent in parents {
            folder = folder.enter_or_make(OsStr::new(parent))?;
        }
        let name = OsStr::new(name);
        if folder.kind(name)? == Some(Kind::Folder) && folder.remove_folder(name).is_err() {
            displace(&folder, name)?;
        }
        let temporary = temporary_name();
        let done = beside.create_file(&temporary, bytes).and_then(|()| beside.replace(&temporary, &folder, name));
        if done.is_err() {
            // The first error is the one to tell.
            let _ = beside.remove(&temporary);
        }
        done
    }

    /// Removes a file, and the folders that hold nothing then.
    pub(super) fn remove(&self, path: &str) -> Result<()> {
        let remove = || match self.folder_of(path) {
            Ok((folder, name)) => match folder.remove(name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => self.prune(path),
            },
            Err(error) if directory::is_no_folder(&error) => Ok(()),
            Err(error) => Err(error),
        };
        remove().with_context(|| format!("could not remove `{path}` from `{}`", self.place.view.display()))
    }

    /// Removes the folders above a path, innermost first, as long as they hold nothing.
    pub(super) fn prune(&self, path: &str) -> io::Result<()> {
        let parents: Vec<&str> = path::parents(path).collect();
        for parent in parents.iter().rev() {
            let (folder, name) = self.folder_of(parent)?;
            if folder.remove_folder(name).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Opens the view, if it is there and a folder.
    fn root(&self) -> io::Result<Option<Directory>> {
        let mut folder = Directory::open_trusted(&self.place.trusted)?;
        for name in self.below_trusted() {
            let Some(below) = folder.enter_if_folder(name)? else { return Ok(None) };
            folder = below;
        }
        Ok(Some(folder))
    }

    /// Opens the view in the folder that holds it, made when missing; what lies in its place gets another name.
    fn make_in(&self, beside: &Directory) -> io::Result<Directory> {
        match self.below_trusted().last() {
            Some(name) => make_folder(beside, name),
            None => Directory::open_trusted(&self.place.trusted),
        }
    }

    /// Opens the folder that holds the view.
    fn beside(&self) -> io::Result<Directory> {
        let names = self.below_trusted();
        let mut folder = Directory::open_trusted(&self.place.trusted)?;
        for name in &names[..names.len().saturating_sub(1)] {
            folder = make_folder(&folder, name)?;
        }
        Ok(folder)
    }

    fn below_trusted(&self) -> Vec<&OsStr> {
        let below = self.place.view.strip_prefix(&self.place.trusted).unwrap_or(Path::new(""));
        below.components().map(|component| component.as_os_str()).collect()
    }

    fn doing(&self, what: &str) -> String {
        format!("could not {what} the memory's view `{}`", self.place.view.display())
    }
}

fn scan_folder(folder: Directory, at: String, found: &mut BTreeMap<String, Found>) -> io::Result<()> {
    let mut waiting = vec![(folder, at)];
    while let Some((folder, at)) = waiting.pop() {
        for name in folder.names()? {
            let Some(text) = name.to_str() else {
                found.insert(join(&at, &name.to_string_lossy()), Found::Unnameable);
                continue;
            };
            match folder.kind(&name)? {
                Some(Kind::Folder) => {
                    let below = join(&at, text);
                    waiting.push((folder.enter(&name).map_err(|error| whose(error, &below))?, below));
                }
                Some(kind) => {
                    found.insert(join(&at, text), found_kind(kind));
                }
                None => {}
            }
        }
    }
    Ok(())
}

/// Names the folder that keeps its reader out, as one that root made does.
fn whose(error: io::Error, path: &str) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let way_out = "its owner gives it to you with `chown -R`, as root does with what it wrote there";
            io::Error::new(error.kind(), format!("the folder `{path}` in it keeps you out, {way_out} ({error})"))
        }
        _ => error,
    }
}

fn found_kind(kind: Kind) -> Found {
    match kind {
        Kind::File { size, shared } => Found::File { size, shared },
        Kind::Link => Found::Link,
        Kind::Special | Kind::Folder => Found::Special,
    }
}

/// Opens a folder, made when missing; what lies in its place gets another name.
fn make_folder(folder: &Directory, name: &OsStr) -> io::Result<Directory> {
    if let Some(there) = folder.enter_if_folder(name)? {
        return Ok(there);
    }
    if folder.kind(name)?.is_some_and(|kind| kind != Kind::Folder) {
        displace(folder, name)?;
    }
    folder.enter_or_make(name)
}

/// Gives what lies in the way another name; nothing is lost.
fn displace(folder: &Directory, name: &OsStr) -> io::Result<()> {
    for number in 1.. {
        let mut other = name.to_owned();
        other.push(format!(".found-{number}"));
        if folder.kind(&other)?.is_none() {
            return folder.rename(name, folder, &other);
        }
    }
    Ok(())
}

fn temporary_name() -> OsString {
    let random = RandomState::new().build_hasher().finish();
    OsString::from(format!("{TEMPORARY}{random:016x}"))
}

fn split(path: &str) -> (impl Iterator<Item = &str>, &str) {
    let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
    (parents.split('/').filter(|name| !name.is_empty()), name)
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Fixture {
        folder: tempfile::TempDir,
        place: Place,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let place = Place::in_project(folder.path(), &folder.path().join("git"));
            Self { folder, place }
        }

        fn view(&self) -> View<'_> {
            View::of(&self.place)
        }

        fn mode(&self, path: &str) -> u32 {
            fs::metadata(self.place.view.join(path)).unwrap().permissions().mode() & 0o777
        }
    }

    #[test]
    fn files_and_folders_are_for_their_owner_alone() {
        let fixture = Fixture::new();
        fixture.view().put("notes/a.md", b"x").unwrap();
        assert_eq!([fixture.mode(""), fixture.mode("notes"), fixture.mode("notes/a.md")], [0o700, 0o700, 0o600]);
    }

    #[test]
    fn a_folder_goes_with_its_last_file() {
        let fixture = Fixture::new();
        fixture.view().put("a/b/c", b"x").unwrap();
        fixture.view().put("a/d", b"x").unwrap();
        fixture.view().remove("a/b/c").unwrap();
        assert!(!fixture.place.view.join("a/b").exists());
        fixture.view().remove("a/d").unwrap();
        assert!(fixture.place.view.exists() && !fixture.place.view.join("a").exists());
        fixture.view().remove("a/d").unwrap();
    }

    #[test]
    fn no_link_is_followed_to_write_read_or_remove() {
        let fixture = Fixture::new();
        let outside = fixture.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "s").unwrap();
        fixture.view().prepare().unwrap();
        symlink(&outside, fixture.place.view.join("l")).unwrap();

        assert!(fixture.view().put("l/new", b"x").is_err());
        assert!(fixture.view().read("l/secret").is_err());
        fixture.view().remove("l/secret").unwrap();
        assert_eq!(fixture.view().scan("l/secret").unwrap(), [("l".to_owned(), Found::Link)].into());
        assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "s");
        assert!(!outside.join("new").exists());
    }

    #[test]
    fn a_link_in_place_of_the_view_is_renamed_not_followed() {
        let fixture = Fixture::new();
        let outside = fixture.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        symlink(&outside, fixture.folder.path().join(".longhaul")).unwrap();

        fixture.view().put("a", b"x").unwrap();

        assert!(!outside.join("memory").exists());
        assert_eq!(fs::read(fixture.place.view.join("a")).unwrap(), b"x");
        assert!(fixture.folder.path().join(".longhaul.found-1").is_symlink());
    }

    #[test]
    fn leftovers_of_a_killed_process_are_swept_up() {
        let fixture = Fixture::new();
        fixture.view().put("a", b"x").unwrap();
        let leftover = fixture.folder.path().join(".longhaul").join(".longhaul-new-0123");
        fs::write(&leftover, "half").unwrap();
        fixture.view().prepare().unwrap();
        assert!(!leftover.exists());
    }

    /// T06.
    #[test]
    fn a_pipe_is_found_and_does_not_hold_us() {
        let fixture = Fixture::new();
        fixture.view().prepare().unwrap();
        let pipe = fixture.place.view.join("p");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert_eq!(fixture.view().scan("").unwrap(), [("p".to_owned(), Found::Special)].into());
        assert!(fixture.view().read("p").is_err());
    }
}
