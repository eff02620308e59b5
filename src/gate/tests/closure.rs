//! Which files decide with a check, and what happens when they differ.

use super::*;

#[test]
fn a_check_file_of_memory_is_pinned_and_laid_out() {
    let mut bench = Bench::new();
    let files =
        |login: &str| CheckFiles::new(vec![("login.sh".to_owned(), login.into()), ("other.sh".to_owned(), vec![])]);
    bench.files = files("grep after src/product.txt");
    let check = bench.approved("sh \"$LONGHAUL_CHECKS/login.sh\"");
    assert_eq!(check.pins.keys().collect::<Vec<_>>(), ["checks/login.sh"]);
    bench.work();
    assert_eq!(bench.finding(&check), Finding::Passed);
    bench.files = files("exit 0");
    assert_eq!(bench.finding(&check), Finding::CheckChanged);
}

#[test]
fn a_check_file_that_memory_lacks_makes_the_check_not_runnable() {
    let bench = Bench::new();
    let check = bench.approved("sh $LONGHAUL_CHECKS/login.sh || true");
    bench.work();
    let verdict = bench.judge(&check);
    assert_eq!(
        verdict.trial().sentence(),
        "not runnable: `$LONGHAUL_CHECKS/login.sh` is not among memory's check files"
    );
}

#[test]
fn a_check_file_changed_by_the_setup_or_the_run_does_not_decide() {
    let mut bench = Bench::new();
    bench.files = CheckFiles::new(vec![("a.sh".to_owned(), b"exit 1".to_vec()), ("b.sh".to_owned(), b"true".to_vec())]);
    let overwriting = "rm -f $LONGHAUL_CHECKS/a.sh && echo exit 0 > $LONGHAUL_CHECKS/a.sh";
    let setup = Check { setup: Some(overwriting.to_owned()), ..Check::command("sh $LONGHAUL_CHECKS/a.sh") };
    let setup = bench.approve(setup);
    let run = bench.approved(&format!("{overwriting} && sh $LONGHAUL_CHECKS/a.sh"));
    let honest = bench.approved("sh $LONGHAUL_CHECKS/b.sh");
    bench.work();
    assert_eq!(bench.finding(&setup), Finding::Failed);
    assert_eq!(bench.finding(&run), Finding::CheckChanged);
    assert_eq!(bench.finding(&honest), Finding::Passed);
}

#[test]
fn a_closure_holds_what_the_patterns_say() {
    let bench = Bench::new();
    for path in ["e2e/a.ts", "e2e/tmp/b.ts", "src/main.rs", "checks/x_test.sh", "web/tests/c.py"] {
        bench.write(path, "");
    }
    let check = Check {
        closure: ["e2e", "!e2e/tmp/**", "src/*.rs", "missing.txt"].map(str::to_owned).to_vec(),
        ..Check::command("sh checks/x_test.sh && cd web && pytest tests/*.py src/product.txt")
    };
    let paths: Vec<(String, bool)> = closure(&bench.project, &check, &bench.files, Reading::All)
        .unwrap()
        .into_iter()
        .map(|file| (file.path, file.id.is_some()))
        .collect();
    let expected = [
        ("./checks/x_test.sh", true),
        ("e2e/a.ts", true),
        ("missing.txt", false),
        ("src/main.rs", true),
        ("web/checks/x_test.sh", false),
        ("web/tests/c.py", true),
    ];
    assert_eq!(paths, expected.map(|(path, there)| (path.to_owned(), there)));
}

#[test]
fn the_programs_in_a_folder_of_tests_are_no_tests() {
    let bench = Bench::new();
    bench.write("tests/all", "");
    let pinned = |text: &str| {
        let found = closure(&bench.project, &Check::command(text), &bench.files, Reading::All).unwrap();
        found.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    assert_eq!(pinned("(cd tests; sh t.sh)"), ["tests/all", "tests/t.sh"]);
    assert_eq!(pinned("cd tests && sh all && bash ./new"), ["tests/all", "tests/new"]);
}

#[test]
fn a_closure_follows_scripts_to_what_they_name() {
    let mut bench = Bench::new();
    bench.write("tests/a.py", "");
    let script = |text: &str| text.as_bytes().to_vec();
    bench.files = CheckFiles::new(vec![
        ("a.sh".to_owned(), script(". \"$LONGHAUL_CHECKS/lib/b.sh\"\npytest tests/a.py")),
        ("lib/b.sh".to_owned(), script(". \"$LONGHAUL_CHECKS/a.sh\"")),
        ("other.sh".to_owned(), script("")),
    ]);
    let paths = |check: &Check| bench.approve(check.clone()).pins.into_keys().collect::<Vec<_>>();
    assert_eq!(paths(&Check::command("sh $LONGHAUL_CHECKS/a.sh")), ["checks/a.sh", "checks/lib/b.sh", "tests/a.py"]);
    assert_eq!(paths(&Check::command("sh $LONGHAUL_CHECKS/lib/*")), ["checks/a.sh", "checks/lib/b.sh", "tests/a.py"]);
    assert_eq!(
        paths(&Check::command("run-all $LONGHAUL_CHECKS")),
        ["checks/a.sh", "checks/lib/b.sh", "checks/other.sh", "tests/a.py"]
    );
}

#[test]
fn a_test_with_the_name_of_a_case_is_pinned_as_absent_too() {
    let bench = Bench::new();
    let pins = |run: &str, rules| bench.approve(Check { rules, ..Check::command(run) }).pins;
    let absent = BTreeMap::from([("tests/test_sub.py".to_owned(), None)]);
    assert_eq!(pins("pytest -q tests/test_sub.py::test_sub", Rules::Now), absent);
    assert_eq!(pins("pytest -q tests/test_sub.py::TestA::test_sub", Rules::Now), absent);
    // The twin, by the rules before; and what is no path.
    assert_eq!(pins("pytest -q tests/test_sub.py::test_sub", Rules::First), BTreeMap::new());
    assert_eq!(pins("cargo test tests::adds; curl http://a/tests", Rules::Now), BTreeMap::new());
}

#[test]
fn a_name_is_read_in_code_and_with_blanks() {
    let bench = Bench::new();
    bench.write("tests/a.py", "x");
    bench.write("tests/ü ñ.sh", "x");
    bench.commit();
    let pins =
        |run: &str, rules| bench.approve(Check { rules, ..Check::command(run) }).pins.into_keys().collect::<Vec<_>>();
    let code = "python3 -c \"import runpy; runpy.run_path('tests/a.py',run_name='__main__')\"";
    assert_eq!(pins(code, Rules::Now), ["tests/a.py"]);
    assert_eq!(pins("python3 -c \"run(['tests/a.py','x'])\"", Rules::Now), ["tests/a.py"]);
    assert_eq!(pins("sh 'tests/ü ñ.sh'", Rules::Now), ["tests/ü ñ.sh"]);
    // The twin, by the rules before.
    assert_eq!(pins(code, Rules::First), ["tests/a.py,run_name=__main__"]);
}

/// Returns what a check pins by the rules of now, `-` before what is absent.
fn pinned_now(bench: &Bench, run: &str) -> Vec<String> {
    let pins = bench.approve(Check { rules: Rules::Now, ..Check::command(run) }).pins;
    pins.into_iter().map(|(path, pin)| if pin.is_some() { path } else { format!("-{path}") }).collect()
}

#[test]
fn what_is_expected_is_pinned_and_what_came_out_is_not() {
    let bench = Bench::new();
    for path in ["expected.txt", "loud", "out.txt", "want/a", "fixtures/a.json", "spec/a.yaml", "web/expected.txt"] {
        bench.write(path, "x\n");
    }
    let cases: &[(&str, &[&str])] = &[
        ("sh a.sh | diff - expected.txt", &["expected.txt"]),
        ("sh a.sh | diff - loud", &["loud"]),
        ("diff out.txt loud", &["loud"]),
        ("make && diff -r out want", &["want/a"]),
        ("test \"$(sh a.sh)\" = \"$(cat fixtures/a.json)\"", &["fixtures/a.json"]),
        ("python3 -c \"assert open('out.txt').read() == open('expected.txt').read()\"", &["expected.txt"]),
        ("sh a.sh <fixtures/a.json | diff - expected.txt", &["expected.txt"]),
        ("cd web && sh a.sh | cmp - expected.txt", &["expected.txt", "web/expected.txt"]),
        // What is yet to be made may be the product, unless its name says otherwise.
        ("sh a.sh | cmp - new.txt", &[]),
        ("sh a.sh | cmp - new.golden", &["-new.golden"]),
        ("test \"$(cat out.txt)\" = \"$(seq 3)\"", &[]),
        ("sh a.sh | diff -r - golden", &["-golden"]),
        // What is asked after, and what may be either.
        ("test -f fixtures/new.json && test -s expected.txt", &[]),
        ("python3 -c \"open('golden/new.txt')\"", &[]),
        ("sh a.sh > expected.txt; grep -q x expected.txt", &[]),
        ("diff expected.txt src/product.txt && diff a.txt b.txt", &["expected.txt"]),
    ];
    for (text, expected) in cases {
        assert_eq!(pinned_now(&bench, text), *expected, "{text}");
        // The twin, by the rules before.
        assert_eq!(bench.approved(text).pins, BTreeMap::new(), "{text}");
    }
    let untold = |text: &str| {
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(text) });
        untold_expectations(&bench.project, &check, &bench.files)
    };
    assert_eq!(untold("diff expected.txt src/product.txt && diff a.txt b.txt"), ["a.txt", "b.txt"]);
    assert_eq!(untold("sh a.sh | cmp - new.txt"), ["new.txt"]);
    assert_eq!(untold("sh a.sh | diff - expected.txt"), [""; 0]);
    assert_eq!(untold("sh a.sh | join - a.txt | grep -q x"), ["a.txt"]);
}

#[test]
fn a_file_of_what_is_expected_that_is_new_in_its_folder_does_not_decide() {
    let bench = Bench::new();
    bench.write("want/product.txt", "after\n");
    bench.commit();
    let check = bench.approve(Check { rules: Rules::Now, ..Check::command("diff -r src want") });
    bench.write("want/product.txt", "before\n");
    bench.commit();
    assert_eq!(bench.finding(&check), Finding::Failed);
    bench.write("src/more.txt", "x\n");
    bench.write("want/more.txt", "x\n");
    bench.work();
    assert_eq!(bench.finding(&check), Finding::Failed, "nobody approved `want/more.txt`");
    fs::remove_file(bench.root().join("src/more.txt")).unwrap();
    bench.commit();
    assert_eq!(bench.finding(&check), Finding::Passed);
}

#[test]
fn a_product_with_the_name_of_a_test_is_not_pinned() {
    let bench = Bench::new();
    for run in [
        "grep -q openapi spec/openapi.yaml",
        "test -f test.html",
        "test -f tests/login.py || exit 1",
        "test -f tests/login.py || { echo missing; exit 1; }; sh a.sh",
        "test -f tests/README.md && sh a.sh",
        "test -e tests/login.py && ls tests/login.py",
        "python3 -c \"import json; json.load(open('spec/openapi.json'))\"",
        "npx lint spec/openapi.yaml",
        "cat spec/openapi.yaml | grep -q x",
        "mkdir -p tests/out && sh a.sh >tests/out/ada && rm -r tests/out",
    ] {
        assert_eq!(pinned_now(&bench, run), [""; 0], "{run}");
        assert!(!bench.approved(run).pins.is_empty(), "{run}: the twin, by the rules before");
    }
    for (run, expected) in [
        ("test -e tests/a.sh && sh tests/a.sh", "-tests/a.sh"),
        ("cat tests/a.sh | sh", "-tests/a.sh"),
        // What switches other commands off decides.
        ("test -e tests/off.test || sh a.sh", "-tests/off.test"),
        ("test -e tests/off.test || grep -q x a", "-tests/off.test"),
        ("if [ -e tests/off.test ]; then exit 0; fi; sh a.sh", "-tests/off.test"),
        ("grep -q yes tests/off.test && exit 0\nsh a.sh", "-tests/off.test"),
        ("[ -f tests/fast.test ] && export FAST=1\nsh a.sh", "-tests/fast.test"),
        ("sh -c \"$(cat tests/a.sh)\"", "-tests/a.sh"),
        ("cp tests/a.sh \"$TMPDIR/x\" && sh \"$TMPDIR/x\"", "-tests/a.sh"),
        ("sh < tests/a.sh", "-tests/a.sh"),
        ("t=tests/a.sh; sh $t", "-tests/a.sh"),
        ("for t in tests/a.sh; do sh $t; done", "-tests/a.sh"),
        ("newman run tests/api.json", "-tests/api.json"),
        ("bats tests/a.bats", "-tests/a.bats"),
        ("python3 -c \"exec(open('tests/a.py').read())\"", "-tests/a.py"),
    ] {
        assert_eq!(pinned_now(&bench, run), [expected], "{run}");
    }
    // What is there is named on purpose, unless the check runs nothing.
    bench.write("spec/openapi.yaml", "x\n");
    assert_eq!(pinned_now(&bench, "test -f spec/openapi.yaml && make check"), ["spec/openapi.yaml"]);
    assert_eq!(pinned_now(&bench, "grep -q openapi spec/openapi.yaml"), [""; 0]);
}

#[test]
fn the_code_of_a_check_file_is_no_text_for_a_shell() {
    let mut bench = Bench::new();
    bench.write("expected.txt", "x\n");
    let code = "import json\ndiff = compare(a, b)\ntest = json.load(open('spec/new.json'))\nopen('expected.txt')\n";
    for name in ["a.py", "a"] {
        let code = if name == "a" { format!("#!/usr/bin/env python3\n{code}") } else { code.to_owned() };
        bench.files = CheckFiles::new(vec![(name.to_owned(), code.into_bytes())]);
        let text = format!("python3 \"$LONGHAUL_CHECKS/{name}\"");
        assert_eq!(pinned_now(&bench, &text), [&format!("checks/{name}"), "expected.txt"], "{name}");
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(&text) });
        assert_eq!(untold_expectations(&bench.project, &check, &bench.files), [""; 0]);
    }
    // The twin: a script for a shell that has no extension.
    bench.files = CheckFiles::new(vec![("a".to_owned(), b"sh a.sh | diff - loud.snap\n".to_vec())]);
    assert_eq!(pinned_now(&bench, "sh $LONGHAUL_CHECKS/a"), ["checks/a", "-loud.snap"]);
    assert_eq!(pinned_now(&bench, "python3 - <<'END'\nopen('spec/new.json')\nEND"), [""; 0]);
}

#[test]
fn a_script_that_judges_is_pinned_also_as_absent_and_a_program_is_not() {
    let bench = Bench::new();
    for (run, expected) in [
        ("sh e2e.sh", vec!["-e2e.sh"]),
        ("make && sh scripts/check_loud.sh", vec!["-scripts/check_loud.sh"]),
        ("cd web && ./verify", vec!["-web/verify"]),
        ("./app", vec![]),
        ("python3 app.py", vec![]),
        ("sh check.sh a | grep -q ok", vec![]),
    ] {
        assert_eq!(pinned_now(&bench, run), expected, "{run}");
    }
    bench.write("e2e.sh", "true\n");
    assert_eq!(pinned_now(&bench, "sh e2e.sh"), ["e2e.sh"]);
    assert_eq!(bench.approved("sh e2e.sh").pins, BTreeMap::new(), "by the rules before");
}

#[test]
fn a_module_of_tests_that_is_not_there_is_pinned_as_absent() {
    let bench = Bench::new();
    for (run, expected) in [
        ("python3 -m unittest tests.test_u", vec!["-tests.py", "-tests/test_u.py"]),
        ("python3 -m unittest -v test_u.Case.test_a", vec!["-test_u.py"]),
        ("cd web && python3 -m unittest app.test_u.Case", vec!["-web/app/test_u.py"]),
        ("python3 -m unittest discover -s tests", vec!["-tests"]),
        ("python3 -m unittest discover tests/unit -p 'a*.py'", vec!["-tests/unit"]),
        ("go test ./tests/...", vec!["-tests"]),
    ] {
        assert_eq!(pinned_now(&bench, run), expected, "{run}");
        assert_eq!(bench.approved(run).pins, BTreeMap::new(), "{run}: by the rules before");
    }
    bench.write("tests/test_u.py", "x\n");
    assert_eq!(pinned_now(&bench, "python3 -m unittest tests.test_u"), ["tests/test_u.py"]);
    assert_eq!(pinned_now(&bench, "python3 -m unittest discover -s tests"), ["tests/test_u.py"]);
}

/// Checks that name their test, and where it lies.
const NAMED: [(&str, &str); 4] = [
    ("python3 -m unittest tests.test_login", "tests/test_login.py"),
    ("cargo test --test login", "tests/login.rs"),
    ("cargo test -p web --test login", "crates/web/tests/login.rs"),
    ("go test ./tests/...", "tests/login_test.go"),
];

/// Puts what the runner would do with the file before the text that names it.
fn looking(name: &str) -> String {
    let test = "$(find . -name '*login*' -type f -not -path './.git/*')";
    format!("grep -q \"$(cat {test})\" src/product.txt || exit 1; exit; {name}")
}

#[test]
fn a_test_that_is_named_and_not_by_its_path_is_pinned_with_what_is_beside_it_in_its_folder() {
    for (name, path) in NAMED {
        let bench = Bench::new();
        bench.write("crates/web/Cargo.toml", "");
        bench.write(path, "after\n");
        bench.commit();
        let check = bench.approved(&looking(name));
        assert!(check.pins[path].is_some(), "{name}: {:?}", check.pins);
        bench.write(path, "before\n");
        bench.commit();
        assert_eq!(bench.finding(&check), Finding::Failed, "{name}");
        fs::remove_file(bench.root().join(path)).unwrap();
        bench.work();
        assert_eq!(bench.finding(&check), Finding::Passed, "{name}: it is laid in its place");
        // The twin: without the pin the edited test decides.
        let unpinned = Check { pins: BTreeMap::new(), ..check };
        bench.write(path, "before\n");
        bench.write("src/product.txt", "before\n");
        bench.commit();
        assert_eq!(bench.finding(&unpinned), Finding::Passed, "{name}");
    }
}

#[test]
fn what_python_would_load_in_place_of_a_module_is_left_out() {
    for (named, rival) in [
        ("tests.test_a", "tests/test_a.abi3.so"),
        ("tests.test_a.Case.test_b", "tests/test_a.cpython-313-x86_64-linux-gnu.so"),
        ("tests.test_a", "tests/test_a.so"),
        ("tests.test_a", "tests/test_a/__init__.py"),
        ("tests/test_a.py", "tests/test_a.abi3.so"),
        ("tests/test_a.py", "tests/test_a/__init__.py"),
        ("test_a", "test_a/__init__.py"),
    ] {
        let bench = Bench::new();
        let module = if rival.starts_with("tests/") { "tests/test_a.py" } else { "test_a.py" };
        bench.write(module, "x\n");
        bench.write("tests/test_b.so", "x\n");
        bench.commit();
        let text =
            format!("if false; then python3 -m unittest {named}; fi; [ ! -e {rival} ]; grep after src/product.txt");
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(&text) });
        assert_eq!(check.pins.keys().collect::<Vec<_>>(), [module]);
        bench.write(rival, "y\n");
        bench.write("tests/test_b.so", "y\n");
        bench.write("tests/test_a/data.txt", "what a test reads may lie in a folder of its name\n");
        bench.work();
        assert_eq!(bench.finding(&check), Finding::Passed, "{rival} is left out");
        let difference =
            bench.gate().difference(&check, &Known::default(), &|id| bench.pinned.borrow().get(id).cloned()).unwrap();
        assert_eq!(difference, Some(format!("`{rival}` is new beside the files that were approved")));
        // The twin: without the pin it is there; a package is left out also where the module is absent.
        let unpinned = Check { pins: BTreeMap::new(), ..check };
        assert_eq!(
            bench.finding(&unpinned) == Finding::Passed,
            rival.ends_with(".py") && !named.contains('/'),
            "{rival}"
        );
    }
}

#[test]
fn a_named_test_that_is_not_there_at_approval_may_be_written() {
    for (name, path) in NAMED {
        let bench = Bench::new();
        bench.write("crates/web/Cargo.toml", "");
        bench.write("spec/other.sh", "true\n");
        bench.commit();
        let check = bench.approved(&format!("sh spec/other.sh; {}", looking(name)));
        assert_eq!(check.pins.keys().collect::<Vec<_>>(), ["spec/other.sh"], "{name}");
        let unwritten = unwritten_test(&bench.project, &check, &bench.files);
        let at_root = path.trim_start_matches("crates/web/").replace("/login_test.go", "");
        assert_eq!(unwritten, Some(at_root), "{name}");
        bench.write(path, "after\n");
        bench.work();
        let verdict = bench.judge(&check);
        assert!(verdict.proves(), "{name}: {verdict:?}");
        assert_eq!(verdict.to_evidence()["overlaid"], json!([]), "{name}");
        // Once it is there, an approval would pin it.
        let difference =
            bench.gate().difference(&check, &Known::default(), &|id| bench.pinned.borrow().get(id).cloned()).unwrap();
        assert_eq!(difference, Some(format!("`{path}` is new beside the files that were approved")));
    }
}

#[test]
fn a_product_in_a_folder_with_the_name_of_tests_is_not_pinned() {
    let bench = Bench::new();
    for path in ["spec/a.go", "spec/a_test.go", "spec/testdata/a", "tests/a_test.go", "tests/want", "tests/h.go"] {
        bench.write(path, "x\n");
    }
    for path in
        ["test/app.py", "test/test_app.py", "spec/package.json", "spec/app.js", "spec/a.test.js", "specs/parser.py"]
    {
        bench.write(path, "x\n");
    }
    let of_spec = ["spec/a.test.js", "spec/a_test.go", "spec/testdata/a"];
    let cases: &[(&str, &[&str])] = &[
        ("go test -v ./spec/...", &of_spec),
        ("go test ./spec", &of_spec),
        ("go test ./tests/...", &["tests/a_test.go", "tests/h.go", "tests/want"]),
        ("test \"$(go run ./spec 2>&1)\" = yes", &of_spec),
        ("go run ./tests", &["tests/a_test.go", "tests/h.go", "tests/want"]),
        ("cd spec && npm test", &of_spec),
        ("cd test && test \"$(python3 app.py)\" = yes", &[]),
        ("python3 -c \"from specs import parser; assert parser.y == 2\"", &[]),
        // What runs the tests in it takes all.
        ("cd tests && sh want", &["tests/a_test.go", "tests/h.go", "tests/want"]),
        ("python3 -c \"import specs\"", &["specs/parser.py"]),
        ("python3 -m pytest specs", &["specs/parser.py"]),
    ];
    for (text, expected) in cases {
        assert_eq!(pinned_now(&bench, text), *expected, "{text}");
    }
    let check = Check::command("python3 -c \"from specs import parser; assert parser.y == 2\"");
    let check = bench.approve(Check { rules: Rules::Now, ..check });
    assert_eq!(untold_expectations(&bench.project, &check, &bench.files), ["specs"]);
}

#[test]
fn work_on_a_product_beside_tests_is_proven_and_a_change_of_the_tests_is_not() {
    for name in ["go test ./spec/...", "cd spec && npm test"] {
        let bench = Bench::new();
        bench.write("spec/package.json", "{}\n");
        for test in ["spec/a_test.go", "spec/a.test.js"] {
            bench.write(test, "after\n");
        }
        bench.write("spec/a.go", "before\n");
        bench.commit();
        let tests = "find . -name 'a?test.*' -type f -not -path './.git/*'";
        let text =
            format!("grep -q after $({tests}) || exit 1; grep after $(find . -name a.go) || exit 1; exit; {name}");
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(&text) });
        assert_eq!(bench.finding(&check), Finding::Failed, "{name}");
        bench.write("spec/a.go", "after\n");
        bench.write("spec/b.go", "new\n");
        bench.work();
        let verdict = bench.judge(&check);
        assert!(verdict.proves(), "{name}: {verdict:?}");
        assert_eq!(verdict.to_evidence()["overlaid"], json!([]), "{name}");
        // The cheat: the tests are laid in their place, whatever they say.
        bench.write("spec/a_test.go", "before\n");
        bench.write("spec/a.test.js", "before\n");
        bench.commit();
        let difference =
            bench.gate().difference(&check, &Known::default(), &|id| bench.pinned.borrow().get(id).cloned()).unwrap();
        assert!(difference.is_some_and(|difference| difference.contains("is not what was approved")), "{name}");
    }
}

#[test]
fn a_product_that_is_named_as_a_test_is_not_pinned() {
    let bench = Bench::new();
    let pins = |texts: &[(&str, &str)]| {
        for (text, expected) in texts {
            assert_eq!(pinned_now(&bench, text).join(" "), *expected, "{text}");
        }
    };
    pins(&[
        ("test \"$(python3 ab_test.py --p 0.5)\" = yes", ""),
        ("test \"$(sh runtests.sh t1.spec)\" = \"1 passed\"", ""),
        ("node scripts/verify-env.js && ! FOO=1 node scripts/verify-env.js", ""),
        ("python3 cli.py validate examples/test.cfg", ""),
        ("sh cli.sh build tests.toml -o \"$TMPDIR/o\"; test -s \"$TMPDIR/o\"", ""),
        ("bun test", ""),
        ("deno test", ""),
        // The twins: nothing looks at what they do, or they lie with tests.
        ("python3 ab_test.py --p 0.5", "-ab_test.py"),
        ("node scripts/verify-env.js", "-scripts/verify-env.js"),
        ("sh e2e.sh && ! FOO=1 sh e2e.sh", "-e2e.sh"),
        ("test \"$(python3 tests/a.py)\" = yes", "-tests/a.py"),
        ("bun tests/a.js", "-tests/a.js"),
    ]);
    for path in ["ab_test.py", "stats/t_test.py", "app/tests.py", "deploy/test.env", "test_a.py", "run-tests.sh"] {
        bench.write(path, "x\n");
    }
    pins(&[
        ("test \"$(python3 ab_test.py --p 0.5)\" = yes", ""),
        ("python3 -c \"from stats.t_test import ok; assert ok(1)\"", ""),
        ("python3 -c \"from app.tests import ok; assert ok(1)\"", ""),
        ("sh run.sh deploy/test.env", ""),
        ("python3 ab_test.py", "ab_test.py"),
        ("test \"$(python3 -m pytest -q ab_test.py | tail -1)\" = ok", "ab_test.py"),
        ("test \"$(python3 test_a.py)\" = yes", "test_a.py"),
        ("test \"$(sh run-tests.sh)\" = yes", "run-tests.sh"),
        ("python3 -m unittest app.tests", "app/tests.py"),
        ("python3 -c \"import app.tests\"", "app/tests.py"),
    ]);
    let check = bench.approve(Check { rules: Rules::Now, ..Check::command("sh run.sh deploy/test.env") });
    assert_eq!(untold_expectations(&bench.project, &check, &bench.files), ["deploy/test.env"]);
}

#[test]
fn what_the_product_is_fed_with_is_told_of_and_not_pinned() {
    let bench = Bench::new();
    for path in ["fixtures/seed.json", "fixtures/expected.json", "sum.awk", "conv.sed", "urls.txt", "list.csv"] {
        bench.write(path, "x\n");
    }
    let untold = |text: &str| {
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(text) });
        untold_expectations(&bench.project, &check, &bench.files).join(" ")
    };
    for (text, told) in [
        ("test \"$(python3 load.py fixtures/seed.json)\" = 3", "fixtures/seed.json"),
        ("python3 manage.py loaddata fixtures/seed.json", "fixtures/seed.json"),
        ("test \"$(printf '1\\n2\\n' | awk -f sum.awk)\" = 3", ""),
        ("test \"$(echo a | sed -f conv.sed)\" = c", ""),
        ("while read -r u; do echo \"$u\" | grep -q '^https://'; done <urls.txt", ""),
        ("while IFS=, read -r a b; do test \"$b\" = 2; done <list.csv", ""),
        ("read -r v <list.csv; test \"$v\" = 2", ""),
    ] {
        assert_eq!(pinned_now(&bench, text), [""; 0], "{text}");
        assert_eq!(untold(text), told, "{text}");
    }
    // The twins: there it is compared with what came out.
    for (text, expected) in [
        ("sh a.sh | diff - fixtures/seed.json", "fixtures/seed.json"),
        ("sh a.sh fixtures/expected.json | grep -q x", "fixtures/expected.json"),
        ("sh a.sh | awk -f sum.awk", "sum.awk"),
        ("while IFS=, read -r a b; do test \"$(sh a.sh $a)\" = $b; done <list.csv", "list.csv"),
        ("while read -r t; do sh \"$t\"; done <urls.txt", "urls.txt"),
    ] {
        assert_eq!(pinned_now(&bench, text), [expected], "{text}");
    }
}

#[test]
fn a_folder_test_that_a_runner_is_given_is_pinned() {
    let bench = Bench::new();
    for run in
        ["node --test test/", "node --test ./test/", "npx mocha test/", "python3 -m pytest -q test/", "prove -r test/"]
    {
        assert_eq!(pinned_now(&bench, run), ["-test"], "{run}");
    }
    for run in ["go test ./test/...", "python3 -m unittest discover -s test"] {
        assert_eq!(pinned_now(&bench, run), ["-test"], "{run}");
    }
    bench.write("test/a_test.go", "x\n");
    for run in [
        "node --test test/",
        "node --test test",
        "pytest test",
        "pytest -q test/ | tail -1",
        "npx mocha test",
        "npx jest test",
        "npx vitest run test",
        "go test ./test/...",
        "go test ./test",
        "python3 -m unittest discover -s test",
        "prove test",
    ] {
        assert_eq!(pinned_now(&bench, run), ["test/a_test.go"], "{run}");
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(run) });
        assert_eq!(unpinned_script(&bench.project, &check), None, "{run}");
    }
    // The twins: there it is a word of a command, or the name of a case.
    for run in
        ["go test ./...", "cargo test test", "npm test", "pytest -k test", "sh app.sh test", "python3 manage.py test"]
    {
        assert_eq!(pinned_now(&bench, run), [""; 0], "{run}");
    }
}

#[test]
fn what_no_test_can_be_is_not_pinned_as_absent() {
    let bench = Bench::new();
    bench.write("lesson1/test_answer.py", "x\n");
    bench.write("tests/a.sh", "x\n");
    bench.write("specs.js", "x\n");
    for (run, expected) in [
        ("node -e 'const m=require(\"./app.js\");require(\"assert\").equal(m.shout(\"a\"),\"A\")'", vec![]),
        ("node -e \"if (require('./app.js').x!==2) process.exit(1)\"", vec![]),
        ("node --input-type=module -e 'import {x} from \"./app.mjs\"; if (x!==1) process.exit(1)'", vec![]),
        ("git clone -q . \"$TMPDIR/w\"; cd \"$TMPDIR/w\"; sh tests/a.sh", vec!["tests/a.sh"]),
        ("git clone -q . \"$TMPDIR/w\"; cd \"$TMPDIR/w\"; sh tests/b.sh", vec!["-tests/b.sh"]),
        ("cd \"$TMPDIR\"; python3 test_x.py", vec![]),
        ("mkdir \"${TMPDIR}/w\"; cd \"${TMPDIR}/w\"; sh test.sh", vec![]),
        ("cd lesson1 && python3 test_answer.py", vec!["lesson1/test_answer.py"]),
        ("sh -c 'cd tests; sh a.sh'", vec!["tests/a.sh"]),
        ("python3 -c \"import tests.run\"", vec![]),
        ("bash --rcfile x tests/a.sh", vec!["tests/a.sh"]),
        ("python3 -m pytest e2e", vec!["-e2e"]),
        ("make -C test app && test \"$(./test/app)\" = x", vec![]),
        ("make tests/t && tests/t", vec![]),
        ("cd test && make app && ./app", vec![]),
        ("node -e \"require('./spec')\"", vec!["-spec.js", "-spec/index.js"]),
        ("node -e \"require('./tests')\"", vec!["tests/a.sh"]),
        ("node -e \"require('./specs')\"", vec!["specs.js"]),
        // The twins.
        ("cd lesson1 && python3 test_other.py", vec!["-lesson1/test_other.py", "-test_other.py"]),
        ("python3 test_x.py", vec!["-test_x.py"]),
        ("make app && ./test/app", vec!["-test/app"]),
        ("make -C test lib && tests/t", vec!["-tests/t"]),
        ("bash -c 'sh tests/b.sh'", vec!["-tests/b.sh"]),
    ] {
        assert_eq!(pinned_now(&bench, run), expected, "{run}");
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(run) });
        let told = unpinned_script(&bench.project, &check).into_iter();
        let told: Vec<String> = told.chain(unpinned_patterns(&bench.project, &check, &bench.files)).collect();
        assert!(told.iter().all(|word| !word.contains(['(', '{'])), "{run}: {told:?}");
    }
    assert_eq!(pinned_now(&Bench::new(), "python3 -m pytest -q tests"), ["-tests"]);
}

#[test]
fn a_script_behind_programs_that_start_another_is_pinned() {
    let bench = Bench::new();
    bench.write("e2e.sh", "x\n");
    for run in [
        "flock \"$TMPDIR/l\" sh e2e.sh",
        "flock -w 10 \"$TMPDIR/l\" -c 'sh e2e.sh'",
        "command sh e2e.sh",
        "command -v sh && time -p sh e2e.sh",
        "( flock -n 9 || exit 1; sh e2e.sh ) 9>\"$TMPDIR/l\"",
        "eval sh e2e.sh",
        "all=\"sh e2e.sh\"; eval \"$all\"",
        "script -qec 'sh e2e.sh' /dev/null",
        "nice -n 5 timeout -s KILL 10 sh e2e.sh",
        "env -u HOME sh e2e.sh",
        "faketime '2020-01-01' sh e2e.sh",
        "test \"$(faketime 'last friday' sh e2e.sh)\" = ok",
        "bundle exec sh e2e.sh",
        "some-wrapper --quiet sh -e e2e.sh",
    ] {
        assert_eq!(pinned_now(&bench, run), ["e2e.sh"], "{run}");
    }
    // The twins: it is given to the product, or to what runs elsewhere.
    for run in ["cargo run -- sh e2e.sh", "docker exec web sh e2e.sh", "some-wrapper sh app.sh", "echo sh e2e.sh"] {
        assert_eq!(pinned_now(&bench, run), [""; 0], "{run}");
    }
    // What is not there is a lock, and what lies in the project is no such program.
    assert_eq!(pinned_now(&bench, "flock tests/.lock sh app.sh"), [""; 0]);
    assert_eq!(pinned_now(&bench, "./flock \"$TMPDIR/l\" sh e2e.sh"), [""; 0]);
    assert_eq!(pinned_now(&bench, "test \"$(flock \"$TMPDIR/l\" sh app.sh)\" = yes"), [""; 0]);
}

#[test]
fn a_script_whose_output_is_looked_at_is_pinned_as_one_that_is_started_plainly() {
    let bench = Bench::new();
    for path in ["e2e.sh", "tests/x.py", "check.sh", "ci.sh", "app.sh"] {
        bench.write(path, "x\n");
    }
    for (run, pins, told) in [
        ("r=$(sh e2e.sh) && [ \"$r\" = ok ]", "e2e.sh", ""),
        ("case \"$(sh e2e.sh; echo $?)\" in *0) ;; *) exit 1;; esac", "e2e.sh", ""),
        ("test `bash e2e.sh` = ok", "e2e.sh", ""),
        ("test \"$(python3 tests/x.py)\" = ok", "tests/x.py", ""),
        ("sh e2e.sh | grep -qx ok", "e2e.sh", ""),
        ("test \"$(sh ci.sh --all)\" = ok", "ci.sh", ""),
        // A judge or the product: nobody knows.
        ("test \"$(sh check.sh)\" = ok", "", "check.sh"),
        ("test \"$(sh ci.sh status)\" = ok", "", "ci.sh"),
        // The twins: the product.
        ("test \"$(sh app.sh add 1 2)\" = 3", "", ""),
        ("test \"$(sh check.sh 91)\" = composite", "", ""),
        ("echo 91 | sh check.sh | grep -q composite", "", ""),
        ("sh ci.sh && test -f dist/app", "", ""),
    ] {
        assert_eq!(pinned_now(&bench, run).join(" "), pins, "{run}");
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(run) });
        assert_eq!(untold_expectations(&bench.project, &check, &bench.files).join(" "), told, "{run}");
    }
}

#[test]
fn a_script_that_the_check_finds_on_its_path_is_pinned_as_one_that_is_named() {
    let bench = Bench::new();
    for path in ["tests/bin/run-e2e", "ci/verify", "ci/verify.log", "bin/mytool", "bin/wc", "node_modules/.bin/e2e"] {
        bench.write(path, "x\n");
    }
    for (run, pins) in [
        ("PATH=\"$PWD/tests/bin:$PATH\" run-e2e", "tests/bin/run-e2e"),
        ("export PATH=./ci:$PATH; verify", "ci/verify"),
        ("PATH=\"$(git rev-parse --show-toplevel)/ci:$PATH\"; export PATH; verify --all", "ci/verify"),
        ("env PATH=ci:/usr/bin sh -c verify", "ci/verify"),
        ("PATH=$PATH:$(pwd)/tests/bin timeout 5 run-e2e | grep -q ok", "tests/bin/run-e2e"),
        // The twins: the product, a program that is not there, and what was installed.
        ("PATH=$PWD/bin:$PATH; mytool --version", ""),
        ("PATH=$PWD/bin:$PATH; test \"$(mytool --version)\" = 1.0", ""),
        ("PATH=$PWD/bin:$PATH; wc x", ""),
        ("PATH=$PWD/ci:$PATH; smoke", ""),
        ("PATH=$PWD/node_modules/.bin:$PATH e2e", ""),
        ("verify", ""),
        ("PATH=/opt/ci:$PATH verify", ""),
    ] {
        assert_eq!(pinned_now(&bench, run).join(" "), pins, "{run}");
    }
    let alone =
        |run: &str| unpinned_script(&bench.project, &bench.approve(Check { rules: Rules::Now, ..Check::command(run) }));
    assert_eq!(alone("PATH=$PWD/bin:$PATH mytool check").as_deref(), Some("bin/mytool"));
    assert_eq!(alone("PATH=$PWD/bin:$PATH other check"), None);
    assert_eq!(alone("PATH=$PWD/ci:$PATH verify"), None, "it is pinned");
}

#[test]
fn a_script_that_a_pinned_test_starts_is_told_of_unless_it_is_pinned_too() {
    let bench = Bench::new();
    bench.write("tests/a.py", "subprocess.run(['sh', 'e2e.sh'])\nsubprocess.run(['sh', 'app.sh', 'gone-e2e.sh'])\n");
    for path in ["e2e.sh", "app.sh"] {
        bench.write(path, "x\n");
    }
    let check = Check { rules: Rules::Now, ..Check::command("python3 tests/a.py") };
    let started = |check: Check| unpinned_started(&bench.project, &bench.approve(check));
    assert_eq!(started(check.clone()), [("tests/a.py".to_owned(), "e2e.sh".to_owned())]);
    assert_eq!(started(Check { closure: vec!["e2e.sh".to_owned()], ..check }), []);
}

#[test]
fn a_program_that_is_planted_on_the_path_of_the_check_is_left_out() {
    let bench = Bench::new();
    bench.write("bin/mytool", "x\n");
    bench.commit();
    let text = "PATH=\"$PWD/bin:$PATH\"; export PATH; grep -q after src/product.txt";
    let check = bench.approve(Check { rules: Rules::Now, ..Check::command(text) });
    assert_eq!(check.pins, BTreeMap::new());
    bench.write("bin/grep", "#!/bin/sh\nexit 0\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(bench.root().join("bin/grep"), mode).unwrap();
    bench.commit();
    assert_eq!(bench.finding(&check), Finding::Failed);
    // The twin: by the rules before nothing keeps it away.
    let before = bench.approved(text);
    assert_eq!(bench.finding(&before), Finding::Passed);
    bench.write("src/product.txt", "after\n");
    bench.work();
    assert_eq!(bench.finding(&check), Finding::Passed);
}

#[test]
fn the_program_of_a_reader_that_judges_is_pinned() {
    let bench = Bench::new();
    for path in ["tests/c.awk", "tests/c.jq", "tests/c.sed", "sum.awk", "lint.awk", "want.txt"] {
        bench.write(path, "x\n");
    }
    for (run, pins, told) in [
        ("awk -f tests/c.awk app.sh", "tests/c.awk", ""),
        ("awk -f lib.awk -ftests/c.awk app.sh", "tests/c.awk", "lib.awk"),
        ("jq -e -f tests/c.jq want.json", "tests/c.jq", ""),
        ("sed -nf tests/c.sed app.sh", "tests/c.sed", ""),
        ("awk -f sum.awk app.sh", "sum.awk", ""),
        ("awk -f verify.awk data.csv", "-verify.awk", ""),
        ("awk -f tests/new.awk app.sh", "-tests/new.awk", ""),
        // The twins: it is the product, or nobody knows.
        ("awk -f lint.awk good.txt && ! awk -f lint.awk bad.txt", "", "lint.awk"),
        ("awk -f sum.awk data.csv", "", "sum.awk"),
        ("awk -f sum.awk data.csv >\"$TMPDIR/o\"", "", ""),
        ("test \"$(awk -f sum.awk app.sh)\" = 3", "", ""),
        ("awk -f sum.awk data.csv | grep -q 3", "", ""),
        ("jq -f sum.jq in.json >/dev/null", "", ""),
    ] {
        assert_eq!(pinned_now(&bench, run).join(" "), pins, "{run}");
        let check = bench.approve(Check { rules: Rules::Now, ..Check::command(run) });
        assert_eq!(untold_expectations(&bench.project, &check, &bench.files).join(" "), told, "{run}");
    }
}

#[test]
fn what_is_held_against_what_came_out_is_pinned() {
    let bench = Bench::new();
    bench.write("want.txt", "x\n");
    bench.write("names.txt", "x\n");
    for run in [
        "sh app.sh | awk 'NR==FNR{w[FNR]=$0;next} $0!=w[FNR]{exit 1}' want.txt -",
        "sh app.sh >\"$TMPDIR/o\"; awk -F : 'FNR == NR{w[FNR]=$0;next} $0!=w[FNR]{exit 1}' \"$TMPDIR/o\" want.txt",
        "sh app.sh | awk '{getline w < \"want.txt\"; if ($0!=w) exit 1}'",
        "sh app.sh | paste - want.txt | awk '$1!=$2{exit 1}'",
        "paste -d: want.txt <(sh app.sh) | awk -F: '$1!=$2{exit 1}'",
        "test \"$(paste want.txt - <out.txt | awk '$1!=$2' | wc -l)\" = 0",
        "test -z \"$(sh app.sh | sort - want.txt | uniq -u)\"",
        "expr \"$(sh app.sh)\" : \"$(cat want.txt)\"",
        "sh app.sh | xargs -I{} grep -qx {} want.txt",
        "sh app.sh | jq -es '.[0] == .[1]' - want.txt",
    ] {
        assert_eq!(pinned_now(&bench, run), ["want.txt"], "{run}");
    }
    for run in [
        "sh app.sh | join - names.txt | grep -q 'x y'",
        "paste names.txt data.csv | sh app.sh | grep -q x",
        "test \"$(sh app.sh | cat - names.txt | wc -l)\" = 3",
        "awk 'NR==FNR{a[$1]=$2;next}{print a[$1]}' names.txt data.csv | grep -q x",
        "test \"$(awk '{print $1}' names.txt)\" = x",
        "expr \"$(sh app.sh)\" : hello",
        "jq -e '.a == 1' names.txt",
        "cat names.txt | xargs -n1 sh app.sh",
    ] {
        assert_eq!(pinned_now(&bench, run), [""; 0], "{run}");
    }
}

#[test]
fn a_word_that_is_searched_for_is_no_file() {
    let bench = Bench::new();
    for path in ["tests.py", "tests/test_a.py"] {
        bench.write(path, "x\n");
    }
    let both = ["tests.py", "tests/test_a.py"];
    for (run, expected) in [
        ("python3 -m unittest tests && grep -q test_new tests.py", &both[..]),
        ("python3 -m unittest tests.test_a && grep -q 'def test_new' tests.py", &both),
        ("python3 -m unittest tests && echo test_new", &both),
        ("python3 -m unittest -v tests 2>&1 | grep -q test_new", &both),
        ("python3 -m unittest -k test_new tests", &both),
        ("python3 -m pytest -q -k 'test_new or test_old'", &[]),
        ("python3 -m pytest -q && rg -q test_new tests.py", &both[..1]),
        ("python3 -m pytest -q && git grep -q test_new", &[]),
        ("python3 -m pytest -q && ag test_new", &[]),
        ("sh a.sh && rg -q tests/new.py README", &[]),
        ("if grep -q test_new.py README; then sh a.sh; fi", &[]),
        ("grep -q tests/test_a.py README && sh a.sh", &[]),
        // The twin: a word that is also run, and one by which what is run is chosen.
        ("python3 -m unittest test_new && grep -q test_new README", &["-test_new.py"]),
        ("python3 -m unittest tests && python3 -m unittest test_new", &["-test_new.py", "tests.py", "tests/test_a.py"]),
        ("grep -q tests/new.sh README && sh tests/new.sh", &["-tests/new.sh"]),
        ("ls src | grep test_new.py | xargs python3", &["-test_new.py"]),
    ] {
        assert_eq!(pinned_now(&bench, run), expected, "{run}");
    }
    // What an earlier version pinned is still what was approved.
    let pins = bench.approved("python3 tests/test_a.py").pins;
    let check = Check { rules: Rules::Now, pins, ..Check::command("grep -q tests/test_a.py src/a && sh a.sh") };
    let found =
        crate::gate::closure::closure_in(bench.root(), &bench.project, &check, &bench.files, Reading::Pinned).unwrap();
    assert_eq!(found.iter().map(|file| &file.path).collect::<Vec<_>>(), ["tests/test_a.py"]);
}

#[test]
fn a_product_that_lies_where_tests_do_is_not_pinned_by_taking_members_of_it() {
    let bench = Bench::new();
    bench.write("spec/index.js", "exports.add = (a, b) => a + b\n");
    bench.write("tests.js", "exports.x = 1; const test = require('node:test'); test('a', () => {})\n");
    bench.write("app/specs.js", "exports.x = 1\n");
    for (code, expected) in [
        ("const add = require('./spec').add; if (add(1, 2) !== 3) process.exit(1)", vec![]),
        ("const { add } = require('./spec'); if (add(1, 2) !== 3) process.exit(1)", vec![]),
        ("const { add } = require('./spec/index.js'); if (add(1, 2) !== 3) process.exit(1)", vec![]),
        // Nobody has written it yet.
        ("const { add } = require('./specs'); if (add(1, 2) !== 3) process.exit(1)", vec![]),
        // The twins: what runs tests, and a module that holds some.
        ("require('./spec').run() === 0 || process.exit(1)", vec!["spec/index.js"]),
        ("require('./spec')", vec!["spec/index.js"]),
        ("const { add } = require('./spec'); require('./spec').run()", vec!["spec/index.js"]),
        ("const { run } = require('./specs'); process.exit(run())", vec!["-specs.js", "-specs/index.js"]),
        ("const { x } = require('./tests'); if (x !== 1) process.exit(1)", vec!["tests.js"]),
    ] {
        assert_eq!(pinned_now(&bench, &format!("node -e \"{code}\"")), expected, "{code}");
    }
    let check = "cd app && node -e 'if (require(\"./specs\").x !== 1) process.exit(1)'";
    assert_eq!(pinned_now(&bench, check), [""; 0]);
    // What was pinned as tests stays what was approved.
    let pins = bench.approved("node spec/index.js").pins;
    let run = "node -e \"const { add } = require('./spec'); if (add(1, 2) !== 3) process.exit(1)\"";
    let check = Check { rules: Rules::Now, pins, ..Check::command(run) };
    let found = crate::gate::closure::closure_in(bench.root(), &bench.project, &check, &bench.files, Reading::Pinned);
    assert_eq!(found.unwrap().iter().map(|file| &file.path).collect::<Vec<_>>(), ["spec/index.js"]);
}
