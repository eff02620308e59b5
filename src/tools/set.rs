//! What a conversation needs of the tools in it.

use anyhow::Result;
use serde_json::Value;

use crate::message::ToolCall;
use crate::message::ToolResult;
use crate::tools::Artifacts;
use crate::tools::HandOver;

/// The tools of one conversation.
pub trait Tools {
    /// Returns what the service is told about them.
    fn definitions(&self) -> Vec<Value>;

    /// Runs one call. What is wrong with it is a result for the model.
    ///
    /// # Errors
    /// Only what the conversation cannot survive.
    fn call(&mut self, call: &ToolCall, turn: u32) -> Result<ToolResult>;

    /// Returns where texts too large for the context are kept.
    fn artifacts(&self) -> &Artifacts;

    /// Returns the agent's words, once it has handed over.
    fn handed_over(&self) -> Option<&HandOver> {
        None
    }

    /// Tells whether what they work on is still there.
    fn project_is_there(&self) -> bool {
        true
    }

    /// Names the state of the files they work on, where it can be told: as long as it stays the same, nothing changed.
    fn files(&self) -> Option<String> {
        None
    }

    /// Hears that old results were taken out of the conversation, and what the agent said last. What is returned goes into
    /// the next message.
    fn after_clearing(&mut self, _said: &str) -> Option<String> {
        None
    }
}
