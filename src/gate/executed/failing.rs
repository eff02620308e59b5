//! The names of tests that failed, as runners tell them: so that a person sees what is gone where fewer tests ended.

use crate::gate::executed::forms::plain;
use regex::Regex;

/// Letters of a name that are shown.
const SHOWN: usize = 80;

/// How runners name a test that failed: pytest, unittest, cargo, Go, TAP, Perl, node and jest.
const FORMS: [&str; 7] = [
    r"^FAILED (\S+::.+?)(?: - .*)?$",
    r"^(?:FAIL|ERROR): (\w+ \([\w.]+\))",
    r"^test (\S+) \.\.\. FAILED$",
    r"--- FAIL: (\S+) \([\d.]+s\)$",
    r"^ *not ok \d+(?: -)? ([^#\n]*[^#\s])",
    r"^# +Failed test '(.+)'$",
    r"^ *[✖✕×] (.+?)(?: \([\d.]+ ?ms\))?$",
];

/// Returns the names of tests that failed by one output and that another one does not hold, each once.
pub(in crate::gate) fn failed_before(before: &str, now: &str) -> Vec<String> {
    let before = plain(before);
    let mut names: Vec<String> = Vec::new();
    for form in FORMS.iter().filter_map(|form| Regex::new(&format!("(?m){form}")).ok()) {
        for name in form.captures_iter(&before).map(|found| found[1].trim().to_owned()) {
            if !now.contains(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.into_iter().map(|name| name.chars().take(SHOWN).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_failed_are_named_unless_they_are_seen_again() {
        for (output, name) in [
            ("FAILED test_a.py::test_lint[a b] - assert 0\n3 failed\n", "test_a.py::test_lint[a b]"),
            ("FAIL: test_c (test_app.A.test_c)\n---\nAssertionError\n", "test_c (test_app.A.test_c)"),
            ("test a::b ... FAILED\ntest a::c ... ok\n", "a::b"),
            ("--- FAIL: TestA/x (0.00s)\n", "TestA/x"),
            ("ok 1 - one\nnot ok 2 - finding f1 # TODO x\n", "finding f1"),
            ("#   Failed test 'finding f1'\n#   at t/a.t line 2.\n", "finding f1"),
            ("✖ finding f1 (1.2ms)\n", "finding f1"),
            ("  ✕ finding f1 (2 ms)\n  ✓ other\n", "finding f1"),
        ] {
            assert_eq!(failed_before(output, "1 passed"), [name], "{output}");
            assert_eq!(failed_before(output, &format!("{name} PASSED\n")), [""; 0], "{output}: its twin");
        }
        assert_eq!(failed_before("not ok 1 - a\nnot ok 2 - a\n", ""), ["a"]);
    }
}
