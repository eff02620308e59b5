//! `longhaul rehearse`

use super::Context;
use super::error::Code;
use anyhow::Result;
use std::ffi::OsString;
use std::path::PathBuf;

/// Play a scripted model on loopback: try limits, faults and checks without spending
///
/// Without a command, prints `base_url=…` as its first line and serves until Ctrl-C. With one, such as
/// `longhaul rehearse SCRIPT -- run --sessions 1`, runs that longhaul command against the script and returns its exit code.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Play this script, a TOML file
    #[arg(value_name = "SCRIPT")]
    pub(super) script: PathBuf,

    /// Run this longhaul command against it
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

pub(super) fn run(_args: &Args, _context: &Context) -> Result<Code> {
    Err(anyhow::anyhow!("the engine is on another branch"))
}
