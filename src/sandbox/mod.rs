//! Where the commands of a session run, and with which environment.
//!
//! Only plain mode exists: a process group a command. It finds and undoes what a command changes, it prevents nothing.

mod choice;
mod orphans;
mod plain;
mod probe;

pub use choice::Choice;
pub use choice::Mode;
pub use choice::WhyPlain;
pub use choice::choose;
pub use orphans::end_orphans;
pub use orphans::is_marked;
pub use orphans::mark;
pub use plain::Plain;
pub use probe::Bubblewrap;
pub use probe::Cgroups;
pub use probe::Lacking;
pub use probe::NEEDED;
pub use probe::Probe;
pub use probe::bubblewrap;
pub use probe::probe;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fmt::Formatter;
use std::io::ErrorKind;
use std::path::Path;

/// How strong the sandbox was; printed, and stored in every evidence.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Level {
    Plain,
}

impl Display for Level {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        match self {
            Self::Plain => formatter.write_str("plain"),
        }
    }
}

/// What a command may see of the outer environment without being asked for.
const ALLOWED: [&str; 6] = ["PATH", "LANG", "TZ", "USER", "LOGNAME", "SHELL"];

/// Where `sh`, `git` and the like lie when the outer environment names no path.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Tool homes that a private home takes over; what is not there is not missed.
pub const TOOL_HOMES: [&str; 6] = [".cargo", ".rustup", ".nvm", ".pyenv", ".local/bin", ".cache/ms-playwright"];

/// Makes the environment of a child from the outer one: an allow-list and the names in `pass`. No key is ever passed,
/// neither by the names in `secrets` nor by a prefix of ours, also when `pass` asks for it.
pub fn environment(outer: &BTreeMap<String, String>, pass: &[String], secrets: &[String]) -> BTreeMap<String, String> {
    let allowed =
        |name: &str| ALLOWED.contains(&name) || name.starts_with("LC_") || pass.iter().any(|passed| passed == name);
    let ours = |name: &str| {
        name.starts_with("ANTHROPIC_") || name.starts_with("LONGHAUL_") || secrets.iter().any(|secret| secret == name)
    };
    let mut environment: BTreeMap<String, String> = outer
        .iter()
        .filter(|(name, _)| allowed(name) && !ours(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    environment.insert("TERM".to_owned(), "dumb".to_owned());
    environment.entry("PATH".to_owned()).or_insert_with(|| DEFAULT_PATH.to_owned());
    environment
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

    fn names(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_environment_is_an_allow_list() {
        let outer = names(&[("PATH", "/bin"), ("LC_ALL", "C"), ("HOME", "/root"), ("LD_PRELOAD", "x"), ("MINE", "1")]);
        let expected = names(&[("PATH", "/bin"), ("LC_ALL", "C"), ("MINE", "1"), ("TERM", "dumb")]);
        assert_eq!(environment(&outer, &["MINE".to_owned()], &[]), expected);
    }

    #[test]
    fn no_key_passes_even_when_asked_for() {
        let outer = names(&[("ANTHROPIC_API_KEY", "sk"), ("LONGHAUL_X", "1"), ("OTHER_KEY", "sk2"), ("PATH", "/bin")]);
        let pass = ["ANTHROPIC_API_KEY", "LONGHAUL_X", "OTHER_KEY"].map(str::to_owned);
        let environment = environment(&outer, &pass, &["OTHER_KEY".to_owned()]);
        assert_eq!(environment, names(&[("PATH", "/bin"), ("TERM", "dumb")]));
    }

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
