//! Notices an agent that goes round in a circle: the same call again and again, or the same two or three in turn, with the
//! same results, and nothing learnt from it.
//!
//! Only rounds in a row count: whoever does something else in between may look once more. Waiting for something is honest,
//! so the agent is told long before its session ends; and who changed files of the project meanwhile got somewhere.

use std::collections::VecDeque;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;
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
/// Replies in the longest circle that is noticed.
const LONGEST: usize = 3;
/// Characters of a call and of a result's first line that are told.
const TOLD: usize = 200;

/// The newest replies, and how they repeat.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Newest first.
    newest: VecDeque<Step>,
    /// For circles of one reply, of two and of three: how many replies in a row were like the one so many before.
    alike: [u32; LONGEST],
    /// The project's files when the agent was first told of this circle, where that is known.
    files: Option<String>,
}

/// The calls of one reply with their results.
#[derive(Debug)]
struct Step {
    print: u64,
    /// The first call and its result, in words.
    told: String,
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
    /// Takes the calls of one reply, with their results; `files` names the state of the project's files, where it can.
    pub(super) fn take(&mut self, calls: &[ToolCall], results: &[Value], files: impl Fn() -> Option<String>) -> Rut {
        self.add(Step::of(calls, results));
        let (length, times) = self.rounds();
        if times == REPEATED {
            self.files = files();
        }
        match times {
            FUTILE.. if differ(self.files.as_ref(), files().as_ref()) => {
                *self = Self::default();
                Rut::None
            }
            FUTILE.. => Rut::End(self.told(length, times)),
            REPEATED.. => Rut::Tell,
            _ => Rut::None,
        }
    }

    fn add(&mut self, step: Step) {
        for (before, alike) in self.alike.iter_mut().enumerate() {
            let same = self.newest.get(before).is_some_and(|before| before.print == step.print);
            *alike = if same { *alike + 1 } else { 0 };
        }
        self.newest.push_front(step);
        self.newest.truncate(LONGEST);
    }

    /// Returns the length of the circle that just closed most often in a row, and how often that was.
    fn rounds(&self) -> (usize, u32) {
        let lengths = (1..).zip(self.alike);
        let closed = lengths.filter(|(length, alike)| alike % length == 0);
        let (length, alike) = closed.max_by_key(|(length, alike)| alike / length).unwrap_or((1, 0));
        (length as usize, alike / length + 1)
    }

    fn told(&self, length: usize, times: u32) -> String {
        let steps: Vec<&str> = self.newest.iter().take(length).rev().map(|step| step.told.as_str()).collect();
        let steps = steps.join("; ");
        match length {
            1 => format!("the same call came {times} times in a row with the same result: {steps}"),
            _ => format!("the same {length} calls came {times} times in a row with the same results: {steps}"),
        }
    }
}

impl Step {
    fn of(calls: &[ToolCall], results: &[Value]) -> Self {
        let mut hasher = DefaultHasher::new();
        for (call, result) in calls.iter().zip(results) {
            json!([call.name, call.input, without_times(result)]).hash(&mut hasher);
        }
        let told = calls.iter().zip(results).next().map(|(call, result)| told(call, result));
        Self { print: hasher.finish(), told: told.unwrap_or_default() }
    }
}

fn told(call: &ToolCall, result: &Value) -> String {
    let input = clip::head(&call.input.to_string(), TOLD);
    let text = text_of(&result["content"]);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
    format!("`{}` {input} gave `{}`", call.name, clip::head(first.trim(), TOLD))
}

fn differ(then: Option<&String>, now: Option<&String>) -> bool {
    then.zip(now).is_some_and(|(then, now)| then != now)
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
        repeats.take(&[call], &[ToolResult::text(result).to_block("t")], || None)
    }

    /// Takes calls whose names are these characters, each with the same result whenever it comes.
    fn round(repeats: &mut Repeats, calls: &str, files: impl Fn() -> Option<String>) -> Vec<Rut> {
        let call = |name: char| ToolCall { id: "t".to_owned(), name: name.to_string(), input: json!({}) };
        let block = ToolResult::text("as ever").to_block("t");
        calls.chars().map(|name| repeats.take(&[call(name)], std::slice::from_ref(&block), &files)).collect()
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
    fn two_or_three_calls_in_turn_are_a_circle() {
        for (circle, told) in [
            ("AB", "the same 2 calls came 6 times in a row with the same results: `A` {} gave `as ever`; `B` {} gave"),
            ("ABC", "the same 3 calls came 6 times in a row with the same results: `A` {} gave `as ever`; `B` {} gave"),
            ("AAB", "the same 3 calls came 6 times in a row with the same results: `A` {} gave `as ever`; `A` {} gave"),
        ] {
            let mut repeats = Repeats::default();
            let ruts: Vec<Vec<Rut>> = (0..6).map(|_| round(&mut repeats, circle, || None)).collect();
            let loud: Vec<usize> =
                ruts.iter().map(|ruts| ruts.iter().filter(|rut| **rut != Rut::None).count()).collect();
            assert_eq!(loud, [0, 0, 1, 1, 1, 1], "{circle}: {ruts:?}");
            let Some(Rut::End(end)) = ruts[5].last() else { panic!("{circle}: {ruts:?}") };
            assert!(end.starts_with(told), "{end}");
        }
    }

    #[test]
    fn longer_circles_and_broken_ones_are_none() {
        for calls in ["ABCDABCDABCDABCDABCDABCD", "ABABXABABXABABX", "AABBAABBAABBAABB", "ABCABCACABCABC"] {
            let ruts = round(&mut Repeats::default(), calls, || None);
            assert!(ruts.iter().all(|rut| *rut == Rut::None), "{calls}: {ruts:?}");
        }
    }

    #[test]
    fn who_changes_files_of_the_project_meanwhile_goes_on() {
        let clock = std::cell::Cell::new(0);
        let changing = || {
            clock.set(clock.get() + 1);
            Some(clock.get().to_string())
        };
        for circle in ["A", "AB"] {
            let calls = circle.repeat(20);
            let ends = |ruts: &[Rut]| ruts.iter().any(|rut| matches!(rut, Rut::End(_)));
            assert!(!ends(&round(&mut Repeats::default(), &calls, changing)), "{circle}");
            assert!(ends(&round(&mut Repeats::default(), &calls, || Some("as ever".to_owned()))), "{circle}: the twin");
        }
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
        assert_eq!(Repeats::default().take(&calls, &results, || None), Rut::None);
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
