//! What decides of a folder that is named as one of tests, where the product may lie in it as well.

use crate::gate::executed::Naming;
use crate::gate::executed::Role;
use crate::gate::guessed::Known;
use crate::gate::names;
use crate::gate::words;
use std::fs;
use std::path::Path;

/// What of a folder decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::gate) enum Part {
    /// What is a test by the rule of its language.
    Tests,
    /// All but what Go takes for the product.
    NoGoProduct,
    All,
}

/// How many folders deep the sources of tests are looked for.
const DEPTH: usize = 4;

/// Files by which a folder is a package of its own.
const MANIFESTS: [&str; 6] = ["package.json", "go.mod", "Cargo.toml", "pyproject.toml", "setup.py", "composer.json"];

/// Folders whose files the tests beside them read.
const OF_TESTS: [&str; 4] = ["testdata", "__tests__", "__snapshots__", "__fixtures__"];

impl Part {
    /// Returns what decides of a folder that is given to `go`. `spec` is a product's name as well; in others the helpers of
    /// tests decide with these, as far as they are none of the product.
    pub(in crate::gate) fn of_go(folder: &str, known: Known) -> Self {
        let are_helpers = || match known {
            Known::InFolder(root) => are_helpers(&sources(root, folder, DEPTH)),
            Known::InPins(pins) => pins.keys().any(|path| beneath(folder, path) && is_go(path) && !is_go_test(path)),
        };
        match words::name(folder) {
            "spec" | "specs" => Self::Tests,
            _ if are_helpers() => Self::All,
            _ => Self::NoGoProduct,
        }
    }

    /// Tells whether a file belongs to it.
    pub(in crate::gate) fn holds(self, path: &str) -> bool {
        let name = words::name(path);
        match self {
            Self::All => true,
            _ if is_go(name) => is_go_test(name),
            Self::NoGoProduct => true,
            Self::Tests => {
                let in_folder = path.split('/').any(|folder| OF_TESTS.contains(&folder));
                in_folder || name == "conftest.py" || words::looks_like_test(name) || names::is_test_of_a_kind(name)
            }
        }
    }
}

/// A source of Go, by its path below the root, with its text.
type Source = (String, String);

/// Returns what of a folder of Go tests is not pinned, and may help the tests as well as be the product.
pub(in crate::gate) fn untold_of_go(folder: &str, known: Known) -> Vec<String> {
    match (known, Part::of_go(folder, known)) {
        (Known::InFolder(root), Part::NoGoProduct) => {
            let sources = sources(root, folder, DEPTH);
            // Where no test lies, that is a folder of programs.
            let all = sources.iter().map(|(path, _)| path).filter(|_| sources.iter().any(|(path, _)| is_go_test(path)));
            all.filter(|path| !is_go_test(path)).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// Tells whether what lies beside tests only helps them: it is no program, no more than they are, and none of it has a test of
/// its own name.
fn are_helpers(sources: &[Source]) -> bool {
    let (tests, others): (Vec<&Source>, Vec<&Source>) = sources.iter().partition(|(path, _)| is_go_test(path));
    let has_test = |path: &str| tests.iter().any(|(test, _)| test.strip_suffix("_test.go") == path.strip_suffix(".go"));
    let is_program = |text: &str| text.lines().any(|line| line.trim() == "package main");
    !others.is_empty()
        && others.len() <= tests.len()
        && others.iter().all(|(path, text)| !has_test(path) && !is_program(text))
}

/// Returns the sources of Go below a folder.
fn sources(root: &Path, folder: &str, depth: usize) -> Vec<Source> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (path, kind) = (format!("{folder}/{name}"), entry.file_type());
        match kind {
            Ok(kind) if kind.is_dir() && depth > 1 => found.extend(sources(root, &path, depth - 1)),
            Ok(kind) if kind.is_file() && is_go(&name) => {
                let bytes = fs::read(entry.path()).unwrap_or_default();
                found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
            }
            _ => {}
        }
    }
    found.sort();
    found
}

fn is_go(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "go")
}

fn is_go_test(path: &str) -> bool {
    path.ends_with("_test.go")
}

fn beneath(folder: &str, path: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Tells whether the product may lie in a folder that a text enters: it is a package of its own, or nothing that runs decides
/// by its end. Of an approved check the pins say what it was.
pub(in crate::gate) fn holds_product(folder: &str, known: Known, namings: &[Naming]) -> bool {
    let only_used = namings.iter().any(|naming| naming.role == Role::OnlyUsed);
    only_used
        || match known {
            Known::InFolder(_) => MANIFESTS.iter().any(|name| known.holds(&format!("{folder}/{name}"))),
            Known::InPins(pins) => {
                !pins.contains_key(folder)
                    && pins.keys().filter(|path| beneath(folder, path)).all(|path| Part::Tests.holds(path))
            }
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_told_by_the_rule_of_its_language() {
        for path in
            ["spec/a_test.go", "spec/testdata/a.json", "a.test.js", "test_a.py", "conftest.py", "t/a.t", "a.bats"]
        {
            assert!(Part::Tests.holds(path), "{path}");
        }
        for path in ["spec/a.go", "spec/test.go", "spec/app.js", "spec/package.json", "test/app.py"] {
            assert!(!Part::Tests.holds(path), "{path}");
        }
        assert!(Part::NoGoProduct.holds("tests/want.txt") && !Part::NoGoProduct.holds("tests/helper.go"));
    }

    #[test]
    fn what_lies_beside_tests_of_go_helps_them_or_is_the_product() {
        let of = |files: &[(&str, &str)]| {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in files {
                fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
                fs::write(root.path().join(path), text).unwrap();
            }
            let known = Known::InFolder(root.path());
            (Part::of_go("tests", known), untold_of_go("tests", known).join(" "))
        };
        let (test, helper) = (("tests/a_test.go", "package tests\n"), ("tests/helper.go", "package tests\n"));
        assert_eq!(of(&[test, helper]), (Part::All, String::new()));
        assert_eq!(of(&[test, ("tests/util/u.go", "package util\n")]), (Part::All, String::new()));
        assert_eq!(of(&[test]), (Part::NoGoProduct, String::new()));
        assert_eq!(of(&[("tests/app.go", "package main\n")]), (Part::NoGoProduct, String::new()));
        for product in [
            &[test, ("tests/a.go", "package tests\n")][..],
            &[test, ("tests/app.go", "// It runs.\npackage main\n")],
            &[test, helper, ("tests/more.go", "package tests\n")],
        ] {
            let paths: Vec<&str> = product[1..].iter().map(|(path, _)| *path).collect();
            assert_eq!(of(product), (Part::NoGoProduct, paths.join(" ")));
        }
        let pins = ["tests/a_test.go", "tests/helper.go"].map(|path| (path.to_owned(), Some("1".to_owned())));
        assert_eq!(Part::of_go("tests", Known::InPins(&pins.clone().into())), Part::All);
        assert_eq!(Part::of_go("tests", Known::InPins(&[pins[0].clone()].into())), Part::NoGoProduct);
    }
}
