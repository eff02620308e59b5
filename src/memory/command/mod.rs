//! The six commands of `memory_20250818`, read from the JSON of a tool call.

mod edit;
mod listing;
mod page;
pub(super) mod plan;

use std::fmt;

use serde_json::Map;
use serde_json::Value;

use crate::memory::rules::path::MemoryPath;

/// A call, with every field present and of the right type. Whether it can be done is not known yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Command {
    View { at: Target, range: Option<Range> },
    Create { at: Target, text: String },
    StrReplace { at: Target, old: String, new: String },
    Insert { at: Target, line: Line, text: String },
    Delete { at: Target },
    Rename { from: Target, to: Target },
}

/// A checked path, and how the model wrote it: answers repeat its own spelling.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) path: MemoryPath,
    text: String,
}

impl Target {
    /// Returns the clean path relative to the root.
    pub(super) fn clean(&self) -> &str {
        self.path.as_str()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A line number as the model wrote it; too large ones are kept as the largest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) number: i64,
    text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A `view_range`; only files have lines, so a folder's view never looks whether it is valid.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Range {
    Lines(Line, Line),
    /// Not two integers; as the model wrote it.
    Invalid(String),
}

impl Command {
    /// Reads a tool input; the error is for the model.
    pub(super) fn parse(input: &Value) -> Result<Self, String> {
        let Value::Object(fields) = input else {
            return Err("Error: the input must be a JSON object with a `command` field".to_owned());
        };
        match text(fields, "command")? {
            "view" => Ok(Self::View { at: target(fields, "path")?, range: range(fields.get("view_range")) }),
            "create" => Ok(Self::Create { at: target(fields, "path")?, text: text(fields, "file_text")?.to_owned() }),
            "str_replace" => Ok(Self::StrReplace {
                at: target(fields, "path")?,
                old: text(fields, "old_str")?.to_owned(),
                new: optional_text(fields, "new_str")?.to_owned(),
            }),
            "insert" => Ok(Self::Insert {
                at: target(fields, "path")?,
                line: required_line(fields, "insert_line")?,
                text: text(fields, "insert_text")?.to_owned(),
            }),
            "delete" => Ok(Self::Delete { at: target(fields, "path")? }),
            "rename" => Ok(Self::Rename { from: target(fields, "old_path")?, to: target(fields, "new_path")? }),
            other => Err(format!(
                "Error: unknown command `{other}`; use view, create, str_replace, insert, delete or rename"
            )),
        }
    }

    /// Returns the paths that the command names.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::View { at, .. } => vec![at.clean()],
            _ => self.writes(),
        }
    }

    /// Returns the paths that the command may change.
    pub(super) fn writes(&self) -> Vec<&str> {
        match self {
            Self::View { .. } => Vec::new(),
            Self::Create { at, .. } | Self::StrReplace { at, .. } | Self::Insert { at, .. } | Self::Delete { at } => {
                vec![at.clean()]
            }
            Self::Rename { from, to } => vec![from.clean(), to.clean()],
        }
    }
}

fn target(fields: &Map<String, Value>, name: &str) -> Result<Target, String> {
    let text = text(fields, name)?;
    let path = MemoryPath::parse(text).map_err(|error| format!("Error: {error}"))?;
    Ok(Target { path, text: text.to_owned() })
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    match fields.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("Error: the field `{name}` must be a string")),
        None => Err(format!("Error: the field `{name}` is missing")),
    }
}

fn optional_text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(_) => text(fields, name),
    }
}

fn required_line(fields: &Map<String, Value>, name: &str) -> Result<Line, String> {
    match fields.get(name) {
        Some(value) => line(value).ok_or_else(|| format!("Error: the field `{name}` must be an integer")),
        None => Err(format!("Error: the field `{name}` is missing")),
    }
}

fn line(value: &Value) -> Option<Line> {
    let Value::Number(number) = value else { return None };
    let text = number.to_string();
    let digits = text.strip_prefix('-').unwrap_or(&text);
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let beyond = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(Line { number: number.as_i64().unwrap_or(beyond), text })
}

fn range(value: Option<&Value>) -> Option<Range> {
    let value = value.filter(|value| !value.is_null())?;
    let lines: Option<Vec<Line>> = value.as_array().and_then(|items| items.iter().map(line).collect());
    match lines.map(<[Line; 2]>::try_from) {
        Some(Ok([first, last])) => Some(Range::Lines(first, last)),
        _ => Some(Range::Invalid(value.to_string().chars().take(80).collect())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let refused = |input: Value| Command::parse(&input).expect_err(&input.to_string());
        for (input, part) in [
            (json!("view"), "JSON object"),
            (json!({"path": "/memories"}), "`command` is missing"),
            (json!({"command": 3}), "`command` must be a string"),
            (json!({"command": "append"}), "`append`"),
            (json!({"command": "create", "path": "/memories/a"}), "`file_text` is missing"),
            (json!({"command": "insert", "path": "/memories/a", "insert_text": "x"}), "`insert_line` is missing"),
            (json!({"command": "rename", "old_path": "/memories/a", "new_path": 1}), "`new_path` must be a string"),
            (json!({"command": "delete", "path": "/etc"}), "got: /etc"),
        ] {
            assert!(refused(input).contains(part), "{part}");
        }
        let half = json!({"command": "insert", "path": "/memories/a", "insert_line": 1.5, "insert_text": "x"});
        assert!(refused(half).contains("`insert_line` must be an integer"));
    }

    #[test]
    fn numbers_beyond_all_bounds_keep_their_text() {
        let huge: Value = serde_json::from_str("99999999999999999999").unwrap();
        assert_eq!(line(&huge), Some(Line { number: i64::MAX, text: "99999999999999999999".to_owned() }));
        assert_eq!(line(&json!(-3)), Some(Line { number: -3, text: "-3".to_owned() }));
        assert_eq!(line(&json!(1e3)), None);
    }

    #[test]
    fn a_range_is_two_integers_or_invalid_or_absent() {
        assert_eq!(range(None), None);
        assert_eq!(range(Some(&Value::Null)), None);
        for wrong in [json!([1]), json!([1, 2, 3]), json!([1, "2"]), json!("1-2")] {
            assert!(matches!(range(Some(&wrong)), Some(Range::Invalid(_))), "{wrong}");
        }
        assert!(matches!(range(Some(&json!([1, -1]))), Some(Range::Lines(..))));
    }
}
