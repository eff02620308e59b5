//! Notices an agent that makes the same call again and again and learns nothing from it.
//!
//! Only replies in a row count: whoever does something else in between may look once more. Waiting for something is honest,
//! so the agent is told long before its session ends.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use serde_json::json;

use super::FUTILE;
use super::REPEATED;
use crate::clip;
use crate::message::ToolCall;
use crate::message::text_of;

/// What a test or a check took differs each time and tells nothing.
#[expect(clippy::unwrap_used, reason = "the expression is fixed, and every test of this file compiles it")]
static TOOK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+\.\d+ ?m?s\b").unwrap());
/// Characters of a call and of a result's first line that are told.
const TOLD: usize = 200;

/// The newest calls, and how often they came in a row with the same results.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    newest: Vec<Value>,
    times: u32,
}

/// What to do about it.
#[derive(Debug, PartialEq)]
pub(super) enum Rut {
    None,
    /// The model has to be told.
    Tell,
    /// The session ends; says why.
    End(String),
}

impl Repeats {
    /// Takes the calls of one reply, with their results.
    pub(super) fn take(&mut self, calls: &[ToolCall], results: &[Value]) -> Rut {
        let pairs = calls.iter().zip(results);
        let now: Vec<Value> =
            pairs.map(|(call, result)| json!([call.name, call.input, without_times(result)])).collect();
        self.times = if now == self.newest { self.times + 1 } else { 1 };
        self.newest = now;
        match (calls.first(), results.first()) {
            (Some(call), Some(result)) if self.times >= FUTILE => Rut::End(self.told(call, result)),
            (Some(_), Some(_)) if self.times >= REPEATED => Rut::Tell,
            _ => Rut::None,
        }
    }

    fn told(&self, call: &ToolCall, result: &Value) -> String {
        let input = clip::head(&call.input.to_string(), TOLD);
        let text = text_of(&result["content"]);
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        let (name, times, first) = (&call.name, self.times, clip::head(first.trim(), TOLD));
        format!("the same call came {times} times in a row with the same result: `{name}` {input} gave `{first}`")
    }
}

fn without_times(result: &Value) -> Value {
    match &result["content"] {
        Value::String(text) => Value::String(TOOK.replace_all(text, "_").into_owned()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolResult;

    fn taken(repeats: &mut Repeats, command: &str, result: &str) -> Rut {
        let input = json!({ "command": command });
        let call = ToolCall { id: "t".to_owned(), name: "bash".to_owned(), input };
        repeats.take(&[call], &[ToolResult::text(result).to_block("t")])
    }

    #[test]
    fn the_third_time_is_told_and_the_sixth_ends() {
        let mut repeats = Repeats::default();
        let ruts: Vec<Rut> = (0..6).map(|_| taken(&mut repeats, "ls", "\na\nb")).collect();
        assert_eq!(ruts[..5], [Rut::None, Rut::None, Rut::Tell, Rut::Tell, Rut::Tell]);
        let told = "the same call came 6 times in a row with the same result: `bash` {\"command\":\"ls\"} gave `a`";
        assert_eq!(ruts[5], Rut::End(told.to_owned()));
    }

    #[test]
    fn another_call_or_another_result_begins_anew() {
        let mut repeats = Repeats::default();
        for (command, result) in
            [("ls", "a"), ("ls", "a"), ("ls", "b"), ("ls", "b"), ("pwd", "b"), ("ls", "b"), ("ls", "b")]
        {
            assert_eq!(taken(&mut repeats, command, result), Rut::None, "{command}");
        }
        assert_eq!(taken(&mut repeats, "ls", "b"), Rut::Tell, "its twin");
    }

    #[test]
    fn what_it_took_makes_no_other_result_and_a_count_does() {
        let mut repeats = Repeats::default();
        let ruts = ["1.25 s", "0.3s", "7.0 ms"].map(|took| taken(&mut repeats, "t", &format!("failed after {took}")));
        assert_eq!(ruts[2], Rut::Tell);
        let ruts = ["1 of 9", "2 of 9", "3 of 9"].map(|done| taken(&mut repeats, "t", done));
        assert_eq!(ruts, [Rut::None, Rut::None, Rut::None]);
    }

    #[test]
    fn several_calls_of_one_reply_are_one() {
        let call = |id: &str| ToolCall { id: id.to_owned(), name: "bash".to_owned(), input: json!({}) };
        let calls = ["a", "b", "c", "d", "e", "f"].map(call);
        let results = calls.clone().map(|call| ToolResult::text("x").to_block(&call.id));
        assert_eq!(Repeats::default().take(&calls, &results), Rut::None);
    }

    #[test]
    fn long_calls_and_results_are_cut_at_a_character() {
        let mut repeats = Repeats::default();
        let long = "é".repeat(500);
        let last = (0..6).map(|_| taken(&mut repeats, &long, &long)).last();
        let Some(Rut::End(told)) = last else { panic!("{last:?}") };
        assert!(told.chars().count() < 2 * TOLD + 120, "{told}");
    }
}
