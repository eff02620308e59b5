//! The messages so far, kept in a form the service takes: every call with an id of its own, answered once in the next
//! message.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::message::Message;
use crate::message::Reply;
use crate::message::ToolCall;
use crate::message::text_block;

/// A conversation that grows at its end.
pub(super) struct Conversation {
    system: Value,
    messages: Vec<Message>,
    /// Ids of all calls so far.
    ids: BTreeSet<String>,
}

/// A reply as it was taken in.
pub(super) struct Heard {
    pub(super) calls: Vec<ToolCall>,
    /// What was wrong with its ids, in words.
    pub(super) mended: Vec<String>,
}

impl Conversation {
    /// Begins with the system prompt; the first message comes by [`Conversation::say`].
    pub(super) fn new(system: &str) -> Self {
        Self { system: text_block(system), messages: Vec::new(), ids: BTreeSet::new() }
    }

    /// Adds a message of ours.
    pub(super) fn say(&mut self, content: Vec<Value>) {
        self.messages.push(Message::user(content));
    }

    /// Adds the reply as it came and returns its calls. One without blocks adds nothing, since the service takes no empty
    /// message.
    ///
    /// The service takes each id once. A call that comes twice in a reply is one call. Some endpoints count their calls
    /// anew in each reply: such a call gets another id, which changes nothing the model knows.
    pub(super) fn hear(&mut self, reply: &Reply) -> Heard {
        let (mut content, mut mended, mut here) = (reply.content(), Vec::new(), BTreeSet::new());
        content.retain(|block| {
            let repeated = is_call(block) && !here.insert(id_of(block).to_owned());
            if repeated {
                mended.push(format!("the call `{}` came twice in one reply and is run once", id_of(block)));
            }
            !repeated
        });
        for block in content.iter_mut().filter(|block| is_call(block)) {
            let id = id_of(block).to_owned();
            let own = self.unused(&id);
            if own != id {
                mended.push(format!("the id `{id}` was used before in this session; the call goes by `{own}`"));
                block["id"] = Value::String(own.clone());
            }
            self.ids.insert(own);
        }
        let calls = content.iter().filter(|block| is_call(block)).map(ToolCall::read).collect();
        if !content.is_empty() {
            self.messages.push(Message::assistant(content));
        }
        Heard { calls, mended }
    }

    /// Returns the system prompt.
    pub(super) fn system(&self) -> Vec<Value> {
        vec![self.system.clone()]
    }

    /// Returns the messages so far.
    pub(super) fn messages(&self) -> Vec<Message> {
        self.messages.clone()
    }

    fn unused(&self, id: &str) -> String {
        let further = (2..).map(|count: u32| format!("{id}-{count}"));
        let mut names = std::iter::once(id.to_owned()).chain(further);
        names.find(|name| !self.ids.contains(name)).unwrap_or_else(|| id.to_owned())
    }
}

fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

fn id_of(block: &Value) -> &str {
    block["id"].as_str().unwrap_or_default()
}
