//! Values of ours that must not reach a disk or an agent, such as the key, taken out of texts in one way.

use std::fmt;

use serde_json::Value;

/// What stands in a text where a secret was.
pub const HIDDEN: &str = "[secret left out]";

/// Shorter values are left alone: hiding every `a` would make a record unreadable and protect nothing.
const SHORTEST: usize = 6;

/// Each secret as it is and as JSON inside a string spells it, longest first.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Takes the values.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let long = values.into_iter().filter(|value| value.len() >= SHORTEST);
        let mut forms: Vec<String> = long.flat_map(|value| [escaped(&value), value]).collect();
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        forms.dedup();
        Self(forms)
    }

    /// Returns the text without them.
    pub fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), HIDDEN),
            false => text,
        })
    }

    /// Returns bytes, of which not all need be text, without them.
    pub fn hide_in(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.iter().fold(bytes.to_owned(), |bytes, secret| without(bytes, secret.as_bytes()))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Secrets({} forms)", self.0.len())
    }
}

fn without(bytes: Vec<u8>, secret: &[u8]) -> Vec<u8> {
    let next = |from: usize| bytes[from..].windows(secret.len()).position(|window| window == secret);
    let (mut kept, mut from) = (Vec::new(), 0);
    while let Some(at) = next(from) {
        kept.extend_from_slice(&bytes[from..from + at]);
        kept.extend_from_slice(HIDDEN.as_bytes());
        from += at + secret.len();
    }
    if from == 0 {
        return bytes;
    }
    kept.extend_from_slice(&bytes[from..]);
    kept
}

fn escaped(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_in_text_and_bytes_also_as_json_spells_it() {
        let secrets = Secrets::new(["sk-\"quoted\"-0123".to_owned()]);
        for text in ["a sk-\"quoted\"-0123 b sk-\"quoted\"-0123", "a sk-\\\"quoted\\\"-0123 b sk-\"quoted\"-0123"] {
            assert_eq!(secrets.hide(text), "a [secret left out] b [secret left out]");
            let bytes = [b"\xff\0", text.as_bytes(), b"\xfe"].concat();
            assert_eq!(secrets.hide_in(&bytes), b"\xff\0a [secret left out] b [secret left out]\xfe");
        }
        assert_eq!(format!("{secrets:?}"), "Secrets(2 forms)");
    }

    #[test]
    fn what_is_no_secret_or_too_short_stays() {
        let secrets = Secrets::new(["short".to_owned(), String::new(), "long enough".to_owned()]);
        assert_eq!(secrets.hide("short and long"), "short and long");
        assert_eq!(secrets.hide_in(b"short and long"), b"short and long");
        assert_eq!(secrets.hide_in(b"tiny"), b"tiny");
    }
}
