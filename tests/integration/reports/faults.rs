//! T43 to T47: what a model service does wrong, and what a model may say that nobody expects.

use crate::provider_replay::Answer;
use crate::provider_replay::Replay;
use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::keep_on;
use crate::support::reply;
use crate::support::request;
use crate::support::say;
use crate::support::server;
use crate::support::session;
use longhaul::process::Interrupt;
use longhaul::provider::Client;
use longhaul::provider::Failure;
use longhaul::provider::Settings;
use serde_json::Value;
use serde_json::json;
use std::io::Read;
use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;
use std::time::Instant;

const STREAM: (&str, &str) = ("content-type", "text/event-stream");

fn stream(events: &[Value]) -> String {
    let framed = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(framed).collect()
}

fn began() -> Value {
    json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {}}})
}

/// The events of a call whose input comes as this text.
fn calling(index: u64, id: &str, name: &str, input: &str) -> Vec<Value> {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    vec![
        json!({"type": "content_block_start", "index": index, "content_block": block}),
        json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": input}}),
        json!({"type": "content_block_stop", "index": index}),
    ]
}

fn ended(reason: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

/// A whole reply with one call.
fn one_call(name: &str, input: &Value, reason: &str) -> Answer {
    one_call_of(name, &input.to_string(), reason)
}

fn one_call_of(name: &str, input: &str, reason: &str) -> Answer {
    let events = [vec![began()], calling(0, "toolu_1", name, input), ended(reason)].concat();
    Answer::new(200, &[STREAM], stream(&events))
}

fn asks_to_wait(status: u16, kind: &str) -> Answer {
    let body = json!({"type": "error", "error": {"type": kind, "message": "said"}});
    Answer::new(status, &[("content-type", "application/json"), ("retry-after-ms", "1")], body.to_string())
}

/// A project with one feature that asks this service.
fn asks(replay: &Replay, check: &str) -> Project {
    Project::ready()
        .feature("a", check)
        .variable("ANTHROPIC_API_KEY", KEY)
        .variable("ANTHROPIC_BASE_URL", &replay.base_url())
}

/// The bodies of the requests that a replay saw.
fn bodies(replay: Replay) -> Vec<Value> {
    let body = |request: &String| serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    replay.requests().iter().map(body).collect()
}

/// T43: every form of `retry-after`: none, moments, a date, and what says nothing.
#[test]
fn t43_a_wait_that_is_asked_for_is_kept_and_nonsense_is_not() {
    let date = "Tue, 03 Mar 2026 10:00:45 GMT";
    for (told, least, most) in [
        ("0", 0, 1),
        ("30", 30, 31),
        ("120", 120, 121),
        (date, 45, 46),
        ("Tue, 03 Mar 2026 09:00:00 GMT", 0, 1),
        ("soon", 0, 1),
        ("-5", 0, 1),
        ("1e300", 0, 1),
    ] {
        let headers = format!("{{ date = \"Tue, 03 Mar 2026 10:00:00 GMT\", retry-after = \"{told}\" }}");
        let server = server(&format!("[[session]]\nreply = [{{ status = 429, headers = {headers} }}]"));
        let (interrupt, mut waits) = (Interrupt::new(), Vec::new());
        let settings = Settings { base_url: server.base_url(), ..Settings::default() };

        let result = Client::new(settings).unwrap().send(
            &request(),
            &interrupt,
            &mut |_, wait| {
                waits.push(wait);
                interrupt.request();
            },
            &mut keep_on,
        );

        assert_eq!(result.unwrap_err(), Failure::Interrupted);
        let range = Duration::from_secs(least)..=Duration::from_secs(most);
        assert!(waits.len() == 1 && range.contains(&waits[0]), "{told}: {waits:?}");
    }
}

/// T44: 529 three times, then 500, then an error within the stream, after a call that was whole: it did not run.
#[test]
fn t44_errors_before_and_within_the_stream_are_one_outage_and_run_nothing() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "within"}});
    let call = calling(0, "toolu_1", "bash", "{\"command\": \"echo never >>ran\"}");
    let within = stream(&[vec![began()], call, vec![overloaded]].concat());
    let replay = Replay::start(vec![
        Answer::new(200, &[STREAM], within),
        asks_to_wait(529, "overloaded_error"),
        asks_to_wait(529, "overloaded_error"),
        asks_to_wait(529, "overloaded_error"),
        asks_to_wait(500, "api_error"),
        one_call("bash", &json!({"command": "echo once >>ran"}), "tool_use"),
        one_call("hand_over", &json!({"done": "x"}), "tool_use"),
    ]);
    let project = asks(&replay, "test \"$(cat ran)\" = once");

    let run = project.run(["run", "--set", "recall.extract=false"]);

    run.exits(0)
        .tells("error within the reply, `overloaded_error`: within")
        .tells("asking again: HTTP 529 `overloaded_error`");
    assert_eq!(project.events(1).iter().filter(|event| event["type"] == "retrying").count(), 5);
    let bodies = bodies(replay);
    assert_eq!(bodies.len(), 7);
    assert!(bodies[..6].iter().all(|body| body == &bodies[0]), "each attempt is the same request");
}

/// Serves one answer whose bytes come one by one, with this pause after each.
fn drips(body: Vec<u8>, pause: Duration) -> String {
    drips_in(body.into_iter().map(|byte| vec![byte]).collect(), pause)
}

fn drips_in(pieces: Vec<Vec<u8>>, pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.set_nodelay(true).unwrap();
        let read = connection.read(&mut [0; 1 << 16]).unwrap();
        assert!(read > 0);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        connection.write_all(head.as_bytes()).unwrap();
        for piece in pieces {
            // The client leaves when it has enough of it.
            if connection.write_all(&piece).is_err() {
                return;
            }
            std::thread::sleep(pause);
        }
    });
    format!("http://{address}")
}

/// T45: a reply whose bytes come one by one is a reply; one that drips and never ends is given up.
#[test]
fn t45_a_slow_drip_is_read_to_its_end_and_an_endless_one_is_not() {
    let send = |base_url: String| {
        let idle = Duration::from_millis(200);
        let settings = Settings { base_url, idle, outage_budget: Duration::ZERO, ..Settings::default() };
        Client::new(settings).unwrap().send(&request(), &Interrupt::new(), &mut |_, _| {}, &mut keep_on)
    };
    let call = calling(0, "toolu_1", "bash", "{\"command\": \"ls\"}");
    let whole = stream(&[vec![began()], call, ended("tool_use")].concat());

    let reply = send(drips(whole.into_bytes(), Duration::from_micros(100))).unwrap();
    assert_eq!(reply.tool_calls()[0].input, json!({"command": "ls"}));

    let block = calling(0, "toolu_1", "bash", "x");
    let start = [vec![began()], block[..1].to_vec()].concat();
    let endless = [vec![start], vec![block[1..2].to_vec(); 1000]].concat();
    let endless: Vec<Vec<u8>> = endless.iter().map(|events| stream(events).into_bytes()).collect();
    let given_up = || send(drips_in(endless.clone(), Duration::from_millis(50))).unwrap_err().to_string();
    // On a busy machine a pause may become too long, which is another fault.
    let text = (0..5).map(|_| given_up()).find(|text| !text.contains("no byte came for")).unwrap();
    assert!(text.contains("no end after 8s"), "{text}");

    let empty = stream(&calling(0, "toolu_1", "bash", "")[1..2]);
    for alive in ["event: ping\ndata: {}\n\n", ": keepalive\n\n", "\n", "data: x", &empty] {
        let signs = vec![alive.as_bytes().to_vec(); 1000];
        let pieces = [endless[..1].to_vec(), signs].concat();
        let text = send(drips_in(pieces, Duration::from_millis(50))).unwrap_err().to_string();
        assert!(text.contains("nothing of a reply came for 0.8 s"), "{alive:?} alone is no reply: {text}");
    }
}

/// A service that answers nothing is given up when the outage budget is used up, not after the limit of an attempt. One
/// silence that took all of it says too little: it is asked once more.
#[test]
fn a_silent_service_is_bound_by_the_outage_budget() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let settings = Settings { base_url, outage_budget: Duration::from_secs(5), ..Settings::default() };
    let start = Instant::now();

    let failure =
        Client::new(settings).unwrap().send(&request(), &Interrupt::new(), &mut |_, _| {}, &mut keep_on).unwrap_err();

    let text = failure.to_string();
    assert!(text.contains("2 attempts at") && text.contains(" s of an outage budget of 5.0 s"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// T45: the connection ends within the input of a call; what was there of it does not run.
#[test]
fn t45_a_cut_within_the_input_of_a_call_runs_nothing() {
    let half = [vec![began()], calling(0, "toolu_1", "bash", "{\"command\": \"echo half >>ran")].concat();
    let replay = Replay::start(vec![
        Answer::new(200, &[STREAM], stream(&half[..3])),
        Answer::new(200, &[STREAM], stream(&half)),
        one_call("bash", &json!({"command": "echo once >>ran"}), "tool_use"),
        one_call("hand_over", &json!({"done": "x"}), "tool_use"),
    ]);
    let project = asks(&replay, "test \"$(cat ran)\" = once");

    project.run(["run", "--set", "recall.extract=false"]).exits(0);

    assert_eq!(bodies(replay).len(), 4);
}

/// T46: a call whose input is no JSON goes back to the service as an object, and to the model as an error.
#[test]
fn t46_input_that_is_no_json_is_answered_and_not_run() {
    let replay = Replay::start(vec![
        one_call_of("bash", "{\"command\": \"touch bad\"", "tool_use"),
        one_call_of("bash", "[\"touch bad\"]", "tool_use"),
        one_call("hand_over", &json!({"done": "x"}), "tool_use"),
    ]);
    let project = asks(&replay, "test -f never");

    project.run(["run", "--sessions", "1", "--set", "recall.extract=false"]).exits(3);

    assert!(!project.root().join("bad").exists());
    let last = bodies(replay).pop().unwrap();
    for at in [1, 3] {
        let (block, result) = (&last["messages"][at]["content"][0], &last["messages"][at + 1]["content"][0]);
        assert!(block["input"].is_object() && result["tool_use_id"] == block["id"], "{block} {result}");
        assert_eq!(result["is_error"], true, "{result}");
        assert!(result["content"].as_str().unwrap().contains("could not be read as an object"), "{result}");
    }
}

/// T46: twenty calls in one reply run in order, and one message answers each of them once, results first.
#[test]
fn t46_twenty_calls_in_one_reply_have_one_result_each_in_one_message() {
    let twenty = (0..20).map(|number| bash(&format!("echo {number} >>ran; echo ran {number}")));
    let project = Project::ready()
        .feature("a", "test \"$(cat ran)\" = \"$(seq 0 19)\"")
        .model([session([reply(twenty), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.played().rejected(), Vec::<String>::new());
    let requests = project.played().requests();
    let messages = requests[1]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3, "the calls are answered in one message");
    let calls = messages[1]["content"].as_array().unwrap();
    let results = messages[2]["content"].as_array().unwrap();
    assert_eq!((calls.len(), results.len()), (20, 20));
    for (number, (call, result)) in calls.iter().zip(results).enumerate() {
        assert_eq!((&result["type"], &result["tool_use_id"]), (&json!("tool_result"), &call["id"]));
        assert!(result["content"].as_str().unwrap().starts_with(&format!("ran {number}\n")), "{result}");
    }
}

/// T46: a tool that is not there, fields of the wrong type, unknown ones, missing ones: each an error result, and no tool ran.
#[test]
fn t46_calls_that_no_tool_takes_are_errors_for_the_model() {
    let nonsense = [
        call("nonsense", json!({})),
        call("bash", json!({})),
        call("bash", json!({"command": 7})),
        call("bash", json!({"command": ["touch bad"]})),
        call("bash", json!({"command": "touch bad", "speed": "high"})),
        call("memory", json!({"command": "create", "path": 7, "file_text": "x"})),
        call("memory", json!({"command": "forget", "path": "/memories/a"})),
        call("str_replace_based_edit_tool", json!({"command": "create", "path": "bad"})),
        call("str_replace_based_edit_tool", json!({"command": "view", "path": "README", "view_range": "all"})),
        call("checklist", json!({"command": {"list": true}})),
        call("check", json!({"feature": "b"})),
        call("setup", json!({"again": true})),
        call("hand_over", json!({"done": 7})),
    ];
    let count = nonsense.len();
    let project = Project::ready().feature("a", "test -f a").model([session([
        reply(nonsense),
        reply([bash("touch a")]),
        reply([hand_over()]),
    ])]);

    project.run(["run"]).exits(0);

    let answer = project.played().requests()[1]["messages"][2]["content"].clone();
    let results = answer.as_array().unwrap();
    assert_eq!(results.len(), count);
    for result in results {
        assert_eq!(result["is_error"], true, "{result}");
    }
    assert!(!project.root().join("bad").exists());
}

/// T46: a service that gives one id to two calls of a reply: one of them runs.
#[test]
fn t46_an_id_that_comes_twice_runs_once_and_is_told() {
    let twice = |command: &str| json!({"id": "toolu_same", "name": "bash", "input": {"command": command}});
    let project = Project::ready()
        .feature("a", "test \"$(cat ran)\" = one")
        .model([session([reply([twice("echo one >>ran"), twice("echo two >>ran")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).tells("the call `toolu_same` came twice in one reply and is run once");

    assert_eq!(project.played().rejected(), Vec::<String>::new());
}

/// T47: each reason to stop, with a call in the same reply: what becomes of the call, of the session and of the run.
#[test]
fn t47_every_stop_reason_has_its_end() {
    let goes_on = "session 1 ended: the agent handed over";
    for (reason, ran, told, attempts) in [
        ("tool_use", true, goes_on, 1),
        ("end_turn", true, goes_on, 1),
        ("stop_sequence", true, goes_on, 1),
        ("pause_turn", true, goes_on, 1),
        ("max_tokens", false, goes_on, 1),
        ("refusal", false, "session 1 ended: the model refused to go on: no reason given", 0),
        (
            "model_context_window_exceeded",
            false,
            "session 1 ended: the reply was cut off at the end of the model's window",
            0,
        ),
        ("novelty", false, "session 1 ended: the model stopped for an unknown reason `novelty`", 0),
    ] {
        let mut first = reply([bash("touch ran")]);
        first["stop_reason"] = json!(reason);
        let next = session([reply([bash("touch a")]), reply([hand_over()])]);
        let project = Project::ready().feature("a", "test -f a").model([session([first, reply([hand_over()])]), next]);

        let run = project.run(["run", "--sessions", "1", "--set", "recall.extract=false"]);

        run.exits(3).tells(told);
        assert_eq!(project.root().join("ran").exists(), ran, "{reason}");
        assert_eq!(project.stored("a")["attempts"], attempts, "{reason}");
        assert_eq!(project.memory_log()[0], "progress: session 1", "{reason}");
        assert_eq!(project.played().rejected(), Vec::<String>::new(), "{reason}");
        let requests = project.played().requests().len();
        assert_eq!(requests, if told == goes_on { 2 } else { 1 }, "{reason}: nothing is asked again");
    }
}

/// T47: a pause without a call is sent back as it came, and the reply goes on.
#[test]
fn t47_a_pause_is_sent_back_and_the_turn_goes_on() {
    let paused = json!({"text": "so far", "stop_reason": "pause_turn"});
    let project = Project::ready().feature("a", "test -f a").model([session([
        paused,
        reply([bash("touch a")]),
        reply([hand_over()]),
    ])]);

    project.run(["run"]).exits(0);

    let messages = project.played().requests()[1]["messages"].clone();
    assert_eq!((messages.as_array().unwrap().len(), &messages[1]["content"][0]["text"]), (2, &json!("so far")));
}

/// T47: the limit of a reply falls within the input of a call: the part that came is neither run nor taken for JSON.
#[test]
fn t47_a_reply_that_is_cut_within_a_call_is_told_and_may_be_longer_once() {
    let cut = || one_call_of("bash", "{\"command\": \"touch bad", "max_tokens");
    let replay = Replay::start(vec![cut(), one_call("hand_over", &json!({"done": "x"}), "tool_use")]);
    let project = asks(&replay, "test -f never");
    project.run(["run", "--sessions", "1", "--set", "recall.extract=false"]).exits(3).tells("handed over");
    assert!(!project.root().join("bad").exists());
    let bodies = bodies(replay);
    assert_eq!(bodies[1]["max_tokens"], 2 * bodies[0]["max_tokens"].as_u64().unwrap());
    let result = &bodies[1]["messages"][2]["content"][0];
    assert!(result["is_error"] == true && result["content"].as_str().unwrap().contains("was cut off"), "{result}");
    assert!(bodies[1]["messages"][1]["content"][0]["input"].is_object());

    let replay = Replay::start(vec![cut(), cut()]);
    let project = asks(&replay, "test -f never");
    let run = project.run(["run", "--sessions", "1", "--set", "recall.extract=false"]);
    run.exits(3).tells("two replies in a row were cut off");
    assert_eq!(self::bodies(replay).len(), 2, "one longer try");
}

/// T47: replies without anything in them, and a model that only talks: the session ends in order.
#[test]
fn t47_a_reply_without_a_call_ends_the_session() {
    for (replies, code, told) in [
        (vec![json!({}), json!({}), json!({})], 5, "gave 3 empty replies in a row"),
        (vec![say("I am done.")], 3, "the agent stopped without handing over"),
    ] {
        let project = Project::ready().feature("a", "test -f a").model([session(replies)]);
        project.run(["run", "--sessions", "1"]).exits(code).tells(told);
        assert_eq!(project.memory_log()[0], "progress: session 1");
    }
}
