//! Whether a check takes files from git, where the project's versions lie and not those that were approved.

use crate::gate::words;

/// Commands of git that hand out files of a commit.
const GIVING: [&str; 15] = [
    "archive",
    "bundle",
    "cat-file",
    "checkout",
    "checkout-index",
    "clone",
    "fetch",
    "pull",
    "read-tree",
    "reset",
    "restore",
    "show",
    "stash",
    "switch",
    "worktree",
];

/// Options of git itself behind which a value comes.
const VALUED: [&str; 5] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace"];

/// Tells whether a text calls git for files.
pub(in crate::gate) fn takes_files(text: &str) -> bool {
    let words = words::words(text);
    let calls = words.iter().enumerate().filter(|(_, word)| words::name(word) == "git");
    calls.into_iter().any(|(at, _)| command(&words[at + 1..]).is_some_and(|command| GIVING.contains(&command)))
}

/// Returns the command behind git's own options.
fn command(words: &[String]) -> Option<&str> {
    let mut words = words.iter().map(String::as_str).peekable();
    loop {
        match words.next()? {
            word if VALUED.contains(&word) => {
                let value = words.next()?;
                // Of `a=b` the words hold `b` too, before it.
                words.next_if(|whole| whole.split_once('=').is_some_and(|(_, part)| part == value));
            }
            word if word.starts_with('-') => {}
            word => return Some(word),
        }
    }
}

/// Tells whether a file is a script for a shell.
pub(in crate::gate) fn is_script(path: &str, bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    path.ends_with(".sh") || path.ends_with(".bash") || first.starts_with("#!") && first.trim_end().ends_with("sh")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_asks_git_for_files_is_known() {
        for text in [
            "git clone -q . \"$TMPDIR/w\" && cd \"$TMPDIR/w\" && sh tests/a.sh",
            "/usr/bin/git -C . -c a=b archive HEAD | tar -x -C w",
            "git show HEAD:tests/a.sh | sh",
            "sh -c 'git worktree add w'",
            "x=$(git --git-dir .git cat-file -p HEAD:a)",
        ] {
            assert!(takes_files(text), "{text}");
        }
        for text in ["git diff --quiet", "git -C a status", "sh git.sh clone", "git", "git rev-parse --show-toplevel"] {
            assert!(!takes_files(text), "{text}");
        }
        assert!(
            is_script("a", b"#!/usr/bin/env bash\nx") && is_script("a.sh", b"") && !is_script("a.py", b"#!/bin/python")
        );
    }
}
