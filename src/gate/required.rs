//! Modules that code of Node names without their endings, such as by `require('./tests')`, and what it takes of them.

use crate::gate::names;
use crate::gate::words;
use regex::Regex;
use std::sync::LazyLock;

/// How such code names a module beside it.
static REQUIRED: LazyLock<Regex> = LazyLock::new(|| {
    let form = r#"\b(?:require|import|from)\s*\(?\s*\\?["'](\.{1,2}/[^"'\\]+)\\?["']"#;
    Regex::new(form).expect("a regular expression written here")
});

/// How code takes members by their names: `{ a, b } = require('./spec')`, `import { a } from './spec'`, and what follows.
static UNPACKED: LazyLock<Regex> = LazyLock::new(|| {
    let form = r#"\{([^{}]*)\}\s*(?:=\s*(?:await\s+)?(?:require|import)\s*\(|from)\s*\\?["'](\.{1,2}/[^"'\\]+)\\?["'](\s*\)\s*[.(\[])?"#;
    Regex::new(form).expect("a regular expression written here")
});

/// How it takes one: `require('./spec').a`, and what follows.
static TAKEN: LazyLock<Regex> = LazyLock::new(|| {
    let form = r#"\b(?:require|import)\s*\(\s*\\?["'](\.{1,2}/[^"'\\]+)\\?["'][\s)]*\.\s*(\w+)(\s*[.(\[`])?"#;
    Regex::new(form).expect("a regular expression written here")
});

/// What tells that a module tests something by itself.
static TESTS: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"(?m)(?:^|[^.\w$])(?:describe|it|test|suite|specify|expect)\s*(?:\.\s*\w+\s*)*\(|\bassert|node:test|process\.exit";
    Regex::new(form).expect("a regular expression written here")
});

/// Parts of the names of members that run tests, or tell how they went.
const JUDGING: [&str; 24] = [
    "run", "main", "test", "tests", "check", "checks", "verify", "start", "exec", "execute", "all", "suite", "default",
    "ok", "pass", "passed", "fail", "failed", "failures", "errors", "result", "results", "success", "status",
];

/// What Node adds to such a name, in its order; before it is there, the first and the last are what it will be.
const ADDED: [&str; 5] = [".js", ".json", ".cjs", ".mjs", "/index.js"];

/// Returns the modules that a text names so.
pub(in crate::gate) fn modules(text: &str) -> Vec<String> {
    REQUIRED.captures_iter(text).map(|found| found[1].to_owned()).collect()
}

/// Returns what the path of a module that is not there as it is written means: the file that is, or those it may become.
pub(in crate::gate) fn meant(path: &str, is_there: &dyn Fn(&str) -> bool) -> Vec<String> {
    let forms: Vec<String> = ADDED.iter().map(|end| format!("{path}{end}")).collect();
    match forms.iter().find(|form| is_there(form)) {
        Some(form) => vec![form.clone()],
        None => [forms.first(), forms.last()].into_iter().flatten().cloned().collect(),
    }
}

/// Returns the modules of which code takes members as it does of a product: by names that do not sound like tests, and none is
/// called where it is taken.
pub(in crate::gate) fn unpacked(text: &str) -> Vec<String> {
    let unpacked = UNPACKED.captures_iter(text).filter(|found| found.get(3).is_none());
    let unpacked = unpacked.map(|found| (found[2].to_owned(), members(&found[1])));
    let taken = TAKEN.captures_iter(text).filter(|found| found.get(3).is_none());
    let taken = taken.map(|found| (found[1].to_owned(), vec![found[2].to_owned()]));
    let of_product = |names: &Vec<String>| !names.is_empty() && !names.iter().any(|name| judges(name));
    let found = unpacked.chain(taken).filter(|(module, names)| of_product(names) && !is_named_as_test(module));
    found.map(|(module, _)| module).collect()
}

/// Returns the names before `:`, `=` and `as` of a list.
fn members(list: &str) -> Vec<String> {
    let first = |part: &str| part.trim().split([':', '=', ' ']).next().unwrap_or_default().to_owned();
    list.split(',').map(first).filter(|name| !name.is_empty()).collect()
}

/// Tells whether a member is named as one that tests; of the rest of all members nobody knows.
fn judges(name: &str) -> bool {
    name.starts_with("...") || names::parts(name).iter().any(|part| JUDGING.contains(&part.as_str()))
}

/// Tells whether the name of a module itself is that of a test, and not only its folder's.
fn is_named_as_test(module: &str) -> bool {
    let name = words::name(module);
    let bare = ADDED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    !words::is_folder_of_tests(bare) && words::looks_like_test(name)
}

/// Tells whether the text of a module tests something.
pub(in crate::gate) fn tests(text: &str) -> bool {
    TESTS.is_match(text)
}

/// Returns the files that the path of a module can mean, and may be read.
pub(in crate::gate) fn files(path: &str) -> Vec<String> {
    [""].iter().chain(&ADDED).map(|end| format!("{path}{end}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_code_takes_as_of_a_product_is_told_from_what_it_runs() {
        for text in [
            "const add = require('./spec').add; if (add(1, 2) !== 3) process.exit(1)",
            "const { add } = require('./spec')",
            "const {add: plus, sub = 1} = require(\"./spec\");",
            "node -e \"const {add} = require(\\\"./spec\\\")\"",
            "import { add as plus } from './spec'",
            "const add = (await import('./spec')).add;",
            "const { add } = await import('./spec')",
        ] {
            assert_eq!(unpacked(text), ["./spec"], "{text}");
        }
        for text in [
            "require('./spec')",
            "require('./spec').run() === 0 || process.exit(1)",
            "require('./spec').add(1, 2)",
            "require('./spec').all.run()",
            "const t = require('./spec'); t.add()",
            "const { run } = require('./spec')",
            "const { add, ...rest } = require('./spec')",
            "const { add, runAll } = require('./spec')",
            "const {} = require('./spec')",
            "const { add } = require('./spec')()",
            "if (!require('./spec').ok) process.exit(1)",
            "import * as spec from './spec'",
            "const { add } = require('./add.test.js')",
            "const { add } = require('./spec.test')",
        ] {
            assert_eq!(unpacked(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_module_that_tests_is_told_by_its_calls() {
        for text in [
            "test('a', f)",
            "describe.skip('a', f)",
            "  it(\"a\", f)",
            "const a = require('assert')",
            "process.exit(1)",
        ] {
            assert!(tests(text), "{text}");
        }
        for text in ["exports.add = (a, b) => a + b", "if (/x/.test(a)) b()", "submit(a); wait (b)", "const test = 1"] {
            assert!(!tests(text), "{text}");
        }
    }
}
