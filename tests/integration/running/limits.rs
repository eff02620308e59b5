//! Budgets in tokens and dollars, of sessions and features, and what a run counts when it was killed.

use super::makes;
use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
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
