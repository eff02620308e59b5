//! `longhaul completions`

use super::Arguments;
use super::Context;
use super::error::Code;
use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print it for this shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "longhaul", &mut script);
    context.output.data(&String::from_utf8(script)?);
    Ok(Code::Done)
}
