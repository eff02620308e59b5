//! A recorded session told again, with what the agent said and what its tools answered.

use super::line::Line;
use super::line::Tone;
use super::narration::Narration;
use super::narration::count;
use super::narration::price;
use super::past;
use crate::event::Event;
use crate::message::Usage;
use crate::message::text_of;
use serde_json::Value;

/// Lines that are shown of an answer, at its beginning and at its end.
const HEAD: usize = 10;
const TAIL: usize = 5;

/// Renders a session's recorded events.
pub(super) fn lines(events: &[Value]) -> Vec<Line> {
    let mut narration = Narration::default();
    let mut tell = |value: &Value| match past::event(value) {
        Some(event) => told(&event).unwrap_or_else(|| narration.tell(&event)),
        None => vec![Line::new(Tone::Dim, &format!("({} is not known to this version)", value["type"]))],
    };
    events.iter().flat_map(&mut tell).collect()
}

/// Tells what a person who watched saw cut short; none where that was all.
fn told(event: &Event) -> Option<Vec<Line>> {
    match event {
        Event::Sent { turn: 0, .. } => Some(Vec::new()),
        Event::Sent { turn, content } => Some(sent(*turn, content)),
        Event::Replied { turn, message, cost } => Some(replied(*turn, message, *cost)),
        Event::ToolStarted { name, input, .. } => Some(asked(name, input)),
        Event::ToolEnded { is_error, content, seconds, .. } => Some(answered(*is_error, content, *seconds)),
        _ => None,
    }
}

/// Tells what we said beside the answers to calls, which are told where they came.
fn sent(turn: u32, content: &[Value]) -> Vec<Line> {
    let texts = content.iter().filter_map(|block| block["text"].as_str());
    let lines = texts.flat_map(|text| block("  > ", text));
    let head = Line::new(Tone::Dim, &format!("sent with turn {turn}"));
    let lines: Vec<Line> = lines.collect();
    if lines.is_empty() { lines } else { [head].into_iter().chain(lines).collect() }
}

fn replied(turn: u32, message: &Value, cost: Option<f64>) -> Vec<Line> {
    let used = count(Usage::paid(&message["usage"]).total());
    let head = Line::new(Tone::Strong, &format!("turn {turn}")).add(Tone::Dim, &format!(" · {used} · {}", price(cost)));
    [head].into_iter().chain(block("  ", &text_of(&message["content"]))).collect()
}

/// Tells a call with all its fields, those of many lines below it.
fn asked(name: &str, input: &Value) -> Vec<Line> {
    let head = Line::plain("  ").add(Tone::Strong, name);
    let fields: Vec<(String, String)> = match input {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), scalar(value))).collect(),
        other => vec![("input".to_owned(), other.to_string())],
    };
    let (long, short): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(_, value)| value.contains('\n'));
    let short: Vec<String> = short.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    let head = if short.is_empty() { head } else { head.add(Tone::Plain, &format!(" · {}", short.join(" · "))) };
    let long = long.iter().flat_map(|(key, value)| {
        let label = Line::new(Tone::Dim, &format!("    {key}:"));
        [label].into_iter().chain(block("      ", value))
    });
    [head].into_iter().chain(long).collect()
}

fn answered(is_error: bool, content: &Value, seconds: f64) -> Vec<Line> {
    let took = Line::new(Tone::Dim, &format!("    after {seconds:.1} s"));
    let head = if is_error { took.add(Tone::Careful, " error") } else { took };
    [head].into_iter().chain(block("    | ", &text_of(content))).collect()
}

/// Renders a text of many lines, its middle left out where it is long.
fn block(margin: &str, text: &str) -> Vec<Line> {
    let lines: Vec<&str> = text.lines().collect();
    let line = |text: &&str| Line::new(Tone::Dim, margin).add(Tone::Plain, &text.replace('\t', "    "));
    if lines.len() <= HEAD + TAIL + 1 {
        return lines.iter().map(line).collect();
    }
    let left = lines.len() - HEAD - TAIL;
    let middle = Line::new(Tone::Dim, &format!("{margin}[{left} lines left out; `--json` has all]"));
    let (head, tail) = (lines[..HEAD].iter().map(line), lines[lines.len() - TAIL..].iter().map(line));
    head.chain([middle]).chain(tail).collect()
}

fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(events: &[Value]) -> String {
        lines(events).iter().map(|line| line.render(false).trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn a_session_is_told_with_what_was_said_and_answered() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let usage = json!({"input_tokens": 1200, "output_tokens": 34});
        let events = [
            json!({"type": "session_started", "at": "…", "session": 2, "kind": "initializer", "feature": null, "title": null, "model": "m"}),
            json!({"type": "sent", "turn": 0, "content": text("the rules")}),
            json!({"type": "sent", "turn": 1, "content": text("the project")}),
            json!({"type": "replied", "turn": 1, "message": {"content": text("I look.\nThen I write."), "usage": usage}, "cost": 0.25}),
            json!({"type": "tool_started", "turn": 1, "id": "t", "name": "bash", "input": {"command": "ls\ncat x", "timeout": 5}}),
            json!({"type": "tool_ended", "turn": 1, "id": "t", "name": "bash", "is_error": false, "content": "a\tb\nc", "seconds": 0.25}),
            json!({"type": "tool_started", "turn": 1, "id": "u", "name": "check", "input": {}}),
            json!({"type": "tool_ended", "turn": 1, "id": "u", "name": "check", "is_error": true, "content": [{"type": "text", "text": "no"}], "seconds": 2}),
            json!({"type": "sent", "turn": 2, "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]}),
            json!({"type": "teleported", "to": "mars"}),
            json!({"type": "session_ended", "session": 2, "reason": "handed over", "outcome": "passed"}),
        ];
        let expected = "\
session 2 · initializer · m
sent with turn 1
  > the project
turn 1 · 1234 tokens · 0.25 USD
  I look.
  Then I write.
  bash · timeout: 5
    command:
      ls
      cat x
    after 0.2 s
    | a    b
    | c
  check
    after 2.0 s error
    | no
(\"teleported\" is not known to this version)
session 2 ended: handed over (check passed)
";
        assert_eq!(rendered(&events), expected);
    }

    #[test]
    fn a_long_answer_keeps_its_ends() {
        let long: Vec<String> = (1..=100).map(|line| line.to_string()).collect();
        let event = json!({"type": "tool_ended", "content": long.join("\n"), "seconds": 1});
        let told = rendered(&[event]);
        let told: Vec<&str> = told.lines().collect();
        assert_eq!(told.len(), 1 + HEAD + 1 + TAIL);
        assert_eq!(
            (told[1], told[11], told[16]),
            ("    | 1", "    | [85 lines left out; `--json` has all]", "    | 100")
        );
    }
}
