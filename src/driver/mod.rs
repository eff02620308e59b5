//! The turns of one session: asks the model, runs the tools it calls, until something ends it.
//!
//! Decides what each stop reason and each interrupt means for the conversation. What a tool does, how a request
//! reaches the service and what follows from the session's end is decided elsewhere.

mod api;
mod clearing;
mod conversation;
mod edits;
mod ending;
mod gauge;
mod meter;
mod past;
mod repeats;
mod stop;
#[cfg(test)]
mod tests;

use std::time::Instant;

use crate::provider::ModelSetting;

pub use api::Driver;
pub use api::drive;
pub use api::go_on;
pub use ending::Ending;
pub use meter::Bound;
pub use meter::Meter;
pub use meter::Whose;
pub use past::Past;

/// A reply after one that was cut off may be this many times as long.
pub const LARGER: u32 = 2;
/// Rounds in a row of the same calls with the same results, from which on the agent is told.
pub const REPEATED: u32 = 3;
/// As many of them end the session.
pub const FUTILE: u32 = 6;

/// How the model is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    pub model: String,
    /// Where the model's name comes from.
    pub model_setting: ModelSetting,
    pub max_tokens: u32,
    /// Tokens the model's window holds; close to it the agent is asked to hand over. 0: never.
    pub window: u64,
    /// The share of the window at which the service is asked to clear; what is still too much is cleared here.
    pub clear_at: f64,
    /// No request goes out after this moment, and a reply under way is cut at it.
    pub deadline: Option<Instant>,
    pub texts: Texts,
}

/// What the agent is told on the way.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// Close to the end of the window.
    pub almost_full: String,
    /// After a reply that was cut off.
    pub cut_off: String,
    /// After a reply that was empty; where there is no text, such a reply is the end as any other.
    pub empty: String,
    /// After the same call with the same result.
    pub repeated: String,
}

/// What the conversation starts with.
#[derive(Clone, Debug)]
pub struct Opening {
    pub system: String,
    pub first: String,
}
