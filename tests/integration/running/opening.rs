//! The session's opening: an init script may do what it likes, and holds up nobody.
//!
//! A question on the terminal is what any command may ask: `custody/terminal.rs` of the promises has it.

use super::makes;
use crate::support::Project;
use crate::support::Run;
use crate::support::bash;
use crate::support::call;
use crate::support::ends;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::time::Duration;
use std::time::Instant;

/// A project whose init script is this; not executable, as most are.
fn opens_with(script: &str) -> Project {
    let project = Project::ready();
    project.write("init.sh", script);
    project.git(["add", "init.sh"]);
    project.git(["commit", "-qm", "script"]);
    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
    project.feature("a", "test -f a")
}

/// Holds a session after it, which has to come to its end in time.
fn opened(project: &Project) -> Run {
    let start = Instant::now();
    let run = project.run(["run", "--set", "run.init_timeout=1s"]);
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    run.exits(0);
    run
}

/// What the model saw of it in the first message.
fn first_message(project: &Project) -> String {
    let request = &project.played().requests()[0];
    request["messages"][0]["content"].as_array().unwrap().iter().map(Value::to_string).collect()
}

#[test]
fn a_script_that_asks_that_hangs_or_that_prints_for_ever_is_told_and_holds_up_nothing() {
    let limit = "was stopped by its limit, after ";
    for (script, told, noted) in [
        ("read answer || exit 7", "failed with exit code 7", "exit code 7 after 0."),
        ("cat >/dev/null; read answer; exit 7", "failed with exit code 7", "exit code 7 after 0."),
        ("sudo -S true 2>/dev/null || exit 7", "failed with exit code 7", "exit code 7 after 0."),
        ("echo up; sleep 300.0707", limit, "timed out after "),
        ("trap '' TERM; while :; do sleep 300.0707; done", limit, "timed out after "),
        ("yes", limit, "timed out after "),
    ] {
        let project = opens_with(script).model([makes("a")]);

        let run = opened(&project);

        run.tells(&format!("installing: the init script `init.sh` {told}"));
        assert!(run.stderr.lines().any(|line| line.contains(told) && !line.contains("installing")), "{}", run.whole());
        let seen = first_message(&project);
        assert!(seen.contains(told) && seen.len() < 60_000, "{script}: {} bytes\n{seen:.2000}", seen.len());
        let kept = project.memory_git(["show", "HEAD:init.md"]);
        assert!(kept.contains(noted) && kept.contains("session 1"), "{script}: {kept}");
        let all = std::process::Command::new("ps").args(["-eo", "args"]).output().unwrap();
        assert!(!String::from_utf8_lossy(&all.stdout).contains("sleep 300.0707"), "{script}");
    }
}

#[test]
fn a_script_that_is_not_executable_runs_and_its_time_is_noted() {
    let project = opens_with("#!/bin/sh\necho \"$LONGHAUL_PHASE is done\"\n").model([makes("a")]);

    opened(&project).hides("the init script `init.sh` failed");

    assert!(first_message(&project).contains("start is done"));
    let kept = project.memory_git(["show", "HEAD:init.md"]);
    assert!(kept.contains("exit code 0 after 0."), "{kept}");
}

#[test]
fn servers_of_the_script_live_as_long_as_the_session_and_hold_up_nothing() {
    // The first keeps the script's output open, the second leaves its group and its session.
    let script = "[ \"$LONGHAUL_PHASE\" = start ] || exit 0
        sleep 300 & echo $! >../server; setsid sleep 300 >/dev/null 2>&1 & echo $! >../daemon; echo up\n";
    let alive = "kill -0 $(cat ../server) && kill -0 $(cat ../daemon) && touch a";
    let project = opens_with(script).model([session([reply([bash(alive)]), reply([hand_over()])])]);

    let run = opened(&project);

    run.shows("ended with the session");
    for server in ["../server", "../daemon"] {
        assert!(ends(&project.read(server)), "{server}");
    }
}

#[test]
fn of_two_phases_that_fail_the_user_and_the_agent_see_which() {
    let project =
        opens_with("echo \"no $LONGHAUL_PHASE today\"; [ \"$LONGHAUL_PHASE\" = install ] && exit 3; exit 4\n")
            .model([makes("a")]);

    let run = opened(&project);

    run.tells("installing: the init script `init.sh` failed with exit code 3");
    run.tells("the init script `init.sh` failed with exit code 4");
    let seen = first_message(&project);
    assert!(seen.contains("no install today") && seen.contains("no start today"), "{seen}");
}

#[test]
fn the_tool_that_runs_it_again_has_the_same_limit_and_what_a_failed_one_printed_is_told() {
    let script = "[ -e ../again ] && sleep 300; touch ../again; echo no port free >&2; exit 3";
    let project =
        opens_with(script).model([session([reply([call("setup", json!({})), bash("touch a")]), reply([hand_over()])])]);
    let start = Instant::now();

    let run = project.run(["run", "--set", "run.init_timeout=2s"]);

    run.exits(0).tells("failed with exit code 3").tells("no port free");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert!(project.played().results_in(2).contains("was stopped by its limit, after 2."));
}
