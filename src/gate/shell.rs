//! Which shell runs the text of a check, so that no part of it can fail unseen.

use crate::gate::Rules;
use crate::gate::each;
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
    /// Finds the shell for a text. By the rules of now each command must pass, unless one line looks at exit codes by
    /// itself; by the first ones each line. Of a pipeline every part must pass.
    pub(in crate::gate) fn of(text: &str, rules: Rules, environment: &BTreeMap<String, String>) -> Self {
        let by_line = rules == Rules::First || each::looks_itself(text);
        let each = if by_line && !text.trim().contains('\n') { "-c" } else { "-ec" };
        let written = if by_line { text.to_owned() } else { each::each_counts(text) };
        let shell = |program, options: &[&str], blind| {
            let args = options.iter().chain(&[each, &written]).map(|&arg| arg.to_owned()).collect();
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
        let args = |text: &str| Shell::of(text, Rules::First, &path).args;
        assert_eq!(args("a || b"), ["-c", "a || b"]);
        assert_eq!(args("a\nb"), ["-ec", "a\nb"]);
        assert!(args("a | b").contains(&"pipefail".to_owned()));
    }

    #[test]
    fn by_the_rules_of_now_a_shell_stops_at_each_failure_but_where_the_text_looks_itself() {
        let path = environment(&std::env::var("PATH").unwrap());
        let args = |text: &str| Shell::of(text, Rules::Now, &path).args;
        assert_eq!(args("a; b"), ["-ec", "a; b"]);
        assert_eq!(args("a; [ $? -eq 3 ]"), ["-c", "a; [ $? -eq 3 ]"]);
        assert_eq!(args("a\n[ $? -eq 0 ]"), ["-ec", "a\n[ $? -eq 0 ]"]);
    }

    #[test]
    fn without_any_such_shell_it_says_that_it_is_blind() {
        let bare = tempfile::tempdir().unwrap();
        let path = environment(&bare.path().to_string_lossy());
        assert_eq!(
            Shell::of("a | b", Rules::First, &path),
            Shell { program: "sh", args: vec!["-c".into(), "a | b".into()], blind: true }
        );
    }
}
