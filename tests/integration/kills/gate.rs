//! While longhaul itself works: checks, the entry, hooks, sweeps, `init`.

use super::STOP;
use super::entry_of;
use super::goes_on;
use super::kill;
use super::kill_at_the_pipe;
use super::makes;
use crate::support::PATIENCE;
use crate::support::Project;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Instant;

#[test]
fn during_the_check_of_the_gate_the_feature_is_judged_by_the_next_run() {
    let project = Project::ready().in_place().feature("a", &format!("test -f a || exit 1; {STOP}")).model([makes("a")]);
    kill_at_the_pipe(&project, ["run"]);
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "wip(session 1)");

    goes_on(&project, 1).tells("session 1 was interrupted").tells("a is proven without a session");

    assert_eq!(project.stored("a")["attempts"], 0);
    assert!(entry_of(&project, 1).contains("check not run"), "{}", entry_of(&project, 1));
}

#[test]
fn between_the_verdict_and_the_entry_the_verdict_stands_and_the_entry_says_so() {
    let first = format!("test -f a || exit 1; test ! -e b || {{ {STOP}; }}");
    let project =
        Project::ready().in_place().feature("a", &first).feature("b", "test -f b").model([makes("a"), makes("b")]);
    // The sweep after session 2 runs the check of session 1 again.
    kill_at_the_pipe(&project, ["run"]);
    assert_eq!(project.memory_log()[..2], ["gate: prove b", "progress: session 1"]);

    goes_on(&project, 2).tells("session 2 was interrupted");

    let entry = entry_of(&project, 2);
    assert!(entry.contains("- feature: b, recorded before the end: gate: prove b\n"), "{entry}");
    assert_eq!(["a", "b"].map(|id| project.status(id)), ["proven", "proven"]);
}

#[test]
fn during_the_users_hook_the_entry_is_there_and_is_not_written_twice() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    let settings = project.home().join(".config/longhaul");
    fs::create_dir_all(&settings).unwrap();
    let stop = STOP.replace("sleep 60", "exec sleep 1");
    fs::write(settings.join("config.toml"), format!("[hooks]\nsession_end = [\"{stop}\"]\n")).unwrap();
    kill_at_the_pipe(&project, ["run"]);
    let entry = entry_of(&project, 1);

    goes_on(&project, 1).tells("session 1 was interrupted");

    assert_eq!(entry_of(&project, 1), entry);
    assert_eq!(project.memory_log()[..2], ["progress: session 1", "gate: prove a"]);
}

#[test]
fn during_the_final_sweep_no_session_is_lost_and_the_sweep_is_held_again() {
    let check = format!("test -f a || exit 1; test ! -e c || {{ {STOP}; }}");
    let project = Project::ready().in_place().feature("a", &check).model([makes("a")]);
    project.run(["run"]).exits(0);
    project.write("c", "");
    project.git(["add", "c"]);
    project.git(["commit", "-qm", "by hand"]);
    assert_eq!(project.status("a"), "stale");
    kill_at_the_pipe(&project, ["run"]);

    goes_on(&project, 1).hides("was interrupted").tells("final sweep");

    assert_eq!(project.status("a"), "proven");
}

#[test]
fn during_a_baseline_the_feature_is_there_and_the_next_run_makes_up_for_it() {
    let project = Project::ready().in_place();
    let check = format!("{STOP}; test -f a");
    kill_at_the_pipe(&project, ["feature", "add", "--id", "a", "--title", "a", "--check", &check]);
    assert_eq!(project.stored("a")["baseline"], Value::Null);
    assert_eq!(project.memory_log()[0], "checklist: add a");

    let project = project.model([makes("a")]);
    goes_on(&project, 1);

    assert_eq!(project.stored("a")["baseline"]["verdict"], "failed");
}

/// T36: within `init`.
#[test]
fn during_init_the_next_one_finishes_it() {
    for commits in 0..4 {
        let project = Project::new();
        let child = project.start(["init"]);
        wait_for_commits(&project, commits);
        kill(child);

        project.run(["init"]).exits(0);

        let mut log = project.memory_log();
        log.reverse();
        let seeds = ["the index", "the progress log", "the checklist", "the init-script reference"];
        assert_eq!(log, seeds.map(|seed| format!("init: {seed}")));
        assert_eq!(project.memory_git(["fsck", "--strict"]), "");
        let left: Vec<_> = fs::read_dir(project.state()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("new")), "{left:?}");
        project.run(["status"]).exits(0);
    }
}

/// Waits until the memory is being made, or has so many commits.
fn wait_for_commits(project: &Project, commits: usize) {
    let memory = project.state().join("memory.git");
    // Asked for as a number: who looks at the branch alone may be too slow to see each.
    let count = || {
        let output = Command::new("git").arg("--git-dir").arg(&memory).args(["rev-list", "--count", "main"]).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().parse().unwrap_or(0)
    };
    let start = Instant::now();
    while !project.state().exists() || commits > 0 && count() < commits {
        assert!(start.elapsed() < PATIENCE, "only {} commits", count());
        std::thread::yield_now();
    }
}
