//! What decides of a folder that is named as one of tests, where the product may lie in it as well.

use crate::gate::executed::Naming;
use crate::gate::executed::Role;
use crate::gate::guessed::Known;
use crate::gate::names;
use crate::gate::words;
use std::path::Path;

/// What of a folder decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::gate) enum Part {
    /// What is a test by the rule of its language.
    Tests,
    /// All but what Go takes for the product.
    NoGoProduct,
}

/// Files by which a folder is a package of its own.
const MANIFESTS: [&str; 6] = ["package.json", "go.mod", "Cargo.toml", "pyproject.toml", "setup.py", "composer.json"];

/// Folders whose files the tests beside them read.
const OF_TESTS: [&str; 4] = ["testdata", "__tests__", "__snapshots__", "__fixtures__"];

impl Part {
    /// Returns what decides of a folder that is given to `go`. `spec` is a product's name as well.
    pub(in crate::gate) fn of_go(folder: &str) -> Self {
        if matches!(words::name(folder), "spec" | "specs") { Self::Tests } else { Self::NoGoProduct }
    }

    /// Tells whether a file belongs to it.
    pub(in crate::gate) fn holds(self, path: &str) -> bool {
        let name = words::name(path);
        let of_go = Path::new(name).extension().is_some_and(|extension| extension == "go");
        match self {
            _ if of_go => name.ends_with("_test.go"),
            Self::NoGoProduct => true,
            Self::Tests => {
                let in_folder = path.split('/').any(|folder| OF_TESTS.contains(&folder));
                in_folder || name == "conftest.py" || words::looks_like_test(name) || names::is_test_of_a_kind(name)
            }
        }
    }
}

/// Tells whether the product may lie in a folder that a text enters: it is a package of its own, or nothing that runs decides
/// by its end. Of an approved check the pins say what it was.
pub(in crate::gate) fn holds_product(folder: &str, known: Known, namings: &[Naming]) -> bool {
    let only_used = namings.iter().any(|naming| naming.role == Role::OnlyUsed);
    only_used
        || match known {
            Known::InFolder(_) => MANIFESTS.iter().any(|name| known.holds(&format!("{folder}/{name}"))),
            Known::InPins(pins) => {
                let below = |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
                !pins.contains_key(folder) && pins.keys().filter(|path| below(path)).all(|path| Part::Tests.holds(path))
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
}
