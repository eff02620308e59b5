//! What this machine can do for a project, and what is missing. It looks; it starts nothing of the project's.

mod checks;
mod commands;
mod machine;
mod programs;
mod project;

pub use machine::Machine;
pub use machine::machine;
pub use project::project;

use crate::failure::Failure;
use serde::Serialize;
use std::time::Duration;

/// Longest time that git may take for one look: a filter of the project's, or git itself, may never end.
const GIT_LIMIT: Duration = Duration::from_secs(10);

/// How it stands with one thing.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Ok,
    /// It works, but not as a person might expect.
    Warning,
    /// Something that was asked for cannot be had.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// What it is about, one word.
    pub topic: &'static str,
    pub status: Status,
    pub text: String,
    /// What would change it.
    pub way_out: Option<String>,
}

impl Finding {
    /// Tells that all is well.
    pub fn ok(topic: &'static str, text: impl Into<String>) -> Self {
        Self { topic, status: Status::Ok, text: text.into(), way_out: None }
    }

    /// Tells what a person might not expect, and what would change it.
    pub fn warning(topic: &'static str, text: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { topic, status: Status::Warning, text: text.into(), way_out: Some(way_out.into()) }
    }

    /// Tells what is missing, and how to get it.
    pub fn missing(topic: &'static str, text: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { topic, status: Status::Missing, text: text.into(), way_out: Some(way_out.into()) }
    }

    /// Tells what an error stands in the way of, with the way out that it names.
    pub fn failed(topic: &'static str, error: &anyhow::Error) -> Self {
        let hint = error.downcast_ref::<Failure>().and_then(|failure| failure.hint.clone());
        Self { way_out: hint, ..Self::missing(topic, format!("{error:#}"), "") }
    }
}
