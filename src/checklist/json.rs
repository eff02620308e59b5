//! Reads JSON strictly, and finds the line of a value in it.

use serde::de;
use serde::de::Deserialize;
use serde::de::Deserializer;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde_json::Map;
use serde_json::Value;
use serde_json::map::Entry;
use std::fmt;

/// Why a text is no checklist.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ParseProblem {
    /// Nothing is in it; a crash of the machine may have done that.
    Empty,
    Syntax {
        line: usize,
        column: usize,
        reason: String,
    },
    /// Good JSON that means something else.
    Shape {
        line: Option<usize>,
        reason: String,
    },
}

impl fmt::Display for ParseProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("it is empty"),
            Self::Syntax { line, column, reason } => write!(formatter, "line {line}, column {column}: {reason}"),
            Self::Shape { line: Some(line), reason } => write!(formatter, "line {line}: {reason}"),
            Self::Shape { line: None, reason } => formatter.write_str(reason),
        }
    }
}

impl std::error::Error for ParseProblem {}

/// Reads one JSON value, and refuses an object with the same key twice: most readers would silently keep the last.
pub fn parse(text: &str) -> Result<Value, ParseProblem> {
    if text.trim().is_empty() {
        return Err(ParseProblem::Empty);
    }
    if text.starts_with('\u{feff}') {
        let reason = "it starts with a byte order mark; save it as UTF-8 without one".to_owned();
        return Err(ParseProblem::Syntax { line: 1, column: 1, reason });
    }
    serde_json::from_str::<Strict>(text).map(|Strict(value)| value).map_err(|error| syntax(&error))
}

/// Reads bytes as text, or says which byte is none.
pub(super) fn text(bytes: &[u8]) -> Result<&str, ParseProblem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let reason = match bytes {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it is UTF-16; save it as UTF-8".to_owned(),
            _ => {
                format!("byte 0x{:02x} at offset {} is not UTF-8; save it as UTF-8", bytes[before.len()], before.len())
            }
        };
        ParseProblem::Syntax { line, column, reason }
    })
}

fn syntax(error: &serde_json::Error) -> ParseProblem {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let reason = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text).to_owned();
    ParseProblem::Syntax { line, column, reason }
}

/// The one key of an object that is a number to `serde_json`.
const NUMBER: &str = "$serde_json::private::Number";

/// A value that was read with each key of an object met once.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    // Numbers come here too, as an object of one key: that is how their spelling is kept.
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.is_empty() && key == NUMBER {
                return entries.next_value::<String>()?.parse().map(Value::Number).map_err(de::Error::custom);
            }
            match object.entry(key) {
                Entry::Occupied(known) => {
                    return Err(de::Error::custom(format!("the key `{}` is there twice in one object", known.key())));
                }
                Entry::Vacant(place) => {
                    place.insert(entries.next_value::<Strict>()?.0);
                }
            }
        }
        Ok(object.into())
    }
}

/// A step from a value to one inside it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// Returns the line of the value at `path`, or of the nearest one around it. The text must be good JSON.
pub(super) fn line_of(text: &str, path: &[Step]) -> usize {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0 };
    scan.blanks();
    for step in path {
        let start = scan.at;
        if !scan.enter(step) {
            scan.at = start;
            break;
        }
    }
    1 + scan.bytes[..scan.at].iter().filter(|byte| **byte == b'\n').count()
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or_default()
    }

    fn blanks(&mut self) {
        while self.peek().is_ascii_whitespace() || matches!(self.peek(), b',' | b':') {
            self.at += 1;
        }
    }

    /// Moves to the start of the value that a step leads to.
    fn enter(&mut self, step: &Step) -> bool {
        let open = self.peek();
        self.at += 1;
        let mut index = 0;
        loop {
            self.blanks();
            if matches!(self.peek(), b']' | b'}' | 0) {
                return false;
            }
            let found = match (open, step) {
                (b'{', step) => {
                    let start = self.at;
                    self.skip();
                    let key: Option<String> = serde_json::from_slice(&self.bytes[start..self.at]).ok();
                    self.blanks();
                    matches!(step, Step::Key(wanted) if key.as_ref() == Some(wanted))
                }
                (b'[', Step::Index(wanted)) => index == *wanted,
                _ => return false,
            };
            if found {
                return true;
            }
            self.skip();
            index += 1;
        }
    }

    /// Moves behind one value.
    fn skip(&mut self) {
        let mut depth = 0;
        loop {
            match self.peek() {
                b'"' => self.skip_text(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                0 => return,
                _ => self.at += 1,
            }
            let ended = depth == 0 && (self.before_is_closed() || matches!(self.peek(), b',' | b'}' | b']' | 0));
            if ended {
                return;
            }
        }
    }

    fn before_is_closed(&self) -> bool {
        matches!(self.bytes[self.at - 1], b'"' | b'}' | b']')
    }

    fn skip_text(&mut self) {
        self.at += 1;
        while !matches!(self.peek(), b'"' | 0) {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_twice_is_told_with_its_place() {
        let problem =
            parse("{\"features\": [\n  {\"id\": \"a\", \"passes\": false,\n   \"passes\": true}]}").unwrap_err();
        assert_eq!(problem.to_string(), "line 3, column 11: the key `passes` is there twice in one object");
    }

    #[test]
    fn what_is_no_json_is_told_with_its_place() {
        let syntax = |text| parse(text).unwrap_err().to_string();
        assert_eq!(syntax("[1,\n 2"), "line 2, column 2: EOF while parsing a list");
        assert_eq!(syntax("{\"a\": 1}\n{}"), "line 2, column 1: trailing characters");
        assert_eq!(
            syntax("\u{feff}[]"),
            "line 1, column 1: it starts with a byte order mark; save it as UTF-8 without one"
        );
        assert_eq!(syntax(" \n"), "it is empty");
        assert!(syntax(&"[".repeat(100_000)).contains("recursion limit exceeded"));
    }

    #[test]
    fn bytes_that_are_no_text_are_told_with_their_place() {
        assert_eq!(
            text(b"[\n \"\x97\"]").unwrap_err().to_string(),
            "line 2, column 3: byte 0x97 at offset 4 is not UTF-8; save it as UTF-8"
        );
        assert_eq!(text(b"\xff\xfe[\0").unwrap_err().to_string(), "line 1, column 1: it is UTF-16; save it as UTF-8");
    }

    #[test]
    fn numbers_keep_their_spelling() {
        let text = r#"{"b":1.50,"a":12345678901234567890123,"c":1e2,"d":-0.0}"#;
        assert_eq!(parse(text).unwrap().to_string(), text.replace("1e2", "1e+2"));
    }

    #[test]
    fn a_value_is_found_by_its_path() {
        let text = "{\"x\": \"}]\\\"\",\n \"y\": [1, {}, [true],\n {\"a\": null,\n \"b\": 2}]}";
        let key = |key: &str| Step::Key(key.to_owned());
        assert_eq!(line_of(text, &[]), 1);
        assert_eq!(line_of(text, &[key("y")]), 2);
        assert_eq!(line_of(text, &[key("y"), Step::Index(3)]), 3);
        assert_eq!(line_of(text, &[key("y"), Step::Index(3), key("b")]), 4);
        assert_eq!(line_of(text, &[key("y"), Step::Index(3), key("missing")]), 3);
        assert_eq!(line_of(text, &[key("y"), Step::Index(9)]), 2);
    }
}
