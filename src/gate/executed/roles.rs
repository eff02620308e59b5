//! What a check does with the files that its text names: it runs them, hands them to a program, looks at them, or compares
//! with them what came out.
//!
//! It is no shell. A name of which it finds nothing is taken for one that is run.

mod reader;

use crate::gate::executed::aside;
use crate::gate::executed::commands::commands;
use crate::gate::executed::commands::here_texts;
use crate::gate::executed::kinds;
use crate::gate::executed::scripts;
use crate::gate::names;
use crate::gate::words;
use crate::gate::written::Written;
use reader::Reader;

/// What a check does with a file.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(in crate::gate) enum Role {
    /// It is run, nothing looks at what it does, and its name says that it tests.
    Judges,
    /// A runner takes the tests in it, if it is a folder that is there.
    Searched,
    /// It lies in a folder that the text puts on `PATH`, and judges, if it is there.
    Found,
    /// It would be run in place of a program of the system that judges, if it were there.
    Shadows,
    /// It is run, or handed to a program.
    Handed,
    /// It is copied, or what is made of it is kept.
    Copied,
    /// What it holds is given to a program.
    Read,
    /// It is looked at, as a product is.
    LookedAt,
    /// What comes out is compared with it.
    Expected,
    /// It is compared, and nobody knows whether it is what is expected or what came out.
    Compared,
    /// Code that compares names it: if it is there, it may be what is expected.
    InCode,
    /// Code imports it and looks at what it does, as at a product.
    Imported,
    /// It is run, and what it prints is a value that something else looks at.
    Valued,
    /// No file: of all that the text runs something else looks at what it does.
    OnlyUsed,
}

/// A word of a text that may name a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::gate) struct Naming {
    pub word: String,
    pub role: Role,
}

/// Finds what a text does with the words in it; `written` is what the check's texts write themselves.
pub(in crate::gate) fn namings(text: &str, written: &Written) -> Vec<Naming> {
    let mut reader = Reader::of(text);
    here_texts(text).iter().for_each(|(line, code)| reader.take_here_text(line, code));
    let Reader { mut found, comparisons, decides, negated, .. } = reader;
    // What also has to fail on something is the product.
    let is_product = |word: &String| negated.contains(word) && names::judges_by_a_verb(word);
    found.retain(|naming| naming.role != Role::Judges || !is_product(&naming.word));
    let has = |word: &str, role: Role| found.iter().any(|naming| naming.word == word && naming.role == role);
    let mut decided: Vec<Naming> = comparisons.iter().flat_map(|comparison| comparison.decide(written, &has)).collect();
    let is_failing = |naming: &&mut Naming| naming.role == Role::Expected && negated.contains(&naming.word);
    decided.iter_mut().filter(is_failing).for_each(|naming| naming.role = Role::Compared);
    found.extend(decided);
    found.extend((!decides).then(|| Naming { word: String::new(), role: Role::OnlyUsed }));
    found
}

/// Returns the script that a text runs and does nothing else, so that it alone decides.
pub(in crate::gate) fn sole_script(text: &str) -> Option<String> {
    let reader = Reader::of(text);
    let is_plain = |script: &&String| !script.contains(['$', '`']) && !words::is_pattern(script);
    match reader.scripts.as_slice() {
        [script] if scripts::is_one_pipeline(text) => Some(script).filter(is_plain).cloned(),
        _ => None,
    }
}

/// Returns the scripts that a text runs by their bare names, and does nothing else: each where it may lie on a `PATH` that
/// the text sets.
pub(in crate::gate) fn sole_scripts_on_path(text: &str) -> Vec<String> {
    let reader = Reader::of(text);
    if scripts::is_one_pipeline(text) { reader.scripts_on_path } else { Vec::new() }
}

/// Returns the patterns by which a text finds files that it runs, and that are not named as what judges.
pub(in crate::gate) fn patterns_run(text: &str) -> Vec<String> {
    let scripts = Reader::of(text).scripts.into_iter();
    scripts.filter(|script| words::is_pattern(script) && !names::judges(script, &[])).collect()
}

/// Tells whether a text starts a runner that says nothing of how many tests ran.
pub(in crate::gate) fn starts_other_runner(text: &str) -> bool {
    commands(&spelled_out(text)).iter().any(|command| kinds::is_runner(aside::command_itself(&command.words)))
}

/// Tells whether a text runs doctest in such a way that it says nothing where it finds no example.
pub(in crate::gate) fn runs_silent_doctest(text: &str) -> bool {
    commands(&spelled_out(text)).iter().any(|command| kinds::is_silent_doctest(aside::command_itself(&command.words)))
}

/// A text between `<( )` is run as one between `$( )` is.
pub(super) fn spelled_out(text: &str) -> String {
    words::spelled_out(text).replace("<(", "$(")
}

/// Finds the names in a text of another language: what they are for nobody knows.
pub(in crate::gate) fn namings_in_code(text: &str) -> Vec<Naming> {
    let mut named = words::words(text);
    named.extend(words::comma_parts(&named));
    let role = |word: &str| if names::is_data(word) { Role::Read } else { Role::Handed };
    named.into_iter().map(|word| Naming { role: role(word.trim_end_matches([',', ':'])), word }).collect()
}

#[cfg(test)]
mod tests;
