//! A file put in the place of another as a whole, by swapping their names.
//!
//! A plain rename over a file makes ext4 write the new one out at once (`auto_da_alloc`), and that costs more than all
//! else of a memory write. Nothing here has to be on disk when the call returns: the journal has it.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::fs::CWD;
use rustix::fs::RenameFlags;
use rustix::io::Errno;
use rustix::path::Arg;

/// Puts the file `from` in the place of `to`, which readers see old or new; where there is none, it is only renamed.
pub(in crate::memory) fn replace<N: Arg + Copy, M: Arg + Copy>(
    (from_in, from): (impl AsFd, N),
    (to_in, to): (impl AsFd, M),
) -> io::Result<()> {
    let swap = || rustix::fs::renameat_with(&from_in, from, &to_in, to, RenameFlags::EXCHANGE);
    match swap() {
        Ok(()) => {}
        // Nothing is there yet, or the file system cannot swap.
        Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {
            return Ok(rustix::fs::renameat(&from_in, from, &to_in, to)?);
        }
        Err(error) => return Err(error.into()),
    }
    let removed = rustix::fs::unlinkat(&from_in, from, AtFlags::empty());
    if removed.is_err() {
        // A folder, put there meanwhile, is no file of ours to remove.
        swap()?;
    }
    Ok(removed?)
}

/// Puts bytes in the place of a whole file, whatever lies there; the folder is made where it is missing.
pub(in crate::memory) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("longhaul-new");
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(&new, bytes).and_then(|()| replace((CWD, &new), (CWD, path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_file_takes_the_place_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        for text in ["first", "second"] {
            fs::write(&new, text).unwrap();
            replace((CWD, &new), (CWD, &old)).unwrap();
            assert_eq!((fs::read_to_string(&old).unwrap().as_str(), new.exists()), (text, false));
        }
    }

    #[test]
    fn a_folder_keeps_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        fs::write(&new, "text").unwrap();
        fs::create_dir(&old).unwrap();
        fs::write(old.join("inner"), "kept").unwrap();
        assert!(replace((CWD, &new), (CWD, &old)).is_err());
        assert_eq!(fs::read_to_string(old.join("inner")).unwrap(), "kept");
        assert_eq!(fs::read_to_string(&new).unwrap(), "text");
    }
}
