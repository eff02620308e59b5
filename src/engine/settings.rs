//! What the engine needs to know, settled once at the start of a command.

use crate::engine::budget::limits::Limits;
use crate::engine::budget::limits::Prices;
use crate::gate;
use crate::memory::Caps;
use crate::memory::Screen;
use crate::provider;
use crate::provider::ModelSetting;
use crate::sandbox;
use crate::secrets::Secrets;
use crate::tools;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The settled settings of one command.
#[derive(Clone, Debug)]
pub struct Settings {
    pub model: String,
    pub max_tokens: u32,
    /// Absent when no key is set; `missing_key` then says which variable to set.
    pub provider: Option<provider::Settings>,
    pub missing_key: String,
    pub limits: Limits,
    pub prices: Prices,
    pub recall: Recall,
    /// Failed attempts after which a feature is blocked.
    pub attempts: u32,
    /// Sessions in a row without progress after which the run stops.
    pub breaker: u32,
    pub final_sweep: bool,
    pub sweep_budget: Duration,
    /// How long the init script may take; where it starts what a session needs, no longer than a command.
    pub init_timeout: Duration,
    /// Stops after the initializer so that a person can look at the checks.
    pub review: bool,
    pub gate: gate::Settings,
    pub sandbox: sandbox::Settings,
    /// What would hold commands, for a command that runs none.
    pub sandbox_foreseen: &'static str,
    pub tool_limits: tools::Limits,
    pub tools: tools::Declared,
    /// Tokens that the model's window holds; zero: unknown.
    pub window: u64,
    /// The share of the window at which old tool results are cleared.
    pub clear_at: f64,
    pub caps: Caps,
    pub screen: Screen,
    /// Days with sessions after which a note that nobody used is removed.
    pub expire_unused: Option<u32>,
    /// The environment of the user's own hooks and of `git`: everything but our key.
    pub outer: BTreeMap<String, String>,
    /// The environment of the agent's commands and of checks.
    pub inner: BTreeMap<String, String>,
    /// Values that never reach a record.
    pub secrets: Secrets,
    pub session_start: Vec<String>,
    pub session_end: Vec<String>,
    /// How long one of these commands may take.
    pub hook_timeout: Duration,
    /// Where all this was read from.
    pub read: Read,
}

/// How notes are recalled.
#[derive(Clone, Debug, Default)]
pub struct Recall {
    /// Most notes given at the start of a session.
    pub notes: usize,
    /// The model that chooses them; empty: words choose.
    pub small_model: String,
    /// How notes are written after a session, if they are.
    pub extract: Option<Extract>,
}

/// How notes are written after a session.
#[derive(Clone, Debug)]
pub struct Extract {
    pub model: String,
    /// Where its name comes from.
    pub model_setting: ModelSetting,
    /// What may be used for one session.
    pub turns: u32,
    pub tokens: u64,
    /// The shortest time from one time to the next.
    pub pause: Duration,
}

/// The files that the settings of this command were read from, as they were then.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// Text of the shared file that holds; none: there was no such file.
    pub shared: Option<String>,
    /// The user's own files, those that were not there too.
    pub own: Vec<(PathBuf, Option<String>)>,
}
