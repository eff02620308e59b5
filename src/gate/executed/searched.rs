//! Words by which a text searches: patterns, programs of `sed` and `awk`, names by which tests are chosen. They name no file.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::commands;
use crate::gate::executed::looking::ASKING;
use crate::gate::executed::looking::is_reader;
use crate::gate::executed::runners;
use crate::gate::executed::runners::Runner;
use crate::gate::executed::starters::started;
use crate::gate::executed::starters::text_for_a_shell;
use crate::gate::words;
use regex::Regex;
use std::sync::LazyLock;

/// How a program that searches is told by what.
struct Search {
    programs: &'static [&'static str],
    /// Letters of options behind which a pattern comes, a value, and a file with patterns.
    pattern: &'static str,
    valued: &'static str,
    file: &'static str,
    /// Its patterns are programs, which may name files.
    is_program: bool,
}

const SEARCHES: [Search; 5] = [
    Search {
        programs: &["grep", "egrep", "fgrep", "zgrep"],
        pattern: "e",
        valued: "ABCmdD",
        file: "f",
        is_program: false,
    },
    Search { programs: &["rg"], pattern: "e", valued: "ABCEgjMmrTt", file: "f", is_program: false },
    Search { programs: &["ag", "ack"], pattern: "", valued: "ABCGgmp", file: "", is_program: false },
    Search { programs: &["awk", "gawk", "mawk"], pattern: "", valued: "Fv", file: "f", is_program: true },
    Search { programs: &["sed"], pattern: "e", valued: "l", file: "f", is_program: true },
];

/// What comes behind an option.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Takes {
    Pattern,
    File,
    Value,
}

const LONG: [(&str, Takes); 14] = [
    ("--regexp", Takes::Pattern),
    ("--expression", Takes::Pattern),
    ("--file", Takes::File),
    ("--include", Takes::Value),
    ("--exclude", Takes::Value),
    ("--exclude-dir", Takes::Value),
    ("--max-count", Takes::Value),
    ("--context", Takes::Value),
    ("--after-context", Takes::Value),
    ("--before-context", Takes::Value),
    ("--glob", Takes::Value),
    ("--type", Takes::Value),
    ("--field-separator", Takes::Value),
    ("--assign", Takes::Value),
];

/// How a program of sed or awk names a file, or runs a command.
static NAMES_FILES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("\"|getline|system|(?:^|[^A-Za-z])[rRwWe] ").expect("a regular expression written here")
});

/// How deep texts for another shell are read.
const DEPTH: usize = 6;

/// Returns the words of a text by which it searches, in each way they may be read. Those that choose what is run are none.
pub(in crate::gate) fn patterns(text: &str) -> Vec<String> {
    let found = patterns_in(&words::spelled_out(text), DEPTH);
    found.iter().flat_map(|pattern| words::read_as(pattern)).map(|(word, _)| word).collect()
}

fn patterns_in(text: &str, depth: usize) -> Vec<String> {
    let all = commands(text);
    let mut found = Vec::new();
    for (at, command) in all.iter().enumerate() {
        let words = started(aside::command_itself(&command.words));
        if let Some(inner) = text_of_a_shell(words).filter(|_| depth > 0) {
            found.extend(patterns_in(&inner, depth - 1));
        }
        let behind = all[at + 1..].iter().take_while(|next| next.piped);
        if !command.inner && behind.into_iter().all(only_reads) && writes_nothing(command) {
            found.extend(searched_by(command, command.words.len() - words.len()));
        }
        found.extend(chosen_by(words));
    }
    found
}

/// Returns the text that a command has a shell run.
fn text_of_a_shell(words: &[String]) -> Option<String> {
    let is_shell = words.first().is_some_and(|word| words::name(word).ends_with("sh"));
    let is_cluster = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let behind = words.windows(2).find(|pair| is_cluster(&pair[0])).map(|pair| pair[1].clone());
    behind.filter(|_| is_shell).or_else(|| text_for_a_shell(words))
}

/// Tells whether a command only looks at what comes by its pipe; else that may choose what is run.
fn only_reads(command: &Command) -> bool {
    let words = aside::command_itself(&command.words);
    let program = words.first().map_or("", |word| words::name(word));
    (is_reader(program) || ASKING.contains(&program)) && writes_nothing(command)
}

/// Tells whether nothing that a command prints is kept in a file, from which more could be run.
fn writes_nothing(command: &Command) -> bool {
    let mut files = command.writes.iter().filter_map(|at| command.words.get(*at));
    files.all(|word| word == "/dev/null" || word.chars().all(|c| c.is_ascii_digit()))
}

/// Returns the patterns of a command that searches, behind so many words of others.
fn searched_by(command: &Command, skipped: usize) -> Vec<String> {
    let places =
        (skipped..command.words.len()).filter(|at| !command.writes.contains(at) && !command.reads.contains(at));
    let words: Vec<&String> = places.map(|at| &command.words[at]).collect();
    let by_git = words.windows(2).position(|pair| words::name(words[0]) == "git" && pair[1] == "grep");
    let words = &words[by_git.map_or(0, |at| at + 1)..];
    let program = words.first().map_or("", |word| word.trim_start_matches("/usr/bin/"));
    let Some(search) = SEARCHES.iter().find(|search| search.programs.contains(&program)) else { return Vec::new() };
    let mut found = search.patterns(&words[1..]);
    found.retain(|pattern| !search.is_program || !NAMES_FILES.is_match(pattern));
    found
}

impl Search {
    /// Returns what is searched for: the values of options for that, or else the first word that is none.
    fn patterns(&self, words: &[&String]) -> Vec<String> {
        let (mut found, mut bare, mut is_told) = (Vec::new(), Vec::new(), false);
        let mut rest = words.iter().map(|word| word.as_str());
        while let Some(word) = rest.next() {
            match word {
                "--" => bare.extend(rest.by_ref()),
                _ if word == "-" || !word.starts_with('-') => bare.push(word),
                _ => {
                    let Some((takes, value)) = self.option(word) else { continue };
                    let value = value.or_else(|| rest.next());
                    is_told |= takes != Takes::Value;
                    found.extend(value.filter(|_| takes == Takes::Pattern));
                }
            }
        }
        let found = if is_told { found } else { bare.into_iter().take(1).collect() };
        found.into_iter().map(str::to_owned).collect()
    }

    /// Returns what an option takes, and its value where that is attached to it.
    fn option<'a>(&self, word: &'a str) -> Option<(Takes, Option<&'a str>)> {
        if word.starts_with("--") {
            let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            return LONG.iter().find(|(option, _)| *option == name).map(|(_, takes)| (*takes, value));
        }
        let kinds = [(self.pattern, Takes::Pattern), (self.file, Takes::File), (self.valued, Takes::Value)];
        let takes = |letter: char| kinds.iter().find(|(letters, _)| letters.contains(letter)).map(|(_, takes)| *takes);
        let (at, letter, takes) = word.char_indices().skip(1).find_map(|(at, c)| Some((at, c, takes(c)?)))?;
        Some((takes, Some(&word[at + letter.len_utf8()..]).filter(|value| !value.is_empty())))
    }
}

/// Returns the names by which a runner of Python chooses tests.
fn chosen_by(words: &[String]) -> Vec<String> {
    let runners = runners::started_by(words);
    let of_python = [Runner::Pytest, Runner::Unittest].iter().any(|runner| runners.contains(runner));
    let behind = words.windows(2).filter(|pair| pair[0] == "-k").map(|pair| pair[1].clone());
    behind.filter(|_| of_python && runners.len() < runners::ALL.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_searches_by_is_found() {
        for (text, pattern) in [
            ("grep -q test_new tests.py", "test_new"),
            ("grep -A 3 -qe test_new tests.py", "test_new"),
            ("grep -m1 --regexp=test_new tests.py >/dev/null 2>&1", "test_new"),
            ("pytest -q | tail -1 | grep -- test_new -", "test_new"),
            ("rg -t py -q test_new src", "test_new"),
            ("ag test_new", "test_new"),
            ("cd web && git -C src grep -n test_new -- tests.py", "test_new"),
            ("sed -n /test_new/p tests.py", "/test_new/p"),
            ("awk -F : /test_new/ tests.py | wc -l", "/test_new/"),
            ("sh -ec 'true; grep test_new tests.py'", "test_new"),
            ("python3 -m unittest -k test_new tests.test_a", "test_new"),
        ] {
            assert_eq!(patterns(text), [pattern], "{text}");
        }
        assert_eq!(patterns("grep 'def test_new' a"), ["def", "test_new", "def test_new"]);
    }

    #[test]
    fn what_chooses_what_is_run_or_names_files_is_no_pattern() {
        for text in [
            "ls tests | grep test_a | xargs sh",
            "sh $(ls tests | grep test_a)",
            "grep test_a list | while read f; do sh $f; done",
            "grep test_a list > chosen; xargs sh <chosen",
            "grep -f tests/want.txt out",
            "grep -qf tests/want.txt out",
            "awk '{ getline x < \"tests/want.txt\"; exit x != $0 }' out",
            "sed -n 'r tests/want.txt' out",
            "awk -f tests/judge.awk out",
            "tests/grep test_a",
            "node --test -k a.test.js",
        ] {
            let found = patterns(text);
            assert!(found.iter().all(|word| !word.contains("test_a") && !word.contains("tests/")), "{text}: {found:?}");
        }
    }
}
