//! Which files the texts of a check name, as far as they decide with it.

use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::Rules;
use crate::gate::closure::Text;
use crate::gate::closure::named_texts;
use crate::gate::executed;
use crate::gate::executed::Role;
use crate::gate::folders;
use crate::gate::folders::Part;
use crate::gate::from_git;
use crate::gate::guessed;
use crate::gate::guessed::Guess;
use crate::gate::guessed::Known;
use crate::gate::names;
use crate::gate::no_file;
use crate::gate::required;
use crate::gate::words;
use crate::gate::written::Written;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;

/// What the texts of a check name.
#[derive(Default)]
pub(in crate::gate) struct Named {
    pub memory: BTreeSet<String>,
    pub project: BTreeSet<String>,
    /// What names that are no paths mean first, where they mean nothing that is there.
    pub unwritten: BTreeSet<String>,
    /// Folders named as those of tests that may hold the product too, with what of each decides.
    pub folders: BTreeMap<String, Part>,
    /// What is compared, and nobody can tell whether it is expected or the product.
    pub untold: BTreeSet<String>,
}

/// By what words are read.
#[derive(Clone, Copy)]
struct By<'a> {
    /// The folders in which they may be meant.
    bases: &'a [String],
    root: &'a str,
    known: Known<'a>,
    rules: Rules,
    /// The text goes to a folder that is not the project's.
    leaves: bool,
    /// The text starts `go`, which tells tests by their names.
    of_go: bool,
    /// What the text has `make` build.
    built: &'a [String],
}

impl By<'_> {
    /// Tells whether a path is that of a program which the text builds first, and that is not there.
    fn is_built(&self, path: &str) -> bool {
        let means = |name: &String| {
            self.bases.iter().any(|base| words::project_path(name, base, self.root).is_some_and(|built| built == path))
        };
        !self.known.holds(path) && self.built.iter().any(means)
    }
}

/// What is done with each file that a text names, by the paths that it means.
type Roles = BTreeMap<String, BTreeSet<Role>>;

impl Named {
    pub(in crate::gate) fn of(root: &Path, check: &Check, files: &CheckFiles, known: Known) -> Self {
        let root = root.to_string_lossy();
        let root = root.trim_end_matches('/');
        let mut named = Self::default();
        let texts = named_texts(check, files);
        let written = Written::by(texts.iter().map(|text| text.text.as_str()));
        let looks = |text: &Text| text.is_for_shell() && executed::only_looks(&text.text);
        let only_looks = check.rules == Rules::Now && texts.iter().all(looks);
        for text in &texts {
            let (mut words, mut begins): (Vec<String>, Vec<bool>) =
                words::words_and_begins(&words::spelled_out(&text.text)).into_iter().unzip();
            named
                .memory
                .extend(words.iter().filter_map(|word| words::memory_name(word)).flat_map(|name| files.below(&name)));
            if check.rules == Rules::Now {
                words.extend(words::comma_parts(&words));
                begins.resize(words.len(), false);
            }
            let bases = match check.rules {
                Rules::First => bases(&words, &check.cwd, root),
                Rules::Now => bases_in_project(&words, &check.cwd, root),
            };
            let leaves = words.windows(2).any(|pair| pair[0] == "cd" && words::is_elsewhere(&pair[1]));
            let of_go = check.rules == Rules::Now && words.iter().any(|word| words::name(word) == "go");
            let is_shell = check.rules == Rules::Now && text.is_for_shell();
            let built = if is_shell { executed::built(&text.text) } else { Vec::new() };
            let by = By { bases: &bases, root, known, rules: check.rules, leaves, of_go, built: &built };
            if check.rules == Rules::Now {
                (words, begins) = no_file::without(text, &words, &begins, (&bases, root, known));
            }
            let mut guesses = guessed::guesses(&words, &begins, &bases, root, known);
            let is_name = |at: &usize| guesses.iter().any(|guess| guess.said && guess.at == *at);
            let paths = words.iter().enumerate().filter(|(at, _)| !is_name(at)).map(|(_, word)| word);
            let paths: Vec<&String> = paths.collect();
            let mut namings = match check.rules {
                Rules::First => Vec::new(),
                Rules::Now if text.is_for_shell() => executed::namings(&text.text, &written),
                Rules::Now => executed::namings_in_code(&text.text),
            };
            if check.rules == Rules::Now {
                namings.extend(from_git::namings_in_commits(&text.text));
            }
            let imported = imported(&namings);
            let is_file = |word: &String| check.rules == Rules::Now && word.ends_with(".py");
            guesses.retain(|guess| guess.said || !imported.contains(&words[guess.at]) && !is_file(&words[guess.at]));
            let paths: Vec<&String> = paths.into_iter().filter(|word| !imported.contains(word)).collect();
            named.add_imported(&imported, by);
            if !only_looks {
                named.add_tests(&paths, by, &namings);
            }
            if check.rules == Rules::Now {
                named.add_deciding(&namings, by);
                named.add_expected(&paths, by, &namings);
                named.add_rivals(&words, by);
                named.spell_out_modules(&text.text, by);
            }
            named.add_guesses(&guesses, by);
        }
        named
    }

    /// Adds the words that look like tests, read in each of the folders. A bare word that names nothing that is there may be
    /// a word of a sentence, and by the rules of now a file that is only looked at may be the product.
    fn add_tests(&mut self, words: &[&String], by: By, namings: &[executed::Naming]) {
        let By { root, known, rules, .. } = by;
        for base in by.bases {
            let roles = roles(namings, base, root);
            let holds = |word: &str| words::project_path(word, base, root).is_some_and(|path| known.holds(&path));
            // Of `'tests/a b.sh'`, which is there, nobody names `tests/a`.
            let is_begin_of_path = |word: &str| {
                let goes_on = |longer: &&&String| longer.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
                words.iter().filter(goes_on).any(|longer| holds(longer))
            };
            // Alone, and in a folder that was entered, such a word is a command or a script's name.
            let at_root = matches!(base.as_str(), "" | ".");
            let told = words.iter().filter(|word| at_root || !words::is_command_word(word));
            let told = told.filter(|word| !word.ends_with("/..."));
            let paths = told.filter_map(|word| Some((word, words::project_path(word, base, root)?)));
            let decides = |path: &str| match (rules, roles.get(path)) {
                (Rules::First, _) => true,
                (Rules::Now, None) => !names::is_data(path),
                (Rules::Now, Some(roles)) => roles.iter().any(|role| role.decides_absent()),
            };
            // `cd tests; sh all` names no `tests/sh`.
            let is_path = |word: &str, path: &str| {
                let spelled = match rules {
                    Rules::First => words::is_spelled_as_path(word),
                    Rules::Now => words::is_spelled_as_test(word) && !is_begin_of_path(word) && may_be_absent(word, by),
                };
                let is_pattern = words::is_pattern(path) && (rules == Rules::First || !is_code(word));
                spelled && decides(path) || is_pattern || known.holds(path)
            };
            let tests = paths.filter(|(_, path)| words::looks_like_test(path));
            let of_product = rules == Rules::Now && folders::holds_product(base, known, namings);
            for (word, path) in tests.filter(|(word, path)| is_path(word, path) && !by.is_built(path)) {
                match () {
                    () if rules == Rules::First
                        || roles.get(&path).is_some_and(|roles| roles.contains(&Role::Judges)) =>
                    {
                        self.project.insert(path);
                    }
                    () if base != &at_start(by) && of_product => {
                        self.project.extend(Some(path).filter(|_| Part::Tests.holds(words::name(word))));
                    }
                    () if may_be_product(&path, roles.get(&path), known.holds(&path)) => {
                        self.untold.extend(Some(path).filter(|path| known.holds(path)));
                    }
                    () => self.add_test(path, by, namings),
                }
            }
        }
    }

    /// Adds a test, or of a folder of tests what decides.
    fn add_test(&mut self, path: String, by: By, namings: &[executed::Naming]) {
        let is_entered = by.bases[1..].contains(&path);
        match () {
            () if by.of_go && !words::name(&path).contains('.') && !words::is_pattern(&path) => {
                self.add_go(&path, by);
            }
            () if is_entered && folders::holds_product(&path, by.known, namings) => {
                self.folders.insert(path, Part::Tests);
            }
            () => _ = self.project.insert(path),
        }
    }

    /// Adds a folder that is given to `go`.
    fn add_go(&mut self, folder: &str, by: By) {
        self.untold.extend(folders::untold_of_go(folder, by.known));
        self.folders.insert(folder.to_owned(), Part::of_go(folder, by.known));
    }

    /// Adds what code imports and then looks at: nobody can tell it from the product.
    fn add_imported(&mut self, imported: &[String], by: By) {
        for base in by.bases {
            let forms = imported.iter().flat_map(|word| {
                let path = word.replace('.', "/");
                [format!("{path}.py"), path]
            });
            let paths = forms.filter_map(|form| words::project_path(&form, base, by.root));
            self.untold.extend(paths.filter(|path| words::looks_like_test(path) && by.known.holds(path)));
        }
    }

    /// Adds what judges or is expected by what the text does with it, whether it is there or not.
    fn add_deciding(&mut self, namings: &[executed::Naming], by: By) {
        for naming in namings.iter().filter(|naming| naming.role.is_told()) {
            let paths: Vec<String> =
                by.bases.iter().filter_map(|base| words::project_path(&naming.word, base, by.root)).collect();
            let is_there = |path: &&String| by.known.holds(path) || words::is_pattern(path);
            let mut meant: Vec<String> = paths.iter().filter(is_there).cloned().collect();
            let is_absent = meant.is_empty();
            if naming.role == Role::Shadows {
                self.project.extend(paths.iter().filter(|_| is_absent).filter_map(|path| kept_away(path)));
                continue;
            }
            let is_elsewhere = by.leaves && naming.role == Role::Judges && !naming.word.contains('/');
            if is_absent && !is_elsewhere && !matches!(naming.role, Role::InCode | Role::Searched | Role::Found) {
                meant.extend(paths.last().filter(|path| !by.is_built(path)).cloned());
            }
            if by.of_go && naming.role == Role::Searched {
                meant.iter().for_each(|path| self.add_go(path, by));
                continue;
            }
            // What is yet to be made may as well be the product, unless its name says otherwise.
            let may_come_out = is_absent && naming.role == Role::Expected && !names::expects(&naming.word);
            let is_untold = matches!(naming.role, Role::Compared | Role::InCode) || may_come_out;
            let held = if is_untold { &mut self.untold } else { &mut self.project };
            held.extend(meant);
        }
    }

    /// Adds what is there and, by its name, is expected, unless the text only looks at it.
    fn add_expected(&mut self, words: &[&String], by: By, namings: &[executed::Naming]) {
        for base in by.bases {
            let roles = roles(namings, base, by.root);
            let is_read = |path: &String| roles.get(path).is_none_or(|roles| roles.iter().any(|role| role.is_given()));
            let paths = words.iter().filter_map(|word| words::project_path(word, base, by.root));
            let expected = paths.filter(|path| names::expects(path) && by.known.holds(path));
            let (input, expected): (Vec<String>, Vec<String>) =
                expected.filter(is_read).partition(|path| names::is_input(path));
            self.untold.extend(input);
            self.project.extend(expected);
        }
    }

    /// Puts the files that modules of Node are in the place of their names.
    fn spell_out_modules(&mut self, text: &str, by: By) {
        for module in required::modules(text) {
            let paths = by.bases.iter().filter_map(|base| words::project_path(&module, base, by.root));
            for path in paths.filter(|path| !by.known.holds(path)).collect::<Vec<_>>() {
                if self.project.remove(&path) {
                    self.project.extend(match words::name(&path).contains('.') {
                        true => vec![path],
                        false => required::meant(&path, &|form| by.known.holds(form)),
                    });
                }
            }
        }
    }

    /// Adds what is loaded in place of the tests whose paths `unittest` reads as names of modules.
    fn add_rivals(&mut self, words: &[String], by: By) {
        if !words.iter().any(|word| word == "unittest") {
            return;
        }
        for base in by.bases {
            let paths = words.iter().filter_map(|word| words::project_path(word, base, by.root));
            let modules = paths.filter(|path| words::looks_like_test(path) && by.known.holds(path));
            self.project.extend(modules.flat_map(|path| guessed::rivals(&path)));
        }
    }

    fn add_guesses(&mut self, guesses: &[Guess], by: By) {
        for guess in guesses {
            if by.of_go
                && let Some(path) = by.known.first(guess).or(guess.absent.first())
            {
                self.add_go(path, by);
                continue;
            }
            match by.known.first(guess) {
                Some(path) => {
                    self.project.extend([path.clone()]);
                    if by.rules == Rules::Now {
                        self.project.extend(guessed::rivals(path));
                    }
                }
                None if by.rules == Rules::Now && !guess.absent.is_empty() => {
                    self.project.extend(guess.absent.iter().cloned());
                }
                None => self.unwritten.extend(guess.paths.first().filter(|_| guess.said).cloned()),
            }
        }
    }
}

impl Text {
    /// Tells whether a shell runs it; what is none of its scripts may hold names in any other way.
    pub(in crate::gate) fn is_for_shell(&self) -> bool {
        self.name.as_ref().is_none_or(|name| {
            let plain = !words::name(name).contains('.') && !self.text.starts_with("#!");
            plain || from_git::is_script(name, self.text.as_bytes())
        })
    }
}

impl Role {
    /// Tells whether a test that is not there and that a text names in this way decides once it is.
    fn decides_absent(self) -> bool {
        matches!(self, Self::Judges | Self::Handed | Self::Copied | Self::Expected)
    }

    /// Tells whether a program gets what is in a file.
    fn is_given(self) -> bool {
        matches!(self, Self::Read | Self::Handed | Self::Copied | Self::InCode)
    }

    /// Tells whether a text says by itself that a file decides, or that it may.
    fn is_told(self) -> bool {
        let judges = matches!(self, Self::Judges | Self::Searched | Self::Found | Self::Shadows);
        judges || matches!(self, Self::Expected | Self::Compared | Self::InCode)
    }
}

/// Tells whether what is named as a test may as well be the product, or what that is given: settings and data, or a program
/// whose output is a value.
fn may_be_product(path: &str, roles: Option<&BTreeSet<Role>>, is_there: bool) -> bool {
    let has = |role: Role| roles.is_some_and(|roles| roles.contains(&role));
    let is_weak = words::is_test_by_its_end(path) || !is_there && !words::name(path).starts_with("test_");
    let is_outside = !words::is_in_tests(path) && words::name(path).contains('.');
    let is_input = names::is_settings(path) && (has(Role::Handed) || has(Role::Read));
    is_outside && !words::is_pattern(path) && (is_input || has(Role::Valued) && is_weak)
}

/// Tells whether a word is a text of another language and no path.
fn is_code(word: &str) -> bool {
    word.contains(|c: char| ";()'\"&|\n".contains(c))
}

/// Tells whether a word, named as a test, can be the path of one that is not there: it means nothing in another folder that
/// the text enters, and alone it ends as a program.
fn may_be_absent(word: &str, by: By) -> bool {
    let mut paths = by.bases.iter().filter_map(|base| words::project_path(word, base, by.root));
    let file = word.split("::").next().unwrap_or_default();
    let is_program = names::is_code(file) || names::is_test_of_a_kind(file) || names::expects(file);
    !is_code(word) && (word.contains('/') || is_program && !by.leaves) && !paths.any(|path| by.known.holds(&path))
}

/// Returns the pattern of a program that is not there, and must not be: as a pattern nobody is told of it.
fn kept_away(path: &str) -> Option<String> {
    let last = path.chars().next_back()?;
    path.strip_suffix(last).filter(|_| last.is_alphanumeric()).map(|path| format!("{path}[{last}]"))
}

/// Returns the folder in which the text starts.
fn at_start(by: By) -> String {
    by.bases.first().cloned().unwrap_or_default()
}

/// Returns the modules that a text only imports, in code that looks at what they do.
fn imported(namings: &[executed::Naming]) -> Vec<String> {
    let only = |word: &str| namings.iter().all(|naming| naming.word != word || naming.role == Role::Imported);
    let imported = namings.iter().filter(|naming| naming.role == Role::Imported && only(&naming.word));
    imported.map(|naming| naming.word.clone()).collect()
}

/// Returns what is done with the files that words mean in a folder.
fn roles(namings: &[executed::Naming], base: &str, root: &str) -> Roles {
    let mut roles = Roles::new();
    for naming in namings {
        if let Some(path) = words::project_path(&naming.word, base, root) {
            roles.entry(path).or_default().insert(naming.role);
        }
    }
    roles
}

/// Returns the same, without those that do not lie in the project, such as `$TMPDIR/w`.
pub(in crate::gate) fn bases_in_project(words: &[String], cwd: &str, root: &str) -> Vec<String> {
    let is_known = |at: usize| words[at] != "cd" || words.get(at + 1).is_none_or(|folder| !words::is_elsewhere(folder));
    let own: Vec<String> = (0..words.len()).filter(|at| is_known(*at)).map(|at| words[at].clone()).collect();
    bases(&own, cwd, root)
}

/// Returns the folders in which the words of a text may be read: the check's own and each that it changes to.
pub(in crate::gate) fn bases(words: &[String], cwd: &str, root: &str) -> Vec<String> {
    let entered = words.windows(2).filter(|pair| pair[0] == "cd");
    let entered = entered.filter_map(|pair| words::project_path(&pair[1], cwd, root));
    [cwd.to_owned()].into_iter().chain(entered).collect()
}
