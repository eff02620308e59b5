//! The scripted model as any client sees it, over a bare connection.

use crate::support::server;
use crate::support::session_tool;
use longhaul::provider::Script;
use longhaul::provider::Server;
use serde_json::Value;
use serde_json::json;
use std::io::Read;
use std::io::Write;
use std::net::TcpStream;

const HEADERS: &str = "x-api-key: any\r\nanthropic-version: 2023-06-01\r\n";

/// Sends one request and returns status line with headers, and body, as far as they came.
fn exchange(server: &Server, line: &str, headers: &str, body: &str) -> (String, String) {
    let address = server.base_url().strip_prefix("http://").unwrap().to_owned();
    let mut connection = TcpStream::connect(&address).unwrap();
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n");
    connection.write_all((head + body).as_bytes()).unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

fn post(server: &Server, body: &Value) -> (String, String) {
    exchange(server, "POST /v1/messages?beta=true", HEADERS, &body.to_string())
}

fn hello(stream: bool) -> Value {
    json!({
        "model": "m",
        "max_tokens": 9,
        "stream": stream,
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [session_tool()],
    })
}

/// Asserts an error answer and returns its message.
fn refused((head, body): (String, String), status: u16, kind: &str) -> String {
    let body: Value = serde_json::from_str(&body).unwrap();
    assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!(kind)));
    body["error"]["message"].as_str().unwrap().to_owned()
}

const HI: &str = "[[session]]\nreply = [{ text = \"hi\" }]";

#[test]
fn a_request_needs_its_headers_its_path_and_json() {
    let server = server(HI);
    let body = hello(true).to_string();
    let ask = |line: &str, headers: &str, body: &str| exchange(&server, line, headers, body);
    let version = "anthropic-version: 2023-06-01\r\n";

    let no_key = refused(ask("POST /v1/messages", version, &body), 401, "authentication_error");
    let no_version = refused(ask("POST /v1/messages", "x-api-key: any\r\n", &body), 400, "invalid_request_error");
    let no_path = refused(ask("GET /v1/models", HEADERS, ""), 404, "not_found_error");
    let no_json = refused(ask("POST /v1/messages", HEADERS, "{"), 400, "invalid_request_error");
    let bearer = format!("authorization: Bearer any\r\n{version}");

    assert_eq!(no_key, "x-api-key header is required");
    assert_eq!(no_version, "anthropic-version: header is required");
    assert_eq!(no_path, "the scripted model has no GET /v1/models");
    assert!(no_json.starts_with("The request body is not valid JSON: "), "{no_json}");
    assert_eq!(server.rejected(), [no_key, no_version, no_path, no_json]);
    assert!(ask("POST /v1/messages", &bearer, &body).0.starts_with("HTTP/1.1 200 "));
    assert_eq!(server.requests(), [hello(true)]);
}

#[test]
fn a_wrong_request_is_refused_as_the_service_does_and_uses_up_no_reply() {
    let server = server(HI);
    let wrong = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "next", "input": {}}]},
        {"role": "user", "content": "never mind"},
    ]});

    let message = refused(post(&server, &wrong), 400, "invalid_request_error");

    assert!(message.starts_with("messages.2: `tool_use` ids were found without `tool_result` blocks"), "{message}");
    assert_eq!((server.rejected(), server.unplayed()), (vec![message], 1));
    assert_eq!(server.requests(), [wrong]);
}

#[test]
fn a_script_that_runs_out_says_so_to_the_client() {
    let server = server(HI);
    post(&server, &hello(true));
    assert!(!server.exhausted());

    let message = refused(post(&server, &hello(true)), 400, "invalid_request_error");

    assert_eq!(message, "the script `play.toml` ends with session 1, and this request begins session 2");
    assert!(server.exhausted());
}

#[test]
fn a_request_without_a_stream_gets_the_message_whole() {
    let server = server(HI);
    let (head, body) = post(&server, &hello(false));
    let message: Value = serde_json::from_str(&body[body.find('{').unwrap()..=body.rfind('}').unwrap()]).unwrap();

    assert!(head.contains("content-type: application/json"), "{head}");
    assert_eq!(message["content"], json!([{"type": "text", "text": "hi"}]));
    assert_eq!((&message["stop_reason"], &message["model"]), (&json!("end_turn"), &json!("m")));
}

#[test]
fn a_request_that_cannot_hand_over_is_answered_beside_the_sessions() {
    let mut aside = hello(false);
    aside.as_object_mut().unwrap().shift_remove("tools");
    let text = |(head, body): (String, String)| {
        let body: Value = serde_json::from_str(&body[body.find('{').unwrap()..=body.rfind('}').unwrap()]).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        (body["content"][0]["text"].as_str().unwrap_or_default().to_owned(), body["stop_reason"].clone())
    };
    let server = server(&format!("{HI}\n[[side]]\nreply = [{{ text = \"aside\" }}]"));

    assert_eq!(text(post(&server, &aside)), ("aside".to_owned(), json!("end_turn")));
    assert_eq!(server.unplayed(), 1, "no session began");
    assert_eq!(text(post(&server, &aside)), (String::new(), json!("end_turn")), "nothing is left to say");
    assert_eq!(text(post(&server, &hello(false))).0, "hi");
    assert_eq!((server.exhausted(), server.rejected()), (false, Vec::new()));
}

#[test]
fn a_cut_comes_after_exactly_so_many_events() {
    let script: String =
        (0..8).map(|events| format!("[[session]]\nreply = [{{ text = \"hi\", cut = {events} }}]\n")).collect();
    let server = server(&script);
    for events in 0..8 {
        // Another prompt: the same one would be the retry.
        let mut body = hello(true);
        body["messages"][0]["content"] = json!(format!("hello {events}"));
        let (_, answer) = post(&server, &body);
        // A whole reply has seven events; a later cut still keeps back the last.
        assert_eq!(answer.matches("event: ").count(), events.min(6), "{answer}");
        assert!(!answer.contains("message_stop") && !answer.ends_with("0\r\n\r\n"), "{answer}");
    }
}

#[test]
fn a_status_carries_its_headers_and_its_error() {
    let server = server(
        r#"
        [[session]]
        [[session.reply]]
        status = 429
        headers = { retry-after = 7, x-should-retry = "false" }
        error = { type = "my_error", message = "mine" }
        [[session.reply]]
        status = 503
        "#,
    );
    let (head, body) = post(&server, &hello(true));
    assert!(head.contains("retry-after: 7\r\n") && head.contains("x-should-retry: false\r\n"), "{head}");
    assert_eq!(refused((head, body), 429, "my_error"), "mine");
    assert_eq!(refused(post(&server, &hello(true)), 503, "api_error"), "a fault of the script");
    assert!(server.rejected().is_empty(), "the script wanted it so");
}

#[test]
fn counting_answers_an_estimate_and_plays_nothing() {
    let server = server(HI);
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "x".repeat(400)}]});
    let (_, answer) = exchange(&server, "POST /v1/messages/count_tokens", HEADERS, &body.to_string());
    let tokens = serde_json::from_str::<Value>(&answer).unwrap()["input_tokens"].as_u64().unwrap();

    assert!((100..200).contains(&tokens), "{tokens}");
    assert_eq!((server.unplayed(), server.requests().len()), (1, 0));
}

#[test]
fn a_dropped_server_is_gone() {
    let server = server(HI);
    let address = server.base_url().strip_prefix("http://").unwrap().to_owned();
    assert!(TcpStream::connect(&address).is_ok());
    drop(server);
    assert!(TcpStream::connect(&address).is_err());
}

#[test]
fn a_mistake_in_a_script_is_told_with_its_line() {
    let reply = |line: &str| format!("# a script\n[[session]]\n[[session.reply]]\n{line}\n");
    let cases = [
        ("".to_owned(), "the script `play.toml` holds no `[[session]]`"),
        ("[session]".to_owned(), "the script `play.toml`, line 1: `session` must be an array of tables"),
        ("\n[[sesion]]".to_owned(), "line 2: unknown key `sesion` in the script; did you mean `session`?"),
        ("[[session]]\n[[session]]".to_owned(), "line 1: this session holds no `[[session.reply]]`"),
        ("[[session]\n".to_owned(), "the script `play.toml`, line 1: "),
        (reply("txt = \"x\""), "line 4: unknown key `txt` in `[[session.reply]]`; did you mean `text`?"),
        (reply("colour = \"x\""), "unknown key `colour` in `[[session.reply]]`; known are: text, thinking, tools"),
        (reply("text = 7"), "line 4: `text` must be a text, and this is of type integer"),
        (reply("text = \"\""), "line 4: `text` is empty; leave it out"),
        (reply("status = 200"), "line 4: `status` must be a whole number from 300 to 599"),
        (reply("status = 529\ntext = \"x\""), "line 3: an answer with `status` is no reply and takes no `text`"),
        (reply("headers = { a = \"b\" }"), "line 4: `headers` goes with `status` only"),
        (reply("status = 400\nheaders = { \"a b\" = \"c\" }"), "line 5: `a b` cannot be sent as a header"),
        (
            reply("status = 400\nerror = { kind = \"x\" }"),
            "line 5: unknown key `kind` in `error`; known are: type, message",
        ),
        (reply("cut = -1"), "line 4: `cut` must be a whole number from 0 or above"),
        (reply("silence = \"soon\""), "line 4: `silence` must be a time such as \"5s\" or \"200ms\": `soon`"),
        (reply("silence = 5"), "line 4: `silence` must be a time such as \"5s\", and this is of type integer"),
        (reply("tools = [{ input = {} }]"), "line 4: a tool call without `name`"),
        (
            reply("tools = [{ name = \"a\", inputs = {} }]"),
            "line 4: unknown key `inputs` in `tools`; did you mean `input`?",
        ),
        (
            reply("tools = [{ name = \"a\", input = 7 }]"),
            "line 4: `input` must be a table, and this is of type integer",
        ),
        (reply("tools = [{ name = \"a\", input = { n = 99999999999999999999 } }]"), "the number is too large"),
    ];
    for (script, words) in cases {
        let error = Script::parse(&script, "play.toml").expect_err(&script);
        assert!(format!("{error:#}").contains(words), "{script}\n{error:#}");
    }
}
