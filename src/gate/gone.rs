//! Passes in which fewer tests came to their end than before the work. The code under test can end the runner early or take
//! tests out of its sight; what the work deleted of tests that nobody approved is allowed for.

use crate::gate::Check;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::Pin;
use crate::gate::Place;
use crate::gate::Red;
use crate::gate::brought::holds_tests;
use crate::gate::closure::texts;
use crate::gate::executed;
use crate::gate::stage::PinnedBytes;
use crate::gate::verdict::Trial;
use anyhow::Result;
use regex::Regex;

/// Options by which a runner chooses tests by what it knows of earlier runs, or of what changed.
const BY_STATE: [&str; 9] = [
    "--state",
    "--lf",
    "--last-failed",
    "--sw",
    "--stepwise",
    "--testmon",
    "--onlyChanged",
    "--changedSince",
    "--changed",
];

/// Tests that are named where fewer came to their end.
const NAMED: usize = 5;

/// How a test begins: in Python, Go, Rust and JavaScript.
const BEGINS: &str =
    r"(?m)^\s*(?:async )?def test|^func (?:Test|Example|Fuzz)|#\[(?:\w+::)*\w*test|^\s*(?:it|test)(?:\.\w+)*\s*\(";

impl Gate<'_> {
    /// Returns how many tests less came to their end; none where that is not known, or deleted tests may be the reason.
    pub(in crate::gate) fn fewer_ended(
        &self,
        trial: &Trial,
        check: &Check,
        known: &Known,
        red: &Red,
        commit: &str,
        pinned: PinnedBytes,
    ) -> Option<String> {
        let now = trial.ended.count;
        let before = red.ended.filter(|before| now < *before)?;
        let texts = texts(check, &self.files);
        let words = || texts.iter().flat_map(|text| text.split_whitespace());
        if words().any(|word| BY_STATE.contains(&word.split('=').next().unwrap_or_default())) {
            return None;
        }
        let approved: u64 = self.approved_tests(check, pinned).iter().map(|text| tests_in(text)).sum();
        // Those in approved files are there.
        let deleted = self.deleted_tests(check, &red.commit, commit).min(before.saturating_sub(approved));
        (now + deleted < before).then(|| {
            let names = self.failed_then(trial, check, known, red, pinned).unwrap_or_default();
            format!("{}{}", told(now, before, trial.ended.in_packages), listed(&names))
        })
    }

    /// Names the tests that failed before the work and that the run of now does not name. Nobody kept what the check printed
    /// then, so it is run there once more; what does not come to its end names none.
    fn failed_then(
        &self,
        trial: &Trial,
        check: &Check,
        known: &Known,
        red: &Red,
        pinned: PinnedBytes,
    ) -> Result<Vec<String>> {
        let tree = self.project.tree_of(&red.commit)?;
        let site = self.site(check, known, &tree)?;
        let staged = if site.place == Place::Clean { self.stage(check, &site, &tree, pinned)?.ok() } else { None };
        let Some(staged) = staged else { return Ok(Vec::new()) };
        let then = self.run(check, 1, &staged)?;
        let text = |trial: &Trial| trial.output().map(|output| output.text()).unwrap_or_default();
        Ok(executed::failed_before(&text(&then), &text(trial)))
    }

    fn approved_tests(&self, check: &Check, pinned: PinnedBytes) -> Vec<String> {
        let files = check.pins.iter().filter(|(path, _)| holds_tests(path));
        let bytes = files.filter_map(|(_, pin)| pinned(Pin::read(pin.as_deref()?).id));
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
    }

    /// Counts the tests that went between two commits from files that nobody approved.
    fn deleted_tests(&self, check: &Check, from: &str, to: &str) -> u64 {
        let changed = self.project.changed_paths(from, to).unwrap_or_default();
        let of_none = changed.iter().filter(|path| holds_tests(path) && !check.pins.contains_key(*path));
        let tests = |commit: &str, path: &str| {
            let bytes = self.project.blob_at(commit, path).ok().flatten();
            bytes.map_or(0, |bytes| tests_in(&String::from_utf8_lossy(&bytes)))
        };
        let (mut before, mut after) = (0, 0);
        for path in of_none {
            before += tests(from, path);
            after += tests(to, path);
        }
        before.saturating_sub(after)
    }
}

fn tests_in(text: &str) -> u64 {
    Regex::new(BEGINS).map_or(0, |begins| begins.find_iter(text).count() as u64)
}

/// Says which tests failed before the work, the first of many.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if shown.is_empty() {
        String::new()
    } else {
        format!(" (failed then, and not named now: {}{more})", shown.join(", "))
    }
}

fn told(now: u64, before: u64, in_packages: bool) -> String {
    let (one, many) = if in_packages { ("package", "packages") } else { ("test", "tests") };
    let now = match now {
        0 => format!("no {one} is known to have come to its end"),
        1 => format!("only 1 {one} came to its end"),
        now => format!("only {now} {many} came to their end"),
    };
    format!("{now}, and before the work {before} did")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_where_they_begin() {
        for (text, count) in [
            ("def test_a():\n    pass\n\n\nclass A(TestCase):\n    async def test_b(self):\n        tested()\n", 2),
            ("func TestA(t *testing.T) {\n\tt.Run(\"x\", nil)\n}\n\nfunc Helper() {}\n", 1),
            (
                "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n    #[tokio::test(flavor = \"x\")]\n    async fn b() {}\n}\n",
                2,
            ),
            (
                "const test = require('node:test');\ntest('a', () => {});\ntest.skip('b', f);\n  it(\"c\", f);\nlatest(1);\n",
                3,
            ),
            ("def add(a, b):\n    return tested(a)\n", 0),
        ] {
            assert_eq!(tests_in(text), count, "{text}");
        }
    }

    #[test]
    fn both_numbers_are_told() {
        assert_eq!(told(1, 3, false), "only 1 test came to its end, and before the work 3 did");
        assert_eq!(told(2, 3, true), "only 2 packages came to their end, and before the work 3 did");
        assert_eq!(told(0, 3, false), "no test is known to have come to its end, and before the work 3 did");
    }

    #[test]
    fn tests_that_failed_before_the_work_are_named_and_many_are_counted() {
        let names = |count| listed(&(0..count).map(|at| format!("t{at}")).collect::<Vec<_>>());
        assert_eq!(names(0), "");
        assert_eq!(names(1), " (failed then, and not named now: `t0`)");
        assert!(names(7).ends_with("`t4` and 2 more)"));
    }
}
