//! Keeps what was found in the view and may not stay there, as plain files.

use std::ffi::OsStr;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;

use crate::memory::aside;
use crate::memory::view::View;
use crate::memory::view::directory::Directory;
use crate::memory::view::directory::Kind;

/// Moves what lies at a path of the view to the folder `keep_in`; a folder is moved with all it holds.
pub(super) fn keep(view: &View<'_>, path: &str, keep_in: &Path) -> Result<PathBuf> {
    let keep = || {
        let (folder, name) = view.folder_of(path)?;
        let kept = keep_name(&folder, name, path, keep_in)?;
        // A folder exists only while it holds a file.
        view.prune(path).map(|()| kept)
    };
    keep().with_context(|| format!("could not keep what was found at `{path}` in `{}`", keep_in.display()))
}

fn keep_name(folder: &Directory, name: &OsStr, path: &str, keep_in: &Path) -> io::Result<PathBuf> {
    let kept = match folder.kind(name)? {
        Some(Kind::Folder) => {
            let inner = folder.enter(name)?;
            for child in inner.names()? {
                keep_name(&inner, &child, &format!("{path}/{}", child.to_string_lossy()), keep_in)?;
            }
            folder.remove_folder(name)?;
            return Ok(keep_in.to_owned());
        }
        Some(Kind::File { .. }) => {
            let (mut file, kept) = aside::create(path, keep_in)?;
            io::copy(&mut folder.open_file(name)?, &mut file)?;
            kept
        }
        Some(Kind::Link) => {
            let target = folder.link_target(name)?;
            describe(keep_in, path, &format!("a link to {}\n", target.to_string_lossy()))?
        }
        Some(Kind::Special) => describe(keep_in, path, "a pipe, socket or device\n")?,
        None => return Ok(keep_in.to_owned()),
    };
    folder.remove(name)?;
    Ok(kept)
}

fn describe(keep_in: &Path, path: &str, text: &str) -> io::Result<PathBuf> {
    let (mut file, kept) = aside::create(path, keep_in)?;
    file.write_all(text.as_bytes())?;
    Ok(kept)
}
