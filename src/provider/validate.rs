//! Checks a request the way the service does, for the scripted model: what passes here passes there.

use super::played;
use super::wire;
use serde_json::Value;
use std::collections::BTreeSet;

/// Fields of a request body (`Messages API: request body`).
const FIELDS: [&str; 26] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "stop_sequences",
    "stream",
    "metadata",
    "cache_control",
    "service_tier",
    "speed",
    "inference_geo",
    "container",
    "diagnostics",
    "temperature",
    "top_p",
    "top_k",
    "context_management",
    "compaction",
    "thread",
    "fallbacks",
    "mcp_servers",
    "billing_policy",
];

/// Tools that the service defines itself, with the one name each may have.
const TYPED: [(&str, &str); 3] =
    [("memory_", "memory"), ("bash_", "bash"), ("text_editor_20250728", "str_replace_based_edit_tool")];

/// Fields of the blocks that a client makes or sends back.
const BLOCKS: [(&str, &[&str]); 5] = [
    ("text", &["text", "cache_control", "citations"]),
    ("tool_use", &["id", "name", "input", "caller", "toolset_name", "cache_control"]),
    ("tool_result", &["tool_use_id", "content", "is_error", "cache_control"]),
    ("thinking", &["thinking", "signature"]),
    ("redacted_thinking", &["data"]),
];

/// What the check needs to know beside the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) key: &'a str,
    /// Counting tokens takes the same body without `max_tokens`.
    pub(super) counting: bool,
    /// The request came with `anthropic-beta`.
    pub(super) betas: bool,
}

/// Checks a body; the error is what the service would say.
pub(super) fn request(body: &Value, facts: Facts<'_>) -> Result<(), String> {
    let fields = body.as_object().ok_or("the body must be a JSON object")?;
    if let Some(field) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(format!("{field}: Extra inputs are not permitted"));
    }
    ensure(facts.betas || body["context_management"].is_null(), || {
        "context_management: Extra inputs are not permitted".to_owned()
    })?;
    ensure(body["model"].as_str().is_some_and(|model| !model.is_empty()), || "model: Field required".to_owned())?;
    let max_tokens = &body["max_tokens"];
    ensure(facts.counting || max_tokens.as_u64().is_some(), || {
        "max_tokens: Input should be a whole number".to_owned()
    })?;
    ensure(facts.key.len() < 8 || !body.to_string().contains(facts.key), || "the key appears in the body".to_owned())?;
    let breakpoints = wire::breakpoints(body);
    ensure(breakpoints <= wire::MOST_BREAKPOINTS, || {
        format!(
            "A maximum of {} blocks with cache_control may be provided. Found {breakpoints}.",
            wire::MOST_BREAKPOINTS
        )
    })?;
    system(&body["system"], "system")?;
    tools(&body["tools"])?;
    messages(&body["messages"])
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

fn system(system: &Value, place: &str) -> Result<(), String> {
    for (index, block) in system.as_array().into_iter().flatten().enumerate() {
        ensure(block["type"] == "text", || format!("{place}.{index}: only text blocks are allowed"))?;
        check_block(block, &format!("{place}.{index}"))?;
    }
    ensure(system.is_null() || system.is_string() || system.is_array(), || {
        format!("{place}: should be a string or a list")
    })
}

fn tools(tools: &Value) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (index, tool) in tools.as_array().into_iter().flatten().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        let kind = tool["type"].as_str().unwrap_or("custom");
        ensure(is_name(name), || format!("tools.{index}.name: should match '^[a-zA-Z0-9_-]{{1,128}}$'"))?;
        ensure(names.insert(name), || "tools: Tool names must be unique.".to_owned())?;
        ensure(kind != "custom" || tool["input_schema"]["type"] == "object", || {
            format!("tools.{index}.custom.input_schema: a schema of type object is required")
        })?;
        let wanted = TYPED.iter().find(|(start, _)| kind.starts_with(start)).map(|(_, wanted)| *wanted);
        ensure(wanted.is_none_or(|wanted| wanted == name), || {
            format!("tools.{index}.{kind}.name: should be '{}'", wanted.unwrap_or_default())
        })?;
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

fn messages(messages: &Value) -> Result<(), String> {
    let messages = messages.as_array().filter(|messages| !messages.is_empty());
    let messages = messages.ok_or("messages: at least one message is required")?;
    ensure(messages[0]["role"] == "user", || "messages: first message must use the \"user\" role".to_owned())?;
    let last = messages.len() - 1;
    for (index, message) in messages.iter().enumerate() {
        check_message(message, index, index == last)?;
    }
    check_calls(&turns(messages))
}

fn check_message(message: &Value, index: usize, is_last: bool) -> Result<(), String> {
    let place = format!("messages.{index}");
    let role = message["role"].as_str().unwrap_or_default();
    match role {
        "user" | "assistant" => {}
        "system" => return system(&message["content"], &format!("{place}.content")),
        _ => return Err(format!("{place}.role: should be 'user', 'assistant' or 'system'")),
    }
    let content = &message["content"];
    let empty =
        content.as_str().is_some_and(|text| text.trim().is_empty()) || content.as_array().is_some_and(Vec::is_empty);
    ensure(content.is_string() || content.is_array(), || format!("{place}.content: should be a string or a list"))?;
    ensure(!empty || (is_last && role == "assistant"), || {
        format!("{place}: all messages must have non-empty content except for the optional final assistant message")
    })?;
    for (number, block) in content.as_array().into_iter().flatten().enumerate() {
        let place = format!("{place}.content.{number}");
        let kind = block["type"].as_str().unwrap_or_default();
        let allowed = match kind {
            "tool_use" | "thinking" | "redacted_thinking" | "server_tool_use" => role == "assistant",
            "tool_result" | "image" => role == "user",
            _ => true,
        };
        ensure(allowed, || format!("{place}: `{kind}` blocks are not allowed in {role} messages"))?;
        // The model itself sometimes begins with a blank, and the service takes that back.
        let blank = block["type"] == "text" && block["text"].as_str().is_some_and(|text| !text.is_empty());
        if role != "assistant" || !blank {
            check_block(block, &place)?;
        }
    }
    Ok(())
}

fn check_block(block: &Value, place: &str) -> Result<(), String> {
    let kind = block["type"].as_str().unwrap_or_default();
    ensure(!kind.is_empty(), || format!("{place}.type: Field required"))?;
    let Some((_, known)) = BLOCKS.iter().find(|(known, _)| *known == kind) else {
        return Ok(());
    };
    let mut fields = block.as_object().into_iter().flatten().map(|(field, _)| field.as_str());
    if let Some(field) = fields.find(|field| *field != "type" && !known.contains(field)) {
        return Err(format!("{place}.{kind}.{field}: Extra inputs are not permitted"));
    }
    let is_text = |field: &str| block[field].as_str().is_some_and(|text| !text.is_empty());
    match kind {
        "text" => ensure(block["text"].as_str().is_some_and(|text| !text.trim().is_empty()), || {
            format!("{place}: text content blocks must be non-empty")
        }),
        "tool_use" => {
            let named = is_text("id") && block["name"].as_str().is_some_and(is_name);
            ensure(named, || format!("{place}.tool_use: `id` and `name` are required"))?;
            ensure(block["input"].is_object(), || format!("{place}.tool_use.input: Input should be a valid dictionary"))
        }
        "tool_result" => check_result(block, place),
        "redacted_thinking" => ensure(is_text("data"), || format!("{place}.redacted_thinking.data: Field required")),
        _ => {
            let thinking = block["thinking"].as_str().ok_or_else(|| format!("{place}.thinking: Field required"))?;
            let signature = block["signature"].as_str().ok_or_else(|| format!("{place}.signature: Field required"))?;
            ensure(played::fits(thinking, signature), || format!("{place}: Invalid `signature` in `thinking` block"))
        }
    }
}

fn check_result(block: &Value, place: &str) -> Result<(), String> {
    const INNER: [&str; 5] = ["text", "image", "document", "search_result", "tool_reference"];
    let content = &block["content"];
    ensure(block["tool_use_id"].is_string(), || format!("{place}.tool_result.tool_use_id: Field required"))?;
    ensure(matches!(block["is_error"], Value::Null | Value::Bool(_)), || {
        format!("{place}.tool_result.is_error: Input should be a valid boolean")
    })?;
    ensure(content.is_null() || content.is_string() || content.is_array(), || {
        format!("{place}.tool_result.content: should be a string or a list")
    })?;
    for (index, inner) in content.as_array().into_iter().flatten().enumerate() {
        let place = format!("{place}.tool_result.content.{index}");
        ensure(INNER.iter().any(|kind| inner["type"] == *kind), || format!("{place}: this type is not allowed here"))?;
        check_block(inner, &place)?;
    }
    Ok(())
}

/// A turn of one side; the service joins messages of one role that follow each other.
struct Turn<'a> {
    role: &'a str,
    /// Where it begins, for messages.
    index: usize,
    blocks: Vec<&'a Value>,
}

fn turns(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if turns.last().is_none_or(|turn| turn.role != role) {
            turns.push(Turn { role, index, blocks: Vec::new() });
        }
        if let Some(turn) = turns.last_mut() {
            turn.blocks.extend(message["content"].as_array().into_iter().flatten());
        }
    }
    turns
}

/// Checks that each call is answered once, in the next message, before anything else, and that nothing else is.
fn check_calls(turns: &[Turn<'_>]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for turn in turns {
        let place = format!("messages.{}", turn.index);
        check_results(turn, &open, &place)?;
        open = ids(turn, "tool_use", "id");
        let repeated = open.iter().find(|id| !seen.insert(**id));
        ensure(repeated.is_none(), || format!("{place}: `tool_use` ids must be unique"))?;
    }
    let place = turns.last().map_or(0, |turn| turn.index);
    ensure(open.is_empty(), || unanswered(&format!("messages.{place}"), &open))
}

fn check_results(turn: &Turn<'_>, open: &[&str], place: &str) -> Result<(), String> {
    let results = ids(turn, "tool_result", "tool_use_id");
    if let Some(stray) = results.iter().find(|id| !open.contains(id)) {
        return Err(format!(
            "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {stray}. Each `tool_result` block must \
             have a corresponding `tool_use` block in the previous message."
        ));
    }
    let distinct: BTreeSet<_> = results.iter().collect();
    ensure(distinct.len() == results.len(), || format!("{place}: each tool_use must have a single result"))?;
    let missing: Vec<&str> = open.iter().filter(|id| !results.contains(id)).copied().collect();
    ensure(missing.is_empty(), || unanswered(place, &missing))?;
    let first = turn.blocks.iter().take(results.len());
    ensure(first.into_iter().all(|block| block["type"] == "tool_result"), || {
        format!("{place}: `tool_result` blocks must come before other content")
    })
}

fn unanswered(place: &str, ids: &[&str]) -> String {
    format!(
        "{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block \
         must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    )
}

fn ids<'a>(turn: &Turn<'a>, kind: &str, field: &str) -> Vec<&'a str> {
    let blocks = turn.blocks.iter().filter(|block| block["type"] == kind);
    blocks.map(|block| block[field].as_str().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests;
