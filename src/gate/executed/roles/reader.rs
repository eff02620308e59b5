//! Reads a text command by command, and notes what each does with the files that it names.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::commands;
use crate::gate::executed::compared;
use crate::gate::executed::compared::Comparison;
use crate::gate::executed::compared::Side;
use crate::gate::executed::kept::Kept;
use crate::gate::executed::kinds;
use crate::gate::executed::listed;
use crate::gate::executed::looking;
use crate::gate::executed::looking::ASKING;
use crate::gate::executed::looking::FEEDING;
use crate::gate::executed::looking::MOVING;
use crate::gate::executed::looking::is_reader;
use crate::gate::executed::looking::switches;
use crate::gate::executed::roles::Naming;
use crate::gate::executed::roles::Role;
use crate::gate::executed::roles::namings_in_code;
use crate::gate::executed::roles::spelled_out;
use crate::gate::executed::runners;
use crate::gate::executed::scripts;
use crate::gate::names;
use crate::gate::words;

/// What passes on what a command prints, or keeps it.
const PASSING: [&str; 5] = ["tee", "cat", "tail", "head", "ts"];

/// Programs that run a script, beside those of which more is known.
const OTHER_INTERPRETERS: [&str; 8] = ["php", "tsx", "ts-node", "lua", "Rscript", "tclsh", "wish", "expect"];

/// Programs that start another one, and their words for that.
const STARTING: [&str; 14] = [
    "npx", "bunx", "pnpm", "uv", "poetry", "pipenv", "pdm", "rye", "hatch", "nice", "xvfb-run", "stdbuf", "setsid",
    "sudo",
];
const SUBCOMMANDS: [&str; 3] = ["run", "exec", "dlx"];

/// Texts within texts are read this far.
const DEPTH: usize = 6;

/// Takes away the programs that start another, with their options.
fn started(words: &[String]) -> &[String] {
    let mut rest = words;
    while rest.first().is_some_and(|word| STARTING.contains(&words::name(word))) {
        let behind =
            rest.iter().skip(1).take_while(|word| word.starts_with('-') || SUBCOMMANDS.contains(&word.as_str()));
        let next = 1 + behind.count();
        if next >= rest.len() {
            break;
        }
        rest = &rest[next..];
    }
    rest
}

fn copies(program: &str) -> bool {
    matches!(program, "cp" | "ln")
}

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
        self.take_listed(words, program, around);
        for file in kinds::schemas(words).into_iter().chain(kinds::examples(words)) {
            // What a document is tells its ending the least.
            let bare = file.rsplit_once('.').map_or(file.as_str(), |(bare, _)| bare);
            let role = if names::is_product(bare) { Role::Compared } else { Role::Expected };
            self.add(&[file], role);
        }
        self.note_end(command, words, program, around);
        match program {
            "" => {}
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
            _ if MOVING.contains(&program) => {
                if let ("for", [name, by, item]) = (program, operands.as_slice())
                    && by == "in"
                {
                    self.kept.insert(name.clone(), Side::Said(item.clone()));
                }
                if let (".", [script, given @ ..]) | ("source", [script, given @ ..]) = (program, operands.as_slice())
                    && scripts::is_sourced_script(script)
                {
                    self.take_script(script, given, around);
                }
                if program == "case" {
                    self.comparisons.extend(Comparison::of_values(command, &self.kept));
                }
                self.add(&operands, if copies(program) { Role::Copied } else { Role::Handed });
            }
            _ if aside::prepares(program, words) || aside::looks(words) => self.add(&operands, Role::LookedAt),
            _ => self.take_program(words, &operands, around),
        }
        if copies(program) {
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
        }
    }

    /// Reads the texts that the shell puts into a command, or that the command is given to run.
    fn take_inner(&mut self, command: &Command, program: &str, around: &Around) {
        if around.of.depth >= DEPTH {
            return;
        }
        let is_shell = program.ends_with("sh") || matches!(program, "eval" | "source" | ".");
        let of = Surroundings { depth: around.of.depth + 1, is_run: is_shell || around.of.is_run, is_used: true };
        for script in scripts::put_in(command, program, &self.kept) {
            self.take_script(&script, &[], around);
        }
        for (_, inner) in &command.within {
            self.read(inner, of);
        }
        if is_shell {
            let texts = command.words.iter().filter(|word| word.contains(char::is_whitespace));
            let is_used = around.of.is_used || around.asked || !around.after.is_empty();
            let of = Surroundings { depth: of.depth, is_used, ..around.of };
            texts.for_each(|text| self.read(text, of));
        }
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

    /// Takes a command that runs a script, or a text in its place.
    fn take_interpreter(&mut self, words: &[String], operands: &[String], around: &Around) {
        let program = words::name(&words[0]);
        let script = words::behind_options(program, words[1..].iter().map(String::as_str)).map(str::to_owned);
        let by_runner = words.iter().any(|word| word == "--test");
        let is_subcommand = |script: &str| {
            !program.ends_with("sh") && script.contains(|c: char| c.is_whitespace() || "(){};='\"".contains(c))
                || matches!(program, "bun" | "deno") && script == "test"
                || by_runner && words::is_folder_of_tests(script)
        };
        if let Some(script) = script.filter(|script| operands.contains(script) && !is_subcommand(script)) {
            let at = operands.iter().position(|operand| *operand == script).unwrap_or_default();
            self.take_script(&script, &operands[at + 1..], around);
        }
        let is_code = |word: &&String| word.contains(|c: char| c.is_whitespace() || "()'\"".contains(c));
        self.take_runner(words, operands, around);
        if !program.ends_with("sh") {
            let is_fed = !around.before.is_empty();
            operands.iter().filter(is_code).for_each(|code| self.take_code(code, is_fed, around));
        }
        self.add(operands, Role::Handed);
    }

    /// Takes the code of another language; where it compares what came out, it may be with what it names.
    fn take_code(&mut self, code: &str, is_fed: bool, around: &Around) {
        let imported = looking::imported(code, around.of.is_used || !around.after.is_empty());
        let mut named = namings_in_code(code);
        named.retain(|naming| !imported.contains(&naming.word));
        self.add(&imported, Role::Imported);
        if looking::compares_what_came(code, is_fed) {
            let words = named.iter().filter(|naming| !names::is_product(&naming.word));
            self.found.extend(words.map(|naming| Naming { word: naming.word.clone(), role: Role::InCode }));
        }
        self.found.extend(named);
    }

    /// Takes a text behind `<<`, where the line before gives it to an interpreter as its code.
    pub(super) fn take_here_text(&mut self, line: &str, code: &str) {
        let is_code = |command: &Command| {
            let words = started(aside::command_itself(&command.words));
            words
                .first()
                .map(|word| words::name(word))
                .is_some_and(|name| is_interpreter(name) && !name.ends_with("sh"))
        };
        if let Some(command) = commands(line).iter().find(|command| is_code(command)) {
            let (before, after, of) = (&[][..], &[][..], Surroundings::default());
            let around = Around { before, after, asked: false, switches: false, of };
            self.take_code(code, command.piped, &around);
        }
    }

    /// Takes the files that a text finds by a pattern, where it runs each of them.
    fn take_listed(&mut self, words: &[String], program: &str, around: &Around) {
        let patterns = match program {
            "xargs" | "parallel" if listed::runs_each(words) => listed::patterns(around.before),
            "find" => listed::run_by_find(words),
            "read" => {
                if let ([pattern], Some(name)) = (listed::patterns(around.before).as_slice(), words.last()) {
                    self.kept.insert(name.clone(), Side::Said(pattern.clone()));
                }
                return;
            }
            _ => return,
        };
        patterns.iter().for_each(|pattern| self.take_script(pattern, &[], around));
    }

    /// Takes a script with its arguments; for a variable, what that holds.
    fn take_script(&mut self, script: &str, arguments: &[String], around: &Around) {
        let script = match compared::file(script, &self.kept) {
            Side::File(file) if script.contains('$') => file,
            _ => script.to_owned(),
        };
        if self.take_judge(&script, arguments, around) {
            self.scripts.push(script);
        } else if around.of.is_used && !around.of.is_run {
            self.add(&[script], Role::Valued);
        }
    }

    /// Takes a file that judges if nothing looks at what it does, and tells whether that is so.
    fn take_judge(&mut self, script: &str, arguments: &[String], around: &Around) -> bool {
        let decides = around.lets_decide();
        if decides && names::judges(script, arguments) {
            self.add(&[script.to_owned()], Role::Judges);
        }
        decides
    }

    /// Takes a command that prints what a file holds: what comes of it depends on who reads that.
    fn take_reader(&mut self, command: &Command, program: &str, operands: &[String], around: &Around) {
        let program_of = |next: &Command| {
            aside::command_itself(&next.words).first().map_or(String::new(), |word| words::name(word).to_owned())
        };
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
            let scripts = if around.of.is_used { Vec::new() } else { compared::scripts(command, program) };
            let given = compared::given(command, &self.kept);
            let given = if around.of.is_used || kept || !compared::is_asked(program) { Vec::new() } else { given };
            let compared = scripts.iter().chain(&given);
            self.comparisons.extend(compared.map(|file| Comparison::with_output(file, &Kept::default())));
        }
        if compared::greps(program) {
            let files = compared::looked_through(command, &self.kept);
            self.add(&files, Role::Compared);
        }
    }

    /// Takes the files that a runner is given; what a task runner is given names no file.
    fn take_runner(&mut self, words: &[String], operands: &[String], around: &Around) {
        if around.lets_decide() {
            self.add(&kinds::tests(words), Role::Judges);
            self.add(&kinds::folders(words), Role::Searched);
        }
        let folders = runners::folders(words);
        // Of a bare word that is not there nobody knows that it is a path.
        let of_go = words.iter().any(|word| words::name(word) == "go");
        let spelled = folders.iter().filter(|folder| folder.contains('/') && !of_go).cloned().collect::<Vec<_>>();
        self.add(&spelled, Role::Judges);
        self.add(&folders, Role::Searched);
        if (1..runners::ALL.len()).contains(&runners::started_by(words).len()) {
            let is_value = |word: &str| words.iter().any(|whole| whole.ends_with(&format!("={word}")));
            let files = operands.iter().filter(|word| {
                let file = words::name(word.split("::").next().unwrap_or_default());
                (names::is_code(file) || names::is_test_of_a_kind(file)) && !is_value(word)
            });
            files.for_each(|file| _ = self.take_judge(file, &[], around));
        }
    }

    /// Takes a command that is a script of the project, or another program.
    fn take_program(&mut self, words: &[String], operands: &[String], around: &Around) {
        let by_go = words.windows(2).position(|pair| pair[0] == "go" && pair[1] == "run");
        if let Some(driver) = by_go.and_then(|at| words.get(at + 2)).filter(|_| around.lets_decide()) {
            let is_test = words::project_path(driver, ".", "").is_some_and(|path| words::looks_like_test(&path));
            self.found.extend(is_test.then(|| Naming { word: driver.clone(), role: Role::Judges }));
        }
        if words[0].contains('/') {
            self.take_script(&words[0], operands, around);
            self.add(&words[..1], Role::Handed);
        }
        self.take_runner(words, operands, around);
        let tests = !runners::started_by(words).is_empty() || kinds::is_runner(words);
        let (data, other): (Vec<String>, Vec<String>) =
            operands.iter().cloned().partition(|word| !tests && names::is_data(word));
        self.add(&data, Role::Read);
        self.add(&other, Role::Handed);
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
