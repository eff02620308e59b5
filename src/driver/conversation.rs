//! The messages so far, kept in a form the service takes: every call with an id of its own, answered once in the next
//! message.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::gauge::Size;
use crate::message::Message;
use crate::message::Reply;
use crate::message::Role;
use crate::message::ToolCall;
use crate::message::text_block;

/// A conversation that grows at its end.
pub(super) struct Conversation {
    system: Value,
    /// Shared with a request while it is under way.
    messages: Arc<Vec<Message>>,
    size: Size,
    /// The tool of each call so far, by the call's id.
    tools: BTreeMap<String, String>,
}

/// A tool result that may be taken out or shortened.
pub(super) struct Old {
    pub(super) id: String,
    pub(super) size: Size,
    message: usize,
    block: usize,
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
        let system = text_block(system);
        Self { size: Size::of(std::slice::from_ref(&system)), system, messages: Arc::default(), tools: BTreeMap::new() }
    }

    /// Adds a message of ours; after another one of ours it becomes a part of that. Returns where in the message it begins.
    pub(super) fn say(&mut self, content: Vec<Value>) -> usize {
        match self.newest_role() {
            Some(Role::User) => {
                let from = self.newest().len();
                content.into_iter().for_each(|block| self.add(block));
                from
            }
            _ => {
                self.push(Message::user(content));
                0
            }
        }
    }

    /// Adds a block to the newest message of ours.
    pub(super) fn add(&mut self, block: Value) {
        self.size = self.size.plus(Size::of(std::slice::from_ref(&block)));
        if let Some(newest) = Arc::make_mut(&mut self.messages).last_mut() {
            newest.content.push(block);
        }
    }

    /// Returns the blocks of the newest message.
    pub(super) fn newest(&self) -> &[Value] {
        self.messages.last().map_or(&[], |newest| &newest.content)
    }

    /// Returns what the agent said in its newest replies, oldest first.
    pub(super) fn newest_texts(&self, replies: usize) -> String {
        let of_agent = self.messages.iter().rev().filter(|message| message.role == Role::Assistant).take(replies);
        let mut texts: Vec<&str> = of_agent
            .flat_map(|message| message.content.iter().rev())
            .filter(|block| block["type"] == "text")
            .filter_map(|block| block["text"].as_str())
            .collect();
        texts.reverse();
        texts.join("\n")
    }

    /// Adds the reply as it came and returns its calls. An empty one adds nothing, since the service takes no empty message, and
    /// none that ends with thinking.
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
            let plain = plain_id(&id);
            let own = self.unused(&plain);
            if own != id {
                let why =
                    if plain == id { "was used before in this session" } else { "is no id the service takes back" };
                mended.push(format!("the id `{id}` {why}; the call goes by `{own}`"));
                block["id"] = Value::String(own.clone());
            }
            let name = block["name"].as_str().unwrap_or_default();
            let plain = plain_name(name);
            if plain != name {
                mended.push(format!("`{name}` is no name of a tool; the call goes by `{plain}`"));
                block["name"] = Value::String(plain);
            }
            self.tools.insert(own, block["name"].as_str().unwrap_or_default().to_owned());
        }
        let calls = content.iter().filter(|block| is_call(block)).map(ToolCall::read).collect();
        if !content.is_empty() && !reply.is_empty() {
            self.push(Message::assistant(content));
        }
        Heard { calls, mended }
    }

    /// Returns who spoke last.
    pub(super) fn newest_role(&self) -> Option<Role> {
        self.messages.last().map(|newest| newest.role)
    }

    /// Tells whether a message of ours has this text as a block.
    pub(super) fn holds(&self, text: &str) -> bool {
        let ours = self.messages.iter().filter(|message| message.role == Role::User);
        ours.flat_map(|message| &message.content).any(|block| block["text"] == text)
    }

    /// Tells whether nobody has spoken yet.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the system prompt.
    pub(super) fn system(&self) -> Vec<Value> {
        vec![self.system.clone()]
    }

    /// Returns the messages so far.
    pub(super) fn messages(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.messages)
    }

    /// Returns how large it is, the system prompt included.
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Returns the tool results above `smallest` bytes, oldest first, that may be taken out: none of the memory tool, none
    /// of the newest `keep` in number while they have no more than so many bytes, and none that the model has not seen.
    pub(super) fn old_results(&self, keep: (usize, usize), smallest: usize) -> Vec<Old> {
        let seen = 0..self.messages.len().saturating_sub(1);
        let mut results: Vec<Old> = seen.flat_map(|at| self.results_in(at)).collect();
        let newest = self.newest().iter().filter(|block| block["type"] == "tool_result").count();
        let (number, bytes) = (keep.0.saturating_sub(newest), keep.1);
        let summed = results.iter().rev().take(number).scan(0, |sum, old| {
            *sum += old.size.text();
            Some(*sum)
        });
        let kept = summed.take_while(|sum| *sum <= bytes).count();
        results.truncate(results.len() - kept);
        let of_memory = |old: &Old| self.tools.get(&old.id).is_some_and(|tool| tool == "memory");
        results.retain(|old| (old.size.bytes > smallest || old.size.images > 0) && !of_memory(old));
        results
    }

    /// Returns the tool results above `smallest` bytes that the model has not seen.
    pub(super) fn newest_results(&self, smallest: usize) -> Vec<Old> {
        let newest = self.messages.len().saturating_sub(1);
        self.results_in(newest).filter(|new| new.size.bytes > smallest).collect()
    }

    fn results_in(&self, message: usize) -> impl Iterator<Item = Old> {
        let blocks = self.messages.get(message).map_or(&[][..], |message| &message.content);
        let results = blocks.iter().enumerate().filter(|(_, value)| value["type"] == "tool_result");
        results.map(move |(block, value)| {
            let id = value["tool_use_id"].as_str().unwrap_or_default().to_owned();
            Old { id, size: Size::of(std::slice::from_ref(value)), message, block }
        })
    }

    /// Returns the content of a tool result.
    pub(super) fn result(&self, old: &Old) -> &Value {
        &self.messages[old.message].content[old.block]["content"]
    }

    /// Puts a text in the place of a tool result's content.
    pub(super) fn replace(&mut self, old: &Old, text: &str) {
        let block = &mut Arc::make_mut(&mut self.messages)[old.message].content[old.block];
        block["content"] = Value::String(text.to_owned());
        self.size = self.size.minus(old.size).plus(Size::of(std::slice::from_ref(block)));
    }

    /// Takes all thinking out; tells whether there was any.
    pub(super) fn forget_thinking(&mut self) -> bool {
        let before = self.size;
        for message in Arc::make_mut(&mut self.messages) {
            message.content.retain(|block| {
                let thinking = matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"));
                if thinking {
                    self.size = self.size.minus(Size::of(std::slice::from_ref(block)));
                }
                !thinking
            });
        }
        self.size != before
    }

    /// Puts a text in the place of the result of a call, as it was done before.
    pub(super) fn clear(&mut self, id: &str, text: &str) {
        let old = self.messages.iter().enumerate().find_map(|(message, sent)| {
            let block = sent.content.iter().position(|block| block["tool_use_id"] == id)?;
            let size = Size::of(std::slice::from_ref(&sent.content[block]));
            Some(Old { id: id.to_owned(), size, message, block })
        });
        if let Some(old) = old {
            self.replace(&old, text);
        }
    }

    fn push(&mut self, message: Message) {
        self.size = self.size.plus(Size::of(&message.content));
        Arc::make_mut(&mut self.messages).push(message);
    }

    fn unused(&self, id: &str) -> String {
        let further = (2..).map(|count: u32| format!("{id}-{count}"));
        let mut names = std::iter::once(id.to_owned()).chain(further);
        names.find(|name| !self.tools.contains_key(name)).unwrap_or_else(|| id.to_owned())
    }
}

/// Spells a name as the service takes it.
fn plain_name(name: &str) -> String {
    let name: String = plain_id(name).chars().take(128).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// Spells an id as the service takes it.
fn plain_id(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

fn is_call(block: &Value) -> bool {
    block["type"] == "tool_use"
}

fn id_of(block: &Value) -> &str {
    block["id"].as_str().unwrap_or_default()
}
