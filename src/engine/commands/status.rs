//! Where things stand, read from what is committed; starts and changes nothing.

use crate::checklist::Feature;
use crate::checklist::State;
use crate::engine::budget::records::used;
use crate::engine::budget::spent::Spent;
use crate::engine::facts;
use crate::engine::pick;
use crate::engine::run;
use crate::engine::verify::checkout;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::Filter;
use crate::memory::SPEC;
use crate::transcript;
use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use serde_json::json;
use std::path::PathBuf;

/// Everything `status` shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub project: PathBuf,
    pub memory: PathBuf,
    /// Short commit and branch of the project; absent before the first commit.
    pub commit: Option<String>,
    pub branch: Option<String>,
    pub features: Vec<Line>,
    pub required: usize,
    /// Required features that are proven or accepted, at whatever commit.
    pub done: usize,
    /// Of those, the ones that only a person's word makes done.
    pub accepted: usize,
    /// Required features whose check passed before any work: neither done nor open.
    pub already_green: usize,
    /// What the next session works on: a feature by its id, or the initializer.
    pub next: Option<String>,
    /// Why required features cannot be worked on, one line each.
    pub waiting: Vec<String>,
    pub sessions: Vec<Session>,
    pub tokens: u64,
    /// Share of the prompts that was read from the service's cache; absent before the first.
    pub cached: Option<f64>,
    /// USD over all sessions; absent when one of them had no known price.
    pub cost: Option<f64>,
    pub has_spec: bool,
    pub sandbox: String,
    pub checkout: String,
}

/// One feature as `status` shows it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    pub id: String,
    pub title: String,
    pub state: String,
    pub required: bool,
    pub milestone: bool,
    pub attempts: u32,
    /// The newest result that did not prove it.
    pub last: Option<String>,
    /// The commit at which its check last passed, short.
    pub proven_at: Option<String>,
    /// Why a person vouched for it.
    pub accepted: Option<String>,
}

/// One session as `status` shows it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Session {
    pub number: u32,
    pub feature: Option<String>,
    /// Absent while it runs, or when it was cut off.
    pub ended: Option<String>,
}

/// Gathers the report.
pub fn report(ws: &mut Workspace) -> Result<Report> {
    let checklist = ws.committed_checklist()?.0;
    let head = ws.project.head()?;
    let tree = head.as_ref().map(|head| head.tree.clone()).unwrap_or_default();
    let required = || checklist.features().iter().filter(|feature| feature.required);
    let (sessions, spent) = sessions(ws)?;
    Ok(Report {
        project: ws.project.root().to_owned(),
        memory: ws.memory.place().repository.clone(),
        commit: head.as_ref().map(|head| head.commit[..7].to_owned()),
        branch: head.and_then(|head| head.branch),
        features: checklist
            .features()
            .iter()
            .map(|feature| line(feature, checklist.state(&feature.id, &tree)))
            .collect(),
        required: required().count(),
        done: required().filter(|feature| feature.is_done()).count(),
        accepted: required().filter(|feature| feature.is_done() && !feature.passes).count(),
        already_green: required().filter(|feature| checklist.state(&feature.id, &tree) == State::AlreadyGreen).count(),
        next: if run::initializer::due(ws, &checklist, false)? {
            Some("the initializer".to_owned())
        } else {
            pick::pick(&checklist, &tree).map(|feature| feature.id.clone())
        },
        waiting: pick::reasons(&checklist, &tree),
        sessions,
        tokens: spent.usage.total(),
        cached: spent.usage.cached(),
        cost: spent.cost,
        has_spec: ws.memory.read(SPEC)?.is_some(),
        sandbox: ws.settings.sandbox_foreseen.to_owned(),
        checkout: checkout::checkout(ws, &checklist)?,
    })
}

fn line(feature: &Feature, state: State) -> Line {
    let short = |commit: &str| commit.chars().take(7).collect::<String>();
    // The newest pass counts: a re-check, else the proof.
    let passed = feature.checked.as_ref().or(feature.evidence.as_ref());
    Line {
        id: feature.id.clone(),
        title: feature.title.clone(),
        state: state.to_string(),
        required: feature.required,
        milestone: feature.milestone,
        attempts: feature.attempts,
        last: feature.last_finding().map(str::to_owned),
        proven_at: passed.and_then(|passed| passed["commit"].as_str()).map(short),
        accepted: feature.accepted.as_ref().and_then(|word| word["reason"].as_str()).map(str::to_owned),
    }
}

/// Reads the sessions' records: their features and ends, and what all of them used.
fn sessions(ws: &Workspace) -> Result<(Vec<Session>, Spent)> {
    let dir = ws.sessions();
    let (mut sessions, mut spent) = (Vec::new(), Spent::default());
    for number in transcript::sessions(&dir)? {
        let events = transcript::read(&dir, number)?;
        let of_type = |name: &str| events.iter().filter(|event| event["type"] == name).collect::<Vec<_>>();
        let used = used(&events);
        spent.add(&used.usage, used.cost);
        let text = |event: Option<&&Value>, key: &str| event.and_then(|event| event[key].as_str()).map(str::to_owned);
        sessions.push(Session {
            number,
            feature: text(of_type("session_started").first(), "feature"),
            ended: text(of_type("session_ended").last(), "reason"),
        });
    }
    // Where nothing was asked and there is no price, nothing is known.
    spent.cost = spent.cost.filter(|_| spent.usage.total() > 0 || ws.settings.prices.model.is_some());
    Ok((sessions, spent))
}

/// Stands for the state of a feature that is in the checklist no more.
pub const REMOVED: &str = "removed";

/// Returns a feature as the checklist keeps it, and its derived state. Of one that was removed only the history is left.
pub fn feature(ws: &Workspace, id: &str) -> Result<(Value, String)> {
    let (checklist, _) = ws.committed_checklist()?;
    if checklist.get(id).is_none() && !facts::history(&ws.memory, id)?.is_empty() {
        return Ok((json!({"id": id}), REMOVED.to_owned()));
    }
    checklist.find(id)?;
    let tree = ws.tree()?;
    Ok((checklist.json(id).cloned().unwrap_or_default(), checklist.state(id, &tree).to_string()))
}

/// Returns the recorded events of a session.
///
/// # Errors
/// A usage failure when there is no such session.
pub fn session(ws: &Workspace, number: u32) -> Result<Vec<Value>> {
    let known = transcript::sessions(&ws.sessions())?;
    let damages = transcript::damages(&ws.sessions(), number)?;
    if let Some(gone) = damages.iter().find(|damage| damage.is_all()) {
        let wanted = Filter { session: Some(number), limit: Some(1), ..Filter::default() };
        if !ws.memory.history(&wanted)?.is_empty() {
            let hint = format!("what it wrote is in `longhaul log --session {number}`; a backup may have the record");
            return Err(Failure::new(Kind::Integrity, gone.to_string()).hint(hint).into());
        }
    }
    if !known.contains(&number) {
        let hint = match known.iter().max() {
            Some(last) => format!("the newest is session {last}"),
            None => "no session was held yet".to_owned(),
        };
        return Err(Failure::usage(format!("there is no session {number}")).hint(hint).into());
    }
    damages.iter().for_each(|damage| ws.warn(damage.to_string()));
    transcript::read(&ws.sessions(), number)
}
