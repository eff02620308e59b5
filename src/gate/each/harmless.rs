//! Commands of a text that must pass and were perhaps written as if they need not, and such whose failure nobody sees.

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

/// What sets a variable and ends well, whatever became of the command that makes its value.
const SETTING: [&str; 5] = ["export", "readonly", "local", "declare", "typeset"];

/// Shells that are handed a text.
const SHELLS: [&str; 3] = ["sh", "bash", "dash"];

/// Returns the first command at the top of a check's text whose failure no shell sees, with what it sees.
pub fn unseen_in(text: &str) -> Option<(String, &'static str)> {
    let parts = Reader::parts(text).filter(|_| !looks_itself(text)).unwrap_or_default();
    parts.iter().enumerate().find_map(|(at, part)| {
        let way_out = match () {
            () if hides_in_a_variable(text, part) => "set it first: `X=$(…); export X`",
            () if waits_for_all(text, &parts[..=at]) => "name what is waited for: `cmd & p=$!`, then `wait $p`",
            () if hands_on_a_list(text, part) => "hand the text to `sh -ec`",
            () => return None,
        };
        Some((of(text, part).to_owned(), way_out))
    })
}

fn hides_in_a_variable(text: &str, part: &Part) -> bool {
    let makes = |value: &str| ["=$(", "=\"$(", "=`", "=\"`"].iter().any(|start| value.contains(start));
    SETTING.contains(&word(text, part)) && makes(of(text, part)) && !of(text, part).contains("$((")
}

/// Tells whether the last of these parts waits for what began before it, and nobody ends that.
fn waits_for_all(text: &str, parts: &[Part]) -> bool {
    let Some((last, before)) = parts.split_last() else { return false };
    let ends = |part: &Part| of(text, part).contains("kill");
    of(text, last) == "wait" && before.iter().any(|part| part.joint == Joint::Background) && !before.iter().any(ends)
}

/// Tells whether a shell without `-e` is given more than one command.
fn hands_on_a_list(text: &str, part: &Part) -> bool {
    let Some((shell, rest)) = of(text, part).split_once(char::is_whitespace) else { return false };
    let list = rest.trim_start().strip_prefix("-c").map(|list| list.trim_start().trim_matches(['\'', '"']));
    let goes_on = |list: &str| {
        let first = list.split([';', '\n']).next().unwrap_or_default().trim();
        list.trim_end_matches([';', '\n', ' ']).contains([';', '\n']) && !first.starts_with("set -")
    };
    SHELLS.contains(&shell) && list.is_some_and(|list| goes_on(list) && !is_compound(list) && !looks_itself(list))
}

fn is_compound(list: &str) -> bool {
    COMPOUND.iter().any(|(begin, _)| list.split_whitespace().any(|word| word == *begin))
}

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
    fn a_failure_that_no_shell_sees_is_told() {
        for (text, expected) in [
            ("export X=$(sh a.sh); test $X = b", "export X=$(sh a.sh)"),
            ("readonly X=\"$(sh a.sh)\"\nsh b.sh", "readonly X=\"$(sh a.sh)\""),
            ("sh a.sh & sh b.sh & wait", "wait"),
            ("sh a.sh & wait; grep -q x log", "wait"),
            ("sh -c 'sh a.sh; sh b.sh'", "sh -c 'sh a.sh; sh b.sh'"),
            ("cd web && bash -c \"sh a.sh\nsh b.sh\"", "bash -c \"sh a.sh\nsh b.sh\""),
        ] {
            assert_eq!(unseen_in(text).map(|found| found.0).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "X=$(sh a.sh); export X; test $X = b",
            "export X=1 Y=$((2 + 3)); sh a.sh",
            "sh a.sh & p=$!; wait $p",
            "sh server.sh & sh a.sh; kill $!; wait",
            "wait",
            "sh -c 'sh a.sh && sh b.sh;'",
            "sh -ec 'sh a.sh; sh b.sh'",
            "sh -c 'set -e; sh a.sh; sh b.sh'",
            "bash -c 'for a in b c; do sh $a.sh || exit 1; done'",
            "sh -c 'sh a.sh; test $? = 3'",
            "test \"$(sh a.sh; sh b.sh)\" = x",
            "echo 'export X=$(a)'",
        ] {
            assert_eq!(unseen_in(text), None, "{text}");
        }
    }

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
