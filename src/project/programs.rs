//! Settings of git that make it run programs, in the folders where commands of a session may have put some: they are told, since
//! whoever runs git there next runs them too.

use super::Project;
use super::beneath::read_beneath;
use super::written;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// Larger settings than this are none.
const LARGEST: u64 = 1 << 20;

impl Project {
    /// Lists the settings of the repository, of its other working trees and of its submodules that make git run programs,
    /// and the hooks, one line each.
    pub fn programs(&self) -> BTreeSet<String> {
        let folders = [vec![self.common_dir.clone()], written::beside(&self.common_dir)].concat();
        folders.iter().flat_map(|folder| [settings(folder), hooks(folder)].concat()).collect()
    }
}

fn settings(folder: &Path) -> Vec<String> {
    let read = |name: &str| {
        let bytes = read_beneath(folder, Path::new(name), LARGEST).ok().flatten().unwrap_or_default();
        let path = folder.join(name).display().to_string();
        let found = of_text(&String::from_utf8_lossy(&bytes));
        found.into_iter().map(move |setting| format!("{setting} in {path}"))
    };
    ["config", "config.worktree"].into_iter().flat_map(read).collect()
}

fn hooks(folder: &Path) -> Vec<String> {
    let runs = |path: &PathBuf| {
        let is_sample = path.extension().is_some_and(|extension| extension == "sample");
        !is_sample && path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let entries = fs::read_dir(folder.join("hooks")).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(runs).map(|path| format!("the hook {}", path.display())).collect()
}

/// Lists the settings in a file of git's that make it run programs, or read other files.
fn of_text(text: &str) -> Vec<String> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines().map(str::trim) {
        let mut rest = line;
        if let Some((heading, more)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            // The part that quotes mark names a remote, a driver and the like.
            section = heading.split([' ', '.', '\t']).next().unwrap_or_default().to_lowercase();
            rest = more.trim();
        }
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        let (key, value) = (key.trim().to_lowercase(), value.trim().trim_matches('"'));
        if runs(&section, &key, value) {
            found.push(format!("{section}.{key} = {value}"));
        }
    }
    found
}

/// Tells whether git runs the value of a setting, or reads further settings there.
fn runs(section: &str, key: &str, value: &str) -> bool {
    match (section, key) {
        ("core", "fsmonitor") => !["true", "false", "yes", "no", "on", "off", "1", "0", ""].contains(&value),
        ("core", "hookspath" | "sshcommand" | "pager" | "editor" | "askpass" | "gitproxy" | "alternaterefscommand") => {
            true
        }
        ("alias" | "submodule", _) => value.starts_with('!'),
        ("pager", key) => !key.is_empty() && !["true", "false"].contains(&value),
        ("filter", "clean" | "smudge" | "process") | ("merge", "driver") | ("sequence", "editor") => true,
        ("diff", "command" | "textconv" | "external") | ("interactive", "difffilter") => true,
        ("credential", "helper") | ("gpg", "program") | ("include" | "includeif", "path") => true,
        ("remote", "uploadpack" | "receivepack" | "vcs") | ("uploadpack", "packobjectshook") => true,
        ("mergetool" | "difftool" | "browser" | "man", "cmd") | ("tar" | "trailer", "command" | "cmd") => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_programs_are_told_from_others() {
        let text = "[core]\n\tbare = false\n\tfsmonitor = true\n\tFsMonitor = touch x\n[core] sshCommand = ssh -x\n\
                    [alias]\n\tst = status\n\tx = !sh\n[filter \"lfs\"]\n\tclean = git-lfs clean\n\trequired = true\n\
                    [remote \"o\"]\n\turl = x\n[diff \"a]b\"]\n\ttextconv = x\n[includeIf \"gitdir:/\"]\n\tpath = /evil\n";
        let all = [
            "core.fsmonitor = touch x",
            "core.sshcommand = ssh -x",
            "alias.x = !sh",
            "filter.clean = git-lfs clean",
            "diff.textconv = x",
            "includeif.path = /evil",
        ];
        assert_eq!(of_text(text), all);
    }

    #[test]
    fn hooks_that_git_would_run_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("hooks")).unwrap();
        for (name, mode) in [("pre-commit", 0o755), ("pre-push.sample", 0o755), ("post-commit", 0o644)] {
            let path = folder.path().join("hooks").join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(hooks(folder.path()), [format!("the hook {}", folder.path().join("hooks/pre-commit").display())]);
    }
}
