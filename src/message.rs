//! What travels between longhaul and the model: messages, tool calls, results.
//!
//! Content blocks stay the raw JSON that came, because a changed block is refused by the service and unknown
//! ones must survive (`Messages API: versioning`).

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

/// Who speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    User,
    Assistant,
}

impl Role {
    /// Returns the service's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of the conversation.
#[derive(Clone, Debug)]
pub struct Message {
    pub role: Role,
    /// Raw content blocks, in order.
    pub content: Vec<Value>,
}

impl Message {
    /// Makes a user message of these blocks.
    pub fn user(content: Vec<Value>) -> Self {
        Self { role: Role::User, content }
    }

    /// Makes an assistant message of the blocks as they came.
    pub fn assistant(content: Vec<Value>) -> Self {
        Self { role: Role::Assistant, content }
    }
}

/// Makes a text block.
pub fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Tells whether a block is a text without a word; the service takes none back.
pub fn is_blank(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

/// A tool call in a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub input: Value,
}

impl ToolCall {
    /// Reads a `tool_use` block.
    pub fn read(block: &Value) -> Self {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        Self { id: text("id"), name: text("name"), input: block["input"].clone() }
    }
}

/// The one answer to a tool call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolResult {
    /// A string, or an array of content blocks.
    pub content: Value,
    pub is_error: bool,
}

impl ToolResult {
    /// Makes a result that worked.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Value::String(text.into()), is_error: false }
    }

    /// Makes a result that tells the model what went wrong.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: Value::String(text.into()), is_error: true }
    }

    /// Renders the result as a `tool_result` block that answers the call `id`.
    pub fn to_block(&self, id: &str) -> Value {
        let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": self.content});
        if self.is_error {
            block["is_error"] = Value::Bool(true);
        }
        block
    }

    /// Returns the text of the result, image blocks left out.
    pub fn as_text(&self) -> String {
        text_of(&self.content)
    }
}

/// Returns the text of a content: the string it is, or its text blocks, joined.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => join_text(blocks),
        _ => String::new(),
    }
}

/// Tokens of one or more replies.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_write: u64,
    pub cache_read: u64,
}

/// No window holds so many; a service that tells more tells nothing.
const MOST_TOKENS: u64 = 1_000_000_000;

impl Usage {
    /// Reads all that a reply's `usage` says was used. What the service spends on summing up it counts apart.
    pub fn paid(told: &Value) -> Self {
        let mut usage = Self::read(told);
        steps(told, "compaction").for_each(|step| usage.add(Self::read(step)));
        usage
    }

    /// Reads the counts of the newest step, which are those of the conversation as it is now.
    pub fn newest(told: &Value) -> Self {
        Self::read(steps(told, "message").last().unwrap_or(told))
    }

    fn read(told: &Value) -> Self {
        let counter = |key: &str| told[key].as_u64().filter(|count| *count <= MOST_TOKENS).unwrap_or(0);
        Self {
            input: counter("input_tokens"),
            output: counter("output_tokens"),
            cache_write: counter("cache_creation_input_tokens"),
            cache_read: counter("cache_read_input_tokens"),
        }
    }

    /// Returns the tokens of the prompts.
    pub fn prompts(&self) -> u64 {
        self.input.saturating_add(self.cache_write).saturating_add(self.cache_read)
    }

    /// Returns the share of the prompts that was read from the cache; none when nothing was asked.
    pub fn cached(&self) -> Option<f64> {
        let prompts = self.prompts();
        (prompts > 0).then(|| self.cache_read as f64 / prompts as f64)
    }

    /// Returns all tokens together.
    pub fn total(&self) -> u64 {
        self.prompts().saturating_add(self.output)
    }

    /// Adds another reply's tokens; a service may tell any number.
    pub fn add(&mut self, other: Usage) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
    }
}

/// Returns the steps of this kind in which a reply was made, where the service tells them.
fn steps<'a>(told: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    told["iterations"].as_array().into_iter().flatten().filter(move |step| step["type"] == kind)
}

/// Why the model stopped (`Messages API: stop_reason`).
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    PauseTurn,
    Refusal,
    ContextWindow,
    /// The service summed the conversation up and stopped there.
    Compaction,
    /// A value this version does not know, or none.
    Other(String),
}

impl StopReason {
    /// Reads the service's value; a missing one is `Other("")`.
    pub fn parse(value: &str) -> Self {
        match value {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "stop_sequence" => Self::StopSequence,
            "pause_turn" => Self::PauseTurn,
            "refusal" => Self::Refusal,
            "model_context_window_exceeded" => Self::ContextWindow,
            "compaction" => Self::Compaction,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns the service's value.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ContextWindow => "model_context_window_exceeded",
            Self::Compaction => "compaction",
            Self::Other(value) => value,
        }
    }
}

/// A whole reply; exists only once `message_stop` arrived.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The message as the service would have sent it without streaming.
    pub raw: Value,
    pub stop_reason: StopReason,
    /// All tokens that are paid for.
    pub usage: Usage,
    /// Tokens of the conversation with this reply at its end.
    pub context: u64,
}

impl Reply {
    /// Reads a whole message.
    pub fn of(raw: Value) -> Self {
        let stop_reason = StopReason::parse(raw["stop_reason"].as_str().unwrap_or_default());
        let told = &raw["usage"];
        let (usage, context) = (Usage::paid(told), Usage::newest(told).total());
        Self { raw, stop_reason, usage, context }
    }

    /// Returns the content blocks, unchanged.
    pub fn content(&self) -> Vec<Value> {
        self.raw["content"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the text blocks, joined.
    pub fn text(&self) -> String {
        join_text(&self.content())
    }

    /// Tells whether it is a reply to the end that says and asks for nothing: no block but thinking, blank texts, and those of kinds that are
    /// not known here.
    pub fn is_empty(&self) -> bool {
        let ends = matches!(
            self.stop_reason,
            StopReason::EndTurn | StopReason::StopSequence | StopReason::ToolUse | StopReason::Other(_)
        );
        ends && !self.content().iter().any(says)
    }

    /// Returns the calls of our own tools, in order.
    pub fn tool_calls(&self) -> Vec<ToolCall> {
        self.content().iter().filter(|block| block["type"] == "tool_use").map(ToolCall::read).collect()
    }
}

/// Tells whether a block says or asks for something.
fn says(block: &Value) -> bool {
    match block["type"].as_str().unwrap_or_default() {
        "text" => !is_blank(block),
        "compaction" | "container_upload" => true,
        kind => kind.ends_with("tool_use") || kind.ends_with("tool_result"),
    }
}

fn join_text(blocks: &[Value]) -> String {
    let texts: Vec<&str> =
        blocks.iter().filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_of_thinking_blank_texts_and_unknown_blocks_is_empty() {
        let reply = |reason: &str, content: Value| Reply::of(json!({"stop_reason": reason, "content": content}));
        let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
        for content in [
            json!([]),
            json!([text_block("")]),
            json!([thinking, text_block("\n \t\n")]),
            json!([{"type": "mystery", "x": 1}]),
        ] {
            assert!(reply("end_turn", content.clone()).is_empty(), "{content}");
            assert!(!reply("max_tokens", content).is_empty(), "what was cut off is told as that");
        }
        for block in [
            text_block("x"),
            json!({"type": "tool_use"}),
            json!({"type": "compaction"}),
            json!({"type": "server_tool_use"}),
        ] {
            assert!(!reply("end_turn", json!([thinking, block])).is_empty(), "{block}");
        }
    }
}
