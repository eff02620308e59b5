//! The plain files around the memory's history, written anew where they have what is removed. No link is followed.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;

use crate::memory::purge::Purging;
use crate::memory::purge::gone;
use crate::memory::purge::rewrite::Changed;
use crate::memory::purge::rewrite::Removed;
use crate::memory::purge::rewrite::Rewriting;
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

/// What was found in the files.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// Those from which something was removed.
    pub(super) files: Vec<PathBuf>,
    /// Those that have something that stays.
    pub(super) left: Vec<PathBuf>,
}

/// Changes all files in these folders.
pub(super) fn purge(folders: &[Folder], rewriting: &Rewriting<'_>, purging: Purging) -> Result<Around> {
    let mut around = Around::default();
    for folder in folders {
        let Some(root) = open(&folder.path)? else { continue };
        let mut work = Work { folder, root: &root, rewriting, purging, around: &mut around };
        let doing = || format!("could not remove what was asked for from `{}`", folder.path.display());
        work.all().with_context(doing)?;
    }
    around.files.sort();
    Ok(around)
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
    rewriting: &'w Rewriting<'w>,
    purging: Purging,
    around: &'w mut Around,
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
        let path = at.join(name);
        let Changed { new, removed, left } = self.rewriting.file(&path, &folder.read_file(name)?);
        if left {
            self.around.left.push(path.clone());
        }
        let Some(bytes) = new else { return Ok(()) };
        if removed == Removed::Values {
            self.around.files.push(path);
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
        let Changed { new, left, .. } = self.rewriting.name(&at.join(&name));
        if left {
            self.around.left.push(at.join(&name));
        }
        let Some(new) = new.map(OsString::from_vec) else { return Ok(name) };
        self.around.files.push(at.join(&new));
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
