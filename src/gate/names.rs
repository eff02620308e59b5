//! What the name of a file tells of its part in a check: that it holds what is expected, is the product, judges, or is data.

use crate::gate::words;

/// Folders of what is expected, or of what tests are fed with.
const EXPECTED_FOLDERS: [&str; 10] = [
    "fixtures",
    "__fixtures__",
    "testdata",
    "test_data",
    "test-data",
    "__snapshots__",
    "snapshots",
    "golden",
    "goldens",
    "expected",
];

/// Those of what a product, or a test, is fed with: only a comparison tells that one holds what is expected.
const INPUT_FOLDERS: [&str; 5] = ["fixtures", "__fixtures__", "testdata", "test_data", "test-data"];

/// Parts of the name of a file that holds what is expected.
const EXPECTED: [&str; 6] = ["expected", "golden", "goldens", "snap", "snapshot", "approved"];

/// Parts of the name of what a product made.
const MADE: [&str; 11] =
    ["out", "output", "outputs", "actual", "got", "result", "results", "current", "received", "generated", "tmp"];

/// Folders of products, and of what they make.
const PRODUCT_FOLDERS: [&str; 13] =
    ["src", "lib", "app", "bin", "dist", "build", "target", "out", "output", "public", "docs", "doc", "tmp"];

/// Files of products, in lower case.
const PRODUCT_FILES: [&str; 10] = [
    "readme",
    "changelog",
    "license",
    "version",
    "package.json",
    "package-lock.json",
    "cargo.toml",
    "cargo.lock",
    "pyproject.toml",
    "go.mod",
];

/// Extensions of programs, which are compared where something is made of them.
const CODE: [&str; 26] = [
    "py", "js", "mjs", "cjs", "ts", "jsx", "tsx", "rs", "go", "c", "h", "cc", "cpp", "hpp", "java", "kt", "rb", "php",
    "pl", "sh", "bash", "swift", "cs", "lua", "ex", "md",
];

/// Extensions of what is no program.
const DATA: [&str; 19] = [
    "json", "yaml", "yml", "toml", "xml", "html", "htm", "md", "rst", "txt", "csv", "tsv", "svg", "png", "jpg", "pdf",
    "css", "log", "lock",
];

/// Extensions of settings, and of what a program is given beside data.
const SETTINGS: [&str; 8] = ["env", "cfg", "ini", "conf", "spec", "properties", "sql", "db"];

/// Endings of tests that are no programs of a common language, and what stands before the ending of others.
const TEST_ENDINGS: [&str; 6] = ["t", "bats", "exp", "feature", "hurl", "robot"];
const TEST_MARKS: [&str; 2] = ["cy", "postman_collection"];

/// Parts of the name of a script that judges.
const JUDGES: [&str; 7] = ["e2e", "smoke", "test", "tests", "acceptance", "spec", "ci"];

/// Those of them that hardly a product has.
const SURE: [&str; 3] = ["e2e", "smoke", "acceptance"];

/// Parts that name a judge, or a product that is given something to look at.
const VERBS: [&str; 8] = ["check", "checks", "verify", "verification", "validate", "assert", "prove", "proof"];

/// Tells whether a file is named as one that holds what is expected.
pub(in crate::gate) fn expects(path: &str) -> bool {
    let (folders, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path.trim_end_matches('/')));
    let in_folder = folders.split('/').any(|folder| EXPECTED_FOLDERS.contains(&folder));
    let named = !is_code(name) && parts(name).iter().any(|part| EXPECTED.contains(&part.as_str()));
    in_folder || EXPECTED_FOLDERS.contains(&name) || named
}

/// Tells whether nothing but its folder says that a file is expected, and that may as well be input.
pub(in crate::gate) fn is_input(path: &str) -> bool {
    let parts_of_path = || path.trim_end_matches('/').split('/');
    let sure = |folder: &str| EXPECTED_FOLDERS.contains(&folder) && !INPUT_FOLDERS.contains(&folder);
    let name = words::name(path.trim_end_matches('/'));
    let named = !is_code(name) && parts(name).iter().any(|part| EXPECTED.contains(&part.as_str()));
    !named && !parts_of_path().any(sure) && parts_of_path().any(|folder| INPUT_FOLDERS.contains(&folder))
}

/// Tells whether a file is named as the product, or as something that a product makes.
pub(in crate::gate) fn is_product(path: &str) -> bool {
    let (folders, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path.trim_end_matches('/')));
    let lower = name.to_lowercase();
    let stem = lower.split('.').next().unwrap_or_default();
    folders.split('/').chain([name]).any(|folder| PRODUCT_FOLDERS.contains(&folder))
        || PRODUCT_FILES.contains(&lower.as_str())
        || PRODUCT_FILES.contains(&stem)
        || parts(stem).iter().any(|part| MADE.contains(&part.as_str()))
        || is_code(name)
        || lower.rsplit_once('.').is_some_and(|(_, extension)| extension != "out" && MADE.contains(&extension))
}

/// Tells whether a file is a program, by its extension.
pub(in crate::gate) fn is_code(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| CODE.contains(&extension.to_lowercase().as_str()))
}

/// Tells whether a file is no program, by its extension.
pub(in crate::gate) fn is_data(path: &str) -> bool {
    let name = words::name(path).to_lowercase();
    name.rsplit_once('.').is_some_and(|(_, extension)| DATA.contains(&extension))
}

/// Tells whether a script is named as one that judges, when it is run with these arguments.
pub(in crate::gate) fn judges(path: &str, arguments: &[String]) -> bool {
    let is_given = arguments.iter().any(|argument| !argument.starts_with('-'));
    let parts = parts(words::name(path.split("::").next().unwrap_or_default()));
    let has = |names: &[&str]| parts.iter().any(|part| names.contains(&part.as_str()));
    is_test_of_a_kind(path) || has(&JUDGES) || !is_given && has(&VERBS)
}

/// Tells whether a script is named as one that judges whatever is done with what it prints.
pub(in crate::gate) fn judges_surely(path: &str) -> bool {
    let parts = parts(words::name(path.split("::").next().unwrap_or_default()));
    is_test_of_a_kind(path) || parts.iter().any(|part| SURE.contains(&part.as_str()))
}

/// Tells whether nothing but such a verb names a script as one that judges.
pub(in crate::gate) fn judges_by_a_verb(path: &str) -> bool {
    !is_test_of_a_kind(path) && !parts(words::name(path)).iter().any(|part| JUDGES.contains(&part.as_str()))
}

/// Tells whether a file is settings or data by its ending, so that a name as that of a test says little.
pub(in crate::gate) fn is_settings(path: &str) -> bool {
    let name = words::name(path).to_lowercase();
    is_data(path) || name.rsplit_once('.').is_some_and(|(_, extension)| SETTINGS.contains(&extension))
}

/// Tells whether a file is named as a kind of tests that are told by their endings: of Perl, bats, expect, cucumber, hurl,
/// Robot Framework, cypress, newman.
pub(in crate::gate) fn is_test_of_a_kind(path: &str) -> bool {
    let parts: Vec<&str> = words::name(path).split('.').collect();
    let ended = parts.len() > 1 && TEST_ENDINGS.contains(parts.last().unwrap_or(&""));
    ended || parts.iter().rev().nth(1).is_some_and(|part| TEST_MARKS.contains(part))
}

/// Splits a name where its words end, in lower case.
pub(in crate::gate) fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = None;
    for c in name.chars() {
        let begins = c.is_uppercase() && before.is_some_and(char::is_lowercase);
        if !c.is_alphanumeric() || begins {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| c.is_alphanumeric()) {
            part.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_what_is_expected_is_known_by_its_name() {
        for path in [
            "expected.txt",
            "expected",
            "a/expected-loud.json",
            "loud.golden",
            "golden_1.txt",
            "a.snap",
            "a.expected",
            "fixtures/a.txt",
            "web/__snapshots__/a",
            "testdata/",
            "loud.approved.txt",
        ] {
            assert!(expects(path), "{path}");
        }
        for path in
            ["unexpected.txt", "goldenrod.css", "src/main.rs", "out.txt", "snappy.rs", "snapshot.js", "fixtures.py"]
        {
            assert!(!expects(path), "{path}");
        }
    }

    #[test]
    fn a_product_and_a_judge_are_known_by_their_names() {
        for path in
            ["out.txt", "src/a", "docs/api.html", "README.md", "VERSION", "dist", "a.actual", "a.py", "my-output"]
        {
            assert!(is_product(path), "{path}");
        }
        for path in ["want.txt", "1.out", "loud.txt", "reference", "route.txt"] {
            assert!(!is_product(path), "{path}");
        }
        for path in ["e2e.sh", "scripts/check_loud.sh", "verify", "bin/runChecks", "smoke-test.py", "ci.sh", "t/a.t"] {
            assert!(judges(path, &["--all".to_owned()]), "{path}");
        }
        for path in ["app", "greet.sh", "checkout.py", "latest.sh", "checks/run.sh", "scripts/build.sh", "checker"] {
            assert!(!judges(path, &[]), "{path}");
        }
        let given = ["http://localhost".to_owned()];
        assert!(judges("e2e.py::adds", &[]) && !judges("app.py::test_adds", &[]));
        assert!(judges("e2e.sh", &given) && !judges("verify", &given));
        assert!(judges_surely("a/e2e.sh") && judges_surely("t/a.t") && !judges_surely("ci.sh"));
        assert!(is_data("spec/openapi.yaml") && is_data("tests/README.md") && !is_data("tests/a.sh") && !is_data("a"));
    }
}
