//! Why a session's turns ended.

use std::fmt;

use super::Meter;
use super::Whose;
use crate::provider::Failure;
use crate::tools::HandOver;

/// The first turn. A session that ends in it would end so again.
pub(super) const FIRST: u32 = 1;

/// Why the turns ended; displayed as the rest of a sentence that begins with "ended:".
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// The agent called `hand_over`.
    HandedOver(HandOver),
    /// The agent stopped without handing over.
    Stopped,
    /// A budget is used up; says which.
    Limit(String),
    /// A person asked to stop.
    Interrupted,
    /// The service gave no reply.
    Provider(Failure),
    /// The service is away for longer than a limit in time leaves; says which.
    Away(String),
    /// The model refused to go on; says why.
    Refused(String),
    /// The model's window is full; says how.
    Full(String),
    /// The window has no room for what a session begins with; says how.
    NoRoom(String),
    /// A reply was cut off; says how.
    Cut(String),
    /// The service ended a reply in a way that tells nothing; says how.
    Unclear(String),
    /// The agent went round in a circle; says how.
    Stuck(String),
    /// The project's folder is gone.
    Vanished,
}

impl Ending {
    /// Tells what it means for the session that the request of this turn got no reply.
    pub(super) fn of_failure(failure: Failure, turn: u32, meter: &mut dyn Meter) -> Self {
        match failure {
            Failure::Interrupted => Self::Interrupted,
            Failure::TooLong { message } if turn != FIRST => {
                Self::Full(format!("the conversation is too long for the model: {message}"))
            }
            Failure::OutOfTime | Failure::Spent => {
                Self::Limit(meter.used_up().or_else(|| meter.exhausted()).unwrap_or_else(|| failure.to_string()))
            }
            Failure::Away { fault } => {
                let bound = meter.first_in_time();
                // What was heard was paid for, and the next session goes on from there, in a time of its own.
                let goes_on = turn != FIRST && bound.as_ref().is_none_or(|bound| bound.whose != Whose::Run);
                let limit = bound.map_or_else(|| "what is left of its time".to_owned(), |bound| bound.words);
                let reason = format!("{limit} is too short to wait for the model service: {fault}");
                if goes_on { Self::Limit(reason) } else { Self::Away(reason) }
            }
            failure => Self::Provider(failure),
        }
    }

    /// Tells whether the service or a limit ended the session, which then costs its feature no attempt.
    pub fn is_free(&self) -> bool {
        let of_service = matches!(self, Self::Provider(_) | Self::Away(_) | Self::Unclear(_));
        of_service || matches!(self, Self::Limit(_) | Self::Full(_) | Self::NoRoom(_))
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandedOver(_) => f.write_str("the agent handed over"),
            Self::Stopped => f.write_str("the agent stopped without handing over"),
            Self::Limit(reason)
            | Self::Away(reason)
            | Self::Full(reason)
            | Self::NoRoom(reason)
            | Self::Unclear(reason)
            | Self::Cut(reason) => f.write_str(reason),
            Self::Stuck(reason) => write!(f, "stuck: {reason}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Provider(failure) => failure.fmt(f),
            Self::Refused(reason) => write!(f, "the model refused to go on: {reason}"),
            Self::Vanished => f.write_str("the project's folder is gone"),
        }
    }
}
