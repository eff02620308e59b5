//! Links in the repository that the sandbox will not mount, moved out of the way so that the next one opens.

use super::Project;
use super::aside::set_aside;
use super::mend::is_folder;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Deeper than this no submodule lies.
const DEPTH: u32 = 8;
/// What of the git folder of a submodule has to be no link.
const OF_A_SUBMODULE: [&str; 6] = ["config", "config.worktree", "commondir", "hooks", "info/attributes", "worktrees"];

impl Project {
    /// Moves links that stand where a folder or a file of the repository has to be held into `keep_in`, and says so. The
    /// settings and hooks of the project itself are a person's, since commands cannot change them.
    pub fn set_aside_links(&self, keep_in: &Path) -> Result<Vec<String>> {
        let own = ["config.worktree", "commondir", "info/attributes", "modules", "worktrees"];
        let mut links = links_in(&self.common_dir, &own);
        let worktrees = self.common_dir.join("worktrees");
        for worktree in if is_folder(&worktrees) { entries(&worktrees) } else { Vec::new() } {
            if is_folder(&worktree) {
                links.extend(links_in(&worktree, &["commondir", "gitdir", "config.worktree"]));
            }
        }
        links.extend(of_submodules(&self.common_dir).iter().flat_map(|folder| links_in(folder, &OF_A_SUBMODULE)));
        let aside = |link: PathBuf| {
            let kept = set_aside(&self.common_dir, &link, keep_in)?.display().to_string();
            Ok(format!("`{}` was a link, which the sandbox cannot hold; it is kept as `{kept}`", link.display()))
        };
        links.into_iter().map(aside).collect()
    }
}

/// Lists the git folders of submodules, whose names may have several parts, and of submodules in them.
pub(super) fn of_submodules(git_folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    look_for_submodules(&git_folder.join("modules"), DEPTH, &mut found);
    found
}

fn look_for_submodules(folder: &Path, depth: u32, into: &mut Vec<PathBuf>) {
    if depth == 0 || !is_folder(folder) {
        return;
    }
    if folder.join("HEAD").is_file() {
        into.push(folder.to_owned());
        return look_for_submodules(&folder.join("modules"), depth - 1, into);
    }
    entries(folder).iter().for_each(|inner| look_for_submodules(inner, depth - 1, into));
}

fn links_in(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let inside = names.iter().map(|name| folder.join(name));
    inside.filter(|path| path.is_symlink() && path.parent().is_some_and(is_folder)).collect()
}

fn entries(of: &Path) -> Vec<PathBuf> {
    fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
