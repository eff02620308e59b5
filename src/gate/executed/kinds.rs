//! Programs that run tests of other kinds and say nothing of how many ran, and which of their words are these tests.

use crate::gate::names;
use crate::gate::words;

const RUNNERS: [&str; 15] = [
    "newman",
    "hurl",
    "robot",
    "pabot",
    "k6",
    "artillery",
    "venom",
    "playwright",
    "cypress",
    "behave",
    "cucumber",
    "cucumber-js",
    "godog",
    "rspec",
    "tavern",
];

/// Those whose tests come behind the word `run`, whatever their names.
const RUN: [&str; 5] = ["newman", "k6", "artillery", "venom", "tavern"];

/// Programs that take the tests of a whole folder.
const OF_FOLDERS: [&str; 10] =
    ["robot", "pabot", "behave", "cucumber", "cucumber-js", "godog", "rspec", "venom", "bats", "prove"];

/// Options of these behind which no value comes, beside clusters such as `-lv`.
const SWITCHES: [&str; 7] = ["-r", "-lr", "-lvr", "-vr", "--recurse", "--verbose", "--stop"];

/// Programs that hold documents against a schema, with the options by which they are given it.
const BY_SCHEMA: [(&str, &[&str]); 3] = [
    ("xmllint", &["--schema", "--relaxng", "--schematron", "--dtdvalid"]),
    ("check-jsonschema", &["--schemafile"]),
    ("ajv", &["-s"]),
];

/// Tells whether a command starts such a runner.
pub(super) fn is_runner(words: &[String]) -> bool {
    words.iter().any(|word| RUNNERS.contains(&words::name(word)))
}

/// Returns which of the words of a command are tests by what they are given to.
pub(super) fn tests(words: &[String]) -> Vec<String> {
    let starts = |programs: &[&str]| words.iter().any(|word| programs.contains(&words::name(word)));
    let (is_runner, is_behind_run) = (is_runner(words), starts(&RUN));
    let of_options = words.iter().filter_map(|word| word.strip_prefix('-')?.split_once('=')).map(|(_, value)| value);
    let behind_run = words.windows(2).filter(|pair| pair[0] == "run" && is_behind_run).map(|pair| pair[1].as_str());
    let plain = words.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    let named = plain.chain(of_options).filter(|word| is_runner && names::is_test_of_a_kind(word));
    behind_run.filter(|word| !word.starts_with('-')).chain(named).map(str::to_owned).collect()
}

/// Returns which of the words may be folders from which such a runner takes its tests.
pub(super) fn folders(words: &[String]) -> Vec<String> {
    let Some(at) = words.iter().position(|word| OF_FOLDERS.contains(&words::name(word))) else { return Vec::new() };
    let is_value = |at: usize| words[at - 1].starts_with('-') && !is_switch(&words[at - 1]);
    let is_plain = |at: usize| !words[at].starts_with('-') && !is_value(at) && words[at] != "run";
    let places = (at + 1..words.len()).filter(|at| is_plain(*at));
    places.map(|at| words[at].clone()).filter(|word| !words::name(word).contains('.')).collect()
}

/// Tells whether an option has no value behind it, as far as that is known.
fn is_switch(option: &str) -> bool {
    let cluster = option.strip_prefix('-').unwrap_or_default();
    option.starts_with("--no-") || SWITCHES.contains(&option) || cluster.chars().all(|c| "lvqw".contains(c))
}

/// Returns the texts whose examples a command tries, such as by `python3 -m doctest guide.md`; a program is the product.
pub(super) fn examples(words: &[String]) -> Vec<String> {
    let by_module = words.windows(2).position(|pair| pair[0] == "-m" && pair[1] == "doctest");
    let by_pytest = words.iter().position(|word| word.starts_with("--doctest-glob"));
    let start = match (by_module, by_pytest) {
        (Some(at), _) => at + 2,
        (None, Some(_)) => 1,
        (None, None) => return Vec::new(),
    };
    let is_value = |at: usize| matches!(words[at - 1].as_str(), "-o" | "--option" | "--doctest-glob" | "-m");
    let places = (start..words.len()).filter(|at| !words[*at].starts_with('-') && !is_value(*at));
    places.map(|at| words[at].clone()).filter(|word| names::is_data(word)).collect()
}

/// Tells whether a command runs doctest in such a way that it says nothing where it finds no example.
pub(super) fn is_silent_doctest(words: &[String]) -> bool {
    let by_module = words.windows(2).any(|pair| pair[0] == "-m" && pair[1] == "doctest");
    by_module && !words.iter().any(|word| matches!(word.as_str(), "-v" | "--verbose"))
}

/// Returns the schemas that a command holds documents against.
pub(super) fn schemas(words: &[String]) -> Vec<String> {
    let of_these = BY_SCHEMA.iter().filter(|(program, _)| words.iter().any(|word| words::name(word) == *program));
    let options: Vec<&str> = of_these.flat_map(|(_, options)| options.iter().copied()).collect();
    let behind = words.windows(2).filter(|pair| options.contains(&pair[0].as_str())).map(|pair| pair[1].clone());
    let put_together = words.iter().filter_map(|word| word.split_once('='));
    let put_together = put_together.filter(|(option, _)| options.contains(option)).map(|(_, value)| value.to_owned());
    behind.chain(put_together).collect()
}
