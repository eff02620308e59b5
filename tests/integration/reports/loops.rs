//! Family C: loops that go nowhere, and loops taken for such.

use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::net::TcpListener;

/// A session that runs this and hands over.
fn runs(command: &str) -> Value {
    session([reply([bash(command)]), reply([hand_over()])])
}

/// C17: loop detection threw the whole context away.
#[test]
fn c17_a_session_in_a_circle_ends_in_order_and_the_next_one_hears_why() {
    let circle = [reply([bash("echo half > work; cat absent")])].into_iter().cycle().take(9);
    let project = Project::ready().feature("a", "test -f a").model([session(circle), runs("touch a")]);

    project.run(["run"]).exits(0).tells("session 1 ended: stuck: the same call came 6 times in a row");

    let requests = project.played().requests();
    assert_eq!(requests.len(), 8, "six of the circle");
    let third = requests[3]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(third.contains("at least the third time in a row"), "{third}");
    let next = requests[6]["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(next.contains("ended: stuck: the same call came 6 times in a row with the same result: `bash`"), "{next}");
    assert!(next.contains("gave `cat: absent: No such file or directory`"), "{next}");
    assert_eq!(project.git(["show", "HEAD~1:work"]), "half", "its work is kept");
    let log = project.memory_log();
    assert!(log.iter().any(|subject| subject.starts_with("gate: a ")), "it was an attempt: {log:?}");
}

/// C17 where the service goes round in the circle: it pauses, is asked again, and pauses.
#[test]
fn c17_a_service_that_pauses_without_end_ends_the_session_in_order() {
    let pauses = (0..30).map(|_| json!({"text": "so far", "stop_reason": "pause_turn"}));
    let paused = session([reply([bash("echo half > work")])].into_iter().chain(pauses));
    let project = Project::ready().feature("a", "test -f a").model([paused, runs("touch a")]);

    project.run(["run"]).exits(0).tells("session 1 ended: stuck: the service stopped 10 replies in a row for a pause");

    let requests = project.played().requests();
    assert_eq!(requests.len(), 1 + 10 + 2);
    let next = requests[11]["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(next.contains("ended: stuck: the service stopped 10 replies in a row for a pause"), "{next}");
    assert_eq!(project.git(["show", "HEAD~1:work"]), "half", "its work is kept");
}

/// C17 where the circle is longer than one call: two commands in turn, each with the result it had before.
#[test]
fn c17_two_calls_in_turn_that_bring_nothing_new_are_a_circle_too() {
    let circle = ["cat absent", "ls"].map(|command| reply([bash(command)])).into_iter().cycle().take(20);
    let project = Project::ready().feature("a", "test -f a").model([session(circle), runs("touch a")]);

    let run = project.run(["run", "--set", "recall.extract=false"]);
    run.exits(0).tells("session 1 ended: stuck: the same 2 calls came 6 times in a row");

    let requests = project.played().requests();
    assert_eq!(requests.len(), 14, "six rounds of two, and the session after it");
    let nudged = |request: &Value| request["messages"].as_array().unwrap().last().unwrap().to_string();
    let told: Vec<usize> =
        (0..12).filter(|at| nudged(&requests[*at]).contains("the same two or three in turn")).collect();
    assert_eq!(told, [6, 8, 10], "after the third round, the fourth and the fifth");
    let next = requests[12]["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(next.contains("gave `cat: absent: No such file or directory`; `bash`"), "{next}");
}

/// The twin of C17: the same calls with the same results, and each of them makes something.
#[test]
fn c17_the_same_call_that_gets_on_each_time_is_no_circle() {
    let steps = (0..20).map(|_| reply([bash("touch step$(ls | wc -l)")]));
    let project = Project::ready().feature("a", "test -f step15").model([session(steps.chain([reply([hand_over()])]))]);

    project.run(["run"]).exits(0).hides("stuck");
}

/// C18: three equal messages that a task is complete ended a healthy run.
#[test]
fn c18_sessions_that_each_prove_a_feature_with_the_same_words_never_stop_a_run() {
    let project = (1..=4)
        .fold(Project::ready(), |project, number| project.feature(&format!("f{number}"), &format!("test -f f{number}")))
        .model((1..=4).map(|number| runs(&format!("touch f{number}"))));

    project.run(["run", "--set", "run.breaker=1"]).exits(0);
}

/// C20: a counter of sessions without progress was reset by edits of the loop's own state.
#[test]
fn c20_what_moves_nothing_resets_no_counter() {
    let rewrites = |number: usize| {
        let create =
            json!({"command": "create", "path": format!("/memories/notes/{number}.md"), "file_text": as_note("x")});
        session([reply([memory(create)]), reply([hand_over()])])
    };
    let idle = [
        rewrites(1),
        runs("git commit -q --allow-empty -m nothing"),
        runs("touch -d 2001-01-01 README; mkdir -p x; echo ignored > x/log; echo x >> .git/info/exclude"),
        runs("printf 'a project   \\n\\n' > README"),
        runs("echo y > tmp; git add tmp; git commit -qm tmp; git rm -q tmp; git commit -qm tmp"),
    ];
    for (number, one) in idle.into_iter().enumerate() {
        let project = Project::ready().feature("a", "test -f a").model([one]);
        let run = project.run(["run", "--set", "run.breaker=1"]);
        assert_eq!(run.code, Some(4), "{number}: {}", run.whole());
        run.tells("1 session in a row proved nothing and changed nothing");
    }
}

/// C20, its other half: what one session did and the next took back.
#[test]
fn c20_going_to_and_fro_is_no_progress() {
    let fro = || runs("rm b; true");
    let project =
        Project::ready().feature("a", "test -f a").model([runs("touch b"), fro(), runs("touch b"), fro(), fro()]);

    let run = project.run(["run", "--set", "run.breaker=2", "--set", "run.attempts=9"]);

    run.exits(4).tells("session 3 ended").tells("2 sessions in a row proved nothing and changed nothing");
    assert!(!project.state().join("sessions/0004").exists());
}

/// A project with two features, so that a session on one of them could go on with the other.
fn two(sessions: impl IntoIterator<Item = Value>) -> Project {
    Project::ready().feature("a", "test -f a").feature("b", "test -f b").model(sessions)
}

/// A loop without end: what a session begins with was too long, and each next one began with the same.
#[test]
fn a_beginning_that_is_too_long_ends_the_run_at_once_with_the_way_out() {
    let refused = |status: u16, kind: &str, message: &str| {
        session([json!({"status": status, "error": {"type": kind, "message": message}})])
    };
    for (status, kind, message) in
        [(413, "request_too_large", "said"), (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")]
    {
        let project = two((0..5).map(|_| refused(status, kind, message)));
        let run = project.run(["run"]);
        run.exits(5).tells("the request is too long for the model service").tells("`longhaul prompt session`");
        assert_eq!((project.played().requests().len(), &project.stored("a")["attempts"]), (1, &json!(0)));
    }

    let project = two([]);
    let run = project.run(["run", "--set", "agent.window=1000"]);
    run.exits(2).tells("a session cannot begin: the conversation fills ").tells("hint: `agent.window`");
    assert!(project.played().requests().is_empty() && !project.state().join("sessions/0002").exists());
}

/// The same loop where each session says something first: no attempt is counted, and the breaker counts all the same.
#[test]
fn sessions_that_are_cut_short_stop_the_run_though_another_feature_is_open() {
    let full = |_| session([json!({"text": "so", "stop_reason": "model_context_window_exceeded"})]);
    let project = two((0..9).map(full));
    let run = project.run(["run"]);
    run.exits(4).tells("3 sessions in a row ended before they changed anything, the last: the reply was cut off at");
    assert_eq!((project.played().requests().len(), &project.stored("a")["attempts"]), (3, &json!(0)));

    let project = two((0..9).map(|_| session([reply([bash("true")])])));
    let run = project.run(["run", "--set", "budget.session_tokens=1"]);
    run.exits(3).tells("the last: the session's budget of 1 token is used up").tells("`budget.turns_per_session`");
    assert_eq!(project.played().requests().len(), 3);
}

/// Their twin: sessions that are cut short and get on never count.
#[test]
fn sessions_that_are_cut_short_and_get_on_never_stop_a_run() {
    let works = |number: usize| session([reply([bash(&format!("touch step{number}"))])]);
    let project = two((0..5).map(works).chain([runs("touch a b")]));

    project.run(["run", "--set", "budget.session_tokens=1"]).exits(0);
}

/// An answer that asks to wait for so many seconds.
fn asks_to_wait(seconds: u32) -> Value {
    json!({"status": 529, "headers": {"retry-after": seconds}, "error": {"type": "overloaded_error", "message": "said"}})
}

/// A loop without end, each session at once after the one before: a wait was longer than what was left of the time.
#[test]
fn an_outage_longer_than_a_time_limit_ends_the_run_by_that_limit() {
    for (limit, words) in [
        ("budget.time=40s", "the time budget of 40s is too short to wait for the model service"),
        ("budget.session_time=40s", "the session's time budget of 40s is too short"),
        ("budget.feature_time=40s", "the feature's time budget of 40s is too short"),
    ] {
        let project = two((0..5).map(|_| session([asks_to_wait(60)])));
        // What is left of the run is too short for the wait, too.
        let run = project.run(["run", "--set", "budget.time=50s", "--set", limit]);
        run.exits(3).tells(words).tells("which asks to wait 60.0 s").tells("hint: run again when it is back");
        assert_eq!((project.played().requests().len(), &project.stored("a")["attempts"]), (1, &json!(0)), "{limit}");
    }
}

/// Three sessions were held, whose end said nothing of the service.
#[test]
fn a_service_that_never_answers_within_a_sessions_time_is_an_outage() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("provider.base_url=http://{}", silent.local_addr().unwrap());
    let run = |limit: &str, time: &str| two([]).run(["run", "--set", &at, "--set", limit, "--set", time]);

    let words = "the session's time budget of 8s is too short to wait for the model service";
    run("provider.outage_budget=1h", "budget.session_time=8s")
        .exits(3)
        .tells(words)
        .tells("no byte came for")
        .tells("hint: run again when it is back");
    run("provider.outage_budget=2s", "budget.session_time=1m").exits(5).tells("2 attempts at ");
}

/// The same in the initializer, whose run was said to be stuck.
#[test]
fn an_outage_in_the_initializer_is_not_stuck() {
    for (limits, code) in [(["--time", "40s"], 3), (["--set", "provider.outage_budget=2s"], 5)] {
        let project = Project::new();
        project.run(["init"]).exits(0);
        project.run(["memory", "create", "spec.md", "# Something small"]).exits(0);
        let project = project.model((0..5).map(|_| session([asks_to_wait(60)])));
        let run = project.run(["run", limits[0], limits[1]]);
        run.exits(code).tells("which asks to wait 60.0 s");
        assert_eq!(project.played().requests().len(), 1);
    }
}

/// A session that had a reply ends as one; the next one knows of the wait, and asks nothing before it is over.
#[test]
fn an_outage_that_outlasts_a_session_is_known_to_the_next_one() {
    let first = session([reply([bash("touch half")]), asks_to_wait(600)]);
    let project = two([first, runs("touch a"), runs("touch b")]);

    let run = project.run(["run", "--set", "budget.session_time=60s", "--time", "5m"]);

    run.exits(3).tells("session 1 ended: the session's time budget of 1m is too short").tells("session 2 ended: ");
    assert_eq!(project.played().requests().len(), 2, "the second session asks nothing");
    assert!(!project.state().join("sessions/0003").exists());
}

/// A wait longer than a session may take ended the run, which had the time for it.
#[test]
fn what_the_service_asks_for_is_waited_out_between_sessions() {
    let late = session([reply([bash("touch half")]), asks_to_wait(9)]);
    let project = two([late, session([asks_to_wait(9)]), runs("touch a"), runs("touch b")]);

    let run = project.run(["run", "--set", "budget.session_time=8s"]);

    run.exits(0).tells("session 1 ended: the session's time budget of 8s is too short").tells("session 2 ended: ");
    assert!(project.played().rejected().is_empty());
}

/// A session whose one reply printed more than the window holds was over, and so was each next one.
#[test]
fn one_reply_that_prints_more_than_the_window_holds_does_not_end_the_session() {
    let prints = (0..30).map(|number| bash(&format!("echo {number}; head -c 29000 /dev/zero | tr '\\0' x")));
    let project = two([session([reply(prints), reply([bash("touch a b")]), reply([hand_over()])])]);

    project.run(["run", "--set", "recall.extract=false"]).exits(0).tells("session 1 ended: the agent handed over");

    assert_eq!((project.played().requests().len(), project.played().rejected()), (3, Vec::new()));
}
