//! Commands of a text that must pass and were perhaps written as if they need not.

use super::COMPOUND;
use super::Joint;
use super::Part;
use super::Reader;
use super::looks_itself;
use super::may_fail;
use super::of;
use super::word;

/// Programs that clear something away, or make room, and fail where there is nothing to do; with the options by which they
/// do not.
const CLEARING: [(&str, &[&str], char); 6] = [
    ("rm", &["--force"], 'f'),
    ("mkdir", &["--parents"], 'p'),
    ("rmdir", &["--ignore-fail-on-non-empty"], ' '),
    ("unlink", &[], ' '),
    ("dropdb", &["--if-exists"], ' '),
    ("createdb", &[], ' '),
];

/// Programs that ask for something, whose failure says what it is.
const ASKING: [&str; 8] = ["grep", "egrep", "fgrep", "test", "[", "command", "diff", "cmp"];

/// What ends a text whose failures were not to count.
const ALWAYS_WELL: [&str; 4] = ["true", ":", "exit 0", "exit"];

/// Lists the commands of a check's text that look as if they may fail, and of which each failure counts.
pub fn harmless_before(text: &str) -> Vec<String> {
    let parts = Reader::parts(text).filter(|_| !looks_itself(text)).unwrap_or_default();
    let lists: Vec<&[Part]> =
        parts.split_inclusive(|part| matches!(part.joint, Joint::End | Joint::Background)).collect();
    let ends_well = parts.last().is_some_and(|part| ALWAYS_WELL.contains(&of(text, part)));
    let mut found = Vec::new();
    for (at, list) in lists.iter().enumerate().take(lists.len().saturating_sub(1)) {
        let [part] = list else { continue };
        let before = at.checked_sub(1).and_then(|before| lists[before].last());
        let last_that_asks = ends_well && at + 2 == lists.len();
        if part.joint == Joint::End
            && !may_fail(text, part, before)
            && (last_that_asks || clears(text, part) || hushes(text, part))
        {
            found.push(of(text, part).to_owned());
        }
    }
    found
}

fn clears(text: &str, part: &Part) -> bool {
    let mut options = of(text, part).split_whitespace().filter(|word| word.starts_with('-'));
    CLEARING.iter().any(|(program, long, short)| {
        let forced = |option: &str| long.contains(&option) || !option.starts_with("--") && option.contains(*short);
        word(text, part) == *program && !options.any(forced)
    })
}

/// Tells whether nobody is to see what goes wrong in a plain command that asks for nothing.
fn hushes(text: &str, part: &Part) -> bool {
    let (first, command) = (word(text, part), of(text, part).replace("> ", ">"));
    let is_plain = !COMPOUND.iter().any(|(begin, _)| *begin == first) && !command.contains(['(', '`']);
    is_plain && !ASKING.contains(&first) && (command.contains("2>/dev/null") || command.contains("2>&-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_clears_away_or_hushes_its_failure_is_told() {
        for (text, expected) in [
            ("rm x; sh tests/a.sh", vec!["rm x"]),
            ("rm -r out\nmkdir out\nsh tests/a.sh", vec!["rm -r out", "mkdir out"]),
            ("docker rm -f db 2> /dev/null; sh tests/a.sh", vec!["docker rm -f db 2> /dev/null"]),
            ("grep -q a b; true", vec!["grep -q a b"]),
        ] {
            assert_eq!(harmless_before(text), expected, "{text}");
        }
        for text in [
            "rm -rf x; mkdir -p y; sh tests/a.sh",
            "rm x || true; sh tests/a.sh",
            "rm x && sh tests/a.sh",
            "sh tests/a.sh; rm x",
            "pkill server; sh tests/a.sh",
            "rm x; sh a.sh; [ $? -eq 3 ]",
            "sh a.sh; sh b.sh",
            "grep -q a b 2>/dev/null",
            "true",
            "test \"$(sh a.sh 2>/dev/null)\" = x; grep -q a b 2>/dev/null; sh b.sh",
            "if rm x 2>/dev/null; then sh a.sh; fi; sh b.sh",
        ] {
            assert_eq!(harmless_before(text), [""; 0], "{text}");
        }
    }
}
