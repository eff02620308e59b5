//! Keeps what was found and may not stay where it is, as plain files in a folder.

use std::fs;
use std::fs::DirBuilder;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

/// The longest name that a kept file gets, with room for a number.
const LONGEST: usize = 200;

/// Moves a file or folder into `keep_in` under a name that says where it was; returns where it is now, if it was there.
pub(super) fn keep(path: &Path, was_at: &str, keep_in: &Path) -> io::Result<Option<PathBuf>> {
    make(keep_in)?;
    let mut free = names(was_at, keep_in).filter(|kept| fs::symlink_metadata(kept).is_err());
    let kept = free.next().ok_or(ErrorKind::AlreadyExists)?;
    match fs::rename(path, &kept) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        moved => moved.map(|()| Some(kept)),
    }
}

/// Makes a new file in `keep_in` with a name that says where its bytes were.
pub(super) fn create(was_at: &str, keep_in: &Path) -> io::Result<(File, PathBuf)> {
    make(keep_in)?;
    for kept in names(was_at, keep_in) {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&kept) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            file => return Ok((file?, kept)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Makes the folder, for its owner alone; a file in its place goes into it.
fn make(keep_in: &Path) -> io::Result<()> {
    let create = || DirBuilder::new().recursive(true).mode(0o700).create(keep_in);
    match create() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let name = keep_in.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let around = keep_in.parent().unwrap_or(keep_in);
    let free_name = format!("{name}.was");
    let mut free = names(&free_name, around).filter(|free| fs::symlink_metadata(free).is_err());
    let moved = free.next().ok_or(ErrorKind::AlreadyExists)?;
    fs::rename(keep_in, &moved)?;
    create()?;
    fs::rename(&moved, keep_in.join(name))
}

/// Moves a folder, or a pipe, which would hold whoever opens it, out of the way of a file with that name; returns where it is
/// now, if there was one.
pub(super) fn make_way(path: &Path, keep_in: &Path) -> io::Result<Option<PathBuf>> {
    if !fs::symlink_metadata(path).is_ok_and(|found| !found.is_file() && !found.is_symlink()) {
        return Ok(None);
    }
    keep(path, &path.file_name().unwrap_or_default().to_string_lossy(), keep_in)
}

/// Returns names for what was at a path, each with another number.
fn names(was_at: &str, keep_in: &Path) -> impl Iterator<Item = PathBuf> {
    let flat = was_at.replace('/', "__");
    let mut start = flat.len().saturating_sub(LONGEST);
    while !flat.is_char_boundary(start) {
        start += 1;
    }
    let flat = flat[start..].to_owned();
    (1..).map(move |number| keep_in.join(if number == 1 { flat.clone() } else { format!("{flat}.{number}") }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_place_of_the_folder_goes_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, keep_in) = (folder.path().join("x"), folder.path().join("found"));
        fs::write(&path, "x").unwrap();
        fs::write(&keep_in, "in the way").unwrap();
        let kept = keep(&path, "x", &keep_in).unwrap().unwrap();
        assert_eq!(fs::read_to_string(kept).unwrap(), "x");
        assert_eq!(fs::read_to_string(keep_in.join("found")).unwrap(), "in the way");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
