//! The editor where the agent's commands are: a link that leads out of the project leads nowhere there.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use crate::message::ToolResult;
use crate::process::Command;
use crate::process::Errors;
use crate::process::Exit;
use crate::sandbox::Sandbox;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// How long an edit may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Bytes of an answer; the largest is an image in base64.
const KEEP: usize = 8 * 1024 * 1024;

/// Answers one call on the project at `root`, here.
///
/// # Errors
/// Only what is no answer for the model.
pub fn answer(root: &Path, input: &Value) -> anyhow::Result<ToolResult> {
    match super::call(root, input) {
        Ok(result) => Ok(result),
        Err(ToolError::TellModel(text)) => Ok(ToolResult::error(text)),
        Err(ToolError::Fatal(error)) => Err(error),
    }
}

/// Answers one call on the project at `root`, inside of the sandbox where there is an inside.
pub(in crate::tools) fn call_in(sandbox: &Sandbox, root: &Path, input: &Value) -> Result<ToolResult, ToolError> {
    let Some(program) = sandbox.own_program() else { return super::call(root, input) };
    let mut command = Command::new(program, &["edit"], root, BTreeMap::new()).limit(LIMIT);
    command.stdin = Some(input.to_string().into_bytes());
    command.errors = Errors::Apart;
    command.keep = KEEP;
    let finished = sandbox.run(&command);
    match finished.exit {
        Exit::Code(0) => {
            Ok(serde_json::from_slice(&finished.output.head).context("could not read the editor's answer")?)
        }
        Exit::NotStarted(reason) => Err(tell(format!("the editor could not start: {reason}"))),
        exit => Err(tell(format!("the editor did not answer: {exit}; {}", finished.errors.last_lines(3)))),
    }
}
