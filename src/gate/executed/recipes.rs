//! What a named task runs: a script of `package.json`, a target of a `Makefile`.

use crate::gate::executed::aside;
use crate::gate::executed::commands::commands;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;

/// A task that a command names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Task {
    /// Empty for the first target of a `Makefile`.
    pub(super) name: String,
    /// The folder it is looked for in, if the command names one.
    pub(super) folder: Option<String>,
    kind: Kind,
    /// What else the command names.
    more: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Make,
    /// A package manager that was told to run a script.
    Script,
    /// A word that may be a script as well as a command of the package manager, or one that a package brings along.
    Perhaps,
    /// Scripts of more than one package.
    Scripts,
}

const PACKAGE_MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];
const FOLDER: [&str; 5] = ["-C", "--prefix", "--dir", "--cwd", "--directory"];
const OF_MORE: [&str; 6] = ["-r", "-w", "--workspace", "--workspaces", "--filter", "--recursive"];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// Returns the task that a command runs.
pub(super) fn task(words: &[String]) -> Option<Task> {
    let program = words[0].rsplit('/').next()?;
    let manages = PACKAGE_MANAGERS.contains(&program);
    if !manages && !matches!(program, "make" | "gmake") {
        return None;
    }
    let folder = words.windows(2).find(|pair| FOLDER.contains(&pair[0].as_str())).map(|pair| pair[1].clone());
    let plain = words.iter().enumerate().skip(1).filter(|(at, word)| {
        let of_an_option = FOLDER.contains(&words[at - 1].as_str()) || matches!(words[at - 1].as_str(), "-f" | "-j");
        !word.starts_with('-') && !word.contains('=') && !of_an_option
    });
    let plain: Vec<&str> = plain.map(|(_, word)| word.as_str()).collect();
    if !manages {
        let more = plain.iter().skip(1).map(|&name| name.to_owned()).collect();
        let name = plain.first().copied().unwrap_or_default().to_owned();
        return Some(Task { name, folder, kind: Kind::Make, more });
    }
    let of_more = words.iter().any(|word| OF_MORE.contains(&word.split('=').next().unwrap_or_default()));
    let (name, kind) = match plain.as_slice() {
        ["run" | "run-script", name, ..] => (*name, Kind::Script),
        ["test" | "t" | "tst", ..] if program != "bun" => ("test", Kind::Script),
        // `bun test` is a runner of its own.
        ["exec" | "dlx" | "x" | "test", ..] => return None,
        [name, ..] => (*name, Kind::Perhaps),
        [] => return None,
    };
    let kind = if of_more && kind == Kind::Script { Kind::Scripts } else { kind };
    Some(Task { name: name.to_owned(), folder, kind, more: Vec::new() })
}

/// Returns the files that a text has `make` build by their names, as the text could name them.
pub(in crate::gate) fn built(text: &str) -> Vec<String> {
    let all = commands(text);
    let tasks = all.iter().map(|command| aside::command_itself(&command.words)).filter(|words| !words.is_empty());
    let made = tasks.filter_map(task).filter(|task| task.kind == Kind::Make && !task.name.is_empty());
    made.flat_map(|task| {
        let folder = task.folder.map_or(String::new(), |folder| format!("{}/", folder.trim_end_matches('/')));
        [task.name].into_iter().chain(task.more).map(move |name| format!("{folder}{name}")).collect::<Vec<_>>()
    })
    .collect()
}

impl Task {
    /// Returns the text for a shell that the task stands for; `read` returns a file of its folder.
    pub(super) fn recipe(&self, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        match self.kind {
            Kind::Make => {
                let makefile = MAKEFILES.iter().find_map(|name| read(name))?;
                Makefile::read(&makefile).recipe(&self.name, &mut BTreeSet::new())
            }
            Kind::Script | Kind::Perhaps => {
                let package: Value = serde_json::from_str(&read("package.json")?).ok()?;
                let script = |name: String| package["scripts"][name].as_str().map(str::to_owned);
                let own = script(self.name.clone())?;
                let around = [script(format!("pre{}", self.name)), Some(own), script(format!("post{}", self.name))];
                Some(around.into_iter().flatten().collect::<Vec<_>>().join("\n"))
            }
            Kind::Scripts => None,
        }
    }

    /// Tells whether its recipe runs as it is written, and each line of it must pass.
    pub(super) fn is_certain(&self, words: &[String], read: &dyn Fn(&str) -> Option<String>) -> bool {
        let lax =
            words.iter().any(|word| matches!(word.as_str(), "-i" | "-k" | "-n" | "-t" | "-q" | "-f" | "--if-present"));
        let makefile = || MAKEFILES.iter().find_map(|name| read(name)).unwrap_or_default();
        !lax && match self.kind {
            Kind::Make => !makefile().lines().any(|line| {
                let recipe = line.strip_prefix('\t').map(|recipe| recipe.trim_start_matches(['@', '+']));
                recipe.is_some_and(|recipe| recipe.starts_with('-'))
                    || [".IGNORE", "ifdef", "ifndef", "ifeq", "ifneq", ".SHELLFLAGS", ".ONESHELL", "export"]
                        .iter()
                        .any(|word| line.starts_with(word))
            }),
            Kind::Script => true,
            Kind::Perhaps | Kind::Scripts => false,
        }
    }

    /// Returns what tells that `make` does nothing for its targets.
    pub(super) fn idle(&self, read: &dyn Fn(&str) -> Option<String>, lies: &dyn Fn(&str) -> bool) -> Option<Idle> {
        let makefile = MAKEFILES.iter().find_map(|name| read(name)).filter(|_| self.kind == Kind::Make)?;
        let makefile = Makefile::read(&makefile);
        let first = || makefile.rules.iter().find(|rule| !rule.0.starts_with('.')).map(|rule| rule.0.clone());
        let named = [&self.name].into_iter().chain(&self.more).filter(|name| !name.is_empty()).cloned();
        let mut targets: Vec<String> = named.collect();
        if targets.is_empty() {
            targets.extend(first());
        }
        let stays = |name: &String| makefile.needs_nothing(name) && lies(name);
        let stays = targets.iter().all(stays).then(|| targets.first().cloned()).flatten();
        Some(Idle { targets, stays }).filter(|idle| !idle.targets.is_empty())
    }

    /// Tells whether it is what a package has for its tests.
    pub(super) fn is_test_script(&self) -> bool {
        self.kind != Kind::Make && self.name == "test"
    }

    /// Tells whether a task that is not found may still run tests.
    pub(super) fn may_be_a_runner(&self) -> bool {
        self.kind != Kind::Perhaps
    }
}

/// What tells that `make` does nothing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Idle {
    targets: Vec<String>,
    /// The first of them, where a file or a folder of each name is there, and nothing makes it anew.
    stays: Option<String>,
}

impl Idle {
    /// Returns the reason why `make` ran nothing, if it did not.
    pub(super) fn nothing(&self, output: &str) -> Option<String> {
        if let Some(name) = &self.stays {
            return Some(format!(
                "make runs nothing for `{name}`: it is there as a file or a folder, and not `.PHONY`; {}",
                runs_again(name)
            ));
        }
        let said = |name: &String| {
            let form = format!(
                "(?m)^g?make: (?:Nothing to be done for )?[`'‘\"]{}['’\"](?: is up to date)?\\.$",
                regex::escape(name)
            );
            Regex::new(&form).is_ok_and(|form| form.is_match(output))
        };
        let nothing = self.targets.iter().all(said);
        let told = |name: &String| format!("make found nothing to do for `{name}`; {}", runs_again(name));
        self.targets.first().filter(|_| nothing).map(told)
    }
}

/// Says what lets `make` do something for a target that it takes for made.
fn runs_again(name: &str) -> String {
    format!(
        "if it is made by the build, leave it out of git (`git rm --cached {name}`, and into `.gitignore`), or let the check say \
         `make -B {name}`, or look at the result in a second line; if it is no file, say `.PHONY: {name}`"
    )
}

/// The rules of a `Makefile`, as far as they are plain.
struct Makefile {
    /// Targets with what they need first and the lines of their recipes, variables put in.
    rules: Vec<(String, Vec<String>, String)>,
}

impl Makefile {
    fn read(text: &str) -> Self {
        let text = text.replace("\\\n", " ");
        let assigned = |line: &str| {
            let (name, value) = line.split_once('=')?;
            let name = name.trim_end_matches([':', '?', '+']).trim();
            let plain = !line.starts_with('\t') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            plain.then(|| (name.to_owned(), value.trim().to_owned()))
        };
        let variables: Vec<(String, String)> = text.lines().filter_map(assigned).collect();
        // Twice, for a variable in the value of another.
        let put_in = |line: &str| {
            variables.iter().chain(&variables).fold(line.to_owned(), |line, (name, value)| {
                line.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value)
            })
        };
        let mut rules: Vec<(String, Vec<String>, String)> = Vec::new();
        for line in text.lines() {
            if let Some(recipe) = line.strip_prefix('\t') {
                let recipe = put_in(recipe.trim_start_matches(['@', '-', '+'])).replace("$$", "$");
                if let Some(rule) = rules.last_mut() {
                    rule.2 += &format!("{recipe}\n");
                }
            } else if let Some((target, needs)) = line.split_once(':').filter(|(_, rest)| !rest.starts_with('=')) {
                let needs = put_in(needs).split_whitespace().map(str::to_owned).collect();
                rules.push((target.trim().to_owned(), needs, String::new()));
            }
        }
        Self { rules }
    }

    /// Tells whether a plain rule makes a target of nothing else, whenever it is not there.
    fn needs_nothing(&self, target: &str) -> bool {
        let names = |rule: &&(String, Vec<String>, String)| rule.0.split_whitespace().any(|name| name == target);
        let phony = self.rules.iter().filter(|rule| rule.0 == ".PHONY").flat_map(|rule| &rule.1);
        let mut phony = phony.map(String::as_str);
        let mut rules = self.rules.iter().filter(names).peekable();
        rules.peek().is_some()
            && rules.all(|rule| rule.1.is_empty())
            && !phony.any(|name| name == target || name.contains('$'))
    }

    /// Returns the recipe of a target, behind those of what it needs; none when there is no such rule.
    fn recipe<'a>(&'a self, target: &'a str, seen: &mut BTreeSet<&'a str>) -> Option<String> {
        let default = |rule: &&(String, Vec<String>, String)| !rule.0.starts_with('.');
        let named = |rule: &&(String, Vec<String>, String)| rule.0.split_whitespace().any(|name| name == target);
        let rules: Vec<_> = match target {
            "" => self.rules.iter().find(default).into_iter().collect(),
            _ => self.rules.iter().filter(named).collect(),
        };
        if rules.is_empty() || !seen.insert(target) {
            return None;
        }
        let needed: String = rules.iter().flat_map(|rule| &rule.1).filter_map(|need| self.recipe(need, seen)).collect();
        let own: String = rules.iter().map(|rule| rule.2.as_str()).collect();
        Some(needed + &own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(command: &str, file: &str, text: &str) -> Option<String> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        task(&words)?.recipe(&|name| (name == file).then(|| text.to_owned()))
    }

    #[test]
    fn a_script_of_a_package_is_found_by_its_name() {
        let package = r#"{"scripts": {"test": "jest", "pretest": "tsc", "e2e": "sh e2e.sh"}}"#;
        let found = |command| recipe(command, "package.json", package);
        assert_eq!(found("npm test").as_deref(), Some("tsc\njest"));
        assert_eq!(found("npm --silent run e2e -- --all").as_deref(), Some("sh e2e.sh"));
        assert_eq!(found("yarn e2e").as_deref(), Some("sh e2e.sh"));
        assert_eq!(found("pnpm exec jest"), None);
        assert_eq!(found("npm run other"), None);
        assert_eq!(found("npm test --workspaces"), None, "that is another package's");
        let folder = |command: &str| task(&command.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap().folder;
        assert_eq!(folder("npm --prefix web test").as_deref(), Some("web"));
    }

    #[test]
    fn a_target_of_a_makefile_comes_with_what_it_needs_and_its_variables() {
        let makefile = "PY ?= python3\n.PHONY: all test\nall: build\n\techo all\ntest: build\n\t@$(PY) -m pytest \\\n  \
            tests\nbuild:\n\tcc -o a $${b}\n";
        let found = |command| recipe(command, "Makefile", makefile);
        assert_eq!(found("make -s test V=1").as_deref(), Some("cc -o a ${b}\npython3 -m pytest    tests\n"));
        assert_eq!(found("make").as_deref(), Some("cc -o a ${b}\necho all\n"));
        assert_eq!(found("make none"), None);
    }

    #[test]
    fn make_tells_that_it_ran_nothing() {
        let makefile =
            "test:\n\tcc -o a a.c && sh t.sh\nlint: a.c\n\ttrue\n.PHONY: check\ncheck:\n\tsh t.sh\nx::\n\ta\n";
        let nothing = |command: &str, there: &str, output: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let read = |name: &str| (name == "Makefile").then(|| makefile.to_owned());
            task(&words)?.idle(&read, &|name| there.split(' ').any(|path| path == name))?.nothing(output)
        };
        let up_to_date = "make: 'test' is up to date.\n";
        let told = nothing("make test", "", up_to_date).unwrap();
        assert!(told.contains("found nothing to do for `test`") && told.contains("`make -B test`"), "{told}");
        assert!(
            nothing("make", "", up_to_date).is_some()
                && nothing("make lint", "", "make: 'lint' is up to date.\n").is_some()
        );
        assert!(nothing("make test", "", "make: Nothing to be done for 'test'.\n").is_some());
        assert!(nothing("make test lint", "", &format!("{up_to_date}make: `lint' is up to date.\n")).is_some());
        assert!(nothing("make -s test", "test a.c", "").unwrap().contains("not `.PHONY`"));
        // Another target, another `make`, and what is there and made anew.
        assert_eq!(nothing("make test lint", "", up_to_date), None);
        assert_eq!(nothing("make lint", "", up_to_date), None);
        assert_eq!(nothing("make test", "", "make[1]: 'test' is up to date.\n"), None);
        for (command, there) in
            [("make -s check", "check"), ("make -s lint", "lint"), ("make -s test", "lint"), ("make none", "none")]
        {
            assert_eq!(nothing(command, there, ""), None, "{command}");
        }
    }
}
