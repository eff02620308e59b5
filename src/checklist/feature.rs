//! One feature, as read from the checklist.

use crate::gate::Check;
use crate::gate::Skips;
use serde::de::DeserializeOwned;
use serde_json::Map;
use serde_json::Value;
use std::fmt::Display;
use std::fmt::Formatter;

/// An observable behaviour with its own check.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    pub id: String,
    pub title: String,
    pub description: String,
    pub category: String,
    pub steps: Vec<String>,
    /// Smaller comes first; without one, the place in the file.
    pub priority: f64,
    pub required: bool,
    pub depends_on: Vec<String>,
    /// Its check is one over all it depends on.
    pub milestone: bool,
    pub check: Option<Check>,
    pub passes: bool,
    pub evidence: Option<Value>,
    /// Where the newest passing re-check was: commit, tree, time.
    pub checked: Option<Value>,
    /// The newest result that did not prove it.
    pub last_verdict: Option<Value>,
    pub baseline: Option<Baseline>,
    pub attempts: u32,
    /// Why it cannot be worked on.
    pub blocked: Option<String>,
    /// Why the model refused to go on, in the newest session on it.
    pub refused: Option<String>,
    /// What an agent says is wrong with the check; it waits for a person then.
    pub check_problem: Option<String>,
    /// Files that its check names and that came after it was approved, so that it runs without them; it waits for a person then.
    pub unapproved: Vec<String>,
    /// A person vouched: reason, commit, tree, time.
    pub accepted: Option<Value>,
    /// The evidence it had before its check failed again.
    pub regressed: Option<Value>,
    /// Where a check gave another result than before without a change of the tree: digest, commit, tree, time.
    pub flaky: Option<Value>,
    /// The initializer is not done with it.
    pub draft: bool,
    /// The file it was imported from says that it is done.
    pub claimed: bool,
    /// A text of a foreign list that may be a check; never run before a person approves it.
    pub proposed_check: Option<String>,
}

/// What the check found when it was approved, or the newest non-pass.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Baseline {
    pub commit: String,
    pub verdict: String,
    /// Digest of the check; empty when unknown.
    pub check: String,
    /// The commit on which this check was first judged, when that was an earlier one.
    pub since: Option<String>,
    /// The check was not even tried, since installing or its setup failed.
    pub unprepared: bool,
    /// How many tests it skipped, where that is known.
    pub skips: Option<Skips>,
    /// How many tests came to their end, where that is known for sure.
    pub ended: Option<u64>,
    /// It chooses tests by their names, and found none of these.
    pub chose_none: bool,
}

/// Where a feature stands; derived, never stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum State {
    Open,
    Blocked,
    /// For a feature it depends on, or for a person.
    Waiting,
    AlreadyGreen,
    Proven,
    Accepted,
    /// Proven, and the tree moved since.
    Stale,
    Regressed,
    NoCheck,
}

impl State {
    /// Returns the word shown to people and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::AlreadyGreen => "already green",
            Self::Proven => "proven",
            Self::Accepted => "accepted",
            Self::Stale => "stale",
            Self::Regressed => "regressed",
            Self::NoCheck => "no check",
        }
    }

    /// Tells whether nothing is left to do, apart from looking again.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Proven | Self::Accepted | Self::Stale)
    }
}

impl Display for State {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What is wrong with a feature, and in which field.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Fault {
    pub path: Vec<String>,
    pub reason: String,
}

impl Fault {
    pub(super) fn of(field: &str, reason: impl Into<String>) -> Self {
        Self { path: vec![field.to_owned()], reason: reason.into() }
    }

    /// Says it for people, with the field.
    pub(super) fn sentence(&self) -> String {
        match self.path.as_slice() {
            [] => self.reason.clone(),
            path => format!("`{}`: {}", path.join("."), self.reason),
        }
    }
}

impl Feature {
    /// Reads a feature; `place` is its place in the file, from 1.
    pub(super) fn read(value: &Value, place: u32) -> Result<Self, Fault> {
        let Value::Object(fields) = value else {
            return Err(Fault { path: Vec::new(), reason: format!("expected an object, found {}", kind(value)) });
        };
        let id = fields.get("id").and_then(id_text).ok_or_else(|| Fault::of("id", "expected a text"))?;
        check_id(&id)?;
        let feature = Self {
            id,
            title: field::<String>(fields, "title")?.unwrap_or_default(),
            description: field(fields, "description")?.unwrap_or_default(),
            category: field(fields, "category")?.unwrap_or_default(),
            steps: field(fields, "steps")?.unwrap_or_default(),
            priority: field(fields, "priority")?.unwrap_or_else(|| f64::from(place)),
            required: field(fields, "required")?.unwrap_or(true),
            depends_on: dependencies(fields)?,
            // Other tools keep names of milestones below this key; those mean nothing here.
            milestone: fields.get("milestone") == Some(&Value::Bool(true)),
            check: check(fields)?,
            passes: field(fields, "passes")?.unwrap_or_default(),
            evidence: record(fields, "evidence")?,
            checked: record(fields, "checked")?,
            last_verdict: record(fields, "last_verdict")?,
            baseline: record(fields, "baseline")?.map(|baseline| read_baseline(&baseline)).transpose()?,
            attempts: field(fields, "attempts")?.unwrap_or_default(),
            blocked: field(fields, "blocked")?,
            refused: field(fields, "refused")?,
            check_problem: field(fields, "check_problem")?,
            unapproved: field(fields, "unapproved")?.unwrap_or_default(),
            accepted: record(fields, "accepted")?,
            regressed: record(fields, "regressed")?,
            flaky: record(fields, "flaky")?,
            draft: field(fields, "draft")?.unwrap_or_default(),
            claimed: field(fields, "claimed")?.unwrap_or_default(),
            proposed_check: field(fields, "proposed_check")?,
        };
        if feature.title.trim().is_empty() {
            return Err(Fault::of("title", "a feature needs a title"));
        }
        if !feature.priority.is_finite() {
            return Err(Fault::of("priority", "it is too large a number"));
        }
        if feature.milestone && (feature.depends_on.is_empty() || feature.check.is_none()) {
            return Err(Fault::of("milestone", "a milestone needs `depends_on` and a `check` over all of those"));
        }
        if feature.passes && feature.evidence.is_none() {
            return Err(Fault::of("passes", "it is true without evidence; only a check that ran can make it so"));
        }
        Ok(feature)
    }

    /// Returns the state on the tree `head_tree`; `waits` tells that a dependency is not done.
    pub(super) fn state(&self, head_tree: &str, waits: bool) -> State {
        match () {
            () if self.passes && self.holds_on(head_tree) => State::Proven,
            () if self.passes => State::Stale,
            () if self.accepted.is_some() => State::Accepted,
            () if self.blocked.is_some() => State::Blocked,
            () if self.check_problem.is_some() || !self.unapproved.is_empty() => State::Waiting,
            () if self.regressed.is_some() => State::Regressed,
            () if self.check.is_none() => State::NoCheck,
            () if self.is_already_green() => State::AlreadyGreen,
            () if waits || self.needs_person() => State::Waiting,
            () => State::Open,
        }
    }

    /// Tells whether it passes or a person vouched for it.
    pub fn is_done(&self) -> bool {
        self.passes || self.accepted.is_some()
    }

    /// Tells whether only a person can check it.
    pub fn needs_person(&self) -> bool {
        self.check.as_ref().is_some_and(|check| check.kind == crate::gate::Kind::Manual)
    }

    fn holds_on(&self, tree: &str) -> bool {
        let was_on = |record: &Option<Value>| record.as_ref().is_some_and(|record| record["tree"] == tree);
        let same_check = self.evidence.as_ref().is_some_and(|evidence| self.is_of_this_check(&evidence["check"]));
        same_check && (was_on(&self.evidence) || was_on(&self.checked))
    }

    /// Tells whether its check passed before any work, so that what depends on it need not wait for a person's word.
    pub(super) fn is_already_green(&self) -> bool {
        let newest = self.last_verdict.as_ref().filter(|verdict| self.is_of_this_check(&verdict["check"]));
        match (newest, &self.baseline) {
            (Some(verdict), _) => verdict["verdict"] == "already green",
            (None, Some(baseline)) => {
                baseline.verdict == "already green" && self.is_of_this_check(&Value::from(baseline.check.as_str()))
            }
            (None, None) => false,
        }
    }

    pub(super) fn is_of_this_check(&self, digest: &Value) -> bool {
        self.check.as_ref().is_some_and(|check| *digest == check.digest().as_str())
    }
}

/// Returns an id as text; a list may number its features.
pub(super) fn id_text(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// Names the kind of a value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Refuses what cannot be typed on a command line or put into a commit's subject.
fn check_id(id: &str) -> Result<(), Fault> {
    let odd = |c: char| c.is_control() || c.is_whitespace();
    match () {
        () if id.is_empty() => Err(Fault::of("id", "it is empty")),
        () if id.len() > 128 => Err(Fault::of("id", "it is longer than 128 bytes")),
        () if id.contains(odd) => {
            Err(Fault::of("id", format!("`{}` holds a blank or control character", id.escape_debug())))
        }
        () if id.starts_with('-') => Err(Fault::of("id", format!("`{id}` starts with `-`"))),
        () => Ok(()),
    }
}

/// Reads a field; one that is missing or null is none.
fn field<T: DeserializeOwned>(fields: &Map<String, Value>, name: &str) -> Result<Option<T>, Fault> {
    let value = fields.get(name).filter(|value| !value.is_null());
    value.map(|value| T::deserialize(value).map_err(|error| Fault::of(name, error.to_string()))).transpose()
}

/// Reads what the gate wrote: an object or nothing.
fn record(fields: &Map<String, Value>, name: &str) -> Result<Option<Value>, Fault> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(record)) => Ok(Some(Value::Object(record.clone()))),
        Some(other) => Err(Fault::of(name, format!("expected an object, found {}", kind(other)))),
    }
}

fn dependencies(fields: &Map<String, Value>) -> Result<Vec<String>, Fault> {
    let ids = field::<Vec<Value>>(fields, "depends_on")?.unwrap_or_default();
    let wrong = |id: &Value| Fault::of("depends_on", format!("expected ids, found {}", kind(id)));
    ids.iter().map(|id| id_text(id).ok_or_else(|| wrong(id))).collect()
}

fn check(fields: &Map<String, Value>) -> Result<Option<Check>, Fault> {
    let value = fields.get("check").filter(|value| !value.is_null());
    value.map(Check::read).transpose().map_err(|problem| {
        let path = std::iter::once("check".to_owned()).chain(problem.field).collect();
        Fault { path, reason: problem.reason }
    })
}

fn read_baseline(value: &Value) -> Result<Baseline, Fault> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let count = |name: &str| value[name].as_u64();
    let missing = |name: &str| Fault::of("baseline", format!("expected a text as `{name}`"));
    Ok(Baseline {
        commit: text("commit").ok_or_else(|| missing("commit"))?,
        verdict: text("verdict").ok_or_else(|| missing("verdict"))?,
        check: text("check").unwrap_or_default(),
        since: text("since"),
        unprepared: value["unprepared"] == true,
        skips: count("tests").zip(count("skipped")).map(|(tests, skipped)| Skips {
            tests,
            skipped,
            expected: count("expected"),
        }),
        ended: count("ended"),
        chose_none: value["chose_none"] == true,
    })
}
