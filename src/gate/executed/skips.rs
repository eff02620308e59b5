//! How many tests a run skipped. In a runner of Python the code under test can have its own test skipped; prove counts files.

use crate::gate::executed::forms::plain;
use crate::gate::executed::runners::Runner;
use regex::Captures;
use regex::Regex;

/// What the summaries of a run count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Skips {
    pub tests: u64,
    pub skipped: u64,
    /// Those that were expected to fail, whether they did or not; none: not recorded.
    pub expected: Option<u64>,
}

impl Skips {
    /// Returns how many tests more were skipped here than in an earlier run of the same ones. Where more tests are counted
    /// now, that one did not come to all of them.
    pub(in crate::gate) fn beyond(self, before: Self) -> Option<u64> {
        let more = self.skipped.checked_sub(before.skipped).filter(|more| *more > 0);
        more.filter(|_| self.tests <= before.tests)
    }

    /// Returns how many tests more were expected to fail.
    pub(in crate::gate) fn expected_beyond(self, before: Self) -> Option<u64> {
        let more = self.expected?.checked_sub(before.expected?).filter(|more| *more > 0);
        more.filter(|_| self.tests <= before.tests)
    }
}

/// The runners, the form of their summary, and how it is read.
type Form = (Runner, &'static str, fn(&Captures) -> Skips);

const FORMS: [Form; 3] = [
    (Runner::Pytest, r"(?m)^=* ?((?:\d+ [a-z]+(?: passed)?(?:, )?)+) in [\d.]+s\b", |of| {
        let count = |words: &[&str]| of[1].split(", ").filter_map(|part| count_of(part, words)).sum();
        let tests = count(&["passed", "failed", "skipped", "xfailed", "xpassed"]);
        Skips { tests, skipped: count(&["skipped"]), expected: Some(count(&["xfailed", "xpassed"])) }
    }),
    (Runner::Unittest, r"(?m)^Ran (\d+) tests? in [^\n]*\n+(?:OK|FAILED|NO TESTS RAN)(?: \(([^)\n]*)\))?", |of| {
        let parts = || of.get(2).map_or("", |text| text.as_str()).split(", ");
        let number = |name: &str| {
            let counts = parts().filter_map(|part| part.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok());
            counts.sum::<u64>()
        };
        let expected = number("expected failures") + number("unexpected successes");
        Skips { tests: of[1].parse().unwrap_or(0), skipped: number("skipped"), expected: Some(expected) }
    }),
    // A module of Perl can have the whole file skipped that uses it.
    (Runner::Tap, r"(?m)^(?:Files=(\d+), Tests=\d+,|\S+ \.+ (?:\d+/\? *)?skipped\b)", |of| match of.get(1) {
        Some(files) => Skips { tests: files.as_str().parse().unwrap_or(0), ..Skips::default() },
        None => Skips { skipped: 1, ..Skips::default() },
    }),
];

/// What a runner says when it could not load tests, so that nobody knows how many there are.
const UNLOADED: [&str; 3] =
    [r"_FailedTest\b", r"(?m)^=* ?(?:\d+ \w+, )*\d+ errors?\b.* in [\d.]+s\b", r"(?m)^ERROR: setUp(?:Class|Module) "];

/// How they name a test that was skipped: with `-v`, with `-rs`, and unittest with `-v`.
const NAMED: [&str; 4] = [
    r"(?m)^(\S+) \.+ (?:\d+/\? *)?skipped\b",
    r"(?m)^(\S+::\S+) SKIPPED\b",
    r"(?m)^SKIPPED \[\d+\] (.+)$",
    r"(?m)^(\w+ \(\S+\))(?:\n[^\n]*)? \.\.\. skipped ",
];

/// Counts what these runners skipped; none where they do not say, or could not load all.
pub(super) fn counted(runners: &[Runner], output: &str) -> Option<Skips> {
    let plain = plain(output);
    let known = FORMS.iter().filter(|(runner, ..)| runners.contains(runner));
    let found = known.filter_map(|(_, form, read)| Some((Regex::new(form).ok()?, read)));
    let each: Vec<Skips> =
        found.flat_map(|(form, read)| form.captures_iter(&plain).map(|of| read(&of)).collect::<Vec<_>>()).collect();
    let unloaded = || UNLOADED.iter().any(|form| Regex::new(form).is_ok_and(|form| form.is_match(&plain)));
    let sum = |of: fn(&Skips) -> u64| each.iter().map(of).sum();
    (!each.is_empty() && !unloaded()).then(|| Skips {
        tests: sum(|one| one.tests),
        skipped: sum(|one| one.skipped),
        expected: Some(sum(|one| one.expected.unwrap_or(0))),
    })
}

/// Names tests that were skipped, where the runner tells.
pub(in crate::gate) fn skipped_tests(output: &str) -> Vec<String> {
    let (plain, mut names) = (plain(output), Vec::new());
    for form in NAMED.iter().filter_map(|form| Regex::new(form).ok()) {
        names.extend(form.captures_iter(&plain).map(|of| of[1].trim().to_owned()));
    }
    names.dedup();
    names
}

/// Reads a part such as `2 skipped` of a list, if it counts one of these.
fn count_of(part: &str, words: &[&str]) -> Option<u64> {
    let (count, word) = part.split_once(' ')?;
    words.contains(&word).then(|| count.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runners_of_python_skipped_is_counted() {
        let counts = |output: &str| {
            let found = counted(&[Runner::Pytest, Runner::Unittest], output);
            found.map(|Skips { tests, skipped, .. }| (tests, skipped))
        };
        for (output, expected) in [
            (".s\n---\nRan 2 tests in 0.000s\n\nOK (skipped=1)\n", Some((2, 1))),
            ("F.\n---\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n", Some((2, 0))),
            ("---\nRan 3 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n", Some((3, 1))),
            ("Ran 2 tests in 1.000s\n\nOK\n\nRan 1 test in 0.000s\n\nOK (skipped=1)\n", Some((3, 1))),
            ("..s [100%]\n\x1b[32m2 passed\x1b[0m, \x1b[33m1 skipped\x1b[0m in 0.01s\n", Some((3, 1))),
            ("=== 1 failed, 1 passed, 3 deselected, 1 warning in 0.02s ===\n", Some((2, 0))),
            ("ImportError: unittest.loader._FailedTest\nRan 1 test in 0.1s\n\nFAILED (errors=1)\n", None),
            ("=== 1 passed, 1 error in 0.02s ===\n", None),
            ("ERROR: setUpClass (t.A)\nRan 1 test in 0.1s\n\nFAILED (errors=1)\n", None),
            ("no summary", None),
        ] {
            assert_eq!(counts(output), expected, "{output}");
        }
        let of_prove = "t/a.t .. ok\nt/b.t .. skipped: later\nFiles=2, Tests=1,  0 wallclock secs\nResult: PASS\n";
        let found = counted(&[Runner::Tap], of_prove).map(|Skips { tests, skipped, .. }| (tests, skipped));
        assert_eq!(found, Some((2, 1)));
        assert_eq!(counted(&[Runner::Pytest], of_prove), None);
        assert_eq!(skipped_tests(of_prove), ["t/b.t"]);
        assert_eq!(counted(&[Runner::Cargo], "Ran 2 tests in 0.000s\n\nOK (skipped=1)\n"), None);
    }

    #[test]
    fn tests_that_are_expected_to_fail_are_counted_by_themselves() {
        for (output, expected) in [
            ("Ran 2 tests in 0.0s\n\nOK (skipped=1, expected failures=2)\n", 2),
            ("Ran 2 tests in 0.0s\n\nFAILED (unexpected successes=1)\n", 1),
            ("1 passed, 2 xfailed, 1 xpassed in 0.1s\n", 3),
            ("1 passed in 0.1s\n", 0),
        ] {
            let found = counted(&[Runner::Pytest, Runner::Unittest], output).and_then(|found| found.expected);
            assert_eq!(found, Some(expected), "{output}");
        }
    }

    #[test]
    fn a_test_that_was_skipped_is_named_where_the_runner_tells() {
        for (output, name) in [
            ("tests/test_a.py::test_b SKIPPED (later)    [100%]\n", "tests/test_a.py::test_b"),
            ("SKIPPED [1] app.py:1: later\n", "app.py:1: later"),
            ("test_b (tests.test_a.T.test_b) ... skipped 'later'\n", "test_b (tests.test_a.T.test_b)"),
            ("test_b (tests.test_a.T.test_b)\nWhat it does ... skipped 'later'\n", "test_b (tests.test_a.T.test_b)"),
        ] {
            assert_eq!(skipped_tests(output), [name], "{output}");
        }
        assert!(skipped_tests("1 passed, 1 skipped in 0.1s\n").is_empty());
    }

    #[test]
    fn more_of_the_same_tests_is_told_from_tests_that_were_not_reached() {
        let beyond = |now: (u64, u64), before: (u64, u64)| {
            let of = |(tests, skipped)| Skips { tests, skipped, expected: None };
            of(now).beyond(of(before))
        };
        assert_eq!(beyond((2, 1), (2, 0)), Some(1));
        assert_eq!(beyond((1, 1), (2, 0)), Some(1), "a whole module");
        for (now, before) in [((2, 1), (2, 1)), ((2, 0), (2, 1)), ((3, 1), (1, 0)), ((2, 0), (2, 0))] {
            assert_eq!(beyond(now, before), None, "{now:?} {before:?}");
        }
    }
}
