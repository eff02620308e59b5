//! Sessions that make or finish the checklist.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

#[test]
fn a_feature_without_a_check_gets_one_initializer_session_and_does_not_hold_up_the_others() {
    let project = Project::new();
    project.write("../list.json", r#"[{ "description": "It is fast" }]"#);
    project.run(["init", "--from", "../list.json"]).exits(0);
    let gives_up = session([reply([hand_over()]), reply([hand_over()])]);
    let project = project.feature("a", "test -f a").model([gives_up, makes("a")]);

    project.run(["run"]).exits(4).tells("has no check");

    assert_eq!(project.status("a"), "proven");
    assert_eq!(project.events(1)[0]["kind"], "initializer");
}

#[test]
fn an_initializer_can_give_a_check_to_a_feature_that_has_none() {
    let project = Project::new();
    project.write("../list.json", r#"[{ "id": "fast", "description": "It is fast" }]"#);
    project.run(["init", "--from", "../list.json"]).exits(0);
    let gives = session([
        reply([call("add_check_file", json!({ "name": "fast.sh", "text": "test -f fast\n" }))]),
        reply([call("set_check", json!({ "id": "fast", "check": "sh \"$LONGHAUL_CHECKS/fast.sh\"" }))]),
        reply([
            bash("echo true > init.sh"),
            call("set_init", json!({ "path": "init.sh", "starts": "nothing", "ready": "it exits" })),
        ]),
        reply([hand_over()]),
    ]);
    let project = project.model([gives, makes("fast")]);

    project.run(["run"]).exits(0);

    assert_eq!(project.status("fast"), "proven");
    let pins = project.stored("fast")["check"]["pins"].clone();
    assert!(pins["checks/fast.sh"].is_string(), "{pins}");
}

/// A project whose settings ask for a review; its initializer adds `a` and, when told so, finishes.
fn reviewed(finishes: &[serde_json::Value]) -> Project {
    let features =
        call("add_features", json!({ "features": [{ "id": "a", "title": "a", "check": { "run": "test -f a" } }] }));
    let initializer =
        session([reply([features]), reply(finishes.to_vec()), reply([hand_over()]), reply([hand_over()])]);
    let project = Project::new().variable("LONGHAUL_GATE_REVIEW", "ask").model([initializer, makes("a")]);
    project.write("../SPEC.md", "# Something small\n");
    project
}

#[test]
fn a_review_stops_after_the_initializer_and_the_next_run_goes_on() {
    let project = reviewed(&[bash("true")]);

    let run = project.run(["init", "--spec", "../SPEC.md"]);

    run.exits(4).tells("the checklist is ready for review").tells("a  open  by initializer  test -f a");
    assert_eq!(project.status("a"), "open");
    project.run(["run"]).exits(0).shows("done: 1 feature proven");
}

#[test]
fn a_review_stops_a_run_too_and_before_any_work() {
    let project = reviewed(&[bash("true")]);
    project.run(["init"]).exits(0);
    project.run(["memory", "create", "spec.md", "# Something small"]).exits(0);

    project.run(["run"]).exits(4).tells("the checklist is ready for review");
    assert_eq!(project.status("a"), "open");
    // Its twin: without the setting the same run would have gone on to the work.
    project.run(["run", "--set", "gate.review=auto"]).exits(0);
}

#[test]
fn a_review_stops_after_an_initializer_that_is_not_finished() {
    // It names an init script that is gone in the end.
    let project = reviewed(&[
        bash("echo true > init.sh"),
        call("set_init", json!({ "path": "init.sh", "starts": "nothing", "ready": "it exits" })),
        bash("rm init.sh"),
    ]);

    project.run(["init", "--spec", "../SPEC.md"]).exits(4).tells("is not finished").tells("ready for review");
    assert_eq!(project.status("a"), "open");
}

#[test]
fn without_a_review_the_checks_are_shown_and_the_run_goes_on() {
    let project = reviewed(&[bash("true")]);
    project.run(["init"]).exits(0);
    project.run(["memory", "create", "spec.md", "# Something small"]).exits(0);

    let run = project.run(["run", "--set", "gate.review=auto"]);

    run.exits(0).tells("the checks that decide from now on").tells("a  open  by initializer  test -f a");
}

#[test]
fn a_project_that_needs_no_init_script_gets_past_its_initializer() {
    let features =
        call("add_features", json!({ "features": [{ "id": "a", "title": "a", "check": { "run": "test -f a" } }] }));
    let initializer = session([reply([features]), reply([hand_over()]), reply([hand_over()])]);
    let project = Project::new().model([initializer, makes("a")]);
    project.write("../SPEC.md", "# Something small\n");

    project.run(["init", "--spec", "../SPEC.md"]).exits(0).hides("not finished");
    project.run(["run"]).exits(0);

    assert!(project.memory_git(["show", "HEAD:init.md"]).contains("this project needs none"));
}

#[test]
fn an_init_script_that_is_not_executable_is_run_told_once_and_noted() {
    let project = Project::ready();
    project.write("init.sh", "#!/bin/sh\ntouch started\n");
    project.write(".gitignore", "started\n");
    project.git(["add", "init.sh", ".gitignore"]);
    project.git(["commit", "-qm", "script"]);
    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
    let project = ["a", "b", "c"]
        .into_iter()
        .fold(project, |project, id| project.feature(id, &format!("test -f {id}")))
        .model(["a", "b", "c"].map(makes));
    let one = ["run", "--sessions", "1"];
    let noted = || project.memory_git(["show", "HEAD:init.md"]);

    let told =
        "the init script `init.sh`: it is not executable, so `sh` runs it, whatever its first line says: `chmod +x";
    project.run(one).exits(3).tells(told);
    assert!(project.root().join("started").exists());
    assert!(noted().contains("session 1; it is not executable, so `sh` runs it"), "{}", noted());
    assert!(project.played().requests()[0].to_string().contains("it is not executable"), "the agent knows too");
    project.run(one).exits(3).hides(told);

    project.git(["update-index", "--chmod=+x", "init.sh"]);
    project.git(["checkout", "-q", "--", "init.sh"]);
    project.git(["commit", "-qm", "executable"]);
    project.run(one).exits(0).hides(told);
    assert!(noted().contains("session 3") && !noted().contains("not executable"), "{}", noted());
}

#[test]
fn the_init_script_installs_once_and_starts_before_each_session() {
    let script = "#!/bin/sh\necho \"$LONGHAUL_PHASE\" >> phases\n[ ! -f broken ]\n";
    let project = Project::ready();
    project.write("init.sh", script);
    project.write(".gitignore", "phases\nbroken\n");
    project.write("Cargo.lock", "");
    project.write("broken", "");
    project.git(["add", "init.sh", ".gitignore", "Cargo.lock"]);
    project.git(["commit", "-qm", "script"]);
    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
    let project = project.feature("a", "test -f a").feature("b", "test -f b").model([
        session([reply([bash("rm broken")]), reply([hand_over()])]),
        makes("a"),
        makes("b"),
    ]);
    project.run(["run"]).exits(0).tells("installing: the init script `init.sh` failed with exit code 1");
    // The first time it failed; the second time it did not, and the third time it was not needed.
    assert_eq!(project.read("phases"), "install\nstart\ninstall\nstart\nstart\n");
}
