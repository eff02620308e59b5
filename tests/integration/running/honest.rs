//! What honest work ran into: it is not refused, and nothing is told that is not so.

use super::makes;
use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use crate::support::skipped;
use serde_json::Value;

fn does(command: &str) -> Value {
    session([reply([bash(command)]), reply([hand_over()])])
}

/// A runner without a test ended the feature before anybody could write one.
#[test]
fn a_check_whose_tests_are_not_written_yet_is_red_and_can_be_proven() {
    if std::process::Command::new("node").arg("--version").output().is_err() {
        return skipped("there is no node");
    }
    let test = "const t = require('node:test'); t('greets', () => { if (require('./lib.js')() !== 'hi') throw 1; });";
    let writes = format!("echo \"module.exports = () => 'hi'\" > lib.js; cat > q.test.js <<'END'\n{test}\nEND");
    let project = Project::ready().feature("f", "node --test").model([does(&writes)]);
    assert_eq!(project.status("f"), "open");
    assert_eq!(project.stored("f")["baseline"]["verdict"], "nothing executed");

    project.run(["run"]).exits(0);

    assert_eq!(project.status("f"), "proven");
}

/// Git parts the list of its object folders at colons.
#[test]
fn a_check_has_gits_history_in_a_project_whose_path_has_a_colon() {
    for sandboxed in [false, true] {
        let project = Project::ready();
        let root = project.root().join("a:b \"c\"");
        std::fs::create_dir(&root).unwrap();
        let run = |args: &[&str]| {
            let mut command = project.command(args);
            command.current_dir(&root).env("LONGHAUL_SANDBOX_MODE", if sandboxed { "bubblewrap" } else { "off" });
            let output = command.output().unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let git = |args: &[&str]| {
            let done =
                std::process::Command::new("git").args(args).current_dir(&root).envs(project.environment()).status();
            assert!(done.unwrap().success(), "{args:?}");
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "first"]);
        run(&["init"]);
        run(&[
            "feature",
            "add",
            "--id",
            "f",
            "--title",
            "f",
            "--check",
            "git log --oneline | grep second && git status",
        ]);
        git(&["commit", "-q", "--allow-empty", "-m", "second"]);
        run(&["check", "f"]);
    }
}

/// A word of a sentence was taken for a folder that must not be there, and the tests of honest work were taken away.
#[test]
fn a_bare_word_that_names_nothing_is_not_pinned_as_absent() {
    let project = Project::ready();
    for (id, check) in [
        ("a", "sh run.sh | grep -q 'all tests passed'"),
        ("b", "sh todo.sh add 'write e2e tests' | grep spec"),
        ("c", "curl -fs localhost:3000/tests"),
    ] {
        let run = project.run(["feature", "add", "--id", id, "--title", id, "--check", check]);
        run.exits(0);
        assert!(!run.stdout.contains("absent"), "{}", run.stdout);
    }
    // The twin: spelled as a path, it is meant.
    project
        .run(["feature", "add", "--id", "d", "--title", "d", "--check", "sh tests/d.sh"])
        .exits(0)
        .prints("tests/d.sh (absent, and pinned as absent)")
        .tells("names `tests/d.sh`, not there yet and pinned as absent")
        .tells("`longhaul accept d`");

    let works = "mkdir tests; echo 'test 1 = 1' > tests/a.sh; \
                 printf 'for t in tests/*.sh; do sh $t || exit 1; done\\necho all tests passed\\n' > run.sh";
    let project = project.model([does(works)]);
    project.run(["run", "--sessions", "1"]);
    assert_eq!(project.status("a"), "proven");
}

/// What looks like a secret stays out of longhaul's commits, staged or not.
#[test]
fn a_staged_file_that_looks_like_a_secret_is_not_committed_and_told() {
    let project = Project::ready().feature("a", "test -f a").model([does("echo K=1 > .env; git add .env; touch a")]);

    let run = project.run(["run"]);

    run.exits(0).tells("`.env` was left out of the commit: its name looks like a secret");
    assert_eq!(project.git(["log", "--all", "--format=%h", "--", ".env"]), "");
    assert_eq!(project.read(".env"), "K=1\n");
    assert_eq!(project.git(["status", "--porcelain"]), "?? .env");
}

/// A repository without any file has no index, which is no damage.
#[test]
fn a_repository_in_which_nothing_was_committed_is_whole() {
    let project = Project::unborn();
    project.run(["init"]).exits(0);
    let project = project.feature("a", "test -f a").model([makes("a")]);

    let run = project.run(["run"]);

    run.exits(0);
    assert!(!run.stderr.contains("index"), "{}", run.stderr);
}

/// What a runner finds by itself is nobody's word for it.
#[test]
fn a_check_that_is_a_runner_alone_is_warned_of() {
    let project = Project::ready();
    project.write("tests/test_a.py", "");
    let add = |id: &str, check: &str| project.run(["feature", "add", "--id", id, "--title", id, "--check", check]);
    for (id, check) in [("a", "python3 -m unittest"), ("b", "pytest -q"), ("c", "node --test"), ("d", "cargo test sum")]
    {
        add(id, check).exits(0).tells("none of them is pinned: whoever changes them decides");
    }
    project.write("Makefile", "test:\n\tsh tests/a.sh\nall:\n\tcc -o a a.c\n");
    for (id, check) in [("m", "make -s test"), ("n", "cd . && just test"), ("o", "tox -q -e py")] {
        add(id, check).exits(0).tells("nothing of it is pinned: whoever changes the tests that it runs decides");
    }
    for (id, check) in [
        ("e", "pytest -q tests/test_a.py"),
        ("f", "test -f a"),
        ("g", "cargo build && ./a"),
        ("h", "make all && ./a"),
        ("i", "make test && sh tests/test_a.py"),
    ] {
        let run = add(id, check);
        run.exits(0);
        assert!(!run.stderr.contains("is pinned: whoever"), "{check}: {}", run.stderr);
    }
}

/// The key is in no environment of the agent's, but it may have found it elsewhere and written it down.
#[test]
fn a_new_file_that_holds_the_key_is_not_committed_and_a_tracked_one_is_told() {
    // The model that plays refuses a request with the key in it.
    let (head, tail) = KEY.split_at(8);
    let writes = format!(
        "k={head}; k=${{k}}{tail}; echo $k > new; printf %s $k | od -An -tx1 | tr -d ' \\n' > encoded; echo $k > staged; \
         git add staged; echo $k >> README; echo $k | tr -d '-' > other; ln -s new link; mkfifo pipe; touch a"
    );
    let project = Project::ready().feature("a", "test -f a").model([does(&writes)]);

    let run = project.run(["run"]);

    run.exits(0).hides(KEY).tells("and committed since git tracks it: `README`");
    for path in ["new", "encoded", "staged"] {
        let told = format!("`{path}` was left out of the commit: it holds a value that longhaul keeps secret");
        run.tells(&told);
        assert!(project.root().join(path).exists(), "it stays where it is");
    }
    let committed = project.git(["show", "--format=", "--name-only", "HEAD"]);
    assert_eq!(committed, "README\na\nlink\nother", "its twins are committed");
    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains("such as its key, and committed"));
}

/// What the build makes was committed with the work: the agent can do what the message says, and then it is proven.
#[test]
fn work_that_is_refused_for_what_the_build_made_is_told_the_nearest_way_out() {
    if std::process::Command::new("make").arg("--version").output().is_err() {
        return skipped("there is no make");
    }
    let project = Project::ready();
    project.write("build.sh", "mkdir -p dist; sed s/hi/hello/ app.sh >dist/app.sh\n");
    project.write("app.sh", "true\n");
    project.write("dist/app.sh", "true\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "the build"]);
    let rule = "printf 'out.txt: in\\n\\tcp in out.txt\\n' >Makefile; echo in >in; make out.txt; git add -A; git commit -qm made";
    let project = project
        .feature("made", "make out.txt")
        .feature("built", "sh build.sh; test \"$(sh dist/app.sh)\" = hello")
        .model([
            does(rule),
            does("git rm -q --cached out.txt; echo out.txt >.gitignore"),
            does("echo 'echo hi' >app.sh"),
            does("sh build.sh"),
        ]);

    let run = project.run(["run", "--sessions", "1"]);
    run.exits(3).tells("found nothing to do for `out.txt`; if it is made by the build, leave it out of git");
    run.tells("or let the check say `make -B out.txt`");
    project.run(["run", "--sessions", "1"]).exits(3);
    assert_eq!(project.status("made"), "proven");

    let run = project.run(["run", "--sessions", "1"]);
    run.exits(3).tells("the check changed tracked files: `dist/app.sh`; if the build makes them, run it and commit");
    project.run(["run", "--sessions", "1"]).exits(0);
    assert_eq!(project.status("built"), "proven");
}

/// A test that is skipped for good reason once the work is there: attempts were used up, and no way out was named.
#[test]
fn a_test_that_the_work_lets_skip_itself_waits_for_a_person_who_can_accept_it() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return skipped("there is no python3");
    }
    let test = "import unittest\nimport app\n\nclass A(unittest.TestCase):\n    def test_sum(self):\n        \
                self.assertEqual(app.add(1, 2), 3)\n\n    def test_colour(self):\n        if not app.has_colour():\n            \
                self.skipTest('no colour here')\n";
    let check = "python3 -m unittest -v test_app.py";
    let project = Project::ready();
    project.write("app.py", "\n");
    project.write("test_app.py", test);
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", "tests"]);
    let project = project.feature("f", check);
    let works = "printf 'def add(a, b):\\n    return a + b\\n\\n\\ndef has_colour():\\n    return False\\n' >app.py";
    let project = project.model([does(works)]);

    let run = project.run(["run"]);

    run.exits(4)
        .tells("f waits for a person")
        .tells("1 test was skipped that ran before the work (skipped: `test_colour");
    run.tells("`longhaul accept f --reason TEXT` vouches for it");
    assert_eq!(project.status("f"), "waiting");
    assert_eq!(project.stored("f")["attempts"], 1);
    project.run(["accept", "f", "--reason", "there is no colour"]).exits(0);
    assert_eq!(project.status("f"), "accepted");
}

/// Where an approved test makes a case of each fault, those of a mended product are gone.
#[test]
fn a_pass_without_the_cases_that_failed_names_them_and_one_of_prove_waits_too() {
    if std::process::Command::new("prove").arg("--version").output().is_err() {
        return skipped("there is no prove");
    }
    let use_it = "use lib 'lib'; use L; use Test::More;\n";
    let lint = format!("{use_it}fail(\"fault $_\") for L::faults(); pass('looked'); done_testing;\n");
    let own = format!("{use_it}ok(!L::faults(), 'no fault'); done_testing;\n");
    let other = "use Test::More; ok(1, 'one'); done_testing;\n";
    let mended = "package L; sub faults { return () } 1;\n";
    // The twin of a lint is a product that takes its test out of sight.
    let hiding = "package L; print qq(1..0 # SKIP later\\n); exit 0;\n";
    for (test, module, told) in [
        (
            &lint,
            mended,
            Some(
                "only 2 tests came to their end, and before the work 3 did (failed then, and not named now: `fault f1`)",
            ),
        ),
        (&own, hiding, Some("1 test was skipped that ran before the work (skipped: `t/l.t`)")),
        (&own, mended, None),
    ] {
        let files =
            [("t/l.t", test.as_str()), ("t/o.t", other), ("lib/L.pm", "package L; sub faults { return ('f1') } 1;\n")];
        let project = Project::ready();
        files.iter().for_each(|(path, text)| project.write(path, text));
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "a test"]);
        let project = project.feature("f", "prove t").model([does(&format!("cat >lib/L.pm <<'END'\n{module}END"))]);
        let run = project.run(["run"]);
        match told {
            Some(told) => {
                run.exits(4).tells("f waits for a person").tells(told).tells("`longhaul accept f --reason TEXT`");
            }
            None => {
                run.exits(0);
            }
        }
        assert_eq!(project.status("f"), if told.is_some() { "waiting" } else { "proven" });
    }
}

#[test]
fn a_program_that_may_take_the_rest_of_a_list_is_warned_of() {
    let project = Project::ready();
    let add = |id: &str, check: &str| project.run(["feature", "add", "--id", id, "--title", id, "--check", check]);
    let eats = add("a", "ls tests/*.sh | while read -r t; do sh \"$t\"; done");
    eats.exits(0).tells("can read what is left of the list").tells("write `sh \"$t\" </dev/null`");
    let leaves = add("b", "ls tests/*.sh | while read -r t; do sh \"$t\" </dev/null; done");
    leaves.exits(0);
    assert!(!leaves.stderr.contains("can read what is left"), "{}", leaves.stderr);
}

/// A project in Python whose pinned tests fail, and what else it holds.
fn with_pinned_tests(test: &str, others: &[(&str, &str)]) -> Project {
    let project = Project::ready();
    project.write("app.py", "CASES = ['a', 'b', 'c']\n\n\ndef low(text):\n    return text\n");
    project.write("test_app.py", test);
    others.iter().for_each(|(path, text)| project.write(path, text));
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", "tests"]);
    project
}

/// Tests that nobody approved may go while a feature is worked on.
#[test]
fn tests_that_are_not_pinned_may_be_deleted_by_the_work() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return skipped("there is no python3");
    }
    let begin = "import unittest\nimport app\n\nclass A(unittest.TestCase):\n";
    let test = format!("{begin}    def test_low(self):\n        self.assertEqual(app.low('A'), 'a')\n");
    let old = format!(
        "{begin}    def test_one(self):\n        self.assertTrue(app)\n\n    def test_two(self):\n        self.assertTrue(app)\n"
    );
    let check = r#"{"id":"f","title":"f","check":{"run":"python3 -m unittest -q","closure":["test_app.py"]}}"#;
    let work = "sed -i 's/return text/return text.lower()/' app.py; git rm -q test_old.py";
    // The twin deletes none, and hides them.
    let trick = "sed -i 's/return text/return text.lower()/' app.py; git mv test_old.py old.py";
    for (work, code, status) in [(work, 0, "proven"), (trick, 4, "waiting")] {
        let project = with_pinned_tests(&test, &[("test_old.py", &old)]);
        project.run_with(["feature", "add", "-"], check).exits(0);
        let project = project.model([does(work)]);
        project.run(["run"]).exits(code);
        assert_eq!(project.status("f"), status, "{work}");
    }
}

/// How many tests there are may depend on the product.
#[test]
fn a_pass_with_fewer_cases_than_before_waits_for_a_person_who_can_accept_it() {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return skipped("there is no python3");
    }
    let test = "import unittest\nimport app\n\nclass A(unittest.TestCase):\n    pass\n\nfor case in app.CASES:\n    setattr(A, 'test_' + \
                case, lambda self, case=case: self.assertEqual(app.low(case.upper()), case))\n";
    let project = with_pinned_tests(test, &[]).feature("f", "python3 -m unittest test_app.py");
    let project = project.model([does("sed -i \"s/return text/return text.lower()/; s/, 'c'//\" app.py")]);

    let run = project.run(["run"]);

    run.exits(4).tells("f waits for a person");
    run.tells("a pass in which only 2 tests came to their end, and before the work 3 did");
    assert_eq!(project.status("f"), "waiting");
    assert_eq!(project.stored("f")["baseline"]["ended"], 3);
    project.run(["accept", "f", "--reason", "c is no case any more"]).exits(0);
    assert_eq!(project.status("f"), "accepted");
}
