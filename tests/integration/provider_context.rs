//! What the service is asked to do with a long conversation, and what becomes of it where the service does not take that.

use crate::provider_replay::Answer;
use crate::provider_replay::Replay;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::keep_on;
use crate::support::reply;
use crate::support::request;
use crate::support::say;
use crate::support::session;
use longhaul::message::Message;
use longhaul::message::StopReason;
use longhaul::process::Interrupt;
use longhaul::provider::Client;
use longhaul::provider::Request;
use longhaul::provider::Secret;
use longhaul::provider::Settings;
use serde_json::Value;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const JSON: (&str, &str) = ("content-type", "application/json");

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn settings(base_url: String) -> Settings {
    Settings {
        base_url,
        key: Some(Secret::new("key-of-this-test")),
        betas: texts(&["mine"]),
        edits: texts(&["clear_tool_uses_1", "compact_1"]),
        edit_betas: texts(&["context-1", "compact-1"]),
        outage_budget: Duration::ZERO,
        ..Settings::default()
    }
}

fn refusal(message: &str) -> Answer {
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
    Answer::new(400, &[JSON], error.to_string())
}

fn message(text: &str) -> Answer {
    let message =
        json!({"id": "m", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": {}});
    Answer::new(200, &[JSON], message.to_string())
}

/// The beta header and the edits of a request as it came.
fn asked(request: &str) -> (String, Vec<String>) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let betas = head.lines().find_map(|line| line.strip_prefix("anthropic-beta: ")).unwrap_or_default();
    let body: Value = serde_json::from_str(body).unwrap();
    let edits = body["context_management"]["edits"].as_array().cloned().unwrap_or_default();
    (betas.to_owned(), edits.iter().map(|edit| edit["type"].as_str().unwrap().to_owned()).collect())
}

/// Some services refuse an empty one.
#[test]
fn without_betas_there_is_no_header_of_them() {
    for (betas, expected) in [(vec![], false), (texts(&["mine"]), true)] {
        let replay = Replay::start(vec![message("one")]);
        let settings = Settings { betas, edit_betas: vec![], ..settings(replay.base_url()) };
        let client = Client::new(settings).unwrap();
        let request = Request { window: 200_000, ..request() };
        client.send(&request, &Interrupt::new(), &mut |_, _| panic!("no retry"), &mut keep_on).unwrap();
        let request = replay.requests()[0].clone();
        assert_eq!(request.to_lowercase().contains("\r\nanthropic-beta:"), expected, "{request}");
        assert_eq!(asked(&request).1.len(), 2, "the edits go all the same");
    }
}

#[test]
fn what_the_service_refuses_is_left_out_step_by_step_and_for_good() {
    let replay = Replay::start(vec![
        refusal(
            "context_management.edits.1: Input tag 'compact_1' does not match the expected tags: 'clear_tool_uses_1'",
        ),
        refusal("Unexpected value(s) `compact-1` for the `anthropic-beta` header."),
        message("one"),
        refusal("context_management: Extra inputs are not permitted"),
        message("two"),
        message("three"),
    ]);
    let client = Client::new(settings(replay.base_url())).unwrap();
    let request = Request { window: 200_000, ..request() };
    let mut told = Vec::new();
    for text in ["one", "two", "three"] {
        let reply = client.send(
            &request,
            &Interrupt::new(),
            &mut |reason, wait| {
                assert_eq!(wait, Duration::ZERO);
                told.push(reason.to_owned());
            },
            &mut keep_on,
        );
        assert_eq!(reply.unwrap().text(), text);
    }

    let requests: Vec<_> = replay.requests().iter().map(|request| asked(request)).collect();
    let both = texts(&["clear_tool_uses_1", "compact_1"]);
    let one = texts(&["clear_tool_uses_1"]);
    assert_eq!(
        requests,
        [
            ("mine,context-1,compact-1".to_owned(), both),
            ("mine,context-1,compact-1".to_owned(), one.clone()),
            ("mine,context-1".to_owned(), one.clone()),
            ("mine,context-1".to_owned(), one),
            ("mine".to_owned(), Vec::new()),
            ("mine".to_owned(), Vec::new()),
        ]
    );
    assert_eq!(told.len(), 3);
    let expected =
        "the service does not take `compact_1`, which is left out from now on: HTTP 400 `invalid_request_error`";
    assert!(told[0].starts_with(expected), "{told:?}");
}

#[test]
fn a_refusal_of_something_else_stays_a_refusal() {
    let replay = Replay::start(vec![refusal("max_tokens: 5 is too large"), message("never asked for")]);
    let client = Client::new(settings(replay.base_url())).unwrap();
    let request = Request { window: 200_000, ..request() };

    let failure = client.send(&request, &Interrupt::new(), &mut |_, _| panic!("no retry"), &mut keep_on).unwrap_err();

    assert!(failure.to_string().contains("max_tokens: 5 is too large"));
    assert_eq!(replay.requests().len(), 1);
}

#[test]
fn an_endpoint_without_edits_is_told_once_a_run_and_costs_no_attempt() {
    let refused = json!({"status": 400, "error": {"message": "context_management: Extra inputs are not permitted"}});
    let fails = session([reply([bash("date +%N >try")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([
        session([refused, reply([bash("date +%N >try")]), reply([hand_over()])]),
        fails,
        session([reply([bash("touch a")]), reply([hand_over()])]),
    ]);

    project
        .run(["run"])
        .exits(0)
        .tells("asking again: the service does not take `clear_thinking_20251015`, `clear_tool");

    let edits: Vec<bool> =
        project.played().requests().iter().map(|request| request["context_management"].is_object()).collect();
    assert_eq!(edits, [true, false, false, false, false, false, false]);
    let told = |session| project.events(session).iter().filter(|event| event["type"] == "retrying").count();
    assert_eq!((told(1), told(2), told(3)), (1, 0, 0));
    assert_eq!(project.stored("a")["attempts"], 2, "one for each session that did not prove it");
}

#[test]
fn the_edits_go_out_as_the_settings_say() {
    let play = || Project::ready().feature("a", "test -f a").model([session([say("bye")])]);

    let project = play();
    project.run(["run", "--sessions", "1"]);
    let edits = project.played().requests()[0]["context_management"]["edits"].clone();
    assert_eq!(edits[1]["type"], "clear_tool_uses_20250919");
    assert_eq!((&edits[1]["exclude_tools"], &edits[1]["trigger"]["value"]), (&json!(["memory"]), &json!(100_000)));
    assert_eq!(project.played().rejected(), Vec::<String>::new());

    let project = play();
    project.run(["run", "--sessions", "1", "--set", "context.edits=[]"]);
    assert_eq!(project.played().requests()[0]["context_management"], Value::Null);
}

#[test]
fn a_summary_of_the_service_goes_back_as_it_came() {
    let block = json!({"type": "compaction", "content": null});
    let delta = json!({"type": "compaction_delta", "content": "so far", "encrypted_content": "c2VjcmV0", "new": [1.5]});
    let usage = json!({"input_tokens": 40, "output_tokens": 5});
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "content": [], "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "compaction"}, "usage": usage}),
        json!({"type": "message_stop"}),
    ];
    let stream: String =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    let stream = Answer::new(200, &[("content-type", "text/event-stream")], stream);
    let replay = Replay::start(vec![stream, message("two")]);
    let client = Client::new(settings(replay.base_url())).unwrap();
    let mut request = Request { window: 200_000, ..request() };

    let reply = client.send(&request, &Interrupt::new(), &mut |_, _| panic!("no retry"), &mut keep_on).unwrap();
    Arc::make_mut(&mut request.messages).push(Message::assistant(reply.content()));
    client.send(&request, &Interrupt::new(), &mut |_, _| panic!("no retry"), &mut keep_on).unwrap();

    assert_eq!(reply.stop_reason, StopReason::Compaction);
    let sent = replay.requests().remove(1);
    let expected = r#"{"type":"compaction","content":"so far","encrypted_content":"c2VjcmV0","new":[1.5]}"#;
    assert!(sent.contains(expected), "{sent}");
}

fn counted(tokens: u64) -> Answer {
    Answer::new(200, &[JSON], json!({"input_tokens": tokens}).to_string())
}

#[test]
fn tokens_are_counted_by_the_service_until_it_fails_once() {
    let replay = Replay::start(vec![counted(123), Answer::new(404, &[JSON], "{}"), counted(456)]);
    let client = Client::new(settings(replay.base_url())).unwrap();
    let request = Request { window: 200_000, ..request() };

    let counts: Vec<_> = (0..3).map(|_| client.count(&request, &Interrupt::new())).collect();

    assert_eq!(counts, [Some(123), None, None]);
    let requests = replay.requests();
    assert_eq!(requests.len(), 2);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/messages/count_tokens HTTP/1.1\r\n"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["max_tokens"], &body["stream"]), (&Value::Null, &Value::Null));
    assert_eq!(asked(&requests[0]).1.len(), 2, "the count is that of what the edits leave");
}

#[test]
fn an_interrupt_ends_a_count_and_says_nothing_about_the_service() {
    let replay = Replay::start(vec![counted(7)]);
    let client = Client::new(settings(replay.base_url())).unwrap();
    let stopped = Interrupt::new();
    stopped.request();

    assert_eq!(client.count(&request(), &stopped), None);
    assert_eq!(client.count(&request(), &Interrupt::new()), Some(7));
    replay.requests();
}

#[test]
fn the_scripted_model_counts_too() {
    let server = crate::support::server("[[session]]\nreply = [{ text = \"x\" }]");
    let client = Client::new(settings(server.base_url())).unwrap();
    assert!(client.count(&request(), &Interrupt::new()).is_some_and(|tokens| tokens > 10));
    assert!(server.requests().is_empty());
}
