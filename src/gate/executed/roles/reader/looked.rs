//! What a command looks at and prints: what comes of it depends on who reads that.

use super::Around;
use super::Reader;
use super::is_interpreter;
use super::written_to;
use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::compared;
use crate::gate::executed::compared::Comparison;
use crate::gate::executed::documents;
use crate::gate::executed::filters;
use crate::gate::executed::filters::Says;
use crate::gate::executed::kept::Kept;
use crate::gate::executed::listed;
use crate::gate::executed::looking::ASKING;
use crate::gate::executed::looking::FEEDING;
use crate::gate::executed::looking::is_reader;
use crate::gate::executed::roles::Role;
use crate::gate::names;
use crate::gate::words;

/// Returns the program of a command; for `xargs`, the one that it starts, if that only looks.
fn program_of(command: &Command) -> String {
    let words = aside::command_itself(&command.words);
    let name = |words: &[String]| words.first().map_or(String::new(), |word| words::name(word).to_owned());
    let started = name(aside::command_itself(listed::behind_xargs(words).0));
    let looks = is_reader(&started) || ASKING.contains(&started.as_str());
    if name(words) == "xargs" && looks { started } else { name(words) }
}

impl Reader {
    /// Takes a command that prints what a file holds: what comes of it depends on who reads that.
    pub(super) fn take_reader(&mut self, command: &Command, program: &str, operands: &[String], around: &Around) {
        let after: Vec<String> = around.after.iter().map(program_of).collect();
        let runs = |next: &String| FEEDING.contains(&next.as_str()) || is_interpreter(next);
        let kept = !written_to(command).is_empty();
        let looks = |next: &String| is_reader(next) || ASKING.contains(&next.as_str());
        let role = match () {
            () if around.of.is_run || around.switches || after.iter().any(runs) => Role::Handed,
            () if kept => Role::Copied,
            () if around.of.is_used || !after.iter().all(looks) => Role::Read,
            () => Role::LookedAt,
        };
        self.comparisons.extend(Comparison::with_patterns(command, program, around.before, &self.kept));
        self.add(operands, role);
        if around.after.is_empty() && command.piped {
            // Where something looks at what it prints, its script is the program under test.
            let scripts = if around.of.is_used { Vec::new() } else { filters::programs(command, program) };
            let given = compared::given(command, &self.kept);
            let given = if around.of.is_used || kept || !compared::is_asked(program) { Vec::new() } else { given };
            let compared = scripts.iter().chain(&given);
            self.comparisons.extend(compared.map(|file| Comparison::with_output(file, &Kept::default())));
        }
        self.take_filter(command, program, around, kept);
        if compared::greps(program) {
            let files = compared::looked_through(command, &self.kept);
            if compared::finds_lines(command) {
                self.comparisons.extend(files.iter().map(|file| Comparison::with_output(file, &self.kept)));
            } else {
                self.add(&files, Role::Compared);
            }
        }
    }

    /// Takes the program that a reader is told by, and files that it holds together; `kept` where its output goes to a file.
    fn take_filter(&mut self, command: &Command, program: &str, around: &Around, kept: bool) {
        let programs = filters::programs(command, program);
        let lies_with_tests =
            |file: &&String| words::looks_like_test(file) || around.lets_decide() && !kept && names::judges(file, &[]);
        let (tests, others): (Vec<&String>, Vec<&String>) = programs.iter().partition(lies_with_tests);
        tests.into_iter().for_each(|file| self.add(std::slice::from_ref(file), Role::Judges));
        if !command.piped && !kept && around.after.is_empty() && around.lets_decide() {
            for file in others {
                match filters::says(command, program, &self.kept) {
                    Says::Verdict => self.comparisons.push(Comparison::with_output(file, &Kept::default())),
                    Says::Unclear => self.add(std::slice::from_ref(file), Role::Compared),
                    Says::Nothing => {}
                }
            }
        }
        self.add(&filters::looked_up(command, program), Role::Compared);
        self.comparisons.extend(filters::held_together(command, (around.before, around.after), program, &self.kept));
        let looks = around.after.iter().all(|next| is_reader(&program_of(next)));
        let held = documents::held_together(command, around.before, program, &self.kept).filter(|_| looks && !kept);
        self.comparisons.extend(held);
    }
}
