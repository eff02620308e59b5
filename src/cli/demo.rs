//! `longhaul demo`

use super::Context;
use super::error::Code;
use anyhow::Result;
use std::path::PathBuf;

/// Show a whole project, offline, with a scripted model
///
/// Needs no key and no tools beyond `sh` and `git`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Leave the project in this folder, which must not exist yet or be empty
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
}

pub(super) fn run(_args: &Args, _context: &Context) -> Result<Code> {
    Err(anyhow::anyhow!("the engine is on another branch"))
}
