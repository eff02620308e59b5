//! What this program does inside a sandbox; nobody types these.

use super::Context;
use super::error::Code;
use crate::sandbox;
use crate::tools;
use anyhow::Context as _;
use anyhow::Result;
use std::io::Read;

/// Serves as process 1 of a sandbox.
pub(super) fn supervise() -> Result<Code> {
    sandbox::supervise()?;
    Ok(Code::Done)
}

/// Answers one call of the editor: the input as JSON on standard input, the result on standard output.
pub(super) fn edit(context: &Context) -> Result<Code> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).context("could not read the call")?;
    let input = serde_json::from_str(&input).context("could not read the call")?;
    let result = tools::edit(&context.environment.directory, &input)?;
    context.output.data(&serde_json::to_string(&result)?);
    Ok(Code::Done)
}
