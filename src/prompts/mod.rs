//! The texts the model reads, and the seeds of memory: one struct a template, nothing else knows minijinja.
//!
//! A value never becomes template text, and text from files enters as labelled data whose end it cannot forge.

mod data;
mod extraction;
mod nudges;
mod seeds;

use anyhow::Context;
use anyhow::Result;
use minijinja::Environment;
use minijinja::UndefinedBehavior;
use minijinja::Value;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;

pub use extraction::Extraction;
pub use nudges::Nudges;
pub use nudges::Reminder;
pub use seeds::Seed;
pub use seeds::init_path;
pub use seeds::init_text;
pub use seeds::needs_no_init;
pub use seeds::seeds;
pub use seeds::with_last_run;

const RULES: &str = include_str!("../../templates/prompts/rules.md");
const SESSION: &str = include_str!("../../templates/prompts/session.md");
const INITIALIZER_RULES: &str = include_str!("../../templates/prompts/initializer_rules.md");
const RECALL_RULES: &str = include_str!("../../templates/prompts/recall_rules.md");
const RECALL: &str = include_str!("../../templates/prompts/recall.md");
const CONTINUED: &str = include_str!("../../templates/prompts/continued.md");
const INITIALIZER: &str = include_str!("../../templates/prompts/initializer.md");

/// What stays the same over a work session: role, rules, tools.
#[derive(Clone, Debug, Serialize)]
pub struct Rules {
    /// How long a command may take, in words.
    pub bash_limit: String,
    /// How long it may take when asked for, in words.
    pub bash_most: String,
    /// The service adds no words of its own about memory.
    pub memory_protocol: bool,
}

/// What a work session starts with.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Session {
    pub session: u32,
    pub project: String,
    pub root: String,
    pub branch: Option<String>,
    /// What longhaul did before the session that the agent should know, a sentence each.
    pub notices: Vec<String>,
    pub id: String,
    /// The feature's title, description and steps.
    pub feature: String,
    /// The check's command, limits and setup.
    pub check: String,
    /// The check's files in memory.
    pub scripts: Vec<Script>,
    pub last_verdict: Option<String>,
    pub total: usize,
    pub counts: Vec<Count>,
    /// The next features, a line each.
    pub next: Vec<String>,
    pub index: String,
    pub recalled: Vec<Recalled>,
    pub progress: String,
    pub init: String,
    /// What the init script said before this session.
    pub init_result: Option<String>,
    pub commits: Vec<String>,
    pub untracked: Vec<String>,
}

/// A note that was chosen for this session.
#[derive(Clone, Debug, Serialize)]
pub struct Recalled {
    /// Inside memory.
    pub path: String,
    /// When it was written, in words.
    pub age: String,
    pub text: String,
}

/// What a model chooses notes from.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// Most notes to choose.
    pub most: usize,
    pub question: String,
    /// The notes, a line each.
    pub notes: Vec<String>,
}

/// How many features are in one state.
#[derive(Clone, Debug, Serialize)]
pub struct Count {
    pub state: String,
    pub features: usize,
}

/// A file of a check, with its path inside memory.
#[derive(Clone, Debug, Serialize)]
pub struct Script {
    pub path: String,
    pub text: String,
}

/// What stays the same over an initializer session.
#[derive(Clone, Debug, Serialize)]
pub struct InitializerRules {
    pub bash_limit: String,
    pub bash_most: String,
    pub features_a_call: usize,
    /// The service adds no words of its own about memory.
    pub memory_protocol: bool,
}

/// What an initializer session starts with.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Initializer {
    pub session: u32,
    pub project: String,
    pub root: String,
    pub branch: Option<String>,
    pub notices: Vec<String>,
    pub spec: Option<String>,
    pub total: usize,
    /// The features on the list, a line each.
    pub features: Vec<String>,
    pub without_check: Vec<String>,
    pub index: String,
    pub progress: String,
    pub init: String,
    pub files: Vec<String>,
    pub commits: Vec<String>,
}

/// What a session that was cut off is told as it goes on.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Continued {
    /// What the init script said now.
    pub init_result: Option<String>,
}

impl Rules {
    /// Renders the system prompt of a work session.
    pub fn render(&self) -> Result<String> {
        render("prompts/rules.md", RULES, self)
    }
}

impl Session {
    /// Renders the first message of a work session.
    pub fn render(&self) -> Result<String> {
        render("prompts/session.md", SESSION, self)
    }
}

impl Choice {
    /// Renders the system prompt of a choice of notes.
    pub fn rules(&self) -> Result<String> {
        render("prompts/recall_rules.md", RECALL_RULES, self)
    }

    /// Renders what is chosen from.
    pub fn render(&self) -> Result<String> {
        render("prompts/recall.md", RECALL, self)
    }
}

impl InitializerRules {
    /// Renders the system prompt of an initializer session.
    pub fn render(&self) -> Result<String> {
        render("prompts/initializer_rules.md", INITIALIZER_RULES, self)
    }
}

impl Initializer {
    /// Renders the first message of an initializer session.
    pub fn render(&self) -> Result<String> {
        render("prompts/initializer.md", INITIALIZER, self)
    }
}

impl Continued {
    /// Renders what comes after the results of the calls that were cut off.
    pub fn render(&self) -> Result<String> {
        render("prompts/continued.md", CONTINUED, self)
    }
}

/// Renders one template; a value it names and the struct lacks is an error.
fn render<T: Serialize>(name: &str, template: &str, values: &T) -> Result<String> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.add_filter("data", data::label);
    environment
        .render_named_str(name, template, Value::from(Serde(values)))
        .with_context(|| format!("could not render `templates/{name}`"))
}

#[cfg(test)]
mod tests;
