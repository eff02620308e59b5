//! The stream of one reply: events become the message the service would have sent whole.
//!
//! Unknown blocks, deltas and events survive; a reply exists only once `message_stop` arrived. Whether a broken reply
//! is asked for again is decided in `retry`.

use super::input::read_json;
use super::input::tool_input;
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

/// Events of a later version, events without a name and the `[DONE]` of some gateways may hold anything.
const KNOWN: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

/// Builds one reply from the bytes of its stream.
#[derive(Debug)]
pub struct ReplyReader {
    events: EventReader,
    size: usize,
    /// How often something of the reply came.
    told: usize,
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
            told: 0,
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
        for event in &events {
            self.told += usize::from(self.take(event)?);
        }
        Ok(())
    }

    /// Tells whether `message_stop` arrived; what follows it is passed over.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns how often something of the reply came. Pings, comments and blank lines are nothing of it, nor are the bytes of an
    /// event that is not whole, and events that bring nothing.
    pub fn told(&self) -> usize {
        self.told
    }

    /// Returns what the stream told so far of the tokens used.
    pub fn usage(&self) -> Usage {
        self.message.as_ref().and_then(|message| message.get("usage")).map(Usage::paid).unwrap_or_default()
    }

    /// Ends the stream and returns the reply.
    pub fn finish(mut self) -> Result<Reply, Broken> {
        if let Some(event) = self.events.finish() {
            self.take(&event)?;
        }
        let seen = self.blocks.len();
        match self.message {
            Some(message) if self.whole => finished(reply(message, self.blocks)),
            Some(_) => Err(damaged(format!("the stream ended without `message_stop`, in content block {seen}"))),
            None => Err(damaged("the stream ended before `message_start`")),
        }
    }

    /// Takes an event and tells whether it brought something.
    fn take(&mut self, event: &RawEvent) -> Result<bool, Broken> {
        if self.whole || !KNOWN.contains(&event.name.as_str()) {
            return Ok(false);
        }
        let data: Value = read_json(&event.data)
            .map_err(|error| damaged(format!("the event `{}` holds no JSON: {error}", event.name)))?;
        match event.name.as_str() {
            "message_start" => self.start(&data),
            "content_block_start" => self.start_block(&data).map(|()| true),
            "content_block_delta" => self.block(&data)?.apply(&data["delta"]).map(|()| brings(&data["delta"])),
            "content_block_stop" => self.block(&data).map(|block| std::mem::take(&mut block.open)),
            "message_delta" => self.finish_message(&data),
            "message_stop" => self.stop().map(|()| true),
            _ => Err(Broken::Service(ServiceError::from_json(&data))),
        }
    }

    fn start(&mut self, data: &Value) -> Result<bool, Broken> {
        let message = data["message"].as_object().ok_or_else(|| damaged("`message_start` without a message"))?;
        match &self.message {
            None => self.message = Some(message.clone()),
            // Some proxies send it twice; a reply that began anew in the middle would mix two replies.
            Some(first) if self.blocks.is_empty() && first.get("id") == message.get("id") => return Ok(false),
            Some(_) => return Err(damaged("a second message began within the reply")),
        }
        Ok(true)
    }

    fn start_block(&mut self, data: &Value) -> Result<(), Broken> {
        self.started()?;
        let index = data["index"].as_u64().ok_or_else(|| damaged("a content block without an index"))?;
        let value = data["content_block"].as_object().ok_or_else(|| damaged("an empty `content_block_start`"))?;
        // The service would take none of these back.
        if text(value, "type").is_empty() {
            return Err(damaged("a content block without a type"));
        }
        if is_call(value) && (text(value, "id").is_empty() || text(value, "name").is_empty()) {
            return Err(damaged("a tool call without id or name"));
        }
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

    fn finish_message(&mut self, data: &Value) -> Result<bool, Broken> {
        let message = self.started()?;
        let before = message.clone();
        let event = data.as_object().into_iter().flatten().filter(|(key, _)| !is_framing(key));
        for (key, value) in data["delta"].as_object().into_iter().flatten().chain(event) {
            message.insert(key.clone(), value.clone());
        }
        if let Some(newer) = data["usage"].as_object() {
            let usage = message.entry("usage").or_insert_with(|| json!({}));
            merge_usage(usage, newer);
        }
        Ok(*message != before)
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

/// Tells whether a delta brings anything: one without a text comes from gateways that only keep the connection alive.
fn brings(delta: &Value) -> bool {
    let fields = delta.as_object().into_iter().flatten().filter(|(key, _)| *key != "type");
    fields.map(|(_, value)| value).any(|value| !value.is_null() && value.as_str() != Some(""))
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
            _ if delta.contains_key("partial_json") => {
                return Err(damaged("a piece of input that is not named as one"));
            }
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
        let has_input = self.value.contains_key("input") || !self.input.is_empty() || is_call(&self.value);
        if has_input && !self.input.trim().is_empty() {
            self.value.insert("input".to_owned(), tool_input(&self.input, cut_off));
        } else if has_input && !self.value.get("input").is_some_and(Value::is_object) {
            self.value.insert("input".to_owned(), json!({}));
        }
        Value::Object(self.value)
    }
}

/// Takes a message that came whole, without a stream.
pub fn whole(message: Value) -> Result<Reply, Broken> {
    match message {
        Value::Object(message) if message.get("content").is_some_and(Value::is_array) => {
            finished(Reply::of(Value::Object(message)))
        }
        Value::Object(error) if error.contains_key("error") => {
            Err(Broken::Service(ServiceError::from_json(&Value::Object(error))))
        }
        _ => Err(damaged("the answer is JSON, but no message")),
    }
}

/// Takes a reply that tells why it ended; what a proxy drops of one could be anything.
fn finished(reply: Reply) -> Result<Reply, Broken> {
    if reply.stop_reason.as_str().is_empty() {
        return Err(damaged("the reply ended without a `stop_reason`"));
    }
    Ok(reply)
}

fn reply(mut message: Map<String, Value>, blocks: Vec<Block>) -> Reply {
    let stop_reason = StopReason::parse(text(&message, "stop_reason"));
    let cut_off = matches!(stop_reason, StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Refusal);
    let content = blocks.into_iter().map(|block| block.into_value(cut_off)).collect();
    message.insert("content".to_owned(), Value::Array(content));
    Reply::of(Value::Object(message))
}

fn is_call(block: &Map<String, Value>) -> bool {
    text(block, "type") == "tool_use"
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn damaged(what: impl Into<String>) -> Broken {
    Broken::Damaged(what.into())
}

#[cfg(test)]
mod tests;
