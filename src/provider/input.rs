//! The input of a tool call, which a stream brings as pieces of JSON text.

use serde_json::Value;
use serde_json::json;

/// Reads the input of a tool call.
///
/// A call that was cut off keeps the part that was whole, so that the model sees what it was writing; it must not be
/// run. Other text that is no object is kept under a key that no tool takes: the call goes back to the model as an
/// error and not to the service as a block it refuses.
pub(super) fn tool_input(text: &str, cut_off: bool) -> Value {
    let whole = read_json(text.as_bytes()).ok();
    let part = if cut_off { closed(text).and_then(|text| serde_json::from_str(&text).ok()) } else { None };
    whole.or(part).filter(Value::is_object).unwrap_or_else(|| json!({"INVALID_JSON": text}))
}

/// Reads JSON. Half of a surrogate pair stands for no letter, and is replaced: some proxies cut texts between the halves.
pub(super) fn read_json(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text).or_else(|error| {
        let mended = without_halves(text);
        if mended == text { Err(error) } else { serde_json::from_slice(&mended) }
    })
}

fn without_halves(text: &[u8]) -> Vec<u8> {
    let mut mended = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        let (put, taken): (Option<&[u8]>, usize) = match (escaped(rest), escaped(rest.get(6..).unwrap_or_default())) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (None, 12),
            (Some(0xD800..=0xDFFF), _) => (Some(b"\\ufffd"), 6),
            (Some(_), _) => (None, 6),
            // Whatever follows a backslash belongs to it.
            (None, _) => (None, if *first == b'\\' { 2 } else { 1 }),
        };
        let (kept, next) = rest.split_at(taken.min(rest.len()));
        mended.extend_from_slice(put.unwrap_or(kept));
        rest = next;
    }
    mended
}

/// Returns the unit that an escape at the beginning stands for.
fn escaped(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_surrogate_pair_is_replaced_and_whole_ones_stay() {
        let read = |text: &str| read_json(format!("\"{text}\"").as_bytes()).ok();
        assert_eq!(read(r"a\ud83d"), Some(json!("a\u{fffd}")));
        assert_eq!(read(r"\ude00 \ud83d\ud83d\ude00"), Some(json!("\u{fffd} \u{fffd}\u{1f600}")));
        assert_eq!(read(r"\ud83d\\ude00"), Some(json!("\u{fffd}\\ude00")), "an escaped backslash begins no escape");
        assert_eq!(read(r"\ud83"), None);
        assert_eq!(tool_input(r#"{"a": "\udc00"}"#, false), json!({"a": "\u{fffd}"}));
    }

    #[test]
    fn whole_input_is_read_as_it_is() {
        for cut_off in [false, true] {
            assert_eq!(tool_input(r#" {"a": [1, {"b": 1.50}]} "#, cut_off).to_string(), r#"{"a":[1,{"b":1.50}]}"#);
        }
    }

    #[test]
    fn a_cut_off_call_keeps_its_whole_values() {
        let cases = [
            (r#"{"#, r#"{}"#),
            (r#"{"a"#, r#"{}"#),
            (r#"{"a":"#, r#"{}"#),
            (r#"{"a": "x"#, r#"{}"#),
            (r#"{"a": "x\\"#, r#"{}"#),
            (r#"{"a": "x\""#, r#"{}"#),
            (r#"{"a": "x""#, r#"{"a":"x"}"#),
            (r#"{"a": "x", "b"#, r#"{"a":"x"}"#),
            (r#"{"a": 12"#, r#"{}"#),
            (r#"{"a": 12, "b": tr"#, r#"{"a":12}"#),
            (r#"{"a": {"b": [1, 2, "c"#, r#"{"a":{"b":[1,2]}}"#),
            (r#"{"a": [[], {}"#, r#"{"a":[[],{}]}"#),
            (r#"{"a": "ä, }", "b": ["ö"#, r#"{"a":"ä, }","b":[]}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(tool_input(text, true).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn text_that_is_no_object_goes_back_as_it_is() {
        for text in [r#"{"a": "x"#, r#"{"a": }"#, "[1]", "7", "nonsense"] {
            assert_eq!(tool_input(text, false), json!({"INVALID_JSON": text}));
        }
        for text in ["}", "]]", "[1, 2", "nonsense", "{{{"] {
            assert_eq!(tool_input(text, true), json!({"INVALID_JSON": text}), "{text}");
        }
    }

    #[test]
    fn a_million_open_brackets_are_refused_at_once() {
        let text = "[".repeat(1_000_000);
        assert_eq!(tool_input(&text, true), json!({"INVALID_JSON": text}));
    }
}
