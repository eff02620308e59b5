//! What a session may still use.

use crate::event::Event;
use crate::message::Usage;

/// What a session may still use; asked before each request.
pub trait Meter {
    /// Says which limit is reached.
    fn exhausted(&mut self) -> Option<String>;
    /// Says which limit in tokens, money or time is reached; while a turn is under way, the number of turns is none of it.
    fn used_up(&mut self) -> Option<String>;
    /// Returns the limit in time that is reached first.
    fn first_in_time(&mut self) -> Option<Bound> {
        None
    }
    /// Counts a request.
    fn turn(&mut self);
    /// Keeps what a reply has used that is under way, in case of a kill, and returns its cost; whatever becomes of the reply is
    /// counted in its place.
    fn under_way(&mut self, usage: &Usage) -> Option<f64>;
    /// Counts a reply's tokens and returns their cost in USD, when the price is known.
    fn spend(&mut self, usage: &Usage) -> Option<f64>;
    /// Returns what has been used so far.
    fn spent(&self) -> Event;
}

/// A limit in time, and in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub whose: Whose,
    pub words: String,
}

/// What a limit is of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Whose {
    Run,
    Session,
    Feature,
}
