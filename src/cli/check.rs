//! `longhaul check`

use super::Context;
use super::error::Code;
use anyhow::Result;

/// Run checks without an agent and record what they found
///
/// A check proves its feature here just as after a session. Without a name, the checks of all features that are not done
/// are run. Ends with 8 when one of them does not pass.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Check these features
    #[arg(value_name = "FEATURE")]
    pub(super) features: Vec<String>,

    /// Check every feature, also those already done
    #[arg(long, conflicts_with = "features")]
    pub(super) all: bool,
}

pub(super) fn run(_args: &Args, _context: &Context) -> Result<Code> {
    Err(anyhow::anyhow!("the engine is on another branch"))
}
