//! Which shell runs the text of a check, so that no part of it can fail unseen.

use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Interrupt;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A shell with its options.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::gate) struct Shell {
    pub program: &'static str,
    pub args: Vec<String>,
    /// A failure that this shell cannot see.
    pub blind: bool,
}

impl Shell {
    /// Finds the shell for a text. Of several lines each must pass, as in every other place where people write such
    /// texts; `a; b` on one line is the author's choice. Of a pipeline every part must pass.
    pub(in crate::gate) fn of(text: &str, environment: &BTreeMap<String, String>) -> Self {
        let each = if text.trim().contains('\n') { "-ec" } else { "-c" };
        let shell = |program, options: &[&str], blind| {
            let args = options.iter().chain(&[each, text]).map(|&arg| arg.to_owned()).collect();
            Self { program, args, blind }
        };
        match () {
            () if !has_pipeline(text) => shell("sh", &[], false),
            () if knows_pipefail(environment) => shell("sh", &["-o", "pipefail"], false),
            // As `sh` as it can be: `echo` reads backslashes in the shells that lack the option.
            () if is_on_path("bash", environment) => {
                shell("bash", &["--posix", "-O", "xpg_echo", "-o", "pipefail"], false)
            }
            () => shell("sh", &[], true),
        }
    }
}

/// Tells whether a text may hold a pipeline; one in quotes is taken for one too.
fn has_pipeline(text: &str) -> bool {
    text.replace("||", "").contains('|')
}

fn knows_pipefail(environment: &BTreeMap<String, String>) -> bool {
    let command = Command::shell("set -o pipefail", Path::new("/"), environment.clone());
    process::run(&command, &Interrupt::new()).exit == Exit::Code(0)
}

fn is_on_path(program: &str, environment: &BTreeMap<String, String>) -> bool {
    let executable = |path: &Path| path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
    let folders = environment.get("PATH").into_iter().flat_map(std::env::split_paths);
    folders.map(|folder| folder.join(program)).any(|path| executable(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(path: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("PATH".to_owned(), path.to_owned())])
    }

    #[test]
    fn only_a_pipeline_asks_for_more_than_sh() {
        let path = environment(&std::env::var("PATH").unwrap());
        let args = |text: &str| Shell::of(text, &path).args;
        assert_eq!(args("a || b"), ["-c", "a || b"]);
        assert_eq!(args("a\nb"), ["-ec", "a\nb"]);
        assert!(args("a | b").contains(&"pipefail".to_owned()));
    }

    #[test]
    fn without_any_such_shell_it_says_that_it_is_blind() {
        let bare = tempfile::tempdir().unwrap();
        let path = environment(&bare.path().to_string_lossy());
        assert_eq!(
            Shell::of("a | b", &path),
            Shell { program: "sh", args: vec!["-c".into(), "a | b".into()], blind: true }
        );
    }
}
