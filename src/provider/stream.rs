//! The stream of one reply: events become the message the service would have sent whole.
//!
//! Unknown blocks, deltas and events survive; a reply exists only once `message_stop` arrived. Whether a broken reply
//! is asked for again is decided in `retry`.

use super::sse::EventReader;
use super::sse::RawEvent;
use super::wire::ServiceError;
use crate::message::Reply;
use crate::message::StopReason;
use crate::message::Usage;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::fmt;

/// The largest event taken.
pub const EVENT_LIMIT: usize = 8 << 20;

/// The largest reply taken.
pub const REPLY_LIMIT: usize = 32 << 20;

/// Why a stream gave no reply.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Broken {
    /// The service sent an error in the stream.
    Service(ServiceError),
    /// The stream ended early or does not hold together; the text says where.
    Damaged(String),
    /// The reply is larger than allowed.
    TooLarge(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(error) => write!(formatter, "{error}"),
            Self::Damaged(what) | Self::TooLarge(what) => formatter.write_str(what),
        }
    }
}

/// Builds one reply from the bytes of its stream.
#[derive(Debug)]
pub struct ReplyReader {
    events: EventReader,
    size: usize,
    reply_limit: usize,
    message: Option<Map<String, Value>>,
    blocks: Vec<Block>,
    whole: bool,
}

/// A content block under way.
#[derive(Debug)]
struct Block {
    index: u64,
    value: Map<String, Value>,
    /// The input of a tool call, as text until the reply is whole.
    input: String,
    open: bool,
}

impl Default for ReplyReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplyReader {
    /// Makes a reader with the usual limits.
    pub fn new() -> Self {
        Self::with_limits(EVENT_LIMIT, REPLY_LIMIT)
    }

    /// Makes a reader with other limits, in bytes.
    pub fn with_limits(event: usize, reply: usize) -> Self {
        Self {
            events: EventReader::new(event),
            size: 0,
            reply_limit: reply,
            message: None,
            blocks: Vec::new(),
            whole: false,
        }
    }

    /// Takes bytes in any split.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        self.size += bytes.len();
        if self.size > self.reply_limit {
            return Err(Broken::TooLarge(format!("a reply larger than {} bytes", self.reply_limit)));
        }
        let events =
            self.events.feed(bytes).map_err(|_| Broken::TooLarge("an event above the size limit".to_owned()))?;
        events.iter().try_for_each(|event| self.take(event))
    }

    /// Tells whether `message_stop` arrived; what follows it is passed over.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Ends the stream and returns the reply.
    pub fn finish(mut self) -> Result<Reply, Broken> {
        if let Some(event) = self.events.finish() {
            self.take(&event)?;
        }
        let seen = self.blocks.len();
        match self.message {
            Some(message) if self.whole => Ok(reply(message, self.blocks)),
            Some(_) => Err(damaged(format!("the stream ended without `message_stop`, in content block {seen}"))),
            None => Err(damaged("the stream ended before `message_start`")),
        }
    }

    fn take(&mut self, event: &RawEvent) -> Result<(), Broken> {
        // Events of a later version, events without a name and the `[DONE]` of some gateways may hold anything.
        const KNOWN: [&str; 7] = [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
            "error",
        ];
        if self.whole || !KNOWN.contains(&event.name.as_str()) {
            return Ok(());
        }
        let data: Value = serde_json::from_slice(&event.data)
            .map_err(|error| damaged(format!("the event `{}` holds no JSON: {error}", event.name)))?;
        match event.name.as_str() {
            "message_start" => self.start(&data),
            "content_block_start" => self.start_block(&data),
            "content_block_delta" => self.block(&data)?.apply(&data["delta"]),
            "content_block_stop" => self.block(&data).map(|block| block.open = false),
            "message_delta" => self.finish_message(&data),
            "message_stop" => self.stop(),
            _ => Err(Broken::Service(ServiceError::from_json(&data))),
        }
    }

    fn start(&mut self, data: &Value) -> Result<(), Broken> {
        let message = data["message"].as_object().ok_or_else(|| damaged("`message_start` without a message"))?;
        match &self.message {
            None => self.message = Some(message.clone()),
            // Some proxies send it twice; a reply that began anew in the middle would mix two replies.
            Some(first) if self.blocks.is_empty() && first.get("id") == message.get("id") => {}
            Some(_) => return Err(damaged("a second message began within the reply")),
        }
        Ok(())
    }

    fn start_block(&mut self, data: &Value) -> Result<(), Broken> {
        self.started()?;
        let index = data["index"].as_u64().ok_or_else(|| damaged("a content block without an index"))?;
        let value = data["content_block"].as_object().ok_or_else(|| damaged("an empty `content_block_start`"))?;
        if self.blocks.iter().any(|block| block.index == index) {
            return Err(damaged(format!("content block {index} began twice")));
        }
        self.blocks.push(Block { index, value: value.clone(), input: String::new(), open: true });
        Ok(())
    }

    fn block(&mut self, data: &Value) -> Result<&mut Block, Broken> {
        let index = data["index"].as_u64().unwrap_or(u64::MAX);
        self.blocks
            .iter_mut()
            .find(|block| block.index == index && block.open)
            .ok_or_else(|| damaged(format!("an event for content block {}, which is not open", data["index"])))
    }

    fn finish_message(&mut self, data: &Value) -> Result<(), Broken> {
        let message = self.started()?;
        let event = data.as_object().into_iter().flatten().filter(|(key, _)| !is_framing(key));
        for (key, value) in data["delta"].as_object().into_iter().flatten().chain(event) {
            message.insert(key.clone(), value.clone());
        }
        if let Some(newer) = data["usage"].as_object() {
            let usage = message.entry("usage").or_insert_with(|| json!({}));
            merge_usage(usage, newer);
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Broken> {
        self.started()?;
        self.whole = true;
        Ok(())
    }

    fn started(&mut self) -> Result<&mut Map<String, Value>, Broken> {
        self.message.as_mut().ok_or_else(|| damaged("an event came before `message_start`"))
    }
}

/// Tells which keys of `message_delta` belong to the event and not to the message.
fn is_framing(key: &str) -> bool {
    matches!(key, "type" | "delta" | "usage")
}

/// Overwrites the counters: they are running totals, and a null says nothing.
fn merge_usage(usage: &mut Value, newer: &Map<String, Value>) {
    if !usage.is_object() {
        *usage = json!({});
    }
    for (key, value) in newer.iter().filter(|(_, value)| !value.is_null()) {
        usage[key.as_str()] = value.clone();
    }
}

impl Block {
    fn apply(&mut self, delta: &Value) -> Result<(), Broken> {
        let delta = delta.as_object().ok_or_else(|| damaged("an empty `content_block_delta`"))?;
        match delta.get("type").and_then(Value::as_str).unwrap_or_default() {
            "input_json_delta" => self.input.push_str(text(delta, "partial_json")),
            "text_delta" => self.append("text", text(delta, "text")),
            "thinking_delta" => self.append("thinking", text(delta, "thinking")),
            "citations_delta" => self.push_citation(delta.get("citation").cloned().unwrap_or_default()),
            // A signature comes whole, and so does a compaction; of an unknown delta that is the best guess.
            _ => {
                let fields = delta.iter().filter(|(key, _)| *key != "type");
                self.value.extend(fields.map(|(key, value)| (key.clone(), value.clone())));
            }
        }
        Ok(())
    }

    fn append(&mut self, key: &str, more: &str) {
        match self.value.get_mut(key) {
            Some(Value::String(text)) => text.push_str(more),
            _ => drop(self.value.insert(key.to_owned(), Value::String(more.to_owned()))),
        }
    }

    fn push_citation(&mut self, citation: Value) {
        match self.value.get_mut("citations") {
            Some(Value::Array(citations)) => citations.push(citation),
            _ => drop(self.value.insert("citations".to_owned(), Value::Array(vec![citation]))),
        }
    }

    fn into_value(mut self, cut_off: bool) -> Value {
        let has_input = self.value.contains_key("input") || !self.input.is_empty();
        if has_input && !self.input.trim().is_empty() {
            self.value.insert("input".to_owned(), tool_input(&self.input, cut_off));
        } else if has_input && !self.value.get("input").is_some_and(Value::is_object) {
            self.value.insert("input".to_owned(), json!({}));
        }
        Value::Object(self.value)
    }
}

/// Reads the input of a tool call.
///
/// A call that was cut off keeps the part that was whole, so that the model sees what it was writing; it must not be
/// run. Other text that is no object is kept under a key that no tool takes: the call goes back to the model as an
/// error and not to the service as a block it refuses.
fn tool_input(text: &str, cut_off: bool) -> Value {
    let whole = serde_json::from_str(text).ok();
    let part = if cut_off { closed(text).and_then(|text| serde_json::from_str(&text).ok()) } else { None };
    whole.or(part).filter(Value::is_object).unwrap_or_else(|| json!({"INVALID_JSON": text}))
}

/// Closes a piece of JSON after its last whole value.
fn closed(text: &str) -> Option<String> {
    let mut closers = Vec::new();
    let (mut in_string, mut escaped, mut is_key) = (false, false, false);
    // Every change of `closers` moves this on, so at the end they belong together.
    let mut safe = None;
    for (at, character) in text.char_indices() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            if !in_string && !is_key {
                safe = Some(at + 1);
            }
            continue;
        }
        match character {
            '"' => in_string = true,
            '{' | '[' => {
                closers.push(if character == '{' { '}' } else { ']' });
                is_key = character == '{';
                safe = Some(at + 1);
            }
            '}' | ']' => {
                closers.pop();
                is_key = false;
                safe = Some(at + 1);
            }
            ':' => is_key = false,
            ',' => {
                safe = Some(at);
                is_key = closers.last() == Some(&'}');
            }
            _ => {}
        }
    }
    safe.map(|end| text[..end].chars().chain(closers.into_iter().rev()).collect())
}

/// Takes a message that came whole, without a stream.
pub fn whole(message: Value) -> Result<Reply, Broken> {
    match message {
        Value::Object(message) if message.get("content").is_some_and(Value::is_array) => Ok(with_totals(message)),
        Value::Object(error) if error.contains_key("error") => {
            Err(Broken::Service(ServiceError::from_json(&Value::Object(error))))
        }
        _ => Err(damaged("the answer is JSON, but no message")),
    }
}

fn reply(mut message: Map<String, Value>, blocks: Vec<Block>) -> Reply {
    let stop_reason = StopReason::parse(text(&message, "stop_reason"));
    let cut_off = matches!(stop_reason, StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Refusal);
    let content = blocks.into_iter().map(|block| block.into_value(cut_off)).collect();
    message.insert("content".to_owned(), Value::Array(content));
    with_totals(message)
}

fn with_totals(message: Map<String, Value>) -> Reply {
    let stop_reason = StopReason::parse(text(&message, "stop_reason"));
    let counter = |key: &str| message.get("usage").and_then(|usage| usage[key].as_u64()).unwrap_or(0);
    let usage = Usage {
        input: counter("input_tokens"),
        output: counter("output_tokens"),
        cache_write: counter("cache_creation_input_tokens"),
        cache_read: counter("cache_read_input_tokens"),
    };
    Reply { raw: Value::Object(message), stop_reason, usage }
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn damaged(what: impl Into<String>) -> Broken {
    Broken::Damaged(what.into())
}
