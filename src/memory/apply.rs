//! The memory tool as a line service: one call in, one result out.

use std::io;
use std::io::BufRead;

use anyhow::Context;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;

use crate::memory::store::Store;
use crate::memory::trailers::Origin;
use crate::memory::trailers::ToolUse;
use crate::message::ToolResult;

/// Answers each line, a tool input or a whole `tool_use` block, with one `tool_result` object, given to `answers`, which
/// writes it out before the next line is read. A line that is no call is answered with an error; only a memory that fails ends the service.
pub fn apply(
    store: &mut Store,
    mut input: impl BufRead,
    mut answers: impl FnMut(&Value) -> io::Result<()>,
    origin: &Origin,
) -> Result<()> {
    for number in 1_u64.. {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line).context("could not read the next call")? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let call = Call::parse(&line, number);
        let answer = call.answer(store, origin);
        let result = answer.as_ref().map_or_else(|error| ToolResult::error(format!("Error: {error:#}")), Clone::clone);
        let block = json!({
            "type": "tool_result", "tool_use_id": call.id, "content": result.content, "is_error": result.is_error,
        });
        answers(&block).context("could not write the answer")?;
        answer?;
    }
    Ok(())
}

/// One line, taken apart.
struct Call {
    id: Value,
    /// The tool input, or what is wrong with the line.
    input: Result<Value, String>,
}

impl Call {
    fn parse(line: &[u8], number: u64) -> Self {
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                // Its line number is always 1 and would mislead.
                let why = error.to_string();
                let why = why.split(" at line ").next().unwrap_or_default();
                let column = error.column();
                let text = format!("Error: line {number} is not JSON: {why} at column {column}");
                return Self { id: Value::Null, input: Err(text) };
            }
        };
        if value["type"] != "tool_use" {
            return Self { id: Value::Null, input: Ok(value) };
        }
        let id = value["id"].clone();
        let input = match value["name"].as_str() {
            Some("memory") | None => Ok(value["input"].clone()),
            Some(other) => Err(format!("Error: there is no tool `{other}` here, only `memory`")),
        };
        Self { id, input }
    }

    fn answer(&self, store: &mut Store, origin: &Origin) -> Result<ToolResult> {
        let input = match &self.input {
            Ok(input) => input,
            Err(text) => return Ok(ToolResult::error(text)),
        };
        let mut origin = origin.clone();
        if let Some(id) = self.id.as_str() {
            origin.tool_use = Some(ToolUse { id: id.to_owned(), turn: 0 });
        }
        store.run(input, &origin)
    }
}
