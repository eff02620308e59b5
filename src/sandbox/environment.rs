//! The environment of the agent's commands and of checks.

use std::collections::BTreeMap;
use std::path::Path;

/// The variable by which what was started for a project is found again: its value is the project's git folder.
pub(super) const OWNER: &str = "LONGHAUL_OWNER";

/// What a command may see of the outer environment without being asked for.
const ALLOWED: [&str; 6] = ["PATH", "LANG", "TZ", "USER", "LOGNAME", "SHELL"];

/// Where `sh`, `git` and the like lie when the outer environment names no path.
pub(super) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

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

/// Marks what is started with this environment as the project's; only for commands that run under the run lock.
pub fn mark(environment: &mut BTreeMap<String, String>, owner: &Path) {
    environment.insert(OWNER.to_owned(), owner.to_string_lossy().into_owned());
}

/// Tells whether this is the environment of a command that was started for a project, whichever it is.
pub fn is_marked(environment: &BTreeMap<String, String>) -> bool {
    environment.contains_key(OWNER)
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
}
