//! What a check finds around it: the tree, the network, its setup; and what it may leave.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

#[test]
fn a_check_that_changes_tracked_files_proves_nothing_and_its_changes_are_kept() {
    let check = "test -f a && echo touched >> README";
    let project = Project::ready().in_place().feature("a", check).model([makes("a")]);

    project.run(["run", "--sessions", "1"]).exits(3);

    let log = project.memory_log();
    assert!(log.contains(&"gate: a not proven: tree moved".to_owned()), "{log:?}");
    assert_eq!(
        project.git(["log", "-2", "--format=%s"]),
        "wip(changed by the check of a)\nwip(changed by the check of a)"
    );
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

#[test]
fn a_check_that_changes_tracked_files_of_a_clean_checkout_changes_nothing_of_the_project() {
    // A30 and T26: a reviewer with write access changed the code and left it.
    let check = "test -f a && echo touched >> README";
    let project = Project::ready().feature("a", check).model([makes("a")]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("the check changed tracked files: `README`");

    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "tree moved");
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "wip(session 1)");
    assert_eq!((project.read("README"), project.git(["status", "--porcelain"])), ("a project\n".into(), "".into()));
}

#[test]
fn a_check_that_changes_tracked_files_does_not_end_the_run_with_an_error() {
    let project = Project::ready().feature("f", "test -f f").feature("g", "echo x >> README; test -f f");
    let idle = || session([reply([bash("true")]), reply([hand_over()])]);
    let project = project.model([makes("f"), idle(), idle()]);

    project.run(["run", "--sessions", "3"]).exits(3).shows("the check changed tracked files: `README`");

    assert_eq!(project.status("g"), "open");
    assert_eq!(project.stored("f")["passes"], true);
}

#[test]
fn a_pass_that_rests_on_a_file_left_out_of_the_commit_proves_nothing() {
    let makes = |text: &str| session([reply([bash(text)]), reply([hand_over()])]);
    let project = Project::ready()
        .feature("a", "test -f server.pem")
        .model([makes("echo key > server.pem; touch x"), makes("git add -f server.pem; git commit -qm 'a test key'")]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("left out of the session's commit: `server.pem`");
    assert_eq!(project.status("a"), "open");
    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "failed");

    project.run(["run"]).exits(0);
    assert_eq!(project.git(["show", "HEAD:server.pem"]), "key");
}

#[test]
fn in_the_working_tree_a_file_left_out_of_the_commit_keeps_the_check_from_being_judged() {
    let makes = session([reply([bash("echo key > server.pem; touch x")]), reply([hand_over()])]);
    let project = Project::ready().in_place().feature("a", "test -f server.pem").model([makes]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("left out of the session's commit: `server.pem`");

    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "not committed");
}

#[test]
fn in_a_sandbox_a_check_finds_a_clean_tree_at_the_projects_own_path() {
    let project = Project::ready().sandboxed();
    let root = project.root().display().to_string();
    let check = format!(
        "test \"$(pwd -P)\" = '{root}' && ! test -e stray && ! ls -A .longhaul 2>/dev/null && git log -1 --format=%s && \
         files=$LONGHAUL_CHECKS && ! touch \"$files/x\" 2>/dev/null && ! touch .git/x 2>/dev/null && test -f a"
    );
    let project = project.feature("a", &check).model([session([
        reply([bash(
            "touch a; git add a; git commit -qm a; mkdir -p out; echo out/ >> .git/info/exclude; touch out/stray",
        )]),
        reply([call("check", json!({}))]),
        reply([hand_over()]),
    ])]);
    project.write("stray", "");
    project.run(["run"]).exits(0);
    let evidence = project.stored("a")["evidence"].clone();
    assert_eq!((&evidence["level"], &evidence["checkout"]), (&json!("bubblewrap"), &json!("clean")), "{evidence}");
    assert_eq!(project.git(["status", "--porcelain"]), "?? stray");
}

#[test]
fn a_check_that_wants_the_network_is_told_which_setting_gives_it() {
    let lookup = "python3 -c 'import urllib.request as u; u.urlopen(\"http://example.invalid/\")'";
    let project = Project::ready().sandboxed().feature("a", lookup);
    project.run(["show", "a"]).exits(0);
    project.run(["check", "a"]).exits(8).tells("it does not have here: `\"network\": true` in the check gives it one");
    Project::ready().feature("a", lookup).run(["check", "a"]).exits(8).hides("does not have here");
}

/// B06: a server that a check leaves holds its port, and the next session blames its code.
#[test]
fn a_server_that_a_check_leaves_is_ended_and_named_with_its_port() {
    let port = 38377;
    let listens = format!("cat /proc/net/tcp* | grep -q ':{port:X} '");
    let serve = format!(
        "setsid -f python3 -m http.server {port} >/dev/null 2>&1; until {listens}; do sleep 0.1; done; test -f a"
    );
    for project in [Project::ready(), Project::ready().sandboxed()] {
        let project = project.feature("a", &serve);
        for _ in 0..2 {
            let run = project.run(["check", "a"]);
            run.exits(8)
                .tells("left running by the check, and ended: ")
                .tells("http.server 38377")
                .tells("on port 38377");
        }
    }
}

#[test]
fn a_check_that_misses_an_ignored_file_says_what_a_clean_checkout_does_not_hold() {
    let build = "echo build > .gitignore; mkdir build; touch build/out";
    let project = Project::ready()
        .feature("a", "test -f build/out")
        .model([session([reply([bash(build)]), reply([hand_over()])])]);
    project
        .run(["run", "--sessions", "1"])
        .exits(3)
        .tells("a clean checkout does not hold: `build/out`; if the check needs it and does not make it, `git add -f build/out`");
}

#[test]
fn a_setup_that_fails_is_named_with_how_it_ended() {
    let project = Project::ready();
    let json = r#"{"id": "a", "title": "a", "check": {"run": "true", "setup": "sh up.sh", "ready": "true"}}"#;
    project.run_with(["feature", "add", "-"], json).exits(0).tells("the check's setup `sh up.sh` failed: exit code ");
}
