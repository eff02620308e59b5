//! Checks of all kinds, with what their runners print.

use super::*;
use std::collections::BTreeMap;

const NO_UNIT_TESTS: &str = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured\n";
const NO_PYTEST: &str = "collected 0 items\n\n===== no tests ran in 0.00s =====\n";
const NO_MOCHA: &str = "\n  0 passing (2ms)\n";
const NO_TAP: &str = "TAP version 13\n1..0\n";

/// Files of a project and, by `checks/`, of memory.
struct Files(BTreeMap<&'static str, &'static str>);

impl Texts for Files {
    fn of_memory(&self, name: &str) -> Option<Vec<u8>> {
        self.of_tree(&format!("checks/{name}"))
    }

    fn of_tree(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).map(|text| text.as_bytes().to_vec())
    }

    fn lies(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    fn root(&self) -> &str {
        "/project"
    }
}

fn files() -> Files {
    Files(BTreeMap::from([
        ("e2e.sh", "set -eu\n./prog 2 3 | grep -q 6\n"),
        ("build.sh", "cc -o prog prog.c\n"),
        ("run-cases.sh", "for case in cases/*; do test \"$(sh prog.sh)\" = a || exit 1; done\necho \"1..$n\"\n"),
        ("tests/e2e.sh", "./server &\nhelp() { ./prog --list; }\nhelp | tee out\n"),
        ("tests/all.sh", "./server &\nrun() {\n  pytest -q \"$@\"\n}\nrun tests/a\nkill $!\n"),
        ("tests/setup.sh", "./prog --seed\n"),
        ("tests/quick.sh", "#!/bin/sh\nset -eu\ncd \"$(dirname \"$0\")/..\" || exit 1\npytest -q tests\n"),
        ("tests/test_main.py", "import unittest\n\nif __name__ == \"__main__\":\n    unittest.main()\n"),
        ("tests/a.test.js", "const test = require('node:test')\ntest('a', () => {})\n"),
        ("tests/plain.js", "const { mock } = require('node:test')\nrequire('node:assert')(mock)\n"),
        ("quiet/pytest.ini", "[pytest]\naddopts = -q -q\n"),
        ("own_harness/Cargo.toml", "[package]\n[[test]]\nname = \"cucumber\"\nharness = false\n"),
        ("members/Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"),
        ("reporters/jest.config.js", "module.exports = { reporters: ['./own.js'] }\n"),
        ("reporters/vitest.config.ts", "export default { test: { reporters: 'json' } }\n"),
        ("tests/test_a.py", "import unittest\nimport prog\n"),
        ("e2e.py", "import prog\nprint(prog.report())\n"),
        ("e2e.js", "console.log(require('./prog')())\n"),
        ("bin/check", "#!/usr/bin/env bash\ncargo test\n"),
        (
            "package.json",
            r#"{"scripts": {"test": "node --test", "e2e": "node e2e.js", "all": "mocha && npm run e2e"}}"#,
        ),
        ("web/package.json", r#"{"scripts": {"test": "mocha"}}"#),
        ("own/package.json", r#"{"scripts": {"test": "node own.js"}}"#),
        ("own/own.js", "require('./runner').run()\n"),
        ("tape/package.json", r#"{"scripts": {"spec": "node all.js"}}"#),
        ("tape/all.js", "const test = require('tape')\n"),
        (
            "Makefile",
            "PYTEST = python3 -m pytest\ntest:\n\t$(PYTEST) tests\nall: test\n\tsh e2e.sh\ne2e:\n\t./prog --list\n",
        ),
        ("node_modules/.bin/vitest", "#!/usr/bin/env node\nimport './dist/cli.js'\n"),
        ("checks/a.sh", "cd web\nnpx mocha --reporter dot\n"),
        ("checks/b.sh", "cargo build\n./target/debug/prog --list\n"),
    ]))
}

/// Checks that end well without a test.
const NOTHING: &[(&str, &str)] = &[
    ("pytest tests/test_a.py", NO_PYTEST),
    ("npm ci && pytest -q tests 2>&1 | tee log; echo $?", NO_PYTEST),
    ("sh build.sh && pytest tests", NO_PYTEST),
    ("./prog --migrate && timeout 60 env A=1 python3 -m pytest tests", NO_PYTEST),
    ("sh tests/setup.sh && pytest tests", NO_PYTEST),
    ("sh tests/all.sh", NO_PYTEST),
    ("sh -ec 'cd x; pytest tests'", NO_PYTEST),
    ("pytest tests && ruff check . && python3 -m mypy .", NO_PYTEST),
    ("if ! pytest tests; then exit 1; fi", NO_PYTEST),
    ("pytest --junitxml=r.xml tests; grep -q 'failures=\"0\"' r.xml", NO_PYTEST),
    ("make test", NO_PYTEST),
    ("make unknown", NO_PYTEST),
    ("tox -e py", NO_PYTEST),
    ("cargo build && cargo test --test sum", NO_UNIT_TESTS),
    ("cargo test && cargo clippy", NO_UNIT_TESTS),
    ("cargo test && npx mocha", "test result: ok. 0 passed; 0 failed;\n\n  0 passing (2ms)\n"),
    ("docker compose up -d db && docker compose run --rm web pytest && docker compose down", NO_PYTEST),
    ("bin/check", NO_UNIT_TESTS),
    ("sh \"$LONGHAUL_CHECKS/a.sh\"", NO_MOCHA),
    ("cd web && npm test", NO_MOCHA),
    ("npm --prefix web test", NO_MOCHA),
    ("npm test", NO_TAP),
    ("cd own && npm test", NO_TAP),
    ("sh build.sh && npm --prefix own test", NO_TAP),
    ("cd tape && npm run spec", NO_TAP),
    ("node_modules/.bin/vitest run", "No test files found, exiting with code 0\n"),
    ("npm test --workspaces", NO_TAP),
    ("sh run-cases.sh", NO_TAP),
    ("python3 tests/test_a.py", "Ran 0 tests in 0.000s\n\nOK\n"),
    ("python3 -c 'import pytest; pytest.main()'", NO_PYTEST),
    ("make e2e", "make: 'e2e' is up to date.\n"),
    ("sh build.sh && make e2e", "make: Nothing to be done for 'e2e'.\n"),
];

/// Checks that tested something, whatever is printed.
const TESTED: &[(&str, &str)] = &[
    // The product's own words.
    ("./prog --report", NO_MOCHA),
    ("sh e2e.sh", NO_PYTEST),
    ("python3 e2e.py", NO_TAP),
    ("npm run e2e", NO_MOCHA),
    ("make e2e", NO_PYTEST),
    ("sh \"$LONGHAUL_CHECKS/b.sh\"", NO_UNIT_TESTS),
    ("pytest tests", "collected 3 items\n0 passing (2ms)\n1..0\n===== 3 passed in 0.00s =====\n"),
    ("cargo run -- list", NO_UNIT_TESTS),
    ("curl -fs localhost:3000/report", NO_MOCHA),
    // A runner without tests, and what tests behind it or, by its name, before.
    ("cargo test && ./e2e.sh", NO_UNIT_TESTS),
    ("cargo test && sh e2e.sh", NO_UNIT_TESTS),
    ("cargo test\ntest \"$(./prog 2 3)\" = 6", NO_UNIT_TESTS),
    ("cargo test -q; ./prog 2 3 | grep -q 6", NO_UNIT_TESTS),
    ("./e2e.sh && cargo test", NO_UNIT_TESTS),
    ("pytest tests && docker compose run web ./prog --smoke", NO_PYTEST),
    ("sh tests/e2e.sh && cargo test", NO_UNIT_TESTS),
    ("sh $LONGHAUL_CHECKS/b.sh && cargo test", NO_UNIT_TESTS),
    ("npm run all", NO_MOCHA),
    ("make all", NO_PYTEST),
    ("try() { ./prog \"$@\"; }\ncargo test\ntry 2 3", NO_UNIT_TESTS),
    ("npm --prefix own test && cargo test", NO_UNIT_TESTS),
    ("npm --prefix own test && sh e2e.sh", NO_TAP),
    ("sh tests/e2e.sh && npm --prefix own test", NO_TAP),
    ("cd own && npm test", "0 passing (2ms)\n"),
    // Some parts have tests, others have none.
    ("cargo test --workspace", "test result: ok. 0 passed; 0 failed;\ntest result: ok. 2 passed; 0 failed;\n"),
    ("go test ./...", "?   \ta\t[no test files]\nok  \tb\t0.1s\n"),
    ("cargo test && npx jest", "test result: ok. 0 passed; 0 failed;\nTests:       2 passed, 2 total\n"),
];

fn deciding(check: &str) -> Deciding {
    Deciding::among(steps::read(check, ".", &files()))
}

fn reason(check: &str, output: &str) -> Option<String> {
    deciding(check).nothing(output)
}

#[test]
fn a_runner_that_decides_and_runs_nothing_is_seen() {
    for (check, output) in NOTHING {
        assert!(reason(check, output).is_some(), "{check}: {:?}", steps::read(check, ".", &files()).steps);
    }
}

#[test]
fn a_check_that_tested_something_is_left_alone() {
    for (check, output) in TESTED {
        assert_eq!(reason(check, output), None, "{check}: {:?}", steps::read(check, ".", &files()).steps);
        // The twin: with any runner believed, the output alone would refuse it, unless it says that a test ran.
        let ran = output.contains("ok  \t") || output.contains("2 passed") || output.contains("3 passed");
        assert_eq!(forms::nothing(&runners::ALL, output).is_none(), ran, "{output}");
    }
}

#[test]
fn a_make_that_has_nothing_to_do_is_seen_where_it_decides() {
    let output = "1 passed in 0.1s\nmake: 'e2e' is up to date.\n";
    assert!(reason("cd . && make e2e | cat", output).is_some());
    for check in ["make e2e && ./prog --list", "make e2e || true", "make -k e2e", "pytest tests/a && make e2e"] {
        assert_eq!(reason(check, output), None, "{check}");
    }
}

const ENDED: &str = "exit code 0 alone\n";
const PYTEST_OK: &str = ".   [100%]\n1 passed in 0.01s\n";
const PYTEST_FAILED: &str = "F   [100%]\n=== short test summary info ===\n1 failed, 2 passed in 0.02s\n";
const UNITTEST_OK: &str = ".\n-----\nRan 1 test in 0.000s\n\nOK\n";
const UNITTEST_FAILED: &str = "F\n-----\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n";
const CARGO_OK: &str = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\n";
const CARGO_FAILED: &str = "running 1 test\nF\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";
const CARGO_ENDED: &str = "running 1 test\n.\ntest result: ok. 1 passed; 0 failed\n\nrunning 1 test\n";

const NODE_ENDED: &str = "TAP version 13\n# Subtest: /p/tests/a.test.js\nok 1 - /p/tests/a.test.js\n1..1\n# pass 1\n";
const NODE_18: &str =
    "# Subtest: /p/tests/a.test.js\n    # Subtest: a\n    ok 1 - a\n    1..1\nok 1 - /p/tests/a.test.js\n# pass 1\n";

const GO_OK: &str = "=== RUN   TestE\nsaid\n--- PASS: TestE (0.00s)\nPASS\nok  \texample.org/m/e\t0.003s\n";
const GO_COVER: &str = "=== RUN   TestE\n--- PASS: TestE (0.00s)\nPASS\ncoverage: 50.0% of statements\n\
    ok  \texample.org/m/e\t0.009s\tcoverage: 50.0% of statements\n?   \texample.org/m\t[no test files]\n";
const GO_CACHED: &str = "=== RUN   TestE\n--- PASS: TestE (0.00s)\nPASS\nok  \texample.org/m/e\t(cached)\n";
const GO_HERE: &str = "said\nPASS\nok  \texample.org/m/e\t0.004s\n";
const GO_PACKAGE: &str = "ok  \texample.org/m/b\t0.002s\n";
const GO_ENDED: &str = "=== RUN   TestD\nok  \texample.org/m/d\t0.003s\n";

const VITEST_OK: &str =
    "\n RUN  v3.2.7 /p\n\n ✓ a.test.js (1 test) 2ms\n\n Test Files  1 passed (1)\n      Tests  1 passed (1)\n";
const VITEST_4: &str = "\x1b[2m Test Files \x1b[22m \x1b[1m\x1b[32m1 passed\x1b[39m\x1b[22m\x1b[90m (1)\x1b[39m\n";
const VITEST_ENDED: &str = "\n RUN  v3.2.7 /p\n\n";

const NEXTEST: &str =
    "        PASS [   0.009s] (1/2) nx::t leaves\n     Summary [   0.010s] 1 test run: 1 passed, 0 skipped\n";
const NEXTEST_OK: &str = "        PASS [   0.010s] (2/2) nx::t stays\n  stdout ───\n\n    running 1 test\n    said\n    test stays ... ok\n\n    \
    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.00s\n\n";
const NEXTEST_ENDED: &str = "        PASS [   0.009s] (1/2) nx::t leaves\n  stdout ───\n\n    running 1 test\n\n";

/// Checks that ended well, what a runner in them printed, and what is wrong with that.
const UNFINISHED: &[(&str, &str, &str)] = &[
    ("pytest -q tests/test_a.py", ENDED, "pytest printed no summary: it was ended before its end"),
    ("pytest -q tests/test_a.py", PYTEST_FAILED, "the summary of pytest says 1 failed"),
    ("cd a && timeout 60 python3 -m pytest tests 2>&1 | tee log", ENDED, "pytest printed no summary"),
    ("npm ci\nuv run --with x pytest -q -q -v\ntrue", ENDED, "pytest printed no summary"),
    ("pytest a && pytest b", PYTEST_OK, "pytest printed no summary"),
    ("sh tests/quick.sh", ENDED, "pytest printed no summary"),
    ("make test", ENDED, "pytest printed no summary"),
    ("python3 -m unittest -q tests.test_a", ENDED, "unittest printed no summary"),
    ("coverage run -m unittest tests.test_a", UNITTEST_FAILED, "the summary of unittest says FAILED (failures=1)"),
    ("python3 tests/test_main.py", ENDED, "unittest printed no summary"),
    ("cargo +nightly test -q --test a", ENDED, "cargo test printed no summary"),
    ("cargo test", CARGO_ENDED, "cargo test printed no summary"),
    ("cargo test -- --nocapture", ENDED, "cargo test printed no summary"),
    ("cargo test", CARGO_FAILED, "the summary of cargo test says FAILED. 0 passed; 1 failed"),
    ("cd members && cargo test", CARGO_ENDED, "cargo test printed no summary"),
    ("cd web && npm test", ENDED, "mocha printed no summary"),
    ("npx mocha", "  1 passing (2ms)\n  1 failing\n\n", "the summary of mocha says 1 failing"),
    ("npx jest a", "Tests:       1 failed, 2 passed, 3 total\n", "the summary of jest says 1 failed"),
    ("npx jest a", ENDED, "jest printed no summary"),
    ("go test -v ./...", GO_ENDED, "go test printed no summary: it was ended before its end"),
    ("go test ./d -count=1 -v", GO_ENDED, "go test printed no summary"),
    ("go test -v ./b", GO_PACKAGE, "go test printed no summary"),
    ("cd d && go test -count=1 -race", GO_PACKAGE, "go test printed no summary"),
    ("npx vitest run a", VITEST_ENDED, "vitest printed no summary: it was ended before its end"),
    (
        "node_modules/.bin/vitest run a",
        " Test Files  1 failed (1)\n      Tests  1 failed (1)\n",
        "the summary of vitest says 1 failed",
    ),
    ("cargo nextest run --success-output=final", NEXTEST_ENDED, "nextest printed no summary"),
    (
        "cargo nextest run --no-capture",
        "\nrunning 1 test\n        PASS [   0.008s] (1/1) nx::t leaves\n",
        "nextest printed",
    ),
    ("node tests/a.test.js", ENDED, "node printed no summary"),
    ("node --test tests/a.test.js", NODE_ENDED, "`tests/a.test.js` told node of no test in it"),
    ("node --test ./tests/a.test.js", "✔ /project/tests/a.test.js (9.1ms)\nℹ pass 1\n", "`./tests/a.test.js` told"),
];

/// Checks that ended well, and of which nothing is known that is wrong.
const FINISHED: &[(&str, &str)] = &[
    ("pytest -q tests", PYTEST_OK),
    ("pytest tests", "Results (0.03s):\n       1 passed\n"),
    ("pytest tests", "Ran 3 tests in 0.1s\n\nOK\n"),
    // What a plugin under test prints, before what says it all.
    ("pytest -s tests", "=== 1 failed in 0.01s ===\n=== 3 passed in 0.09s ===\n"),
    ("python3 -m unittest tests.test_a", UNITTEST_OK),
    ("python3 tests/test_main.py", UNITTEST_OK),
    ("cargo test", CARGO_OK),
    ("cargo test -- --show-output", "running 1 test\nrunning 3 tests\nx\ntest result: ok. 1 passed; 0 failed\n"),
    ("npx mocha", "  1 passing (2ms)\n"),
    ("npx jest a", "Tests:       1 passed, 1 total\n"),
    ("node tests/a.test.js", "# tests 1\n# pass 1\n# fail 0\n"),
    ("node --test tests/a.test.js", "✔ a (0.1ms)\nℹ pass 1\nℹ fail 0\n"),
    ("node --test tests/a.test.js", NODE_18),
    ("node --test tests/plain.js", "✔ tests/plain.js (9.1ms)\nℹ pass 1\nℹ fail 0\n"),
    ("go test -v ./...", GO_OK),
    ("go test -v -cover ./...", GO_COVER),
    ("go test -v ./...", GO_CACHED),
    ("go test", GO_HERE),
    ("go test -v ./...", "?   \texample.org/m\t[no test files]\n"),
    ("npx vitest run a", VITEST_OK),
    ("npx vitest run a", VITEST_4),
    ("npx vitest run a --passWithNoTests", "\nNo test files found, exiting with code 0\n"),
    ("cargo nextest run --success-output immediate", NEXTEST_OK),
    // Nothing tells there whether a package or a test came to its end.
    ("go test ./...", GO_PACKAGE),
    ("go test -run TestB ./b", GO_PACKAGE),
    ("cargo nextest run", NEXTEST),
    ("go test -v ./a && go test ./b", GO_PACKAGE),
    ("go test ./b || true\ngo test -v ./a", GO_PACKAGE),
    // Told to say less, or elsewhere.
    ("go test -v -list . ./...", GO_PACKAGE),
    ("go test -v -json ./...", GO_PACKAGE),
    ("GOFLAGS=-json go test -v ./...", GO_PACKAGE),
    ("npx vitest run --reporter=json", ENDED),
    ("npx vitest bench --run", ENDED),
    ("cd reporters && npx vitest run", ENDED),
    ("cargo nextest run --retries 2 --no-capture", NEXTEST_ENDED),
    ("pytest -qq tests", ENDED),
    ("pytest -q --quiet tests", ENDED),
    ("pytest -sq --verbosity=-2 tests", ENDED),
    ("cd quiet && pytest -q tests", ENDED),
    ("pytest -q quiet/tests", ENDED),
    ("PYTEST_ADDOPTS=-q pytest tests -q", ENDED),
    ("export PYTEST_ADDOPTS=-qq\npytest tests", ENDED),
    ("pytest -p no:terminal tests", ENDED),
    ("pytest tests > log", ENDED),
    ("pytest tests &> log && grep -q passed log", ENDED),
    ("pytest -q tests | tail -n 1 | cut -c 1", ENDED),
    ("test \"$(pytest -q tests | wc -l)\" -gt 0; pytest -qq tests", ENDED),
    ("python3 -m unittest tests.test_a 2> /dev/null", ENDED),
    ("cargo test --no-run", ENDED),
    ("cargo test -- --list", ENDED),
    ("cargo test -- -Z unstable-options --format json", ENDED),
    ("cd own_harness && cargo test", "Running tests/cucumber.rs\n1 scenario (1 passed)\n"),
    ("cd members && cargo test", ENDED),
    ("npx mocha --reporter=json", ENDED),
    ("npx mocha -R tap", ENDED),
    ("cd web && npm test -- --reporter json", ENDED),
    ("npx jest --reporters=jest-silent-reporter", ENDED),
    ("cd reporters && npx jest", ENDED),
    ("node --test --test-reporter=dot tests/a.test.js", ENDED),
    // It may not have run, or have failed.
    ("pytest tests/broken || true", PYTEST_FAILED),
    ("! pytest -q tests/broken", PYTEST_FAILED),
    ("if pytest -q tests/broken; then exit 1; fi", PYTEST_FAILED),
    ("test -f x && exit 0\npytest tests", ENDED),
    ("pytest tests; echo $?", ENDED),
    ("sh tests/all.sh", ENDED),
    ("make -k test", ENDED),
    ("npm test --if-present", ENDED),
    // Another program.
    ("docker compose run web pytest", ENDED),
    ("./run unittest", ENDED),
    ("python3 tests/test_a.py", ENDED),
    ("pip install pytest && ./prog", ENDED),
    ("tox -e py", ENDED),
    ("tox -e go", VITEST_ENDED),
    ("gotestsum -v", GO_ENDED),
];

fn unfinished(check: &str, output: &str) -> Option<String> {
    deciding(check).unfinished_in(output)
}

#[test]
fn a_runner_that_was_ended_or_says_that_it_failed_is_seen() {
    for (check, output, expected) in UNFINISHED {
        let told = unfinished(check, output).unwrap_or_default();
        assert!(told.starts_with(expected), "{check}: {told:?} in {output}");
    }
}

#[test]
fn nothing_is_asked_of_a_runner_that_may_say_nothing() {
    for (check, output) in FINISHED {
        assert_eq!(unfinished(check, output), None, "{check}: {output}");
    }
    // The twin: the same runners, without the words that hush them.
    for check in
        ["pytest -q tests", "python3 -m unittest tests.test_a", "cargo test", "npx mocha", "npx jest", "npx vitest run"]
    {
        assert!(unfinished(check, ENDED).is_some(), "{check}");
    }
}

#[test]
fn texts_that_call_each_other_without_an_end_are_left() {
    let calls = "sh a.sh\n".repeat(100);
    let needs = format!("a: {}\n\techo\n", "a b ".repeat(100));
    let both = format!("{needs}b: {}\n\tpytest\n", "a b ".repeat(100));
    let doubled: String = (1..60).map(|n| format!("f{n}() {{ f{}; pytest; f{}; ./a; }}\n", n - 1, n - 1)).collect();
    let doubled = doubled + "f59\n";
    let files =
        Files(BTreeMap::from([("a.sh", calls.leak() as &str), ("Makefile", both.leak()), ("f.sh", doubled.leak())]));
    let steps = |text| steps::read(text, ".", &files).steps;
    assert_eq!(steps("sh a.sh"), [Step::Other]);
    assert_eq!(steps("make a"), [Step::Runner(vec![Runner::Pytest])]);
    assert_eq!(steps("sh f.sh"), [Step::Runner(vec![Runner::Pytest]), Step::Other]);
}
