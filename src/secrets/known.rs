//! The values that longhaul holds itself, in each spelling in which somebody may write them down.

use std::ops::Range;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use regex::bytes::NoExpand;
use regex::bytes::Regex;
use regex::bytes::RegexBuilder;
use serde_json::Value;

/// Shorter values are left alone: hiding every `a` would make a record unreadable and protect nothing.
const SHORTEST: usize = 6;
/// What frames a key in a file; it stands in texts about keys too, and is no secret.
const FRAME: [&str; 2] = ["-----BEGIN ", "-----END "];
/// What stands in the place of a value.
pub const HIDDEN: &str = "[secret left out]";
/// Bytes that the compiled values may take: enough for a private key in all its spellings.
const LARGEST: usize = 32 << 20;
/// A text that a person wants to find may have so many.
const LONGEST: usize = 20_000;
/// A longer value is looked for in whole lines of an encoding only; of one with lines each is short enough.
const LONG: usize = 400;
/// Letters of an encoding, from which on it tells anything.
const SHORTEST_ENCODED: usize = 8;

/// Values that must not be written down. Telling what they are in a debug text would be such a writing down.
#[derive(Clone, Default)]
pub struct Secrets(Option<Arc<Regex>>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(…)")
    }
}

impl Secrets {
    /// Takes the values to look for; very short ones are left alone.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let long = values.into_iter().filter(|value| value.len() >= SHORTEST);
        Self::of_forms(long.flat_map(|value| forms(&value)).collect())
    }

    fn of_forms(mut forms: Vec<String>) -> Self {
        // The first that fits is taken, so the longer goes before the one it begins with.
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        forms.dedup();
        let pattern = forms.join("|");
        let compile = || RegexBuilder::new(&pattern).size_limit(LARGEST).dfa_size_limit(LARGEST).build().ok();
        Self((!forms.is_empty()).then(compile).flatten().map(Arc::new))
    }

    /// Returns where the values are.
    pub fn find<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Range<usize>> + 'a {
        self.0.iter().flat_map(|values| values.find_iter(text)).map(|found| found.range())
    }

    /// Says in the place of each value that it was left out.
    pub fn hide(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.hide_in(text.as_bytes())).into_owned()
    }

    /// Does the same in what may be no text.
    pub fn hide_in(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.0 {
            Some(values) => values.replace_all(bytes, NoExpand(HIDDEN.as_bytes())).into_owned(),
            None => bytes.to_owned(),
        }
    }

    /// Does the same in each text of a value, keys included.
    pub fn hide_in_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(&text)),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.hide_in_json(item)).collect()),
            Value::Object(fields) => Value::Object(
                fields.into_iter().map(|(key, value)| (self.hide(&key), self.hide_in_json(value))).collect(),
            ),
            other => other,
        }
    }
}

/// Texts that a person wants to find.
#[derive(Clone, Debug)]
pub struct Sought {
    pub values: Secrets,
    /// Lines that are looked for within their whole text only, and why.
    pub not_alone: Vec<NotAlone>,
}

/// A line of several that is not looked for by itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotAlone {
    /// Its text, and the line in it, both from 1.
    pub text: usize,
    pub line: usize,
    pub why: Why,
}

/// Why a line is not looked for by itself.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Why {
    Short,
    /// It says that a key begins or ends.
    Frame,
}

impl Sought {
    /// Takes these texts. One with several lines is found with other line ends and blanks around its lines too, and each line
    /// by itself, as it stands in a listing. Fails with the reason where nothing could be looked for.
    pub fn of(texts: &[String]) -> Result<Self, String> {
        let (mut sought, mut not_alone) = (Vec::new(), Vec::new());
        for (text, number) in texts.iter().zip(1..) {
            let whole = text.trim();
            if whole.len() < SHORTEST {
                return Err(format!("it has less than {SHORTEST} bytes, and would be found in too much"));
            }
            if whole.len() > LONGEST {
                return Err("it is too long".to_owned());
            }
            sought.extend(forms(whole));
            let lines: Vec<(&str, usize)> = text.lines().map(str::trim).zip(1..).collect();
            if !whole.contains('\n') {
                continue;
            }
            sought.push(with_any_ends(whole));
            for (line, at) in lines.into_iter().filter(|(line, _)| !line.is_empty()) {
                match why_not_alone(line) {
                    Some(why) => not_alone.push(NotAlone { text: number, line: at, why }),
                    None => sought.extend(forms(line)),
                }
            }
        }
        let values = Secrets::of_forms(sought);
        if values.0.is_none() {
            return Err("it is too long".to_owned());
        }
        Ok(Self { values, not_alone })
    }
}

fn why_not_alone(line: &str) -> Option<Why> {
    let is_frame = FRAME.iter().any(|begin| line.starts_with(begin)) && line.ends_with("-----");
    match line.len() < SHORTEST {
        true => Some(Why::Short),
        false => is_frame.then_some(Why::Frame),
    }
}

/// Returns an expression for a text whose lines may end otherwise, and have blanks around them.
fn with_any_ends(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(in_json).collect::<Vec<_>>().join(r"(?:[ \t\r]|\\{1,2}[tr])*(?:\n|\\{1,2}n)(?:[ \t\r\n]|\\{1,2}[trn])*")
}

/// Between the bytes of hex.
const APART: &str = r"(?:[ :,-]|\\{1,2}x|, ?0x)?";
/// Where a program broke a long line, also in a string of JSON.
const BROKEN: &str = r"(?:\r?\n[ \t]*|(?:\\{1,2}r)?\\{1,2}n)?";

/// Returns expressions for one value.
fn forms(value: &str) -> Vec<String> {
    let bytes = value.as_bytes();
    let (apart, broken) = if bytes.len() > LONG { ("", "") } else { (APART, BROKEN) };
    let hex = bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(apart);
    let mut forms = vec![regex::escape(value), in_json(value), format!("(?i:{hex})"), percent(bytes)];
    for skip in 0..3 {
        let encoded = base64_inside(bytes, skip);
        if encoded.len() >= SHORTEST_ENCODED {
            forms.push(between(&encoded, broken));
            forms.push(between(&encoded.replace('+', "-").replace('/', "_"), broken));
        }
    }
    forms
}

/// Returns an expression for letters that may have this between them.
fn between(letters: &str, between: &str) -> String {
    letters.chars().map(|letter| regex::escape(&letter.to_string())).collect::<Vec<_>>().join(between)
}

/// Returns an expression for the value in a string of JSON, and in one within such a string; what may be escaped may also
/// stand as it is.
fn in_json(value: &str) -> String {
    let mut letters = String::new();
    for letter in value.chars() {
        let units =
            letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!(r"\\{{1,2}}u{unit:04x}")).collect::<String>();
        letters += &match letter {
            _ if letter.is_ascii_alphanumeric() => letter.to_string(),
            '\n' => format!(r"(?:\n|\\{{1,2}}n|(?i:{units}))"),
            '\r' => format!(r"(?:\r|\\{{1,2}}r|(?i:{units}))"),
            '\t' => format!(r"(?:\t|\\{{1,2}}t|(?i:{units}))"),
            '\\' => format!(r"(?:\\{{1,4}}|(?i:{units}))"),
            '"' | '/' => format!(r"(?:\\{{0,3}}{letter}|(?i:{units}))"),
            _ => format!("(?:{}|(?i:{units}))", regex::escape(&letter.to_string())),
        };
    }
    letters
}

/// Returns an expression for the value in an address or a form, where any of its bytes may be escaped.
fn percent(bytes: &[u8]) -> String {
    let escaped = |byte: &u8| match byte {
        b' ' => r"(?:%20|\+| )".to_owned(),
        byte => format!("(?:%(?i:{byte:02x})|{})", regex::escape(&escape_byte(*byte))),
    };
    bytes.iter().map(escaped).collect()
}

/// Bytes beyond ASCII are always escaped in an address.
fn escape_byte(byte: u8) -> String {
    if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02x}") }
}

/// Returns the letters of the base64 of any text in which the value begins after `skip` bytes, modulo three: those that do
/// not depend on its neighbours.
fn base64_inside(bytes: &[u8], skip: usize) -> String {
    let whole = STANDARD_NO_PAD.encode([&vec![0; skip][..], bytes].concat());
    let first = (skip * 8).div_ceil(6);
    let last = (skip + bytes.len()) * 8 / 6;
    whole[first..last].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "canary-key+7f/3a\"9c";

    fn known() -> Secrets {
        Secrets::new([KEY.to_owned(), "short".to_owned(), String::new()])
    }

    fn quoted(value: &str) -> String {
        let text = Value::String(value.to_owned()).to_string();
        text[1..text.len() - 1].to_owned()
    }

    fn disguises() -> Vec<String> {
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = KEY.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let mut all = vec![
            KEY.to_owned(),
            quoted(KEY),
            quoted(&quoted(KEY)),
            hex.to_uppercase(),
            hex,
            percent.to_lowercase(),
            percent,
            KEY.replace('+', "%2B").replace('/', "%2f").replace('"', "%22"),
        ];
        for before in ["", "x", "xy", "xyz"] {
            let base64 = STANDARD_NO_PAD.encode(format!("{before}{KEY} and more"));
            all.push(base64.replace('+', "-").replace('/', "_"));
            all.push(base64);
        }
        all
    }

    #[test]
    fn it_is_hidden_in_each_spelling_and_the_rest_stays() {
        for disguise in disguises() {
            let hidden = known().hide(&format!("é {disguise} ü"));
            assert!(
                hidden.starts_with("é ") && hidden.ends_with(" ü") && hidden.contains(HIDDEN),
                "{disguise}: {hidden}"
            );
            assert!(
                hidden.len() <= "é eHk  IGFuZCBtb3Jl ü".len() + HIDDEN.len() + 8,
                "all but its neighbours goes: {hidden}"
            );
        }
    }

    #[test]
    fn usual_spellings_of_tools_are_hidden_too() {
        let key = "p\u{e4}ss wo\"rd \u{1f511} 4711, long enough to be broken into two lines by base64";
        let known = Secrets::new([key.to_owned()]);
        let bytes = |join: &str| key.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(join);
        let ascii = r#"p\u00e4ss wo\"rd \ud83d\uDD11 4711, long enough to be broken into two lines by base64"#;
        let wrapped = |end: &str| {
            let all = STANDARD_NO_PAD.encode(format!("some text before {key} and after"));
            all.as_bytes()
                .chunks(76)
                .map(|line| String::from_utf8_lossy(line).into_owned())
                .collect::<Vec<_>>()
                .join(end)
        };
        let in_form = |byte: u8| match byte {
            b' ' => "+".to_owned(),
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        };
        let form: String = key.bytes().map(in_form).collect();
        let all = [
            ascii.to_owned(),
            ascii.replace('\\', r"\\"),
            form,
            bytes(":"),
            bytes(" ").to_uppercase(),
            format!(r"\x{}", bytes(r"\x")),
            wrapped("\n"),
            wrapped("\r\n    "),
            wrapped(r"\n"),
        ];
        for text in all {
            let hidden = known.hide(&text);
            assert!(hidden.contains(HIDDEN) && hidden.len() < HIDDEN.len() + 60, "{text}: {hidden}");
        }
        assert_eq!(known.hide("p\u{e4}ss wo\"rd 4711"), "p\u{e4}ss wo\"rd 4711", "its twin");
    }

    #[test]
    fn a_whole_private_key_can_be_looked_for() {
        let line = |number: usize| STANDARD_NO_PAD.encode(format!("{number:048}"));
        let key =
            format!("-----BEGIN KEY-----\n{}\n-----END KEY-----", (0..50).map(line).collect::<Vec<_>>().join("\n"));
        let known = Sought::of(std::slice::from_ref(&key)).unwrap().values;
        assert_eq!(known.hide(&format!("a {key} b")), format!("a {HIDDEN} b"));
        let wrapped = STANDARD_NO_PAD.encode(&key);
        let wrapped: Vec<_> = wrapped.as_bytes().chunks(76).map(String::from_utf8_lossy).collect();
        let hidden = known.hide(&wrapped.join("\n"));
        assert!(hidden.matches(HIDDEN).count() >= 40 && hidden.len() < wrapped.len() * 76 / 2, "{hidden}");
    }

    #[test]
    fn nothing_else_is_hidden() {
        for text in ["short", "canary-key", "", "a whole sentence about keys", "canary-key+7f/3a"] {
            assert_eq!(known().hide(text), text);
        }
        assert_eq!(Secrets::default().hide(KEY), KEY, "its twin: nothing is known");
    }

    #[test]
    fn a_value_that_begins_another_hides_neither() {
        let known = Secrets::new(["abcdefgh".to_owned(), "abcdefghijkl".to_owned()]);
        assert_eq!(known.hide("abcdefghijkl abcdefgh"), format!("{HIDDEN} {HIDDEN}"));
    }

    #[test]
    fn of_a_text_with_lines_each_is_found_in_a_listing_too() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n  second\r\n--flag=it\nshort\n-----END KEY-----\n";
        let Sought { values, not_alone } = Sought::of(&[key.to_owned()]).unwrap();
        assert_eq!(values.hide(key), format!("{HIDDEN}\n"));
        let listing = |line: &str| format!("1\t-----BEGIN KEY-----\n2\t{line}\n3\tshort\n");
        for line in ["MIIEvQIBADANBgkqhkiG", "second", "--flag=it"] {
            assert_eq!(values.hide(&listing(line)), listing(HIDDEN));
        }
        let told: Vec<_> = not_alone.iter().map(|line| (line.text, line.line, line.why)).collect();
        assert_eq!(told, [(1, 1, Why::Frame), (1, 5, Why::Short), (1, 6, Why::Frame)]);
    }

    #[test]
    fn short_lines_are_found_within_their_whole_text_however_its_lines_end() {
        let known = Sought::of(&["one\ntwo\n\nthree".to_owned()]).unwrap();
        assert_eq!(known.not_alone.len(), 3);
        for text in [
            "one\ntwo\n\nthree",
            "one\r\ntwo\r\n\r\nthree",
            "one \n\t two\nthree",
            r"one\r\ntwo\n\tthree",
            r"one\\ntwo\\nthree",
        ] {
            assert_eq!(known.values.hide(&format!("a {text} b")), format!("a {HIDDEN} b"), "{text:?}");
        }
        for text in ["one two three", "one", "one\ntwo"] {
            assert_eq!(known.values.hide(text), text, "its twin");
        }
    }

    #[test]
    fn what_cannot_be_looked_for_is_refused() {
        let refused = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            Sought::of(&texts).err()
        };
        assert!(refused(&["12345 "]).is_some_and(|why| why.contains("less than 6 bytes")));
        assert!(refused(&["long enough", ""]).is_some());
        let long: String = (0..200_000).map(|number| char::from(b'a' + (number % 26) as u8)).collect();
        assert_eq!(refused(&[&long]).as_deref(), Some("it is too long"));
        assert_eq!(refused(&["long enough", "six456"]), None);
    }

    #[test]
    fn a_debug_text_does_not_tell_it() {
        assert!(!format!("{:?}", known()).contains("canary"));
    }
}
