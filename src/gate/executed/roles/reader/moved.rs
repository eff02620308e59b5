//! What programs of the system are given after which something else may run it: a copy, a loop, a file that is read in.

use super::Around;
use super::Reader;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::commands;
use crate::gate::executed::compared::Comparison;
use crate::gate::executed::compared::Side;
use crate::gate::executed::roles::Role;
use crate::gate::executed::scripts;

/// Tells whether a program makes copies of what it is given.
pub(super) fn copies(program: &str) -> bool {
    matches!(program, "cp" | "ln")
}

impl Reader {
    /// Takes a command that starts such a program.
    pub(super) fn take_moving(&mut self, command: &Command, program: &str, operands: &[String], around: &Around) {
        match (program, operands) {
            ("for", [name, rest @ ..]) => self.note_looped(command, name, rest),
            ("." | "source", [script, given @ ..]) if scripts::is_sourced_script(script) => {
                self.take_script(script, given, around);
            }
            ("case", _) => self.comparisons.extend(Comparison::of_values(command, &self.kept)),
            _ => {}
        }
        self.add(operands, if copies(program) { Role::Copied } else { Role::Handed });
    }

    /// Notes what the variable of a loop holds: the one word that it takes, or what `$(sh a.sh)` prints.
    fn note_looped(&mut self, command: &Command, name: &str, rest: &[String]) {
        let inner: Vec<Command> = command.within.iter().flat_map(|(_, inner)| commands(inner)).collect();
        self.kept.note_printed(name, &inner);
        if let [by, item] = rest
            && by == "in"
        {
            self.kept.insert(name.to_owned(), Side::Said(item.clone()));
        }
    }
}
