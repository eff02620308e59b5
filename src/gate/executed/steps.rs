//! What a check does step by step, as far as it tells whether a test runner decides.
//!
//! Scripts, the scripts of a `package.json` and the recipes of a `Makefile` are read as they lie in the tested tree. Who can
//! write them decides anyway; they are read so that honest work in them is not taken for an empty run.

use crate::gate::executed::aside;
use crate::gate::executed::commands::Command;
use crate::gate::executed::commands::DEFINES;
use crate::gate::executed::commands::Shown;
use crate::gate::executed::commands::commands;
use crate::gate::executed::ending;
use crate::gate::executed::ending::Owed;
use crate::gate::executed::heard;
use crate::gate::executed::heard::Lines;
use crate::gate::executed::recipes;
use crate::gate::executed::recipes::Idle;
use crate::gate::executed::recipes::Task;
use crate::gate::executed::runners;
use crate::gate::executed::runners::Runner;
use crate::gate::executed::starters::text_for_a_shell;
use crate::gate::words;

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// What one command comes to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// It starts what is known to tell how many tests ran.
    Runner(Vec<Runner>),
    /// It is a test by its name, and no known runner speaks for it.
    Test,
    /// It is the test script of a package, which may say by TAP that it holds no test.
    Script,
    /// It runs something, which may be the product.
    Other,
}

impl Step {
    /// Tells whether it tests something by a way of its own.
    pub(super) fn tests(&self) -> bool {
        matches!(self, Self::Test | Self::Script)
    }

    pub(super) fn runners(&self) -> &[Runner] {
        match self {
            Self::Runner(runners) => runners,
            Self::Test | Self::Script | Self::Other => &[],
        }
    }
}

/// Where the texts lie that a check names.
pub(super) trait Texts {
    /// Returns a file of memory's `checks/`.
    fn of_memory(&self, name: &str) -> Option<Vec<u8>>;
    /// Returns a file of the tested tree.
    fn of_tree(&self, path: &str) -> Option<Vec<u8>>;
    /// Tells whether something lies in the tested tree.
    fn lies(&self, path: &str) -> bool;
    /// Returns the project's root, as commands name it.
    fn root(&self) -> &str;
}

/// Programs that run the script, or the text, that they are given.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
const INTERPRETERS: [&str; 10] = ["python", "python3", "node", "tsx", "ruby", "perl", "deno", "bun", "ts-node", "php"];

/// How the name of a script sounds that tests, and of one that lies with tests and does not.
const SOUNDS: [&str; 6] = ["e2e", "smoke", "test", "check", "verify", "acceptance"];
const PREPARES: [&str; 9] = ["setup", "set_up", "prepare", "build", "install", "start", "seed", "fixture", "init"];

/// Scripts that call each other are followed this far, and no more of them are read.
const DEPTH: usize = 8;
const TEXTS: usize = 200;

/// What a check's text comes to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Read {
    pub(super) steps: Vec<Step>,
    /// The runners in it that have to tell their end.
    pub(super) owed: Vec<Owed>,
    /// Of the `make` that alone tests something.
    pub(super) idle: Option<Idle>,
    /// The program that runs what its own files say, where it comes last.
    pub(super) task: Option<String>,
}

/// Reads a check's text that runs in the folder `cwd`.
pub(super) fn read(text: &str, cwd: &str, texts: &dyn Texts) -> Read {
    let (left, owed) = (Cell::new(TEXTS), RefCell::default());
    let lines = if text.trim().contains('\n') { Lines::Each } else { Lines::Last };
    let (shown, around) = (Shown::default(), Vec::new());
    let functions = BTreeMap::new();
    let mut reader = Reader {
        texts,
        left: &left,
        owed: &owed,
        shown,
        around,
        cwd: cwd.to_owned(),
        depth: 0,
        functions,
        idle: None,
        task: None,
    };
    let steps = reader.read(text, lines);
    let (idle, task) = (reader.idle, reader.task);
    Read { steps, owed: owed.into_inner(), idle, task }
}

struct Reader<'a> {
    texts: &'a dyn Texts,
    /// Texts that may still be read.
    left: &'a Cell<usize>,
    owed: &'a RefCell<Vec<Owed>>,
    /// What is seen of the command that is read.
    shown: Shown,
    /// The words of what called this text.
    around: Vec<String>,
    cwd: String,
    depth: usize,
    functions: BTreeMap<String, Vec<Step>>,
    /// Of the last command that tests something, where that is `make`.
    idle: Option<Idle>,
    /// The last command that tests something, where that runs what its own files say.
    task: Option<String>,
}

impl Reader<'_> {
    fn read(&mut self, text: &str, lines: Lines) -> Vec<Step> {
        let mut all = commands(&words::spelled_out(text));
        let heard = heard::heard(&all, lines);
        for (command, heard) in all.iter_mut().zip(heard) {
            command.shown = heard.within(self.shown);
        }
        self.read_commands(&mut all.into_iter(), End::OfText)
    }

    /// Reads commands up to the end of the text, or of a function.
    fn read_commands(&mut self, all: &mut dyn Iterator<Item = Command>, end: End) -> Vec<Step> {
        let (mut steps, mut braces) = (Vec::new(), 0_usize);
        let mut of_pipeline: Vec<Step> = Vec::new();
        while let Some(command) = all.next() {
            match command.words.first().map(String::as_str) {
                Some("{") => braces += 1,
                Some("}") => braces = braces.saturating_sub(1),
                _ => {}
            }
            if end == End::OfFunction && braces == 0 {
                break;
            }
            if let [name, defines] = command.words.as_slice()
                && defines == DEFINES
            {
                let body = summed(self.read_commands(all, End::OfFunction));
                self.functions.insert(name.clone(), body);
                continue;
            }
            let reads_a_report = command.piped && of_pipeline.iter().any(|step| matches!(step, Step::Runner(_)));
            self.shown = command.shown;
            of_pipeline = if reads_a_report { of_pipeline } else { self.step(&command.words) };
            if !reads_a_report {
                let tested = steps.iter().any(|step| *step != Step::Other);
                let idle = if tested || !command.shown.out { None } else { self.idle_of(&command.words) };
                if !of_pipeline.is_empty() {
                    (self.idle, self.task) = (idle, task_runner(&command.words));
                }
                steps.extend(of_pipeline.iter().cloned());
            }
        }
        steps
    }

    /// Returns what one command comes to; nothing for one that only prepares or looks.
    fn step(&mut self, words: &[String]) -> Vec<Step> {
        let (whole, words) = (words, aside::command_itself(words));
        let before = &whole[..whole.len() - words.len()];
        let Some(program) = words.first() else { return Vec::new() };
        if let Some(body) = self.functions.get(program) {
            return body.clone();
        }
        let (name, of_system) = (words::name(program), !program.contains('/') || program.starts_with("/usr/"));
        match name {
            "cd" | "pushd" => self.enter(words.get(1)),
            "export" => self.around.extend_from_slice(words),
            "echo" | "printf" if words.iter().any(|word| word.starts_with("1..")) => {
                return vec![Step::Runner(vec![Runner::Tap])];
            }
            // Without a pipe it looks at what the product left, and decides by itself.
            "test" | "[" | "[[" => return vec![Step::Other],
            _ => {}
        }
        if let Some(text) = text_for_a_shell(words) {
            return self.nested(words, |inner| inner.read(&text, Lines::Last));
        }
        if of_system && aside::prepares(name, words) {
            return Vec::new();
        }
        // A runner in a folder of tools is a script too, of which nothing can be read.
        let is_runner = !runners::started_by(&words[..1]).is_empty();
        if !is_runner && let Some(steps) = self.of_a_script(words).or_else(|| self.of_a_task(words)) {
            return steps;
        }
        match runners::started_by(words) {
            // Perhaps behind `npx`, `python3 -m` and the like.
            runners if runners.is_empty() && aside::looks(words) => Vec::new(),
            runners => {
                self.owe(words, before, &runners);
                spoken(runners)
            }
        }
    }

    /// Notes of a command that starts a runner that it has to tell its end.
    fn owe(&self, words: &[String], before: &[String], runners: &[Runner]) {
        let files = |name: &str| {
            let mut folders: BTreeSet<&str> = BTreeSet::from(["", self.cwd.as_str()]);
            folders.extend(words.iter().filter(|word| word.contains('/')).filter_map(|word| word.split('/').next()));
            let paths = folders.into_iter().filter_map(|folder| words::project_path(name, folder, ""));
            paths.filter_map(|path| self.text(&path)).collect()
        };
        let of_one = runners.iter().all(|runner| *runner == runners[0] || *runner == Runner::Junit);
        let runner = runners.first().filter(|_| of_one);
        let around = [&self.around, before].concat();
        let owed = runner.and_then(|runner| ending::owed(words, &around, *runner, self.shown, &files));
        self.owed.borrow_mut().extend(owed);
    }

    /// Returns what tells that a command does nothing, where it is `make`.
    fn idle_of(&self, words: &[String]) -> Option<Idle> {
        let words = aside::command_itself(words);
        let task = words.first().and_then(|_| recipes::task(words))?;
        let base = self.base_of(&task);
        let path = |name: &str| words::project_path(name, &base, "");
        let read = |name: &str| path(name).and_then(|path| self.text(&path));
        let lies = |name: &str| path(name).is_some_and(|path| self.texts.lies(&path));
        Some(task).filter(|task| task.is_certain(words, &read))?.idle(&read, &lies)
    }

    fn base_of(&self, task: &Task) -> String {
        match &task.folder {
            Some(folder) => words::project_path(folder, &self.cwd, self.texts.root()).unwrap_or_default(),
            None => self.cwd.clone(),
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        self.texts.of_tree(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn enter(&mut self, folder: Option<&String>) {
        let entered = folder.and_then(|folder| words::project_path(folder, &self.cwd, self.texts.root()));
        self.cwd = entered.unwrap_or_else(|| self.cwd.clone());
    }

    /// Reads what is called from here, unless that goes too deep.
    fn nested(&mut self, caller: &[String], read: impl FnOnce(&mut Reader) -> Vec<Step>) -> Vec<Step> {
        if self.depth >= DEPTH || self.left.get() == 0 {
            return vec![Step::Other];
        }
        self.left.set(self.left.get() - 1);
        let functions = self.functions.clone();
        let (texts, left, owed, cwd) = (self.texts, self.left, self.owed, self.cwd.clone());
        let (shown, depth) = (self.shown, self.depth + 1);
        let around = self.around.iter().chain(caller).cloned().collect();
        summed(read(&mut Reader { texts, left, owed, shown, around, cwd, depth, functions, idle: None, task: None }))
    }

    /// Returns what a script comes to, or a text given in its place; none when the command runs no such thing.
    fn of_a_script(&mut self, words: &[String]) -> Option<Vec<Step>> {
        let program = words::name(&words[0]);
        let is_shell = SHELLS.contains(&program);
        if !is_shell && !INTERPRETERS.contains(&program) {
            let bytes = Some(&words[0]).filter(|word| word.contains('/')).and_then(|word| self.file(word))?;
            return Some(self.of_file(words, &words[0], &bytes, Language::BySheBang));
        }
        let (options, rest) = words[1..].split_at(words[1..].iter().take_while(|word| word.starts_with('-')).count());
        let takes_text = |option: &String| match is_shell {
            true => !option.starts_with("--") && option.ends_with('c'),
            false => ["-c", "-e", "-p", "--eval"].contains(&option.as_str()),
        };
        let text = rest.first().filter(|_| options.last().is_some_and(takes_text));
        match text {
            Some(text) if is_shell => {
                return Some(self.nested(&[], |inner| inner.read(text, Lines::of(text, options))));
            }
            Some(text) => return Some(spoken(runners::named_in(text))),
            // `python3 -m pytest` and `node --test` are no scripts.
            None if options.iter().any(|option| option == "-m" || option.starts_with("--test")) => return None,
            None => {}
        }
        let script = rest.first()?;
        let bytes = self.file(script)?;
        Some(self.of_file(words, script, &bytes, if is_shell { Language::Shell } else { Language::Other }))
    }

    fn file(&self, word: &str) -> Option<Vec<u8>> {
        match words::memory_name(word) {
            Some(name) => self.texts.of_memory(&name),
            None => words::project_path(word, &self.cwd, self.texts.root()).and_then(|path| self.texts.of_tree(&path)),
        }
    }

    fn of_file(&mut self, command: &[String], word: &str, bytes: &[u8], language: Language) -> Vec<Step> {
        let text = String::from_utf8_lossy(bytes);
        let begin = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
        let shell = match language {
            Language::Shell => true,
            Language::Other => false,
            Language::BySheBang => begin.ends_with("sh") || begin.contains("sh "),
        };
        let steps = if shell {
            self.nested(command, |inner| inner.read(&text, Lines::of(&text, &command[1..])))
        } else {
            let around: Vec<String> = self.around.iter().chain(&command[1..]).cloned().collect();
            self.owed.borrow_mut().extend(ending::owed_by_itself(words::name(&command[0]), &text, &around, self.shown));
            spoken(runners::named_in(&text))
        };
        whole(steps, words::memory_name(word).is_some(), word)
    }

    /// Returns what a task of `package.json` or a target of a `Makefile` comes to.
    fn of_a_task(&mut self, words: &[String]) -> Option<Vec<Step>> {
        let task = recipes::task(words)?;
        let base = self.base_of(&task);
        let read = |name: &str| words::project_path(name, &base, "").and_then(|path| self.text(&path));
        let Some(recipe) = task.recipe(&read) else {
            return task.may_be_a_runner().then(|| spoken(runners::ALL.into()));
        };
        let (name, script) = (task.name.clone(), task.is_test_script());
        let certain = task.is_certain(words, &read);
        let steps = self.nested(words, |inner| {
            inner.cwd = base;
            inner.shown = if certain { inner.shown } else { Shown::NOTHING };
            inner.read(&recipe, Lines::Each)
        });
        let steps = whole(steps, false, &name);
        Some(if script && steps == [Step::Test] { vec![Step::Script] } else { steps })
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    OfText,
    OfFunction,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Language {
    Shell,
    Other,
    BySheBang,
}

/// Returns the program of a command that runs what its own files say.
fn task_runner(words: &[String]) -> Option<String> {
    let words = aside::command_itself(words);
    let program = words.first()?;
    let runs = recipes::task(words).is_some_and(|task| task.may_be_a_runner()) || runners::is_task_runner(program);
    runs.then(|| words::name(program).to_owned())
}

/// Returns the step of a program that names these runners.
fn spoken(runners: Vec<Runner>) -> Vec<Step> {
    if runners.is_empty() { vec![Step::Other] } else { vec![Step::Runner(runners)] }
}

/// Shortens steps to what matters of them: a test by its name, the runners, and what comes behind.
fn summed(steps: Vec<Step>) -> Vec<Step> {
    let Some(last) = steps.iter().rposition(|step| !step.runners().is_empty()) else {
        return match steps.as_slice() {
            [Step::Script] => steps,
            _ if steps.iter().any(Step::tests) => vec![Step::Test],
            _ => steps.into_iter().take(1).collect(),
        };
    };
    let runners: BTreeSet<Runner> = steps.iter().flat_map(Step::runners).copied().collect();
    let test = steps.iter().any(Step::tests).then_some(Step::Test);
    let behind = (last + 1 < steps.len()).then_some(Step::Other);
    test.into_iter().chain([Step::Runner(runners.into_iter().collect())]).chain(behind).collect()
}

/// Returns the steps of a script seen as one: without a runner in it, it is a test or not by its name.
fn whole(steps: Vec<Step>, of_memory: bool, name: &str) -> Vec<Step> {
    if steps == [Step::Script] || steps.iter().any(|step| matches!(step, Step::Runner(_))) {
        return steps;
    }
    let last = words::name(name).to_lowercase();
    let prepares = PREPARES.iter().any(|part| last.contains(part));
    let tests = of_memory || words::looks_like_test(name) || SOUNDS.iter().any(|part| last.contains(part));
    vec![if tests && !prepares { Step::Test } else { Step::Other }]
}
