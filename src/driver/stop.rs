//! What each stop reason asks for.

use super::Ending;
use super::LARGER;
use crate::message::Reply;
use crate::message::StopReason;
use crate::message::ToolCall;
use crate::provider::Failure;
use serde_json::Value;

/// Replies that the service pauses in a row. Each is paid for, and goes on where the one before stopped.
const PAUSES: u32 = 10;

/// Empty replies in a row that are the service's fault and end the session.
const EMPTIES: u32 = 3;

/// What a reply asks for.
pub(super) enum Next {
    End(Ending),
    /// The service paused: the same conversation is sent again.
    AskAgain,
    Answer(Vec<ToolCall>),
    /// The reply was cut off; its calls may be incomplete.
    TellCut(Vec<ToolCall>),
    /// The reply was empty.
    TellEmpty,
}

/// Replies in a row, up to the newest, that ended in the same way before they were done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Streak {
    /// They were cut off.
    pub(super) cuts: u32,
    /// The service paused them, or summed up and said nothing.
    pauses: u32,
    /// They said nothing.
    empties: u32,
}

impl Streak {
    /// Counts a reply.
    pub(super) fn take(&mut self, reply: &Reply) {
        let counted = |count: u32, again: bool| if again { count + 1 } else { 0 };
        self.cuts = counted(self.cuts, reply.stop_reason == StopReason::MaxTokens);
        self.empties = counted(self.empties, reply.is_empty());
        let pauses = matches!(reply.stop_reason, StopReason::PauseTurn | StopReason::Compaction);
        self.pauses = counted(self.pauses, pauses && reply.tool_calls().is_empty());
    }

    /// Reads what the newest reply asks for, which is counted; every stop reason has its row.
    pub(super) fn next(self, reply: &Reply, calls: Vec<ToolCall>) -> Next {
        match &reply.stop_reason {
            _ if self.empties >= EMPTIES => Next::End(Ending::Provider(Failure::Empty { replies: self.empties })),
            _ if self.empties > 0 => Next::TellEmpty,
            StopReason::EndTurn
            | StopReason::StopSequence
            | StopReason::ToolUse
            | StopReason::PauseTurn
            | StopReason::Compaction
                if !calls.is_empty() =>
            {
                Next::Answer(calls)
            }
            StopReason::EndTurn | StopReason::StopSequence => Next::End(Ending::Stopped),
            StopReason::ToolUse => {
                Next::End(Ending::Unclear("the model stopped to use a tool and called none".to_owned()))
            }
            StopReason::PauseTurn | StopReason::Compaction if self.pauses >= PAUSES => {
                Next::End(Ending::Stuck(format!(
                    "the service stopped {PAUSES} replies in a row for a pause (the last for `{}`), and none called a tool or came \
                 to an end",
                    reply.stop_reason.as_str()
                )))
            }
            StopReason::PauseTurn | StopReason::Compaction => Next::AskAgain,
            StopReason::MaxTokens if self.cuts > 1 => Next::End(Ending::Cut(format!(
                "two replies in a row were cut off, the second at {LARGER} times `[agent] max_tokens`; a larger one may help"
            ))),
            StopReason::MaxTokens => Next::TellCut(calls),
            StopReason::Refusal => Next::End(Ending::Refused(refusal(&reply.raw))),
            StopReason::ContextWindow => {
                Next::End(Ending::Full("the reply was cut off at the end of the model's window".to_owned()))
            }
            StopReason::Other(reason) => {
                Next::End(Ending::Unclear(format!("the model stopped for an unknown reason `{reason}`")))
            }
        }
    }
}

/// Returns what the service says about a refusal.
fn refusal(raw: &Value) -> String {
    let details = &raw["stop_details"];
    let text = |key: &str| details[key].as_str().filter(|text| !text.is_empty());
    match (text("category"), text("explanation")) {
        (Some(category), Some(explanation)) => format!("{category}: {explanation}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => "no reason given".to_owned(),
    }
}
