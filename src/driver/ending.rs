//! Why a session's turns ended.

use std::fmt;

use crate::provider::Failure;
use crate::tools::HandOver;

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
    /// The model refused to go on; says why.
    Refused(String),
    /// The model's window is full; says how.
    Full(String),
    /// A reply was cut off; says how.
    Cut(String),
    /// The agent went round in a circle; says how.
    Stuck(String),
    /// The project's folder is gone.
    Vanished,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HandedOver(_) => f.write_str("the agent handed over"),
            Self::Stopped => f.write_str("the agent stopped without handing over"),
            Self::Limit(reason) | Self::Full(reason) | Self::Cut(reason) => f.write_str(reason),
            Self::Stuck(reason) => write!(f, "stuck: {reason}"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Provider(failure) => failure.fmt(f),
            Self::Refused(reason) => write!(f, "the model refused to go on: {reason}"),
            Self::Vanished => f.write_str("the project's folder is gone"),
        }
    }
}
