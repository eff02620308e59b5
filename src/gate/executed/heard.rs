//! Whether a text waits for one of its commands, and whether what that prints is seen: only then the end of a runner must
//! be there where the text ended well.

use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::Joint;
use crate::gate::executed::commands::Shown;

/// What happens to a text of several commands when one fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Lines {
    /// It ends there.
    Each,
    /// The last one decides.
    Last,
}

impl Lines {
    /// Reads it from a script and the options of the shell that runs it.
    pub(super) fn of(text: &str, options: &[String]) -> Self {
        let short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('e');
        let begin = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
        let sets = text.lines().any(|line| {
            let mut words = line.split_whitespace();
            words.next() == Some("set") && words.any(|word| short(word) || word == "errexit")
        });
        let each = sets || options.iter().any(|word| short(word)) || begin.split_whitespace().skip(1).any(short);
        if each { Self::Each } else { Self::Last }
    }
}

/// Words after which it is open what runs, and whose exit code is the text's.
const TURNS: [&str; 13] =
    ["if", "while", "until", "for", "case", "select", "function", "{", "!", "trap", "return", "+e", "[["];

/// Programs that pass on all they read.
const PASSING_ON: [&str; 2] = ["tee", "cat"];

/// Returns for each command what is seen of it; nothing where the text may end well although the command did not run, or
/// failed.
pub(super) fn heard(all: &[Command], lines: Lines) -> Vec<Shown> {
    let turns = |command: &Command| {
        let first = command.words[0].as_str();
        let leaves = first == "exit" && !command.words.get(1).is_some_and(|code| matches!(code.parse(), Ok(1..=255)));
        TURNS.contains(&first) || leaves || first == "set" && command.words.iter().any(|word| word.starts_with('+'))
    };
    if all.iter().any(turns) {
        return vec![Shown::NOTHING; all.len()];
    }
    (0..all.len()).map(|at| if decides(all, at, lines) { shown(all, at) } else { Shown::NOTHING }).collect()
}

/// Tells whether the text cannot end well without this command.
fn decides(all: &[Command], at: usize, lines: Lines) -> bool {
    let ends = |command: &Command| matches!(command.joint, Joint::End | Joint::Close);
    let begin = all[..at].iter().rposition(ends).map_or(0, |before| before + 1);
    let end = all[at..].iter().position(ends).map_or(all.len() - 1, |behind| at + behind);
    let joined = |joint: Joint| all[begin..end].iter().any(|command| command.joint == joint);
    let only_joined = !joined(Joint::Or) && !joined(Joint::Background) && all[end].joint != Joint::Background;
    // A shell that ends at a failure does not for what fails before `&&`.
    let alone = lines == Lines::Each && !joined(Joint::And);
    only_joined && (end + 1 == all.len() || alone)
}

/// Returns what is seen of a command at the end of its pipeline.
fn shown(all: &[Command], at: usize) -> Shown {
    let Some(next) = all.get(at + 1).filter(|_| all[at].joint == Joint::Pipe) else { return all[at].shown };
    if !PASSING_ON.contains(&next.words[0].as_str()) {
        return Shown { out: false, ..all[at].shown };
    }
    Shown { out: all[at].shown.out && shown(all, at + 1).out, err: all[at].shown.err }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::executed::commands::commands;

    fn out(text: &str, lines: Lines) -> bool {
        let all = commands(text);
        let at = all.iter().position(|command| command.words.iter().any(|word| word == "run")).expect("it is there");
        heard(&all, lines)[at].out
    }

    #[test]
    fn a_command_is_heard_where_the_text_cannot_end_well_without_it() {
        let last = [
            "run",
            "cd a && run",
            "run && echo yes",
            "(cd a && run) && b",
            "cd a; run",
            "a\nrun 2>&1 | tee log",
            "run 2>/dev/null",
            "a || exit 1\nrun",
            "(cd a; run)",
            "A=1 run",
        ];
        for text in last {
            assert!(out(text, Lines::Last), "{text}");
        }
        for text in ["run\na", "run; a", "a; run | cat\nb"] {
            assert!(out(text, Lines::Each) && !out(text, Lines::Last), "{text}");
        }
    }

    #[test]
    fn a_command_is_not_heard_elsewhere() {
        let texts = [
            "run || true",
            "a || run",
            "! run",
            "if run; then a; fi",
            "run &\nwait",
            "run > log",
            "run >> log 2>&1",
            "run &> log",
            "run | grep -q x",
            "run | cat > log",
            "test \"$(run)\" = x",
            "diff <(run) x",
            "x=`run`; a",
            "f() { run; }\nf",
            "a && run\nb",
            "run && a\nb",
            "a && exit 0\nrun",
            "for x in a; do run; done",
            "set +e\nrun",
            "(run) || true",
            "(run > a) && b",
            "run 1>&2 2>/dev/null | a",
        ];
        for text in texts {
            assert!(!out(text, Lines::Each), "{text}");
        }
    }

    #[test]
    fn a_script_says_whether_it_ends_at_a_failure() {
        let lines =
            |text, options: &[&str]| Lines::of(text, &options.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        for (text, options) in [
            ("a", &["-e"] as &[&str]),
            ("set -eu\na", &[]),
            ("#!/bin/sh -e\na", &[]),
            ("set -o errexit", &[]),
            ("a", &["-ec"]),
        ] {
            assert_eq!(lines(text, options), Lines::Each, "{text}");
        }
        for (text, options) in
            [("a", &["-x"] as &[&str]), ("set -u\na -e", &[]), ("#!/usr/bin/env sh\na", &["--posix"])]
        {
            assert_eq!(lines(text, options), Lines::Last, "{text}");
        }
    }
}
