//! The command line as a whole: what is understood, what is refused, and what the help says.

use super::output::capture::Captured;
use super::*;
use clap::CommandFactory;

/// Runs a command line in an environment without anything.
fn longhaul(typed: &[&str]) -> (Code, String, String) {
    let captured = Captured::default();
    let output = Arc::new(captured.output(None));
    let folder = tempfile::tempdir().unwrap();
    let environment = Environment { directory: folder.path().to_owned(), ..Environment::default() };
    let arguments = ["longhaul"].iter().chain(typed).map(OsString::from);
    let code = run(arguments, environment, &output);
    (code, captured.data.text(), captured.rest.text())
}

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn help_and_version_are_what_was_asked_for() {
    let (code, data, rest) = longhaul(&["--help"]);
    assert_eq!((code, rest.as_str()), (Code::Done, ""));
    let commands = [
        "init", "run", "status", "log", "show", "check", "accept", "feature", "memory", "doctor", "trust", "rehearse",
        "demo",
    ];
    for command in commands {
        assert!(data.contains(&format!("\n  {command} ")), "{command} in\n{data}");
        let (code, help, _) = longhaul(&[command, "--help"]);
        assert_eq!(code, Code::Done);
        assert!(help.contains("Usage: longhaul "), "{help}");
    }
    let (code, data, _) = longhaul(&["--version"]);
    assert_eq!((code, data), (Code::Done, format!("longhaul {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn every_help_text_is_imperative_and_has_no_full_stop() {
    fn look(command: &clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.ends_with('.'), "{path}: `{about}`");
        for argument in
            command.get_arguments().filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
        {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.ends_with('.'), "{path} {}: `{help}`", argument.get_id());
            assert!(argument.is_positional() || !help.is_empty(), "{path} {}", argument.get_id());
        }
        command.get_subcommands().for_each(|command| look(command, &path));
    }
    look(&Arguments::command(), "");
}

#[test]
fn a_wrong_command_line_ends_with_2_and_prints_no_data() {
    let wrong = [
        &[][..],
        &["rnu"],
        &["run", "--sesions", "3"],
        &["show"],
        &["show", "login", "--session", "3"],
        &["accept"],
        &["accept", "login", "--already-green"],
        &["check", "login", "--all"],
        &["feature"],
        &["feature", "add", "--title", "x"],
        &["feature", "add", "-", "--title", "x"],
        &["feature", "add", "x"],
        &["feature", "move", "login"],
        &["feature", "move", "login", "--first", "--last"],
        &["feature", "block", "login"],
        &["log", "-n", "many"],
        &["run", "--set", "budget.usd"],
        &["resume"],
        &["docter"],
    ];
    for typed in wrong {
        let (code, data, rest) = longhaul(typed);
        assert_eq!((code, data.as_str()), (Code::Usage, ""), "{typed:?}");
        assert!(!rest.is_empty(), "{typed:?}");
    }
    let (_, _, rest) = longhaul(&["run", "--set", "budget.usd"]);
    assert!(rest.starts_with("usage: invalid value 'budget.usd' for '--set"), "{rest}");
    assert!(rest.contains("write it as `section.key=value`"), "{rest}");
}

#[test]
fn settings_from_options_are_refused_like_all_others() {
    let cases = [
        (
            &["run", "--budget", "-1"][..],
            "`budget.usd` is `-1` on the command line; it must be a number that is not negative",
        ),
        (&["run", "--time", "8"], "`budget.time` is `8` on the command line; it must be a duration"),
        (&["run", "--set", "budget.usdd=1"], "unknown setting `budget.usdd` on the command line"),
        (&["--set", "agent.driver=acp", "run"], "`agent.driver` is `acp` on the command line: not yet available"),
    ];
    for (typed, message) in cases {
        let (code, data, rest) = longhaul(typed);
        assert_eq!((code, data.as_str()), (Code::Usage, ""), "{rest}");
        assert!(rest.starts_with(&format!("usage: {message}")), "{rest}");
    }
}

#[test]
fn a_completion_script_names_the_subcommands() {
    let (code, data, _) = longhaul(&["completions", "bash"]);
    assert_eq!(code, Code::Done);
    assert!(data.contains("_longhaul") && data.contains("rehearse"));
}
