//! Family C: what the model service says, limits, budgets, and sessions that come to nothing.

use crate::provider_replay::Answer;
use crate::provider_replay::Replay;
use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::keep_on;
use crate::support::memory;
use crate::support::reply;
use crate::support::request;
use crate::support::session;
use longhaul::process::Interrupt;
use longhaul::provider::Client;
use longhaul::provider::Settings;
use serde_json::Value;
use serde_json::json;
use std::time::Duration;
use std::time::Instant;

fn limited(message: &str, headers: &Value) -> Value {
    json!({"status": 429, "headers": headers, "error": {"type": "rate_limit_error", "message": message}})
}

fn makes(name: &str) -> Value {
    session([reply([bash(&format!("touch {name}"))]), reply([hand_over()])])
}

/// C01: a request that met a limit came back as a success, with the error in its text alone.
#[test]
fn c01_an_error_that_comes_with_a_success_is_an_error() {
    let error = r#"{"type":"error","error":{"type":"rate_limit_error","message":"limit reached"}}"#;
    let stream = format!("event: error\ndata: {error}\n\n");
    for (kind, body) in [("text/event-stream", stream.as_str()), ("application/json", error)] {
        let answer = || Answer::new(200, &[("content-type", kind)], body);
        let replay = Replay::start(vec![answer(), answer()]);
        let project = Project::ready()
            .feature("a", "test -f a")
            .variable("ANTHROPIC_API_KEY", KEY)
            .variable("ANTHROPIC_BASE_URL", &replay.base_url());

        let run = project.run(["run", "--set", "provider.outage_budget=0.1s"]);

        run.exits(5).tells("limit reached");
        assert!(project.events(1).iter().all(|event| event["type"] != "replied"), "{kind}");
        assert_eq!(project.stored("a")["attempts"], 0, "{kind}");
        replay.requests();
    }
}

/// C02: a stream broke off, and an empty result with a call still pending counted as a success.
#[test]
fn c02_a_reply_that_ends_before_its_call_is_no_progress() {
    let pending = json!({"text": "I run it now.", "stop_reason": "tool_use"});
    let project = Project::ready().feature("a", "test -f a").model([session([pending]), makes("a")]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("the model stopped to use a tool and called none");
    assert_eq!(project.status("a"), "open");

    project.run(["run"]).exits(0);
}

/// C04: a whole result was thrown away since something went wrong after it.
#[test]
fn c04_a_reply_that_is_whole_counts_whatever_comes_after_it() {
    let events = [
        r#"{"type":"message_start","message":{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"whole"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
        r#"{"type":"message_stop"}"#,
        r#"{"type":"error","error":{"type":"api_error","message":"too late"}}"#,
    ];
    for (count, text) in [(6, Some("whole")), (4, None)] {
        let framed = |event: &&str| {
            let name = serde_json::from_str::<Value>(event).unwrap()["type"].clone();
            format!("event: {}\ndata: {event}\n\n", name.as_str().unwrap())
        };
        let body: String = events[..count].iter().map(framed).collect();
        let replay = Replay::start(vec![Answer::new(200, &[("content-type", "text/event-stream")], body)]);
        let settings = Settings { base_url: replay.base_url(), outage_budget: Duration::ZERO, ..Settings::default() };
        let result = Client::new(settings).unwrap().send(&request(), &Interrupt::new(), &mut |_, _| {}, &mut keep_on);
        let told = format!("{count} events: {result:?}");
        assert_eq!(result.ok().map(|reply| reply.text()).as_deref(), text, "{told}");
        replay.requests();
    }
}

/// C10: «resets 11:30pm (Europe/Berlin)» was not understood, and the run aborted; C13: where no time was told, one was made
/// up. Times come from headers alone: words are shown as they are, and the wait is ours.
#[test]
fn c10_c13_words_about_a_reset_are_shown_and_decide_nothing() {
    for message in ["resets 11:30pm (Europe/Berlin)", "resets Dec 31, 9am (UTC)", "usage limit reached"] {
        let replies = [limited(message, &json!({})), reply([bash("touch a")]), reply([hand_over()])];
        let project = Project::ready().feature("a", "test -f a").model([session(replies)]);
        let start = Instant::now();

        let run = project.run(["run"]);

        run.exits(0).tells(&format!("asking again: HTTP 429 `rate_limit_error`: {message}"));
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
        let waits: Vec<f64> = waits(&project);
        assert!(waits.len() == 1 && waits[0] <= 1.0, "{waits:?}");
    }
}

/// C11: a reset that had passed three minutes ago became a wait of 24 hours.
#[test]
fn c11_a_moment_that_has_passed_is_not_waited_for() {
    let dates = |after: &str| json!({"date": "Tue, 03 Mar 2026 10:03:00 GMT", "retry-after": after});
    let passed = limited("m", &dates("Tue, 03 Mar 2026 10:00:00 GMT"));
    let replies = [passed, reply([bash("touch a")]), reply([hand_over()])];
    let project = Project::ready().feature("a", "test -f a").model([session(replies)]);
    project.run(["run"]).exits(0);
    assert!(waits(&project)[0] <= 1.0, "{:?}", waits(&project));

    // The twin: one that is to come, and lies beyond what the run would wait.
    let to_come = limited("m", &dates("Tue, 03 Mar 2026 11:03:00 GMT"));
    let project = Project::ready().feature("a", "test -f a").model([session([to_come])]);
    project.run(["run"]).exits(5).tells("which asks to wait 3600");
}

fn waits(project: &Project) -> Vec<f64> {
    let events = project.events(1);
    let waits = events.iter().filter(|event| event["type"] == "retrying");
    waits.map(|event| event["wait"].to_string().parse().unwrap()).collect()
}

/// C14: the agent crashed now and then, and the whole loop died of it.
#[test]
fn c14_a_crash_in_the_third_of_five_sessions_ends_no_run() {
    let names = ["a", "b", "c", "d", "e"];
    let broken = || json!({"text": "crash", "cut": 2});
    let sessions = names.map(|name| match name {
        "c" => session([broken(), json!({"status": 500}), reply([bash("touch c")]), broken(), reply([hand_over()])]),
        name => makes(name),
    });
    let project =
        names.iter().fold(Project::ready(), |project, name| project.feature(name, &format!("test -f {name}")));
    let project = project.model(sessions);

    project.run(["run"]).exits(0);

    assert!(names.iter().all(|name| project.status(name) == "proven"));
    assert_eq!(project.events(3).iter().filter(|event| event["type"] == "retrying").count(), 3);
}

/// C15: costs were recorded and bound nothing; a run could go far beyond its limit, and an unknown cost counted as none.
#[test]
fn c15_a_cost_binds_within_a_session_and_an_unknown_one_is_not_zero() {
    let dear = || {
        let mut dear = reply([bash("true")]);
        dear["usage"] = json!({"input_tokens": 1_000_000, "output_tokens": 100_000});
        dear
    };
    let long = || session((0..20).map(|_| dear()));
    let project = Project::ready().feature("a", "test -f a").model([long()]);
    project.run(["run", "--budget", "5", "--set", "agent.window=9000000"]).exits(3).tells("5 USD");
    assert!(project.played().requests().len() <= 2, "{} requests", project.played().requests().len());

    let project = Project::ready().feature("a", "test -f a").model([long()]);
    let run = project.run(["run", "--set", "agent.model=mine", "--set", "agent.window=9000000", "--tokens", "1500000"]);
    run.exits(3).tells("unknown").hides("0.00 USD");
    assert_eq!(project.played().requests().len(), 2, "the tokens bind in its place");
}

/// C15: what a service tells of its tokens is nothing, less than nothing, or more than there can be. A budget binds all the same.
#[test]
fn c15_counts_that_cannot_be_are_estimated_and_none_turns_a_budget_over() {
    let most = i64::MAX;
    let untold = json!({"input_tokens": -5, "output_tokens": -1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0});
    let wild = json!({"input_tokens": most, "output_tokens": most, "cache_creation_input_tokens": most});
    let wild_output = json!({"output_tokens": most});
    for usage in [untold, wild, wild_output] {
        let one = || {
            let mut one = reply([bash("date +%N")]);
            one["usage"] = usage.clone();
            one
        };
        let project = Project::ready().feature("a", "test -f a").model([session((0..20).map(|_| one()))]);

        let run = project.run(["run", "--tokens", "2000"]);

        run.exits(3).tells("2,000 tokens");
        assert_eq!(run.stderr.matches("does not tell how many tokens it used").count(), 1, "{}", run.stderr);
        assert!(project.played().requests().len() <= 3, "{} requests", project.played().requests().len());
        let told: Value = serde_json::from_str(&project.run(["status", "--json"]).stdout).unwrap();
        assert!((1..100_000).contains(&told["tokens"].as_u64().unwrap()), "{told}");
    }
}

/// C15, where the answer comes whole: its `usage` is no table at all.
#[test]
fn c15_a_usage_that_is_no_table_is_untold() {
    for usage in [json!(7), json!("none"), json!([1]), Value::Null] {
        let call = json!({"type": "tool_use", "id": "t", "name": "hand_over", "input": {"done": "x"}});
        let message =
            json!({"id": "m", "role": "assistant", "content": [call], "stop_reason": "tool_use", "usage": usage});
        let replay =
            Replay::start(vec![Answer::new(200, &[("content-type", "application/json")], message.to_string())]);
        let project = Project::ready()
            .feature("a", "test -f a")
            .variable("ANTHROPIC_API_KEY", KEY)
            .variable("ANTHROPIC_BASE_URL", &replay.base_url());

        let run = project.run(["run", "--sessions", "1"]);

        run.exits(3).tells("does not tell how many tokens it used");
        replay.requests();
        let replied = project.events(1).into_iter().find(|event| event["type"] == "replied").unwrap();
        assert!(replied["message"]["usage"]["input_tokens"].as_u64().unwrap() > 500, "{replied}");
    }
}

/// C16: a used-up budget killed work that was worth going on with.
#[test]
fn c16_a_used_up_budget_pauses_and_a_larger_one_goes_on() {
    let first = session([reply([bash("echo half >half")]), reply([bash("true")])]);
    let next = session([reply([bash("cp half a")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([first, next]);

    project.run(["run", "--tokens", "1"]).exits(3);
    assert_eq!((project.status("a").as_str(), project.stored("a")["attempts"].as_u64()), ("open", Some(0)));
    assert_eq!(project.read("half"), "half\n");

    project.run(["run", "--tokens", "1000000"]).exits(0);
}

/// C18: a healthy run was ended since its sessions all said the same.
#[test]
fn c18_sessions_that_say_the_same_and_prove_something_are_no_standstill() {
    let names = ["a", "b", "c", "d"];
    let project =
        names.iter().fold(Project::ready(), |project, name| project.feature(name, &format!("test -f {name}")));
    let project = project.model(names.map(makes));

    project.run(["run", "--set", "run.breaker=2"]).exits(0);
}

/// C20: cosmetic edits reset the count of sessions without progress.
#[test]
fn c20_notes_rewritten_in_each_session_are_no_progress() {
    let busy = |number: usize| {
        let text = format!("---\nname: plan\ndescription: the plan\ntype: project\n---\nplan {number}\n");
        let path = "/memories/notes/plan.md";
        let write = match number {
            0 => json!({"command": "create", "path": path, "file_text": text}),
            _ => {
                json!({"command": "str_replace", "path": path, "old_str": format!("plan {}", number - 1), "new_str": format!("plan {number}")})
            }
        };
        session([reply([memory(write)]), reply([hand_over()])])
    };
    let project = Project::ready().feature("a", "test -f a").model((0..6).map(busy));

    project.run(["run", "--set", "run.attempts=10"]).exits(4).tells("3 sessions in a row");

    assert_eq!(project.memory_git(["show", "HEAD:notes/plan.md"]).lines().last(), Some("plan 2"));
}
