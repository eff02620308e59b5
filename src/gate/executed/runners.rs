//! The test runners whose reports are understood, and by which words a text starts one.

use crate::gate::words;
use regex::Regex;
use std::sync::LazyLock;

/// A program that runs tests and says how many.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Runner {
    Pytest,
    Unittest,
    Doctest,
    Cargo,
    Nextest,
    Go,
    Jest,
    Vitest,
    Mocha,
    Node,
    /// Whatever else writes the Test Anything Protocol.
    Tap,
    /// Whatever writes its report to standard output in the form of JUnit.
    Junit,
}

/// What a program may run of which no more is known.
pub(super) const ALL: [Runner; 12] = [
    Runner::Pytest,
    Runner::Unittest,
    Runner::Doctest,
    Runner::Cargo,
    Runner::Nextest,
    Runner::Go,
    Runner::Jest,
    Runner::Vitest,
    Runner::Mocha,
    Runner::Node,
    Runner::Tap,
    Runner::Junit,
];

/// Programs that are runners by themselves, also behind `npx`, `python3 -m`, `poetry run` and the like.
const PROGRAMS: [(&str, Runner); 17] = [
    ("pytest", Runner::Pytest),
    ("pytest-3", Runner::Pytest),
    ("py.test", Runner::Pytest),
    ("unittest", Runner::Unittest),
    ("nose2", Runner::Unittest),
    ("doctest", Runner::Doctest),
    ("nextest", Runner::Nextest),
    ("gotestsum", Runner::Go),
    ("jest", Runner::Jest),
    ("vitest", Runner::Vitest),
    ("mocha", Runner::Mocha),
    ("_mocha", Runner::Mocha),
    ("bats", Runner::Tap),
    ("prove", Runner::Tap),
    ("tape", Runner::Tap),
    ("tap", Runner::Tap),
    ("ava", Runner::Tap),
];

/// Programs that become one by a word of their command line.
const BY_A_WORD: [(&str, &[&str], Runner); 6] = [
    ("cargo", &["test", "t", "llvm-cov", "tarpaulin"], Runner::Cargo),
    ("go", &["test"], Runner::Go),
    ("node", &["--test"], Runner::Node),
    ("tsx", &["--test"], Runner::Node),
    ("manage.py", &["test"], Runner::Unittest),
    ("react-scripts", &["test"], Runner::Jest),
];

/// Programs that start a runner which their own files name.
const TASK_RUNNERS: [&str; 24] = [
    "tox", "nox", "just", "task", "gradle", "gradlew", "mvn", "mvnw", "rake", "invoke", "hatch", "meson", "ninja",
    "bazel", "ctest", "turbo", "nx", "lerna", "wireit", "moon", "doit", "pdm", "rye", "grunt",
];

/// How a program in another language than that of the shell names a runner.
const NAMES: [(&str, Runner); 11] = [
    (r"\bpytest\b", Runner::Pytest),
    (r"\bunittest\b", Runner::Unittest),
    (r"\bcargo\W+test\b", Runner::Cargo),
    (r"\bnextest\b", Runner::Nextest),
    (r"\bgo\W+test\b", Runner::Go),
    (r"\bjest\b", Runner::Jest),
    (r"\bvitest\b", Runner::Vitest),
    (r"\bmocha\b", Runner::Mocha),
    (r"\bnode:test\b|\bnode\W+--test\b", Runner::Node),
    (r#"(?:\brequire\(|\bfrom|\bimport)\s*["'](?:tape|tap|ava|zora)["']"#, Runner::Tap),
    (r#"\bTAP version\b|["'`]1\.\."#, Runner::Tap),
];

static NAMED: LazyLock<Vec<(Regex, Runner)>> = LazyLock::new(|| {
    let read = |(name, runner): &(&str, Runner)| Some((Regex::new(name).ok()?, *runner));
    NAMES.iter().filter_map(read).collect()
});

/// Options of runners behind which a name comes.
const VALUED: [&str; 8] = ["-k", "-m", "-run", "-t", "-g", "-n", "-p", "--grep"];

/// Returns the folders of tests, by their names, that a command gives to a runner which takes the tests in them. In
/// `go test` that word is none.
pub(super) fn folders(command: &[String]) -> Vec<String> {
    let runners = started_by(command);
    let takes_folders =
        runners.iter().any(|runner| !matches!(runner, Runner::Cargo | Runner::Nextest | Runner::Doctest));
    if !takes_folders || runners.len() == ALL.len() {
        return Vec::new();
    }
    let subcommand = BY_A_WORD.iter().find_map(|(program, told_by, _)| {
        let at = command.iter().position(|word| words::name(word) == *program)?;
        Some(at + 1 + command[at + 1..].iter().position(|word| told_by.contains(&word.as_str()))?)
    });
    let is_own = |at: usize| Some(at) != subcommand && !VALUED.contains(&command[at - 1].as_str());
    let places = (1..command.len()).filter(|at| is_own(*at) && words::is_folder_of_tests(&command[*at]));
    places.map(|at| command[at].clone()).collect()
}

/// Returns the runners that a command starts.
pub(super) fn started_by(command: &[String]) -> Vec<Runner> {
    let names: Vec<&str> = command.iter().map(|word| words::name(word)).collect();
    let mut runners: Vec<Runner> =
        PROGRAMS.iter().filter(|(name, _)| names.contains(name)).map(|(_, runner)| *runner).collect();
    for (program, told_by, runner) in BY_A_WORD {
        let at = names.iter().position(|name| *name == program).unwrap_or(command.len());
        // `cargo run -- test` runs the product.
        let mut own = command.iter().skip(at + 1).map(String::as_str).take_while(|word| !matches!(*word, "--" | "run"));
        if own.any(|word| told_by.contains(&word)) {
            runners.push(runner);
        }
    }
    if runners.is_empty() && names.iter().any(|name| TASK_RUNNERS.contains(name)) {
        return ALL.to_vec();
    }
    let reports = command.iter().any(|word| word.contains("junit") || word.contains("xunit"));
    runners.extend((reports && !runners.is_empty()).then_some(Runner::Junit));
    runners
}

/// Tells whether a program starts what its own files name.
pub(super) fn is_task_runner(program: &str) -> bool {
    TASK_RUNNERS.contains(&words::name(program))
}

/// Returns the runners that a program's text names.
pub(super) fn named_in(text: &str) -> Vec<Runner> {
    NAMED.iter().filter(|(name, _)| name.is_match(text)).map(|(_, runner)| *runner).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_is_known_by_the_words_that_start_it() {
        let cases: &[(&str, &[Runner])] = &[
            (".venv/bin/python -m pytest -q tests", &[Runner::Pytest]),
            ("poetry run pytest --junitxml=r.xml", &[Runner::Pytest, Runner::Junit]),
            ("python3 -m unittest tests.test_a", &[Runner::Unittest]),
            ("python3 -m doctest -v app.py", &[Runner::Doctest]),
            ("cargo +nightly test --workspace", &[Runner::Cargo]),
            ("cargo nextest run", &[Runner::Nextest]),
            ("cargo run -- test", &[]),
            ("go test ./...", &[Runner::Go]),
            ("go run ./cmd/test", &[]),
            ("npx jest login", &[Runner::Jest]),
            ("node_modules/.bin/vitest run", &[Runner::Vitest]),
            ("npx mocha --reporter xunit", &[Runner::Mocha, Runner::Junit]),
            ("node --test --test-reporter=spec", &[Runner::Node]),
            ("node server.js", &[]),
            ("./mocha.js", &[]),
            ("tox -e py", &ALL),
        ];
        for (text, expected) in cases {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            assert_eq!(started_by(&words), *expected, "{text}");
        }
    }

    #[test]
    fn a_program_names_the_runner_that_it_loads() {
        assert_eq!(NAMED.len(), NAMES.len());
        assert_eq!(named_in("import unittest\nunittest.main()"), [Runner::Unittest]);
        assert_eq!(named_in("const test = require(\"node:test\");"), [Runner::Node]);
        assert_eq!(named_in("import test from 'tape'"), [Runner::Tap]);
        assert_eq!(named_in("const { tap } = require('./tape')"), []);
        assert_eq!(named_in("subprocess.run([\"cargo\", \"test\"])"), [Runner::Cargo]);
        assert_eq!(named_in("print('0 passing')"), []);
    }
}
