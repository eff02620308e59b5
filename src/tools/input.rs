//! What the model sent to a tool, taken apart with complaints that name the field.

use std::fmt::Display;

use anyhow::Error;
use serde_json::Map;
use serde_json::Value;

/// The key under which the provider keeps an input that is no JSON object.
const UNREADABLE: &str = "INVALID_JSON";

/// Why a tool call gave no result.
#[derive(Debug)]
pub(super) enum ToolError {
    /// The model can act on this; the text becomes the call's result.
    TellModel(String),
    /// The session cannot go on.
    Fatal(Error),
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// Makes an error for the model.
pub(super) fn tell(text: impl Into<String>) -> ToolError {
    ToolError::TellModel(text.into())
}

/// The fields of one call.
pub(super) struct Input<'a>(&'a Map<String, Value>);

impl<'a> Input<'a> {
    /// Takes the input of a tool that knows only these fields.
    pub(super) fn new(input: &'a Value, known: &[&str]) -> Result<Self, ToolError> {
        let unreadable = || tell("the input's JSON could not be read as an object; send the call again");
        let fields = input.as_object().filter(|fields| !fields.contains_key(UNREADABLE)).ok_or_else(unreadable)?;
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(Self(fields)),
            Some(unknown) => Err(tell(format!("unknown field `{unknown}`: this tool takes {}", names(known)))),
        }
    }

    /// Returns a text that must be there.
    pub(super) fn text(&self, field: &str) -> Result<&'a str, ToolError> {
        self.text_if_given(field)?.ok_or_else(|| tell(format!("`{field}` is missing: give it as a text")))
    }

    /// Returns a text that must be there and say something.
    pub(super) fn words(&self, field: &str) -> Result<&'a str, ToolError> {
        let text = self.text(field)?.trim();
        if text.is_empty() { Err(tell(format!("`{field}` is empty: say something"))) } else { Ok(text) }
    }

    /// Returns a text, if there is one; `null` counts as none.
    pub(super) fn text_if_given(&self, field: &str) -> Result<Option<&'a str>, ToolError> {
        self.given(field).map(|value| value.as_str().ok_or_else(|| wrong(field, "a text", value))).transpose()
    }

    /// Returns a whole number, if there is one.
    pub(super) fn whole_if_given(&self, field: &str) -> Result<Option<i64>, ToolError> {
        self.given(field).map(|value| value.as_i64().ok_or_else(|| wrong(field, "a whole number", value))).transpose()
    }

    /// Returns a number, if there is one.
    pub(super) fn number_if_given(&self, field: &str) -> Result<Option<f64>, ToolError> {
        self.given(field).map(|value| value.as_f64().ok_or_else(|| wrong(field, "a number", value))).transpose()
    }

    /// Returns a truth value; one that is not given is `false`.
    pub(super) fn flag(&self, field: &str) -> Result<bool, ToolError> {
        self.given(field).map_or(Ok(false), |value| value.as_bool().ok_or_else(|| wrong(field, "true or false", value)))
    }

    /// Returns a list that must be there.
    pub(super) fn list(&self, field: &str) -> Result<&'a Vec<Value>, ToolError> {
        let value = self.given(field).ok_or_else(|| tell(format!("`{field}` is missing: give it as a list")))?;
        value.as_array().ok_or_else(|| wrong(field, "a list", value))
    }

    /// Returns any value, if there is one.
    pub(super) fn given(&self, field: &str) -> Option<&'a Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }
}

fn wrong(field: &str, wanted: impl Display, found: &Value) -> ToolError {
    let found = match found {
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
        Value::Null => "nothing",
    };
    tell(format!("`{field}` is {found}: it must be {wanted}"))
}

fn names(known: &[&str]) -> String {
    if known.is_empty() {
        return "no fields".to_owned();
    }
    known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told<T>(result: Result<T, ToolError>) -> String {
        match result {
            Err(ToolError::TellModel(text)) => text,
            Err(ToolError::Fatal(error)) => panic!("{error:#}"),
            Ok(_) => panic!("it was taken"),
        }
    }

    #[test]
    fn a_complaint_names_the_field_and_what_it_must_be() {
        let value = json!({"command": 7, "timeout": "x", "empty": " "});
        let input = Input::new(&value, &["command", "timeout", "empty"]).unwrap();
        assert_eq!(told(input.text("command")), "`command` is a number: it must be a text");
        assert_eq!(told(input.text("path")), "`path` is missing: give it as a text");
        assert_eq!(told(input.number_if_given("timeout")), "`timeout` is a text: it must be a number");
        assert_eq!(told(input.flag("command")), "`command` is a number: it must be true or false");
        assert_eq!(told(input.words("empty")), "`empty` is empty: say something");
    }

    #[test]
    fn an_unknown_field_and_a_broken_input_are_told() {
        let value = json!({"cmd": "ls"});
        assert_eq!(
            told(Input::new(&value, &["command", "restart"])),
            "unknown field `cmd`: this tool takes `command`, `restart`"
        );
        assert_eq!(told(Input::new(&value, &[])), "unknown field `cmd`: this tool takes no fields");
        for broken in [json!("{\"cmd\": "), json!({"INVALID_JSON": "{\"cmd\": "}), json!([])] {
            assert_eq!(
                told(Input::new(&broken, &[])),
                "the input's JSON could not be read as an object; send the call again"
            );
        }
    }
}
