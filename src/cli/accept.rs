//! `longhaul accept`

use super::Context;
use super::error::Code;
use crate::checklist::State;
use crate::engine;
use crate::engine::commands::accept::Accepted;
use crate::engine::workspace::Access;
use anyhow::Result;

/// Vouch for features, or approve a changed check
///
/// A feature you vouch for shows as `accepted`, apart from those that are proven. Where the check itself has changed, its
/// present form is approved first, and has to be red before it can prove anything; one that passes already is taken by the reason.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Accept these features
    #[arg(value_name = "FEATURE", required_unless_present = "already_green")]
    pub(super) features: Vec<String>,

    /// Accept every feature whose check passed before any work on it and passes now
    #[arg(long, conflicts_with = "features")]
    pub(super) already_green: bool,

    /// Say why; needed to vouch for a feature, and shown with it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(super) reason: String,
}

/// Says what an approved check is worth.
fn what_follows(state: State) -> &'static str {
    match state {
        State::Proven => "it fails on the commit before the work, and passes now: proven",
        State::AlreadyGreen => {
            "it passes as it is now, and it is not known to have failed before: `accept` with a reason takes the feature"
        }
        State::Accepted => "it passes as it is now, and your reason takes the feature: accepted",
        _ => "it has to be red before it can prove anything",
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let accepted = context.in_project(Access::Work, &[], |workspace| match args.already_green {
        true => engine::commands::accept::accept_already_green(workspace, &args.reason),
        false => engine::commands::accept::accept(workspace, &args.features, &args.reason),
    })?;
    let left = accepted.iter().any(|one| matches!(one, Accepted::Left { .. }));
    for one in accepted {
        context.output.data(&match one {
            Accepted::Check { id, difference, state } => {
                format!("{difference}\n{id}: the changed check is approved; {}", what_follows(state))
            }
            Accepted::Feature { id, failing: None } => format!("{id}: accepted"),
            Accepted::Feature { id, failing: Some(how) } => {
                format!("{id}: accepted, although its check does not pass now: {how}")
            }
            Accepted::Proven(id) => format!("{id}: proven"),
            Accepted::Already { id, state: State::Stale } => {
                format!(
                    "{id}: proven already, nothing was changed; `longhaul check {id}` looks at it on the tree of now"
                )
            }
            Accepted::Already { id, state } => format!("{id}: {state} already, nothing was changed"),
            Accepted::Left { id, why } => format!("{id}: not accepted, its check does not pass now: {why}"),
        });
    }
    Ok(if left { Code::Unproven } else { Code::Done })
}
