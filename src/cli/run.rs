//! `longhaul run`

use super::Context;
use super::context::require_committed_settings;
use super::error;
use super::error::Code;
use super::line::Line;
use super::line::Tone;
use crate::engine;
use crate::engine::prepare::Dirty;
use crate::engine::run::resume::Start;
use crate::engine::settings::Settings;
use crate::engine::workspace::Access;
use crate::failure::Failure;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;

/// Hold sessions until every required feature is proven or a limit is reached
///
/// Run it again to go on, also after a crash. Press Ctrl-C once to end the session in order, twice to stop at once.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Hold at most this many sessions
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    sessions: Option<String>,

    /// Spend at most this many US dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    budget: Option<String>,

    /// Take at most this long, such as `8h` or `1h30m`
    #[arg(long, value_name = "DURATION")]
    time: Option<String>,

    /// Use at most this many tokens
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    tokens: Option<String>,

    /// Work with this model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Leave out the sweep over all required checks at the end; the run then never ends with 0
    #[arg(long)]
    no_final_sweep: bool,

    /// Commit your uncommitted changes to tracked files before the first session, instead of refusing to run
    #[arg(long)]
    include_dirty: bool,

    /// Go on in the middle of the session that a crash or a kill cut off, instead of starting a fresh one from memory
    ///
    /// Its conversation is rebuilt from its record; a command that may have run is not run again. Without such a session, or
    /// where it has nothing left to do, that is said and a fresh one starts. A session that you ended with Ctrl-C has ended in
    /// order and is none.
    #[arg(long = "continue")]
    resume: bool,

    /// Print each event as a line of JSON on standard output, and nothing for people
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Returns the settings these options stand for. Their values are read where all settings are, with the same messages.
    pub(super) fn settings(&self) -> [(&'static str, Option<String>); 6] {
        [
            ("budget.sessions", self.sessions.clone()),
            ("budget.usd", self.budget.clone()),
            ("budget.time", self.time.clone()),
            ("budget.tokens", self.tokens.clone()),
            ("agent.model", self.model.clone()),
            ("run.final_sweep", self.no_final_sweep.then(|| "false".to_owned())),
        ]
    }
}

/// Refuses limits that would not bind: zero would mean none, and dollars need a price.
fn require_binding(args: &Args, settings: &Settings) -> Result<()> {
    let given =
        [("sessions", &args.sessions), ("budget", &args.budget), ("tokens", &args.tokens), ("time", &args.time)];
    let zero = |text: &str| text.trim_end_matches(char::is_alphabetic).parse::<f64>().is_ok_and(|number| number == 0.0);
    if let Some((name, _)) = given.iter().find(|(_, value)| value.as_deref().is_some_and(zero)) {
        return Err(Failure::usage(format!("`--{name} 0` would allow nothing"))
            .hint(format!("leave `--{name}` out, or give more than 0"))
            .into());
    }
    if args.budget.is_some() && settings.prices.model.is_none() {
        let model = &settings.model;
        return Err(Failure::usage(format!("`--budget` cannot bind: no price is known for the model `{model}`"))
            .hint(format!("put `[prices.\"{model}\"]` into your config.toml, or limit `--tokens`"))
            .into());
    }
    Ok(())
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    if args.json {
        context.output.stream(context.clock);
    }
    let dirty = if args.include_dirty { Dirty::Commit } else { Dirty::Refuse };
    let start = if args.resume { Start::Continue } else { Start::Afresh };
    let ended = context.in_project(Access::Work, &args.settings(), |workspace| {
        require_binding(args, workspace.settings)?;
        require_committed_settings(&workspace.project)?;
        engine::run::run(workspace, dirty, start)
    });
    if args.json {
        context.output.json(&last_event(&ended, context));
    }
    let reached = ended?;
    if !args.json {
        context.output.data_line(&Line::new(Tone::Good, "done").add(Tone::Plain, &format!(": {reached}")));
    }
    Ok(Code::Done)
}

/// Renders the last line of a stream of events: how the run ended.
fn last_event(ended: &Result<String>, context: &Context) -> Value {
    let (code, reason) = match ended {
        Ok(reached) => (Code::Done, reached.clone()),
        Err(error) => (error::code(error), error::with_causes(error)),
    };
    json!({"type": "run_ended", "at": context.clock.now().to_string(), "code": code as u8, "reason": reason})
}
