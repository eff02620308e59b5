//! What was used, as the records of the sessions tell it.

use crate::engine::budget::spent::Spent;
use crate::engine::budget::spent::paid;
use crate::engine::budget::spent::usage_of;
use crate::event::BROKEN_REPLY;
use crate::message::Usage;
use crate::transcript;
use crate::transcript::CUT_OFF;
use anyhow::Result;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What the records tell of all sessions.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) sessions: usize,
    pub(super) features: BTreeMap<String, Spent>,
    /// The run that was killed in the newest session.
    pub(super) run: Option<Spent>,
}

/// Adds up the records below `dir`.
pub(super) fn add_up(dir: &Path) -> Result<Told> {
    let mut told = Told::default();
    let (mut run, mut total, mut cut_off) = (Spent::default(), 0, false);
    for number in transcript::sessions(dir)? {
        let events = transcript::read(dir, number)?;
        let ended = events.iter().find(|event| event["type"] == "session_ended");
        cut_off = ended.is_none_or(|event| event["reason"] == CUT_OFF);
        let Some(start) = events.iter().find(|event| event["type"] == "session_started") else { continue };
        let spent = Spent { sessions: 1, ..used(&events) };
        if let Some(id) = start["feature"].as_str() {
            told.features.entry(id.to_owned()).or_default().join(&spent);
        }
        // The count of a run only grows: one that is smaller is of the next run.
        let totals: Vec<u64> = events.iter().filter_map(total_of_run).collect();
        if totals.first().is_some_and(|first| *first < total) {
            run = Spent::default();
        }
        run.join(&spent);
        total = totals.last().copied().unwrap_or(total);
        told.sessions += 1;
    }
    told.run = cut_off.then_some(run);
    Ok(told)
}

fn total_of_run(event: &Value) -> Option<u64> {
    if event["type"] == "spent" { event["tokens"].as_u64() } else { None }
}

/// Adds up what a session used, by its record; the time in which nobody worked on it does not count.
pub fn used(events: &[Value]) -> Spent {
    let mut spent = Spent::default();
    let mut under_way = None;
    for event in events {
        spent.turns += u32::from(event["type"] == "replied");
        if let Some((usage, cost)) = paid(event) {
            spent.add(&usage, cost);
        }
        match event["type"].as_str().unwrap_or_default() {
            "began" => under_way = Some(usage_of(event)),
            "replied" => under_way = None,
            "used" if event["by"] == BROKEN_REPLY => under_way = None,
            // A new life: what was under way was cut off by a kill.
            "session_started" => add(&mut spent, under_way.take()),
            _ => {}
        }
    }
    add(&mut spent, under_way);
    let at = |event: &Value| event["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    let mut began = None;
    let mut newest = None;
    for event in events {
        if event["type"] == "session_started" {
            spent.time += between(began, newest);
            began = at(event);
        }
        newest = at(event).or(newest);
    }
    spent.time += between(began, newest);
    spent
}

fn add(spent: &mut Spent, lost: Option<(Usage, Option<f64>)>) {
    if let Some((usage, cost)) = lost {
        spent.add(&usage, cost);
    }
}

fn between(began: Option<Timestamp>, ended: Option<Timestamp>) -> Duration {
    let passed = began.zip(ended).map(|(began, ended)| ended.duration_since(began));
    passed.and_then(|passed| Duration::try_from(passed).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reply_that_a_kill_cut_off_is_paid_and_one_that_was_told_later_is_not_paid_twice() {
        let began = |input: u64| json!({"type": "began", "usage": Usage { input, ..Usage::default() }, "cost": 0.5});
        let used =
            |by: &str| json!({"type": "used", "by": by, "usage": Usage { input: 9, ..Usage::default() }, "cost": 0.5});
        let replied = json!({"type": "replied", "message": {"usage": {"input_tokens": 12}}, "cost": 1.0});
        let start = json!({"type": "session_started"});
        let add_up = |events: &[&Value]| {
            let spent = super::used(&events.iter().map(|event| (*event).clone()).collect::<Vec<_>>());
            (spent.usage.total(), spent.cost.unwrap(), spent.turns)
        };
        assert_eq!(add_up(&[&start, &began(10)]), (10, 0.5, 0), "the kill came now");
        assert_eq!(add_up(&[&start, &began(10), &replied]), (12, 1.0, 1));
        assert_eq!(add_up(&[&start, &began(10), &used(BROKEN_REPLY), &began(10), &replied]), (21, 1.5, 1));
        assert_eq!(add_up(&[&start, &began(10), &used("choice")]), (19, 1.0, 0));
        assert_eq!(
            add_up(&[&start, &began(10), &start, &began(10), &replied]),
            (22, 1.5, 1),
            "one life after the other"
        );
    }

    #[test]
    fn what_was_used_is_added_up_without_the_time_between_two_lives() {
        let event = |kind: &str, second: u32| json!({"type": kind, "at": format!("2026-01-01T10:00:{second:02}Z")});
        let replied = |second, cost: Value| {
            let mut event = event("replied", second);
            event["message"] = json!({"usage": {"input_tokens": 10, "output_tokens": 1}});
            event["cost"] = cost;
            event
        };
        let mut events = vec![event("session_started", 0), replied(4, json!(0.5)), event("sent", 5)];
        events.extend([event("session_started", 30), event("sent", 31), replied(33, json!(0.25))]);

        let spent = used(&events);

        assert_eq!((spent.turns, spent.usage.total(), spent.cost), (2, 22, Some(0.75)));
        assert_eq!(spent.time, Duration::from_secs(8));
        events.push(replied(34, Value::Null));
        assert_eq!(used(&events).cost, None, "an unknown cost stays unknown");
        assert_eq!(used(&[]), Spent::default());
    }
}
