//! The forms in which runners report, and what they say of the tests that ran.
//!
//! One runner may speak often, as cargo does for each of a workspace's crates: only when all that is said comes to zero,
//! nothing was executed.

use crate::gate::executed::runners::Runner;
use regex::Captures;
use regex::Regex;
use std::sync::LazyLock;
use std::sync::OnceLock;

/// What one line says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Said {
    Ran,
    Nothing(&'static str),
}

/// How the parts of a form are read.
type Reading = fn(&Captures) -> Said;

/// The runners that speak in a form, the form, and how to read it.
type Form = (&'static [Runner], &'static str, Reading);

const PYTEST: &[Runner] = &[Runner::Pytest];
const CARGO: &[Runner] = &[Runner::Cargo];
const GO: &[Runner] = &[Runner::Go];
const TAP: &[Runner] = &[Runner::Node, Runner::Mocha, Runner::Tap];

const FORMS: [Form; 23] = [
    (
        PYTEST,
        r"^=* ?((?:\d+ (?:subtests )?(?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun)(?:, )?)+) in [\d.]+s\b",
        |of| counted(&of[1], &["passed", "failed", "error", "errors", "xpassed"], "pytest ran no test that must pass"),
    ),
    (PYTEST, r"^=* ?no tests ran\b", |_| Said::Nothing("pytest ran no test")),
    (PYTEST, r"^=* ?\d+(?:/\d+)? tests? collected\b", |_| Said::Nothing("pytest collected tests and ran none")),
    // The line after `Ran` tells how many of them were skipped, or failed as they were expected to.
    (
        &[Runner::Unittest],
        r"^Ran (\d+) tests? in [^\n]*\n+(?:OK|NO TESTS RAN|FAILED)(?: \((?:[^)]*?skipped=(\d+))?(?:[^)]*?expected failures=(\d+))?)?",
        |of| more(number(of, 1), number(of, 2) + number(of, 3), "unittest ran no test that must pass"),
    ),
    // By `-v` only; else it says nothing but what failed.
    (&[Runner::Doctest], r"^(\d+) tests? in \d+ items?\.", |of| more(number(of, 1), 0, "doctest found no example")),
    (CARGO, r"^test result: \w+\. (\d+) passed; (\d+) failed", |of| {
        more(number(of, 1) + number(of, 2), 0, "cargo ran no test")
    }),
    (CARGO, r"^test .+ \.\.\. (?:ok|FAILED)$", |_| Said::Ran),
    (&[Runner::Nextest, Runner::Cargo], r"^ *Summary \[.*\] +(\d+)(?:/\d+)? tests? run", |of| {
        more(number(of, 1), 0, "nextest ran no test")
    }),
    (GO, r"^\?\s+\S+\s+\[no test files\]", |_| Said::Nothing("go found no test file")),
    (GO, r"^\s+\S+\s+coverage: 0\.0% of statements$", |_| Said::Nothing("go found no test file")),
    (GO, r"^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(.*)$", |of| {
        if of[1].contains("[no tests to run]") { Said::Nothing("go found no test to run") } else { Said::Ran }
    }),
    (GO, r#""Action":"(?:pass|fail)".*"Test":"#, |_| Said::Ran),
    (GO, r#""Output":"\?\s.*\[no test files\]"#, |_| Said::Nothing("go found no test file")),
    (&[Runner::Jest], r"^Tests: +(.+?)(?:, )?\d+ total$|^Tests: +0 total$", |of| {
        counted(of.get(1).map_or("", |list| list.as_str()), &["passed", "failed"], "jest ran no test")
    }),
    (&[Runner::Jest], r"^No tests found, exiting with code 0", |_| Said::Nothing("jest found no test")),
    (&[Runner::Vitest], r"^ *Tests +(.+) \(\d+\)$", |of| {
        counted(&of[1].replace(" | ", ", "), &["passed", "failed"], "vitest ran no test")
    }),
    (&[Runner::Vitest], r"^ *Tests +no tests$", |_| Said::Nothing("vitest ran no test")),
    (&[Runner::Vitest], r"^No test files found, exiting with code 0", |_| Said::Nothing("vitest found no test file")),
    (&[Runner::Mocha], r"^ *(\d+) (?:passing \(|failing$)", |of| more(number(of, 1), 0, "mocha ran no test")),
    // What Node counts at the end, whatever the reporter.
    (TAP, r"^(?:#|ℹ|\s*<!--) pass +(\d+)(?: -->)?\n(?:#|ℹ|\s*<!--) fail +(\d+)", |of| {
        more(number(of, 1) + number(of, 2), 0, "every test of the report was skipped, or there is none")
    }),
    (TAP, r"^ *(?:not )?ok \d+\b(.*)$", |of| {
        let skipped = ["# skip", "# todo"].iter().any(|mark| of[1].to_lowercase().contains(mark));
        if skipped { Said::Nothing("every test of the TAP report was skipped") } else { Said::Ran }
    }),
    (TAP, r"^ *1\.\.0\b", |_| Said::Nothing("the TAP plan holds no test")),
    // Attributes come in any order.
    (&[Runner::Junit], r"<testsuite\b([^>]*)>", |of| {
        let attribute = |name: &str| {
            let value = of[1].split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next());
            value.and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        more(attribute("tests"), attribute("skipped") + attribute("disabled"), "the JUnit report holds no test")
    }),
];

/// Each compiled only once a runner of it ran: together they take a megabyte.
static READY: [OnceLock<Option<Regex>>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];

fn ready(index: usize) -> Option<&'static Regex> {
    // The forms are fixed, and a test reads each of them.
    READY[index].get_or_init(|| Regex::new(&format!("(?m){}", FORMS[index].1)).ok()).as_ref()
}

static COLOURS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;]*m").ok());

/// Returns an output without what only a terminal needs.
pub(super) fn plain(output: &str) -> String {
    COLOURS.as_ref().map_or(output.into(), |colours| colours.replace_all(output, "")).replace('\r', "")
}

/// Returns the reason why nothing was executed, if one of these runners says so and none says that something was.
pub(super) fn nothing(runners: &[Runner], output: &str) -> Option<&'static str> {
    let plain = plain(output);
    let mut reason = None;
    let spoken = FORMS.iter().enumerate().filter(|(_, (of, ..))| of.iter().any(|runner| runners.contains(runner)));
    for (index, (_, _, read)) in spoken {
        for found in ready(index).into_iter().flat_map(|form| form.captures_iter(&plain)) {
            match read(&found) {
                Said::Ran => return None,
                Said::Nothing(why) => reason = reason.or(Some(why)),
            }
        }
    }
    reason
}

fn number(of: &Captures, group: usize) -> u64 {
    of.get(group).and_then(|text| text.as_str().parse().ok()).unwrap_or(0)
}

fn more(all: u64, skipped: u64, reason: &'static str) -> Said {
    if all > skipped { Said::Ran } else { Said::Nothing(reason) }
}

/// Reads a list such as `1 passed, 2 skipped`.
fn counted(list: &str, running: &[&str], reason: &'static str) -> Said {
    let ran = list.split(", ").any(|part| {
        let mut words = part.split_whitespace();
        let count = words.next().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
        count > 0 && words.next().is_some_and(|word| running.contains(&word))
    });
    if ran { Said::Ran } else { Said::Nothing(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::executed::runners::ALL;

    /// What the runners print where nothing ran, shortened.
    const NOTHING: &[(Runner, &str)] = &[
        (
            Runner::Pytest,
            "collected 0 items\n\n============================ no tests ran in 0.00s =============================\n",
        ),
        (
            Runner::Pytest,
            "test_skip.py ss   [100%]\n\n============================== 2 skipped in 0.00s ==============================\n",
        ),
        (Runner::Pytest, "ss    [100%]\n2 skipped in 0.00s\n"),
        (
            Runner::Pytest,
            "collected 1 item\n\n<Module test_a.py>\n\n========================== 1 test collected in 0.00s ===========================\n",
        ),
        (Runner::Pytest, "test_a.py::A::test_a\n\n1 test collected in 0.00s\n"),
        (Runner::Pytest, "\n1 deselected in 0.00s\n"),
        (Runner::Pytest, "=== 3 skipped, 1 xfailed in 0.02s ===\n"),
        (Runner::Unittest, "x\n----------\nRan 1 test in 0.000s\n\nOK (expected failures=1)\n"),
        (Runner::Unittest, "xs\n----------\nRan 2 tests in 0.000s\n\nOK (skipped=1, expected failures=1)\n"),
        (Runner::Unittest, "\n----------\nRan 0 tests in 0.000s\n\nOK\n"),
        (Runner::Unittest, "\n----------\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n"),
        (Runner::Unittest, "s\n----------\nRan 1 test in 0.000s\n\nOK (skipped=1)\n"),
        (
            Runner::Doctest,
            "1 items had no tests:\n    app\n0 tests in 1 items.\n0 passed and 0 failed.\nTest passed.\n",
        ),
        (Runner::Doctest, "1 item had no tests:\n    app\n0 tests in 1 item.\n0 passed.\nTest passed.\n"),
        (
            Runner::Cargo,
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        ),
        (
            Runner::Cargo,
            "running 1 test\ntest a ... ignored\n\ntest result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        ),
        (
            Runner::Nextest,
            "    Starting 0 tests across 2 binaries\n     Summary [   0.000s] 0 tests run: 0 passed, 0 skipped\n",
        ),
        (Runner::Go, "?   \texample.org/a\t[no test files]\n?   \texample.org/b\t[no test files]\n"),
        (Runner::Go, "testing: warning: no tests to run\nPASS\nok  \texample.org/a\t0.002s [no tests to run]\n"),
        (Runner::Go, "\texample.org/a\t\tcoverage: 0.0% of statements\n"),
        (
            Runner::Go,
            r#"{"Time":"2026-01-01T00:00:00Z","Action":"output","Package":"x","Output":"?   \tx\t[no test files]\n"}"#,
        ),
        (
            Runner::Jest,
            "Test Suites: 1 passed, 1 total\nTests:       1 skipped, 1 todo, 2 total\nSnapshots:   0 total\n",
        ),
        (Runner::Jest, "Test Suites: 0 total\nTests:       0 total\n"),
        (Runner::Jest, "No tests found, exiting with code 0\n"),
        (
            Runner::Vitest,
            "\x1b[2m Test Files \x1b[22m \x1b[33m1 skipped\x1b[39m\x1b[90m (1)\x1b[39m\n\x1b[2m      Tests \x1b[22m \
             \x1b[33m1 skipped\x1b[39m\x1b[2m | \x1b[22m\x1b[90m1 todo\x1b[39m\x1b[90m (2)\x1b[39m\n",
        ),
        (Runner::Vitest, " Test Files  1 passed (1)\n      Tests  no tests\n"),
        (Runner::Vitest, "\nNo test files found, exiting with code 0\n"),
        (Runner::Mocha, "\n\n  - a\n\n  0 passing (6ms)\n  1 pending\n\n"),
        (
            Runner::Node,
            "TAP version 13\n# Subtest: a\nok 1 - a # SKIP test name does not match pattern\n  ---\n  duration_ms: 0.89\n  ...\n1..1\n# tests 1\n# pass 0\n# fail 0\n",
        ),
        (
            Runner::Node,
            "﹣ two (0.88ms) # test name does not match pattern\nℹ tests 1\nℹ suites 0\nℹ pass 0\nℹ fail 0\n",
        ),
        (Runner::Node, "\t<!-- tests 2 -->\n\t<!-- suites 0 -->\n\t<!-- pass 0 -->\n\t<!-- fail 0 -->\n"),
        (Runner::Tap, "TAP version 13\n1..0\n"),
        (
            Runner::Junit,
            "<testsuites name=\"pytest tests\"><testsuite name=\"pytest\" errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"0\" time=\"0.035\" /></testsuites>",
        ),
        (
            Runner::Junit,
            "<testsuite name=\"pytest\" skipped=\"2\" tests=\"2\"><testcase name=\"a\"><skipped/></testcase></testsuite>",
        ),
    ];

    /// And where something ran, beside what did not.
    const RAN: &[(Runner, &str)] = &[
        (
            Runner::Pytest,
            "test_one.py .   [100%]\n\n============================== 1 passed in 0.01s ===============================\n",
        ),
        (Runner::Pytest, ".ss  [100%]\n1 passed, 2 skipped in 0.00s\n"),
        (
            Runner::Pytest,
            "=================== 3 skipped, 1 xpassed, 2 warnings in 61.20s (0:01:01) ====================\n",
        ),
        (Runner::Pytest, "1 deselected in 0.00s\n1 passed, 2 subtests passed in 0.01s\n"),
        (Runner::Unittest, ".s\n----------\nRan 2 tests in 0.000s\n\nOK (skipped=1)\n"),
        (Runner::Doctest, "0 tests in 1 items.\n1 tests in 2 items.\n1 passed and 0 failed.\nTest passed.\n"),
        (
            Runner::Cargo,
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests x\n\n\
             running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        ),
        (Runner::Nextest, "     Summary [   0.012s] 1 test run: 1 passed, 1 skipped\n"),
        (Runner::Go, "?   \texample.org/a\t[no test files]\nok  \texample.org/b\t0.012s\n"),
        (Runner::Go, "ok  \texample.org/b\t(cached)\n\texample.org/d\t\tcoverage: 0.0% of statements\n"),
        (Runner::Go, "?   \ta\t[no test files]\nok  \tb\t0.1s\tcoverage: 12.5% of statements in ./...\n"),
        (
            Runner::Go,
            "{\"Action\":\"output\",\"Output\":\"?   \\tx\\t[no test files]\\n\"}\n{\"Action\":\"pass\",\"Package\":\"y\",\"Test\":\"TestA\"}\n",
        ),
        (Runner::Jest, "Tests:       1 skipped, 1 passed, 2 total\n"),
        (
            Runner::Vitest,
            "\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[32m1 passed\x1b[39m\x1b[22m\x1b[2m | \x1b[22m\x1b[33m1 skipped\x1b[39m\x1b[90m (2)\x1b[39m\n",
        ),
        (Runner::Mocha, "\n  ✔ a\n  - b\n\n  1 passing (1ms)\n  1 pending\n"),
        (Runner::Node, "TAP version 13\nok 1 - a # SKIP\nok 2 - b\n1..2\n# tests 2\n# pass 1\n# fail 0\n"),
        (Runner::Node, "✔ two (0.91ms)\n﹣ many (0.1ms) # SKIP\nℹ tests 2\nℹ suites 0\nℹ pass 1\nℹ fail 0\n"),
        (Runner::Junit, "<testsuite name=\"a\" tests=\"0\"></testsuite><testsuite tests=\"2\" skipped=\"1\">"),
    ];

    #[test]
    fn a_runner_that_ran_nothing_is_understood_and_no_other_in_its_place() {
        for (runner, output) in NOTHING {
            assert!(nothing(&[*runner], output).is_some(), "{runner:?}: {output}");
            assert!(nothing(&ALL, output).is_some(), "{output}");
            let tap = [Runner::Node, Runner::Mocha, Runner::Tap, Runner::Nextest];
            let others: Vec<Runner> = ALL
                .into_iter()
                .filter(|other| other != runner && !(tap.contains(runner) || tap.contains(other)))
                .collect();
            assert_eq!(nothing(&others, output), None, "not {runner:?}: {output}");
            assert_eq!(nothing(&[], output), None);
        }
    }

    #[test]
    fn a_runner_that_ran_something_is_left_alone() {
        for (runner, output) in RAN {
            assert_eq!(nothing(&[*runner], output), None, "{runner:?}: {output}");
            assert_eq!(nothing(&ALL, output), None, "{output}");
        }
    }

    #[test]
    fn what_no_runner_says_says_nothing() {
        let output =
            "no runner speaks here: 0 errors\nTests: 5 ok\n12 files in 0.5s\n0 passing trains\n3 tests skipped\n";
        assert_eq!((nothing(&ALL, output), nothing(&ALL, "")), (None, None));
    }

    #[test]
    fn every_form_can_be_read() {
        assert!((0..FORMS.len()).all(|index| ready(index).is_some()));
        assert!(COLOURS.is_some());
    }
}
