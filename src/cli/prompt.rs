//! `longhaul prompt`

use super::Context;
use super::error::Code;
use super::line::Line;
use super::line::Tone;
use super::narration::count;
use crate::driver::Opening;
use crate::engine::commands::preview;
use crate::engine::workspace::Access;
use anyhow::Result;

/// Show what the model would see at the start of a session; holds none
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// A session on a feature: the one named, or the one whose turn it is
    Session { feature: Option<String> },
    /// A session that makes the checklist
    Initializer,
}

pub(super) fn run(command: &Command, context: &Context) -> Result<Code> {
    let opening = context.in_project(Access::Look, &[], |ws| match command {
        Command::Session { feature } => preview::session(ws, feature.as_deref()),
        Command::Initializer => preview::initializer(ws),
    })?;
    let Opening { system, first } = &opening;
    for (name, text) in [("system prompt", system), ("first message", first)] {
        let tokens = u64::try_from(preview::tokens(text)).unwrap_or(u64::MAX);
        context.output.data_line(&Line::new(Tone::Dim, &format!("--- {name}: about {} ---", count(tokens))));
        context.output.data(text);
    }
    Ok(Code::Done)
}
