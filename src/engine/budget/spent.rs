//! An amount that was used, and what an event of a record says of one.

use crate::message::Usage;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// What was used by a run, a session, or on a feature.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Spent {
    pub sessions: u32,
    pub turns: u32,
    pub usage: Usage,
    /// USD; none when a part of it is unknown.
    pub cost: Option<f64>,
    pub time: Duration,
}

impl Default for Spent {
    fn default() -> Self {
        Self { sessions: 0, turns: 0, usage: Usage::default(), cost: Some(0.0), time: Duration::ZERO }
    }
}

impl Spent {
    /// Adds a reply; its cost is none when the price is unknown.
    pub fn add(&mut self, usage: &Usage, cost: Option<f64>) {
        self.usage.add(*usage);
        self.cost = self.cost.zip(cost).map(|(before, more)| before + more);
    }

    /// Adds what was used elsewhere.
    pub(super) fn join(&mut self, other: &Self) {
        self.add(&other.usage, other.cost);
        self.sessions += other.sessions;
        self.turns += other.turns;
        self.time += other.time;
    }
}

/// Returns what an event of a session's record says was paid for, and its cost; none when it tells of nothing of the kind.
pub(super) fn paid(event: &Value) -> Option<(Usage, Option<f64>)> {
    match event["type"].as_str()? {
        "replied" => Some((Usage::paid(&event["message"]["usage"]), event["cost"].as_f64())),
        "used" => Some(usage_of(event)),
        _ => None,
    }
}

/// Returns the usage that an event names, and its cost.
pub(super) fn usage_of(event: &Value) -> (Usage, Option<f64>) {
    (serde_json::from_value(event["usage"].clone()).unwrap_or_default(), event["cost"].as_f64())
}
