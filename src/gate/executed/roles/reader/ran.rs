//! What a command runs: a script, a text in its place, tests that a runner is given.

use super::Around;
use super::DEPTH;
use super::Reader;
use super::Surroundings;
use super::is_interpreter;
use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::commands;
use crate::gate::executed::compared;
use crate::gate::executed::compared::Side;
use crate::gate::executed::fed;
use crate::gate::executed::kinds;
use crate::gate::executed::listed;
use crate::gate::executed::looking;
use crate::gate::executed::roles::Naming;
use crate::gate::executed::roles::Role;
use crate::gate::executed::roles::namings_in_code;
use crate::gate::executed::runners;
use crate::gate::executed::starters::started;
use crate::gate::names;
use crate::gate::words;

/// Programs that run the product, or what lies elsewhere.
const NO_WRAPPERS: [&str; 10] =
    ["cargo", "go", "make", "npm", "yarn", "docker", "docker-compose", "podman", "kubectl", "ssh"];

impl Around<'_> {
    /// Returns what a script is of which something looks at what it prints or leaves: a judge still, where nothing but its
    /// name's end tells of a test, where it is given something to look at, or where its name is a verb, perhaps the product.
    pub(super) fn role_of_asked(&self, script: &str, arguments: &[String]) -> Option<Role> {
        let is_value = self.of.is_used && !self.of.is_run || !self.after.is_empty();
        let is_given = !self.before.is_empty() || arguments.iter().any(|argument| !argument.starts_with('-'));
        let by_a_verb = names::judges_by_a_verb(script);
        match () {
            () if names::judges_surely(script) => Some(Role::Judges),
            () if !is_value || words::is_test_by_its_end(script) || !names::judges(script, arguments) => None,
            () if !is_given && !by_a_verb => Some(Role::Judges),
            () => (!is_given || !by_a_verb).then_some(Role::Compared),
        }
    }
}

impl Reader {
    /// Takes a command that runs a script, or a text in its place.
    pub(super) fn take_interpreter(&mut self, words: &[String], operands: &[String], around: &Around) {
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
    pub(in crate::gate::executed::roles) fn take_here_text(&mut self, line: &str, code: &str) {
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
    pub(super) fn take_listed(&mut self, words: &[String], program: &str, around: &Around) {
        let patterns = match program {
            "xargs" | "parallel" if listed::runs_each(words) => listed::patterns(around.before),
            "find" => listed::run_by_find(words),
            "read" => {
                if let ([pattern], Some(name)) = (listed::patterns(around.before).as_slice(), words.last()) {
                    self.kept.insert(name.clone(), Side::Said(pattern.clone()));
                }
                words[1..].iter().for_each(|name| self.kept.note_printed(name, around.before));
                return;
            }
            _ => return,
        };
        patterns.iter().for_each(|pattern| self.take_script(pattern, &[], around));
    }

    /// Takes what `xargs` starts.
    pub(super) fn take_fed_by_xargs(
        &mut self,
        command: &Command,
        words: &[String],
        operands: &[String],
        around: &Around,
    ) {
        match fed::by_xargs(command, around.before) {
            Some(fed) if around.of.depth < DEPTH => {
                let of = Surroundings { depth: around.of.depth + 1, ..around.of };
                self.take(&fed, &Around { before: &[], of, ..*around });
            }
            _ => self.take_program(words, operands, around),
        }
    }

    /// Takes a script with its arguments; for a variable, what that holds.
    pub(super) fn take_script(&mut self, script: &str, arguments: &[String], around: &Around) {
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

    /// Takes a file that may judge, and tells whether nothing looks at what it does.
    fn take_judge(&mut self, script: &str, arguments: &[String], around: &Around) -> bool {
        let decides = around.lets_decide();
        let role = match decides {
            true => names::judges(script, arguments).then_some(Role::Judges),
            false => around.role_of_asked(script, arguments),
        };
        self.found.extend(role.map(|role| Naming { word: script.to_owned(), role }));
        decides
    }

    /// Takes the files that a runner is given; what a task runner is given names no file.
    pub(super) fn take_runner(&mut self, words: &[String], operands: &[String], around: &Around) {
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

    /// Takes a script that a program of which nothing is known is given with its interpreter, as in `wrapper sh e2e.sh`.
    fn take_wrapped(&mut self, words: &[String], around: &Around) {
        let program = words[0].as_str();
        let Some(at) = (1..words.len()).find(|at| is_interpreter(&words[*at])) else { return };
        if program.contains(['/', '$']) || NO_WRAPPERS.contains(&program) {
            return;
        }
        let behind = &words[at + 1..];
        if let Some(script) = words::behind_options(&words[at], behind.iter().map(String::as_str)) {
            let given = behind.iter().skip_while(|word| *word != script).skip(1).cloned().collect::<Vec<_>>();
            self.take_judge(script, &given, around);
        }
    }

    /// Takes a command that is a script of the project, or another program.
    pub(super) fn take_program(&mut self, words: &[String], operands: &[String], around: &Around) {
        let by_go = words.windows(2).position(|pair| pair[0] == "go" && pair[1] == "run");
        if let Some(driver) = by_go.and_then(|at| words.get(at + 2)).filter(|_| around.lets_decide()) {
            let is_test = words::project_path(driver, ".", "").is_some_and(|path| words::looks_like_test(&path));
            self.found.extend(is_test.then(|| Naming { word: driver.clone(), role: Role::Judges }));
        }
        if words[0].contains('/') {
            self.take_script(&words[0], operands, around);
            self.add(&words[..1], Role::Handed);
        }
        self.take_wrapped(words, around);
        self.take_runner(words, operands, around);
        let tests = !runners::started_by(words).is_empty() || kinds::is_runner(words);
        let (data, other): (Vec<String>, Vec<String>) =
            operands.iter().cloned().partition(|word| !tests && names::is_data(word));
        self.add(&data, Role::Read);
        self.add(&other, Role::Handed);
    }
}
