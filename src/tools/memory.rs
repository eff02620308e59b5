//! The `memory` tool: hands a call to the store, with who made it.

use serde_json::Value;

use crate::memory::Author;
use crate::memory::Origin;
use crate::memory::Store;
use crate::message::ToolResult;
use crate::tools::input::ToolError;

/// Answers one call; `origin` names the session and the call.
pub(super) fn call(store: &mut Store, origin: &Origin, input: &Value) -> Result<ToolResult, ToolError> {
    Ok(store.run(input, &Origin { author: Author::Agent, ..origin.clone() })?)
}
