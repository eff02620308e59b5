//! The conversation of a session that was cut off, rebuilt from its record.
//!
//! A kill can come between any two lines of the record, or within one. Whatever is there becomes a conversation that the
//! service takes: each call has one answer, and no call is run again because of what is not there.

use anyhow::Result;
use serde_json::Value;

use super::conversation::Conversation;
use super::gauge::Size;
use super::repeats::Repeats;
use super::repeats::Rut;
use super::stop::Next;
use super::stop::Streak;
use crate::message::Reply;
use crate::message::Role;
use crate::message::ToolCall;
use crate::message::ToolResult;
use crate::secrets::HIDDEN;

const MAY_HAVE_RUN: &str = "interrupted: longhaul was stopped while this call was running. It may have run in part; look \
before you do it again";
const NEVER_BEGAN: &str = "not run: longhaul was stopped before this call";

/// A session up to where it was cut off.
pub struct Past {
    pub(super) conversation: Conversation,
    /// The turn of the newest message.
    turn: u32,
    /// Each reply, and how large the conversation was with it.
    pub(super) replies: Vec<(Reply, Size)>,
    pub(super) streak: Streak,
    /// The calls that came again and again, up to the newest that are answered.
    pub(super) repeats: Repeats,
    /// Old results were taken out since the newest message of ours.
    pub(super) cleared: bool,
    /// Calls of the newest reply, as long as no message has answered them.
    open: Vec<Open>,
    over: bool,
    /// As far as the record tells, the agent went round in a circle for too long.
    stuck: bool,
}

/// A call that the conversation does not answer yet.
struct Open {
    call: ToolCall,
    fate: Fate,
}

/// What the record tells of a call.
enum Fate {
    Waits,
    Began,
    Ended(ToolResult),
}

impl Past {
    /// Rebuilds a session from its events; the error says why it cannot go on.
    pub fn read(events: &[Value]) -> Result<Self, &'static str> {
        let mut past = None;
        for event in events {
            match &mut past {
                Some(past) => Self::take(past, event),
                None if event["type"] == "sent" => past = Some(Self::begin(event)),
                None => {}
            }
        }
        let past = past.filter(|past| !past.conversation.is_empty()).ok_or("its record ends before its first turn")?;
        if past.over || past.stuck || past.was_last_reply() {
            return Err("it had made its last turn");
        }
        Ok(past)
    }

    /// Takes over what became of calls although the record does not tell; `known` finds it by call and turn.
    pub fn settle(&mut self, known: &mut dyn FnMut(&ToolCall, u32) -> Result<Option<ToolResult>>) -> Result<()> {
        for open in self.open.iter_mut().filter(|open| !matches!(open.fate, Fate::Ended(_))) {
            if let Some(result) = known(&open.call, self.turn)? {
                open.fate = Fate::Ended(result);
            }
        }
        Ok(())
    }

    /// Returns the turn it goes on with: what belongs to a message that went out already keeps its turn.
    pub fn next_turn(&self) -> u32 {
        self.turn + u32::from(self.is_our_turn())
    }

    /// Tells whether the newest message is a reply, so that ours is the next.
    fn is_our_turn(&self) -> bool {
        self.conversation.newest_role() == Some(Role::Assistant)
    }

    /// Returns the results of the calls that nobody has answered.
    pub(super) fn answers(&mut self) -> Vec<Value> {
        self.close(&[])
    }

    fn begin(event: &Value) -> Self {
        let system = event["content"][0]["text"].as_str().unwrap_or_default();
        Self {
            conversation: Conversation::new(system),
            turn: 0,
            replies: Vec::new(),
            streak: Streak::default(),
            repeats: Repeats::default(),
            cleared: false,
            open: Vec::new(),
            over: false,
            stuck: false,
        }
    }

    fn take(&mut self, event: &Value) {
        let turn = event["turn"].as_u64().and_then(|turn| u32::try_from(turn).ok()).unwrap_or(self.turn);
        match event["type"].as_str().unwrap_or_default() {
            "sent" => self.say(turn, event["content"].as_array().cloned().unwrap_or_default()),
            "replied" if !self.conversation.is_empty() => self.hear(turn, &event["message"]),
            "cleared" => {
                for (id, text) in event["results"].as_object().into_iter().flatten() {
                    self.conversation.clear(id, text.as_str().unwrap_or_default());
                }
                self.cleared = true;
            }
            "edited" => self.cleared = true,
            "tool_started" => self.note(event, Fate::Began),
            "tool_ended" => {
                let (content, is_error) = (event["content"].clone(), event["is_error"] == true);
                self.over |= event["name"] == "hand_over" && !is_error;
                self.note(event, Fate::Ended(ToolResult { content, is_error }));
            }
            // The first step of the hook: the turns were over.
            "hook_step" => self.over = true,
            _ => {}
        }
    }

    /// Adds a message of ours. One that the record lost in part answers each call all the same, and nothing else.
    fn say(&mut self, turn: u32, content: Vec<Value>) {
        let (results, others): (Vec<Value>, Vec<Value>) =
            content.into_iter().partition(|block| block["type"] == "tool_result");
        let blocks: Vec<Value> = self.close(&results).into_iter().chain(others).collect();
        if !blocks.is_empty() {
            self.conversation.say(blocks);
            self.turn = turn;
            self.cleared = false;
        }
    }

    /// Answers each call by what was `told`, or else by what is known of it.
    fn close(&mut self, told: &[Value]) -> Vec<Value> {
        let answer = |open: Open| {
            let told = told.iter().find(|block| block["tool_use_id"] == open.call.id.as_str()).cloned();
            (open.call.clone(), told.unwrap_or_else(|| open.into_block()))
        };
        let (calls, blocks): (Vec<ToolCall>, Vec<Value>) = self.open.drain(..).map(answer).unzip();
        // Calls of a reply that was cut off were not run.
        if self.streak.cuts == 0 && !calls.is_empty() {
            self.stuck = matches!(self.repeats.take(&calls, &blocks, || None), Rut::End(_));
        }
        blocks
    }

    fn hear(&mut self, turn: u32, message: &Value) {
        self.say(self.turn, Vec::new());
        // It went on all the same: it had changed files meanwhile.
        if std::mem::take(&mut self.stuck) {
            self.repeats = Repeats::default();
        }
        let reply = Reply::of(without_broken_thinking(message.clone()));
        self.streak.take(&reply);
        let calls = self.conversation.hear(&reply).calls;
        self.open = calls.into_iter().map(|call| Open { call, fate: Fate::Waits }).collect();
        self.replies.push((reply, self.conversation.size()));
        self.turn = turn;
    }

    fn note(&mut self, event: &Value, fate: Fate) {
        if let Some(open) = self.open.iter_mut().find(|open| event["id"] == open.call.id.as_str()) {
            open.fate = fate;
        }
    }

    /// Tells whether the newest message is a reply after which nothing is asked any more.
    fn was_last_reply(&self) -> bool {
        let Some((reply, _)) = self.replies.last().filter(|_| self.is_our_turn()) else { return false };
        let calls = self.open.iter().map(|open| open.call.clone()).collect();
        matches!(self.streak.next(reply, calls), Next::End(_))
    }
}

impl Open {
    fn into_block(self) -> Value {
        let result = match self.fate {
            Fate::Waits => ToolResult::error(NEVER_BEGAN),
            Fate::Began => ToolResult::error(MAY_HAVE_RUN),
            Fate::Ended(result) => result,
        };
        result.to_block(&self.call.id)
    }
}

/// Leaves out thinking of which a part was hidden in the record: its signature does not fit any more, and the service
/// would refuse it.
fn without_broken_thinking(mut message: Value) -> Value {
    if let Some(blocks) = message["content"].as_array_mut() {
        blocks.retain(|block| block["type"] != "thinking" || !block.to_string().contains(HIDDEN));
    }
    message
}
