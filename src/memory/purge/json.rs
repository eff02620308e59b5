//! What is removed from JSON that longhaul reads back: it goes out of texts, and all that gives the JSON its form stays.

use crate::secrets::Secrets;

/// Keys whose texts are words of longhaul's, or times.
const FIXED: [&str; 10] =
    ["type", "at", "kind", "role", "finding", "verdict", "step", "place", "outcome", "stop_reason"];

/// JSON without the values, as far as they could be taken out of it.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Hidden {
    pub(super) bytes: Vec<u8>,
    /// Whether one stands in a key, a number or a word that has to stay.
    pub(super) left: bool,
}

/// Takes the values out of a file of JSON, or of lines of it; what is none is taken for a text.
pub(super) fn hide(bytes: &[u8], values: &Secrets) -> Hidden {
    let is_json = |text: &[u8]| {
        let begins = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
        begins && serde_json::from_slice::<serde_json::Value>(text).is_ok()
    };
    if is_json(bytes) {
        return in_texts(bytes, values);
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if !lines.iter().any(|line| is_json(line)) {
        return Hidden { bytes: values.hide_in(bytes), left: false };
    }
    let mut all = Hidden::default();
    for line in lines {
        let Hidden { bytes, left } = match is_json(line) {
            true => in_texts(line, values),
            false => Hidden { bytes: values.hide_in(line), left: false },
        };
        all.bytes.extend(bytes);
        all.left |= left;
    }
    all
}

fn in_texts(json: &[u8], values: &Secrets) -> Hidden {
    let mut hidden = Hidden::default();
    let (mut rest, mut key) = (json, String::new());
    while let Some(start) = rest.iter().position(|byte| *byte == b'"') {
        let (between, from) = rest.split_at(start);
        let (text, after) = from.split_at(end_of_text(from));
        let decoded: String = serde_json::from_slice(text).unwrap_or_default();
        let is_key = after.trim_ascii_start().starts_with(b":");
        let stays = match is_key {
            true => is_word(&decoded),
            false => between.trim_ascii() == b":" && FIXED.contains(&key.as_str()),
        };
        hidden.left |= has_number(between, values);
        hidden.bytes.extend(between);
        match without(&decoded, values) {
            Some(new) if !stays => hidden.bytes.extend(serde_json::Value::String(new).to_string().bytes()),
            found => {
                hidden.left |= found.is_some();
                hidden.bytes.extend(text);
            }
        }
        key = if is_key { decoded } else { String::new() };
        rest = after;
    }
    hidden.left |= has_number(rest, values);
    hidden.bytes.extend(rest);
    hidden
}

/// Returns the length of a text with both of its quotes.
fn end_of_text(json: &[u8]) -> usize {
    let mut at = 1;
    while at < json.len() && json[at] != b'"' {
        at += if json[at] == b'\\' { 2 } else { 1 };
    }
    json.len().min(at + 1)
}

fn without(text: &str, values: &Secrets) -> Option<String> {
    let hidden = values.hide(text);
    (hidden != text).then_some(hidden)
}

/// A key of longhaul's own is a plain word; what else stands there, such as the path of a note, was written by others.
fn is_word(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Tells whether a number there has one of the values.
fn has_number(between: &[u8], values: &Secrets) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    between.split(|byte| !is_part(byte)).any(|number| values.find(number).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::HIDDEN;

    fn without(json: &str, value: &str) -> (String, bool) {
        let Hidden { bytes, left } = hide(json.as_bytes(), &Secrets::new([value.to_owned()]));
        (String::from_utf8(bytes).unwrap(), left)
    }

    #[test]
    fn texts_go_and_the_form_stays() {
        let json = "{\n  \"secret_word\": [\"a secret_word\", 1],\n  \"b\" : {\"x\": \"secret_wor\"} }\n";
        let expected = json.replace("a secret_word", &format!("a {HIDDEN}"));
        assert_eq!(without(json, "secret_word"), (expected, true));
        assert_eq!(without(json, "nowhere"), (json.to_owned(), false), "its twin");
    }

    #[test]
    fn a_value_never_reaches_over_the_form() {
        let json = r#"{"a":"say hello","b":["x","y"]}"#;
        for value in [r#"hello""#, r#"hello","b":"#, r#"x","y"#, r#""a":"say"#] {
            assert_eq!(without(json, value), (json.to_owned(), false), "{value}");
        }
        // The twin: as the plain text that it is too, it is broken by that.
        let broken = Secrets::new([r#"hello""#.to_owned()]).hide(json);
        assert!(serde_json::from_str::<serde_json::Value>(&broken).is_err());
    }

    #[test]
    fn what_a_text_says_is_looked_at_not_how_it_is_written() {
        assert_eq!(without(r#"{"a":"x\nopass1"}"#, "nopass1"), (r#"{"a":"x\nopass1"}"#.to_owned(), false));
        let spelled = [r#"{"a":"\u006eopass1"}"#, r#"{"a":"nopass1"}"#];
        for json in spelled {
            assert_eq!(without(json, "nopass1"), (format!(r#"{{"a":"{HIDDEN}"}}"#), false));
        }
        assert_eq!(without(r#"{"a":"say \"hello\" \\ "}"#, r#""hello""#).0, format!(r#"{{"a":"say {HIDDEN} \\ "}}"#));
    }

    #[test]
    fn numbers_and_fixed_words_stay_and_are_told() {
        for json in [r#"{"a":1234567}"#, r#"{"a":[2,1234567]}"#, r#"{"type":"x1234567"}"#, r#"{"at" : "1234567"}"#] {
            assert_eq!(without(json, "1234567"), (json.to_owned(), true), "{json}");
        }
        let json = r#"{"a":[{"type":"x"},"1234567"],"type":["y"],"c":"1234567"}"#;
        assert_eq!(without(json, "1234567"), (json.replace("1234567", HIDDEN), false));
    }

    #[test]
    fn a_path_in_the_place_of_a_key_is_changed_and_a_word_is_not() {
        let json = r#"{"used":{"notes/x-secret.md":10},"secret":1}"#;
        let expected = json.replace("x-secret", &format!("x-{HIDDEN}"));
        assert_eq!(without(json, "secret"), (expected, true));
    }

    #[test]
    fn lines_are_taken_one_by_one_and_a_torn_one_is_a_text() {
        let lines = "{\"type\":\"notice\",\"text\":\"use canary\"}\n{\"type\":\"not canary";
        let expected = lines.replace("canary", HIDDEN);
        assert_eq!(without(lines, "canary"), (expected, false));
        assert_eq!(without("no JSON, a canary", "canary"), (format!("no JSON, a {HIDDEN}"), false));
    }
}
