//! What checks rest on without naming it: a change is listed with the result, and refuses a pass only with `gate.strict`.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

/// A project with an init script of another name than is usual, and with a test runner that is committed.
fn with_setup_and_runner(cheat: &str) -> Project {
    let project = Project::new();
    project.write("scripts/boot", "test -f a\n");
    project.write("node_modules/.bin/jest", "#!/bin/sh\ntest -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "setup"]);
    project.run(["init"]).exits(0);
    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `scripts/boot`"]).exits(0);
    let feature = r#"[{"id": "a", "title": "a", "check": {"run": "sh node_modules/.bin/jest", "setup": "init"}}]"#;
    project.run_with(["feature", "add", "-"], feature).exits(0);
    project.model([session([reply([bash(cheat)]), reply([hand_over()])])])
}

#[test]
fn the_init_script_by_its_own_name_and_a_committed_runner_are_compared_with_the_approved() {
    let cheat = "echo true > scripts/boot; echo true > node_modules/.bin/jest";
    let changed = json!(["node_modules/", "scripts/boot"]);

    let project = with_setup_and_runner(cheat);
    let told = "check a: changed since approval, and loaded by tools by themselves: node_modules/, scripts/boot";
    project.run(["run"]).exits(0).tells(told);
    assert_eq!(project.stored("a")["evidence"]["soft"], changed);
    project.run(["show", "a"]).prints("loaded by tools by themselves: node_modules/, scripts/boot");

    let project = with_setup_and_runner(cheat).variable("LONGHAUL_GATE_STRICT", "true");
    project.run(["run", "--sessions", "1"]).exits(3).tells("`node_modules/`, `scripts/boot`");
    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "check changed");

    // Honest work changes neither.
    let project = with_setup_and_runner("touch a").variable("LONGHAUL_GATE_STRICT", "true");
    project.run(["run"]).exits(0);
    assert_eq!(project.stored("a")["evidence"]["soft"], json!([]));
}
