//! Folders that longhaul has to enter, and whose owner a command may have shut out: its own user.

use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// What the owner of a folder may do there.
const OWNERS: u32 = 0o700;

/// Such folders with their permissions at one time.
#[derive(Clone, Debug, Default)]
pub struct Ways(Vec<(PathBuf, u32)>);

impl Ways {
    /// Notes the permissions of folders, the outer ones first.
    pub fn of(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(folders.into_iter().filter_map(|folder| mode(&folder).map(|mode| (folder, mode))).collect())
    }

    /// Puts the permissions back where something was taken from the owner since, and returns those folders.
    pub fn reopen(&self) -> Vec<&Path> {
        let taken = self.0.iter().filter(|(folder, before)| {
            let is_shut = mode(folder).is_some_and(|now| before & OWNERS & !now != 0);
            is_shut && fs::set_permissions(folder, Permissions::from_mode(*before)).is_ok()
        });
        taken.map(|(folder, _)| folder.as_path()).collect()
    }
}

/// The permissions of a folder; none where something else is in its place.
fn mode(folder: &Path) -> Option<u32> {
    let found = folder.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
    Some(found.permissions().mode() & 0o7777)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_taken_from_the_owner_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let [shut, inside, read_only, gone] =
            ["shut", "shut/inside", "read-only", "gone"].map(|name| folder.path().join(name));
        for path in [&shut, &inside, &read_only, &gone] {
            fs::create_dir(path).unwrap();
        }
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&read_only, 0o555);
        set(&shut, 0o750);
        set(&inside, 0o755);
        let ways = Ways::of([&shut, &inside, &read_only, &gone].map(Clone::clone));
        assert_eq!(ways.reopen(), Vec::<&Path>::new());
        set(&inside, 0o070);
        set(&shut, 0);
        set(&read_only, 0o500);
        fs::remove_dir(&gone).unwrap();
        std::os::unix::fs::symlink("/", &gone).unwrap();

        assert_eq!(ways.reopen(), [shut.as_path(), &inside]);
        assert_eq!([&shut, &inside, &read_only].map(|path| mode(path)), [Some(0o750), Some(0o755), Some(0o500)]);
    }
}
