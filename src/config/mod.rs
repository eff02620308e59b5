//! Which value each setting has, and where it came from.
//!
//! A `Config` is what was meant: read once, checked as a whole, every value of the type its part needs. It knows nothing of
//! the parts; `cli` turns it into their settings.

mod environment;
mod file;
mod layers;
mod narrow;
mod not_yet;
mod prices;
mod setting;
mod trust;

pub use environment::Environment;
pub use file::File;
pub use layers::DEFAULTS;
pub use layers::Sources;
pub use layers::variable_of;
pub use narrow::risk;
pub use prices::Price;
pub use prices::Prices;
pub use setting::Source;
pub use trust::Trust;
pub use trust::Trusted;

use crate::sandbox::Mode;
use crate::sandbox::Reach;
use anyhow::Result;
use layers::Layers;
use std::collections::BTreeMap;
use std::time::Duration;

/// All settings of one run. Those whose feature is not there yet are read and refused, and not kept.
#[derive(Clone, Debug)]
pub struct Config {
    pub agent: Agent,
    pub provider: Provider,
    pub context: Context,
    pub budget: Budget,
    pub run: Run,
    pub gate: Gate,
    pub sandbox: Sandbox,
    pub memory: Memory,
    pub hooks: Hooks,
    pub recall: Recall,
    pub prices: Prices,
    /// What a person should know about values that do not count.
    pub notes: Vec<String>,
    values: BTreeMap<String, (String, Source)>,
}

/// The model and its window.
#[derive(Clone, Debug)]
pub struct Agent {
    pub model: String,
    /// The model for recall and extraction; empty: none.
    pub small_model: String,
    pub max_tokens: u32,
    pub window: u64,
}

/// The model service.
#[derive(Clone, Debug)]
pub struct Provider {
    pub base_url: String,
    pub key_env: String,
    pub version: String,
    pub betas: Vec<String>,
    pub tools: Tools,
    pub outage_budget: Duration,
}

/// How the tools are declared that the service has types for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tools {
    Typed,
    Custom,
}

/// What becomes of a long conversation.
#[derive(Clone, Debug)]
pub struct Context {
    /// What the service is asked to do, by the names of its edits.
    pub edits: Vec<String>,
    pub betas: Vec<String>,
    /// The share of the window at which old tool results are cleared.
    pub clear_at: f64,
}

/// What a run, a session and a feature may use; zero means no limit.
#[derive(Clone, Debug)]
pub struct Budget {
    pub run: Limit,
    pub session: Limit,
    pub feature: Limit,
    pub turns_per_session: u32,
}

/// How much may be used; zero means no limit.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    pub usd: f64,
    pub tokens: u64,
    pub time: Duration,
    pub sessions: u32,
}

/// How a run goes on and ends.
#[derive(Clone, Debug)]
pub struct Run {
    pub attempts: u32,
    pub breaker: u32,
    pub final_sweep: bool,
    pub sweep_budget: Duration,
    pub init_timeout: Duration,
}

/// How checks are run.
#[derive(Clone, Debug)]
pub struct Gate {
    pub checkout: Checkout,
    /// Text for `sh`; empty: none.
    pub prepare: String,
    pub review: Review,
    pub strict: bool,
    pub soft_closure: Vec<String>,
    pub timeout: Duration,
    /// How long a check may print nothing.
    pub idle: Option<Duration>,
}

/// Where checks run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Checkout {
    Auto,
    Clean,
    InPlace,
}

/// What happens to a write into memory that looks like a secret.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Secrets {
    Refuse,
    Allow,
}

/// Whether a person looks at the checks before work begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Review {
    Auto,
    Ask,
}

/// What holds the agent's commands.
#[derive(Clone, Debug)]
pub struct Sandbox {
    pub mode: Mode,
    /// Who has the network.
    pub network: Reach,
    /// Further folders that can be read.
    pub read: Vec<String>,
    /// Variables handed to the agent's commands and the checks.
    pub pass_env: Vec<String>,
}

/// Caps of what the agent keeps.
#[derive(Clone, Debug)]
pub struct Memory {
    pub file_bytes: usize,
    pub files: usize,
    pub view_chars: usize,
    pub path_bytes: usize,
    pub path_depth: usize,
    pub index_lines: usize,
    pub index_bytes: usize,
    /// Zero: never.
    pub expire_unused: Duration,
    pub secrets: Secrets,
}

/// What is handed from notes to sessions.
#[derive(Clone, Debug)]
pub struct Recall {
    /// Most notes given at the start of a session.
    pub notes: usize,
    /// Whether notes are written after a session.
    pub extract: bool,
    /// The model that writes them; empty: the small one, or the one that works.
    pub extract_model: String,
    pub extract_turns: u32,
    pub extract_tokens: u64,
    pub extract_pause: Duration,
}

/// The user's own commands around a session.
#[derive(Clone, Debug)]
pub struct Hooks {
    pub session_start: Vec<String>,
    pub session_end: Vec<String>,
    /// How long one of them may take.
    pub timeout: Duration,
}

impl Config {
    /// Lays the sources on top of each other and reads every setting.
    pub fn load(sources: &Sources<'_>) -> Result<Self> {
        let layers = Layers::gather(sources)?;
        let config = Self::read(&layers)?;
        not_yet::refuse(&layers)?;
        Ok(config)
    }

    /// Returns where the value of `section.key` came from.
    pub fn source(&self, key: &str) -> &Source {
        self.values.get(key).map_or(&Source::Default, |(_, source)| source)
    }

    /// Returns the value of `section.key` as it was given.
    pub fn given(&self, key: &str) -> &str {
        self.values.get(key).map_or("", |(given, _)| given.as_str())
    }

    /// Returns the value of `section.key` as it was given; text without its quotes.
    pub fn shown(&self, key: &str) -> &str {
        let given = self.given(key);
        given.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(given)
    }

    /// Returns the settings whose value is another one in `other`.
    pub fn differing<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = &'a str> {
        self.values.keys().map(String::as_str).filter(|key| self.shown(key) != other.shown(key))
    }

    fn read(layers: &Layers) -> Result<Self> {
        Ok(Self {
            agent: read_agent(layers)?,
            provider: read_provider(layers)?,
            context: read_context(layers)?,
            budget: read_budget(layers)?,
            run: Run {
                attempts: layers.get("run.attempts")?.whole(1, 1000)?,
                breaker: layers.get("run.breaker")?.whole(1, 1000)?,
                final_sweep: layers.get("run.final_sweep")?.boolean()?,
                sweep_budget: layers.get("run.sweep_budget")?.duration_or_off()?,
                init_timeout: layers.get("run.init_timeout")?.duration()?,
            },
            gate: read_gate(layers)?,
            sandbox: read_sandbox(layers)?,
            memory: read_memory(layers)?,
            recall: read_recall(layers)?,
            hooks: Hooks {
                session_start: layers.get("hooks.session_start")?.list()?,
                session_end: layers.get("hooks.session_end")?.list()?,
                timeout: layers.get("hooks.timeout")?.duration()?,
            },
            prices: Prices::read(&layers.prices)?,
            notes: layers.notes.clone(),
            values: layers.values(),
        })
    }
}

fn read_agent(layers: &Layers) -> Result<Agent> {
    layers.get("agent.driver")?.choice(&[("api", ()), ("acp", ()), ("command", ())])?;
    Ok(Agent {
        model: layers.get("agent.model")?.text()?,
        small_model: layers.get("agent.small_model")?.text()?,
        max_tokens: layers.get("agent.max_tokens")?.whole(1, 1_000_000)?,
        window: layers.get("agent.window")?.whole(1000, i64::MAX)?,
    })
}

fn read_provider(layers: &Layers) -> Result<Provider> {
    let address = layers.get("provider.base_url")?;
    let base_url = address.filled()?.trim_end_matches('/').to_owned();
    // What stands before an `@` may be a password.
    if base_url.contains('@') {
        let way_out = "leave only `https://`, the host and at most a path; the key belongs into the variable that \
                       `provider.key_env` names";
        return address.refuse_unshown("holds a user, a password or another `@`", way_out);
    }
    if !base_url.starts_with("https://") && !base_url.starts_with("http://") {
        return address.refuse("an address that begins with `https://` or `http://`");
    }
    Ok(Provider {
        base_url,
        key_env: layers.get("provider.key_env")?.filled()?,
        version: layers.get("provider.version")?.filled()?,
        betas: layers.get("provider.betas")?.list()?,
        tools: layers.get("provider.tools")?.choice(&[("typed", Tools::Typed), ("custom", Tools::Custom)])?,
        outage_budget: layers.get("provider.outage_budget")?.duration_or_off()?,
    })
}

fn read_context(layers: &Layers) -> Result<Context> {
    const KINDS: [&str; 3] = ["clear_thinking_", "clear_tool_uses_", "compact_"];
    let names = layers.get("context.edits")?;
    let edits = names.list()?;
    if edits.iter().any(|edit| !KINDS.iter().any(|kind| edit.starts_with(kind))) {
        return names.refuse("a list of edits that begin with `clear_thinking_`, `clear_tool_uses_` or `compact_`");
    }
    let percent: u32 = layers.get("context.clear_at")?.whole(10, 60)?;
    Ok(Context { edits, betas: layers.get("context.betas")?.list()?, clear_at: f64::from(percent) / 100.0 })
}

fn read_budget(layers: &Layers) -> Result<Budget> {
    let most = i64::from(u32::MAX);
    let limit = |of: &str| {
        let get = |name: &str| layers.get(&format!("budget.{of}{name}"));
        Ok::<Limit, anyhow::Error>(Limit {
            usd: get("usd")?.amount()?,
            tokens: get("tokens")?.whole(0, i64::MAX)?,
            time: get("time")?.duration_or_off()?,
            // A session has no sessions.
            sessions: if of == "session_" { 0 } else { get("sessions")?.whole(0, most)? },
        })
    };
    Ok(Budget {
        run: limit("")?,
        session: limit("session_")?,
        feature: limit("feature_")?,
        turns_per_session: layers.get("budget.turns_per_session")?.whole(0, most)?,
    })
}

fn read_gate(layers: &Layers) -> Result<Gate> {
    layers.get("run.branch")?.text()?;
    let patterns = layers.get("gate.soft_closure")?;
    let soft_closure = patterns.list()?;
    if soft_closure.iter().any(|pattern| globset::Glob::new(pattern).is_err()) {
        return patterns.refuse("a list of patterns such as [\"fixtures/**\"]");
    }
    let places = [("auto", Checkout::Auto), ("clean", Checkout::Clean), ("in-place", Checkout::InPlace)];
    Ok(Gate {
        checkout: layers.get("gate.checkout")?.choice(&places)?,
        prepare: layers.get("gate.prepare")?.text()?,
        review: layers.get("gate.review")?.choice(&[("auto", Review::Auto), ("ask", Review::Ask)])?,
        strict: layers.get("gate.strict")?.boolean()?,
        soft_closure,
        timeout: layers.get("gate.timeout")?.duration()?,
        idle: Some(layers.get("gate.idle")?.duration_or_off()?).filter(|idle| !idle.is_zero()),
    })
}

fn read_sandbox(layers: &Layers) -> Result<Sandbox> {
    let modes = [("auto", Mode::Auto), ("bubblewrap", Mode::Bubblewrap), ("off", Mode::Off)];
    let networks = [("off", Reach::Nobody), ("setup", Reach::Setup), ("on", Reach::Everybody)];
    Ok(Sandbox {
        mode: layers.get("sandbox.mode")?.choice(&modes)?,
        network: layers.get("sandbox.network")?.choice(&networks)?,
        read: layers.get("sandbox.read")?.list()?,
        pass_env: layers.get("sandbox.pass_env")?.list()?,
    })
}

fn read_recall(layers: &Layers) -> Result<Recall> {
    Ok(Recall {
        notes: layers.get("recall.notes")?.whole(0, 100)?,
        extract: layers.get("recall.extract")?.boolean()?,
        extract_model: layers.get("recall.extract_model")?.text()?,
        extract_turns: layers.get("recall.extract_turns")?.whole(1, 100)?,
        extract_tokens: layers.get("recall.extract_tokens")?.whole(1, i64::MAX)?,
        extract_pause: layers.get("recall.extract_pause")?.duration_or_off()?,
    })
}

fn read_memory(layers: &Layers) -> Result<Memory> {
    Ok(Memory {
        secrets: layers.get("memory.secrets")?.choice(&[("refuse", Secrets::Refuse), ("allow", Secrets::Allow)])?,
        file_bytes: layers.get("memory.file_bytes")?.whole(1, i64::MAX)?,
        files: layers.get("memory.files")?.whole(1, i64::MAX)?,
        view_chars: layers.get("memory.view_chars")?.whole(100, i64::MAX)?,
        path_bytes: layers.get("memory.path_bytes")?.whole(64, 4096)?,
        path_depth: layers.get("memory.path_depth")?.whole(2, 64)?,
        index_lines: layers.get("memory.index_lines")?.whole(0, i64::MAX)?,
        index_bytes: layers.get("memory.index_bytes")?.whole(0, i64::MAX)?,
        expire_unused: layers.get("memory.expire_unused")?.duration_or_off()?,
    })
}

#[cfg(test)]
mod tests;
