//! Recorded events read back for showing: `events.jsonl` may come from an older or newer longhaul.
//!
//! By hand, because serde cannot read numbers of arbitrary precision inside a tagged enum. A missing field becomes an empty
//! one: a line that is half understood is still worth showing.

use crate::event::Event;
use serde_json::Value;
use std::collections::BTreeMap;

/// Reads an event; none when its type is not known.
pub(super) fn event(value: &Value) -> Option<Event> {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let maybe = |key: &str| value[key].as_str().map(str::to_owned);
    let number = |key: &str| value[key].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
    let amount = |key: &str| value[key].as_f64().unwrap_or_default();
    let flag = |key: &str| value[key].as_bool().unwrap_or_default();
    let list = |key: &str| value[key].as_array().cloned().unwrap_or_default();
    let words = |key: &str| words(&value[key]);
    let (turn, session) = (number("turn"), number("session"));
    Some(match value["type"].as_str()? {
        "run_started" => Event::RunStarted { limits: words("limits") },
        "session_started" => {
            let (feature, title) = (maybe("feature"), maybe("title"));
            Event::SessionStarted {
                session,
                kind: text("kind"),
                feature,
                title,
                model: text("model"),
                branch: maybe("branch"),
                turn,
            }
        }
        "sent" => Event::Sent { turn, content: list("content") },
        "replied" => Event::Replied { turn, message: value["message"].clone(), cost: value["cost"].as_f64() },
        "cleared" => Event::Cleared { turn, results: texts(&value["results"]), tokens: value["tokens"].as_u64()? },
        "edited" => of_edits(value, turn),
        "tool_started" => {
            Event::ToolStarted { turn, id: text("id"), name: text("name"), input: value["input"].clone() }
        }
        "tool_ended" => {
            let (is_error, content, seconds) = (flag("is_error"), value["content"].clone(), amount("seconds"));
            Event::ToolEnded { turn, id: text("id"), name: text("name"), is_error, content, seconds }
        }
        "retrying" => Event::Retrying { reason: text("reason"), wait: amount("wait") },
        "spent" | "used" | "began" => of_money(value, turn),
        "recalled" | "extracted" | "extraction_skipped" => of_notes(value),
        "check_started" => Event::CheckStarted { feature: text("feature") },
        "check_ended" => {
            let (seconds, proves) = (amount("seconds"), flag("proves"));
            Event::CheckEnded {
                feature: text("feature"),
                finding: text("finding"),
                seconds,
                proves,
                ended_by: text("ended_by"),
                tail: text("tail"),
            }
        }
        "committed" => Event::Committed { place: text("place"), id: text("id"), subject: text("subject") },
        "notice" => Event::Notice { text: text("text") },
        "warning" => Event::Warning { text: text("text") },
        "hook_step" => Event::HookStep { step: text("step") },
        "session_ended" => Event::SessionEnded { session, reason: text("reason"), outcome: text("outcome") },
        _ => return None,
    })
}

/// Reads what the service took out by itself.
fn of_edits(value: &Value, turn: u32) -> Event {
    let number = |key: &str| value[key].as_u64().unwrap_or_default();
    Event::Edited { turn, results: number("results"), tokens: number("tokens"), summed_up: value["summed_up"] == true }
}

/// Reads an event about what was paid.
fn of_money(value: &Value, turn: u32) -> Event {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let cost = value["cost"].as_f64();
    let usage = || serde_json::from_value(value["usage"].clone()).unwrap_or_default();
    if value["type"] == "began" {
        return Event::Began { turn, usage: usage(), cost };
    }
    if value["type"] == "used" {
        let usage = usage();
        return Event::Used { by: text("by"), model: text("model"), usage, cost };
    }
    let (tokens, cached) = (value["tokens"].as_u64().unwrap_or_default(), value["cached"].as_f64());
    Event::Spent { tokens, cached, cost, nearest: text("nearest") }
}

/// Reads an event about notes.
fn of_notes(value: &Value) -> Event {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| value[key].as_u64().unwrap_or_default();
    match value["type"].as_str() {
        Some("recalled") => {
            let of = usize::try_from(number("of")).unwrap_or_default();
            Event::Recalled { by: text("by"), of, notes: words(&value["notes"]) }
        }
        Some("extracted") => Event::Extracted {
            model: text("model"),
            turns: u32::try_from(number("turns")).unwrap_or_default(),
            tokens: number("tokens"),
            cost: value["cost"].as_f64(),
            notes: words(&value["notes"]),
            ended: text("ended"),
        },
        _ => Event::ExtractionSkipped { reason: text("reason") },
    }
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// Reads an object of texts.
fn texts(value: &Value) -> BTreeMap<String, String> {
    let fields = value.as_object().into_iter().flatten();
    fields.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;
    use serde_json::json;

    fn of_notes_all() -> Vec<Event> {
        let s = |text: &str| text.to_owned();
        let (notes, cost) = (vec![s("notes/a")], Some(0.5));
        vec![
            Event::Recalled { by: s("words"), of: 3, notes: notes.clone() },
            Event::Extracted { model: s("m"), turns: 2, tokens: 9, cost, notes, ended: s("e") },
            Event::ExtractionSkipped { reason: s("r") },
        ]
    }

    fn of_clearing_all() -> Vec<Event> {
        let results = [("i".to_owned(), "t".to_owned())].into();
        vec![
            Event::Cleared { turn: 2, results, tokens: 7 },
            Event::Edited { turn: 2, results: 8, tokens: 7, summed_up: true },
        ]
    }

    fn of_money_all() -> Vec<Event> {
        let (usage, cost) = (Usage { input: 4, ..Usage::default() }, Some(0.5));
        vec![
            Event::Spent { tokens: 9, cached: Some(0.5), cost: None, nearest: "n".to_owned() },
            Event::Began { turn: 3, usage, cost },
            Event::Used { by: "notes".to_owned(), model: "m".to_owned(), usage, cost },
        ]
    }

    /// One event of each kind; the match makes a new kind fail to compile until it is here.
    fn all() -> Vec<Event> {
        let s = |text: &str| text.to_owned();
        let events = vec![
            Event::RunStarted { limits: vec![s("20 USD")] },
            Event::SessionStarted {
                session: 1,
                kind: s("work"),
                feature: Some(s("f")),
                title: Some(s("t")),
                model: s("m"),
                branch: Some(s("main")),
                turn: 4,
            },
            Event::Sent { turn: 1, content: vec![json!({"type": "text"})] },
            Event::Replied { turn: 2, message: json!({"a": 1.5}), cost: Some(0.25) },
            Event::ToolStarted { turn: 2, id: s("i"), name: s("n"), input: json!({"x": [1]}) },
            Event::ToolEnded { turn: 2, id: s("i"), name: s("n"), is_error: true, content: json!("c"), seconds: 1.5 },
            Event::Retrying { reason: s("r"), wait: 2.5 },
            Event::CheckStarted { feature: s("a") },
            Event::CheckEnded {
                feature: s("f"),
                finding: s("failed"),
                seconds: 0.5,
                proves: true,
                ended_by: s("e"),
                tail: s("t"),
            },
            Event::Committed { place: s("p"), id: s("i"), subject: s("s") },
            Event::Notice { text: s("n") },
            Event::Warning { text: s("w") },
            Event::HookStep { step: s("h") },
            Event::SessionEnded { session: 1, reason: s("r"), outcome: s("o") },
        ];
        let events = [events, of_clearing_all(), of_money_all(), of_notes_all()].concat();
        for event in &events {
            match event {
                Event::RunStarted { .. }
                | Event::SessionStarted { .. }
                | Event::Sent { .. }
                | Event::Replied { .. }
                | Event::Cleared { .. }
                | Event::Edited { .. }
                | Event::ToolStarted { .. }
                | Event::ToolEnded { .. }
                | Event::Retrying { .. }
                | Event::Spent { .. }
                | Event::Began { .. }
                | Event::Used { .. }
                | Event::Recalled { .. }
                | Event::Extracted { .. }
                | Event::ExtractionSkipped { .. }
                | Event::CheckStarted { .. }
                | Event::CheckEnded { .. }
                | Event::Committed { .. }
                | Event::Notice { .. }
                | Event::Warning { .. }
                | Event::HookStep { .. }
                | Event::SessionEnded { .. } => {}
            }
        }
        events
    }

    #[test]
    fn every_event_reads_back_as_it_was_written() {
        for written in all() {
            let line = serde_json::to_string(&written).unwrap();
            let read = event(&serde_json::from_str(&line).unwrap()).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), line);
        }
    }

    #[test]
    fn what_is_not_known_is_none_and_what_is_missing_empty() {
        assert!(event(&json!({"type": "teleported"})).is_none());
        assert!(event(&json!([])).is_none());
        assert!(matches!(event(&json!({"type": "notice"})), Some(Event::Notice { text }) if text.is_empty()));
    }
}
