//! Family F: hooks, the place of the gate, tampering.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

/// F03: a hard kill meant that the session-end hook never ran.
#[test]
fn f03_a_killed_session_still_gets_its_progress_entry() {
    let silent = json!({ "silence": "60s" });
    let project = Project::ready().feature("f", "test -f f").model([
        session([reply([bash("echo half > half.txt")]), silent]),
        session([reply([bash("touch f")]), reply([hand_over()])]),
    ]);
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();

    project.run(["run"]).exits(0).tells("session 1 was interrupted");

    let progress = project.memory_git(["show", "HEAD:progress.md"]);
    assert!(progress.contains("## Session 1 ") && progress.contains("interrupted"), "{progress}");
    assert!(progress.contains("## Session 2 "), "{progress}");
    assert_eq!(project.git(["log", "--format=%s", "--reverse"]), "first\nwip(session 1, interrupted)\nwip(session 2)");
    assert_eq!(project.read("half.txt"), "half\n");
}

/// F05: the state of a loop blocked every other session in the project.
#[test]
fn f05_a_run_leaves_everybody_else_in_the_project_alone() {
    let silent = json!({ "silence": "60s" });
    let project = Project::ready().feature("f", "test -f f");
    let config = project.read(".git/config");
    let hooks = |project: &Project| std::fs::read_dir(project.root().join(".git/hooks")).unwrap().count();
    let before = hooks(&project);
    let project = project.model([session([silent]), session([reply([bash("touch f")]), reply([hand_over()])])]);
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();

    // A person who works there meanwhile meets no hook, no lock and no changed setting.
    project.write("mine", "mine\n");
    project.git(["add", "mine"]);
    project.git(["commit", "-qm", "mine"]);
    project.git(["status"]);
    for args in [vec!["status"], vec!["log"], vec!["show", "f"], vec!["memory", "view", "/memories"]] {
        project.run(args).exits(0);
    }
    assert_eq!(project.read(".git/config"), config);
    assert_eq!(hooks(&project), before);
    // Another project has a run of its own.
    let other =
        Project::ready().feature("g", "test -f g").model([session([reply([bash("touch g")]), reply([hand_over()])])]);
    other.run(["run"]).exits(0);

    child.kill().unwrap();
    child.wait().unwrap();
    project.run(["run"]).exits(0);
    assert_eq!(project.read("mine"), "mine\n");
}

/// F07: the agent could edit the hook settings that guard it.
#[test]
fn f07_settings_and_hooks_that_the_agent_plants_have_no_effect() {
    let plant = "printf '[run]\\nfinal_sweep = true\\n[hooks]\\nsession_end = [\"touch ../planted\"]\\n' > longhaul.toml; \
        printf '#!/bin/sh\\ntouch ../planted\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; \
        cp .git/hooks/pre-commit .git/hooks/post-commit; touch work";
    let project =
        Project::ready().feature("f", "test -f f").model([session([reply([bash(plant)]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).exits(3);

    assert!(!project.root().join("../planted").exists());
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "wip(session 1)");
}

/// F07 once more, for the checklist and the checks in the view.
#[test]
fn f07_a_check_that_the_agent_replaces_by_shell_is_put_back_and_the_session_proves_nothing() {
    let cheat = "printf 'exit 0\\n' > .longhaul/memory/checks/f.sh; sed -i 's/false/true/' .longhaul/memory/features.json; touch f";
    let project = Project::ready();
    project.run(["memory", "create", "/memories/checks/f.sh", "test -f f\n"]).exits(0);
    let project = project
        .feature("f", "sh \"$LONGHAUL_CHECKS/f.sh\"")
        .model([session([reply([bash(cheat)]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).tells("proves nothing");

    assert_eq!(std::fs::read_to_string(project.view().join("checks/f.sh")).unwrap(), "test -f f\n");
    assert!(project.played().results_in(2).contains("features.json"), "{}", project.played().results_in(2));
    assert!(
        project.memory_log().iter().any(|subject| subject.starts_with("gate: f not proven")),
        "{:?}",
        project.memory_log()
    );
}
