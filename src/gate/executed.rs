//! Whether a test runner said that it ran nothing. Such a text can refuse a pass, never make one.
//!
//! One runner may speak often, as cargo does for each of a workspace's crates: only when all that is said comes to zero,
//! nothing was executed.

use regex::Captures;
use regex::Regex;
use std::sync::LazyLock;

/// What one line says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Said {
    Ran,
    Nothing(&'static str),
}

/// How the parts of a form are read.
type Reading = fn(&Captures) -> Said;

/// A form in which a runner speaks, and how to read it.
type Form = (&'static str, Reading);

const FORMS: [Form; 18] = [
    // pytest
    (
        r"^=* ?((?:\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun)(?:, )?)+) in [\d.]+s\b",
        |of| counted(&of[1], &["passed", "failed", "error", "errors", "xfailed", "xpassed"], "pytest ran no test"),
    ),
    (r"^=* ?no tests ran\b", |_| Said::Nothing("pytest ran no test")),
    (r"^=* ?\d+(?:/\d+)? tests? collected\b", |_| Said::Nothing("pytest collected tests and ran none")),
    // unittest; the line after `Ran` tells how many of them were skipped
    (r"^Ran (\d+) tests? in [^\n]*\n+(?:OK|NO TESTS RAN|FAILED)(?: \([^)]*skipped=(\d+))?", |of| {
        more(number(of, 1), number(of, 2), "unittest ran no test")
    }),
    // cargo test
    (r"^test result: \w+\. (\d+) passed; (\d+) failed", |of| {
        more(number(of, 1) + number(of, 2), 0, "cargo ran no test")
    }),
    (r"^test .+ \.\.\. (?:ok|FAILED)$", |_| Said::Ran),
    // cargo nextest
    (r"^ *Summary \[.*\] +(\d+)(?:/\d+)? tests? run", |of| more(number(of, 1), 0, "nextest ran no test")),
    // go test
    (r"\[no test files\]", |_| Said::Nothing("go found no test file")),
    (r"^ok\s+\S+\s.*\[no tests to run\]", |_| Said::Nothing("go found no test to run")),
    (r"^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?:\s+coverage: \S+ of statements)?$", |_| Said::Ran),
    // jest and vitest
    (r"^Tests: +(.+), \d+ total$", |of| counted(&of[1], &["passed", "failed"], "jest ran no test")),
    (r"^ *Tests +(.+) \(\d+\)$", |of| {
        counted(&of[1].replace(" | ", ", "), &["passed", "failed"], "vitest ran no test")
    }),
    (r"^No tests found, exiting with code 0", |_| Said::Nothing("jest found no test")),
    (r"^No test files found, exiting with code 0", |_| Said::Nothing("vitest found no test file")),
    // mocha
    (r"^ *(\d+) (?:passing \(|failing$)", |of| more(number(of, 1), 0, "mocha ran no test")),
    // TAP, as `node --test` writes it too
    (r"^ *(?:not )?ok \d+\b(.*)$", |of| {
        let skipped = ["# skip", "# todo"].iter().any(|mark| of[1].to_lowercase().contains(mark));
        if skipped { Said::Nothing("every test of the TAP report was skipped") } else { Said::Ran }
    }),
    (r"^ *1\.\.0\b", |_| Said::Nothing("the TAP plan holds no test")),
    // JUnit XML; attributes come in any order
    (r"<testsuite\b([^>]*)>", |of| {
        let attribute = |name: &str| {
            let value = of[1].split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next());
            value.and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        more(attribute("tests"), attribute("skipped") + attribute("disabled"), "the JUnit report holds no test")
    }),
];

static READY: LazyLock<Vec<(Regex, Reading)>> = LazyLock::new(|| {
    // The forms are fixed, and a test reads each of them.
    FORMS.iter().filter_map(|(form, read)| Some((Regex::new(&format!("(?m){form}")).ok()?, *read))).collect()
});

static COLOURS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;]*m").ok());

/// Returns the reason why nothing was executed, if a runner says so and none says that something was.
pub(in crate::gate) fn nothing(output: &str) -> Option<&'static str> {
    let plain = COLOURS.as_ref().map_or(output.into(), |colours| colours.replace_all(output, "")).replace('\r', "");
    let mut reason = None;
    for (form, read) in READY.iter() {
        for found in form.captures_iter(&plain) {
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

    /// What the runners printed where nothing ran, shortened.
    const NOTHING: [&str; 21] = [
        "collected 0 items\n\n============================ no tests ran in 0.00s =============================\n",
        "test_skip.py ss   [100%]\n\n============================== 2 skipped in 0.00s ==============================\n",
        "ss    [100%]\n2 skipped in 0.00s\n",
        "========================== 1 test collected in 0.00s ===========================\n",
        "============================ 1 deselected in 0.00s =============================\n",
        "\n----------\nRan 0 tests in 0.000s\n\nOK\n",
        "s\n----------\nRan 1 test in 0.000s\n\nOK (skipped=1)\n",
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        "running 1 test\ntest a ... ignored\n\ntest result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        "     Summary [   0.000s] 0 tests run: 0 passed, 1 skipped\n",
        "?   \texample.org/a\t[no test files]\n?   \texample.org/b\t[no test files]\n",
        "testing: warning: no tests to run\nPASS\nok  \texample.org/a\t0.002s [no tests to run]\n",
        "Test Suites: 1 passed, 1 total\nTests:       1 skipped, 1 todo, 2 total\nSnapshots:   0 total\n",
        "No tests found, exiting with code 0\n",
        "\x1b[2m Test Files \x1b[22m \x1b[33m1 skipped\x1b[39m\x1b[90m (1)\x1b[39m\n\x1b[2m      Tests \x1b[22m \
         \x1b[33m1 skipped\x1b[39m\x1b[2m | \x1b[22m\x1b[90m1 todo\x1b[39m\x1b[90m (2)\x1b[39m\n",
        "\nNo test files found, exiting with code 0\n",
        "\n\n  - a\n\n  0 passing (6ms)\n  1 pending\n\n",
        "TAP version 13\n# Subtest: a\nok 1 - a # SKIP\n  ---\n  duration_ms: 0.89\n  ...\n1..1\n# tests 1\n# pass 0\n",
        "TAP version 13\n1..0\n",
        "<testsuites name=\"pytest tests\"><testsuite name=\"pytest\" errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"0\" time=\"0.035\" /></testsuites>",
        "<testsuite name=\"pytest\" skipped=\"2\" tests=\"2\"><testcase name=\"a\"><skipped/></testcase></testsuite>",
    ];

    /// And where something ran, beside what did not.
    const RAN: [&str; 15] = [
        "test_one.py .   [100%]\n\n============================== 1 passed in 0.01s ===============================\n",
        ".ss  [100%]\n1 passed, 2 skipped in 0.00s\n",
        "=================== 3 skipped, 1 xfailed, 2 warnings in 61.20s (0:01:01) ====================\n",
        ".s\n----------\nRan 2 tests in 0.000s\n\nOK (skipped=1)\n",
        "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests x\n\n\
         running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
        "     Summary [   0.012s] 1 test run: 1 passed, 1 skipped\n",
        "?   \texample.org/a\t[no test files]\nok  \texample.org/b\t0.012s\n",
        "ok  \texample.org/b\t(cached)\nok  \texample.org/c\t0.1s\tcoverage: 12.5% of statements\n",
        "Tests:       1 skipped, 1 passed, 2 total\n",
        "\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[32m1 passed\x1b[39m\x1b[22m\x1b[2m | \x1b[22m\x1b[33m1 skipped\x1b[39m\x1b[90m (2)\x1b[39m\n",
        "\n  ✔ a\n  - b\n\n  1 passing (1ms)\n  1 pending\n",
        "TAP version 13\nok 1 - a # SKIP\nok 2 - b\n1..2\n",
        "<testsuite name=\"a\" tests=\"0\"></testsuite><testsuite tests=\"2\" skipped=\"1\">",
        "no runner speaks here: 0 errors\nTests: 5 ok\n12 files in 0.5s\n0 passing trains\n3 tests skipped\n",
        "",
    ];

    #[test]
    fn a_runner_that_ran_nothing_is_understood() {
        for output in NOTHING {
            assert!(nothing(output).is_some(), "{output}");
        }
    }

    #[test]
    fn a_runner_that_ran_something_is_left_alone() {
        for output in RAN {
            assert_eq!(nothing(output), None, "{output}");
        }
    }

    #[test]
    fn every_form_can_be_read() {
        assert_eq!(READY.len(), FORMS.len());
        assert!(COLOURS.is_some());
    }
}
