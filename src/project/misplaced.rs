//! What no git puts into its folder: a link that leads out of it, a pipe that is waited for, a list that is none. It is moved
//! out of the way, the link and never what it leads to, before anything of ours looks there.

use super::Project;
use super::aside::set_aside;
use super::beneath::never_ends;
use super::beneath::read_beneath;
use super::listed;
use super::written;
use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Result;
use std::fs;
use std::fs::FileType;
use std::path::Path;
use std::path::PathBuf;

/// Folders of refs, where a file would stand in the way of all those below.
const FOLDERS: [&str; 5] = ["refs/heads", "refs/tags", "refs/remotes", "refs/longhaul", "refs/longhaul/base"];
const MISPLACED: &str = "no git puts this into its folder";
/// A larger list of where history ends is none.
const LARGEST_SHALLOW: u64 = 16 << 20;

/// How far below a folder something is looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reach {
    /// Its own entries, of which links may lead to files elsewhere.
    Entries,
    All,
}

impl Project {
    /// Moves what does not belong into the git folder into `keep_in` and says so.
    pub(super) fn set_aside_misplaced(&self, keep_in: &Path) -> Result<Vec<String>> {
        let mut told = Vec::new();
        for folder in self.folders() {
            // Only once the links at the top are gone can be looked below them.
            self.move_aside(&written::links(&folder), MISPLACED, keep_in, &mut told)?;
            self.move_aside(&misplaced_in(&folder), MISPLACED, keep_in, &mut told)?;
        }
        for folder in self.folders_beside() {
            self.move_aside(&misplaced_beside(&folder), MISPLACED, keep_in, &mut told)?;
        }
        self.move_aside(&self.waits(), "git would wait for this for ever", keep_in, &mut told)?;
        Ok(told)
    }

    /// Refuses a repository in which something has been misplaced, which is only moved between two sessions.
    ///
    /// # Errors
    /// An integrity failure that names it.
    pub fn require_well_placed(&self) -> Result<()> {
        self.require_comparable()?;
        let own = self.folders();
        let own = own.iter().flat_map(|folder| [written::links(folder), misplaced_in(folder)].concat());
        let beside = self.folders_beside();
        let found = own.chain(beside.iter().flat_map(|folder| misplaced_beside(folder))).next();
        let Some(path) = found.map(|path| path.display().to_string()) else { return Ok(()) };
        let text = format!("no git puts `{path}` into its folder");
        Err(Failure::new(Kind::Integrity, text).hint(format!("`rm '{path}'` takes it away")).into())
    }

    /// Returns the git folder, and that of this working tree where it has one of its own.
    fn folders(&self) -> Vec<PathBuf> {
        let own = self.repository.path().components().collect::<PathBuf>();
        let shared = (own != self.common_dir).then(|| self.common_dir.clone());
        shared.into_iter().chain([own]).collect()
    }

    /// Returns the git folders of other working trees and of submodules.
    fn folders_beside(&self) -> Vec<PathBuf> {
        let own = self.folders();
        written::beside(&self.common_dir).into_iter().filter(|folder| !own.contains(folder)).collect()
    }

    fn move_aside(&self, found: &[PathBuf], why: &str, keep_in: &Path, told: &mut Vec<String>) -> Result<()> {
        if found.is_empty() {
            return Ok(());
        }
        for path in found {
            let inside = path.starts_with(&self.common_dir);
            set_aside(if inside { &self.common_dir } else { &self.root }, path, keep_in)?;
        }
        let names: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
        told.push(format!("{why}, so it was moved to `{}`: {}", keep_in.display(), listed(&names)));
        Ok(())
    }
}

/// Reads the list of commits where the history of a shallow clone ends; none where there is no such list.
pub(super) fn shallow_list(common_dir: &Path) -> Option<Vec<u8>> {
    let bytes = read_beneath(common_dir, Path::new("shallow"), LARGEST_SHALLOW).ok()??;
    let is_id = |line: &[u8]| matches!(line.len(), 40 | 64) && line.iter().all(u8::is_ascii_hexdigit);
    let lines = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    (bytes.is_empty() || lines.split(|byte| *byte == b'\n').all(is_id)).then_some(bytes)
}

/// Every git reads that list first: it would wait for a pipe, and say what a file elsewhere holds.
pub(super) fn require_shallow_list(common_dir: &Path) -> Result<()> {
    let path = common_dir.join("shallow");
    if path.symlink_metadata().is_err() || shallow_list(common_dir).is_some() {
        return Ok(());
    }
    let text = format!("`{}` is no list of commits where history ends", path.display());
    let hint =
        "`longhaul run` moves it out of the way between two sessions; a repository that is no shallow clone has none";
    Err(Failure::new(Kind::Integrity, text).hint(hint).into())
}

fn misplaced_beside(folder: &Path) -> Vec<PathBuf> {
    [written::links(folder), written::of_another_kind(folder)].concat()
}

fn misplaced_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let places = [("", Reach::Entries), ("info", Reach::Entries), ("objects", Reach::All)];
    for (name, reach) in places.into_iter().chain([("refs", Reach::All), ("logs", Reach::All)]) {
        look_below(&folder.join(name), reach, &mut found);
    }
    let in_the_way = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| !found.is_dir());
    let mut others: Vec<PathBuf> = FOLDERS.iter().map(|name| folder.join(name)).filter(in_the_way).collect();
    let shallow = folder.join("shallow");
    if shallow.symlink_metadata().is_ok() && shallow_list(folder).is_none() {
        others.push(shallow);
    }
    others.extend(written::of_another_kind(folder));
    others.sort();
    others.dedup();
    others.retain(|path| !found.contains(path));
    found.extend(others);
    found
}

/// Adds what is misplaced below a folder, of which no more than one is open at a time.
fn look_below(top: &Path, reach: Reach, into: &mut Vec<PathBuf>) {
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && reach == Reach::All {
                folders.push(entry.path());
            } else if is_misplaced(&entry, kind, reach) {
                into.push(entry.path());
            }
        }
    }
}

/// Of a socket nothing waits, and git's own monitor has one; locks have their own rule, and HEAD is set back.
fn is_misplaced(entry: &fs::DirEntry, kind: FileType, reach: Reach) -> bool {
    let name = entry.file_name();
    if name == "HEAD" && reach == Reach::Entries || name.as_encoded_bytes().ends_with(b".lock") {
        return false;
    }
    if kind.is_symlink() {
        return reach != Reach::Entries || never_ends(&entry.path());
    }
    never_ends(&entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_list_of_commits_is_read_as_where_history_ends() {
        let folder = tempfile::tempdir().unwrap();
        let shallow = folder.path().join("shallow");
        assert_eq!(shallow_list(folder.path()), None);
        let id = "0123456789012345678901234567890123456789\n";
        for (text, is_list) in [(id, true), ("", true), ("zz\n", false), (&format!("{id}\n"), false), (&id[1..], false)]
        {
            fs::write(&shallow, text).unwrap();
            assert_eq!(shallow_list(folder.path()).is_some(), is_list, "{text}");
        }
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(outside.path(), id).unwrap();
        fs::remove_file(&shallow).unwrap();
        symlink(outside.path(), &shallow).unwrap();
        assert_eq!(shallow_list(folder.path()), None);
    }

    #[test]
    fn a_link_to_ignore_rules_and_a_socket_belong_there() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["info", "refs/heads", "objects/ab", "logs"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let rules = folder.path().join("rules");
        fs::write(&rules, "target\n").unwrap();
        symlink(&rules, folder.path().join("info/exclude")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("fsmonitor--daemon.ipc")).unwrap();
        assert_eq!(misplaced_in(folder.path()), Vec::<PathBuf>::new());

        let odd =
            ["refs/heads/link", "objects/ab/link", "objects/cd", "logs/HEAD"].map(|name| folder.path().join(name));
        odd.iter().for_each(|path| symlink(&rules, path).unwrap());
        symlink("/dev/zero", folder.path().join("info/attributes")).unwrap();
        let mut found = misplaced_in(folder.path());
        found.sort();
        let mut all: Vec<PathBuf> = odd.into_iter().chain([folder.path().join("info/attributes")]).collect();
        all.sort();
        assert_eq!(found, all);
    }
}
