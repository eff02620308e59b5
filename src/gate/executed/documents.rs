//! What `jq` and its like hold together: documents that they read, that they are given by name, and that a pipe brings.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::compared;
use crate::gate::executed::compared::Comparison;
use crate::gate::executed::compared::Side;
use crate::gate::executed::kept::Kept;

/// Such programs.
const PROGRAMS: [&str; 4] = ["jq", "gojq", "jaq", "yq"];

/// Their options behind which a name comes, and a value.
const VALUES_BY_NAME: [&str; 2] = ["--arg", "--argjson"];

/// Their options behind which one word comes that is no document.
const VALUED: [&str; 5] = ["-L", "--indent", "-o", "-p", "-I"];

/// The subcommands of `yq`.
const SUBCOMMANDS: [&str; 4] = ["e", "ea", "eval", "eval-all"];

/// What in their language holds one thing against another.
const COMPARING: [&str; 7] = ["==", "!=", "contains(", "inside(", "IN(", "index(", " - "];

/// The words of such a command.
#[derive(Default)]
struct Words<'a> {
    /// What is asked; none where it stands in a file.
    filter: Option<&'a str>,
    is_in_file: bool,
    /// Places of the documents.
    documents: Vec<usize>,
    /// Places of what is given by a name: documents, and texts.
    named: Vec<usize>,
    texts: Vec<usize>,
    options: Vec<&'a str>,
}

/// Returns the comparison of the documents of a command, such as of `jq -es '.[0] == .[1]' - want.json`.
pub(super) fn held_together(command: &Command, before: &[Command], program: &str, kept: &Kept) -> Option<Comparison> {
    if !PROGRAMS.contains(&program) {
        return None;
    }
    let words = Words::of(command);
    let holds_two = program == "yq" || words.has('s', "--slurp") || words.takes_by_name() || words.asks_for("input");
    if !holds_two || !words.compares() {
        return None;
    }
    let inner = |at: usize| command.within.iter().find(|(place, _)| *place == at).map(|(_, inner)| inner.as_str());
    let document = |at: &usize| {
        let word = command.words.get(*at)?;
        Some(match (word.as_str(), inner(*at)) {
            ("-" | "/dev/stdin", _) => compared::upstream(command, before, kept),
            ("$", Some(inner)) => compared::side(word, Some(inner), kept),
            _ => compared::file(word, kept),
        })
    };
    let text = |at: &usize| Some(compared::side(command.words.get(*at)?, inner(*at), kept));
    let is_made = |side: &Side| !matches!(side, Side::Said(_));
    let mut sides: Vec<Side> = words.documents.iter().chain(&words.named).filter_map(document).collect();
    sides.extend(words.texts.iter().filter_map(text).filter(is_made));
    if words.documents.is_empty() && !words.has('n', "--null-input") {
        sides.extend(put_together(before, kept).unwrap_or_else(|| vec![compared::upstream(command, before, kept)]));
    }
    Comparison::of_sides(sides)
}

/// Returns the files that `cat out.json want.json` puts together.
fn put_together(before: &[Command], kept: &Kept) -> Option<Vec<Side>> {
    let [command] = before else { return None };
    let is_cat = aside::command_itself(&command.words).first().is_some_and(|word| word == "cat");
    Some(compared::files_read(command, kept)).filter(|files| is_cat && files.len() > 1)
}

impl<'a> Words<'a> {
    fn of(command: &'a Command) -> Self {
        let mut of = Self::default();
        let mut at = command.words.len() - aside::command_itself(&command.words).len() + 1;
        while let Some(word) = command.words.get(at).map(String::as_str) {
            at += match word {
                _ if command.writes.contains(&at) || command.reads.contains(&at) => 1,
                _ if compared::FILES_BY_NAME.contains(&word) => {
                    of.named.push(at + 2);
                    3
                }
                _ if VALUES_BY_NAME.contains(&word) => {
                    of.texts.push(at + 2);
                    3
                }
                "--args" | "--jsonargs" => break,
                _ if compared::is_file_option(word) => {
                    of.is_in_file = true;
                    2
                }
                _ if VALUED.contains(&word) => 2,
                "-" => of.take_document(at),
                _ if word.starts_with('-') => {
                    of.options.push(word);
                    1
                }
                _ if of.filter.is_none() && !of.is_in_file => {
                    of.filter = Some(word).filter(|word| !SUBCOMMANDS.contains(word));
                    1
                }
                _ => of.take_document(at),
            };
        }
        of
    }

    fn take_document(&mut self, at: usize) -> usize {
        self.documents.push(at);
        1
    }

    fn has(&self, short: char, long: &str) -> bool {
        let is = |option: &&str| **option == *long || !option.starts_with("--") && option.contains(short);
        self.options.iter().any(is)
    }

    fn takes_by_name(&self) -> bool {
        !self.named.is_empty() || !self.texts.is_empty()
    }

    fn asks_for(&self, what: &str) -> bool {
        self.filter.is_none_or(|filter| filter.contains(what))
    }

    /// Tells whether it holds one thing against another; of a filter in a file nobody knows.
    fn compares(&self) -> bool {
        self.filter.is_none_or(|filter| COMPARING.iter().any(|mark| filter.contains(mark)))
    }
}
