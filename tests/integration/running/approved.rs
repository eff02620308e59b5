//! Which version of a check decides: the one that was approved.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use serde_json::json;

#[test]
fn of_a_changed_test_file_the_approved_version_decides_until_a_person_accepts_the_other() {
    for place in ["clean", "in-place"] {
        let project = Project::ready().variable("LONGHAUL_GATE_CHECKOUT", place);
        project.write("tests/a.sh", "test -f a\n");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "test"]);
        let cheat = session([reply([bash("echo true > tests/a.sh")]), reply([hand_over()])]);
        let project = project.feature("a", "sh tests/a.sh").model([cheat, makes("b")]);

        project
            .run(["run", "--sessions", "1"])
            .exits(3)
            .shows("the approved version of the check decided")
            .shows("+true")
            .shows("`longhaul accept a` approves it");
        assert_eq!(project.status("a"), "open");
        assert_eq!(project.stored("a")["last_verdict"]["verdict"], "failed");
        assert_eq!(project.stored("a")["last_verdict"]["overlaid"], json!(["tests/a.sh"]));

        let accepted = project.run(["accept", "a"]);
        accepted.exits(0).prints("-test -f a").prints("+true").prints("the changed check is approved");
        assert_eq!(project.status("a"), "already green");
    }
}

#[test]
fn one_accept_with_a_reason_takes_a_changed_check_that_passes() {
    let project = Project::ready();
    project.write("tests/a.sh", "test -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    let cheat = session([reply([bash("echo true > tests/a.sh")]), reply([hand_over()])]);
    let project = project.feature("a", "sh tests/a.sh").model([cheat]);
    project.run(["run", "--sessions", "1"]).exits(3);

    let accepted = project.run(["accept", "a", "--reason", "I looked"]);
    accepted
        .exits(0)
        .prints("the changed check is approved; it passes as it is now, and your reason takes the feature");
    assert_eq!(project.status("a"), "accepted");
}

#[test]
fn honest_work_that_adds_tests_beside_the_approved_ones_is_proven() {
    let project = Project::ready();
    project.write("tests/a.sh", "test -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    let work = "touch a; echo 'test -f a; test -f README' > tests/a.sh; echo true > tests/more.sh";
    let work = session([reply([bash(work)]), reply([call("check", json!({}))]), reply([hand_over()])]);
    let check =
        json!({"id": "a", "title": "a", "check": {"run": "for t in tests/*.sh; do sh $t; done", "closure": ["tests"]}});
    project.run_with(["feature", "add", "-"], &check.to_string()).exits(0);
    let project = project.model([work]);

    project.run(["run"]).exits(0);

    assert!(project.played().results_in(3).starts_with("passed"), "{}", project.played().results_in(3));
    assert_eq!(project.stored("a")["evidence"]["overlaid"], json!(["tests/a.sh", "tests/more.sh"]));
    assert_eq!(project.read("tests/more.sh"), "true\n");
}

#[test]
fn of_a_test_file_that_memory_lost_no_other_version_decides() {
    let project = Project::ready();
    project.write("tests/a.sh", "test -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    let project = project.feature("a", "sh tests/a.sh");
    let pinned = project.stored("a")["check"]["pins"]["tests/a.sh"].as_str().unwrap().to_owned();
    let id = pinned.rsplit(' ').next().unwrap();
    project.run(["memory", "delete", &format!("/memories/checks/pinned/{id}")]).exits(0);
    project.write("tests/a.sh", "true\n");
    project.git(["commit", "-qam", "changed"]);

    project.run(["check", "a"]).exits(8).shows("memory cannot give the approved `tests/a.sh`");

    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "check changed");
    project.run(["accept", "a"]).exits(0).prints("`tests/a.sh` is not what was approved");
    assert_eq!(project.status("a"), "already green");
}

#[test]
fn a_word_of_the_shell_is_no_folder_of_tests() {
    let makes = "mkdir -p web/test; echo unit > web/test/unit.js; echo page > web/dist.html";
    let project = Project::ready()
        .feature("page", "cd web && test -f dist.html")
        .model([session([reply([bash(makes)]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.stored("page")["check"]["pins"], json!({}));
}

#[test]
fn of_a_check_whose_files_changed_before_it_ever_ran_the_approved_version_decides() {
    let project = Project::unborn();
    project.run(["init"]).exits(0);
    project.write("tests/a.sh", "test -f a\n");
    let project = project.feature("a", "sh tests/a.sh").model([makes("a")]);
    project.write("tests/a.sh", "true\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "changed"]);

    project.run(["run"]).exits(0);

    assert_eq!(project.stored("a")["baseline"]["verdict"], "failed");
    assert_eq!(project.stored("a")["evidence"]["overlaid"], json!(["tests/a.sh"]));
}

#[test]
fn a_strict_gate_refuses_what_tools_load_by_themselves_until_a_person_accepts_it() {
    let project = Project::ready().variable("LONGHAUL_GATE_STRICT", "true");
    project.write("Makefile", "check:\n\ttest -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "make"]);
    let cheat = session([reply([bash("printf 'check:\\n\\ttrue\\n' > Makefile")]), reply([hand_over()])]);
    let project = project.feature("a", "grep -q true Makefile || test -f a").model([cheat]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("`Makefile`").shows("longhaul accept a");
    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "check changed");
    project.run(["show", "a"]).exits(0).prints("loaded by tools by themselves: Makefile");

    project.run(["accept", "a"]).exits(0).prints("`Makefile`").prints("the changed check is approved");
    assert_eq!(project.status("a"), "already green");
}

#[test]
fn what_a_check_finds_and_runs_is_pinned_by_its_pattern_or_told_at_approval() {
    let project = Project::ready();
    project.write("t/a.t", "false\n");
    project.write("examples/a.sh", "false\n");
    let add = |check: &str| project.run(["feature", "add", "--title", check, "--check", check]);
    let warned = "runs what it finds by `**/*.sh`, and none of it is pinned";
    add("find . -name '*.sh' | xargs -n1 sh").exits(0).tells(warned);
    add("find . -name '*.t' | xargs -n1 sh").exits(0).hides("it finds").tells("t/a.t");
    add("find . -name '*.sh' | xargs shellcheck").exits(0).hides("it finds");
    add("npx cypress run").exits(0).tells("by the tests that it finds, and none of them is pinned");
}

#[test]
fn a_script_that_decides_alone_and_is_not_pinned_is_told_at_approval() {
    let project = Project::ready();
    let add = |check: &str| project.run(["feature", "add", "--title", check, "--check", check]);
    add("sh all.sh").exits(0).tells("`all.sh` alone decides the check of sh-all-sh, and it is not pinned");
    add("sh tests/verify.sh").exits(0).hides("alone decides");
    add("sh verify.sh").exits(0).hides("alone decides").tells("names `verify.sh`, not there yet and pinned as absent");
    add("test \"$(sh greet.sh)\" = hello").exits(0).hides("alone decides");
}

#[test]
fn what_a_text_leaves_open_is_told_at_approval() {
    let project = Project::ready();
    let add = |check: &str| project.run(["feature", "add", "--title", check, "--check", check]);
    add("diff a.txt b.txt").exits(0).tells("the check of diff-a-txt-b-txt compares or reads `a.txt` and `b.txt`");
    add("diff out.txt expected.txt").exits(0).hides("compares").tells("names `expected.txt`, not there yet");
    add("rm x; test -e y").exits(0).tells("must pass, also `rm x`: if that may fail, write `rm x || true`");
    add("rm -f x; test -e y").exits(0).hides("must pass");
    let told = "reads `./lib.sh` into its own shell, where that can end the check or take over its commands";
    add(". ./lib.sh; test \"$(greet)\" = yes")
        .exits(0)
        .tells(told)
        .tells("`test \"$(sh -c '. ./lib.sh; some_function')\"");
    add("test \"$(sh -c '. ./lib.sh; greet')\" = yes").exits(0).hides("its own shell");
    let told = "passes too where doctest finds no example: with `-v` that is";
    add("python3 -m doctest spec.md").exits(0).tells(told).hides("md.py");
    add("python3 -m doctest -v app.py").exits(0).hides("example").tells("by the tests that it finds");
    add(". .venv/bin/activate; python3 app.py").exits(0).hides("its own shell");
    add("python3 -m unittest discover -s tests").exits(0).hides("tests.py").tells("names `tests`, not there yet");
}

#[test]
fn a_test_that_is_named_and_not_there_yet_is_told_at_approval_and_pinned_once_it_is_accepted() {
    let project = Project::ready();
    let add = |id: &str| project.run(["feature", "add", "--id", id, "--title", id, "--check", "cargo test --test mul"]);
    let told = "names a test that is not there yet, such as `tests/mul.rs`, so nothing of it is pinned";
    add("early").exits(0).tells(told).tells("`longhaul accept early` pins it");
    assert_eq!(project.stored("early")["check"]["pins"], json!({}));
    project.write("tests/mul.rs", "#[test]\nfn mul() {}\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    add("late").exits(0).hides("not there yet");
    project.run(["accept", "early"]).exits(0).shows("`tests/mul.rs` is new beside the files that were approved");
    for id in ["early", "late"] {
        assert!(project.stored(id)["check"]["pins"]["tests/mul.rs"].is_string(), "{id}");
    }
}

#[test]
fn a_run_that_ends_with_a_changed_check_names_both_ways_out() {
    let changes = session([reply([bash("echo 'test -f b' > tests/a.sh")]), reply([hand_over()])]);
    let project = Project::ready().variable("LONGHAUL_RUN_ATTEMPTS", "1");
    project.write("tests/a.sh", "test -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    let project = project.feature("a", "sh tests/a.sh").model([changes, makes("b")]);

    let way_out = "`longhaul show a` has the change, `longhaul accept a` approves it, or take it back";
    project.run(["run"]).exits(4).tells(way_out);
    project.run(["show", "a"]).prints("+test -f b").prints("the tree's differs · exit 1").hides("differs: ·");

    project.run(["accept", "a"]).exits(0);
    project.run(["run"]).exits(0).prints("done: 1 feature proven");
}

#[test]
fn of_what_is_done_already_accept_says_so_and_changes_nothing() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    let manual = r#"[{"id": "m", "title": "m", "check": {"kind": "manual", "run": "Look at the page."}}]"#;
    project.run_with(["feature", "add", "-"], manual).exits(0);
    project.run(["run"]).exits(4).tells("m waits for a person to look: Look at the page.; `longhaul accept m");
    project.run(["show", "m"]).prints("Look at the page.");
    let before = project.stored("a");

    project.run(["accept", "a", "--reason", "I looked"]).exits(0).prints("a: proven already, nothing was changed");
    project.run(["accept", "a"]).exits(0).prints("a: proven already");
    assert_eq!(project.stored("a"), before);

    // A person's word is taken again only where it is another one.
    project.run(["accept", "m"]).exits(2).tells("needs a reason");
    project.run(["accept", "m", "--reason", "blue"]).exits(0).prints("m: accepted\n");
    project.run(["accept", "m"]).exits(0).prints("m: accepted already, nothing was changed");
    assert_eq!(project.stored("m")["accepted"]["reason"], "blue");
    project.run(["accept", "m", "--reason", "green"]).exits(0).prints("m: accepted\n");

    project.write("more", "");
    project.git(["add", "more"]);
    project.git(["commit", "-qm", "more"]);
    project.run(["accept", "a", "--reason", "x"]).exits(0).prints("`longhaul check a` looks at it");
}

/// Says in which sessions the agent was asked for which feature.
fn asked(project: &Project) -> Vec<String> {
    let sessions = (1..).take_while(|number| project.state().join(format!("sessions/{number:04}")).exists());
    let of = |number| project.events(number).into_iter().find_map(|event| event["feature"].as_str().map(str::to_owned));
    sessions.filter_map(of).collect()
}

#[test]
fn a_feature_whose_test_was_written_by_an_agent_waits_for_a_person_and_the_run_goes_on() {
    let writes = |text: &str| session([reply([bash(text)]), reply([hand_over()])]);
    for place in ["clean", "in-place"] {
        let project = Project::ready()
            .variable("LONGHAUL_GATE_CHECKOUT", place)
            .feature("a", "sh tests/a.sh")
            .feature("b", "test -f b")
            .model([writes("mkdir tests; echo 'test -f a' >tests/a.sh"), makes("b"), makes("a")]);

        project
            .run(["run"])
            .exits(4)
            .tells("a waits for a person: its check names files that were not there when it was approved")
            .tells("`tests/a.sh`; `longhaul accept a` approves them");
        assert_eq!((project.status("a"), project.status("b")), ("waiting".to_owned(), "proven".to_owned()), "{place}");
        assert_eq!(asked(&project), ["a", "b"], "one session each");
        project.run(["show", "a"]).prints("for a person to approve tests/a.sh");

        project.run(["accept", "a"]).exits(0).prints("was absent at approval and is there now");
        assert_eq!(project.status("a"), "open", "the test is red now");
        project.run(["run"]).exits(0);
        assert_eq!((project.status("a"), asked(&project).len()), ("proven".to_owned(), 3));
    }
}

#[test]
fn a_feature_that_waits_for_a_test_goes_on_once_that_is_away() {
    let writes = session([reply([bash("mkdir tests; echo true >tests/a.sh")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a && sh tests/a.sh || test -f b").model([writes, makes("b")]);
    project.run(["run"]).exits(4);
    assert_eq!(project.status("a"), "waiting");

    project.git(["rm", "-q", "tests/a.sh"]);
    project.git(["commit", "-qm", "away"]);
    project.run(["check", "a"]).exits(8);
    assert_eq!(project.status("a"), "open", "the check says so by itself");

    project.run(["run"]).exits(0);
}

/// The twin: what the check makes itself is nobody's test.
#[test]
fn no_feature_waits_for_a_file_that_its_check_writes() {
    let check = "mkdir -p tests; echo true >tests/a.sh; sh tests/a.sh && test -f b";
    let fails = session([reply([bash("mkdir tests; echo true >tests/a.sh")]), reply([hand_over()])]);
    let works = session([reply([bash("git rm -q tests/a.sh; touch b")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", check).model([fails, works]);
    assert_eq!(project.stored("a")["check"]["pins"], json!({"tests/a.sh": null}));

    project.run(["run"]).exits(0);

    assert_eq!(asked(&project), ["a", "a"]);
}

/// A project whose check reads a folder in which one approved test lies.
fn with_a_folder_of_tests(agent: &str) -> Project {
    let project = Project::ready();
    project.write("tests/add.sh", "true\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    let check = "ls tests | grep -q sub\nfor t in tests/*.sh; do sh $t || exit 1; done";
    project.feature("a", check).model([session([reply([bash(agent)]), reply([hand_over()])])])
}

#[test]
fn a_feature_that_fails_for_want_of_a_test_beside_the_approved_ones_waits_for_a_person_and_is_proven_then() {
    let project = with_a_folder_of_tests("touch sub; echo 'test -f sub' >tests/sub.sh");

    project
        .run(["run"])
        .exits(4)
        .tells("a waits for a person")
        .tells("`tests/sub.sh`; `longhaul accept a` approves them");
    assert_eq!((project.status("a"), asked(&project).len()), ("waiting".to_owned(), 1));
    assert_eq!(project.stored("a")["passes"], false);

    let accepted = project.run(["accept", "a"]);
    accepted.exits(0).prints("it fails on the commit before the work, and passes now: proven");
    assert_eq!(project.status("a"), "proven");
    let red = project.stored("a")["evidence"]["red"].clone();
    assert_eq!(red["verdict"], "failed");
    assert_eq!(red["commit"].as_str().unwrap(), project.git(["rev-parse", "HEAD~1"]).trim());
}

/// The twins: the test beside fails too, and a test that passes without the work.
#[test]
fn no_feature_waits_for_a_test_that_fails_and_none_is_proven_by_one_that_asks_for_nothing() {
    let project = with_a_folder_of_tests("echo 'test -f sub' >tests/sub.sh");
    project.run(["run", "--sessions", "1"]).exits(3);
    assert_eq!(project.status("a"), "open");

    let project = with_a_folder_of_tests("touch sub; echo true >tests/sub.sh");
    project.run(["run"]).exits(4);
    project.run(["accept", "a"]).exits(0).prints("it is not known to have failed before");
    assert_eq!(project.status("a"), "already green");
}

/// A project whose check asks a test file that is approved, of which this is written.
fn with_a_test_file(check: &str, agent: &str) -> Project {
    let project = Project::ready();
    project.write("tests/all.sh", "set -e\ncase \"$1\" in\nadd) true ;;\n*) false ;;\nesac\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    project.feature("a", check).model([session([reply([bash(agent)]), reply([hand_over()])])])
}

const ADDS_A_CASE: &str = "sed -i 's/^\\*)/sub) test -f sub ;;\\n*)/' tests/all.sh";

#[test]
fn a_feature_that_fails_for_want_of_a_case_added_to_an_approved_test_waits_for_a_person_and_is_proven_then() {
    for place in ["clean", "in-place"] {
        let agent = format!("touch sub; {ADDS_A_CASE}");
        let project = with_a_test_file("sh tests/all.sh sub", &agent).variable("LONGHAUL_GATE_CHECKOUT", place);

        project
            .run(["run"])
            .exits(4)
            .tells("a waits for a person: it passes only with what was added to files of its check since they were approved")
            .tells("`tests/all.sh`; `longhaul accept a` approves them");
        assert_eq!((project.status("a"), asked(&project).len()), ("waiting".to_owned(), 1), "{place}");
        assert_eq!(project.stored("a")["passes"], false);

        let accepted = project.run(["accept", "a"]);
        accepted.exits(0).prints("+sub) test -f sub ;;");
        // Only a tree of its own shows how the new case ends on the commit before.
        let state = if place == "clean" { "proven" } else { "already green" };
        assert_eq!(project.status("a"), state);
    }
}

/// The twins: a case that fails too, and a test of which something was taken away.
#[test]
fn no_feature_waits_for_an_added_case_that_fails_or_for_a_changed_one() {
    let project = with_a_test_file("sh tests/all.sh sub", ADDS_A_CASE);
    project.run(["run", "--sessions", "1"]).exits(3);
    assert_eq!(project.status("a"), "open");

    let project = with_a_test_file("sh tests/all.sh sub", "sed -i 's/false/true/' tests/all.sh");
    project.run(["run", "--sessions", "1"]).exits(3).shows("+*) true ;;");
    assert_eq!(project.status("a"), "open");
}

/// Ways in which an agent writes the test that the check asks for, with the work.
const WRITTEN: [(&str, &str, &str); 4] = [
    ("sh", "sh tests/sub.sh", "echo 'test -f sub' >tests/sub.sh"),
    (
        "pytest",
        "pytest -q tests/test_all.py::test_sub",
        "printf \"\\ndef test_sub():\\n    open('sub')\\n\" >>tests/test_all.py",
    ),
    ("pytest", "pytest -q tests -k sub", "printf \"def test_sub():\\n    open('sub')\\n\" >tests/test_sub.py"),
    ("pytest", "pytest -q tests -k sub", "printf \"\\ndef test_sub():\\n    open('sub')\\n\" >>tests/test_all.py"),
];

#[test]
fn a_test_that_an_agent_wrote_with_the_work_waits_once_and_proves_when_it_is_accepted() {
    for (needed, check, writes) in WRITTEN.iter().filter(|(needed, ..)| *needed == "sh" || runs_here(needed)) {
        let project = Project::ready();
        project.write("tests/test_all.py", "def test_add():\n    open('README')\n");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "tests"]);
        let work = session([reply([bash(&format!("touch sub; {writes}"))]), reply([hand_over()])]);
        let project = project.feature("a", check).model([work]);

        project.run(["run"]).exits(4).tells("a waits for a person: ").tells("`longhaul accept a` approves them");
        assert_eq!(asked(&project), ["a"], "{needed}: {check}: one session");
        assert_eq!(project.stored("a")["passes"], false, "{check}");

        project.run(["accept", "a"]).exits(0).prints("it fails on the commit before the work, and passes now: proven");
        assert_eq!(project.status("a"), "proven", "{check}");
    }
}

/// A folder that a runner is given is pinned whole, and the product may lie in it as well.
#[test]
fn a_change_of_the_product_in_a_folder_of_tests_waits_for_a_person_and_one_of_a_test_does_not() {
    let test = "test \"$(cat spec/api.yaml)\" = new && echo 1..1 && echo ok 1\n";
    for (work, status) in [
        ("echo new >spec/api.yaml", "waiting"),
        // The twins: with what is expected, and with the test itself.
        ("echo old >spec/expected.yaml", "open"),
        ("echo 'echo 1..1; echo ok 1' >spec/a.t", "open"),
    ] {
        let expecting = format!("grep -q new spec/expected.yaml || exit 1\n{test}");
        let project = Project::ready();
        let file = if work.contains("expected") {
            "grep -q old spec/expected.yaml && echo 1..1 && echo ok 1\n"
        } else {
            &expecting
        };
        project.write("spec/a.t", &format!("#!/bin/sh\n{file}"));
        project.write("spec/api.yaml", "old\n");
        project.write("spec/expected.yaml", "new\n");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "a test"]);
        let project = project.feature("a", "prove -e sh spec/");
        let project = project.model([session([reply([bash(work)]), reply([hand_over()])])]);
        let run = project.run(["run", "--sessions", "1"]);
        assert_eq!(project.status("a"), status, "{work}");
        if status == "waiting" {
            run.tells(
                "a waits for a person: it passes only with what changed in the folder of its tests, in files that are no tests \
                 by their names: `spec/api.yaml`; `longhaul accept a --reason TEXT` vouches for it",
            );
            project.run(["accept", "a", "--reason", "that was asked for"]).exits(0);
            assert_eq!(project.status("a"), "accepted");
        }
    }
    // Left out of what is pinned, it is the product as any other file.
    let project = Project::ready();
    project.write("spec/a.t", &format!("#!/bin/sh\n{test}"));
    project.write("spec/api.yaml", "old\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "a test"]);
    let feature = r#"{"id":"a","title":"a","check":{"run":"prove -e sh spec/","closure":["!spec/api.yaml"]}}"#;
    project.run_with(["feature", "add", "-"], feature).exits(0);
    let project = project.model([session([reply([bash("echo new >spec/api.yaml")]), reply([hand_over()])])]);
    project.run(["run"]).exits(0);
    assert_eq!(project.status("a"), "proven");
}
