//! How much may be used, what things cost, and both in words.

use crate::clock::duration;
use crate::engine::budget::spent::Spent;
use crate::engine::counted;
use crate::message::Usage;
use std::time::Duration;

/// USD for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_write: f64,
    pub cache_read: f64,
}

impl Price {
    pub(super) fn cost(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_write, self.cache_write)
            + part(usage.cache_read, self.cache_read)
    }
}

/// The limits of a run, of each session and of each feature; none: unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub run: Limit,
    pub session: Limit,
    /// Over all sessions on it, those of earlier runs too.
    pub feature: Limit,
    pub turns_per_session: Option<u32>,
}

/// How much may be used of each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limit {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub time: Option<Duration>,
    pub sessions: Option<u32>,
}

impl Limit {
    /// Says which limit is reached, other than the number of sessions. `whose` stands before the limit, such as `the` or
    /// `the session's`.
    pub(super) fn reached(&self, whose: &str, spent: &Spent) -> Option<String> {
        if let Some((usd, cost)) = self.usd.zip(spent.cost).filter(|(usd, cost)| cost >= usd) {
            return Some(format!("{whose} budget of {usd} USD is used up ({cost:.2} spent)"));
        }
        if let Some(tokens) = self.tokens.filter(|tokens| spent.usage.total() >= *tokens) {
            return Some(format!("{whose} budget of {} is used up", of_tokens(tokens)));
        }
        let time = self.time.filter(|time| spent.time >= *time);
        time.map(|time| format!("{whose} time budget of {} is used up", duration::spell(time)))
    }

    /// Returns the limits with how much of each is used.
    pub(super) fn shares(&self, spent: &Spent) -> [Option<(&'static str, f64)>; 3] {
        [
            self.usd.zip(spent.cost).map(|(usd, cost)| ("USD", cost / usd)),
            self.tokens.map(|tokens| ("tokens", spent.usage.total() as f64 / tokens as f64)),
            self.time.map(|time| ("time", spent.time.as_secs_f64() / time.as_secs_f64())),
        ]
    }

    pub(super) fn in_words(&self) -> Vec<String> {
        let usd = self.usd.map(|usd| format!("{usd} USD"));
        let tokens = self.tokens.map(of_tokens);
        let time = self.time.map(duration::spell);
        let sessions = self.sessions.map(|sessions| counted(sessions as usize, "session"));
        [usd, tokens, time, sessions].into_iter().flatten().collect()
    }
}

/// What things cost, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Of the model that works.
    pub model: Option<Price>,
    /// Of the small model, or of the other one where there is none; none: it is counted as that, which costs more.
    pub small: Option<Price>,
    /// Of the one that writes notes after a session, likewise.
    pub extract: Option<Price>,
}

fn of_tokens(tokens: u64) -> String {
    format!("{} token{}", grouped(tokens), if tokens == 1 { "" } else { "s" })
}

/// Spells a number with commas between the thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
