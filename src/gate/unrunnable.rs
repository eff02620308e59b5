//! Checks that cannot run as they are written, whatever the work brings.

use crate::gate::Check;
use crate::gate::Rules;
use crate::gate::Settings;
use crate::gate::Trial;
use crate::gate::shell::Shell;
use crate::gate::stage::host_environment;
use crate::gate::words;
use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Interrupt;
use crate::project::Project;
use regex::Regex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

/// Reading a text takes no time.
const READING: Duration = Duration::from_secs(10);

/// How the shell of a check says that it knows no command of a name.
static NOT_FOUND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:sh|bash|dash): (?:line )?(?:\d+: )?([^:\s]+): (?:command )?not found\r?$")
        .expect("a regular expression written here")
});

/// Returns why a check cannot run: its folder is not there, or one of its texts is none for a shell.
pub fn unrunnable(project: &Project, check: &Check, settings: &Settings) -> Option<String> {
    let environment = host_environment(settings, project);
    let texts = [("run", Some(&check.run)), ("setup", check.setup.as_ref()), ("ready", check.ready.as_ref())];
    let mut texts = texts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let faults = texts.find_map(|(name, text)| Some((name, syntax_error(text, check.rules, &environment)?)));
    match faults {
        Some((name, error)) => Some(format!("its `{name}` is no text for `sh` ({error})")),
        None if !project.root().join(&check.cwd).is_dir() => {
            Some(format!("its `cwd`, `{}`, is no folder of the project", check.cwd))
        }
        None => None,
    }
}

/// Returns what the shell that will run a text does not understand of it; nothing of it is run, so it needs no sandbox.
fn syntax_error(text: &str, rules: Rules, environment: &BTreeMap<String, String>) -> Option<String> {
    let shell = Shell::of(text, rules, environment);
    let read = Command::new(shell.program, &["-n", "-c", text], Path::new("/"), environment.clone()).limit(READING);
    let finished = process::run(&read, &Interrupt::new());
    let said = finished.output.text();
    let said = said.trim().lines().next().unwrap_or("it is not understood").to_owned();
    matches!(finished.exit, Exit::Code(1..)).then_some(said)
}

/// Returns the command that a check names and its shell did not find, unless the work may bring it.
pub fn unknown_command(project: &Project, check: &Check, trial: &Trial) -> Option<String> {
    let said = trial.output().filter(|_| trial.finding().is_red())?.text();
    let named = words::words(&check.run);
    let mut missing = NOT_FOUND.captures_iter(&said).map(|found| found[1].to_owned());
    missing.find(|command| named.contains(command) && !may_be_made(project, command, &check.cwd))
}

/// Tells whether a command is a path of the project.
fn may_be_made(project: &Project, command: &str, cwd: &str) -> bool {
    command.contains('/') && words::project_path(command, cwd, &project.root().to_string_lossy()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_does_not_understand_is_told_and_nothing_is_run() {
        let environment = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("ran");
        for text in ["if true", "test \"a", "diff <(a) b", "a | (", "for x do done"] {
            assert!(syntax_error(text, Rules::Now, &environment).is_some(), "{text}");
        }
        let runs = format!("echo >'{}'; a | b; case x in y) z ;; esac", mark.display());
        for text in [&runs, "if a; then b; fi", "cat <<E\n'\nE", "tets -f x", "[ a"] {
            assert_eq!(syntax_error(text, Rules::Now, &environment), None, "{text}");
        }
        assert!(!mark.exists());
    }

    #[test]
    fn a_command_that_is_not_found_is_known_by_what_the_shell_says() {
        let found = |said: &str| NOT_FOUND.captures(said).map(|found| found[1].to_owned());
        for said in ["sh: 1: tets: not found", "x\nbash: line 1: tets: command not found\ny", "sh: tets: not found"] {
            assert_eq!(found(said).as_deref(), Some("tets"), "{said}");
        }
        for said in ["p.sh: 1: tets: not found", "sh: 1: cannot open x: No such file", "sh: error 404: not found"] {
            assert_eq!(found(said), None, "{said}");
        }
    }
}
