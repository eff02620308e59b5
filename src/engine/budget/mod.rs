//! What a run, a session and a feature may use, and what they have used.
//!
//! Asked in one place, before each request. A cost that is not known is never taken for zero: then tokens bind instead.

pub mod account;
pub mod limits;
mod pulse;
pub mod records;
pub mod spent;

use crate::clock::duration;
use crate::driver::Bound;
use crate::driver::Meter;
use crate::driver::Whose;
use crate::engine::budget::account::Account;
use crate::engine::budget::limits::Limit;
use crate::engine::budget::limits::Limits;
use crate::engine::budget::limits::Price;
use crate::engine::budget::limits::Prices;
use crate::engine::budget::spent::Spent;
use crate::engine::counted;
use crate::event::Event;
use crate::message::Usage;
use std::time::Duration;
use std::time::Instant;

/// Binds a run whose model has no known price and that was given no token limit.
const TOKENS_WITHOUT_PRICE: u64 = 20_000_000;

/// Counts what a run uses against its limits.
pub struct Budget {
    limits: Limits,
    prices: Prices,
    account: Account,
    /// Up to where time is counted.
    counted: Instant,
    session: Spent,
    feature: Option<String>,
    turns: u32,
    /// It goes on with the count of a run that was killed.
    carried: bool,
    /// A request went out.
    asked: bool,
}

/// How a run came to its end, as far as its count goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// By its success or by a limit.
    Settled,
    /// Something stood in its way.
    Stopped,
}

impl Budget {
    /// Starts counting in this account.
    pub fn start(mut limits: Limits, prices: Prices, mut account: Account) -> Self {
        if prices.model.is_none() {
            limits.run.tokens = limits.run.tokens.or(Some(TOKENS_WITHOUT_PRICE));
        }
        let carried = account.carried_over().is_some();
        // From now on time is kept, also what passes before the first session.
        account.run_mut();
        account.save();
        let (counted, session) = (Instant::now(), Spent::default());
        Self { limits, prices, account, counted, session, feature: None, turns: 0, carried, asked: false }
    }

    /// Returns the limits as one line for a person.
    pub fn describe(&self) -> String {
        let Limits { run, session, feature, turns_per_session } = &self.limits;
        let money = match (self.prices.model, run.usd) {
            (Some(_), Some(_)) => None,
            (Some(_), None) => Some("no limit in USD"),
            (None, _) => Some("cost unknown (no price for this model), so tokens bind"),
        };
        // Better too high than unknown: an unknown cost would bind nothing.
        let guessed = self.prices.model.is_some() && (self.prices.small.is_none() || self.prices.extract.is_none());
        let guessed = guessed.then_some("a small model without a price counts at that of `agent.model`");
        let run = Limit { usd: run.usd.filter(|_| self.prices.model.is_some()), ..*run };
        let turns = turns_per_session.map(|turns| counted(turns as usize, "turn"));
        let session = session.in_words().into_iter().chain(turns).map(|limit| format!("{limit} a session"));
        let feature = feature.in_words().into_iter().map(|limit| format!("{limit} a feature"));
        let words = [money, guessed].into_iter().flatten().map(str::to_owned);
        let limits: Vec<String> = words.chain(run.in_words()).chain(session).chain(feature).collect();
        format!("limits: {}", limits.join(" · "))
    }

    /// Counts one more session and starts its turns.
    pub fn begin_session(&mut self, feature: Option<&str>) {
        self.tick();
        self.session = Spent::default();
        self.feature = feature.map(str::to_owned);
        self.turns = 0;
        self.count(|spent| spent.sessions += 1);
        self.account.begin_session(feature);
        self.save();
    }

    /// Goes on with the count of a session that was cut off; `spent` is what it had used.
    pub fn resume_session(&mut self, feature: Option<&str>, spent: Spent) {
        self.tick();
        self.turns = spent.turns;
        // Its record ends with its newest event, and the account with the kill.
        self.session = Spent { time: spent.time.max(self.account.session_time()), ..spent };
        self.account.begin_session(feature);
        self.feature = feature.map(str::to_owned);
        // A run that ended with an error closed its count; the session is the first of this one.
        if self.account.run().sessions == 0 {
            self.account.run_mut().sessions = 1;
        }
        self.save();
    }

    /// Ends the count of this session and returns what it used.
    pub fn end_session(&mut self) -> Spent {
        self.tick();
        self.feature = None;
        self.account.end_session();
        self.save();
        std::mem::take(&mut self.session)
    }

    /// Ends the count of the run: the next one starts at nothing, unless this one went on with what a killed run had used
    /// and never came to ask anything. Says why what was used could not be kept, if so.
    pub fn end(&mut self, end: End) -> Option<String> {
        self.tick();
        let began = self.asked || !self.carried;
        if began || end == End::Settled { self.account.close() } else { self.account.leave() }
    }

    /// Says which limit of the whole run is reached, other than the number of sessions.
    pub fn run_exhausted(&mut self) -> Option<String> {
        self.tick();
        self.limits.run.reached("the", &self.account.run())
    }

    /// Says which limit forbids another session.
    pub fn sessions_exhausted(&mut self) -> Option<String> {
        let held = self.account.run().sessions;
        let used = self.limits.run.sessions.is_some_and(|limit| held >= limit);
        self.run_exhausted().or(used.then(|| format!("{} used", counted(held as usize, "session"))))
    }

    /// Says which limit of a feature forbids another session on it.
    pub fn feature_exhausted(&self, id: &str) -> Option<String> {
        let (spent, limit) = (self.account.feature(id), &self.limits.feature);
        let used = limit.sessions.filter(|limit| spent.sessions >= *limit);
        let used = used.map(|limit| {
            let are = if limit == 1 { "is" } else { "are" };
            format!("the feature's {} {are} used", counted(limit as usize, "session"))
        });
        limit.reached("the feature's", &spent).or(used)
    }

    /// Returns the moment at which the run's own time is used up.
    pub fn end_of_run(&mut self) -> Option<Instant> {
        self.tick();
        let left = self.limits.run.time?.saturating_sub(self.account.run().time);
        Instant::now().checked_add(left)
    }

    /// Returns the time left, when time is limited.
    pub fn time_left(&mut self) -> Option<Duration> {
        self.shortest().map(|(left, ..)| left)
    }

    /// Returns how much of the time limit that is reached first is left, whose it is, and the whole of it.
    fn shortest(&mut self) -> Option<(Duration, Whose, Duration)> {
        self.tick();
        let feature = self.feature.as_deref().map(|id| self.account.feature(id)).unwrap_or_default();
        let Limits { run, session, feature: of_feature, .. } = &self.limits;
        let limits = [
            (Whose::Run, run.time, self.account.run().time),
            (Whose::Session, session.time, self.session.time),
            (Whose::Feature, of_feature.time, feature.time),
        ];
        let left =
            limits.into_iter().filter_map(|(whose, limit, spent)| Some((limit?.saturating_sub(spent), whose, limit?)));
        left.min_by_key(|(left, ..)| *left)
    }

    /// Counts a reply of the small model, and returns its cost.
    pub fn spend_small(&mut self, usage: &Usage) -> Option<f64> {
        let price = self.prices.small.or(self.prices.model);
        self.add(usage, price)
    }

    /// Counts a reply of the model that writes notes after a session on a feature, and returns its cost.
    pub fn spend_extract(&mut self, feature: Option<&str>, usage: &Usage) -> Option<f64> {
        let cost = self.add(usage, self.prices.extract.or(self.prices.model));
        // The session has ended its count, and the feature goes on with its own.
        if let Some(id) = feature {
            self.account.feature_mut(id).add(usage, cost);
            self.save();
        }
        cost
    }

    /// Keeps what a reply of the small model has used so far.
    pub fn small_under_way(&mut self, usage: &Usage) {
        self.keep(usage, self.prices.small.or(self.prices.model));
    }

    /// Keeps what a reply has used so far of the model that writes notes.
    pub fn extract_under_way(&mut self, usage: &Usage) -> Option<f64> {
        self.keep(usage, self.prices.extract.or(self.prices.model))
    }

    fn keep(&mut self, usage: &Usage, price: Option<Price>) -> Option<f64> {
        let cost = price.map(|price| price.cost(usage));
        self.account.under_way(usage, cost);
        cost
    }

    fn add(&mut self, usage: &Usage, price: Option<Price>) -> Option<f64> {
        let cost = price.map(|price| price.cost(usage));
        self.tick();
        self.count(|spent| spent.add(usage, cost));
        self.save();
        cost
    }

    fn save(&mut self) {
        self.account.session_lasts(self.session.time);
        self.account.save();
    }

    /// Counts the time since the last count.
    fn tick(&mut self) {
        let passed = self.counted.elapsed();
        self.counted += passed;
        self.count(|spent| spent.time += passed);
    }

    /// Counts something for the run, the session and its feature.
    fn count(&mut self, change: impl Fn(&mut Spent)) {
        change(self.account.run_mut());
        change(&mut self.session);
        if let Some(id) = &self.feature {
            change(self.account.feature_mut(id));
        }
    }

    /// Names the limit that is nearest, with how much of it is used.
    fn nearest(&self) -> String {
        let limits = &self.limits;
        let feature = self.feature.as_deref().map(|id| self.account.feature(id)).unwrap_or_default();
        let turns = limits.turns_per_session.map(|turns| ("turns", f64::from(self.turns) / f64::from(turns)));
        let shares = [
            limits.run.shares(&self.account.run()),
            limits.session.shares(&self.session),
            limits.feature.shares(&feature),
        ];
        let nearest = shares.into_iter().flatten().chain([turns]).flatten().max_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map_or_else(|| "no limit".to_owned(), |(name, share)| format!("{name} {:.0} %", share * 100.0))
    }
}

impl Meter for Budget {
    fn exhausted(&mut self) -> Option<String> {
        let turns = self.limits.turns_per_session.filter(|turns| self.turns >= *turns);
        let turns = turns.map(|turns| format!("the limit of {} a session is reached", counted(turns as usize, "turn")));
        self.used_up().or(turns)
    }

    fn used_up(&mut self) -> Option<String> {
        let run = self.run_exhausted();
        let session = self.limits.session.reached("the session's", &self.session);
        let feature = self.feature.as_deref().map(|id| self.account.feature(id));
        let feature = feature.and_then(|spent| self.limits.feature.reached("the feature's", &spent));
        run.or(session).or(feature)
    }

    fn first_in_time(&mut self) -> Option<Bound> {
        let (_, whose, limit) = self.shortest()?;
        let of = match whose {
            Whose::Run => "the",
            Whose::Session => "the session's",
            Whose::Feature => "the feature's",
        };
        Some(Bound { whose, words: format!("{of} time budget of {}", duration::spell(limit)) })
    }

    fn turn(&mut self) {
        self.asked = true;
        self.turns += 1;
        self.count(|spent| spent.turns += 1);
    }

    fn under_way(&mut self, usage: &Usage) -> Option<f64> {
        self.keep(usage, self.prices.model)
    }

    fn spend(&mut self, usage: &Usage) -> Option<f64> {
        self.add(usage, self.prices.model)
    }

    fn spent(&self) -> Event {
        let run = self.account.run();
        let cost = run.cost.filter(|_| self.prices.model.is_some());
        Event::Spent { tokens: run.usage.total(), cached: run.usage.cached(), cost, nearest: self.nearest() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price { input: 5.0, output: 25.0, cache_write: 6.25, cache_read: 0.5 };
    const KNOWN: Prices = Prices { model: Some(PRICE), small: None, extract: None };

    fn used(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    fn start(run: Limit, prices: Prices) -> Budget {
        Budget::start(Limits { run, ..Limits::default() }, prices, Account::in_memory())
    }

    #[test]
    fn money_binds_once_it_is_spent_and_not_before() {
        let mut budget = start(Limit { usd: Some(1.0), ..Limit::default() }, KNOWN);

        assert_eq!(budget.spend(&used(50_000, 10_000)), Some(0.5));
        assert_eq!(budget.exhausted(), None);
        budget.spend(&used(99_999, 0));
        assert_eq!(budget.exhausted(), None);
        budget.spend(&used(1, 0));
        assert_eq!(budget.exhausted().unwrap(), "the budget of 1 USD is used up (1.00 spent)");
    }

    #[test]
    fn an_unknown_price_is_not_zero_and_tokens_bind() {
        let mut budget = start(Limit { usd: Some(1.0), ..Limit::default() }, Prices::default());

        assert_eq!(budget.spend(&used(19_999_999, 0)), None);
        assert_eq!(budget.exhausted(), None);
        budget.spend(&used(1, 0));
        assert_eq!(budget.exhausted().unwrap(), "the budget of 20,000,000 tokens is used up");
        assert!(budget.describe().starts_with("limits: cost unknown"), "{}", budget.describe());
        let Event::Spent { cost, .. } = budget.spent() else { panic!() };
        assert_eq!(cost, None);
    }

    #[test]
    fn turns_bind_one_session_and_sessions_bind_the_run() {
        let run = Limit { sessions: Some(2), ..Limit::default() };
        let limits = Limits { run, turns_per_session: Some(1), ..Limits::default() };
        let mut budget = Budget::start(limits, KNOWN, Account::in_memory());

        budget.begin_session(None);
        budget.turn();
        assert_eq!(budget.exhausted().unwrap(), "the limit of 1 turn a session is reached");
        assert_eq!(budget.run_exhausted(), None);
        budget.begin_session(None);
        assert_eq!(budget.exhausted(), None);
        assert_eq!(budget.sessions_exhausted().unwrap(), "2 sessions used");
    }

    #[test]
    fn a_sessions_budget_ends_it_and_a_features_budget_holds_over_sessions() {
        let session = Limit { tokens: Some(10), ..Limit::default() };
        let feature = Limit { tokens: Some(15), sessions: Some(3), ..Limit::default() };
        let limits = Limits { session, feature, ..Limits::default() };
        let mut budget = Budget::start(limits, KNOWN, Account::in_memory());

        budget.begin_session(Some("login"));
        budget.spend(&used(10, 0));
        assert_eq!(budget.exhausted().unwrap(), "the session's budget of 10 tokens is used up");
        assert_eq!(budget.end_session().usage.total(), 10);
        assert_eq!(budget.feature_exhausted("login"), None);

        budget.begin_session(Some("login"));
        budget.spend(&used(5, 0));
        assert_eq!(budget.exhausted().unwrap(), "the feature's budget of 15 tokens is used up");
        budget.end_session();
        assert!(budget.feature_exhausted("login").is_some());
        assert_eq!(budget.feature_exhausted("export"), None, "another feature has its own");

        for _ in 0..3 {
            budget.begin_session(Some("export"));
        }
        assert_eq!(budget.feature_exhausted("export").unwrap(), "the feature's 3 sessions are used");
    }

    #[test]
    fn the_small_model_is_never_cheaper_than_known() {
        let small = Price { input: 1.0, ..PRICE };
        for (small, cost) in [(None, 5.0), (Some(small), 1.0)] {
            let mut budget = start(Limit::default(), Prices { small, ..KNOWN });
            budget.spend_small(&used(1_000_000, 0));
            assert_eq!(budget.account.run().cost, Some(cost));
            let mut budget = start(Limit::default(), Prices { extract: small, ..KNOWN });
            assert_eq!(budget.spend_extract(Some("login"), &used(1_000_000, 0)), Some(cost));
            assert_eq!(budget.account.feature("login").cost, Some(cost), "it is the feature's too");
            assert_eq!(budget.account.run().usage.total(), 1_000_000, "and counted once");
        }
    }

    #[test]
    fn the_count_of_a_killed_run_is_kept_until_a_run_asks_or_a_limit_ends_it() {
        let left = |asks: bool, end: End| {
            let folder = tempfile::tempdir().unwrap();
            let open = || Account::open(folder.path(), folder.path()).unwrap();
            let mut killed = Budget::start(Limits::default(), KNOWN, open());
            killed.begin_session(None);
            killed.spend(&used(10, 0));
            drop(killed);
            let mut next = Budget::start(Limits::default(), KNOWN, open());
            if asks {
                next.turn();
            }
            assert_eq!(next.end(end), None);
            open().carried_over().map(|spent| spent.usage.total())
        };
        assert_eq!(left(false, End::Stopped), Some(10));
        assert_eq!([left(true, End::Stopped), left(false, End::Settled)], [None, None]);

        let mut fresh = start(Limit::default(), KNOWN);
        fresh.begin_session(None);
        fresh.end(End::Stopped);
        assert_eq!(fresh.account.carried_over(), None, "a run that was not killed leaves none");
    }

    #[test]
    fn time_is_counted_for_what_is_under_way() {
        let session = Limit { time: Some(Duration::ZERO), ..Limit::default() };
        let run = Limit { time: Some(Duration::from_secs(3600)), ..Limit::default() };
        let mut budget = Budget::start(Limits { run, session, ..Limits::default() }, KNOWN, Account::in_memory());
        assert!(budget.run_exhausted().is_none());
        budget.begin_session(None);
        assert_eq!(budget.time_left(), Some(Duration::ZERO));
        assert_eq!(budget.first_in_time().map(|bound| bound.whose), Some(Whose::Session));
        assert_eq!(budget.exhausted().unwrap(), "the session's time budget of 0s is used up");
    }
}
