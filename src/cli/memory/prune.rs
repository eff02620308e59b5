//! `longhaul memory prune`

use crate::cli::Context;
use crate::cli::error::Code;
use crate::cli::settings;
use crate::clock::duration;
use crate::engine::session::expire;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use anyhow::Result;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Days on which sessions were held and the note was neither read nor written, such as `90d`
    #[arg(long, value_name = "TIME", value_parser = days)]
    pub(super) unused_for: u32,
    /// Only tell which notes would go
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// Removes notes that nobody used.
pub(super) fn run(args: &Args, workspace: &mut Workspace, context: &Context) -> Result<Code> {
    let notes = match args.dry_run {
        true => workspace.memory.unused_for(args.unused_for)?,
        false => expire::prune(workspace, args.unused_for)?,
    };
    notes.iter().for_each(|note| context.output.data(&note.line()));
    if notes.is_empty() {
        context.output.data("no note goes: each was used in that time, or stays by its type");
    }
    Ok(Code::Done)
}

/// Says that a memory without a project does not know which notes are used.
pub(super) fn refused() -> anyhow::Error {
    Failure::usage("only in a project it is known which notes are used").hint("leave out --store").into()
}

fn days(text: &str) -> Result<u32, String> {
    duration::parse(text).and_then(settings::days).ok_or_else(|| "give a time such as `90d`".to_owned())
}
