//! Keeps what was found in the view and may not stay there, as plain files.

use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;

use crate::memory::view::View;
use crate::memory::view::directory::Directory;
use crate::memory::view::directory::Kind;

/// The longest name that a kept file gets, with room for a number.
const LONGEST: usize = 200;

/// Moves what lies at a path of the view to the folder `keep_in`; a folder is moved with all it holds.
pub(super) fn keep(view: &View<'_>, path: &str, keep_in: &Path) -> Result<PathBuf> {
    let keep = || {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(keep_in)?;
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
            let (mut file, kept) = create(keep_in, path)?;
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
    let (mut file, kept) = create(keep_in, path)?;
    file.write_all(text.as_bytes())?;
    Ok(kept)
}

/// Makes a new file named after the path.
fn create(keep_in: &Path, path: &str) -> io::Result<(File, PathBuf)> {
    let flat = path.replace('/', "__");
    let mut start = flat.len().saturating_sub(LONGEST);
    while !flat.is_char_boundary(start) {
        start += 1;
    }
    let flat = &flat[start..];
    for number in 1.. {
        let name = if number == 1 { flat.to_owned() } else { format!("{flat}.{number}") };
        let kept = keep_in.join(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&kept) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => return Ok((file?, kept)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
