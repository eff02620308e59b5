//! Reads a text command by command, and notes what each does with the files that it names.

mod looked;
mod moved;
mod on_path;
mod ran;

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::commands;
use crate::gate::executed::compared;
use crate::gate::executed::compared::Comparison;
use crate::gate::executed::compared::Side;
use crate::gate::executed::kept::Kept;
use crate::gate::executed::kinds;
use crate::gate::executed::looking;
use crate::gate::executed::looking::ASKING;
use crate::gate::executed::looking::MOVING;
use crate::gate::executed::looking::is_reader;
use crate::gate::executed::looking::switches;
use crate::gate::executed::roles::Naming;
use crate::gate::executed::roles::Role;
use crate::gate::executed::roles::spelled_out;
use crate::gate::executed::scripts;
use crate::gate::executed::starters::started;
use crate::gate::executed::starters::text_for_a_shell;
use crate::gate::names;
use crate::gate::words;

/// What passes on what a command prints, or keeps it.
const PASSING: [&str; 5] = ["tee", "cat", "tail", "head", "ts"];

/// Programs that run a script, beside those of which more is known.
const OTHER_INTERPRETERS: [&str; 8] = ["php", "tsx", "ts-node", "lua", "Rscript", "tclsh", "wish", "expect"];

/// Texts within texts are read this far.
const DEPTH: usize = 6;

fn is_interpreter(program: &str) -> bool {
    words::INTERPRETERS.contains(&program) || OTHER_INTERPRETERS.contains(&program)
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, Default)]
struct Surroundings {
    depth: usize,
    /// What it prints is run.
    is_run: bool,
    /// What it prints goes into another command.
    is_used: bool,
}

/// What stands around a command.
struct Around<'a> {
    /// The commands before it in its pipeline, and those behind it.
    before: &'a [Command],
    after: &'a [Command],
    /// Commands behind its pipeline ask for something.
    asked: bool,
    /// What it asks for switches other commands on or off.
    switches: bool,
    of: Surroundings,
}

impl Around<'_> {
    /// Tells whether nothing looks at what a command here does, so that its end decides.
    fn lets_decide(&self) -> bool {
        let passes = |next: &Command| {
            let words = aside::command_itself(&next.words);
            words.first().is_some_and(|word| PASSING.contains(&words::name(word)))
        };
        !(self.of.is_used || self.asked || !self.after.iter().all(passes))
    }
}

#[derive(Default)]
pub(super) struct Reader {
    pub(super) found: Vec<Naming>,
    pub(super) comparisons: Vec<Comparison>,
    /// What variables hold.
    kept: Kept,
    /// Scripts that are run, and nothing looks at what they do.
    pub(super) scripts: Vec<String>,
    /// Folders that the text puts on `PATH`, and whether they go before those of the system.
    on_path: Vec<(String, bool)>,
    /// Scripts that may lie there, in the same way.
    pub(super) scripts_on_path: Vec<String>,
    /// Something runs whose end decides.
    pub(super) decides: bool,
    /// The text runs nothing of the project, so that all it reads is what it looks at.
    only_looks: bool,
    /// Words of commands that have to fail.
    pub(super) negated: Vec<String>,
}

impl Reader {
    /// Reads a text.
    pub(super) fn of(text: &str) -> Self {
        let mut reader = Self { only_looks: looking::runs_nothing(text), ..Self::default() };
        reader.read(text, Surroundings::default());
        reader
    }

    fn read(&mut self, text: &str, of: Surroundings) {
        let all: Vec<Command> = commands(&spelled_out(text)).into_iter().filter(|command| !command.inner).collect();
        let mut start = 0;
        while start < all.len() {
            let length = 1 + all[start + 1..].iter().take_while(|command| command.piped).count();
            let (pipeline, behind) = all[start..].split_at(length);
            let asked = behind.iter().any(|command| compared::asks(aside::command_itself(&command.words)));
            let switches = pipeline.last().is_some_and(|last| switches(pipeline, last.joint, behind.first()));
            for at in 0..length {
                let around = Around { before: &pipeline[..at], after: &pipeline[at + 1..], asked, switches, of };
                self.take(&pipeline[at], &around);
            }
            start += length;
        }
    }

    fn take(&mut self, command: &Command, around: &Around) {
        let words = aside::command_itself(&command.words);
        let skipped = command.words.len() - words.len();
        let only_reads = command.reads.contains(&skipped);
        let words = if only_reads { &[] } else { started(words) };
        let skipped = command.words.len() - words.len();
        let program = words.first().map_or("", |word| words::name(word));
        self.take_assignments(command, skipped, program);
        self.take_inner(command, program, around);
        self.take_fed(command, program, around);
        let operands = operands(command, skipped);
        self.add(&written_to(command), Role::LookedAt);
        self.take_found_on_path(words, &operands, around);
        self.take_listed(words, program, around);
        for file in kinds::schemas(words).into_iter().chain(kinds::examples(words)) {
            // What a document is tells its ending the least.
            let bare = file.rsplit_once('.').map_or(file.as_str(), |(bare, _)| bare);
            let role = if names::is_product(bare) { Role::Compared } else { Role::Expected };
            self.add(&[file], role);
        }
        self.note_end(command, words, program, around);
        // What stands before it is a lock, a value: nothing that is run.
        self.add(&command.words[..skipped], Role::LookedAt);
        match program {
            "" => {}
            _ if program != "eval" && text_for_a_shell(words).is_some() => self.add(&operands, Role::LookedAt),
            _ if is_interpreter(program) => {
                if let Some((script, given)) = scripts::from_input(command, skipped, around.before, &self.kept) {
                    self.take_script(&script, &given, around);
                }
                self.take_interpreter(words, &operands, around);
            }
            _ if compared::compares(words) => {
                self.comparisons.extend(Comparison::of(command, around.before, &self.kept));
            }
            _ if ASKING.contains(&program) => {
                self.comparisons.extend(Comparison::of_values(command, &self.kept));
                self.add(&operands, if around.switches { Role::Handed } else { Role::LookedAt });
            }
            _ if is_reader(program) || compared::sums(program) => self.take_reader(command, program, &operands, around),
            "expr" => {
                self.comparisons.extend(Comparison::of_values(command, &self.kept));
                self.add(&operands, Role::LookedAt);
            }
            "xargs" => self.take_fed_by_xargs(command, words, &operands, around),
            _ if MOVING.contains(&program) => self.take_moving(command, program, &operands, around),
            _ if aside::prepares(program, words) || aside::looks(words) => self.add(&operands, Role::LookedAt),
            _ => self.take_program(words, &operands, around),
        }
        if moved::copies(program) {
            self.kept.note_copied(&operands);
        }
        let written = if program == "tee" { operands } else { written_to(command) };
        self.kept.note_written(command, &written, around.before);
    }

    fn add(&mut self, words: &[String], role: Role) {
        self.found.extend(words.iter().map(|word| Naming { word: word.clone(), role }));
    }

    /// Notes whether the end of a command decides, and whether it has to fail.
    fn note_end(&mut self, command: &Command, words: &[String], program: &str, around: &Around) {
        let looks = is_reader(program) || ASKING.contains(&program) || aside::looks(words);
        self.decides |= !looks && !aside::prepares(program, words) && around.lets_decide();
        let before = &command.words[..command.words.len() - words.len()];
        if before.iter().any(|word| word == "!") {
            self.negated.extend(words.iter().cloned());
        }
    }

    /// Of `x=$(cat file)` the side is kept, to be found where `$x` is compared.
    fn take_assignments(&mut self, command: &Command, skipped: usize, program: &str) {
        let declares = matches!(program, "export" | "local" | "readonly" | "declare");
        for (at, word) in command.words.iter().enumerate().filter(|(at, _)| *at < skipped || declares) {
            let Some((name, value)) = word.split_once('=') else { continue };
            let inner = command.within.iter().find(|(place, _)| *place == at).map(|(_, inner)| inner);
            self.kept.insert(name.to_owned(), compared::side(value, inner.map(String::as_str), &self.kept));
            self.note_path(name, value);
            self.kept.note_printed(name, &inner.map_or(Vec::new(), |inner| commands(inner)));
        }
    }

    /// Reads the texts that the shell puts into a command, or that the command is given to run.
    fn take_inner(&mut self, command: &Command, program: &str, around: &Around) {
        if around.of.depth >= DEPTH {
            return;
        }
        let given = self.given_to_a_shell(command);
        let is_shell = program.ends_with("sh") || matches!(program, "source" | ".") || given.is_some();
        let of = Surroundings { depth: around.of.depth + 1, is_run: is_shell || around.of.is_run, is_used: true };
        for script in scripts::put_in(command, program, &self.kept) {
            self.take_script(&script, &[], around);
        }
        for (_, inner) in &command.within {
            self.read(inner, of);
        }
        if is_shell {
            let is_code = |at: usize| at > 0 && scripts::takes_code(program, &command.words[at - 1]);
            let texts = command
                .words
                .iter()
                .enumerate()
                .filter(|(at, word)| given.is_none() && (word.contains(char::is_whitespace) || is_code(*at)));
            let texts = texts.map(|(_, text)| text);
            let is_used = around.of.is_used || around.asked || !around.after.is_empty();
            let of = Surroundings { depth: of.depth, is_used, ..around.of };
            texts.chain(&given).for_each(|text| self.read(text, of));
        }
    }

    /// Returns the text that a command gives to a shell, for a variable what that holds.
    fn given_to_a_shell(&self, command: &Command) -> Option<String> {
        let text = text_for_a_shell(started(aside::command_itself(&command.words)))?;
        Some(match compared::side(&text, None, &self.kept) {
            Side::Said(held) => held,
            _ => text,
        })
    }

    /// Takes what comes by `<`.
    fn take_fed(&mut self, command: &Command, program: &str, around: &Around) {
        let reads = matches!(program, "read" | "mapfile" | "readarray" | "while" | "")
            || command.words.first().is_some_and(|word| word == "done");
        for word in command.reads.iter().filter_map(|at| command.words.get(*at)) {
            match () {
                () if program.is_empty() && around.of.is_used => self.add(std::slice::from_ref(word), Role::Read),
                () if reads && self.only_looks => self.add(std::slice::from_ref(word), Role::LookedAt),
                () if reads => self.comparisons.push(Comparison::with_output(word, &self.kept)),
                () if compared::compares(&command.words) => {}
                () if is_reader(program) || compared::sums(program) => {
                    self.add(std::slice::from_ref(word), Role::LookedAt);
                }
                () => self.add(std::slice::from_ref(word), Role::Handed),
            }
        }
    }
}

/// Returns the words behind a program that may be files, and the values of its options.
fn operands(command: &Command, skipped: usize) -> Vec<String> {
    let places = command.words.iter().enumerate().skip(skipped + 1);
    let own = places.filter(|(at, _)| !command.writes.contains(at) && !command.reads.contains(at));
    own.filter_map(|(_, word)| match word.strip_prefix('-') {
        Some(_) => word.split_once('=').map(|(_, value)| value.to_owned()),
        None => Some(word.clone()),
    })
    .collect()
}

/// Returns the files that what a command prints goes to.
fn written_to(command: &Command) -> Vec<String> {
    let words = command.writes.iter().filter_map(|at| command.words.get(*at));
    words.filter(|word| !word.starts_with("/dev/") && !word.chars().all(|c| c.is_ascii_digit())).cloned().collect()
}
