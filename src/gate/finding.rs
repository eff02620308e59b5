//! The kinds of results of a check, and what follows from each.

use std::fmt::Display;
use std::fmt::Formatter;

/// The kinds of result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Finding {
    Passed,
    Failed,
    TimedOut,
    Signalled,
    /// The command was not found or could not be executed.
    NotRunnable,
    /// The setup failed, or what the check waits for never came.
    NotReady,
    /// A file that decides the result is not what it was at approval.
    CheckChanged,
    /// It passed, and changed tracked files or HEAD meanwhile.
    TreeMoved,
    /// It passed, and no earlier tree is known on which it did not.
    AlreadyGreen,
    Interrupted,
    /// What would have been tested is in no commit.
    NotCommitted,
    /// The check, or the program it runs, holds nothing.
    Empty,
    /// It ended well, and its test runner said that no test ran.
    NothingExecuted,
    /// The time of a sweep, or of the run, was over before it came to its end.
    OutOfTime,
    /// Only a person can tell.
    NeedsPerson,
}

impl Finding {
    /// Returns the name kept in the checklist.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Signalled => "signalled",
            Self::NotRunnable => "not runnable",
            Self::NotReady => "not ready",
            Self::CheckChanged => "check changed",
            Self::TreeMoved => "tree moved",
            Self::AlreadyGreen => "already green",
            Self::Interrupted => "interrupted",
            Self::NotCommitted => "not committed",
            Self::Empty => "empty",
            Self::NothingExecuted => "nothing executed",
            Self::OutOfTime => "out of time",
            Self::NeedsPerson => "needs a person",
        }
    }

    /// Tells whether the check ran and passed, whatever that proves.
    pub fn is_green(self) -> bool {
        matches!(self, Self::Passed | Self::AlreadyGreen)
    }

    /// Tells whether the check ran to a result that says something about the feature.
    pub fn is_result(self) -> bool {
        self.is_green() || matches!(self, Self::Failed | Self::TimedOut | Self::Signalled)
    }

    /// Tells whether nothing follows from it for the feature.
    pub fn is_silent(self) -> bool {
        matches!(self, Self::Interrupted | Self::NotCommitted | Self::OutOfTime | Self::NeedsPerson)
    }

    /// Tells whether the check itself did not pass, which makes the feature one that can be proven. A test that is not
    /// written yet leaves a runner with nothing to do.
    pub fn is_red(self) -> bool {
        let fails = matches!(self, Self::Failed | Self::TimedOut | Self::Signalled);
        fails || matches!(self, Self::NotRunnable | Self::NotReady | Self::NothingExecuted)
    }
}

impl Display for Finding {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
