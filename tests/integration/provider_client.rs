//! The client against the scripted model, and against answers that a service should not give.

use crate::provider_replay::Answer;
use crate::provider_replay::Replay;
use crate::support::keep_on;
use crate::support::request;
use crate::support::server;
use longhaul::message::Message;
use longhaul::message::Reply;
use longhaul::message::StopReason;
use longhaul::message::ToolResult;
use longhaul::message::text_block;
use longhaul::process::Interrupt;
use longhaul::provider::Client;
use longhaul::provider::Failure;
use longhaul::provider::Request;
use longhaul::provider::Secret;
use longhaul::provider::Settings;
use longhaul::provider::Told;
use serde_json::json;
use std::cell::RefCell;
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(10);
const JSON: (&str, &str) = ("content-type", "application/json");
const TITLED: (&str, &str) = ("content-type", "Text/Event-Stream; Charset=UTF-8");
const STREAM: (&str, &str) = ("content-type", "text/event-stream");

fn settings(base_url: String) -> Settings {
    Settings {
        base_url,
        key: Some(Secret::new("key-of-this-test")),
        key_env: "MY_KEY".to_owned(),
        first_wait: SHORT,
        ..Settings::default()
    }
}

/// Sends one request and returns the result with what was told about retries.
fn send(settings: Settings) -> (Result<Reply, Failure>, Vec<(String, Duration)>) {
    let mut told = Vec::new();
    let client = Client::new(settings).unwrap();
    let result = client.send(
        &request(),
        &Interrupt::new(),
        &mut |reason, wait| told.push((reason.to_owned(), wait)),
        &mut keep_on,
    );
    (result, told)
}

/// Replays these answers and returns the result.
fn after(answers: Vec<Answer>) -> Result<Reply, Failure> {
    let replay = Replay::start(answers);
    let (result, _) = send(Settings { outage_budget: Duration::ZERO, ..settings(replay.base_url()) });
    replay.requests();
    result
}

#[test]
fn a_conversation_with_tools_goes_both_ways() {
    let server = server(
        r#"
        [[session]]
        [[session.reply]]
        thinking = "I look first"
        text = "I look."
        tools = [{ name = "bash", input = { command = "ls", depth = 3, deep = { list = [1.5, true] } } }, { name = "next" }]
        [[session.reply]]
        text = "Done."
        "#,
    );
    let client =
        Client::new(Settings { betas: vec!["one".into(), "two".into()], ..settings(server.base_url()) }).unwrap();
    let mut request = Request { system: vec![text_block("be good")], ..request() };

    let first = client.send(&request, &Interrupt::new(), &mut |_, _| panic!("no retry"), &mut keep_on).unwrap();
    let calls = first.tool_calls();
    Arc::make_mut(&mut request.messages).push(Message::assistant(first.content()));
    let results = calls.iter().map(|call| ToolResult::text("ok").to_block(&call.id)).collect();
    Arc::make_mut(&mut request.messages).push(Message::user(results));
    let second = client.send(&request, &Interrupt::new(), &mut |_, _| panic!("no retry"), &mut keep_on).unwrap();

    assert_eq!(first.stop_reason, StopReason::ToolUse);
    assert_eq!(calls[0].input, json!({"command": "ls", "depth": 3, "deep": {"list": [1.5, true]}}));
    assert_eq!((calls[1].name.as_str(), &calls[1].input), ("next", &json!({})));
    assert_eq!((second.text().as_str(), second.stop_reason), ("Done.", StopReason::EndTurn));
    assert!(second.usage.cache_read > 0, "the prefix comes from the cache: {:?}", second.usage);
    assert_eq!((server.rejected(), server.unplayed()), (Vec::new(), 0));
    assert_eq!(server.requests()[1]["messages"][1]["content"], json!(first.content()));
}

#[test]
fn the_headers_are_those_the_service_wants() {
    for (base, line) in [("", "POST /v1/messages"), ("/", "POST /v1/messages"), ("/api/v1/", "POST /api/v1/messages")] {
        let replay = Replay::start(vec![Answer::new(400, &[JSON], "{}")]);
        let betas = vec!["one".to_owned(), "two".to_owned()];
        send(Settings { betas, ..settings(replay.base_url() + base) }).0.unwrap_err();
        let request = replay.requests().remove(0).to_lowercase();
        let expected = [
            "x-api-key: key-of-this-test\r\n",
            "anthropic-version: 2023-06-01\r\n",
            "anthropic-beta: one,two\r\n",
            "content-type: application/json\r\n",
            "accept: application/json\r\n",
            "accept-encoding: gzip\r\n",
        ];
        assert!(request.starts_with(&line.to_lowercase()), "{request}");
        for header in expected {
            assert!(request.contains(header), "{header} is missing: {request}");
        }
        assert!(!request.contains("authorization"));
    }
}

#[test]
fn faults_are_asked_again_until_a_whole_reply_comes() {
    let server = server(
        r#"
        [[session]]
        reply = [
            { status = 529 },
            { text = "never seen", cut = 4 },
            { status = 429, headers = { retry-after-ms = 30 }, error = { type = "rate_limit_error", message = "slow" } },
            { text = "cut at the very end", cut = 99 },
            { text = "whole" },
        ]
        "#,
    );

    let (reply, told) = send(settings(server.base_url()));

    let reasons: Vec<&str> = told.iter().map(|(reason, _)| reason.as_str()).collect();
    assert_eq!(reply.unwrap().text(), "whole");
    assert_eq!(reasons[0], "HTTP 529 `overloaded_error`: a fault of the script");
    assert!(reasons[1].starts_with("the connection broke within the answer: "), "{reasons:?}");
    assert_eq!(reasons[2], "HTTP 429 `rate_limit_error`: slow");
    assert!(reasons[3].starts_with("the connection broke within the answer: "), "{reasons:?}");
    assert!(told[2].1 >= Duration::from_millis(30), "the wait asked for is kept: {told:?}");
    assert_eq!(server.requests().len(), 5);
    assert!(server.requests().iter().all(|body| body == &server.requests()[0]), "each retry is the same request");
}

#[test]
fn a_silent_reply_is_given_up_and_asked_again() {
    let server = server(
        r#"
        [[session]]
        reply = [{ text = "too late", silence = "1h" }, { text = "in time" }]
        "#,
    );

    let (reply, told) = send(Settings { idle: Duration::from_millis(500), ..settings(server.base_url()) });

    assert_eq!(reply.unwrap().text(), "in time");
    assert_eq!(told[0].0, "no byte came for 0.5 s");
    assert_eq!(server.wait_until_held(1, LONG), Some(1));
}

#[test]
fn a_silence_that_ends_in_time_is_no_fault() {
    let server = server(
        r#"
        [[session]]
        reply = [{ text = "after a while", silence = "100ms" }]
        [[session]]
        reply = [{ text = "in the next session" }]
        "#,
    );
    assert_eq!(send(settings(server.base_url())).0.unwrap().text(), "after a while");
    assert_eq!(server.wait_until_held(1, LONG), Some(1));
    assert_eq!(send(settings(server.base_url())).0.unwrap().text(), "in the next session");
}

/// Runs one of the tests here again, with a proxy set that nobody answers at.
#[test]
fn a_loopback_address_is_never_reached_through_a_proxy() {
    let test = "provider_client::a_whole_message_without_a_stream_is_taken";
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        again.env(variable, "http://127.0.0.1:1");
    }
    let output = again.args(["--exact", test]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn an_interrupt_ends_the_wait_before_the_next_attempt_at_once() {
    let server = server(
        r#"
        [[session]]
        reply = [{ status = 529, headers = { retry-after = 3000 } }, { text = "never asked for" }]
        "#,
    );
    let interrupt = Interrupt::new();
    let client = Client::new(Settings { outage_budget: LONG, ..settings(server.base_url()) }).unwrap();
    let asked = Instant::now();

    let result = client.send(&request(), &interrupt, &mut |_, _| interrupt.request(), &mut keep_on);

    assert_eq!(result.unwrap_err(), Failure::Interrupted);
    assert!(asked.elapsed() < Duration::from_secs(60));
    assert_eq!(server.unplayed(), 1);
}

#[test]
fn an_interrupt_ends_a_reply_on_its_way_and_a_request_that_comes_after_it() {
    let server = server(
        r#"
        [[session]]
        reply = [{ text = "never whole", silence = "1h" }]
        "#,
    );
    let interrupt = Interrupt::new();
    let client = Client::new(settings(server.base_url())).unwrap();

    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            server.wait_until_held(1, LONG);
            interrupt.request();
        });
        client.send(&request(), &interrupt, &mut |_, _| {}, &mut keep_on)
    });

    assert_eq!(result.unwrap_err(), Failure::Interrupted);
    assert_eq!(client.send(&request(), &interrupt, &mut |_, _| {}, &mut keep_on).unwrap_err(), Failure::Interrupted);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_refusal_is_not_asked_again_and_names_the_way_out() {
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "said"}}).to_string();
    let cases = [
        (401, "authentication_error", "check the key in `MY_KEY`, and that it belongs to `http://127.0.0.1:"),
        (402, "billing_error", "check the credit and the payment of the account the key in `MY_KEY` belongs to"),
        (403, "permission_error", "check that it may use the model `claude-test`"),
        (404, "not_found_error", "serves the model `claude-test` (`[agent] model`)"),
        (400, "invalid_request_error", "see the account behind `MY_KEY`; else check `[agent]` and `[provider]`"),
    ];
    for (status, kind, way_out) in cases {
        let failure = after(vec![Answer::new(status, &[JSON], error(kind))]).unwrap_err();
        let text = failure.to_string();
        let start = format!("the model service refused the request (`{kind}`): HTTP {status} `{kind}`: said; ");
        assert!(text.starts_with(&start), "{text}");
        assert!(text.contains(way_out), "{text}");
    }
    let bare = after(vec![Answer::new(403, &[("content-type", "text/plain")], "No")]).unwrap_err().to_string();
    assert!(bare.contains("(`permission_error`): HTTP 403 `error`: No; "), "{bare}");
    let page = after(vec![Answer::new(403, &[("content-type", "text/html")], "<h1>No</h1>")]).unwrap_err().to_string();
    assert!(
        page.contains("the answer is a page, with status 403: <h1>No</h1>; check that `[provider] base_url`"),
        "{page}"
    );
}

#[test]
fn a_spend_limit_is_not_asked_again_though_a_header_says_so() {
    for code in ["contract_spend_limit_reached", "enforced_spend_limit_reached"] {
        let server = server(&format!(
            r#"
            [[session]]
            [[session.reply]]
            status = 429
            headers = {{ x-should-retry = "true", retry-after = 1 }}
            error = {{ type = "rate_limit_error", message = "spent", code = "{code}" }}
            [[session.reply]]
            text = "never asked for"
            "#
        ));
        let (result, told) = send(settings(server.base_url()));
        let text = result.unwrap_err().to_string();
        assert!(text.ends_with("raise the spend limit of the account behind `MY_KEY`, or go on in its next period"));
        assert_eq!((told.len(), server.requests().len()), (0, 1));
    }
}

#[test]
fn a_limit_that_clears_soon_is_waited_for() {
    let server = server(
        r#"
        [[session]]
        [[session.reply]]
        status = 429
        headers = { retry-after-ms = 20 }
        error = { type = "rate_limit_error", message = "too steep", code = "ramp_limit_exceeded" }
        [[session.reply]]
        text = "now"
        "#,
    );
    let (reply, told) = send(settings(server.base_url()));
    assert_eq!((reply.unwrap().text().as_str(), told.len()), ("now", 1));
    assert!(told[0].1 >= Duration::from_millis(20));
}

#[test]
fn a_conversation_that_does_not_fit_is_told_apart() {
    let long = r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
    for (status, body) in [(400, long), (413, "<h1>413</h1>"), (413, r#"{"error":{"type":"request_too_large"}}"#)] {
        let failure = after(vec![Answer::new(status, &[JSON], body)]).unwrap_err();
        assert!(matches!(failure, Failure::TooLong { .. }), "{failure:?}");
    }
}

#[test]
fn an_endpoint_that_is_down_is_named_with_what_the_system_said() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let base_url = format!("http://127.0.0.1:{port}");

    let (result, told) = send(Settings { outage_budget: 20 * SHORT, ..settings(base_url.clone()) });

    let text = result.unwrap_err().to_string();
    assert!(told[0].0.starts_with(&format!("could not reach `{base_url}`: Connection refused")), "{told:?}");
    assert!(text.starts_with("the model service stayed unavailable: "), "{text}");
    assert!(text.contains(&format!("attempts at `{base_url}` in ")), "{text}");
    assert!(text.ends_with("see that it is up and that `[provider] base_url` is right, then run again to go on"));
}

#[test]
fn a_redirect_is_refused_and_the_key_stays_here() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let target = format!("http://{}", elsewhere.local_addr().unwrap());
    let answer = Answer::new(307, &[("location", &format!("{target}/v1/messages?token=secret"))], "");

    let text = after(vec![answer]).unwrap_err().to_string();

    assert!(
        text.contains(&format!(
            "the answer is a redirect (307) to `{target}/v1/messages`, and the key is never sent on"
        )),
        "{text}"
    );
    assert!(!text.contains("token"), "{text}");
    assert!(elsewhere.accept().is_err(), "nobody came");
}

#[test]
fn the_key_is_taken_out_of_what_the_service_says() {
    let echo = r#"{"error":{"type":"authentication_error","message":"no such key: key-of-this-test"}}"#;
    let text = after(vec![Answer::new(401, &[JSON], echo)]).unwrap_err().to_string();
    assert!(text.contains("no such key: [key]"), "{text}");

    let text = after(vec![Answer::new(503, &[JSON], "down for key-of-this-test")]).unwrap_err().to_string();
    assert!(text.contains("down for [key]"), "{text}");
}

#[test]
fn a_whole_message_without_a_stream_is_taken() {
    let message = json!({"id": "m", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "usage": {"input_tokens": 3}});
    let reply =
        after(vec![Answer::new(200, &[("content-type", "application/json; charset=utf-8")], message.to_string())]);
    let reply = reply.unwrap();
    assert_eq!((reply.raw, reply.usage.input), (message, 3));
}

#[test]
fn an_answer_that_is_no_reply_says_what_it_is() {
    let cases = [
        (Answer::new(200, &[("content-type", "text/html")], "<h1>Log in</h1>"), "the answer is `text/html`, neither"),
        (Answer::new(200, &[JSON], "{}"), "the answer is JSON, but no message"),
        (Answer::new(200, &[JSON], "{"), "the answer is no JSON: EOF"),
        (Answer::new(200, &[JSON], r#"{"error":{"type":"api_error","message":"said"}}"#), "`api_error`: said"),
        (Answer::new(200, &[STREAM], ": nothing\n\n"), "the stream ended before `message_start`"),
        (Answer::new(200, &[TITLED], ": nothing\n\n"), "the stream ended before `message_start`"),
        (Answer::new(200, &[STREAM], "event: message_start\ndata: [DONE]\n\n"), "`message_start` holds no JSON"),
    ];
    for (answer, words) in cases {
        let text = after(vec![answer]).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_reply_above_the_limit_is_refused_and_not_asked_again() {
    let event = format!("data: {}\n\n", "x".repeat(7 << 20));
    let failure = after(vec![Answer::new(200, &[STREAM], event.repeat(5))]).unwrap_err();
    assert!(failure.to_string().contains("a reply larger than 33554432 bytes"), "{failure}");

    let failure = after(vec![Answer::new(200, &[STREAM], format!("data: {}", "x".repeat(9 << 20)))]).unwrap_err();
    assert!(failure.to_string().contains("an event above the size limit"), "{failure}");
}

/// Once the service has answered, what stands in the way for a while is waited for as any outage.
#[test]
fn an_answer_of_somebody_else_is_asked_again_once_the_service_has_answered() {
    let page = |kind: &str| Answer::new(200, &[("content-type", kind)], "<h1>Back in a moment</h1>");
    let large = || Answer::new(200, &[STREAM], format!("data: {}", "x".repeat(9 << 20)));
    let login = || Answer::new(302, &[("location", "http://127.0.0.1:9/login")], "");
    let good = || {
        let message = json!({"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"});
        Answer::new(200, &[JSON], message.to_string())
    };
    let moved = || Answer::new(301, &[("location", "http://127.0.0.1:9/")], "");
    let refusing =
        |status: u16| Answer::new(status, &[("content-type", "text/HTML; charset=utf-8")], "<h1>Who are you?</h1>");
    let odd = vec![page("text/html"), page("text/plain"), large(), login(), refusing(403), refusing(413)];
    let replay = Replay::start([vec![good()], odd, vec![good(), moved()]].into_iter().flatten().collect());
    let client = Client::new(Settings { outage_budget: LONG, ..settings(replay.base_url()) }).unwrap();
    let told = RefCell::new(Vec::new());
    let send = |client: &Client| {
        let mut on_retry = |reason: &str, _| told.borrow_mut().push(reason.to_owned());
        client.send(&request(), &Interrupt::new(), &mut on_retry, &mut keep_on)
    };

    assert_eq!(send(&client).unwrap().text(), "hi");
    assert_eq!(send(&client).unwrap().text(), "hi");
    let for_good = send(&client).unwrap_err().to_string();

    assert!(for_good.contains("the answer is a redirect (301)"), "{for_good}");
    let told = told.take();
    assert_eq!(told.len(), 6, "{told:?}");
    let words = [
        "is `text/html`",
        "is `text/plain`",
        "an event above the size",
        "redirect (302)",
        "a page, with status 403",
        "a page, with status 413",
    ];
    for (told, words) in told.iter().zip(words) {
        assert!(told.contains(words), "{told}");
    }
    replay.requests();

    // Within its budget, of which the last word is what came.
    let replay = Replay::start(vec![good(), page("text/html")]);
    let client = Client::new(Settings { outage_budget: Duration::ZERO, ..settings(replay.base_url()) }).unwrap();
    send(&client).unwrap();
    let failure = send(&client).unwrap_err();
    assert!(matches!(&failure, Failure::Unavailable { tried } if tried.contains("`text/html`")), "{failure}");
    replay.requests();
}

#[test]
fn no_request_goes_out_after_the_deadline() {
    let server = server("[[session]]\nreply = [{ text = \"never asked for\" }]");
    let late = Request { deadline: Some(Instant::now()), ..request() };

    let result =
        Client::new(settings(server.base_url())).unwrap().send(&late, &Interrupt::new(), &mut |_, _| {}, &mut keep_on);

    assert_eq!(result.unwrap_err(), Failure::OutOfTime);
    assert!(server.requests().is_empty());
}

/// A request ends in an outage by its time; the next one to the same model knows of it, and one to another does not.
#[test]
fn the_next_request_waits_out_what_the_service_asked_the_one_before_to_wait() {
    for (model, least) in [("claude-test", 1000), ("another", 0)] {
        let told = "headers = { retry-after-ms = \"1500\" }, error = { type = \"rate_limit_error\", message = \"m\" }";
        let server = server(&format!("[[session]]\nreply = [{{ status = 429, {told} }}, {{ text = \"back\" }}]"));
        let client = Client::new(settings(server.base_url())).unwrap();
        let start = Instant::now();
        let short = Request { deadline: Some(start + Duration::from_millis(1400)), ..request() };

        let failure = client.send(&short, &Interrupt::new(), &mut |_, _| {}, &mut keep_on).unwrap_err();
        assert!(matches!(&failure, Failure::Away { fault } if fault.contains("asks to wait 1.5 s")), "{failure}");

        let (start, mut waits) = (Instant::now(), Vec::new());
        let next = Request { model: model.to_owned(), ..request() };
        let mut on_retry = |_: &str, wait: Duration| waits.push(wait);
        let reply = client.send(&next, &Interrupt::new(), &mut on_retry, &mut keep_on).unwrap();
        assert_eq!((reply.text().as_str(), waits.len()), ("back", usize::from(least > 0)));
        assert!(start.elapsed() >= Duration::from_millis(least), "{model}: {:?}", start.elapsed());
    }
}

#[test]
fn a_reply_that_streams_beyond_the_deadline_is_cut() {
    for (limit, whole) in [(LONG, true), (Duration::from_millis(200), false)] {
        let server = server("[[session]]\nreply = [{ text = \"slow\", silence = \"1s\" }]");
        let start = Instant::now();
        let bound = Request { deadline: Some(start + limit), ..request() };

        let told = &mut |reason: &str, _| panic!("no retry: {reason}");
        let result =
            Client::new(settings(server.base_url())).unwrap().send(&bound, &Interrupt::new(), told, &mut keep_on);

        assert_eq!(server.requests().len(), 1);
        match result {
            Ok(reply) => assert_eq!((whole, reply.text().as_str()), (true, "slow")),
            Err(failure) => {
                assert_eq!((whole, failure), (false, Failure::OutOfTime));
                assert!(start.elapsed() < Duration::from_millis(900), "{:?}", start.elapsed());
            }
        }
    }
}

#[test]
fn an_address_the_key_must_not_go_to_is_refused() {
    let cases = [
        ("http://example.com", "would send the key unencrypted to another machine"),
        ("http://127.0.0.1.example.com", "would send the key unencrypted to another machine"),
        ("ftp://example.com", "must begin with `https://`"),
        ("example.com", "is no address"),
        ("", "is no address"),
        ("https://me:secret@example.com", "holds a user, a password or another `@`"),
        ("https://me:secret@exa mple.com", "holds a user, a password or another `@`"),
        ("https://example.com/?key=secret", "must hold a host and at most a path"),
    ];
    for (base_url, words) in cases {
        let error = Client::new(settings(base_url.to_owned())).unwrap_err();
        assert!(format!("{error:#}").contains(words), "{base_url}: {error:#}");
        assert!(!base_url.contains("secret") || !format!("{error:#}").contains("secret"), "{error:#}");
    }
    for base_url in ["https://example.com/api/", "http://localhost:1", "http://[::1]:1/", "http://127.1.2.3:1"] {
        assert!(Client::new(settings(base_url.to_owned())).is_ok(), "{base_url}");
    }
}

#[test]
fn a_missing_or_broken_key_names_its_variable() {
    let no_key = |base_url: &str| Client::new(Settings { key: None, ..settings(base_url.to_owned()) });
    let text = no_key("https://example.com").unwrap_err().to_string();
    assert!(text.contains("`MY_KEY` is not set"), "{text}");
    assert!(no_key("http://127.0.0.1:1").is_ok(), "a local service needs no key");

    for key in ["secret\nb", "secret b", "secret\tb", "secret-ö", "secret\0"] {
        let key = Some(Secret::new(key));
        let broken = Client::new(Settings { key, ..settings("https://example.com".to_owned()) });
        let text = format!("{:#} {0:?}", broken.unwrap_err());
        assert!(text.starts_with("the key in the variable `MY_KEY` holds a blank, a line end"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
    assert!(
        !format!("{:?}", Client::new(settings("https://example.com".to_owned())).unwrap()).contains("key-of-this-test")
    );
}

/// What a reply cost that was cut off at the deadline, or broke, is told to whoever pays.
#[test]
fn what_a_dropped_reply_used_is_told() {
    let begun = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\
                 \"content\":[],\"usage\":{\"input_tokens\":400,\"output_tokens\":1}}}\n\n";
    let more =
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":9}}\n\n";
    let broken = |body: String| Answer::new(200, &[STREAM], body);
    let replay = Replay::start(vec![broken(begun.to_owned()), broken(format!("{begun}{more}")), broken(String::new())]);
    let settings = Settings { outage_budget: LONG, ..settings(replay.base_url()) };
    let (mut begun, mut lost) = (Vec::new(), Vec::new());
    let result = Client::new(settings).unwrap().send(&request(), &Interrupt::new(), &mut |_, _| {}, &mut |told| {
        match told {
            Told::UnderWay(usage) => begun.push((usage.input, usage.output)),
            Told::Lost(usage) => lost.push((usage.input, usage.output)),
        }
        if lost.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert_eq!((result.unwrap_err(), lost), (Failure::Spent, vec![(400, 1), (400, 9)]));
    assert_eq!((begun.len(), begun[0]), (2, (400, 1)), "each is told as soon as it is known");
    replay.requests();
}
