//! Budgets, attempts, the breaker: when a run stops with features open.

use super::makes;
use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::say;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::time::Duration;
use std::time::Instant;

#[test]
fn a_feature_is_blocked_after_its_attempts_and_the_others_go_on() {
    let fails = || session([reply([bash("date +%N > attempt")]), reply([hand_over()])]);
    let project = Project::ready().feature("hard", "test -f never").feature("easy", "test -f easy").model([
        fails(),
        fails(),
        fails(),
        makes("easy"),
    ]);

    project
        .run(["run"])
        .exits(4)
        .tells("hard is blocked: 3 attempts did not prove it")
        .tells("longhaul feature reopen hard");

    assert_eq!(["hard", "easy"].map(|id| project.status(id)), ["blocked", "proven"]);
    project.run(["feature", "reopen", "hard"]).exits(0);
    assert_eq!(project.status("hard"), "open");
}

/// A check that printed nothing had no way to fail that could be told from others, and such sessions went on for ever.
#[test]
fn sessions_that_do_nothing_block_a_feature_also_where_its_check_says_nothing() {
    let idle = || session([reply([bash("true")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b").model((0..6).map(|_| idle()));

    let run = project.run(["run", "--set", "run.attempts=50", "--sessions", "6"]);

    run.exits(4).tells("a is blocked after 3 attempts");
    assert_eq!(project.stored("a")["attempts"], 3);
    assert!(!project.state().join("sessions/0005").exists());
}

#[test]
fn a_blocked_feature_that_works_meanwhile_is_proven_before_the_run_gives_up() {
    let idle = || session([reply([bash("date +%N > attempt")]), reply([hand_over()])]);
    let both = session([reply([bash("touch easy hard")]), reply([hand_over()])]);
    let project = Project::ready().feature("hard", "test -f hard").feature("easy", "test -f easy").model([
        idle(),
        idle(),
        idle(),
        both,
    ]);

    project.run(["run"]).exits(0).tells("hard is blocked after 3 attempts").tells("hard is proven without a session");
}

/// A session that the model refuses, at once or after some work.
fn refuses(work: Option<&str>) -> Value {
    let work = work.map(|command| reply([bash(command)]));
    session(work.into_iter().chain([json!({ "text": "no", "stop_reason": "refusal" })]))
}

#[test]
fn a_feature_that_the_model_refuses_twice_waits_for_other_words_and_the_others_go_on() {
    let project = Project::ready().feature("bad", "test -f bad").feature("good", "test -f good").model([
        refuses(None),
        refuses(None),
        makes("good"),
        refuses(None),
        makes("bad"),
    ]);

    let run = project.run(["run"]);

    run.exits(4).tells(
        "bad is blocked: the model refused twice in a row to go on: no reason given; `longhaul feature edit bad`",
    );
    run.tells("`agent.model` names another model; then `longhaul feature reopen bad`");
    assert_eq!(["bad", "good"].map(|id| project.status(id)), ["blocked", "proven"]);
    assert_eq!(project.stored("bad")["attempts"], 0, "it is no attempt");
    project.run(["show", "bad"]).prints("refusal: no reason given").prints("blocked: the model refused twice in a row");

    project.run(["feature", "reopen", "bad"]).exits(0);
    assert_eq!(project.stored("bad")["refused"], Value::Null);
    project.run(["run"]).exits(0);
    assert_eq!(project.stored("bad")["refused"], Value::Null, "one refusal by chance sets nothing aside");
}

#[test]
fn refusals_on_several_features_stop_the_run_and_are_named_at_its_end() {
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b").model([
        refuses(None),
        refuses(None),
        refuses(None),
    ]);

    let run = project.run(["run"]);

    run.exits(4).tells("3 sessions in a row ended before they changed anything, the last: the model refused to go on");
    run.tells("`longhaul feature edit FEATURE` changes the words");
}

#[test]
fn a_refusal_after_work_is_an_attempt_and_is_named_when_they_are_used_up() {
    let works = || refuses(Some("date +%N >work"));
    let project = Project::ready().feature("a", "test -f a").model([works(), works(), works()]);

    let run = project.run(["run"]);

    run.exits(4).tells("3 attempts did not prove it; in the newest the model refused to go on: no reason given");
    assert_eq!(project.stored("a")["attempts"], 3);
}

#[test]
fn a_reason_to_stop_that_nobody_knows_is_the_services_fault() {
    let mut odd = reply([bash("touch a")]);
    odd["stop_reason"] = json!("novelty");
    let odd = || session([odd.clone()]);
    let project = Project::ready().feature("a", "test -f a").model([odd(), odd(), odd()]);

    let run = project.run(["run"]);

    run.exits(5).tells("3 sessions in a row ended before they changed anything").tells("an unknown reason `novelty`");
    run.tells("see that `[provider] base_url`");
    assert_eq!((project.stored("a")["attempts"].clone(), project.root().join("a").exists()), (json!(0), false));
}

#[test]
fn sessions_that_change_nothing_trip_the_breaker() {
    let idle = || session([say("I am done")]);
    let project = Project::ready().feature("a", "test -f a").model([idle(), idle(), idle(), idle()]);

    let run = project.run(["run", "--set", "run.attempts=9"]);

    run.exits(4).tells("3 sessions in a row");
}

#[test]
fn attempts_that_fail_the_same_way_block_a_feature_before_they_are_used_up() {
    let check = "echo \"$(date +%s%N) at $TMPDIR/x: wrong\"; test -f never";
    let fails = || session([reply([bash("date +%N > attempt")]), reply([hand_over()])]);
    let project = Project::ready().feature("hard", check).model([fails(), fails(), fails()]);

    project
        .run(["run", "--set", "run.attempts=9"])
        .exits(4)
        .tells("hard is blocked: 3 attempts in a row failed in the same");

    assert_eq!(project.stored("hard")["attempts"], 3);
    assert_eq!(project.stored("hard")["last_verdict"]["equal"], 3);
}

#[test]
fn one_attempt_and_one_session_are_told_as_one() {
    let project = Project::ready().feature("hard", "test -f never").model([makes("other")]);
    let run = project.run(["run", "--set", "run.attempts=1"]);
    run.exits(4).tells("hard is blocked after 1 attempt;").tells("hard is blocked: 1 attempt did not prove it");

    let project = Project::ready().feature("a", "test -f a").model([session([say("I am done")])]);
    project.run(["run", "--set", "run.breaker=1"]).exits(4).tells("1 session in a row proved nothing");

    project.run(["doctor"]).prints("1 check starts no program");
    project.feature("b", "test -f b").run(["doctor"]).prints("2 checks start no program");
}

#[test]
fn attempts_that_fail_differently_are_all_made() {
    let check = "cat attempt; test -f never";
    let fails = |said: &str| session([reply([bash(&format!("echo {said} > attempt"))]), reply([hand_over()])]);
    let sessions = ["no page", "no form", "no button", "no answer"].map(fails);
    let project = Project::ready().feature("hard", check).model(sessions);

    project.run(["run", "--set", "run.attempts=4"]).exits(4).tells("hard is blocked: 4 attempts did not prove it");
}

#[test]
fn a_tool_that_every_check_misses_stops_the_run_before_all_features_are_tried() {
    let fails = || session([reply([bash("date +%N > attempt")]), reply([hand_over()])]);
    let project = ["a", "b", "c"]
        .into_iter()
        .fold(Project::ready(), |project, id| project.feature(id, &format!("no-such-tool {id}")))
        .model((0..9).map(|_| fails()));

    let run = project.run(["run"]);

    run.exits(4).tells("4 sessions in a row failed in the same way, on a, b, and proved nothing").tells("no-such-tool");
    assert_eq!(project.events(4).last().unwrap()["type"], "session_ended");
    assert!(!project.state().join("sessions/0005").exists());
}

#[test]
fn a_budget_in_tokens_ends_the_run_with_the_features_open() {
    let long = session([reply([bash("true")]), reply([bash("true")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([long]);

    project.run(["run", "--tokens", "1"]).exits(3).tells("tokens");

    assert_eq!(project.played().requests().len(), 1);
    assert_eq!(project.stored("a")["attempts"], 0);
}

#[test]
fn a_budget_in_dollars_binds_once_the_price_is_known() {
    let long = session([reply([bash("true")]), reply([bash("true")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([long]);
    let config = project.home().join(".config/longhaul");
    std::fs::create_dir_all(&config).unwrap();
    let prices = "[prices.\"claude-opus-5-5\"]\ninput = 5.0\noutput = 25.0\ncache_write = 6.25\ncache_read = 0.5\n";
    std::fs::write(config.join("config.toml"), prices).unwrap();

    let run = project.run(["run", "--budget", "0.001"]);

    run.exits(3).tells("the budget of 0.001 USD is used up").tells("1 feature open").tells(" USD · nearest limit");
    assert_eq!(project.played().requests().len(), 1);
    let cost = project.events(1).iter().find(|event| event["type"] == "replied").unwrap()["cost"].as_f64().unwrap();
    assert!(cost > 0.001, "{cost}");
    let progress = project.memory_git(["show", "HEAD:progress.md"]);
    assert!(progress.contains(" USD, "), "{progress}");
}

#[test]
fn a_model_of_the_table_has_a_price_and_another_one_has_none() {
    let idle = || session([say("I stop")]);
    let project = Project::ready().feature("a", "test -f a").model([idle(), idle()]);

    project.run(["run", "--sessions", "1"]).tells("limits: 20 USD · 8h").tells(" USD · nearest limit");
    let run = project.run(["run", "--sessions", "1", "--set", "agent.model=mine"]);
    run.tells("limits: cost unknown (no price for this model), so tokens bind · 20,000,000 tokens")
        .tells("cost unknown");
}

#[test]
fn a_sessions_budget_ends_the_session_and_not_the_run() {
    let long = session([reply([bash("touch half")]), reply([bash("true")])]);
    let project = Project::ready().feature("a", "test -f a").model([long, makes("a")]);

    let run = project.run(["run", "--set", "budget.session_tokens=1", "--sessions", "2"]);

    run.exits(0).tells("session 1 ended: the session's budget of 1 token is used up").tells("session 2 · a");
    let limited = project.events(1).iter().find(|event| event["type"] == "check_ended").unwrap()["finding"].clone();
    assert_eq!(limited, "failed", "its check runs all the same");
    assert_eq!(project.played().requests().len(), 2);
}

#[test]
fn a_features_budget_lets_others_go_on_and_a_larger_one_goes_on_with_it() {
    let half = |name: &str| session([reply([bash(&format!("touch {name}"))]), reply([bash("true")])]);
    let sessions = [half("c"), half("d"), makes("a"), makes("b")];
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b").model(sessions);

    let run = project.run(["run", "--set", "budget.feature_sessions=1", "--set", "budget.session_tokens=1"]);
    run.exits(3).tells("the feature's 1 session is used: a, b").tells("a larger `budget.feature_usd`");
    assert_eq!(project.played().requests().len(), 2, "each was worked on once");

    assert_eq!(project.stored("a")["attempts"], 0, "a limit costs no attempt");

    project.run(["run", "--set", "budget.feature_sessions=2"]).exits(0);
}

#[test]
fn a_killed_runs_count_goes_on_and_an_ended_ones_does_not() {
    let cut = session([reply([bash("true")]), json!({ "silence": "60s" })]);
    let project = Project::ready().feature("a", "test -f a").model([cut, session([say("I stop")]), makes("a")]);
    let mut child = project.start(["run", "--sessions", "2"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();

    let run = project.run(["run", "--sessions", "2"]);
    run.exits(3).tells("goes on with what the killed run had used: 1 session, ").tells("2 sessions used");
    let run = project.run(["run", "--sessions", "1"]);
    run.exits(0);
    assert!(!run.stderr.contains("goes on with"), "a run that ended has closed its count");
}

/// Runs until the reply is under way that is the `silences`th that falls silent, and kills the run there.
fn killed_within_a_reply(project: &Project, silences: usize) {
    let mut child = project.start(["run", "--tokens", "250000"]);
    project.played().wait_for_silences(silences);
    let (beat, begun) = (project.state().join("spent.since"), Instant::now());
    // The client has read its beginning.
    while !fs::read_to_string(&beat).is_ok_and(|text| text.contains(":100000,")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", fs::read_to_string(&beat));
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_the_service_told_of_a_reply_that_a_kill_cut_off_is_counted() {
    let cut = || session([reply([bash("true")]), json!({ "silence": "60s", "usage": { "input_tokens": 100_000 } })]);
    let project = Project::ready().feature("a", "test -f a").model([cut(), cut(), makes("a")]);
    killed_within_a_reply(&project, 1);
    killed_within_a_reply(&project, 2);

    let run = project.run(["run", "--tokens", "200000"]);

    run.exits(3).tells("goes on with what the killed run had used: 2 sessions, 20").tells("budget of 200,000 tokens");
    assert_eq!(project.played().requests().len(), 4, "no limit left tokens for another request");
    let books: Value = serde_json::from_str(&project.read(".git/longhaul/spent.json")).unwrap();
    let of_feature = books["features"]["a"]["usage"]["input"].as_u64().unwrap();
    assert!((200_000..300_000).contains(&of_feature), "each once: {books}");
    project.run(["status"]).prints("spent     20");
    project.run(["run"]).exits(0);
}

#[test]
fn a_session_that_goes_on_knows_what_the_reply_had_used_that_a_kill_cut_off() {
    let cut = session([reply([bash("true")]), json!({ "silence": "60s", "usage": { "input_tokens": 100_000 } })]);
    let project = Project::ready().feature("a", "test -f a").model([cut]);
    killed_within_a_reply(&project, 1);

    let limits = ["--set", "budget.session_tokens=100000", "--sessions", "1"];
    let run = project.run([&["run", "--continue"][..], &limits].concat());

    run.exits(3).tells("the session's budget of 100,000 tokens is used up");
    assert_eq!(project.played().requests().len(), 2);
}

#[test]
fn a_count_that_was_lost_is_added_up_from_the_records_and_goes_on() {
    let cut = session([reply([bash("true")]), json!({ "silence": "60s" })]);
    let project = Project::ready().feature("a", "test -f a").model([cut, session([say("I stop")])]);
    let mut child = project.start(["run", "--sessions", "2"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(project.state().join("spent.json"), "").unwrap();

    let run = project.run(["run", "--sessions", "2"]);

    run.exits(3)
        .tells("spent.json` was empty or damaged: what was used is added up again from the records of 1 session");
    run.tells("goes on with what the killed run had used: 1 session, ").tells("2 sessions used");
    let books: Value = serde_json::from_str(&project.read(".git/longhaul/spent.json")).unwrap();
    assert_eq!((&books["run"], &books["features"]["a"]["sessions"]), (&Value::Null, &json!(2)));
}

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
    assert!(results.iter().any(|event| event.to_string().contains("stopped after its limit of ")), "{results:?}");
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

#[test]
fn limits_that_would_not_bind_are_refused() {
    let project = Project::ready().feature("a", "test -f a").model([]);

    project.run(["run", "--sessions", "0"]).exits(2).tells("would allow nothing");
    let unknown = ["run", "--budget", "5", "--set", "agent.model=mine"];
    project.run(unknown).exits(2).tells("no price is known for the model `mine`");
}

#[test]
fn an_empty_checklist_is_a_usage_error() {
    Project::ready().model([]).run(["run"]).exits(2).tells("the checklist is empty").tells("longhaul feature add");
}

#[test]
fn settings_that_do_not_exist_or_are_not_there_yet_are_refused() {
    let project = Project::ready().feature("a", "test -f a").model([]);

    project.run(["run", "--set", "budget.usb=3"]).exits(2).tells("usd");
    project.run(["run", "--set", "agent.driver=acp"]).exits(2).tells("not yet");
}

#[test]
fn a_script_that_runs_out_and_an_endpoint_that_is_down_are_faults_of_the_provider() {
    let project = Project::ready().feature("a", "test -f a").model([session([reply([bash("true")])])]);
    project.run(["run"]).exits(5).tells("script");

    let project = Project::ready()
        .feature("a", "test -f a")
        .variable("ANTHROPIC_API_KEY", KEY)
        .variable("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let run = project.run(["run", "--set", "provider.outage_budget=0.2s"]);
    run.exits(5).tells("127.0.0.1:9");
    assert_eq!(project.stored("a")["attempts"], 0);
}

/// A limit in time cuts a reply off; what the service told of its tokens is in the books, and in the status.
#[test]
fn a_reply_that_is_cut_off_is_in_the_books() {
    let cut_off = session([json!({"text": "…", "silence": "60s", "usage": {"input_tokens": 400_000}})]);
    let project = Project::ready().feature("a", "test -f a").model([cut_off]);

    let run = project.run(["run", "--sessions", "1", "--set", "budget.session_time=2s"]);

    run.exits(3).tells("a reply is lost; the service bills it all the same: 40").tells("spent so far: 40");
    let used: Vec<_> = project.events(1).into_iter().filter(|event| event["type"] == "used").collect();
    assert_eq!((used.len(), &used[0]["by"]), (1, &json!("broken reply")));
    let told: serde_json::Value = serde_json::from_str(&project.run(["status", "--json"]).stdout).unwrap();
    assert!(told["tokens"].as_u64().unwrap() >= 400_000 && told["cost"] == used[0]["cost"], "{told}");
}
