//! What the tracked files of a laid-out tree are before a run, so that a change can be told afterwards.

use crate::project::Entry;
use crate::project::EntryKind;
use crate::project::file_id;
use anyhow::Result;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// Mode and content of the tracked files, read from the bytes themselves: times can be set back, and a filter of git's
/// can make two files look the same.
pub(in crate::gate) struct Seal(BTreeMap<PathBuf, String>);

/// A file that is not what it was.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::gate) struct Broken {
    pub path: String,
    /// Its bytes are the same, and it can be executed where it could not, or the other way round.
    pub mode_alone: bool,
}

impl Seal {
    /// Reads the files of these entries below `folder`.
    pub(in crate::gate) fn of(folder: &Path, entries: &[Entry]) -> Result<Self> {
        let files = entries.iter().filter(|entry| entry.kind != EntryKind::Submodule);
        files.map(|entry| Ok((entry.path.clone(), mark(&folder.join(&entry.path))?))).collect::<Result<_>>().map(Self)
    }

    /// Lists the files that are not what they were.
    pub(in crate::gate) fn broken(&self, folder: &Path) -> Vec<Broken> {
        let broken = |(path, known): (&PathBuf, &String)| {
            let now = mark(&folder.join(path)).unwrap_or_default();
            let of_file = |mark: &str| mark.split_once(' ').map(|(_, rest)| rest.to_owned());
            let mode_alone = ["0 ", "100 "].iter().all(|mode| known.starts_with(mode) || now.starts_with(mode))
                && of_file(known) == of_file(&now);
            (now != *known).then(|| Broken { path: path.to_string_lossy().into_owned(), mode_alone })
        };
        self.0.iter().filter_map(broken).collect()
    }
}

fn mark(path: &Path) -> Result<String> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => Ok(format!("link {:?}", fs::read_link(path)?.as_os_str().as_bytes())),
        Ok(found) if found.is_file() => Ok(format!("{:o} {}", found.permissions().mode() & 0o100, file_id(path)?)),
        Ok(_) => Ok("something else".to_owned()),
        Err(_) => Ok("absent".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_bytes_mode_kind_or_presence_breaks_it_and_a_new_time_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["bytes", "mode", "kind", "gone", "touched"];
        for path in paths {
            fs::write(folder.path().join(path), "x").unwrap();
        }
        let entries = paths.map(|path| Entry { path: path.into(), id: String::new(), kind: EntryKind::File });
        let seal = Seal::of(folder.path(), &entries).unwrap();
        assert_eq!(seal.broken(folder.path()), []);
        let path = |name: &str| folder.path().join(name);
        fs::write(path("bytes"), "y").unwrap();
        fs::set_permissions(path("mode"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(path("kind")).unwrap();
        std::os::unix::fs::symlink("bytes", path("kind")).unwrap();
        fs::remove_file(path("gone")).unwrap();
        fs::write(path("touched"), "x").unwrap();
        let expected = [("bytes", false), ("gone", false), ("kind", false), ("mode", true)];
        let broken = |(path, mode_alone): (&str, bool)| Broken { path: path.to_owned(), mode_alone };
        assert_eq!(seal.broken(folder.path()), expected.map(broken));
    }
}
