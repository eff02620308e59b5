//! How one request reaches the model service, and how the reply comes back.
//!
//! [`Client::send`] takes a whole conversation and gives a whole reply or a [`Failure`]; between them lie the wire form
//! (`wire`), the stream (`sse`, `stream`), what an attempt ran into (`fault`) and how long is asked again (`outage`). A broken
//! reply leaves nothing behind.
//! What a tool call means, which budget binds and what happens after a failure is decided above.
//!
//! [`Server`] is the other end for rehearsals, the demo and the tests: it plays a [`Script`] over the same protocol.

mod address;
mod attempt;
mod context;
mod count;
mod error_type;
mod failure;
mod fault;
mod hints;
mod http;
mod input;
mod outage;
mod played;
mod script;
mod script_file;
mod server;
mod sse;
pub mod stream;
mod tls;
mod validate;
mod wire;

pub use failure::Failure;
pub use http::Client;
pub use script::Script;
pub use server::Server;

use crate::message::Message;
use crate::message::Usage;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

/// How the service is reached; the same for a whole run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The service's address without `/v1/messages`, such as `https://api.anthropic.com`.
    pub base_url: String,
    /// May be absent for a loopback address only.
    pub key: Option<Secret>,
    /// The variable the key comes from; named when the key is missing or refused.
    pub key_env: String,
    /// Value of the header `anthropic-version`.
    pub version: String,
    /// Values of the header `anthropic-beta`.
    pub betas: Vec<String>,
    /// What the service is asked to do with a conversation that grows, by the names of its edits.
    pub edits: Vec<String>,
    /// Values of `anthropic-beta` that go with the edits.
    pub edit_betas: Vec<String>,
    /// The share of the window at which old tool results are cleared.
    pub clear_at: f64,
    /// How long the service may stay unavailable before a request fails.
    pub outage_budget: Duration,
    /// How long a reply may stay silent between two bytes.
    pub idle: Duration,
    /// The wait before the second attempt; it doubles from there, up to sixty times as long.
    pub first_wait: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            base_url: "https://api.anthropic.com".to_owned(),
            key: None,
            key_env: "ANTHROPIC_API_KEY".to_owned(),
            version: "2023-06-01".to_owned(),
            betas: Vec::new(),
            edits: Vec::new(),
            edit_betas: Vec::new(),
            clear_at: 0.5,
            outage_budget: Duration::from_secs(15 * 60),
            idle: Duration::from_secs(90),
            first_wait: Duration::from_millis(500),
        }
    }
}

/// A key that no debug output shows.
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Secret {
    /// Takes a key; blanks and line breaks around it are left out, since they come from files and never belong to it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// Returns the key itself, for those who look for it in texts that must not hold it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// The setting a request's model comes from; named when the service does not serve it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ModelSetting {
    /// Of the model that works.
    #[default]
    Model,
    /// Of the one for small things.
    SmallModel,
    /// Of the one that writes notes after a session.
    ExtractModel,
}

impl ModelSetting {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "[agent] model",
            Self::SmallModel => "[agent] small_model",
            Self::ExtractModel => "[recall] extract_model",
        }
    }
}

/// One turn's request: the whole conversation.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub model: String,
    pub model_setting: ModelSetting,
    pub max_tokens: u32,
    /// Text blocks.
    pub system: Vec<Value>,
    /// Shared with whoever keeps the conversation.
    pub messages: Arc<Vec<Message>>,
    /// Tool definitions as the service takes them.
    pub tools: Vec<Value>,
    /// Tokens the model's window holds; 0: unknown.
    pub window: u64,
    /// No attempt begins after this moment, and one under way is cut at it; nothing of its reply is kept.
    pub deadline: Option<Instant>,
}

/// What the service told of the tokens of a reply that is not whole.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Told {
    /// It has begun.
    UnderWay(Usage),
    /// It broke, or was cut off, and is billed all the same.
    Lost(Usage),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_never_appears_in_debug_output() {
        let settings = Settings { key: Some(Secret::new(" key-for-this-test\n")), ..Settings::default() };

        assert_eq!(settings.key.as_ref().map(Secret::reveal), Some("key-for-this-test"));
        assert!(!format!("{settings:?} {settings:#?}").contains("key-for-this-test"));
    }
}
