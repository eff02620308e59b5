//! What git writes into its folder by fixed names, and what it has to be: a link there has git write into the file that the
//! link leads to, also the next time that a person commits, and a folder in place of a file has every commit fail.

use super::mend::is_folder;
use super::planted::of_submodules;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Files and folders that git makes itself, and of which nobody makes links. Links to ignore rules, to attributes, to hooks,
/// settings and stores of large files are people's own.
const FILES: [&str; 10] = [
    "index",
    "packed-refs",
    "shallow",
    "description",
    "gc.log",
    "gc.pid",
    "info/refs",
    "info/grafts",
    "info/sparse-checkout",
    "logs/HEAD",
];
const FOLDERS: [&str; 11] = [
    "refs",
    "objects",
    "info",
    "logs",
    "logs/refs",
    "logs/refs/heads",
    "rr-cache",
    "sequencer",
    "rebase-apply",
    "rebase-merge",
    "NOTES_MERGE_WORKTREE",
];
/// Files that people may make links of, but never folders.
const OWN_FILES: [&str; 2] = ["info/exclude", "info/attributes"];

/// Lists the links where git would write through them.
pub(super) fn links(folder: &Path) -> Vec<PathBuf> {
    let fixed = FOLDERS.iter().chain(&FILES).map(|name| folder.join(name));
    let found = fixed.filter(|path| path.parent().is_some_and(is_folder)).chain(loud(folder));
    found.filter(|path| path.is_symlink()).collect()
}

/// Lists the folders that stand where git writes a file, and what else stands where it makes a folder.
pub(super) fn of_another_kind(folder: &Path) -> Vec<PathBuf> {
    let files = FILES.iter().chain(&OWN_FILES).map(|name| folder.join(name)).chain(loud(folder));
    let mut found: Vec<PathBuf> = files.filter(|path| is_folder(path)).collect();
    // Without these two there is no repository; of what it then says there is a word elsewhere.
    let folders = FOLDERS.iter().filter(|name| !["refs", "objects"].contains(name)).map(|name| folder.join(name));
    let is_other = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| !found.is_dir() && !found.is_symlink());
    found.extend(folders.filter(is_other));
    found
}

/// Lists the git folders of the other working trees and of the submodules, in which people commit too.
pub(super) fn beside(common_dir: &Path) -> Vec<PathBuf> {
    let worktrees = common_dir.join("worktrees");
    let worktrees = if is_folder(&worktrees) { entries(&worktrees) } else { Vec::new() };
    worktrees.into_iter().filter(|path| is_folder(path)).chain(of_submodules(common_dir)).collect()
}

/// Lists what has a name such as `COMMIT_EDITMSG` or `FETCH_HEAD`; HEAD itself is set back where it is no ref.
fn loud(folder: &Path) -> Vec<PathBuf> {
    let is_loud = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let letters = name.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9'));
        letters && name != b"HEAD" && !FOLDERS.iter().any(|folder| folder.as_bytes() == name)
    };
    entries(folder).into_iter().filter(is_loud).collect()
}

fn entries(of: &Path) -> Vec<PathBuf> {
    fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn sorted(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
        paths.sort();
        paths
    }

    #[test]
    fn links_where_git_writes_are_found_and_those_of_people_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path();
        fs::create_dir(git.join("info")).unwrap();
        let people = ["hooks", "config", "lfs", "my-tool", "HEAD", "info/exclude", "info/attributes"];
        let written = ["COMMIT_EDITMSG", "FETCH_HEAD", "AUTO_MERGE", "gc.log", "info/sparse-checkout", "rr-cache"];
        people.iter().chain(&written).for_each(|name| symlink("/nowhere", git.join(name)).unwrap());
        assert_eq!(sorted(links(git)), sorted(written.map(|name| git.join(name)).into()));
        assert_eq!(of_another_kind(git), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_folder_in_place_of_a_file_and_the_other_way_round_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path();
        let folders = ["ORIG_HEAD", "COMMIT_EDITMSG", "info/exclude", "description"].map(|name| git.join(name));
        folders.iter().for_each(|path| fs::create_dir_all(path).unwrap());
        let files = ["logs", "sequencer"].map(|name| git.join(name));
        files.iter().for_each(|path| fs::write(path, "").unwrap());
        for fine in ["NOTES_MERGE_WORKTREE", "rebase-merge", "refs"] {
            fs::create_dir(git.join(fine)).unwrap();
        }
        fs::write(git.join("MERGE_MSG"), "text").unwrap();
        assert_eq!(sorted(of_another_kind(git)), sorted([&folders[..], &files[..]].concat()));
    }
}
