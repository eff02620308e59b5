//! Tests that a check chooses by their names, and runs in which none of that name was found.
//!
//! Where the approved files of tests have none of that name and are as they were, something else brought it.

use crate::gate::Finding;
use crate::gate::executed::aside;
use crate::gate::executed::commands::commands;
use crate::gate::executed::runners;
use crate::gate::executed::runners::Runner;
use crate::gate::words;
use regex::Regex;
use std::sync::LazyLock;

/// Options by which runners are told names, or patterns of them.
const OPTIONS: [(Runner, &[&str]); 9] = [
    (Runner::Pytest, &["-k"]),
    (Runner::Unittest, &["-k"]),
    (Runner::Nextest, &["-E", "--filter-expr", "--filterset"]),
    (Runner::Go, &["-run", "--run"]),
    (Runner::Jest, &["-t", "--testNamePattern"]),
    (Runner::Vitest, &["-t", "--testNamePattern"]),
    (Runner::Mocha, &["-g", "--grep", "-f", "--fgrep"]),
    (Runner::Node, &["--test-name-pattern"]),
    (Runner::Tap, &["-f", "--filter", "--match"]),
];

/// Programs that hand what they are given to the runner of a package.
const PACKAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// Options of cargo behind which something else than a name comes.
const OF_CARGO: [&str; 14] = [
    "--test",
    "--package",
    "-p",
    "--features",
    "-F",
    "--manifest-path",
    "--bin",
    "--example",
    "--exclude",
    "--profile",
    "--target",
    "-E",
    "--filter-expr",
    "--filterset",
];

/// What a runner that fails then says where it found no test of the name, with nothing else in the way: a module that
/// cannot be loaded may have that test.
static FOUND_NONE: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let forms = [
        r"(?m)^=* ?(?:no tests ran|\d+ deselected)(?:, \d+ warnings?)? in [\d.]+s\b",
        r"(?m)^NO TESTS RAN$",
        r"_FailedTest(?:\.\w+)?\)\n-+\n(?:Traceback .*\n(?: .*\n)*)?AttributeError: (?:type object|module) '[^']*' has no attribute",
        r"(?m)^error: no tests to run\b",
    ];
    forms.into_iter().filter_map(|form| Regex::new(form).ok()).collect()
});

/// Returns how texts for the shell choose tests by their names, in their own words.
pub(in crate::gate) fn choices(texts: &[String]) -> Vec<String> {
    let all = texts.iter().flat_map(|text| commands(&words::spelled_out(text)));
    all.flat_map(|command| of_command(aside::command_itself(&command.words))).collect()
}

/// Tells whether a run that chose tests by their names found none; `finding` is what became of it.
pub(in crate::gate) fn found_none(finding: Finding, output: &str) -> bool {
    match finding {
        Finding::NothingExecuted => true,
        Finding::Failed => {
            let plain = super::forms::plain(output);
            FOUND_NONE.iter().any(|form| form.is_match(&plain))
        }
        _ => false,
    }
}

fn of_command(words: &[String]) -> Vec<String> {
    let is_packager = words.first().is_some_and(|word| PACKAGERS.contains(&words::name(word)));
    let runners = if is_packager { runners::ALL.to_vec() } else { runners::started_by(words) };
    let of_these = OPTIONS.iter().filter(|(runner, _)| runners.contains(runner));
    let options: Vec<&str> = of_these.flat_map(|(_, options)| options.iter().copied()).collect();
    let told = words.windows(2).filter(|pair| options.contains(&pair[0].as_str())).map(|pair| pair.join(" "));
    let put_together = |word: &&String| word.split_once('=').is_some_and(|(option, _)| options.contains(&option));
    let by_option = told.chain(words.iter().filter(put_together).cloned());
    let has = |runner: Runner| !is_packager && runners.len() < runners::ALL.len() && runners.contains(&runner);
    let by_path = words.iter().filter(|word| !runners.is_empty() && word.contains("::"));
    let by_module = words.iter().filter(|word| has(Runner::Unittest) && is_dotted(word));
    let of_cargo = if has(Runner::Cargo) || has(Runner::Nextest) { for_cargo(words) } else { Vec::new() };
    by_option.chain(by_path.chain(by_module).cloned()).chain(of_cargo).collect()
}

/// Tells whether a word is the name of a module and more, such as `tests.test_a.Case`.
fn is_dotted(word: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    word.contains('.') && word.split('.').all(is_name) && !word.ends_with(".py")
}

/// Returns the names of tests behind `cargo test`.
fn for_cargo(words: &[String]) -> Vec<String> {
    let is_command = |word: &String| matches!(word.as_str(), "test" | "t" | "run");
    let Some(at) = words.iter().rposition(is_command) else { return Vec::new() };
    let places = words.iter().enumerate().skip(at + 1);
    let names = places.filter(|(at, word)| !word.starts_with('-') && !OF_CARGO.contains(&words[at - 1].as_str()));
    names.filter(|(_, word)| !word.contains("::")).map(|(_, word)| word.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_tests_are_chosen_is_known() {
        for (text, expected) in [
            ("pytest -q tests/test_a.py::test_b", "tests/test_a.py::test_b"),
            ("python3 -m pytest tests -k 'loud and not slow'", "-k loud and not slow"),
            ("cd web && python3 -m unittest tests.test_a.Case.test_b", "tests.test_a.Case.test_b"),
            ("node --test --test-name-pattern=loud tests/a.test.js", "--test-name-pattern=loud"),
            ("node --test --test-name-pattern loud", "--test-name-pattern loud"),
            ("go test -run TestLoud ./...", "-run TestLoud"),
            ("npx jest -t loud tests", "-t loud"),
            ("npm test -- -t loud", "-t loud"),
            ("cargo test -q --test mul adds", "adds"),
            ("cargo nextest run -E 'test(adds)'", "-E test(adds)"),
            ("bats -f loud tests/a.bats", "-f loud"),
        ] {
            assert_eq!(choices(&[text.to_owned()]), [expected], "{text}");
        }
        for text in [
            "pytest -q tests/test_a.py",
            "python3 -m unittest tests/test_a.py",
            "python3 -m unittest discover -s tests -t .",
            "node --test tests/a.test.js",
            "cargo test -q --test mul -p adder",
            "grep -k -t loud a::b",
            "go test ./...",
            "npm test",
        ] {
            assert_eq!(choices(&[text.to_owned()]), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_name_that_was_not_found_is_told_from_what_cannot_be_loaded() {
        let none = |output: &str| found_none(Finding::Failed, output);
        for output in [
            "\nno tests ran in 0.01s\nERROR: not found: /a/test_app.py::test_b\n",
            "1 deselected in 0.01s\n",
            "===== 3 deselected, 1 warning in 0.02s =====\n",
            "E\n=====\nERROR: test_b (unittest.loader._FailedTest.test_b)\n-----\n\
             AttributeError: type object 'T' has no attribute 'test_b'\n",
        ] {
            assert!(none(output), "{output}");
        }
        for output in [
            "ERROR: not found: /a/test_app.py::test_b\nERROR tests/test_app.py\n1 error in 0.02s\n",
            "1 deselected, 1 error in 0.02s\n",
            "1 failed, 2 deselected in 0.02s\n",
            "ERROR: test_app (unittest.loader._FailedTest.test_app)\n---\nImportError: Failed to import test module: a\n\
             AttributeError: module 'app' has no attribute 'b'\n",
        ] {
            assert!(!none(output), "{output}");
        }
        assert!(found_none(Finding::NothingExecuted, "") && !found_none(Finding::Passed, "no tests ran in 0.01s"));
        assert_eq!(FOUND_NONE.len(), 4);
    }
}
