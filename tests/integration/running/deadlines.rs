//! Limits in time: whatever runs when one is reached is ended, and the next run goes on.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::time::Duration;
use std::time::Instant;

#[test]
fn the_time_in_which_a_killed_run_heard_nothing_binds_the_next_one() {
    let long = session([reply([bash("touch half; sleep 60")])]);
    let project = Project::ready().feature("a", "test -f a").model([long]);
    let mut child = project.start(["run"]);
    let begun = Instant::now();
    while !project.root().join("half").exists() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The command runs on, and no event comes.
    std::thread::sleep(Duration::from_secs(4));
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = fs::read(project.state().join("spent.json")).unwrap();
    let since = fs::read(project.state().join("spent.since")).unwrap();

    let of_session = ["run", "--continue", "--sessions", "1", "--set", "budget.session_time=3s"];
    project.run(of_session).exits(3).tells("the session's time budget of 3s is used up");
    for (limits, told) in [
        (["--time", "3s"], "the time budget of 3s is used up"),
        (["--set", "budget.feature_time=3s"], "the feature's time budget of 3s is used up"),
    ] {
        fs::write(project.state().join("spent.json"), &killed).unwrap();
        fs::write(project.state().join("spent.since"), &since).unwrap();
        let run = project.run([&["run"][..], &limits].concat());
        run.exits(3).tells("goes on with what the killed run had used: 1 session, ").tells(told);
    }
    assert_eq!(project.played().requests().len(), 1, "no limit left time for another request");

    let books: Value = serde_json::from_slice(&killed).unwrap();
    let counted = books["run"]["time"]["secs"].as_u64().unwrap();
    assert!(counted < 3, "the command is not in the account itself: {books}");
}

#[test]
fn a_time_limit_ends_the_run_before_the_next_request() {
    let slow = session([reply([bash("sleep 0.4")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([slow]);

    project.run(["run", "--time", "0.3s"]).exits(3).tells("the time budget of 0.3s is used up");

    assert!(project.played().requests().len() <= 1);
}

#[test]
fn a_time_limit_cuts_a_reply_that_streams_on_and_no_attempt_is_lost() {
    let mut slow = reply([bash("touch a")]);
    slow["silence"] = json!("60s");
    for (limit, words, code) in [
        (["--time", "4s"], "the time budget of 4s is used up", 3),
        (["--set", "budget.session_time=4s"], "the session's time budget of 4s is used up", 0),
    ] {
        let next = session([reply([bash("echo next >a")]), reply([hand_over()])]);
        let project = Project::ready().feature("a", "test \"$(cat a)\" = next").model([session([slow.clone()]), next]);
        let start = Instant::now();

        project.run(["run", limit[0], limit[1]]).exits(code).tells(words);

        assert!(start.elapsed() < Duration::from_secs(45), "{:?}", start.elapsed());
        let events = project.events(1);
        assert!(events.iter().all(|event| event["type"] != "replied" && event["type"] != "tool_started"), "{events:?}");
        assert_eq!(project.stored("a")["attempts"], 0);
        project.run(["run"]).exits(0);
        assert_eq!(project.played().rejected(), Vec::<String>::new());
    }
}

#[test]
fn a_time_limit_ends_a_command_that_runs_on() {
    let slow = session([reply([bash("sleep 300")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([slow]);
    let start = Instant::now();

    project.run(["run", "--time", "3s"]).exits(3).tells("the time budget of 3s is used up");

    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let results = project.events(1);
    assert!(
        results.iter().any(|event| event.to_string().contains("stopped, since a budget of time was used up")),
        "{results:?}"
    );
}

/// Runs with 4 seconds, in which the one feature stays open, and then without a limit.
fn out_of_time_and_on(project: &Project, args: &[&str], told: &str) {
    let start = Instant::now();
    let run = project.run([&["run", "--time", "4s"][..], args].concat());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    run.exits(3).tells("the time budget of 4s is used up, 1 feature open").tells(told);
    assert_eq!((project.stored("a")["attempts"].clone(), project.status("a").as_str()), (json!(0), "open"));
    project.write("quick", "");
    project.git(["add", "quick"]);
    project.git(["commit", "-qm", "quick"]);
    project.run(["run"]).exits(0);
    assert_eq!(project.played().rejected(), Vec::<String>::new());
}

#[test]
fn a_time_limit_cuts_the_check_at_the_end_of_a_session() {
    let check = "test -f a && { test -f quick || sleep 300; }";
    let project = Project::ready().feature("a", check).model([makes("a")]);

    out_of_time_and_on(&project, &[], "check a: out of time");

    let verdicts = project.events(1);
    let verdict = verdicts.iter().find(|event| event["type"] == "check_ended").unwrap();
    assert_eq!(verdict["finding"], "out of time");
    assert_eq!(project.stored("a")["last_verdict"], Value::Null, "nothing follows from it");
}

#[test]
fn a_time_limit_cuts_the_check_that_the_agent_calls() {
    let checks = reply([bash("touch a"), call("check", json!({}))]);
    let check = "test -f a && { test -f quick || sleep 300; }";
    let project = Project::ready().feature("a", check).model([session([checks])]);

    out_of_time_and_on(&project, &[], "the time budget of 4s is used up");

    let told = project.events(1);
    let told = told.iter().find(|event| event["type"] == "tool_ended" && event["name"] == "check").unwrap();
    assert!(told["content"].as_str().unwrap().starts_with("out of time: after "), "{told}");
}

#[test]
fn a_time_limit_cuts_the_first_run_of_a_check() {
    let project = Project::ready().model([makes("a")]);
    for text in ["one", "two"] {
        project.write("text", text);
        project.git(["add", "text"]);
        if text == "one" {
            project.git(["commit", "-qm", text]);
        }
    }
    let project = project.feature("a", "test -f quick || sleep 300; test -f a");
    project.git(["commit", "-qm", "two"]);

    out_of_time_and_on(&project, &[], "check a: out of time");

    assert_eq!(project.played().requests().len(), 2, "both of the second run");
}

#[test]
fn a_time_limit_cuts_installing_before_a_check() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    let prepare = "gate.prepare=test -f quick || sleep 300";

    out_of_time_and_on(&project, &["--set", prepare], "check a: out of time");
}

#[test]
fn a_time_limit_cuts_the_init_script_and_no_request_is_made() {
    for phase in ["install", "start"] {
        let project = Project::ready().feature("a", "test -f a");
        let script = format!("#!/bin/sh\ntest -f quick || test $LONGHAUL_PHASE != {phase} || sleep 300\n");
        project.write("init.sh", &script);
        project.git(["add", "init.sh"]);
        project.git(["commit", "-qm", "script"]);
        project.run(["memory", "delete", "init.md"]).exits(0);
        project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
        let project = project.model([makes("a")]);

        out_of_time_and_on(&project, &[], "since a budget of time was used up");

        assert_eq!(project.played().requests().len(), 2, "both of the second run");
    }
}

#[test]
fn a_time_limit_cuts_the_final_sweep_and_the_next_run_ends_it() {
    let slow = "test -f a && { test ! -f b || test -f quick || sleep 300; }";
    let project = Project::ready().feature("a", slow).feature("b", "test -f b").model([makes("a"), makes("b")]);
    let start = Instant::now();

    // Only the last sweep has the time to look at it.
    let run = project.run(["run", "--time", "15s", "--set", "run.sweep_budget=0s"]);

    run.exits(3).tells("the time budget of 15s is used up before the final sweep had looked at: a");
    assert!(start.elapsed() < Duration::from_secs(90), "{:?}", start.elapsed());
    assert_eq!(project.status("b"), "proven");
    assert_ne!(project.status("a"), "regressed");
}
