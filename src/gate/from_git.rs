//! Whether a check takes files from git, where the project's versions lie and not those that were approved.

use crate::gate::Check;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::checkout;
use crate::gate::executed::Naming;
use crate::gate::executed::Role;
use crate::gate::names;
use crate::gate::words;
use crate::project::Entry;
use crate::project::path_of;
use anyhow::Result;
use globset::GlobBuilder;
use std::path::Path;

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

/// Git itself reads no larger file of attributes.
const ATTRIBUTES: usize = 100 * 1024 * 1024;

/// Options of git itself behind which a value comes.
const VALUED: [&str; 5] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace"];

/// Names, without their ending, of files that hold what is expected.
const WANTED: [&str; 3] = ["want", "wanted", "expect"];

/// Tells whether a text calls git for files.
pub(in crate::gate) fn takes_files(text: &str) -> bool {
    calls(text, &GIVING)
}

/// Tells whether a text asks git which files there are, where one that is gone from the commit is not there either.
pub(in crate::gate) fn lists_files(text: &str) -> bool {
    calls(text, &["ls-files", "ls-tree", "grep"])
}

/// Tells whether a text lets git make an archive, out of which attributes leave files.
pub(in crate::gate) fn makes_archive(text: &str) -> bool {
    calls(text, &["archive"])
}

/// Returns what judges or is expected by its name among such words as `HEAD:tests/a.sh`, by which a text that calls git for
/// files means them in a commit. Any other may be the product.
pub(in crate::gate) fn namings_in_commits(text: &str) -> Vec<Naming> {
    if !takes_files(text) {
        return Vec::new();
    }
    let naming = |word: &String| {
        let (commit, path) = word.split_once(':')?;
        let is_plain = !path.is_empty() && !path.starts_with('/') && !path.contains(['$', ':', '`']);
        let role = role(path).filter(|_| is_plain && !commit.contains(['=', '"', '\'']))?;
        Some(Naming { word: path.to_owned(), role })
    };
    words_of(&words::spelled_out(text)).iter().filter_map(naming).collect()
}

fn role(path: &str) -> Option<Role> {
    let stem = words::name(path).split('.').next().unwrap_or_default();
    match path {
        _ if names::expects(path) || WANTED.contains(&stem) => Some(Role::Expected),
        _ if words::looks_like_test(path) || names::judges(path, &[]) => Some(Role::Judges),
        _ => None,
    }
}

/// A text between `<( )` is run as one between `$( )` is.
fn words_of(text: &str) -> Vec<String> {
    words::words(&text.replace("<(", "$("))
}

fn calls(text: &str, commands: &[&str]) -> bool {
    let words = words_of(text);
    let calls = words.iter().enumerate().filter(|(_, word)| words::name(word) == "git");
    calls.into_iter().any(|(at, _)| command(&words[at + 1..]).is_some_and(|command| commands.contains(&command)))
}

/// A line of attributes by which git leaves files out of an archive, or writes into them there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::gate) struct Export {
    /// The folder of the file that holds it; empty for the root.
    folder: String,
    pub line: String,
}

impl Export {
    /// Finds such lines in the text of the file of attributes in `folder`.
    pub(in crate::gate) fn all(folder: &str, text: &str) -> Vec<Self> {
        let sets = |word: &str| ["export-ignore", "export-subst"].contains(&word.split('=').next().unwrap_or_default());
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let lines = lines.filter(|line| line.split_whitespace().skip(1).any(sets));
        lines.map(|line| Self { folder: folder.to_owned(), line: line.to_owned() }).collect()
    }

    /// Tells whether it may be about a file, or about a folder that the file is in.
    pub(in crate::gate) fn touches(&self, path: &Path) -> bool {
        let Ok(path) = path.strip_prefix(&self.folder) else { return false };
        let pattern = self.line.split_whitespace().next().unwrap_or_default();
        // What a macro is given to is told elsewhere, and a quoted pattern may be any.
        if pattern.starts_with(['[', '"']) {
            return true;
        }
        let pattern = pattern.trim_end_matches('/');
        let glob = GlobBuilder::new(pattern.trim_start_matches('/')).literal_separator(true).build();
        let Ok(glob) = glob.map(|glob| glob.compile_matcher()) else { return true };
        let mut parts = path.ancestors().filter(|part| !part.as_os_str().is_empty());
        match pattern.contains('/') {
            true => parts.any(|part| glob.is_match(part)),
            false => parts.any(|part| part.file_name().is_some_and(|name| glob.is_match(name))),
        }
    }
}

impl Gate<'_> {
    /// Finds a line of attributes that came after approval and by which an archive lacks a pinned file, or holds another.
    pub(in crate::gate) fn new_export(&self, check: &Check, known: &Known, tree: &str) -> Result<Option<String>> {
        let before = self.tree_at_approval(known).map(|tree| self.exports(&tree)).transpose()?.unwrap_or_default();
        let pins = || check.pins.iter().filter(|(path, pin)| pin.is_some() && checkout::is_of_project(path));
        let is_new = |export: &Export| {
            !before.contains(export) && pins().any(|(path, _)| export.touches(&path_of(path.trim_start_matches("./"))))
        };
        Ok(self.exports(tree)?.into_iter().find(is_new).map(|export| export.line))
    }

    /// Finds a pinned file that was committed at approval and is not in this tree.
    pub(in crate::gate) fn gone_from(&self, check: &Check, known: &Known, tree: &str) -> Result<Option<String>> {
        let Some(first) = self.tree_at_approval(known) else { return Ok(None) };
        let (before, now) = (self.project.entries(&first)?, self.project.entries(tree)?);
        let holds = |entries: &[Entry], path: &str| {
            let path = path_of(path.trim_start_matches("./"));
            entries.iter().any(|entry| entry.path == path)
        };
        let mut pins = check.pins.iter().filter(|(path, pin)| pin.is_some() && checkout::is_of_project(path));
        Ok(pins.find(|(path, _)| holds(&before, path) && !holds(&now, path)).map(|(path, _)| path.clone()))
    }

    /// Returns the tree on which this very check was first judged.
    fn tree_at_approval(&self, known: &Known) -> Option<String> {
        let first = known.since.as_deref().or(known.red.as_ref().map(|red| red.commit.as_str()));
        first.and_then(|commit| self.project.tree_of(commit).ok())
    }

    fn exports(&self, tree: &str) -> Result<Vec<Export>> {
        let mut entries = self.project.entries(tree)?;
        entries.retain(|entry| entry.path.file_name().is_some_and(|name| name == ".gitattributes"));
        let text = |id: &str| Some(String::from_utf8_lossy(&self.project.blob(id, ATTRIBUTES)?).into_owned());
        let all = entries.iter().filter_map(|entry| {
            let folder = entry.path.parent()?.to_string_lossy().into_owned();
            Some(Export::all(&folder, &text(&entry.id)?))
        });
        Ok(all.flatten().collect())
    }
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
    fn attributes_that_leave_a_file_out_of_an_archive_are_known() {
        let touches = |folder: &str, line: &str| {
            Export::all(folder, line).iter().any(|export| export.touches(Path::new("tests/unit/b.sh")))
        };
        for line in [
            "tests/unit/b.sh export-ignore",
            "b.sh text export-subst",
            "*.sh export-ignore",
            "tests/ export-ignore",
            "/tests export-ignore",
            "unit export-ignore=yes",
            "tests/**/*.sh export-ignore",
            "[attr]gone export-ignore",
            "\"tests/unit/b.sh\" export-ignore",
        ] {
            assert!(touches("", line), "{line}");
        }
        for line in
            ["docs export-ignore", "*.sh text", "b.sh -export-ignore", "# b.sh export-ignore", "a/b.sh export-ignore"]
        {
            assert!(!touches("", line), "{line}");
        }
        assert!(touches("tests", "unit/b.sh export-ignore") && !touches("src", "b.sh export-ignore"));
        assert!(makes_archive("git archive HEAD | tar x") && !makes_archive("git show HEAD:a"));
    }

    #[test]
    fn files_in_a_commit_that_decide_by_their_names_are_found() {
        let found = |text: &str| -> Vec<(String, Role)> {
            namings_in_commits(text).into_iter().map(|naming| (naming.word, naming.role)).collect()
        };
        for (text, path, role) in [
            ("git show HEAD:tests/a.sh | sh", "tests/a.sh", Role::Judges),
            ("git cat-file -p HEAD~1:./tests/a.sh | sh", "./tests/a.sh", Role::Judges),
            ("sh app.sh | cmp - <(git cat-file blob main:want.txt)", "want.txt", Role::Expected),
            ("test \"$(sh app.sh)\" = \"$(git show :expected.txt)\"", "expected.txt", Role::Expected),
        ] {
            assert!(found(text).contains(&(path.to_owned(), role)), "{text}: {:?}", found(text));
        }
        for text in ["git show HEAD:app.sh | sh", "git show HEAD:$t | sh", "curl a:tests/a.sh", "git show HEAD"] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

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
