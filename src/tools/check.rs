//! The `check` tool: runs this feature's check the way the gate does, and marks nothing.

use serde_json::Value;

use crate::checklist::Feature;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::Trial;
use crate::message::ToolResult;
use crate::tools::artifacts::Artifacts;
use crate::tools::bash::Shell;
use crate::tools::bash::jobs_ended;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// Characters of the check's output that are shown.
const SHOWN: usize = 20_000;

/// Answers one call. What runs in the background and could answer in its place ends first: the gate will not find it either.
/// `pinned` returns the bytes of a pinned file, to show what differs.
pub(super) fn call(
    gate: &Gate,
    feature: &Feature,
    shell: &mut Shell,
    pinned: &dyn Fn(&str) -> Option<Vec<u8>>,
    artifacts: &Artifacts,
    input: &Value,
) -> Result<ToolResult, ToolError> {
    Input::new(input, &[])?;
    let check =
        feature.check.as_ref().ok_or_else(|| tell(format!("`{}` has no check: hand over and say so", feature.id)))?;
    let ended = if shell.is_reached_from_outside() { shell.end_jobs() } else { Vec::new() };
    let known = Known { since: feature.since().map(str::to_owned), ..Known::default() };
    let trial = gate.try_out(check, &known, pinned).map_err(told_if_broken)?;
    let mut text = told(&trial, artifacts)?;
    if !ended.is_empty() {
        text.push_str(&format!("[{}, as the gate does; `setup` starts servers again]\n", jobs_ended(&ended)));
    }
    Ok(ToolResult::text(text))
}

/// A repository that the session itself broke is its own to know of; at its end it is made whole.
fn told_if_broken(error: anyhow::Error) -> ToolError {
    match error.downcast_ref::<Failure>() {
        Some(failure) if failure.kind == Kind::Integrity => tell(format!("the check cannot run: {failure}")),
        _ => error.into(),
    }
}

fn told(trial: &Trial, artifacts: &Artifacts) -> anyhow::Result<String> {
    let mut text = format!("{}\n", trial.sentence());
    // The sentence holds the first line.
    for line in trial.detail().lines().skip(1) {
        text.push_str(&format!("{line}\n"));
    }
    if let Some(output) = trial.output().filter(|output| output.size > 0) {
        let shown = artifacts.show_output(output, SHOWN)?.joined();
        text.push_str(&format!("its output:\n{}\n", shown.trim_end_matches('\n')));
    }
    text.push_str("[this run marks nothing; the check runs again after you hand over, on what is committed then]\n");
    Ok(text)
}
