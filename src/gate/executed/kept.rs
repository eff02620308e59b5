//! What a text keeps for later: what its variables hold, and what lies in the files that it writes itself.

use crate::gate::executed::commands::Command;
use crate::gate::executed::compared;
use crate::gate::executed::compared::Side;
use crate::gate::words;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// What was kept so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    variables: BTreeMap<String, Side>,
    files: BTreeMap<String, Side>,
    /// Variables that hold what something printed.
    printed: BTreeSet<String>,
}

impl Kept {
    pub(super) fn get(&self, variable: &str) -> Option<&Side> {
        self.variables.get(variable)
    }

    pub(super) fn insert(&mut self, variable: String, side: Side) {
        self.variables.insert(variable, side);
    }

    /// Notes a variable that holds what commands print, if these run something.
    pub(super) fn note_printed(&mut self, variable: &str, commands: &[Command]) {
        if compared::runs(commands) {
            self.printed.insert(variable.to_owned());
        }
    }

    pub(super) fn is_printed(&self, variable: &str) -> bool {
        self.printed.contains(variable)
    }

    /// Returns what lies in a file that the text wrote.
    pub(super) fn file(&self, word: &str) -> Option<&Side> {
        self.files.get(&plain(word))
    }

    /// Notes the files that a command writes, behind these in its pipeline.
    pub(super) fn note_written(&mut self, command: &Command, written: &[String], before: &[Command]) {
        let whole: Vec<Command> = before.iter().chain([command]).cloned().collect();
        let side = compared::made_by(&whole, self);
        for word in written {
            self.files.insert(plain(word), side.clone());
        }
    }

    /// Notes what `cp` and the like are given: the files, and where they go.
    pub(super) fn note_copied(&mut self, operands: &[String]) {
        let Some((to, from)) = operands.split_last() else { return };
        for file in from {
            let side = compared::copy_of(compared::file(file, self));
            self.files.insert(plain(&format!("{}/{}", to.trim_end_matches('/'), words::name(file))), side.clone());
            self.files.insert(plain(to), side);
        }
    }
}

/// Returns one spelling for the different ones of a path.
fn plain(word: &str) -> String {
    word.replace(['{', '}'], "").trim_start_matches("./").to_owned()
}
