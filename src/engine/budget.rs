//! What a run and a session may use, and what they have used.
//!
//! Asked in one place, before each request. A cost that is not known is never taken for zero: then tokens bind instead.

use crate::clock::duration;
use crate::driver::Meter;
use crate::engine::counted;
use crate::event::Event;
use crate::message::Usage;
use std::time::Duration;
use std::time::Instant;

/// Binds a run whose model has no known price and that was given no token limit.
const TOKENS_WITHOUT_PRICE: u64 = 20_000_000;

/// USD for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_write: f64,
    pub cache_read: f64,
}

impl Price {
    fn cost(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        part(usage.input, self.input)
            + part(usage.output, self.output)
            + part(usage.cache_write, self.cache_write)
            + part(usage.cache_read, self.cache_read)
    }
}

/// The limits of a run; none: unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub usd: Option<f64>,
    pub time: Option<Duration>,
    pub sessions: Option<u32>,
    pub turns_per_session: Option<u32>,
    pub tokens: Option<u64>,
}

/// What was used up to a moment, or between two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Used {
    pub turns: u32,
    pub usage: Usage,
    /// USD; none when the price is unknown.
    pub cost: Option<f64>,
}

impl Used {
    /// Returns what was used after `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            turns: self.turns - earlier.turns,
            usage: self.usage.since(earlier.usage),
            cost: self.cost.zip(earlier.cost).map(|(now, then)| now - then),
        }
    }
}

/// Counts what a run uses against its limits.
pub struct Budget {
    limits: Limits,
    price: Option<Price>,
    started: Instant,
    usage: Usage,
    sessions: u32,
    turns: u32,
    turns_in_all: u32,
}

impl Budget {
    /// Starts counting; `price` is that of the model, if known.
    pub fn start(mut limits: Limits, price: Option<Price>) -> Self {
        if price.is_none() {
            limits.tokens = limits.tokens.or(Some(TOKENS_WITHOUT_PRICE));
        }
        Self { limits, price, started: Instant::now(), usage: Usage::default(), sessions: 0, turns: 0, turns_in_all: 0 }
    }

    /// Returns the limits as one line for a person.
    pub fn describe(&self) -> String {
        let limits = &self.limits;
        let money = match (self.price, limits.usd) {
            (Some(_), Some(usd)) => format!("{usd} USD"),
            (Some(_), None) => "no limit in USD".to_owned(),
            (None, _) => "cost unknown (no price for this model), so tokens bind".to_owned(),
        };
        let tokens = limits.tokens.map(|tokens| format!("{} tokens", grouped(tokens)));
        let time = limits.time.map(duration::spell);
        let sessions = limits.sessions.map(|sessions| counted(sessions as usize, "session"));
        let turns = limits.turns_per_session.map(|turns| format!("{} a session", counted(turns as usize, "turn")));
        let limits: Vec<String> = [Some(money), tokens, time, sessions, turns].into_iter().flatten().collect();
        format!("limits: {}", limits.join(" · "))
    }

    /// Counts one more session and starts its turns.
    pub fn begin_session(&mut self) {
        self.sessions += 1;
        self.turns = 0;
    }

    /// Returns what was used so far.
    pub fn used(&self) -> Used {
        Used { turns: self.turns_in_all, usage: self.usage, cost: self.cost() }
    }

    /// Returns the cost so far in USD, if the price is known.
    fn cost(&self) -> Option<f64> {
        self.price.map(|price| price.cost(&self.usage))
    }

    /// Says which limit of the whole run is reached, other than the number of sessions.
    pub fn run_exhausted(&self) -> Option<String> {
        if let Some((usd, spent)) = self.limits.usd.zip(self.cost()).filter(|(usd, spent)| spent >= usd) {
            return Some(format!("the budget of {usd} USD is used up ({spent:.2} spent)"));
        }
        if let Some(tokens) = self.limits.tokens.filter(|tokens| self.usage.total() >= *tokens) {
            return Some(format!("the budget of {} tokens is used up", grouped(tokens)));
        }
        let time = self.limits.time.filter(|time| self.started.elapsed() >= *time);
        time.map(|time| format!("the time budget of {} is used up", duration::spell(time)))
    }

    /// Says which limit forbids another session.
    pub fn sessions_exhausted(&self) -> Option<String> {
        let used = self.limits.sessions.is_some_and(|limit| self.sessions >= limit);
        self.run_exhausted().or(used.then(|| format!("{} used", counted(self.sessions as usize, "session"))))
    }

    /// Returns the time left, when time is limited.
    pub fn time_left(&self) -> Option<Duration> {
        self.limits.time.map(|time| time.saturating_sub(self.started.elapsed()))
    }

    /// Names the limit that is nearest, with how much of it is used.
    fn nearest(&self) -> String {
        let limits = &self.limits;
        let shares = [
            limits.usd.zip(self.cost()).map(|(usd, spent)| ("USD", spent / usd)),
            limits.tokens.map(|tokens| ("tokens", self.usage.total() as f64 / tokens as f64)),
            limits.time.map(|time| ("time", self.started.elapsed().as_secs_f64() / time.as_secs_f64())),
            limits.turns_per_session.map(|turns| ("turns", f64::from(self.turns) / f64::from(turns))),
        ];
        let nearest = shares.into_iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map_or_else(|| "no limit".to_owned(), |(name, share)| format!("{name} {:.0} %", share * 100.0))
    }
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

impl Meter for Budget {
    fn exhausted(&mut self) -> Option<String> {
        let turns = self.limits.turns_per_session.filter(|turns| self.turns >= *turns);
        self.run_exhausted()
            .or(turns.map(|turns| format!("the limit of {} a session is reached", counted(turns as usize, "turn"))))
    }

    fn turn(&mut self) {
        self.turns += 1;
        self.turns_in_all += 1;
    }

    fn spend(&mut self, usage: &Usage) -> Option<f64> {
        self.usage.add(*usage);
        self.price.map(|price| price.cost(usage))
    }

    fn spent(&self) -> Event {
        let (tokens, cached) = (self.usage.total(), self.usage.cached());
        Event::Spent { tokens, cached, cost: self.cost(), nearest: self.nearest() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price { input: 5.0, output: 25.0, cache_write: 6.25, cache_read: 0.5 };
    fn used(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    #[test]
    fn money_binds_once_it_is_spent_and_not_before() {
        let mut budget = Budget::start(Limits { usd: Some(1.0), ..Limits::default() }, Some(PRICE));

        assert_eq!(budget.spend(&used(50_000, 10_000)), Some(0.5));
        assert_eq!(budget.exhausted(), None);
        budget.spend(&used(99_999, 0));
        assert_eq!(budget.exhausted(), None);
        budget.spend(&used(1, 0));
        assert_eq!(budget.exhausted().unwrap(), "the budget of 1 USD is used up (1.00 spent)");
    }

    #[test]
    fn an_unknown_price_is_not_zero_and_tokens_bind() {
        let mut budget = Budget::start(Limits { usd: Some(1.0), ..Limits::default() }, None);

        assert_eq!(budget.spend(&used(19_999_999, 0)), None);
        assert_eq!(budget.exhausted(), None);
        budget.spend(&used(1, 0));
        assert_eq!(budget.exhausted().unwrap(), "the budget of 20,000,000 tokens is used up");
        assert!(budget.describe().starts_with("limits: cost unknown"), "{}", budget.describe());
    }

    #[test]
    fn turns_bind_one_session_and_sessions_bind_the_run() {
        let mut budget =
            Budget::start(Limits { sessions: Some(2), turns_per_session: Some(1), ..Limits::default() }, Some(PRICE));

        budget.begin_session();
        budget.turn();
        assert_eq!(budget.exhausted().unwrap(), "the limit of 1 turn a session is reached");
        assert_eq!(budget.run_exhausted(), None);
        budget.begin_session();
        assert_eq!(budget.exhausted(), None);
        assert_eq!(budget.sessions_exhausted().unwrap(), "2 sessions used");
    }
}
