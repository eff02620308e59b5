use super::*;
use serde_json::json;
use std::path::Path;

const FACTS: Facts<'static> = Facts { key: "key-for-these-tests", counting: false, betas: false };

/// A conversation that keeps every rule.
fn good() -> Value {
    json!({
        "model": "m",
        "max_tokens": 100,
        "stream": true,
        "system": [{"type": "text", "text": "be good", "cache_control": {"type": "ephemeral"}}],
        "tools": [
            {"type": "memory_20250818", "name": "memory"},
            {"name": "next", "description": "…", "input_schema": {"type": "object", "properties": {}}},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "begin"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": played::signature("hm")},
                {"type": "tool_use", "id": "t1", "name": "next", "input": {}},
                {"type": "tool_use", "id": "t2", "name": "next", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t2", "content": "two"},
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "one"}], "is_error": true},
                {"type": "text", "text": "go on"},
            ]},
            {"role": "system", "content": [{"type": "text", "text": "mind the time"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        ],
    })
}

/// Checks the good conversation with one place changed; null removes the place.
fn with(place: &str, value: Value) -> Result<(), String> {
    let mut body = good();
    let (parent, last) = place.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(fields), Value::Null) => drop(fields.remove(last).unwrap()),
        (Value::Object(fields), value) => drop(fields.insert(last.to_owned(), value)),
        (Value::Array(items), Value::Null) => drop(items.remove(last.parse().unwrap())),
        (Value::Array(items), value) => items.insert(last.parse().unwrap(), value),
        _ => panic!("{place} is no place"),
    }
    request(&body, FACTS)
}

#[test]
fn a_good_conversation_passes() {
    assert_eq!(request(&good(), FACTS), Ok(()));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table, one rule a line")]
fn each_broken_rule_is_told() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id});
    let marked =
        json!({"type": "thinking", "thinking": "hm", "signature": "s", "cache_control": {"type": "ephemeral"}});
    let cases = [
        ("/model", json!(null), "model: Field required"),
        ("/max_tokens", json!(null), "max_tokens: Input should be a whole number"),
        ("/max_tokens", json!("100"), "max_tokens: Input should be a whole number"),
        ("/wishes", json!(1), "wishes: Extra inputs are not permitted"),
        ("/messages", json!([]), "messages: at least one message is required"),
        ("/messages", json!(null), "messages: at least one message is required"),
        ("/messages/0", json!(null), "messages: first message must use the \"user\" role"),
        ("/messages/1/role", json!("tool"), "messages.1.role: should be 'user', 'assistant' or 'system'"),
        ("/messages/0/content", json!(7), "messages.0.content: should be a string or a list"),
        ("/messages/0/content", json!([]), "messages.0: all messages must have non-empty content"),
        ("/messages/0/content", json!(" "), "messages.0: all messages must have non-empty content"),
        ("/messages/0/content/0", text(""), "messages.0.content.0: text content blocks must be non-empty"),
        ("/messages/0/content/0", text(" \n"), "messages.0.content.0: text content blocks must be non-empty"),
        ("/messages/4/content/0", text(""), "messages.4.content.0: text content blocks must be non-empty"),
        ("/messages/0/content/0", json!({"text": "x"}), "messages.0.content.0.type: Field required"),
        ("/messages/0/content/0/mark", json!(1), "messages.0.content.0.text.mark: Extra inputs are not permitted"),
        ("/messages/3/content/0", result("t1"), "messages.3.content.0: only text blocks are allowed"),
        (
            "/messages/0/content/0",
            good()["messages"][1]["content"][1].clone(),
            "`tool_use` blocks are not allowed in user",
        ),
        ("/messages/4/content/0", result("t1"), "`tool_result` blocks are not allowed in assistant messages"),
        ("/messages/2/content/0", json!(null), "immediately after: t2. Each `tool_use` block"),
        ("/messages/2", json!(null), "immediately after: t1, t2. Each `tool_use` block"),
        ("/messages/2/content/0", result("t9"), "unexpected `tool_use_id` found in `tool_result` blocks: t9."),
        ("/messages/2/content/0", result("t1"), "messages.2: each tool_use must have a single result"),
        ("/messages/2/content/0", text("first"), "messages.2: `tool_result` blocks must come before other content"),
        ("/messages/0/content/0", result("t1"), "unexpected `tool_use_id` found in `tool_result` blocks: t1."),
        ("/messages/1/content/2/id", json!("t1"), "messages.1: `tool_use` ids must be unique"),
        ("/messages/1/content/1/input", json!("x"), "tool_use.input: Input should be a valid dictionary"),
        ("/messages/1/content/1/name", json!(null), "tool_use: `id` and `name` are required"),
        ("/messages/2/content/0/is_error", json!("yes"), "tool_result.is_error: Input should be a valid boolean"),
        ("/messages/2/content/0/content", json!(7), "tool_result.content: should be a string or a list"),
        ("/messages/2/content/1/content/0", result("t1"), "tool_result.content.0: this type is not allowed here"),
        (
            "/messages/1/content/0/thinking",
            json!("hm!"),
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
        ("/messages/1/content/0/signature", json!(null), "messages.1.content.0.signature: Field required"),
        (
            "/messages/1/content/0",
            marked,
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
        ("/tools/1/name", json!("memory"), "tools: Tool names must be unique."),
        ("/tools/1/name", json!("a tool"), "tools.1.name: should match"),
        ("/tools/1/input_schema", json!(null), "tools.1.custom.input_schema: a schema of type object is required"),
        ("/tools/0/name", json!("my_memory"), "tools.0.memory_20250818.name: should be 'memory'"),
        ("/system/0", json!({"type": "image"}), "system.0: only text blocks are allowed"),
        ("/system", json!(7), "system: should be a string or a list"),
        ("/metadata", json!({"user_id": "key-for-these-tests"}), "the key appears in the body"),
    ];
    for (place, value, expected) in cases {
        let told = with(place, value.clone()).expect_err(&format!("{place} {value}"));
        assert!(told.contains(expected), "{place} {value}: {told}");
    }
}

#[test]
fn a_call_at_the_end_must_be_answered_too() {
    let mut body = good();
    body["messages"].as_array_mut().unwrap().truncate(2);
    assert!(request(&body, FACTS).unwrap_err().contains("messages.1: `tool_use` ids were found"));
}

#[test]
fn results_may_be_spread_over_user_messages_in_a_row() {
    let mut body = good();
    let late = body["messages"][2]["content"].as_array_mut().unwrap().split_off(1);
    body["messages"].as_array_mut().unwrap().insert(3, json!({"role": "user", "content": late}));
    assert_eq!(request(&body, FACTS), Ok(()));
}

#[test]
fn four_breakpoints_pass_and_five_do_not() {
    let mark = json!({"type": "ephemeral"});
    let mut body = good();
    for place in ["/tools/0", "/messages/0/content/0", "/messages/2/content/2"] {
        body.pointer_mut(place).unwrap()["cache_control"] = mark.clone();
    }
    assert_eq!(request(&body, FACTS), Ok(()));

    body["tools"][1]["cache_control"] = mark;
    assert_eq!(
        request(&body, FACTS).unwrap_err(),
        "A maximum of 4 blocks with cache_control may be provided. Found 5."
    );
}

#[test]
fn counting_takes_no_max_tokens_and_only_an_end_may_be_empty() {
    let counting = Facts { counting: true, ..FACTS };
    let mut body = good();
    body.as_object_mut().unwrap().remove("max_tokens");
    assert_eq!(request(&body, counting), Ok(()));

    let mut body = good();
    body["messages"][4]["content"] = json!([]);
    assert_eq!(request(&body, FACTS), Ok(()));
    body["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": "on"}));
    assert!(request(&body, FACTS).unwrap_err().starts_with("messages.4: all messages"));
}

/// What the real service took must pass here.
#[test]
fn every_recorded_request_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/messages-api");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let recording: Option<Value> = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let exchanges = recording.as_ref().and_then(|recording| recording["interactions"].as_array());
        for exchange in exchanges.into_iter().flatten().filter(|exchange| exchange["response"]["status"] == 200) {
            let counting = exchange["request"]["path"].as_str().is_some_and(|path| path.ends_with("count_tokens"));
            if exchange["request"]["body"].is_object() {
                let result =
                    request(&exchange["request"]["body"], Facts { key: "some-long-key", counting, betas: true });
                assert_eq!(result, Ok(()), "{}", path.display());
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 45);
}
