//! Passes that the code under test may have brought about within the runner, while the approved tests are as they were.

use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::Finding;
use crate::gate::Red;
use crate::gate::Rules;
use crate::gate::checkout;
use crate::gate::closure::texts;
use crate::gate::executed;
use crate::gate::from_git;
use crate::gate::names;
use crate::gate::verdict::Trial;

/// How a verdict names tests among the files that nobody approved.
const TESTS_BY_NAME: &str = "the tests that `";

/// Tells whether what nobody approved are tests that a check chooses by their names, and no file.
pub fn is_tests_by_name(unapproved: &str) -> bool {
    unapproved.starts_with(TESTS_BY_NAME)
}

/// Refuses a pass of tests that the check chooses by their names and that were not there before any work: the approved files
/// of tests are as they were, so that something else brought them. Returns how the check chooses them.
pub(in crate::gate) fn refuse_chosen(
    trial: &mut Trial,
    check: &Check,
    files: &CheckFiles,
    red: Option<&Red>,
) -> Option<String> {
    let mut pins = check.pins.iter().filter(|(path, pin)| pin.is_some() && checkout::is_of_project(path));
    let is_new = red.is_some_and(|red| red.chose_none) && pins.any(|(path, _)| holds_tests(path));
    if trial.finding != Finding::Passed || check.rules != Rules::Now || !is_new {
        return None;
    }
    let choice = executed::choices(&texts(check, files)).into_iter().next()?;
    trial.finding = Finding::NothingExecuted;
    trial.add(&format!(
        "exit code 0, but what `{choice}` chooses was not there when the check was approved, and is in none of the approved \
         files, so nobody approved it"
    ));
    Some(format!("{TESTS_BY_NAME}{choice}` chooses"))
}

/// Tells whether a runner may find tests in a file of this name.
pub(in crate::gate) fn holds_tests(path: &str) -> bool {
    names::is_code(path) && !names::is_data(path) && !from_git::is_script(path, b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_refused_only_where_approved_tests_lack_it() {
        let red = Red {
            commit: "c".to_owned(),
            verdict: "failed".to_owned(),
            check: "d".to_owned(),
            unprepared: false,
            skips: None,
            ended: None,
            chose_none: true,
        };
        let refused = |pins: &[&str], rules, red: &Red| {
            let pins = pins.iter().map(|path| ((*path).to_owned(), Some("1".to_owned()))).collect();
            let check = Check { pins, rules, ..Check::command("pytest tests -k loud") };
            let mut trial = Trial::refused(Finding::Passed, "");
            let chosen = refuse_chosen(&mut trial, &check, &CheckFiles::default(), Some(red));
            assert_eq!(trial.finding == Finding::NothingExecuted, chosen.is_some());
            chosen.is_some_and(|chosen| is_tests_by_name(&chosen))
        };
        assert!(refused(&["tests/test_a.py"], Rules::Now, &red));
        // Who approved no test leaves it to the work to write one.
        for pins in [&[][..], &["tests/setup.sh"], &["tests/cases.json"], &["checks/a.py"]] {
            assert!(!refused(pins, Rules::Now, &red), "{pins:?}");
        }
        assert!(!refused(&["tests/test_a.py"], Rules::First, &red));
        assert!(!refused(&["tests/test_a.py"], Rules::Now, &Red { chose_none: false, ..red }));
    }
}
