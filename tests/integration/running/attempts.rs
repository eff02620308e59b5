//! Attempts, refusals, the breaker: when a feature is left, and when all are.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::say;
use crate::support::session;
use serde_json::Value;
use serde_json::json;

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
