//! Faults of the model service: they cost time and nothing else.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;

/// An answer with an error that asks to wait for a moment.
fn fault(status: u16, kind: &str) -> Value {
    json!({"status": status, "headers": {"retry-after-ms": 1}, "error": {"type": kind, "message": "said"}})
}

/// A reply that breaks off after so many events.
fn cut(mut reply: Value, events: usize) -> Value {
    reply["cut"] = json!(events);
    reply
}

#[test]
fn faults_within_a_session_cost_time_and_nothing_else() {
    let work = || reply([bash("echo once >>ran")]);
    let replies = [
        fault(529, "overloaded_error"),
        fault(429, "rate_limit_error"),
        work(),
        cut(reply([bash("echo never >>ran")]), 9),
        fault(500, "api_error"),
        reply([hand_over()]),
    ];
    let project = Project::ready().feature("a", "test \"$(cat ran)\" = once").model([session(replies)]);

    project.run(["run"]).exits(0).tells("asking again: HTTP 529 `overloaded_error`: said");

    assert_eq!((project.played().requests().len(), project.played().rejected()), (6, Vec::new()));
    assert_eq!(project.status("a"), "proven");
    let waits = project.events(1).iter().filter(|event| event["type"] == "retrying").count();
    assert_eq!(waits, 4);
}

#[test]
fn an_outage_ends_the_run_with_what_was_tried_and_costs_no_attempt() {
    let long = json!({"status": 529, "headers": {"retry-after": 3600}});
    let project = Project::ready().feature("a", "test -f a").model([session([reply([bash("touch half")]), long])]);

    let run = project.run(["run"]);

    run.exits(5)
        .tells("1 attempt at `http://127.0.0.1:")
        .tells("which asks to wait 3600.0 s")
        .tells("run again to go on");
    assert_eq!((project.stored("a")["attempts"].as_u64(), project.played().requests().len()), (Some(0), 2));
    assert_eq!(project.git(["show", "--stat", "--format=%s", "HEAD"]).lines().next(), Some("wip(session 1)"));
}

#[test]
fn replies_that_say_nothing_or_do_not_end_are_the_services_fault_and_cost_no_attempt() {
    let empty = || json!({"thinking": "hm"});
    let endless = || json!({"text": "done", "stop_reason": ""});
    let work = || reply([bash("touch half")]);
    for (replies, requests, told) in [
        (vec![work(), empty(), empty(), empty()], 4, "gave 3 empty replies in a row"),
        (
            vec![work(), endless(), endless(), json!({"status": 529, "headers": {"retry-after": 3600}})],
            4,
            "asks to wait",
        ),
    ] {
        let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b").model([session(replies)]);
        project.run(["run"]).exits(5).tells(told).tells("run again to go on");
        assert_eq!((project.stored("a")["attempts"].as_u64(), project.played().requests().len()), (Some(0), requests));
    }

    let done = || reply([bash("touch a")]);
    let project =
        Project::ready().feature("a", "test -f a").model([session([done(), endless(), empty(), reply([hand_over()])])]);
    project.run(["run"]).exits(0);
    assert_eq!(project.status("a"), "proven");
}

#[test]
fn a_refused_key_ends_the_run_at_once_with_the_way_out_and_the_next_run_goes_on() {
    for (status, kind, way_out) in [
        (401, "authentication_error", "check the key in `ANTHROPIC_API_KEY`"),
        (403, "permission_error", "the key in `ANTHROPIC_API_KEY` may not do this"),
    ] {
        let next = session([reply([bash("touch a")]), reply([hand_over()])]);
        let project = Project::ready()
            .feature("a", "test -f a")
            .model([session([reply([bash("touch half")]), fault(status, kind)]), next]);

        project.run(["run"]).exits(5).tells(way_out);
        assert_eq!((project.stored("a")["attempts"].as_u64(), project.played().requests().len()), (Some(0), 2));

        project.run(["run"]).exits(0);
        assert_eq!(project.status("a"), "proven");
    }
}

#[test]
fn a_key_of_blanks_is_none() {
    for key in ["", "   ", "\n"] {
        let model = [session([reply([bash("touch a")]), reply([hand_over()])])];
        let project = Project::ready().feature("a", "test -f a").model(model).variable("ANTHROPIC_API_KEY", key);
        project
            .run(["run"])
            .exits(2)
            .tells("no key for the model service: the variable `ANTHROPIC_API_KEY` is not set");
        assert_eq!(project.played().requests().len(), 0, "{key:?}");
    }
}

#[test]
fn an_endpoint_without_typed_tools_names_the_setting_and_takes_the_next_run() {
    let message = "tools.0: Input tag 'bash_20250124' does not match any of the expected tags: 'custom'";
    let refused = json!({"status": 400, "error": {"type": "invalid_request_error", "message": message}});
    let next = session([reply([bash("touch a")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([session([refused]), next]);

    project.run(["run"]).exits(5).tells("set `[provider] tools = \"custom\"`");
    project.run(["run", "--set", "provider.tools=custom"]).exits(0);
    assert_eq!((project.status("a").as_str(), project.played().rejected()), ("proven", Vec::new()));
}

#[test]
fn a_key_or_an_address_that_cannot_be_sent_is_a_wrong_setting_and_nothing_is_asked() {
    for (name, value, told) in [
        (
            "ANTHROPIC_API_KEY",
            "hush-hush\nhush",
            "the key in the variable `ANTHROPIC_API_KEY` holds a blank, a line end",
        ),
        ("ANTHROPIC_API_KEY", "hush hush", "the key in the variable `ANTHROPIC_API_KEY` holds a blank, a line end"),
        ("ANTHROPIC_BASE_URL", "https://me:hush@api.example", "`provider.base_url` holds a user, a password"),
        ("ANTHROPIC_BASE_URL", "https://api.example/?key=hush", "`[provider] base_url` must hold a host"),
    ] {
        let project =
            Project::ready().feature("a", "test -f a").model([session([reply([hand_over()])])]).variable(name, value);

        let run = project.run(["run"]);

        run.exits(2).tells(told).tells("hint: ").hides("hush");
        assert!(project.played().requests().is_empty());
    }
}

#[test]
fn a_limit_that_never_ends_ends_the_run() {
    // C06 of the reports: a rate limit made the loop take the same path again for ever.
    let replies = (0..200).map(|_| fault(429, "rate_limit_error"));
    let project = Project::ready().feature("a", "test -f a").model([session(replies)]);

    project.run(["run", "--set", "provider.outage_budget=2s"]).exits(5).tells("2.0 s of an outage budget of 2.0 s");

    assert_eq!(project.stored("a")["attempts"], 0);
}

#[test]
fn words_about_errors_and_limits_in_a_reply_are_no_fault() {
    // C08 and C09 of the reports: the words of a text were taken for what the service says.
    let text = "HTTP 429 rate_limit_error: 5-hour limit reached, resets 11:30pm (Europe/Berlin); is_error: false";
    let mut work = reply([bash("echo 'Error: overloaded_error'; touch a")]);
    work["text"] = json!(text);
    let project = Project::ready().feature("a", "test -f a").model([session([work, reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.played().requests().len(), 2);
}
