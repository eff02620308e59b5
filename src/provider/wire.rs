//! The wire form: a request as JSON, and the service's errors.

use super::Request;
use crate::message::Message;
use serde_json::Value;
use serde_json::json;
use std::fmt;

/// The most cache breakpoints a request may carry.
pub(super) const MOST_BREAKPOINTS: usize = 4;

/// Fields of a body that a count of its tokens does not take.
pub(super) const NOT_COUNTED: [&str; 2] = ["max_tokens", "stream"];

/// Blocks the service takes a cache breakpoint on; thinking is not among them.
pub(super) const CACHEABLE: [&str; 5] = ["text", "image", "document", "tool_use", "tool_result"];

/// Renders a request as the body the service takes.
pub(super) fn body(request: &Request) -> Value {
    let mut body = json!({"model": request.model, "max_tokens": request.max_tokens, "stream": true});
    if !request.tools.is_empty() {
        body["tools"] = json!(request.tools);
    }
    if !request.system.is_empty() {
        body["system"] = json!(request.system);
    }
    body["messages"] = request.messages.iter().filter_map(message).collect();
    mark_for_cache(&mut body);
    body
}

/// Renders a message; one without content is left out.
///
/// The model sometimes says nothing, or an empty text, and the service refuses to take that back.
fn message(message: &Message) -> Option<Value> {
    let mut json = message.to_json();
    let blocks = json["content"].as_array_mut()?;
    blocks.retain(|block| block["type"] != "text" || block["text"] != "");
    (!blocks.is_empty()).then_some(json)
}

/// Puts cache breakpoints on the stable prefix: after the system text, after the two newest user messages, and after the
/// first.
///
/// The newest one is written with this request and read with the next, as the second newest then: so it is found however
/// many blocks a turn adds, though the service looks back over twenty only. The first message stays when old tool results
/// behind it are cleared.
fn mark_for_cache(body: &mut Value) {
    let mut left = MOST_BREAKPOINTS.saturating_sub(breakpoints(body));
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let users = messages.iter().enumerate().filter(|(_, message)| message["role"] == "user").map(|(index, _)| index);
    let places: Vec<String> =
        users.clone().rev().take(2).chain(users.take(1)).map(|index| format!("/messages/{index}/content")).collect();
    for place in std::iter::once("/system".to_owned()).chain(places) {
        let blocks = body.pointer_mut(&place).and_then(Value::as_array_mut);
        let Some(block) = blocks.and_then(|blocks| blocks.iter_mut().rev().find(|block| cacheable(block))) else {
            continue;
        };
        if left > 0 && block.get("cache_control").is_none() {
            block["cache_control"] = json!({"type": "ephemeral"});
            left -= 1;
        }
    }
}

fn cacheable(block: &Value) -> bool {
    let kind = block["type"].as_str().unwrap_or_default();
    CACHEABLE.contains(&kind) && block["text"] != ""
}

/// Counts the cache breakpoints in a body, or in a part of one.
pub(super) fn breakpoints(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(breakpoints).sum(),
        Value::Object(fields) => {
            let here = usize::from(fields.get("cache_control").is_some_and(Value::is_object));
            // The input of a tool call is the model's own text.
            here + fields.iter().filter(|(key, _)| *key != "input").map(|(_, value)| breakpoints(value)).sum::<usize>()
        }
        _ => 0,
    }
}

/// An error as the service tells it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ServiceError {
    /// `error.type`; empty when the body was none of the service's.
    pub kind: String,
    pub message: String,
    /// `error.details.error_code`; empty when there is none.
    pub code: String,
}

impl ServiceError {
    /// Reads an error body; one that is not JSON, as proxies send it, gives its first characters as message.
    pub(super) fn from_body(body: &[u8]) -> Self {
        let json = serde_json::from_slice(body).ok().filter(|body: &Value| body["error"].is_object());
        json.map(|body| Self::from_json(&body))
            .unwrap_or_else(|| Self { message: excerpt(&String::from_utf8_lossy(body)), ..Self::default() })
    }

    /// Reads an error as JSON.
    pub(super) fn from_json(body: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let error = &body["error"];
        Self {
            kind: text(&error["type"]),
            message: text(&error["message"]),
            code: text(&error["details"]["error_code"]),
        }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind.is_empty() { "error" } else { &self.kind };
        let message = if self.message.is_empty() { "no message" } else { &self.message };
        write!(formatter, "`{kind}`: {message}")
    }
}

/// Returns the start of a text on one line.
fn excerpt(text: &str) -> String {
    const MOST: usize = 200;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::text_block;

    fn conversation() -> Request {
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let call = json!({"type": "tool_use", "id": "t1", "name": "bash", "input": {"cache_control": {}}});
        let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "ok"});
        Request {
            model: "m".to_owned(),
            max_tokens: 5,
            system: vec![text_block("one"), text_block("two")],
            messages: vec![
                Message::user(vec![text_block("first")]),
                Message::assistant(vec![thinking, call]),
                Message::user(vec![result]),
            ],
            ..Request::default()
        }
    }

    #[test]
    fn a_request_is_rendered_with_breakpoints_after_the_stable_prefix() {
        let mark = json!({"type": "ephemeral"});
        let expected = json!({
            "model": "m", "max_tokens": 5, "stream": true,
            "system": [{"type": "text", "text": "one"}, {"type": "text", "text": "two", "cache_control": mark}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "first", "cache_control": mark}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "bash", "input": {"cache_control": {}}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "ok", "cache_control": mark},
                ]},
            ],
        });

        assert_eq!(body(&conversation()), expected);
    }

    #[test]
    fn an_empty_text_of_the_model_and_an_empty_message_are_not_sent_back() {
        let mut request = conversation();
        request.messages[1].content.insert(0, text_block(""));
        request.messages.insert(1, Message::assistant(Vec::new()));

        let messages = body(&request)["messages"].clone();

        let roles: Vec<&str> = messages.as_array().unwrap().iter().filter_map(|one| one["role"].as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert_eq!(messages[1]["content"][0]["type"], "thinking");
    }

    #[test]
    fn thinking_and_empty_text_never_carry_a_breakpoint() {
        let mut request = conversation();
        request.messages = vec![Message::user(vec![
            text_block("kept"),
            text_block(""),
            json!({"type": "redacted_thinking", "data": "x"}),
        ])];

        let body = body(&request);

        assert!(body["messages"][0]["content"][0]["cache_control"].is_object());
        assert_eq!(breakpoints(&body), 2);
    }

    #[test]
    fn breakpoints_of_the_caller_count_towards_the_four() {
        let mut request = conversation();
        let tool = |name: &str| json!({"name": name, "input_schema": {}, "cache_control": {"type": "ephemeral"}});
        request.tools = vec![tool("a"), tool("b"), tool("c")];

        let body = body(&request);

        assert_eq!(breakpoints(&body), MOST_BREAKPOINTS);
        assert!(body["system"][1]["cache_control"].is_object(), "the oldest prefix comes first");
    }

    #[test]
    fn an_error_body_is_read_with_its_code() {
        let body =
            br#"{"type":"error","error":{"type":"rate_limit_error","message":"slow","details":{"error_code":"x"}}}"#;
        let expected = ServiceError { kind: "rate_limit_error".into(), message: "slow".into(), code: "x".into() };

        assert_eq!(ServiceError::from_body(body), expected);
    }

    #[test]
    fn an_error_body_of_a_proxy_gives_its_first_words() {
        let error = ServiceError::from_body(b"<html>\n  <h1>502  Bad Gateway</h1>\xff");

        assert_eq!(error.to_string(), "`error`: <html> <h1>502 Bad Gateway</h1>\u{fffd}");
        assert_eq!(ServiceError::from_body("ä".repeat(500).as_bytes()).message.chars().count(), 201);
    }
}
