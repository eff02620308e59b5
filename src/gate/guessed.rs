//! Names of tests that are no paths: a module of Python with dots, `cargo test --test NAME`, a package pattern of Go.
//!
//! Such a name only may mean a file. It is pinned where the file lies there at approval; as one that is absent only where it
//! can be told what that will be.

use crate::gate::words;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Programs that take the name of a module.
const OF_PYTHON: [&str; 7] = ["pytest", "unittest", "manage.py", "trial", "nose2", "coverage", "stestr"];

/// Words behind which the name of a module comes.
const BEFORE_A_MODULE: [&str; 4] = ["-m", "unittest", "--pyargs", "trial"];

/// Folders in which no crate of a workspace is looked for.
const NO_CRATES: [&str; 3] = ["target", "node_modules", "vendor"];

/// How many folders deep the crates of a workspace lie.
const CRATE_DEPTH: usize = 2;

/// A name, with the paths it may mean, best first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::gate) struct Guess {
    /// Its place among the words.
    pub at: usize,
    pub paths: Vec<String>,
    /// The text says that it is a test's name; of another word with dots nobody knows.
    pub said: bool,
    /// Where none of them is there, what is pinned as absent: by the rules of now, and if it can be told.
    pub absent: Vec<String>,
}

/// What is known to be there.
#[derive(Clone, Copy, Debug)]
pub(in crate::gate) enum Known<'a> {
    /// What lies below a folder: when a check is approved.
    InFolder(&'a Path),
    /// What was there at approval: ever after.
    InPins(&'a BTreeMap<String, Option<String>>),
}

impl Known<'_> {
    /// Tells whether a file or a folder is there.
    pub(in crate::gate) fn holds(&self, path: &str) -> bool {
        match self {
            Self::InFolder(folder) => fs::symlink_metadata(folder.join(path)).is_ok(),
            Self::InPins(pins) => {
                let below =
                    |known: &str| known.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                pins.iter().any(|(known, pin)| pin.is_some() && below(known.trim_start_matches("./")))
            }
        }
    }

    /// Returns the first of the paths that is there.
    pub(in crate::gate) fn first<'a>(&self, guess: &'a Guess) -> Option<&'a String> {
        guess.paths.iter().find(|path| self.holds(path))
    }

    /// Returns the folders, not the root itself, in which a crate may lie.
    fn crates(&self) -> Vec<String> {
        match self {
            Self::InFolder(root) => {
                let mut found = Vec::new();
                crates_below(root, "", CRATE_DEPTH, &mut found);
                found
            }
            Self::InPins(pins) => {
                pins.keys().filter_map(|path| path.split_once("/tests/")).map(|(of, _)| of.to_owned()).collect()
            }
        }
    }
}

fn crates_below(root: &Path, at: &str, depth: usize, found: &mut Vec<String>) {
    let mut names: Vec<String> = fs::read_dir(root.join(at))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    for name in names.iter().filter(|name| !name.starts_with('.') && !NO_CRATES.contains(&name.as_str())) {
        let path = format!("{at}{name}");
        if !fs::symlink_metadata(root.join(&path)).is_ok_and(|entry| entry.is_dir()) {
            continue;
        }
        if root.join(&path).join("Cargo.toml").is_file() {
            found.push(path.clone());
        }
        if depth > 1 {
            crates_below(root, &format!("{path}/"), depth - 1, found);
        }
    }
}

/// Returns the names in the words of a text that runs in one of the folders `bases`; `begins` tells where its commands do.
pub(in crate::gate) fn guesses(
    words: &[String],
    begins: &[bool],
    bases: &[String],
    root: &str,
    known: Known,
) -> Vec<Guess> {
    let name = |word: &String| words::name(word).to_owned();
    let has = |program: &str| words.iter().any(|word| name(word) == program);
    let of_python = words.iter().any(|word| {
        let name = name(word);
        name.starts_with("python") || OF_PYTHON.contains(&name.as_str())
    });
    let (mut guesses, mut modules, mut discovers, mut behind_it) = (Vec::new(), false, false, false);
    for (at, word) in words.iter().enumerate() {
        // Words of the next command are no modules; an earlier version took them for some, and what it pinned stays.
        behind_it |= begins.get(at).is_some_and(|begins| *begins);
        let own = modules && !behind_it;
        let taken = own || modules && matches!(known, Known::InPins(_));
        let behind = |options: &[&str]| at > 0 && options.contains(&words[at - 1].as_str());
        let is_folder = discovers && (behind(&["-s", "--start-directory", "discover"]) && !word.starts_with('-'));
        let (paths, said) = match () {
            () if has("cargo") && behind(&["--test"]) => (of_cargo(word, bases, known), true),
            () if has("cargo") && word.starts_with("--test=") => {
                (of_cargo(&word["--test=".len()..], bases, known), true)
            }
            () if word.ends_with("/...") => (of_go(word, bases, root), true),
            () if is_folder => (of_go(word, bases, root), true),
            () if of_python && is_module(word) && (taken || word.contains('.')) => (of_a_module(word, bases), own),
            () => (Vec::new(), false),
        };
        discovers = word == "discover" || discovers && !BEFORE_A_MODULE.contains(&word.as_str());
        behind_it &= !BEFORE_A_MODULE.contains(&word.as_str());
        // Behind `-m doctest` files come.
        modules = BEFORE_A_MODULE.contains(&word.as_str())
            || modules && word != "doctest" && !discovers && (word.starts_with('-') || is_module(word));
        let read = |paths: Vec<String>| -> Vec<String> {
            paths.into_iter().filter_map(|path| words::project_path(&path, ".", root)).collect()
        };
        let of_pytest = words[..at].iter().any(|word| word == "pytest") && !words.iter().any(|word| word == "--pyargs");
        let of_a_crate = word.starts_with("--test=") || behind(&["--test"]);
        let absent = match () {
            () if !said => Vec::new(),
            () if of_a_crate => Vec::new(),
            () if word.ends_with("/...") || is_folder => paths.last().cloned().into_iter().collect(),
            // There it is the path of a folder.
            () if of_pytest && !word.contains('.') => {
                vec![format!("{}/{word}", bases.last().map_or(".", String::as_str))]
            }
            () => absent_module(word, bases.last().map_or(".", String::as_str)),
        };
        let (paths, absent) = (read(paths), read(absent));
        guesses.extend((!paths.is_empty()).then_some(Guess { at, paths, said, absent }));
    }
    guesses
}

/// Returns what the module of a test will be when somebody writes it, and what could be loaded in its place.
fn absent_module(word: &str, base: &str) -> Vec<String> {
    let parts: Vec<&str> = word.split('.').take_while(|part| !part.starts_with(char::is_uppercase)).collect();
    let module = parts.join("/");
    let shadows = (1..parts.len()).map(|length| format!("{}.py", parts[..length].join("/")));
    let shadows = shadows.filter(|path| words::looks_like_test(path));
    let own = [format!("{module}.py"), format!("{module}/**")].into_iter().filter(|_| !module.is_empty());
    own.chain(shadows).map(|path| format!("{base}/{path}")).collect()
}

/// Returns patterns of what Python would load in place of a module: a package, or a compiled extension. They are patterns so
/// that nobody is told of what is not there. Beside a module at the root all of the project would be walked over for the latter.
pub(in crate::gate) fn rivals(path: &str) -> Vec<String> {
    let Some(module) = path.strip_suffix(".py").filter(|module| !words::is_pattern(module)) else { return Vec::new() };
    let package = format!("{module}/__init__.*");
    match module.contains('/') {
        true => vec![package, format!("{module}.*.so"), format!("{module}[.]so")],
        false => vec![package],
    }
}

/// Returns where the integration test of this name lies: in the crate at hand, or in another of the workspace.
fn of_cargo(name: &str, bases: &[String], known: Known) -> Vec<String> {
    if name.is_empty() || words::is_pattern(name) || name.contains(['$', '/']) {
        return Vec::new();
    }
    let crates = known.crates();
    let forms = |folder: &String| [format!("{folder}/tests/{name}.rs"), format!("{folder}/tests/{name}")];
    bases.iter().chain(&crates).flat_map(forms).collect()
}

fn of_go(pattern: &str, bases: &[String], root: &str) -> Vec<String> {
    let folder = pattern.trim_end_matches("/...");
    let paths = bases.iter().filter_map(|base| words::project_path(folder, base, root));
    paths.filter(|path| words::looks_like_test(path) || words::is_folder_of_tests(path)).collect()
}

fn is_module(word: &str) -> bool {
    word.split('.').all(|part| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Reads `tests.test_a.Class.test_b`: what comes behind the module is left away bit by bit.
fn of_a_module(word: &str, bases: &[String]) -> Vec<String> {
    let parts: Vec<&str> = word.split('.').collect();
    let folders: Vec<String> = bases.iter().flat_map(|base| [base.clone(), format!("{base}/src")]).collect();
    let forms = |length: usize| {
        let module = parts[..length].join("/");
        let package = length == parts.len();
        folders
            .iter()
            .flat_map(move |folder| {
                let path = format!("{folder}/{module}");
                [Some(format!("{path}.py")), package.then_some(path)]
            })
            .flatten()
            .collect::<Vec<_>>()
    };
    (1..=parts.len()).rev().flat_map(forms).filter(|path| words::looks_like_test(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a text means where these files are pinned.
    fn meant(text: &str, pinned: &[&str]) -> Vec<String> {
        let pins = pinned.iter().map(|path| ((*path).to_owned(), Some("1".to_owned()))).collect();
        let (known, bases) = (Known::InPins(&pins), [".".to_owned(), "web".to_owned()]);
        let (words, begins): (Vec<String>, Vec<bool>) = words::words_and_begins(text).into_iter().unzip();
        let guesses = guesses(&words, &begins, &bases, "/project", known);
        guesses.iter().filter_map(|guess| known.first(guess)).cloned().collect()
    }

    #[test]
    fn a_name_means_the_file_that_is_there() {
        let cases = [
            ("python3 -m unittest tests.test_a", "tests/test_a.py", "tests/test_a.py"),
            ("python3 -m unittest tests.test_a.Case.test_b", "tests/test_a.py", "tests/test_a.py"),
            ("python3 -m unittest test_a", "test_a.py", "test_a.py"),
            ("python3 -m pytest --pyargs pkg.tests", "pkg/tests/test_a.py", "pkg/tests"),
            ("pytest --pyargs pkg.tests.test_a", "src/pkg/tests/test_a.py", "src/pkg/tests/test_a.py"),
            (".venv/bin/python -m tests.e2e --all", "web/tests/e2e.py", "web/tests/e2e.py"),
            ("./manage.py test app.tests.test_a", "app/tests/test_a.py", "app/tests/test_a.py"),
            ("cargo test -q --test mul", "tests/mul.rs", "tests/mul.rs"),
            ("cargo test --test=mul", "tests/mul/main.rs", "tests/mul"),
            ("cargo nextest run -p mul --test mul", "crates/mul/tests/mul.rs", "crates/mul/tests/mul.rs"),
            ("go test ./tests/...", "tests/a_test.go", "tests"),
            ("cd web && go test ./e2e/...", "web/e2e/a_test.go", "web/e2e"),
        ];
        for (text, pinned, expected) in cases {
            assert_eq!(meant(text, &[pinned, "src/main.rs"]), [expected], "{text}");
            assert_eq!(meant(text, &["src/main.rs"]), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_is_no_name_of_a_test_means_nothing() {
        let there = ["login.py", "login/a.py", "http/server.py", "tests/login.rs", "pkg/a_test.go", "test.py"];
        for text in [
            "npx jest login",
            "python3 -m http.server",
            "cargo test login",
            "cargo run -- --tests login",
            "cargo test --test '*'",
            "go test ./...",
            "go test ./pkg/...",
            "test \"$(python3 login.py)\" = x",
        ] {
            assert_eq!(meant(text, &there), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_file_that_was_pinned_as_absent_is_not_there() {
        let pins = BTreeMap::from([("tests/a.py".to_owned(), None)]);
        assert!(!Known::InPins(&pins).holds("tests/a.py"));
    }

    #[test]
    fn crates_of_a_workspace_are_found_by_their_manifests() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["a", "crates/b", "crates/c/d/e", "target/f", "docs"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            let manifest = if folder == "docs" { "x" } else { "Cargo.toml" };
            fs::write(root.path().join(folder).join(manifest), "").unwrap();
        }
        assert_eq!(Known::InFolder(root.path()).crates(), ["a", "crates/b"]);
    }
}
