//! The plain files around the memory's history, written anew where they have what is removed. No link is followed.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;

use crate::memory::purge::Purging;
use crate::memory::purge::gone;
use crate::memory::purge::rewrite::Removed;
use crate::memory::view::directory;
use crate::memory::view::directory::Directory;
use crate::memory::view::directory::Kind;

/// What is half-written lies under this name, which what shows the memory sweeps up.
const HALF: &str = ".longhaul-new-purge";

/// A folder with all below it, but for some paths.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) without: Vec<PathBuf>,
}

/// Says what the bytes of a file, or its name, become; none when they stay.
pub(super) type Change<'c> = &'c dyn Fn(&[u8]) -> Option<(Vec<u8>, Removed)>;

/// Changes all files in these folders; returns those from which something was removed.
pub(super) fn purge(folders: &[Folder], change: Change<'_>, purging: Purging) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        let Some(root) = open(&folder.path)? else { continue };
        let mut work = Work { folder, root: &root, change, purging, found: Vec::new() };
        let doing = || format!("could not remove what was asked for from `{}`", folder.path.display());
        work.all().with_context(doing)?;
        found.append(&mut work.found);
    }
    found.sort();
    Ok(found)
}

/// Opens a folder by its parent, so that a link in its place is not followed.
fn open(path: &Path) -> Result<Option<Directory>> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
    match Directory::open_trusted(parent).and_then(|parent| parent.enter(name)) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if directory::is_no_folder(&error) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not open `{}`", path.display())),
    }
}

struct Work<'w> {
    folder: &'w Folder,
    root: &'w Directory,
    change: Change<'w>,
    purging: Purging,
    found: Vec<PathBuf>,
}

impl Work<'_> {
    fn all(&mut self) -> io::Result<()> {
        if self.purging == Purging::Remove {
            gone(self.root.remove(OsStr::new(HALF)))?;
        }
        self.inside(self.root, &self.folder.path.clone())
    }

    fn inside(&mut self, folder: &Directory, at: &Path) -> io::Result<()> {
        for name in folder.names()? {
            if self.folder.without.contains(&at.join(&name)) {
                continue;
            }
            let name = self.renamed(folder, name, at)?;
            match folder.kind(&name)? {
                Some(Kind::Folder) => self.inside(&folder.enter(&name)?, &at.join(&name))?,
                Some(Kind::File { .. }) => self.file(folder, &name, at)?,
                Some(Kind::Link | Kind::Special) | None => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, folder: &Directory, name: &OsStr, at: &Path) -> io::Result<()> {
        let Some((bytes, removed)) = (self.change)(&folder.read_file(name)?) else { return Ok(()) };
        if removed == Removed::Values {
            self.found.push(at.join(name));
        }
        if self.purging == Purging::Look {
            return Ok(());
        }
        let half = OsStr::new(HALF);
        self.root.create_synced(half, &bytes, folder.mode(name)?)?;
        self.root.rename(half, folder, name)
    }

    /// Gives a file or folder another name when its own has what is removed; returns the name that it has then.
    fn renamed(&mut self, folder: &Directory, name: OsString, at: &Path) -> io::Result<OsString> {
        let Some((new, Removed::Values)) = (self.change)(name.as_bytes()) else { return Ok(name) };
        let new = OsString::from_vec(new);
        self.found.push(at.join(&new));
        if self.purging == Purging::Look {
            return Ok(name);
        }
        for number in 1.. {
            let mut free = new.clone();
            if number > 1 {
                free.push(format!("-{number}"));
            }
            if folder.kind(&free)?.is_none() {
                folder.rename(&name, folder, &free)?;
                return Ok(free);
            }
        }
        Ok(name)
    }
}
