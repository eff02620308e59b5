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
