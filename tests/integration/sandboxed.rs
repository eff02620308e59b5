//! What holds the agent's commands with bubblewrap, seen through whole runs.

use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

/// Plays these commands in one session and returns what the agent was told of each.
fn told(project: &Project) -> Vec<String> {
    project.run(["run", "--sessions", "1"]);
    let ended = project.events(1).into_iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_is_not_the_agents_cannot_be_written_or_is_not_there() {
    let attempts = [
        "echo x > .longhaul/memory/features.json",
        "mv .longhaul away",
        "mv .git away",
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/longhaul/x",
        "touch /usr/bin/x",
        "echo x > /proc/sys/kernel/core_pattern",
    ];
    let calls = attempts.map(bash);
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply(calls),
        reply([bash(
            "ls -A .git/longhaul; ls -A ~; touch mine; git add mine; git commit -qm mine; git log -1 --format=%s",
        )]),
        reply([hand_over()]),
    ])]);
    let told = told(&project);
    for (attempt, result) in attempts.iter().zip(&told) {
        assert!(result.contains("[exit code 1]"), "{attempt}: {result}");
    }
    assert_eq!(told[attempts.len()], "sessions\nmine\n[exit code 0]");
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "mine");
}

#[test]
fn a_server_is_there_for_the_next_command_and_gone_with_the_session() {
    let up =
        "python3 -m http.server 8123 >/dev/null 2>&1 & sleep 300 & setsid -f sleep 301; env -i setsid -f sleep 302";
    let asks = "for i in 1 2 3 4 5 6 7 8 9; do python3 -c 'import urllib.request as u; \
                print(u.urlopen(\"http://127.0.0.1:8123/\").status)' 2>/dev/null && break; sleep 0.3; done";
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash(up)]),
        reply([bash(asks)]),
        reply([hand_over()]),
    ])]);
    let told = told(&project);
    assert_eq!(told[1], "200\n[exit code 0]");
    let all = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
    let all = String::from_utf8_lossy(&all.stdout).into_owned();
    assert!(!all.contains("http.server 8123") && !all.contains("sleep 302"), "{all}");
}

#[test]
fn the_editor_follows_no_link_out_of_the_project() {
    let project = Project::ready().sandboxed().feature("a", "test -f a");
    let outside = project.home().join("secret");
    std::fs::write(&outside, "secret\n").unwrap();
    let link = format!("ln -s '{}' link; ln -s .git/hooks hooks", outside.display());
    let view = call("str_replace_based_edit_tool", json!({"command": "view", "path": "link"}));
    let plant =
        call("str_replace_based_edit_tool", json!({"command": "create", "path": "hooks/pre-commit", "file_text": "x"}));
    let write = call("str_replace_based_edit_tool", json!({"command": "create", "path": "a", "file_text": "x\n"}));
    let project = project.model([session([reply([bash(&link), view, plant, write]), reply([hand_over()])])]);
    let told = told(&project);
    assert!(!told[1].contains("secret\n"), "{}", told[1]);
    assert!(told[2].contains("cannot") || told[2].contains("git's own"), "{}", told[2]);
    assert_eq!(project.read("a"), "x\n");
}

#[test]
fn settings_of_git_that_are_turned_off_stay_off_inside() {
    let project = Project::ready().sandboxed().variable("GIT_CONFIG_GLOBAL", "/dev/null").feature("a", "test -f a");
    let project = project.model([session([reply([bash("echo > /dev/null && touch a")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).prints("done: 1 feature proven");
}
