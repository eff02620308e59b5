//! A scripted reply as the service sends it: whole, or as the events of a stream.

use super::script::Step;
use super::script::StepCall;
use super::wire;
use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

/// Marks the signatures of scripted thinking.
const SIGNED: &str = "scripted-";

/// How many characters one delta carries.
const PIECE: usize = 24;

/// Gives every message and tool call of one server its own id.
#[derive(Debug)]
pub(super) struct Ids {
    server: u32,
    given: u64,
}

impl Ids {
    /// Takes a number that no other server has, as far as possible.
    pub(super) fn new(server: u32) -> Self {
        Self { server, given: 0 }
    }

    fn next(&mut self, prefix: &str) -> String {
        self.given += 1;
        format!("{prefix}_{:08x}{:08}", self.server, self.given)
    }
}

/// Tells the signature of a piece of thinking; a changed text no longer fits it.
pub(super) fn signature(thinking: &str) -> String {
    let digest = Sha256::digest(thinking.as_bytes());
    let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{SIGNED}{digits}")
}

/// Tells whether a signature fits, or is none of ours.
pub(super) fn fits(thinking: &str, signature_sent: &str) -> bool {
    !signature_sent.starts_with(SIGNED) || signature(thinking) == signature_sent
}

/// Renders a step as a whole message. `before` is the size in tokens of the prompt before in this session.
pub(super) fn message(step: &Step, request: &Value, before: u64, ids: &mut Ids) -> Value {
    let mut content = Vec::new();
    if let Some(thinking) = &step.thinking {
        content.push(json!({"type": "thinking", "thinking": thinking, "signature": signature(thinking)}));
    }
    if let Some(text) = &step.text {
        content.push(json!({"type": "text", "text": text}));
    }
    for StepCall { name, input, id } in &step.tools {
        let id = id.clone().unwrap_or_else(|| ids.next("toolu"));
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    let usual = if step.tools.is_empty() { "end_turn" } else { "tool_use" };
    let usage = usage(step, request, before, &content);
    json!({
        "id": ids.next("msg"),
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": step.stop_reason.as_deref().unwrap_or(usual),
        "stop_sequence": null,
        "usage": usage,
    })
}

/// Estimates the tokens of a prompt from its size.
pub(super) fn prompt_tokens(request: &Value) -> u64 {
    tokens(request)
}

fn tokens(value: &Value) -> u64 {
    u64::try_from(value.to_string().len() / 4).unwrap_or(u64::MAX).max(1)
}

fn usage(step: &Step, request: &Value, before: u64, content: &[Value]) -> Value {
    let prompt = prompt_tokens(request);
    // With breakpoints all but the end of the prompt goes through the cache.
    let fresh = if wire::breakpoints(request) > 0 { prompt.min(8) } else { prompt };
    let read = before.min(prompt - fresh);
    let mut usage = json!({
        "input_tokens": fresh,
        "cache_creation_input_tokens": prompt - fresh - read,
        "cache_read_input_tokens": read,
        "output_tokens": tokens(&json!(content)),
    });
    for (key, value) in step.usage.as_object().into_iter().flatten() {
        usage[key.as_str()] = value.clone();
    }
    usage
}

/// Takes a whole message apart into the events of a stream.
pub(super) fn events(message: &Value) -> Vec<Value> {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": start}), json!({"type": "ping"})];
    for (index, block) in message["content"].as_array().into_iter().flatten().enumerate() {
        let (opened, deltas) = block_events(block);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": opened}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let end = json!({"stop_reason": message["stop_reason"], "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": end, "usage": message["usage"]}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn block_events(block: &Value) -> (Value, Vec<Value>) {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    let mut opened = block.clone();
    let deltas = match text("type") {
        "thinking" => {
            opened["thinking"] = json!("");
            opened["signature"] = json!("");
            let thought = pieces(text("thinking")).map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            thought.chain([json!({"type": "signature_delta", "signature": block["signature"]})]).collect()
        }
        "tool_use" => {
            opened["input"] = json!({});
            let input = if block["input"] == json!({}) { String::new() } else { block["input"].to_string() };
            // The service begins every input with an empty piece.
            let first = json!({"type": "input_json_delta", "partial_json": ""});
            let rest = pieces(&input).map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            std::iter::once(first).chain(rest).collect()
        }
        _ => {
            opened["text"] = json!("");
            pieces(text("text")).map(|piece| json!({"type": "text_delta", "text": piece})).collect()
        }
    };
    (opened, deltas)
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

/// Renders an event as it goes over the wire.
pub(super) fn frame(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::stream::ReplyReader;

    fn call(name: &str, input: Value) -> StepCall {
        StepCall { name: name.to_owned(), input, id: None }
    }

    fn step() -> Step {
        Step {
            thinking: Some("first I look, then I act, and then I am done".to_owned()),
            text: Some("Grüße aus dem Süden, in mehr als einem Stück".to_owned()),
            tools: vec![call("bash", json!({"command": "echo \"ä\" \\ done"})), call("next", json!({}))],
            ..Step::default()
        }
    }

    #[test]
    fn the_stream_of_a_message_gives_the_message() {
        let message = message(&step(), &json!({"model": "m"}), 0, &mut Ids::new(7));
        let mut reader = ReplyReader::new();
        for event in events(&message) {
            reader.feed(frame(&event).as_bytes()).unwrap();
        }

        let reply = reader.finish().unwrap();

        assert_eq!(reply.raw, message);
        assert_eq!(reply.stop_reason.as_str(), "tool_use");
    }

    #[test]
    fn every_call_has_its_own_id() {
        let mut ids = Ids::new(7);
        let first = message(&step(), &json!({}), 0, &mut ids);
        let second = message(&step(), &json!({}), 0, &mut ids);

        assert_eq!(first["content"][2]["id"], "toolu_0000000700000001");
        assert_eq!(second["content"][3]["id"], "toolu_0000000700000005");
    }

    #[test]
    fn usage_follows_the_sizes_and_the_cache() {
        let marked =
            json!({"system": [{"type": "text", "text": "x".repeat(400), "cache_control": {"type": "ephemeral"}}]});
        let prompt = prompt_tokens(&marked);
        let first = message(&step(), &marked, 0, &mut Ids::new(7))["usage"].clone();
        let second = message(&step(), &marked, 50, &mut Ids::new(7))["usage"].clone();

        assert!(prompt > 100);
        assert_eq!(first["cache_creation_input_tokens"], json!(prompt - 8));
        assert_eq!(first["cache_read_input_tokens"], json!(0));
        assert_eq!(second["cache_read_input_tokens"], json!(50));
        assert_eq!(second["cache_creation_input_tokens"], json!(prompt - 58));

        let own = Step { usage: json!({"output_tokens": 5}), ..step() };
        let plain = message(&own, &json!({"model": "m"}), 50, &mut Ids::new(7))["usage"].clone();
        assert_eq!((&plain["output_tokens"], &plain["cache_read_input_tokens"]), (&json!(5), &json!(0)));
    }

    #[test]
    fn a_signature_fits_only_its_own_thinking() {
        assert!(fits("a", &signature("a")));
        assert!(!fits("b", &signature("a")));
        assert!(fits("b", "a signature of somebody else"));
    }
}
