//! The memory tool as a line service: one call in, one result out.

use std::io;
use std::io::BufRead;

use anyhow::Context;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::history::trailers::Origin;
use crate::memory::history::trailers::ToolUse;
use crate::memory::store::Store;
use crate::message::ToolResult;
use crate::process::Interrupt;

/// Answers each line, a tool input or a whole `tool_use` block, with one `tool_result` object, given to `answers`, which
/// writes it out before the next line is read. A line that is no call is answered with an error; only a memory that fails
/// ends the service. What becomes much is packed meanwhile, with the git in `path`.
pub fn apply(
    store: &mut Store,
    input: impl BufRead,
    answers: impl FnMut(&Value) -> io::Result<()>,
    origin: &Origin,
    path: &str,
) -> Result<()> {
    store.pack_on_the_way(path, &Interrupt::new());
    let served = serve(store, input, answers, origin);
    store.end_packing();
    served
}

fn serve(
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
        // What waits for the end of a run is no reason to leave the next call unanswered.
        let is_busy = |error: &anyhow::Error| error.downcast_ref::<Failure>().is_some_and(|why| why.kind == Kind::Busy);
        if !answer.as_ref().is_err_and(is_busy) {
            answer?;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::history::trailers::Author;
    use std::io::Write;

    fn answers(memory: &mut Memory, lines: &str) -> Vec<Value> {
        let mut output = Vec::new();
        let keep = |answer: &Value| {
            output.push(answer.clone());
            Ok(())
        };
        apply(&mut memory.store, lines.as_bytes(), keep, &Origin::of(Author::External), "").unwrap();
        output
    }

    #[test]
    fn each_line_gets_one_answer_whatever_it_holds() {
        let mut memory = Memory::free(&[]);
        let lines = r#"{"command": "create", "path": "/memories/a", "file_text": "x"}

{"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories/a"}}
not json
"view"
{"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {"command": "ls"}}
{"command": "delete", "path": "/memories/a"}"#;

        let answers = answers(&mut memory, lines);

        let flat: Vec<(&Value, bool)> =
            answers.iter().map(|answer| (&answer["tool_use_id"], answer["is_error"].as_bool().unwrap())).collect();
        let (first, second) = (json!("toolu_1"), json!("toolu_2"));
        let null = Value::Null;
        assert_eq!(
            flat,
            [(&null, false), (&first, false), (&null, true), (&null, true), (&second, true), (&null, false)]
        );
        assert_eq!(answers[0]["content"], "File created successfully at: /memories/a");
        assert_eq!(answers[2]["content"], "Error: line 4 is not JSON: expected ident at column 2");
        assert!(answers.iter().all(|answer| answer["type"] == "tool_result"));
        assert_eq!(memory.subjects(), ["memory: delete a", "memory: create a"]);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_end_the_service() {
        let mut memory = Memory::free(&[]);
        let mut output = Vec::new();
        let lines = b"\xff\xfe\n{\"command\":\"view\",\"path\":\"/memories\"}\n";
        let write = |answer: &Value| writeln!(output, "{answer}");
        apply(&mut memory.store, &lines[..], write, &Origin::of(Author::External), "").unwrap();
        assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), 2);
    }

    /// Lets the next line be read only when the answer before is out.
    struct Turns<'a> {
        answered: &'a std::cell::RefCell<Vec<u8>>,
        asked: usize,
    }

    impl std::io::Read for Turns<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let lines = self.answered.borrow().iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(lines, self.asked, "the answer before is not out");
            if self.asked == 3 {
                return Ok(0);
            }
            self.asked += 1;
            let line = b"{\"command\":\"view\",\"path\":\"/memories\"}\n";
            buffer[..line.len()].copy_from_slice(line);
            Ok(line.len())
        }
    }

    #[test]
    fn each_answer_is_out_before_the_next_call_is_read() {
        let mut memory = Memory::free(&[]);
        let out = std::cell::RefCell::new(Vec::new());
        let input = std::io::BufReader::new(Turns { answered: &out, asked: 0 });
        let write = |answer: &Value| writeln!(out.borrow_mut(), "{answer}");
        apply(&mut memory.store, input, write, &Origin::of(Author::External), "").unwrap();
        assert_eq!(out.borrow().iter().filter(|byte| **byte == b'\n').count(), 3);
    }
}
