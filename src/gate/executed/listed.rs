//! Files that a text finds by a pattern and runs, such as by `git ls-files '*.t' | xargs -n1 sh`.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::kinds;
use crate::gate::executed::looking::is_reader;
use crate::gate::executed::runners;
use crate::gate::words;

/// Options of `xargs` behind which a value comes.
const VALUED: [&str; 7] = ["-n", "-L", "-I", "-P", "-s", "-d", "-a"];

/// Shells, and what else runs a script that is its one word.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
const OTHERS: [&str; 10] = ["python", "python3", "node", "perl", "ruby", "tclsh", "expect", "php", "lua", "Rscript"];

/// Returns the patterns of the files that the commands before one list.
pub(super) fn patterns(before: &[Command]) -> Vec<String> {
    let Some((first, rest)) = before.split_first() else { return Vec::new() };
    let words = aside::command_itself(&first.words);
    let reads = |command: &Command| {
        aside::command_itself(&command.words).first().is_some_and(|word| is_reader(words::name(word)))
    };
    if !rest.iter().all(reads) {
        return Vec::new();
    }
    match words.first().map(|word| words::name(word)) {
        Some("git") => of_git(words),
        Some("find") => of_find(words),
        Some("ls" | "echo" | "printf") => words[1..].iter().filter(|word| words::is_pattern(word)).cloned().collect(),
        _ => Vec::new(),
    }
}

/// Tells whether `xargs` and the like run each file that they are given.
pub(super) fn runs_each(words: &[String]) -> bool {
    runs(behind_xargs(words).0)
}

/// Returns the command that `xargs` and the like start, and what stands in it for what they read.
pub(super) fn behind_xargs(words: &[String]) -> (&[String], Option<&str>) {
    let (mut rest, mut stand_in) = (&words[1.min(words.len())..], None);
    while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
        stand_in = match option.strip_prefix("-I") {
            Some("") => rest.get(1).map(String::as_str),
            Some(attached) => Some(attached),
            None => stand_in,
        };
        rest = &rest[if VALUED.contains(&option.as_str()) { 2.min(rest.len()) } else { 1 }..];
    }
    (rest, stand_in)
}

/// Returns the patterns of the files that `find` runs by itself.
pub(super) fn run_by_find(words: &[String]) -> Vec<String> {
    let begins = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok");
    match words.iter().position(begins) {
        Some(at) if runs(&words[at + 1..]) => of_find(words),
        _ => Vec::new(),
    }
}

/// Tells whether these words, with a file behind them, run that file. By other options a program looks at it only.
fn runs(words: &[String]) -> bool {
    let words = aside::command_itself(words);
    let Some((program, rest)) = words.split_first() else { return false };
    let program = words::name(program);
    let stands_for_file = |word: &str| matches!(word, "{}" | ";" | "+" | "%");
    let is_harmless = |word: &String| {
        let cluster = word.strip_prefix('-').unwrap_or_default();
        SHELLS.contains(&program) && !cluster.is_empty() && cluster.chars().all(|c| "euxvl".contains(c))
    };
    let interprets = SHELLS.contains(&program) || OTHERS.contains(&program);
    if stands_for_file(program) {
        return true;
    }
    interprets && rest.iter().all(|word| stands_for_file(word) || is_harmless(word))
        || !runners::started_by(words).is_empty()
        || kinds::is_runner(words)
}

/// Of git's patterns a `*` also stands for folders.
fn of_git(words: &[String]) -> Vec<String> {
    let Some(at) = words.iter().position(|word| word == "ls-files") else { return Vec::new() };
    let patterns = words[at + 1..].iter().filter(|word| !word.starts_with('-') && !word.starts_with(':'));
    let below = |pattern: &String| match pattern.rsplit_once('/') {
        _ if !words::is_pattern(pattern) => pattern.clone(),
        Some((folder, name)) => format!("{folder}/**/{name}"),
        None => format!("**/{pattern}"),
    };
    patterns.map(below).collect()
}

fn of_find(words: &[String]) -> Vec<String> {
    let starts: Vec<&str> =
        words[1..].iter().map(String::as_str).take_while(|word| !word.starts_with(['-', '(', '!'])).collect();
    let named = words.windows(2).filter(|pair| pair[0] == "-name").map(|pair| &pair[1]);
    let starts = if starts.is_empty() { vec!["."] } else { starts };
    let below = |name: &String, start: &str| match start.trim_end_matches('/') {
        "." => format!("**/{name}"),
        start => format!("{start}/**/{name}"),
    };
    named.flat_map(|name| starts.iter().map(move |start| below(name, start))).collect()
}
