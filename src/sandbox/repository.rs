//! The repository as commands have it: they commit, but what makes git run programs stays as it is.
//!
//! Whoever works in the project outside runs git there, if only for a prompt. Its settings and hooks are not all that
//! counts: `commondir` names the folder in which git looks for them, and what is missing could be made. Nothing is mounted
//! through a link: it may have been put there to have another folder of the machine shown, or written.

use super::Git;
use super::room::Mounts;
use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Deeper than this no submodule lies.
const DEPTH: u32 = 8;

/// Shows the repository of the project at `root`.
///
/// # Errors
/// When a link stands where a mount would have to: commands could put another one there.
pub(super) fn show(mounts: &mut Mounts, root: &Path, common_dir: &Path, git: Git) -> Result<()> {
    let pointer = root.join(".git");
    refuse_link(&pointer, "put `gitdir: FOLDER` with the folder it leads to into a file of that name")?;
    if pointer.is_file() {
        mounts.mount("--ro-bind", &pointer, &pointer);
    }
    if git == Git::ReadOnly {
        mounts.mount("--ro-bind", common_dir, common_dir);
        return Ok(());
    }
    hold(mounts, common_dir, DEPTH)
}

/// Shows a git folder writable but for what makes git run programs.
fn hold(mounts: &mut Mounts, folder: &Path, depth: u32) -> Result<()> {
    mounts.mount("--bind", folder, folder);
    let hooks = folder.join("hooks");
    refuse_link(&hooks, "let `git config core.hooksPath FOLDER` name the folder it leads to, and remove the link")?;
    fs::create_dir_all(&hooks).with_context(|| format!("could not make `{}`", hooks.display()))?;
    refuse_link(&folder.join("config"), "put a copy in its place")?;
    // Its own folder is what git takes anyway; other programs that read it know the path by its `./`.
    make(&folder.join("commondir"), "./\n")?;
    make_settings_of_worktree(folder, folder)?;
    // What would change the bytes of a checkout and is in no commit.
    let info = folder.join("info");
    if info.is_dir() && !info.is_symlink() {
        make(&info.join("attributes"), "")?;
        mounts.mount("--bind", &info, &info);
        mounts.mount_if_real("--ro-bind", &info.join("attributes"));
    }
    for kept in ["config", "config.worktree", "commondir", "hooks"] {
        mounts.mount_if_real("--ro-bind", &folder.join(kept));
    }
    worktrees(mounts, folder)?;
    let modules = folder.join("modules");
    if depth > 0 && modules.symlink_metadata().is_err() {
        fs::create_dir(&modules).with_context(|| format!("could not make `{}`", modules.display()))?;
    }
    submodules(mounts, &modules, depth)
}

/// Holds what leads the other working trees of a repository to it.
fn worktrees(mounts: &mut Mounts, common_dir: &Path) -> Result<()> {
    let all = common_dir.join("worktrees");
    refuse_link(&all, "remove the link; `git worktree add` makes the folder")?;
    // Where there is none, commands could lay a link there that leads the mounts of the next sandbox elsewhere.
    fs::create_dir_all(&all).with_context(|| format!("could not make `{}`", all.display()))?;
    // A folder that is a mount cannot be moved away with what is held in it.
    mounts.mount("--bind", &all, &all);
    for worktree in folders(&all) {
        mounts.mount("--bind", &worktree, &worktree);
        make_settings_of_worktree(&worktree, common_dir)?;
        for kept in ["commondir", "gitdir", "config.worktree"] {
            mounts.mount_if_real("--ro-bind", &worktree.join(kept));
        }
    }
    Ok(())
}

/// Holds the git folders of the submodules that are there, whose names may have several parts. No other can be made: git
/// outside would find the program in its settings, as soon as a commit names a submodule of that name.
fn submodules(mounts: &mut Mounts, folder: &Path, depth: u32) -> Result<()> {
    if depth == 0 || folder.is_symlink() || !folder.is_dir() {
        return Ok(());
    }
    if folder.join("HEAD").is_file() {
        return hold(mounts, folder, depth - 1);
    }
    mounts.mount("--ro-bind", folder, folder);
    folders(folder).iter().try_for_each(|inner| submodules(mounts, inner, depth - 1))
}

/// Makes the settings of a single working tree where they would count but are not there.
fn make_settings_of_worktree(folder: &Path, common_dir: &Path) -> Result<()> {
    let settings = fs::read_to_string(common_dir.join("config")).unwrap_or_default();
    if settings.to_lowercase().contains("worktreeconfig") { make(&folder.join("config.worktree"), "") } else { Ok(()) }
}

fn make(path: &Path, text: &str) -> Result<()> {
    if path.symlink_metadata().is_ok() {
        return refuse_link(path, "remove it");
    }
    fs::write(path, text).with_context(|| format!("could not make `{}`", path.display()))
}

fn refuse_link(path: &Path, way_out: &str) -> Result<()> {
    if !path.is_symlink() {
        return Ok(());
    }
    let message = format!("`{}` is a link, which the sandbox cannot keep from being replaced", path.display());
    Err(Failure::new(Kind::Failed, message).hint(way_out).into())
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}
