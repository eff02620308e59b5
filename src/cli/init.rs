//! `longhaul init`

use super::Context;
use super::error::Code;
use anyhow::Result;
use std::path::PathBuf;

/// Seed the memory of the project around the working directory
///
/// Run again, it adds what is missing and overwrites nothing. With a specification and a key, the initializer session then
/// turns the specification into a checklist with checks.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Keep this specification in memory and let the initializer work on it
    #[arg(long, value_name = "SPEC.md")]
    pub(super) spec: Option<PathBuf>,

    /// Take the features of this checklist, in longhaul's own form or as a `feature_list.json`
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
}

pub(super) fn run(_args: &Args, _context: &Context) -> Result<Code> {
    Err(anyhow::anyhow!("the engine is on another branch"))
}
