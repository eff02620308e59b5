//! How many tests came to their end, passed or not, by what the deciding runners say at theirs.

use crate::gate::executed::forms::plain;
use crate::gate::executed::runners::Runner;
use regex::Captures;
use regex::Regex;

/// What the summaries of a run come to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ended {
    pub count: u64,
    /// Nothing speaks against standing on it later: what is counted are tests, each once, and all that was said is there.
    pub is_sure: bool,
    /// Packages are counted, of whose tests nothing is said.
    pub in_packages: bool,
}

/// The runners, a form of what they say, and how many tests came to their end by that.
type Form = (&'static [Runner], &'static str, fn(&Captures) -> u64);

/// Summaries that come once in each run.
const ONCE: [Form; 7] = [
    (&[Runner::Pytest], r"^=* ?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+) in [\d.]+s\b", |of| {
        let parts = of[1].split(", ").filter_map(|part| part.split_once(' '));
        let tests = parts.filter(|(_, word)| ["passed", "failed", "skipped", "xfailed", "xpassed"].contains(word));
        tests.filter_map(|(count, _)| count.parse::<u64>().ok()).sum()
    }),
    (&[Runner::Unittest], r"^Ran (\d+) tests? in [^\n]*\n+(?:OK|FAILED|NO TESTS RAN)\b", |of| number(of, 1)),
    (&[Runner::Nextest, Runner::Cargo], r"^ *Summary \[.*\] +(\d+)(?:/\d+)? tests? run", |of| number(of, 1)),
    (&[Runner::Jest], r"^Tests: +(?:\S.*, )?(\d+) total$", |of| number(of, 1)),
    (&[Runner::Vitest], r"^ *Tests +\S.* \((\d+)\)$", |of| number(of, 1)),
    (&[Runner::Node], r"^(?:#|ℹ|\s*<!--) tests +(\d+)", |of| number(of, 1)),
    // Of lines of the protocol itself not each is a test, such as one that says what a test left out.
    (&[Runner::Tap], r"^Files=\d+, Tests=(\d+),", |of| number(of, 1)),
];

/// What they say more often: of each program, of each kind of end, of each test.
const EACH: [Form; 5] = [
    // The summary counts these among errors that belong to no test.
    (&[Runner::Pytest], r"^_+ ERROR at setup of ", |_| 1),
    (&[Runner::Cargo], r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", |of| {
        number(of, 1) + number(of, 2) + number(of, 3)
    }),
    (&[Runner::Mocha], r"^ *(\d+) (?:passing \(|failing$|pending$)", |of| number(of, 1)),
    // What a test prints may stand before it.
    (&[Runner::Go], r"--- (?:PASS|FAIL|SKIP): \S+ \([\d.]+s\)$", |_| 1),
    (&[Runner::Go], r#""Action":"(?:pass|fail|skip)"[^\n]*"Test":"#, |_| 1),
];

/// By what `go test` names its tests, and what it says of a package where it does not.
const GO_NAMES: &str = r#"=== RUN |"Test":""#;
const GO_PACKAGE: &str = r"^(?:ok  |FAIL)\t\S+\t(?:\(cached\)|[\d.]+s)";

/// What runners say where they count something else, or a test twice: modules that cannot be loaded, parts of a test, what
/// comes before or after one, a test that ended twice, a program.
const DOUBTS: [&str; 5] = [
    r"_FailedTest\b",
    r"\bSUBFAIL",
    r#""(?:before|after) (?:all|each)" hook"#,
    r"done\(\) called multiple times|\bUncaught\b",
    r"^(?:not ok \d+ - |✖ )\S+\.[cm]?[jt]sx?(?: \(|$)",
];

/// What a test of cargo printed that failed; it may hold the words of a runner.
const PRINTED: &str = r"(?s)^---- \S+ stdout ----$.*?^failures:$";

/// Counts what these runners say; `owed` tells how many summaries of a runner are known to come.
pub(super) fn counted(runners: &[Runner], output: &str, owed: &dyn Fn(Runner) -> usize) -> Ended {
    if runners.is_empty() {
        return Ended::default();
    }
    let said = plain(output);
    let said = regex(PRINTED).map_or(said.clone(), |printed| printed.replace_all(&said, "").into_owned());
    let is_said = |form: &str| regex(form).is_some_and(|form| form.is_match(&said));
    if runners == [Runner::Go] && !is_said(GO_NAMES) {
        let count = regex(GO_PACKAGE).map_or(0, |form| form.find_iter(&said).count() as u64);
        return Ended { count, is_sure: true, in_packages: true };
    }
    let each = |(of, form, read): &Form| -> Vec<u64> {
        let spoken = of.iter().any(|runner| runners.contains(runner));
        let form = if spoken { regex(form) } else { None };
        form.iter().flat_map(|form| form.captures_iter(&said)).map(|found| read(&found)).collect()
    };
    let once: Vec<Vec<u64>> = ONCE.iter().map(each).collect();
    // One more may be what a test printed that tests a runner.
    let is_as_known = |(form, found): (&Form, &Vec<u64>)| {
        let known: usize = form.0.iter().map(|runner| owed(*runner)).sum();
        found.len() <= known.max(1)
    };
    Ended {
        count: once.iter().flatten().sum::<u64>() + EACH.iter().flat_map(each).sum::<u64>(),
        is_sure: ONCE.iter().zip(&once).all(is_as_known) && !DOUBTS.iter().any(|doubt| is_said(doubt)),
        in_packages: false,
    }
}

fn regex(form: &str) -> Option<Regex> {
    Regex::new(&format!("(?m){form}")).ok()
}

fn number(of: &Captures, group: usize) -> u64 {
    of.get(group).and_then(|text| text.as_str().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(runner: Runner, output: &str) -> (u64, bool) {
        let ended = counted(&[runner], output, &|_| 1);
        (ended.count, ended.is_sure)
    }

    #[test]
    fn tests_that_came_to_their_end_are_counted_whatever_became_of_them() {
        for (runner, output, count) in [
            (Runner::Pytest, "=== 1 failed, 2 passed, 3 deselected, 1 warning, 1 error in 0.02s ===\n", 3),
            (Runner::Pytest, "1 passed, 1 skipped, 2 xfailed, 1 xpassed, 4 subtests passed, 2 rerun in 0.1s\n", 5),
            (Runner::Pytest, "____ ERROR at setup of test_a ____\nE  x\n1 passed, 1 error in 0.01s\n", 2),
            (Runner::Unittest, "FE.\n---\nRan 3 tests in 0.0s\n\nFAILED (failures=1, errors=1)\n", 3),
            (
                Runner::Cargo,
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s\n\n---- a stdout \
                 ----\ntest result: ok. 9 passed; 0 failed; 0 ignored\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 \
                 failed; 0 ignored; 0 measured; 0 filtered out\n",
                5,
            ),
            (Runner::Nextest, "     Summary [   0.010s] 2/3 tests run: 1 passed, 1 failed, 4 skipped\n", 2),
            (Runner::Jest, "Tests:       1 failed, 1 skipped, 2 passed, 4 total\n", 4),
            (Runner::Vitest, "      Tests  1 failed | 2 passed (3)\n", 3),
            (Runner::Mocha, "\n  2 passing (6ms)\n  1 pending\n  1 failing\n", 4),
            (Runner::Node, "# tests 3\n# suites 0\n# pass 1\n# fail 2\n", 3),
            (Runner::Tap, "t/a.t .. ok\nFiles=2, Tests=7,  0 wallclock secs\n", 7),
            (
                Runner::Go,
                "=== RUN   TestA\n=== RUN   TestA/x\nyes--- FAIL: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\nFAIL\nFAIL\tm\t0.1s\n",
                2,
            ),
            (Runner::Go, "{\"Action\":\"run\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Test\":\"TestA\"}\n", 1),
            // Without `-v` it names those that failed.
            (
                Runner::Go,
                "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tm\t0.1s\nok  \tm/a\t(cached)\nFAIL\tm/b [build failed]\n",
                2,
            ),
            (Runner::Doctest, "1 tests in 2 items.\n", 0),
            (Runner::Pytest, "no summary", 0),
        ] {
            assert_eq!(ended(runner, output), (count, true), "{output}");
        }
        assert_eq!(counted(&[], "1 passed in 0.1s\n", &|_| 1), Ended::default());
    }

    #[test]
    fn what_may_be_no_number_of_tests_is_nothing_to_stand_on() {
        for (runner, output) in [
            (
                Runner::Unittest,
                "ERROR: test_a (unittest.loader._FailedTest)\n---\nRan 1 test in 0.0s\n\nFAILED (errors=1)\n",
            ),
            (Runner::Pytest, "SUBFAIL tests/test_a.py::A::test_a - x\n1 failed, 1 passed in 0.1s\n"),
            (Runner::Mocha, "  1 passing (2ms)\n  1 failing\n\n  1) \"after all\" hook in \"{root}\":\n"),
            (Runner::Mocha, "  1 passing (2ms)\n  1 failing\n\n  1) a:\n     Error: done() called multiple times\n"),
            (Runner::Node, "not ok 2 - /p/b.test.js\n# tests 3\n"),
            (Runner::Node, "✖ b.test.js (41.2ms)\nℹ tests 3\n"),
            // A test of a runner shows what that said.
            (Runner::Pytest, "--- Captured stdout call ---\n=== 4 passed in 0.01s ===\n=== 1 failed in 0.02s ===\n"),
        ] {
            assert!(!ended(runner, output).1, "{output}");
        }
        let two = "1 passed in 0.1s\n1 failed in 0.2s\n";
        assert!(counted(&[Runner::Pytest], two, &|_| 2).is_sure, "its twin: two are known to come");
    }
}
