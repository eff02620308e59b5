//! What happens, told as it happens: to the session's record on disk and to the person who watches.

use crate::message::Usage;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// By whom something was used: a reply that broke or was cut off.
pub const BROKEN_REPLY: &str = "broken reply";

/// Takes events; they never fail the work they tell of.
pub trait Sink {
    fn take(&self, event: &Event);
}

/// One thing that happened. Written as one JSON object a line, `type` first; fields are only ever added.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A run begins; `limits` are lines for people.
    RunStarted { limits: Vec<String> },
    /// A session begins, or goes on after it was cut off, with `turn` then, else 0. `kind` is `initializer` or `work`.
    SessionStarted {
        session: u32,
        kind: String,
        feature: Option<String>,
        title: Option<String>,
        model: String,
        branch: Option<String>,
        turn: u32,
    },
    /// The conversation grew by a message of ours; the blocks as sent.
    Sent { turn: u32, content: Vec<Value> },
    /// A whole reply arrived; the message as raw JSON. `cost` in USD, absent when the price is unknown.
    Replied { turn: u32, message: Value, cost: Option<f64> },
    /// Old tool results were taken out of the conversation: what now stands in place of each, by the id of its call, and
    /// about how many tokens that saves.
    Cleared { turn: u32, results: BTreeMap<String, String>, tokens: u64 },
    /// The service took something out of the conversation by itself: how many old tool results, and how many tokens that saves,
    /// or it put a summary in the place of all that was before.
    Edited { turn: u32, results: u64, tokens: u64, summed_up: bool },
    /// A tool is about to run.
    ToolStarted { turn: u32, id: String, name: String, input: Value },
    /// A tool has run.
    ToolEnded { turn: u32, id: String, name: String, is_error: bool, content: Value, seconds: f64 },
    /// The provider failed and is asked again after `wait` seconds.
    Retrying { reason: String, wait: f64 },
    /// What the run has used, the share of its prompts that came from the cache, and the limit it is nearest to.
    Spent { tokens: u64, cached: Option<f64>, cost: Option<f64>, nearest: String },
    /// A reply of the agent began, with what the service told of its tokens. Where it neither becomes whole nor is told as broken
    /// after this, a kill cut it off, and this was paid.
    Began { turn: u32, usage: Usage, cost: Option<f64> },
    /// Something was paid beside the replies of the agent: `by` is `choice`, `notes` or `broken reply`. `cost` in USD, absent when the price is
    /// unknown.
    Used { by: String, model: String, usage: Usage, cost: Option<f64> },
    /// Notes were chosen for the agent, `by` a model or by `words`, out of as many.
    Recalled { by: String, of: usize, notes: Vec<String> },
    /// After the session a model wrote `notes`; `cost` in USD, absent when the price is unknown; `ended` says what cut it short,
    /// empty when nothing did.
    Extracted { model: String, turns: u32, tokens: u64, cost: Option<f64>, notes: Vec<String>, ended: String },
    /// After the session nobody was asked for notes.
    ExtractionSkipped { reason: String },
    /// A check is about to run, with what installs for it.
    CheckStarted { feature: String },
    /// A check was run; `finding` as in the checklist, `ended_by` the signal or limit that ended it, empty when none did,
    /// `tail` the end of its output.
    CheckEnded { feature: String, finding: String, seconds: f64, proves: bool, ended_by: String, tail: String },
    /// A commit was made in `place`, `project` or `memory`.
    Committed { place: String, id: String, subject: String },
    /// Something worth telling that needs no action.
    Notice { text: String },
    /// Something a person should look at.
    Warning { text: String },
    /// A step of the session-end hook is complete.
    HookStep { step: String },
    /// The session ended; `reason` is one sentence, `outcome` what its check found, empty when none was run.
    SessionEnded { session: u32, reason: String, outcome: String },
}
