//! Pipes and devices where git reads: every git would wait for them, or read for ever, and so would our own hand.

use super::Project;
use super::beneath::never_ends;
use super::mend::read_short;
use super::misplaced::require_shallow_list;
use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Result;
use std::fs;
use std::fs::DirEntry;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

/// Folders of a git folder in which git reads beside what lies in it directly.
const READ: [&str; 9] =
    ["info", "logs", "modules", "objects", "rebase-apply", "rebase-merge", "refs", "sequencer", "worktrees"];
/// Files of a git folder that are read as soon as it is opened.
const OPENED: [&str; 6] = ["config", "config.worktree", "commondir", "gitdir", "shallow", "info/grafts"];
/// Files of a working tree that git reads by itself, in any folder.
const READ_IN_TREE: [&str; 3] = [".git", ".gitattributes", ".gitignore"];

/// Who can open the repository can have it mended.
const AND_RUN: &str = ", and `longhaul run` moves it out of the way";

impl Project {
    /// Refuses a git folder with something in it that has no end.
    ///
    /// # Errors
    /// An integrity failure that names it.
    pub fn require_readable(&self) -> Result<()> {
        require_shallow_list(&self.common_dir)?;
        refuse(&self.waits_in_git(), AND_RUN)
    }

    /// The same, also of a working tree in which git reads to compare it: that takes as long as to list all of it.
    pub fn require_comparable(&self) -> Result<()> {
        self.require_readable()?;
        refuse(&in_tree(&self.root), AND_RUN)
    }

    /// Lists what git would wait for, in its folder and in the working tree. HEAD is none of it, since it is written anew.
    pub(super) fn waits(&self) -> Vec<PathBuf> {
        let heads = [self.common_dir.join("HEAD"), self.repository.path().join("HEAD")];
        let found = self.waits_in_git().into_iter().chain(in_tree(&self.root));
        found.filter(|path| !heads.contains(path)).collect()
    }

    fn waits_in_git(&self) -> Vec<PathBuf> {
        let mut found = in_git_folder(&self.common_dir);
        if !self.repository.path().starts_with(&self.common_dir) {
            found.extend(in_git_folder(self.repository.path()));
        }
        found
    }
}

/// Refuses what would be read as soon as the repository around `dir` is opened.
pub(super) fn require_opens(dir: &Path) -> Result<()> {
    require_entered(dir)?;
    let mut around = dir.ancestors().map(|folder| folder.join(".git"));
    let Some(git) = around.find(|git| git.symlink_metadata().is_ok()) else { return Ok(()) };
    let mut found = if never_ends(&git) { vec![git.clone()] } else { Vec::new() };
    let linked = read_short(&git).and_then(|text| Some(git.parent()?.join(text.strip_prefix("gitdir:")?.trim())));
    let own = linked.unwrap_or(git);
    let common = read_short(&own.join("commondir")).map(|text| own.join(text.trim()));
    for folder in [Some(own), common].into_iter().flatten() {
        found.extend(OPENED.map(|name| folder.join(name)).into_iter().filter(|path| never_ends(path)));
    }
    refuse(&found, "")
}

/// Refuses a folder around `dir` that cannot be entered: there it would look as if there was no repository.
fn require_entered(dir: &Path) -> Result<()> {
    let is_shut = |folder: &PathBuf| {
        let found = folder.join(".git").symlink_metadata();
        found.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    };
    let inner = [".git/longhaul", ".git/objects", ".git/refs", ".git"];
    let around =
        dir.ancestors().flat_map(|folder| inner.map(|name| folder.join(name)).into_iter().chain([folder.into()]));
    let Some(outermost) = around.filter(is_shut).last() else { return Ok(()) };
    let own = outermost.metadata().is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw());
    let path = outermost.display();
    let (kind, way_out) = if own {
        (Kind::Integrity, format!("`chmod u+rwx '{path}'` opens it for you, who own it"))
    } else {
        (Kind::Failed, "run longhaul as its owner".to_owned())
    };
    Err(Failure::new(kind, format!("`{path}` cannot be entered: permission denied")).hint(way_out).into())
}

fn refuse(found: &[PathBuf], other_way_out: &str) -> Result<()> {
    let Some(path) = found.first().map(|path| path.display()) else { return Ok(()) };
    let text = format!("`{path}` is a pipe or a device, and every git would wait for it");
    let way_out = format!("no git puts one there: `rm '{path}'` takes it away{other_way_out}");
    Err(Failure::new(Kind::Integrity, text).hint(way_out).into())
}

fn in_git_folder(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = entries(folder).map(|entry| entry.path()).filter(|path| never_ends(path)).collect();
    for name in READ {
        below(&folder.join(name), |_| true, |entry| never_ends(&entry.path()), &mut found);
    }
    found
}

fn in_tree(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let own = root.join(".git");
    let is_read = |entry: &DirEntry| {
        let by_name = || READ_IN_TREE.iter().any(|name| entry.file_name() == *name);
        // Of a repository inside git asks for its HEAD.
        let inside = || entry.path().strip_prefix(root).is_ok_and(|path| path.iter().any(|step| step == ".git"));
        (by_name() || inside()) && never_ends(&entry.path())
    };
    below(root, |folder| folder != own, is_read, &mut found);
    found
}

/// Adds what is wanted below a folder, of which no more than one is open at a time; follows no link.
fn below(
    top: &Path,
    is_entered: impl Fn(&Path) -> bool,
    is_wanted: impl Fn(&DirEntry) -> bool,
    into: &mut Vec<PathBuf>,
) {
    let mut folders = if top.is_symlink() { Vec::new() } else { vec![top.to_owned()] };
    while let Some(folder) = folders.pop() {
        for entry in entries(&folder) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.extend(Some(entry.path()).filter(|path| is_entered(path))),
                // Of a plain file the end comes.
                Ok(kind) if !kind.is_file() && is_wanted(&entry) => into.push(entry.path()),
                _ => {}
            }
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::CWD;
    use rustix::fs::FileType;
    use rustix::fs::Mode;
    use std::os::unix::fs::symlink;

    fn pipe(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
    }

    #[test]
    fn pipes_and_devices_that_git_reads_are_found_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let read = [".gitignore", "a/b/.gitattributes", "part/.git/HEAD"].map(|name| root.join(name));
        let others = ["pipe", "a/pipe", ".git/pipe"].map(|name| root.join(name));
        read.iter().chain(&others).for_each(|path| pipe(path));
        symlink("/dev/null", root.join("a/.gitignore")).unwrap();
        symlink("/dev/zero", root.join("a/b/.gitignore")).unwrap();
        let mut found = in_tree(root);
        found.sort();
        let mut all = [&read[..], &[root.join("a/b/.gitignore")]].concat();
        all.sort();
        assert_eq!(found, all);
    }

    #[test]
    fn what_a_linked_working_tree_opens_is_looked_at_too() {
        let folder = tempfile::tempdir().unwrap();
        let (main, linked) = (folder.path().join("main/.git"), folder.path().join("linked"));
        fs::create_dir_all(main.join("worktrees/linked")).unwrap();
        fs::create_dir_all(linked.join("deep")).unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}\n", main.join("worktrees/linked").display())).unwrap();
        fs::write(main.join("worktrees/linked/commondir"), "../..\n").unwrap();
        require_opens(&linked.join("deep")).unwrap();
        pipe(&main.join("config"));
        let told = require_opens(&linked.join("deep")).unwrap_err().to_string();
        assert!(told.contains("config` is a pipe or a device"), "{told}");
    }
}
