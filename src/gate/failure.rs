//! Tells whether two failures are the same one: what differs between runs by itself does not count.

use crate::gate::Finding;
use crate::gate::Verdict;
use regex::Regex;
use sha2::Digest;
use sha2::Sha256;
use std::sync::LazyLock;

/// Lines of the output's end that are compared.
const TAIL: usize = 20;

/// What varies by itself, and what stands in its place; in this order, since numbers are in all of them.
const VARYING: [(&str, &str); 9] = [
    // Colours and cursor movements.
    (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
    // Paths in temporary folders, down to the file's own name; names that were made up.
    (r"(?:/private)?(?:/var)?/(?:tmp|folders)(?:/[^\s/:,;()'\x22`]+)*/", "<tmp>/"),
    (r"\btmp[._-]?[A-Za-z0-9_]{6,}\b|\.tmp[A-Za-z0-9]{6}\b", "<tmp>"),
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?\b", "<time>"),
    (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{7,}\b", "<id>"),
    (r"\b(?:\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h))+\b", "<time>"),
    (r"\d+(?:[.,]\d+)*", "<n>"),
    (r"[ \t]+", " "),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    // The digits of all scripts would make each of them many times as large.
    let ascii = |pattern: &str| Regex::new(&pattern.replace(r"\d", "[0-9]")).ok();
    VARYING.iter().filter_map(|(pattern, stands)| Some((ascii(pattern)?, *stands))).collect()
});

impl Verdict {
    /// Returns the digest that equal failures share: of the exit and what is left of the output without numbers, times
    /// and made-up names. None for a pass, for what says nothing about the feature, and for a check that failed without
    /// a word: nothing tells that from any other such failure.
    pub fn failure(&self) -> Option<String> {
        let trial = self.trial();
        // What an installer prints differs from run to run.
        let tail = if trial.is_uninstalled() { String::new() } else { trial.last_lines(TAIL) };
        let said = format!("{}\n{}", normalised(trial.detail()), normalised(&tail));
        let silent = self.finding() == Finding::Failed && said.trim().is_empty();
        let unsaid = matches!(self.finding(), Finding::Interrupted | Finding::NotCommitted | Finding::OutOfTime);
        if silent || unsaid || self.finding().is_green() {
            return None;
        }
        let exit = trial.exit().map(ToString::to_string).unwrap_or_default();
        Some(format!("{:x}", Sha256::digest(format!("{}\n{exit}\n{said}", self.finding()))))
    }

    /// Tells whether the check did not come to look at the feature: a program it needs is missing, or its setup failed.
    pub fn could_not_run(&self) -> bool {
        matches!(self.finding(), Finding::NotRunnable | Finding::NotReady)
    }
}

/// Returns the text without what varies by itself; empty lines and blanks at the ends of lines go too.
fn normalised(text: &str) -> String {
    let text = PATTERNS
        .iter()
        .fold(text.to_owned(), |text, (pattern, stands)| pattern.replace_all(&text, *stands).into_owned());
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Check;

    #[test]
    fn every_pattern_is_one() {
        assert_eq!(PATTERNS.len(), VARYING.len());
    }

    #[test]
    fn what_varies_by_itself_does_not_count() {
        let same = [
            ("took 1.24 s", "took 900 ms"),
            ("ok in 1m30s", "ok in 12.5s"),
            ("FAILED (errors=1) in 0.03s", "FAILED (errors=2) in 12s"),
            ("2026-11-30T02:04:36Z ERROR x", "2025-01-02 03:04:05.678+02:00 ERROR x"),
            ("at 14:03:59 stopped", "at 9:12 stopped"),
            ("object at 0x7f3a9c01", "object at 0x1b"),
            ("commit 4579d87a is gone", "commit 8b644b3b1f00 is gone"),
            ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-0000-0000-0000-000000000000"),
            ("/tmp/.tmpbVNihu/project/a.js:12: no", "/tmp/tmp.XyZ12abC/x/y/a.js:7: no"),
            ("open /var/folders/zz/abc/T/a.txt", "open /private/var/folders/q/T/a.txt"),
            ("made tmp_ab12cd34", "made tmp_zz99yy88"),
            ("pid 1234 on port 40123", "pid 9 on port 3000"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("a\n\n  b  \n", "a\nb"),
        ];
        for (one, other) in same {
            assert_eq!(normalised(one), normalised(other), "{one}");
        }
    }

    #[test]
    fn what_was_found_does_count() {
        let different = [
            ("sh: 1: node: not found", "sh: 1: npm: not found"),
            ("AssertionError: the list is empty", "AssertionError: the list is full"),
            ("/tmp/x/a.js: no such file", "/tmp/x/b.js: no such file"),
            ("/srv/a/a.js", "/srv/b/a.js"),
            ("one\ntwo", "one"),
        ];
        for (one, other) in different {
            assert_ne!(normalised(one), normalised(other), "{one}");
        }
    }

    #[test]
    fn a_pass_is_no_failure_and_kinds_of_failure_differ() {
        let check = Check::command("true");
        let failure = |finding| Verdict::example("a", &check, finding, "t").failure();
        let silent = Finding::Failed;
        let cut = [Finding::Interrupted, Finding::OutOfTime, Finding::NotCommitted];
        for nothing in [Finding::Passed, Finding::AlreadyGreen, silent].into_iter().chain(cut) {
            assert_eq!(failure(nothing), None);
        }
        assert_eq!(failure(Finding::TimedOut), Verdict::example("b", &check, Finding::TimedOut, "u").failure());
        assert_ne!(failure(Finding::TimedOut), failure(Finding::NotReady));
    }
}
