//! The homes of tools inside the user's home: what commands may see of it, and what not even there.

use super::Settings;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;

/// Folders below the home in which tools live; what is not there is not missed.
pub const TOOL_HOMES: [&str; 28] = [
    ".asdf",
    ".bun",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cargo",
    ".deno",
    ".gradle/wrapper",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".nix-profile",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".swiftly",
    ".volta",
    "go",
    "node_modules",
];

/// Files in the homes of tools that hold keys.
const CREDENTIALS: [&str; 4] =
    [".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/repository/settings.xml"];

/// Returns what commands see of the home: the homes of tools, and where programs are looked for with what these need.
pub(super) fn shown(settings: &Settings) -> Vec<PathBuf> {
    let Some(home) = &settings.home else { return Vec::new() };
    let tools: Vec<PathBuf> = TOOL_HOMES.iter().map(|tool| home.join(tool)).collect();
    let inside = |folder: &PathBuf| folder.starts_with(home) && folder != home;
    let searched: Vec<PathBuf> = settings.path.split(':').map(PathBuf::from).filter(inside).collect();
    let programs =
        searched.iter().chain([home.join(".local/bin")].iter()).flat_map(|folder| linked(folder, home)).collect();
    let prefixes = searched.iter().map(|folder| prefix(folder, home)).collect();
    let mut shown = [tools, prefixes, programs].concat();
    shown.retain(|path| path.exists());
    shown
}

/// Returns the folder with what programs need beside themselves: that of a whole installation, where there is one.
pub(super) fn prefix(programs: &Path, home: &Path) -> PathBuf {
    let whole = programs.parent().filter(|parent| *parent != home && programs.ends_with("bin"));
    let whole = whole.filter(|parent| ["lib", "lib64", "libexec"].iter().any(|part| parent.join(part).is_dir()));
    whole.unwrap_or(programs).to_owned()
}

/// Returns where in the home the links of a folder with programs lead: the program, or the whole of what was installed
/// below `.local/share`.
fn linked(programs: &Path, home: &Path) -> Vec<PathBuf> {
    let links = std::fs::read_dir(programs).into_iter().flatten().flatten().map(|entry| entry.path());
    let share = home.join(".local/share");
    let led = links.filter(|link| link.is_symlink()).filter_map(|link| link.canonicalize().ok());
    let whole = |target: PathBuf| match target.strip_prefix(&share).ok().and_then(|below| below.iter().next()) {
        Some(name) => share.join(name),
        None => target,
    };
    led.filter(|target| target.starts_with(home) && target.is_file()).map(whole).collect()
}

/// Returns the files in those folders that commands do not see.
pub(super) fn hidden(settings: &Settings) -> Vec<PathBuf> {
    let home = settings.home.iter();
    home.flat_map(|home| CREDENTIALS.map(|file| home.join(file))).filter(|file| file.exists()).collect()
}

/// Lays a private home: an empty folder with links to the tool homes of the outer one, since `cargo` and the like are
/// found through them.
pub fn lay_home(home: &Path, outer: Option<&Path>) -> std::io::Result<()> {
    std::fs::create_dir_all(home)?;
    for tool in TOOL_HOMES {
        let Some(target) = outer.map(|outer| outer.join(tool)).filter(|target| target.exists()) else { continue };
        let link = home.join(tool);
        if let Some(parent) = link.parent() {
            std::fs::create_dir_all(parent)?;
        }
        match std::os::unix::fs::symlink(target, link) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_home_finds_the_tools_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, home) = (folder.path().join("outer"), folder.path().join("home"));
        for path in [".cargo/bin", ".local/bin", ".ssh"] {
            std::fs::create_dir_all(outer.join(path)).unwrap();
        }
        lay_home(&home, Some(&outer)).unwrap();
        lay_home(&home, Some(&outer)).unwrap();
        assert!(home.join(".cargo/bin").is_dir() && home.join(".local/bin").is_dir());
        assert!(!home.join(".ssh").exists());
    }
}
