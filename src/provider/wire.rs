//! The wire form: a request as JSON, and the service's errors.

use super::Request;
use crate::clip;
use crate::message::Message;
use crate::message::is_blank;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;
use std::borrow::Cow;
use std::fmt;

/// The most cache breakpoints a request may carry.
pub(super) const MOST_BREAKPOINTS: usize = 4;

/// Blocks the service takes a cache breakpoint on; thinking is not among them.
pub(super) const CACHEABLE: [&str; 5] = ["text", "image", "document", "tool_use", "tool_result"];

/// A request as the service takes it. All that stays as it is, is borrowed: a long conversation is not copied each turn.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    tools: &'a [Value],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Blocks<'a>,
    messages: Vec<Sent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) context_management: Option<Value>,
}

type Blocks<'a> = Vec<Cow<'a, Value>>;

#[derive(Debug, Serialize)]
struct Sent<'a> {
    role: &'static str,
    content: Blocks<'a>,
}

impl<'a> Body<'a> {
    /// Lays out a request, with its cache breakpoints.
    pub(super) fn of(request: &'a Request) -> Self {
        let mut body = Self {
            model: &request.model,
            max_tokens: Some(request.max_tokens),
            stream: Some(true),
            tools: &request.tools,
            system: request.system.iter().map(Cow::Borrowed).collect(),
            messages: request.messages.iter().filter_map(sent).collect(),
            context_management: None,
        };
        body.mark_for_cache();
        body
    }

    /// Leaves out what a count of its tokens does not take.
    pub(super) fn for_count(self) -> Self {
        Self { max_tokens: None, stream: None, ..self }
    }

    /// Renders it as JSON.
    pub(super) fn json(&self) -> Vec<u8> {
        // Only a key that is no text could not be rendered, and all keys are.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Puts cache breakpoints on the stable prefix: after the system text, after the two newest user messages, and after
    /// the first.
    ///
    /// The newest one is written with this request and read with the next, as the second newest then: so it is found
    /// however many blocks a turn adds, though the service looks back over twenty only. The first message stays when old
    /// tool results behind it are cleared.
    fn mark_for_cache(&mut self) {
        let mut left = MOST_BREAKPOINTS.saturating_sub(self.breakpoints());
        let messages = self.messages.iter().enumerate();
        let users: Vec<usize> =
            messages.filter(|(_, message)| message.role == "user").map(|(index, _)| index).collect();
        let places: Vec<usize> = users.iter().rev().take(2).chain(users.first()).copied().collect();
        mark_last(&mut self.system, &mut left);
        for index in places {
            mark_last(&mut self.messages[index].content, &mut left);
        }
    }

    fn breakpoints(&self) -> usize {
        let content = self.messages.iter().flat_map(|message| &message.content);
        let blocks = self.system.iter().chain(content).map(AsRef::as_ref);
        self.tools.iter().chain(blocks).map(breakpoints).sum()
    }
}

/// Lays out a message; one without content is left out.
///
/// The model sometimes says nothing, or a text of blanks, and the service refuses to take that back.
fn sent(message: &Message) -> Option<Sent<'_>> {
    let kept = message.content.iter().filter(|block| !is_blank(block));
    let content: Blocks = kept.map(Cow::Borrowed).collect();
    (!content.is_empty()).then(|| Sent { role: message.role.name(), content })
}

/// Puts a breakpoint on the last block that takes one, if there is any left and it has none.
fn mark_last(blocks: &mut Blocks, left: &mut usize) {
    let last = blocks.iter_mut().rev().find(|block| cacheable(block));
    let Some(block) = last.filter(|block| *left > 0 && block.get("cache_control").is_none()) else { return };
    block.to_mut()["cache_control"] = json!({"type": "ephemeral"});
    *left -= 1;
}

fn cacheable(block: &Value) -> bool {
    let kind = block["type"].as_str().unwrap_or_default();
    CACHEABLE.contains(&kind) && !is_blank(block)
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

/// Tells whether an error names the item at this place of a list, as in `tools.2: …` or `tools[2]`.
pub(super) fn names_place(message: &str, list: &str, at: usize) -> bool {
    [format!("{list}.{at}"), format!("{list}[{at}]")].iter().any(|place| {
        let after = |from: usize| message[from + place.len()..].chars().next();
        message.match_indices(place.as_str()).any(|(from, _)| !after(from).is_some_and(|c| c.is_ascii_digit()))
    })
}

/// Returns the start of a text on one line.
fn excerpt(text: &str) -> String {
    const MOST: usize = 200;
    let words: Vec<&str> = text.split_whitespace().collect();
    clip::head(&words.join(" "), MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::text_block;
    use std::sync::Arc;

    fn body(request: &Request) -> Value {
        serde_json::from_slice(&Body::of(request).json()).unwrap()
    }

    fn conversation() -> Request {
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        let call = json!({"type": "tool_use", "id": "t1", "name": "bash", "input": {"cache_control": {}}});
        let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "ok"});
        Request {
            model: "m".to_owned(),
            max_tokens: 5,
            system: vec![text_block("one"), text_block("two")],
            messages: Arc::new(vec![
                Message::user(vec![text_block("first")]),
                Message::assistant(vec![thinking, call]),
                Message::user(vec![result]),
            ]),
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
    fn an_empty_or_blank_text_of_the_model_and_an_empty_message_are_not_sent_back() {
        let mut request = conversation();
        let messages = Arc::make_mut(&mut request.messages);
        messages[1].content.insert(0, text_block(""));
        messages[1].content.insert(2, text_block("\n\n"));
        messages[1].content.push(text_block(" \t"));
        messages.insert(1, Message::assistant(Vec::new()));

        let messages = body(&request)["messages"].clone();

        let roles: Vec<&str> = messages.as_array().unwrap().iter().filter_map(|one| one["role"].as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        let blocks = messages[1]["content"].as_array().unwrap();
        let kinds: Vec<&str> = blocks.iter().filter_map(|block| block["type"].as_str()).collect();
        assert_eq!(kinds, ["thinking", "tool_use"]);
    }

    #[test]
    fn thinking_and_empty_text_never_carry_a_breakpoint() {
        let mut request = conversation();
        request.messages = Arc::new(vec![Message::user(vec![
            text_block("kept"),
            text_block(""),
            text_block("\n"),
            json!({"type": "redacted_thinking", "data": "x"}),
        ])]);

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
