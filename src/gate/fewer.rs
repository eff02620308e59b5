//! Passes in which fewer of the approved tests count than before the work: some were skipped, expected to fail, or did not come
//! to their end. The code under test can have that done within the runner, and an honest test may have a reason for it: a
//! person has to look.

use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::Pin;
use crate::gate::Red;
use crate::gate::Rules;
use crate::gate::Skips;
use crate::gate::brought::holds_tests;
use crate::gate::checkout;
use crate::gate::executed;
use crate::gate::names;
use crate::gate::stage::PinnedBytes;
use crate::gate::verdict::Trial;

/// How a verdict names such a pass among what nobody approved.
const FEWER: &str = "a pass in which ";

/// A file beyond this is no test that somebody wrote.
const LARGEST: usize = 1 << 20;

/// Tests that are named where some were skipped.
const NAMED: usize = 3;

/// Words by which a line skips tests that may be many, other than above one of them.
const OF_MANY: [&str; 6] = ["mark.skip", "importorskip(", "unittest.skip", "skipIf(", "skipUnless(", "add_marker"];

/// Tells whether what nobody approved is a pass in which fewer tests count, and no file.
pub fn is_fewer(unapproved: &str) -> bool {
    unapproved.starts_with(FEWER)
}

/// What approved files say themselves of tests that do not count.
#[derive(Debug, Default)]
struct Own {
    /// How many tests their marks skip at most; none: any number.
    skips: Option<u64>,
    /// They expect some to fail.
    expect: bool,
}

impl Gate<'_> {
    /// Refuses such a pass, of what `commit` holds, and returns how it is named.
    pub(in crate::gate) fn refuse_fewer(
        &self,
        trial: &mut Trial,
        check: &Check,
        known: &Known,
        commit: &str,
        pinned: PinnedBytes,
    ) -> Option<String> {
        let red = known.red.as_ref().filter(|red| red.check == check.digest());
        let red = red.filter(|_| trial.finding == Finding::Passed && check.rules == Rules::Now)?;
        let ended = || {
            let guards = has_approved_tests(check);
            guards.then(|| self.fewer_ended(trial, check, known, red, commit, pinned)).flatten()
        };
        let reason = self.more_aside(trial, check, red, pinned).or_else(ended)?;
        trial.finding = Finding::Failed;
        trial.add(&format!("exit code 0, but {reason}"));
        Some(format!("{FEWER}{reason}"))
    }

    /// Returns how many more tests were skipped, or expected to fail.
    fn more_aside(&self, trial: &Trial, check: &Check, red: &Red, pinned: PinnedBytes) -> Option<String> {
        let now = trial.skips?;
        let own = || Own::of(&self.approved_texts(check, pinned));
        let reason = match red.skips {
            Some(before) => {
                let skipped =
                    now.beyond(before).map(|more| format!("{} skipped that ran before the work", tests(more)));
                skipped.or_else(|| more_expected(now, before).filter(|_| !own().expect))
            }
            None if has_approved_tests(check) => more_than_own(now, &own()),
            None => None,
        }?;
        let names = trial.output().map(|output| executed::skipped_tests(&output.text())).unwrap_or_default();
        let names: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        let names = if names.is_empty() { String::new() } else { format!(" (skipped: {})", names.join(", ")) };
        Some(format!("{reason}{names}"))
    }

    /// Returns the approved files in Python, with those that tests load by themselves.
    fn approved_texts(&self, check: &Check, pinned: PinnedBytes) -> Vec<String> {
        let files = check.pins.iter().filter_map(|(path, pin)| Some((path, Pin::read(pin.as_deref()?).id)));
        let loaded = check.soft.iter().flatten().map(|(path, pin)| (path, Pin::read(pin).id));
        let loaded = loaded.filter_map(|(path, id)| Some((path, self.project.blob(id, LARGEST)?)));
        let approved = files.filter_map(|(path, id)| Some((path, pinned(id)?)));
        let of_python = approved.chain(loaded).filter(|(path, _)| path.ends_with(".py"));
        of_python.map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned()).collect()
    }
}

impl Own {
    fn of(texts: &[String]) -> Self {
        let skips = texts.iter().map(|text| skips_of(text)).sum();
        let expect = texts.iter().any(|text| text.contains("xfail") || text.contains("expectedFailure"));
        Self { skips, expect }
    }
}

/// Counts the tests that a text in Python skips by what stands above them; none where these may be any number.
fn skips_of(text: &str) -> Option<u64> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut count = 0;
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("skip") && !line.contains("import ")) {
        let names = |start: &str| start.split_once('(').map_or(start, |(name, _)| name).contains("skip");
        if line.starts_with('@') && names(line) {
            let above =
                lines[at..].iter().find(|line| ["def ", "async def ", "class "].iter().any(|of| line.starts_with(of)));
            let one = above.is_some_and(|above| !above.starts_with("class ")) && !text.contains("parametrize");
            count += if one { 1 } else { return None };
        } else if !line.starts_with('#') && OF_MANY.iter().any(|many| line.contains(many)) {
            return None;
        }
    }
    Some(count)
}

/// Where nobody knows what ran before, such as for want of a module, more were skipped than approved marks tell.
fn more_than_own(now: Skips, own: &Own) -> Option<String> {
    let skipped = own.skips.filter(|own| now.skipped > *own).map(|_| {
        format!(
            "{} skipped, not all by marks of the approved files, and before the work none could be counted",
            tests(now.skipped)
        )
    });
    let expected = now.expected.filter(|expected| *expected > 0 && !own.expect);
    skipped.or_else(|| {
        expected.map(|expected| format!("{} expected to fail, by none of the approved files", tests(expected)))
    })
}

fn more_expected(now: Skips, before: Skips) -> Option<String> {
    let more = now.expected_beyond(before)?;
    Some(format!("{} expected to fail by none of the approved files, and not before the work", tests(more)))
}

fn has_approved_tests(check: &Check) -> bool {
    let mut pins = check.pins.iter().filter(|(path, pin)| pin.is_some() && checkout::is_of_project(path));
    // prove runs what is named so, and no language tells it.
    pins.any(|(path, _)| holds_tests(path) || names::is_test_of_a_kind(path))
}

fn tests(count: u64) -> String {
    if count == 1 { "1 test was".to_owned() } else { format!("{count} tests were") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_marks_of_a_file_skip_is_counted_or_may_be_any_number() {
        for (text, count) in [
            ("import unittest\ndef test_a(self):\n    self.assertTrue(skipped)\n", Some(0)),
            ("@unittest.skip(\"later\")\ndef test_a(self): pass\n", Some(1)),
            ("@pytest.mark.skipif(\n    sys.platform == \"win32\",\n)\n@other\nasync def test_a(): pass\n", Some(1)),
            ("from unittest import skipIf\n@skipIf(True, \"\")\ndef test_a(self): pass\n", Some(1)),
            // In the body it may be the product's word that decides.
            ("def test_a(self):\n    if not app.colour(): self.skipTest(\"no\")\n", Some(0)),
            ("@unittest.skip(\"later\")\nclass A(TestCase):\n", None),
            ("@pytest.mark.skip\n@pytest.mark.parametrize(\"a\", [1, 2])\ndef test_a(a): pass\n", None),
            ("pytestmark = pytest.mark.skipif(True)\n", None),
            ("numpy = pytest.importorskip(\"numpy\")\n", None),
            ("slow = unittest.skipUnless(SLOW, \"slow\")\n", None),
        ] {
            assert_eq!(skips_of(text), count, "{text}");
        }
    }

    #[test]
    fn without_counts_of_before_only_what_no_approved_file_says_is_seen() {
        let now = |skipped, expected| Skips { tests: 3, skipped, expected: Some(expected) };
        let own = |skips, expect| Own { skips, expect };
        assert!(more_than_own(now(1, 0), &own(Some(0), false)).is_some());
        assert!(more_than_own(now(0, 1), &own(Some(0), false)).is_some());
        for (now, own) in [
            (now(0, 0), own(Some(0), false)),
            (now(1, 0), own(Some(1), false)),
            (now(3, 0), own(None, false)),
            (now(0, 1), own(Some(0), true)),
        ] {
            assert_eq!(more_than_own(now, &own), None, "{now:?} {own:?}");
        }
    }
}
