//! `longhaul check`

use super::Context;
use super::error::Code;
use crate::engine;
use crate::engine::commands::check::Which;
use crate::engine::workspace::Access;
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

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let which = match (args.all, args.features.is_empty()) {
        (true, _) => Which::All,
        (false, true) => Which::Undone,
        (false, false) => Which::These(args.features.clone()),
    };
    let outcomes =
        context.in_project(Access::Work, &[], |workspace| engine::commands::check::check(workspace, &which))?;
    if outcomes.is_empty() {
        context.output.data("no check to run: every feature is done, or has none");
    }
    for outcome in &outcomes {
        let (finding, state) = (outcome.verdict.finding(), outcome.state);
        let check = if finding.as_str().starts_with("check") { "" } else { "check " };
        context.output.data(&format!("{}: {check}{finding}, feature {state}", outcome.id));
    }
    let failed = outcomes.iter().filter(|outcome| !outcome.verdict.finding().is_green()).count();
    match failed {
        0 => Ok(Code::Done),
        _ => Ok(Code::Unproven),
    }
}
