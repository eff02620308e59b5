//! Files of the repository that are moved out of the way: what was found is kept.

use anyhow::Context;
use anyhow::Result;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

/// Moves what lies at `path` into `keep_in`, under a name that is not taken there, and returns where it is now.
pub(super) fn set_aside(path: &Path, keep_in: &Path) -> Result<PathBuf> {
    let context = || format!("could not move `{}` out of the way", path.display());
    fs::create_dir_all(keep_in).with_context(context)?;
    let kept = free_name(keep_in, path.file_name().unwrap_or_default());
    match fs::rename(path, &kept) {
        // Of what is no plain file there is nothing that could be copied.
        Err(error) if error.kind() == ErrorKind::CrossesDevices && path.is_file() => {
            fs::copy(path, &kept).with_context(context)?;
            fs::remove_file(path).with_context(context)?;
        }
        moved => moved.with_context(context)?,
    }
    Ok(kept)
}

fn free_name(folder: &Path, name: &OsStr) -> PathBuf {
    let numbered = |number: u32| {
        let mut name = name.to_owned();
        name.push(format!(".{number}"));
        folder.join(name)
    };
    let names = std::iter::once(folder.join(name)).chain((1..).map(numbered));
    let mut free = names.filter(|path| path.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_before_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let (path, kept) = (folder.path().join("index"), folder.path().join("kept"));
        for (text, name) in [("one", "index"), ("two", "index.1"), ("three", "index.2")] {
            fs::write(&path, text).unwrap();
            assert_eq!(set_aside(&path, &kept).unwrap(), kept.join(name));
            assert_eq!(fs::read_to_string(kept.join(name)).unwrap(), text);
            assert!(!path.exists());
        }
    }
}
