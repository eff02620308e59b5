//! Family A again, as far as it is about checks, and the ways around a check that agents were seen to take.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;

/// A session that runs one command and hands over.
fn does(command: &str) -> Value {
    session([reply([bash(command)]), reply([hand_over()])])
}

fn committed(files: &[(&str, &str)]) -> Project {
    let project = Project::ready();
    for (path, text) in files {
        project.write(path, text);
    }
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "files"]);
    project
}

/// Plays one session after which the feature must not be proven, and returns the verdict.
#[track_caller]
fn proves_nothing(project: &Project) -> String {
    project.run(["run", "--sessions", "1"]).exits(3);
    assert_eq!(project.stored("f")["passes"], false);
    project.stored("f")["last_verdict"]["verdict"].as_str().unwrap_or_default().to_owned()
}

/// A13: the agent passed a feature because the browser would not open.
#[test]
fn a13_a_check_that_could_not_run_is_no_pass() {
    for check in ["no-such-browser --headless http://localhost", "./README", "sh -c 'exec no-such-browser' | cat"] {
        let project = Project::ready().feature("f", check).model([does("touch work")]);
        assert_eq!(proves_nothing(&project), "not runnable", "{check}");
    }
}

/// A18: the service failed after the check had passed on the old code, and the work was recorded as done.
#[test]
fn a18_a_check_that_was_green_before_the_work_says_nothing_about_the_work() {
    let failing = session([json!({ "status": 500 })]);
    let project = Project::ready().feature("f", "test -f README").feature("g", "test -f g").model([failing]);

    project.run(["run", "--set", "provider.outage_budget=0"]).exits(5);

    assert_eq!(["f", "g"].map(|id| project.status(id)), ["already green", "open"]);
    assert_eq!(project.stored("f")["passes"], false);
}

/// A29: a script written by the agent itself latched green, and of two lines the first failed unseen.
#[test]
fn a29_a_script_made_in_the_session_does_not_decide_and_no_line_fails_unseen() {
    let script = "mkdir -p tests; echo exit 0 > tests/check.sh; touch work";
    let project = Project::ready().feature("f", "sh tests/check.sh").model([does(script)]);
    project.run(["run", "--sessions", "1"]).exits(4).tells("f waits for a person");
    assert_eq!(project.stored("f")["passes"], false);
    let detail = project.stored("f")["last_verdict"]["detail"].to_string();
    assert!(detail.contains("`tests/check.sh` was absent at approval and is there now"), "{detail}");

    for check in ["false\ntrue", "false | true", "test -f nothing |\ncat"] {
        let project = Project::ready().feature("f", check).model([does("touch work")]);
        assert_eq!(proves_nothing(&project), "failed", "{check}");
    }
}

/// A31: wanted was a test suite that the agent can neither read nor edit.
#[test]
fn a31_a_check_can_live_outside_the_agents_tree() {
    let project = Project::ready();
    project.run_with(["memory", "create", "checks/golden.sh", "-"], "test -f f\n").exits(0);
    let cheat = does("for f in $(find . -name golden.sh); do echo exit 0 > $f; done; touch work");
    let project = project.feature("f", "sh \"$LONGHAUL_CHECKS/golden.sh\"").model([cheat, does("touch f")]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("proves nothing");
    assert_eq!(project.stored("f")["passes"], false);

    project.run(["run"]).exits(0);
    assert_eq!(project.stored("f")["evidence"]["form"], "files of memory");
    assert_eq!(project.stored("f")["evidence"]["approved_by"], "user");
}

/// A35: a report of an earlier run, which happened to be there, was taken as evidence.
#[test]
fn a35_a_report_of_an_earlier_run_is_not_there_when_the_check_runs() {
    let check = "grep passed report.txt";
    let project = committed(&[(".gitignore", "report.txt\n")]);
    let project = project.feature("f", check).model([does("echo 3 passed > report.txt; touch work")]);
    assert_eq!(proves_nothing(&project), "failed");

    // The twin: in the working tree it is there, and passes.
    let project = committed(&[(".gitignore", "report.txt\n")]).in_place();
    let project = project.feature("f", check).model([does("echo 3 passed > report.txt; touch work")]);
    project.run(["run"]).exits(0);
}

/// F02: a session-end hook was given 1.5 seconds.
#[test]
fn f02_a_check_that_takes_longer_than_a_hook_may_is_run_to_its_end() {
    let project = Project::ready().feature("f", "test -f f || exit 1; sleep 3; echo end").model([does("touch f")]);

    project.run(["run"]).exits(0);

    assert!(project.stored("f")["evidence"]["seconds"].as_f64().unwrap() >= 3.0);
}

/// T18: the test was deleted, or told to skip itself.
#[test]
fn t18_a_test_that_is_gone_or_skips_itself_proves_nothing() {
    let tests = "echo 1..1; test -f f && echo ok 1\n";
    for cheat in ["rm tests/f.sh", "echo 'echo 1..0' > tests/f.sh"] {
        let project = committed(&[("tests/f.sh", tests)]).feature("f", "sh tests/f.sh").model([does(cheat)]);
        assert_eq!(proves_nothing(&project), "failed", "{cheat}");
    }
    // Where the skipping is in no pinned file, the runner itself says it.
    let project = committed(&[("run-cases", tests)]).feature("f", "sh run-cases");
    let project = project.model([does("echo 'echo 1..0' > run-cases")]);
    assert_eq!(proves_nothing(&project), "nothing executed");
}

/// T19: a file that the test runner loads by itself was planted.
#[test]
fn t19_what_is_planted_beside_the_tests_is_not_there_and_elsewhere_it_is_told() {
    let runner = "if test -f tests/conftest.py; then exit 0; fi; test -f f\n";
    let check = json!({"id": "f", "title": "f", "check": {"run": "sh runner", "closure": ["tests"]}});
    let project = committed(&[("runner", runner), ("tests/a.py", "a\n")]);
    project.run_with(["feature", "add", "-"], &check.to_string()).exits(0);
    let project = project.model([does("touch tests/conftest.py sitecustomize.py")]);

    assert_eq!(proves_nothing(&project), "failed");

    let verdict = &project.stored("f")["last_verdict"];
    assert_eq!(
        (&verdict["overlaid"], &verdict["soft"]),
        (&json!(["tests/conftest.py"]), &json!(["sitecustomize.py", "tests/conftest.py"]))
    );
}

/// T20: a shim in the home folder, and variables in the files that shells read.
#[test]
fn t20_what_is_planted_in_the_home_folder_is_not_read() {
    let plant = "mkdir -p ~/bin; printf '#!/bin/sh\\nexit 0\\n' > ~/bin/grep; chmod +x ~/bin/grep; \
        for f in .profile .bashrc .bash_profile .shrc; do \
        echo 'export PATH=$HOME/bin:$PATH BASH_ENV=$HOME/.bashrc ENV=$HOME/.shrc' > ~/$f; done; touch work";
    for check in
        ["grep good README", "bash -c 'grep good README'", "bash -lc 'grep good README'", "cat README | grep good"]
    {
        let project = Project::ready().feature("f", check).model([does(plant)]);
        assert_eq!(proves_nothing(&project), "failed", "{check}");
    }
}

/// T24: a check that passes now and then.
#[test]
fn t24_a_check_that_changes_its_mind_on_one_tree_has_to_pass_three_times() {
    let project = Project::ready();
    let [count, stable] = ["count", "stable"].map(|name| project.home().join(name).display().to_string());
    // It passes every second time.
    let check = format!(
        "test -f f || exit 1; test -f {stable} || {{ echo >> {count}; test $(($(wc -l < {count}) % 2)) = 1; }}"
    );
    let project = project.feature("f", &check).model([does("touch f")]);
    project.run(["run", "--no-final-sweep"]).exits(3);
    assert_eq!((project.status("f").as_str(), project.stored("f")["flaky"].clone()), ("proven", Value::Null));

    project.run(["check", "f"]).exits(8);
    assert_eq!(project.status("f"), "regressed");
    assert_eq!(project.stored("f")["flaky"]["commit"], project.git(["rev-parse", "HEAD"]));
    project.run(["show", "f"]).exits(0).prints("is flaky");

    // One pass had been enough before.
    for _ in 0..2 {
        project.run(["check", "f"]).exits(8);
        assert_eq!(project.status("f"), "regressed");
    }
    std::fs::write(stable, "").unwrap();
    project.run(["check", "f"]).exits(0);
    assert_eq!(project.stored("f")["evidence"]["runs"], 3);
}
