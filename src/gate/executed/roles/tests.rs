//! What texts do with the files that they name.

use super::*;
use crate::gate::executed::only_looks;

/// Returns what a text does with these files, in short.
fn told(text: &str) -> Vec<String> {
    let written = Written::by([text]);
    let mut told: Vec<String> = namings(text, &written)
        .into_iter()
        .filter(|naming| matches!(naming.role, Role::Judges | Role::Expected | Role::Compared))
        .map(|naming| format!("{:?} {}", naming.role, naming.word))
        .collect();
    told.sort();
    told.dedup();
    told
}

#[test]
fn what_is_expected_is_told_by_what_it_is_compared_with() {
    let cases: &[(&str, &[&str])] = &[
        ("sh a.sh | diff - want.txt", &["Expected want.txt"]),
        ("diff <(sh a.sh) loud.txt", &["Expected loud.txt"]),
        ("sh -c 'sh a.sh | cmp - loud.txt'", &["Expected loud.txt"]),
        (
            "sh a.sh > \"$TMPDIR/o\" 2>&1; cmp $TMPDIR/o testdata/loud.golden > /dev/null",
            &["Expected testdata/loud.golden"],
        ),
        ("diff __snapshots__/loud.snap -", &["Expected __snapshots__/loud.snap"]),
        ("make && diff -r out expected", &["Expected expected"]),
        ("make && diff -ru -x '*.o' out want", &["Expected want"]),
        ("sh a.sh > all.txt; diff all.txt loud.txt", &["Expected loud.txt"]),
        ("sh a.sh all.txt; diff all.txt loud.txt", &["Expected loud.txt"]),
        ("test \"$(sh a.sh)\" = \"$(cat loud.txt)\"", &["Expected loud.txt"]),
        ("[ \"$(sh a.sh | sort)\" = \"$(sort < loud.txt)\" ]", &["Expected loud.txt"]),
        ("want=$(cat loud.txt); test \"$(sh a.sh)\" = \"$want\"", &["Expected loud.txt"]),
        ("want=loud.txt; sh a.sh | diff - \"$want\"", &["Expected loud.txt"]),
        ("read want < loud.txt; test \"$(sh a.sh)\" = \"$want\"", &["Expected loud.txt"]),
        ("while read a b; do test \"$(sh a.sh $a)\" = \"$b\"; done < cases.txt", &["Expected cases.txt"]),
        ("for f in cases/*.in; do sh a.sh < $f | diff - \"${f%.in}.want\"; done", &["Expected cases/*.want"]),
        ("sh a.sh | grep -xf loud.txt", &["Expected loud.txt"]),
        ("sh a.sh | grep -qxF \"$(cat loud.txt)\"", &["Expected loud.txt"]),
        ("make && sha256sum -c sums.sha256", &["Expected sums.sha256"]),
        ("sh a.sh | awk -f verify.awk", &["Expected verify.awk", "Judges verify.awk"]),
        ("test \"$(sh a.sh)\" = \"$(<fixtures/loud)\"", &["Expected fixtures/loud"]),
        ("sh a.sh | cmp loud", &["Expected loud"]),
        ("sha512sum --status -c < sums", &["Expected sums"]),
        ("git diff --no-index out.json want.json", &["Expected want.json"]),
        ("cat expected.txt | diff - all.txt", &["Expected expected.txt"]),
        ("sh a.sh | grep -qxF --file=loud.txt", &["Expected loud.txt"]),
        ("sh a.sh | diff --from-file=loud.txt -", &["Expected loud.txt"]),
        ("case \"$(sh a.sh)\" in \"$(cat loud.txt)\") ;; *) exit 1 ;; esac", &["Expected loud.txt"]),
        ("sh a.sh | awk -v w=\"$(cat loud.txt)\" '$0 != w {exit 1}'", &["Expected loud.txt"]),
        ("sh a.sh | jq -e --slurpfile w loud.json '. == $w[0]'", &["Expected loud.json"]),
    ];
    for (text, expected) in cases {
        assert_eq!(told(text), *expected, "{text}");
    }
}

#[test]
fn what_is_expected_is_told_also_by_rarer_comparisons() {
    for text in [
        "expr \"$(./app)\" : \"$(cat want.txt)\"",
        "expr \"$(./app)\" = \"$(cat want.txt)\" >/dev/null",
        "w=$(cat want.txt); expr \"$(sh a.sh)\" : \"$w\"",
        "./app | xargs -I{} grep -qx {} want.txt",
        "./app | xargs -n 1 -I % grep -qxF % want.txt",
        "cat want.txt | xargs -I{} test \"$(./app)\" = {}",
        "./app | xargs -I{} test {} = \"$(cat want.txt)\"",
        "./app | xargs diff want.txt",
        "grep -qx \"$(./app)\" want.txt",
        "out=$(./app); grep -qx \"$out\" want.txt",
        "./app | while read -r l; do grep -qx \"$l\" want.txt; done",
        "for l in $(./app); do grep -qx \"$l\" want.txt; done",
        "./app | wdiff - want.txt",
    ] {
        assert_eq!(told(text), ["Expected want.txt"], "{text}");
    }
    for text in [
        "./app | jq -es '.[0]==.[1]' - want.json",
        "jq -es '.[0]==.[1]' <(./app) want.json",
        "cat out.json want.json | jq -es '.[0]==.[1]'",
        "test \"$(jq -s '.[0]==.[1]' out.json want.json)\" = true",
        "jq -s '.[0]==.[1]' out.json want.json | grep -q true",
        "./app >\"$TMPDIR/o\"; jq -e --slurpfile w want.json '. == $w[0]' \"$TMPDIR/o\"",
        "test \"$(./app | jq --argfile w want.json '. == $w')\" = true",
        "jq -en --rawfile w want.json --arg o \"$(./app)\" '$o == $w'",
        "jq -en --argjson w \"$(cat want.json)\" --argjson o \"$(./app)\" '$o == $w'",
        "gojq -es '.[0]==.[1]' out.json want.json",
        "yq ea -e 'select(fi==0) == select(fi==1)' out.json want.json",
    ] {
        assert_eq!(told(text), ["Expected want.json"], "{text}");
    }
}

#[test]
fn what_is_expected_may_go_through_one_step_before() {
    for text in [
        "sort loud.txt >\"$TMPDIR/w\"; sh a.sh | sort | diff - \"$TMPDIR/w\"",
        "tr -d '\\r' <loud.txt | sort >$TMPDIR/loud.txt; sh a.sh | diff - ${TMPDIR}/loud.txt",
        "cat loud.txt | tee \"$TMPDIR/w\" >/dev/null; sh a.sh | cmp \"$TMPDIR/w\"",
        "cp loud.txt \"$TMPDIR/w\"; sh a.sh | diff - \"$TMPDIR/w\"",
        "cp loud.txt \"$TMPDIR\"; sh a.sh >\"$TMPDIR/o\"; diff \"$TMPDIR/o\" \"$TMPDIR/loud.txt\"",
        "[ \"$(sh a.sh | sha256sum)\" = \"$(sha256sum <loud.txt)\" ]",
        "[ \"$(sh a.sh | md5sum | cut -c1-32)\" = \"$(md5sum loud.txt | cut -c1-32)\" ]",
        "sort loud.txt >\"$TMPDIR/w\"; test \"$(sh a.sh)\" = \"$(cat \"$TMPDIR/w\")\"",
    ] {
        assert_eq!(told(text), ["Expected loud.txt"], "{text}");
    }
    // A file itself goes before what was made of another.
    for text in [
        "cp report \"$TMPDIR/o\"; diff loud.txt \"$TMPDIR/o\"",
        "sort report >\"$TMPDIR/o\"; diff loud.txt \"$TMPDIR/o\"",
        "test \"$(sha256sum app | cut -c1-64)\" = \"$(cat loud.txt)\"",
        "sh a.sh >\"$TMPDIR/o\"; sort \"$TMPDIR/o\" >\"$TMPDIR/s\"; sort loud.txt | diff - \"$TMPDIR/s\"",
    ] {
        assert_eq!(told(text), ["Expected loud.txt"], "{text}");
    }
}

#[test]
fn a_file_that_code_may_compare_with_is_known() {
    let in_code = |text: &str| -> Vec<String> {
        let found = namings(text, &Written::by([text])).into_iter();
        found.filter(|naming| naming.role == Role::InCode).map(|naming| naming.word).collect()
    };
    for text in [
        "sh a.sh | python3 -c \"import sys; assert sys.stdin.read() == open('loud.txt').read()\"",
        "python3 - <<'END'\nimport subprocess as s\nassert s.getoutput('sh a.sh') == open('loud.txt').read()\nEND",
        "sh a.sh | node -e \"if (read(0) != fs.readFileSync('loud.txt')) process.exit(1)\"",
    ] {
        assert!(in_code(text).contains(&"loud.txt".to_owned()), "{text}: {:?}", in_code(text));
    }
    for text in ["python3 -c \"assert open('loud.txt').read() == 'x'\"", "python3 -c 'import subprocess, out.json'"] {
        assert!(in_code(text).is_empty(), "{text}");
    }
}

#[test]
fn a_product_is_never_what_is_expected() {
    for text in [
        "test \"$(cat out.txt)\" = hello",
        "grep -q hello loud.txt",
        "test \"$(grep -c x loud.txt)\" -eq 3",
        "sh a.sh > loud.txt; test \"$(cat loud.txt)\" = hello",
        "sort names.txt | diff - names.txt",
        "printf 'a\\n' > want.txt; sh a.sh | diff - want.txt",
        "printf 'a\\n' > \"$TMPDIR/want.txt\"; sh a.sh | diff - \"$TMPDIR/want.txt\"",
        "d=$(mktemp -d); sh a.sh $d/x; echo a | diff - $d/x",
        "awk -f report.awk data.csv | grep -q 3",
        "jq -e '.paths[\"/x\"]' spec/openapi.json",
        "sh a.sh < names.txt | grep -q Ada",
        "git diff --exit-code",
        "sha256sum dist/app",
        "sort names.txt >\"$TMPDIR/s\"; test \"$(cat \"$TMPDIR/s\")\" = Ada",
        "sh gen.sh >want.txt; sort want.txt >\"$TMPDIR/w\"; sh a.sh | diff - \"$TMPDIR/w\"",
        "cp names.txt \"$TMPDIR/in\"; sh a.sh \"$TMPDIR/in\" | grep -q Ada",
        "case \"$(cat loud.txt)\" in hello) ;; esac",
        "grep -q \"$(git rev-parse HEAD)\" notes.txt",
        "jq --arg v \"$(cat loud.txt)\" .a=$v a.json >b.json",
        "expr \"$(cat loud.txt)\" : hello",
        "n=$(expr $(cat loud.txt) + 1); ./app $n",
        "./app | xargs -I{} test {} = hello",
        "git rev-parse HEAD | xargs -I{} grep -qx {} notes.txt",
        "git ls-files | xargs grep -l hello",
        "cat names.txt | xargs -n1 ./app",
        "h=$(git rev-parse HEAD); grep -qx \"$h\" notes.txt",
        "jq -e '.a == 1' a.json b.json",
        "jq -s '.[0] * .[1]' a.json b.json | ./app",
        "jq -s '.[0] == .[1]' a.json b.json >\"$TMPDIR/o\"; ./app \"$TMPDIR/o\"",
        "./app | jq -e '.a == 1'",
        "jq -e --arg v 1.0 '.version == $v' package.json",
    ] {
        assert_eq!(told(text), [""; 0], "{text}");
    }
}

#[test]
fn of_what_may_be_either_nothing_is_told() {
    for (text, expected) in [
        ("diff a.txt b.txt", vec!["Compared a.txt", "Compared b.txt"]),
        ("sh gen.sh | diff - docs/api.html", vec!["Compared docs/api.html"]),
        ("prettier a.js | diff - a.js", vec!["Compared a.js"]),
        ("grep -q \"$(sh a.sh)\" loud.txt", vec!["Compared loud.txt"]),
        ("sh a.sh | xargs -I{} grep -q {} loud.txt", vec!["Compared loud.txt"]),
        ("jq -es '.[0] == .[1]' a.json b.json", vec!["Compared a.json", "Compared b.json"]),
        ("sort names >\"$TMPDIR/s\"; sh a.sh names | diff - \"$TMPDIR/s\"", vec!["Compared names"]),
        ("test \"$(./app --version)\" = \"$(cat VERSION)\"", vec!["Compared VERSION"]),
        // A judge, or the product.
        ("out=$(sh <check.sh); test \"$out\" = ok", vec!["Compared check.sh"]),
        ("sh -c 'sh check.sh' | grep -q ok", vec!["Compared check.sh"]),
        ("test \"$(sh spec.sh a)\" = b", vec!["Compared spec.sh"]),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
}

#[test]
fn a_script_judges_where_nothing_looks_at_what_it_does() {
    for (text, judge) in [
        ("sh e2e.sh", "e2e.sh"),
        ("sh scripts/check_loud.sh", "scripts/check_loud.sh"),
        ("./verify", "./verify"),
        ("npm ci && timeout 60 bash -euo pipefail ci.sh --all 2>&1 | tee log", "ci.sh"),
        ("cd web && python3 -W error smoke.py > /dev/null", "smoke.py"),
        ("sh -c 'exec sh e2e.sh'", "e2e.sh"),
        ("bash -lc ./e2e", "./e2e"),
        ("sh e2e.sh; test $? -eq 0", "e2e.sh"),
        ("sh verify.sh --all >log 2>&1", "verify.sh"),
        ("npx tsx e2e.ts http://localhost:3000", "e2e.ts"),
        ("uv run python -m pytest -q e2e.py", "e2e.py"),
        ("uv run smoke/e2e", "smoke/e2e"),
        ("sh -eu <verify.sh", "verify.sh"),
        ("python3 <validate.py", "validate.py"),
        ("bash -s -- --all <e2e.sh", "e2e.sh"),
        ("cat e2e.sh | sh -eu", "e2e.sh"),
        ("tr -d '\\r' <e2e.sh | timeout 5 sh", "e2e.sh"),
        (". ./verify.sh", "./verify.sh"),
        ("timeout 20 sh proof.sh", "proof.sh"),
        ("sh -c \"$(cat ci.sh)\"", "ci.sh"),
        ("bash -euc \"$(<ci.sh)\"", "ci.sh"),
        ("eval \"$(cat ci.sh)\"", "ci.sh"),
        ("python3 -c \"$(cat validate.py)\"", "validate.py"),
        ("cd t && sh a.t", "a.t"),
        ("prove t/a.t", "t/a.t"),
        ("perl t/a.t", "t/a.t"),
        ("tclsh judge.exp", "judge.exp"),
        ("expect -f demo.exp", "demo.exp"),
        ("npx cucumber-js features/login.feature", "features/login.feature"),
        ("python3 -m behave --no-capture features/login.feature", "features/login.feature"),
        ("hurl --test api.hurl", "api.hurl"),
        ("newman run collection.json -e env.json", "collection.json"),
        ("robot --outputdir out robot/login.robot", "robot/login.robot"),
        ("npx cypress run --spec web/login.cy.js", "web/login.cy.js"),
        ("k6 run load.js", "load.js"),
        ("git ls-files '*.check' | xargs -n1 sh", "**/*.check"),
        ("git ls-files 't/*.t' | sort | xargs prove", "t/**/*.t"),
        ("find . -name '*.t' | xargs -n 1 sh -eu", "**/*.t"),
        ("find t -name '*.t' -exec perl {} \\;", "t/**/*.t"),
        ("find t -name '*.t' | while IFS= read -r f; do sh \"$f\"; done", "t/**/*.t"),
        ("ls t/*.t | xargs -I{} sh {}", "t/*.t"),
        ("for t in cases/*.check; do sh \"$t\"; done", "cases/*.check"),
        ("t=e2e.sh; sh \"$t\"", "e2e.sh"),
    ] {
        assert_eq!(told(text), [format!("Judges {judge}")], "{text}");
    }
    for text in [
        "./app",
        "python3 app.py",
        "sh greet.sh --loud Ada",
        "sh check.sh a | grep -q ok",
        "test \"$(sh check.sh a)\" = ok",
        "sh check.sh a > out; grep -q ok out",
        "./verify a && test -f report",
        "python3 checkout.py",
        "./verify good.sig",
        "pytest --cov=src/test.py src",
        "make -f e2e.mk e2e",
        "test \"$(<check.txt)\" = x",
        "sh app.sh <check.txt",
        "python3 -c 'print(1)' <check.txt",
        "cat e2e.sh | python3 app.py",
        ". ./check.sh; test \"$(check a)\" = ok",
        "[ -f ci.env ] && . ./ci.env; make",
        "sh greet.sh \"$(cat check.txt)\"",
        "git ls-files '*.check' | xargs shellcheck",
        "git ls-files '*.t' | xargs -n1 sh -n",
        "find t -name '*.t' | xargs python3 -m py_compile",
        "find t -name '*.t' | wc -l",
        "git ls-files '*.sh' | xargs -n1 sh",
        "hurl login.hurl | grep -q ok",
        "robot --outputdir out robot",
    ] {
        assert_eq!(told(text), [""; 0], "{text}");
    }
}

#[test]
fn a_script_judges_also_where_something_looks_at_what_it_prints_unless_it_may_be_the_product() {
    for (text, judge) in [
        ("r=$(sh e2e.sh) && [ \"$r\" = ok ]", "e2e.sh"),
        ("case \"$(sh e2e.sh; echo $?)\" in *0) ;; *) exit 1;; esac", "e2e.sh"),
        ("test \"$(sh e2e.sh)\" = ok", "e2e.sh"),
        ("test \"`sh e2e.sh http://localhost`\" = ok", "e2e.sh"),
        ("r=`timeout 5 sh ci.sh --all 2>&1`; echo \"$r\" | grep -qx ok", "ci.sh"),
        ("[ \"$(cd web && python3 smoke.py | tail -n 1)\" = ok ]", "smoke.py"),
        ("test \"$(cat e2e.sh | sh)\" = ok", "e2e.sh"),
        ("test \"$(find t -name '*.t' | xargs -n1 sh)\" = ok", "t/**/*.t"),
        ("diff <(sh e2e.sh) /dev/null", "e2e.sh"),
        ("sh e2e.sh | grep -qx ok", "e2e.sh"),
        ("sh e2e.sh >\"$TMPDIR/o\"; grep -qx ok \"$TMPDIR/o\"", "e2e.sh"),
        ("./bin/e2e && test -s \"$TMPDIR/report\"", "./bin/e2e"),
    ] {
        assert_eq!(told(text), [format!("Judges {judge}")], "{text}");
    }
    for text in [
        "out=$(sh greet.sh); test \"$out\" = ok",
        "test \"$(./app add 1 2)\" = 3",
        "test \"$(python3 ab_test.py 1)\" = 3",
        "test \"$(echo 91 | sh check.sh)\" = composite",
        "sh ci.sh && test -f dist/app",
    ] {
        assert_eq!(told(text), [""; 0], "{text}");
    }
}

#[test]
fn a_check_that_runs_nothing_only_looks() {
    for text in ["grep -q a spec/a.yaml", "test -f tests/a.sh && ! grep a b | head", "cd a; jq -e .b c.json >/dev/null"]
    {
        assert!(only_looks(text), "{text}");
    }
    for text in ["cat a | sh", "test -f a && make", "ls | xargs sh", "sh a.sh", "$x", "find . -exec sh {} +"] {
        assert!(!only_looks(text), "{text}");
    }
}

#[test]
fn a_script_that_decides_alone_is_seen() {
    for (text, script) in [
        ("sh -e ./verify.sh --all", "./verify.sh"),
        ("tools/verify", "tools/verify"),
        (".venv/bin/python verify.py", "verify.py"),
        ("bash -euo pipefail ./verify", "./verify"),
        ("python3 -W error verify.py", "verify.py"),
        ("timeout 20 sh make-sure.sh 2>&1 | tee log", "make-sure.sh"),
        ("cd web; sh <make-sure.sh", "make-sure.sh"),
        ("cat make-sure.sh | sh -eu", "make-sure.sh"),
        (". ./make-sure", "./make-sure"),
        ("sh -c \"$(cat make-sure.sh)\"", "make-sure.sh"),
    ] {
        assert_eq!(sole_script(text).as_deref(), Some(script), "{text}");
    }
    for text in [
        ".venv/bin/python -m unittest verify",
        "bash -lc 'make'",
        "sh -ec verify",
        "python3 -W error -m unittest tests.a",
        "make verify",
        "test \"$(sh greet.sh)\" = hello",
        "sh a.sh | grep x",
        "make && sh a.sh",
        "sh \"$LONGHAUL_CHECKS/a.sh\"",
        "",
    ] {
        assert_eq!(sole_script(text), None, "{text}");
    }
}

#[test]
fn what_a_runner_is_given_or_a_pattern_finds_is_known() {
    let searched = |text: &str| -> Vec<String> {
        let found = namings(text, &Written::by([text])).into_iter();
        found.filter(|naming| naming.role == Role::Searched).map(|naming| naming.word).collect()
    };
    for (text, folder) in [
        ("behave --no-capture features", "features"),
        ("prove -lr t/", "t/"),
        ("python3 -m robot --outputdir out suites", "suites"),
    ] {
        assert_eq!(searched(text), [folder], "{text}");
    }
    assert_eq!(searched("prove -I lib; robot -d out; cp -r t u"), [""; 0]);
    assert_eq!(patterns_run("git ls-files '*.sh' | xargs -n1 sh"), ["**/*.sh"]);
    assert_eq!(patterns_run("for e in examples/*.py; do python3 $e; done"), ["examples/*.py"]);
    assert_eq!(patterns_run("find t -name '*.t' | xargs sh; ls *.py | xargs ruff; sh app.sh"), [""; 0]);
    assert!(starts_other_runner("npx cypress run") && !starts_other_runner("cat robot.txt"));
}

#[test]
fn a_schema_is_what_is_expected() {
    assert_eq!(told("xmllint --noout --schema feed.xsd feed.xml"), ["Expected feed.xsd"]);
    assert_eq!(told("npx ajv validate -s feed.json -d out.json"), ["Expected feed.json"]);
    assert_eq!(told("xmllint --noout --schema=src/feed.xsd feed.xml"), ["Compared src/feed.xsd"]);
    assert_eq!(told("xmllint --noout feed.xml"), [""; 0]);
}

#[test]
fn examples_are_what_is_expected() {
    for (text, expected) in [
        ("PYTHONPATH=. python3 -m doctest guide.md", vec!["Expected guide.md"]),
        ("python3 -m doctest -v -o ELLIPSIS tutorial.txt", vec!["Expected tutorial.txt"]),
        ("pytest -q --doctest-glob='*.md' guide.md", vec!["Expected guide.md"]),
        ("python3 -m doctest README.md", vec!["Compared README.md"]),
        ("python3 -m doctest docs/api.rst", vec!["Compared docs/api.rst"]),
        ("python3 -m doctest app.py", vec![]),
        ("python3 app.py guide.md", vec![]),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
    assert!(runs_silent_doctest("cd a; python3 -m doctest app.py"));
    assert!(!runs_silent_doctest("python3 -m doctest -v app.py; python3 app.py doctest"));
}
