//! The messages so far, kept in a form the service takes: every call answered once, in the next message.

use serde_json::Value;

use crate::message::Message;
use crate::message::Reply;
use crate::message::ToolCall;
use crate::message::text_block;

/// A conversation that grows at its end.
pub(super) struct Conversation {
    system: Value,
    messages: Vec<Message>,
}

impl Conversation {
    /// Begins with the system prompt; the first message comes by [`Conversation::say`].
    pub(super) fn new(system: &str) -> Self {
        Self { system: text_block(system), messages: Vec::new() }
    }

    /// Adds a message of ours.
    pub(super) fn say(&mut self, content: Vec<Value>) {
        self.messages.push(Message::user(content));
    }

    /// Adds the reply as it came. One without blocks adds nothing, since the service takes no empty message.
    pub(super) fn hear(&mut self, reply: &Reply) {
        let content = reply.content();
        if !content.is_empty() {
            self.messages.push(Message::assistant(content));
        }
    }

    /// Returns the system prompt.
    pub(super) fn system(&self) -> Vec<Value> {
        vec![self.system.clone()]
    }

    /// Returns the messages so far.
    pub(super) fn messages(&self) -> Vec<Message> {
        self.messages.clone()
    }
}

/// Returns the calls of a reply, each id once: an id that comes twice is one call, and the service takes one answer.
pub(super) fn calls(reply: &Reply) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::new();
    for call in reply.tool_calls() {
        if !calls.iter().any(|known| known.id == call.id) {
            calls.push(call);
        }
    }
    calls
}
