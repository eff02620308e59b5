//! Files of the product in a folder of tests that a runner is given, and that are pinned with it: who changes one of them may
//! do what was asked for, so a person has to look.

use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::Rules;
use crate::gate::closure::named_texts;
use crate::gate::executed;
use crate::gate::executed::Naming;
use crate::gate::executed::Role;
use crate::gate::folders::Part;
use crate::gate::named::bases_in_project;
use crate::gate::names;
use crate::gate::words;
use crate::gate::written::Written;
use std::path::Path;

/// Names of such folders that a product has as well; what lies in another one is data of its tests.
const OF_BOTH: [&str; 2] = ["spec", "specs"];

/// Tells whether a path is that of settings or data in such a folder, and by its name neither a test nor what is expected.
pub fn may_be_product_beside(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_folder = folders.split('/').any(|folder| OF_BOTH.contains(&folder));
    in_folder && names::is_settings(name) && !names::expects(path) && !Part::Tests.holds(path)
}

/// Tells whether such a file is pinned only since a runner was given its folder: nothing else in the check names it.
pub(in crate::gate) fn is_product_beside(path: &str, check: &Check, files: &CheckFiles, root: &Path) -> bool {
    let root = root.to_string_lossy();
    let by_pattern = |pattern: &String| !pattern.starts_with('!') && path.starts_with(&words::fixed_part(pattern));
    if check.rules != Rules::Now || !may_be_product_beside(path) || check.closure.iter().any(by_pattern) {
        return false;
    }
    let texts = named_texts(check, files);
    let written = Written::by(texts.iter().map(|text| text.text.as_str()));
    let mut is_given = false;
    for text in &texts {
        let words = words::words(&words::spelled_out(&text.text));
        let bases = bases_in_project(&words, &check.cwd, root.trim_end_matches('/'));
        let means = |word: &str, path: &dyn Fn(&str) -> bool| {
            let paths = bases.iter().filter_map(|base| words::project_path(word, base, root.trim_end_matches('/')));
            paths.into_iter().any(|meant| path(&meant))
        };
        let is_it = |word: &String| means(word, &|meant| meant == path);
        let namings = executed::namings(&text.text, &written);
        let of_folder = |naming: &&Naming| {
            means(&naming.word, &|meant| path.strip_prefix(meant).is_some_and(|rest| rest.starts_with('/')))
        };
        let compares = |naming: &Naming| matches!(naming.role, Role::Expected | Role::Compared | Role::InCode);
        if words.iter().any(is_it) || namings.iter().filter(of_folder).any(compares) {
            return false;
        }
        is_given |= namings.iter().filter(of_folder).any(|naming| naming.role == Role::Searched);
    }
    is_given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_product_beside_tests_is_told_from_what_they_need() {
        let is = |run: &str, path: &str| {
            let check = Check { rules: Rules::Now, ..Check::command(run) };
            is_product_beside(path, &check, &CheckFiles::default(), Path::new("/project"))
        };
        for (run, path) in [
            ("node --test spec/", "spec/openapi.yaml"),
            ("python3 -m pytest -q specs", "specs/v1/openapi.json"),
            ("cd web && npx mocha spec", "web/spec/openapi.yaml"),
        ] {
            assert!(is(run, path), "{run} {path}");
        }
        for (run, path) in [
            ("node --test spec/", "spec/expected.json"),
            ("node --test spec/", "spec/fixtures/a.json"),
            ("node --test spec/", "spec/api.test.js"),
            ("node --test spec/", "spec/load.js"),
            ("pytest tests", "tests/cases.json"),
            ("node --test spec/ && diff out.json spec/want.json", "spec/want.json"),
            ("node --test spec/ && diff -r out spec", "spec/want.json"),
            ("node --test other/", "spec/openapi.yaml"),
            ("sh spec/a.sh", "spec/openapi.yaml"),
        ] {
            assert!(!is(run, path), "{run} {path}");
        }
        let check = Check { closure: vec!["spec/**".to_owned()], rules: Rules::Now, ..Check::command("pytest spec") };
        assert!(!is_product_beside("spec/a.yaml", &check, &CheckFiles::default(), Path::new("/project")));
    }
}
