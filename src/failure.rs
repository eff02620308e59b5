//! What kind of failure ends a command: one kind, one exit code.

use std::fmt;

/// Decides the exit code; the table that maps it is in `cli::error`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// An error on our side or the machine's.
    Failed,
    /// The command or a setting asks for something that cannot be.
    Usage,
    /// A budget is used up with features open.
    Limit,
    /// Nothing can be worked on.
    Stuck,
    /// The model service refused or stayed away.
    Provider,
    /// Another longhaul holds this project.
    Busy,
    /// Something changed behind longhaul's back that it does not repair by itself.
    Integrity,
    /// A person asked to stop.
    Interrupted,
}

/// A failure with its kind and, where there is one, the way out.
#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
    pub hint: Option<String>,
}

impl Failure {
    /// Makes a failure without a hint.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// Makes a usage failure; the message names the thing and the reason.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Adds the way out.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
