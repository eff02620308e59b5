//! How long is asked again, and after which waits. An outage is bounded by time, not by attempts.

use super::Settings;
use super::failure::ASKS_TO_WAIT;
use super::failure::Failure;
use super::fault::Fault;
use std::time::Duration;
use std::time::Instant;

/// Waits grow no further than this many times the first one.
const LONGEST: u32 = 60;

/// Every attempt may take so long, since a shorter one would say nothing of the service.
const LEAST: Duration = Duration::from_secs(5);

/// One outage: begins where the first attempt that failed fell silent, which is its beginning if it told nothing; ends with a reply or with its budget.
pub(super) struct Outage<'a> {
    settings: &'a Settings,
    deadline: Option<Instant>,
    began: Option<Instant>,
    failures: u32,
    /// It began anew once, after a silence.
    anew: bool,
    /// What the newest attempt ran into, and the moment before which the service asked for no other.
    fault: Option<String>,
    until: Option<Instant>,
}

/// An outage that outlasted its request; the time until the next one is no part of it.
#[derive(Debug)]
pub(super) struct Unended {
    lasted: Duration,
    failures: u32,
    fault: String,
    until: Option<Instant>,
}

impl Unended {
    /// Returns what asked for a wait that is not over, and how long it still is.
    pub(super) fn wait(&self, now: Instant) -> Option<(&str, Duration)> {
        let until = self.until.filter(|until| *until > now)?;
        Some((&self.fault, until - now))
    }
}

impl<'a> Outage<'a> {
    pub(super) fn new(settings: &'a Settings, deadline: Option<Instant>) -> Self {
        Self { settings, deadline, began: None, failures: 0, anew: false, fault: None, until: None }
    }

    /// Goes on with what an earlier request did not see the end of.
    pub(super) fn goes_on(mut self, earlier: Option<Unended>, now: Instant) -> Self {
        if let Some(Unended { lasted, failures, fault, until }) = earlier {
            self.began = now.checked_sub(lasted);
            self.fault = Some(fault);
            (self.failures, self.until) = (failures, until);
        }
        self
    }

    /// Returns it for the next request, if there is one.
    pub(super) fn unended(self, now: Instant) -> Option<Unended> {
        let (began, fault) = (self.began?, self.fault?);
        let lasted = now.saturating_duration_since(began);
        Some(Unended { lasted, failures: self.failures, fault, until: self.until })
    }

    /// Returns the wait before the first attempt of this request and what it is for, or why there is none.
    pub(super) fn first_wait(&self, now: Instant) -> Result<Option<(String, Duration)>, Failure> {
        let Some((until, fault)) = self.until.filter(|until| *until > now).zip(self.fault.clone()) else {
            return Ok(None);
        };
        match self.deadline {
            Some(deadline) if until >= deadline => Err(Failure::Away { fault }),
            _ => Ok(Some((fault, until - now))),
        }
    }

    /// Tells of a time that ended whether it did so in an outage: nothing has been told since `silent`.
    pub(super) fn out_of_time(&mut self, silent: Option<Instant>, now: Instant) -> Failure {
        let nothing = silent.map(|silent| now.saturating_duration_since(silent)).filter(|nothing| *nothing >= LEAST);
        if let (None, Some(nothing)) = (&self.fault, nothing) {
            self.began = silent;
            self.failures = 1;
            self.fault = Some(Fault::Silent(Duration::from_secs(nothing.as_secs())).to_string());
        }
        self.fault.clone().map_or(Failure::OutOfTime, |fault| Failure::Away { fault })
    }

    /// Returns how long the outage may still last; none where its budget bounds no attempt, only the asking again.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let budget = self.settings.outage_budget;
        let spent = self.began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
        (!budget.is_zero()).then(|| budget.saturating_sub(spent).max(LEAST))
    }

    /// Returns the wait before the next attempt after this fault, or why there is none. The attempt has told nothing since
    /// `silent`; `random` lies in 0..1.
    pub(super) fn next_wait(
        &mut self,
        fault: &Fault,
        silent: Instant,
        now: Instant,
        random: f64,
    ) -> Result<Duration, Failure> {
        let mut began = *self.began.get_or_insert(silent);
        if !self.anew && self.outlasted(began, silent, now) {
            self.anew = true;
            began = *self.began.insert(now);
        }
        self.failures += 1;
        let spent = now.saturating_duration_since(began);
        let left = self.settings.outage_budget.saturating_sub(spent);
        let asked = fault.asked_wait();
        self.until = asked.and_then(|asked| now.checked_add(asked));
        let asks = asked.map(|asked| format!(", {ASKS_TO_WAIT} {:.1} s", asked.as_secs_f64())).unwrap_or_default();
        let told = format!("{fault}{asks}");
        self.fault = Some(told.clone());
        if left.is_zero() || asked.is_some_and(|asked| asked > left) {
            return Err(Failure::Unavailable { tried: self.tried(&told, spent) });
        }
        let wait = wait(asked, self.failures, self.settings.first_wait, random).min(left);
        match self.deadline {
            Some(deadline) if now + wait >= deadline => Err(Failure::Away { fault: told }),
            _ => Ok(wait),
        }
    }

    /// Tells whether a silence says nothing of the service as it is now: it took the whole budget by itself, or longer than an
    /// attempt is waited for, as in a process that was stopped.
    fn outlasted(&self, began: Instant, silent: Instant, now: Instant) -> bool {
        let (budget, silence) = (self.settings.outage_budget, now.saturating_duration_since(silent));
        let left = budget.saturating_sub(silent.saturating_duration_since(began)).max(LEAST);
        let alone = self.failures == 0 && silence >= budget;
        !budget.is_zero() && (alone || silence >= left + LEAST)
    }

    fn tried(&self, told: &str, spent: Duration) -> String {
        let attempts = if self.failures == 1 { "1 attempt".to_owned() } else { format!("{} attempts", self.failures) };
        let (budget, spent) = (self.settings.outage_budget.as_secs_f64(), spent.as_secs_f64());
        let place = &self.settings.base_url;
        format!("{attempts} at `{place}` in {spent:.1} s of an outage budget of {budget:.1} s, the last: {told}")
    }
}

/// Returns the wait after this many failures: what was asked for and a little more, or a random part of a growing span.
///
/// The random part keeps many clients from coming back at the same moment.
fn wait(asked: Option<Duration>, failures: u32, first: Duration, random: f64) -> Duration {
    let span = first * 2_u32.saturating_pow(failures.saturating_sub(1)).min(LONGEST);
    match asked {
        Some(asked) => asked + first.mul_f64(random),
        None => span.mul_f64(random),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_double_up_to_a_limit_and_take_a_random_part() {
        let most: Vec<f64> = (1..=9).map(|failures| wait(None, failures, SECOND, 1.0).as_secs_f64()).collect();
        assert_eq!(most, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);
        assert_eq!(wait(None, 3, SECOND, 0.25), SECOND);
        assert_eq!(wait(None, u32::MAX, SECOND, 0.0), Duration::ZERO);
        assert_eq!(wait(Some(7 * SECOND), 3, SECOND, 0.5), SECOND.mul_f64(7.5));
    }

    #[test]
    fn an_outage_costs_time_and_not_attempts() {
        let settings = Settings { outage_budget: 10 * SECOND, first_wait: SECOND, ..Settings::default() };
        let mut outage = Outage::new(&settings, None);
        let (fault, start) = (Fault::Connection("could not connect".to_owned()), Instant::now());

        for _ in 0..50 {
            assert!(outage.next_wait(&fault, start, start, 0.0).is_ok());
        }
        assert_eq!(
            outage.next_wait(&fault, start, start + 8 * SECOND, 1.0),
            Ok(2 * SECOND),
            "the last wait is cut to fit"
        );
        assert_eq!(
            outage.next_wait(&fault, start, start + 10 * SECOND, 0.0),
            Err(Failure::Unavailable {
                tried: "52 attempts at `https://api.anthropic.com` in 10.0 s of an outage budget of 10.0 s, \
                        the last: could not connect"
                    .to_owned()
            })
        );
    }

    #[test]
    fn an_outage_begins_with_the_silence_and_bounds_the_attempts() {
        let settings = Settings { outage_budget: 10 * SECOND, first_wait: SECOND, ..Settings::default() };
        let (fault, start) = (Fault::Silent(SECOND), Instant::now());
        let mut outage = Outage::new(&settings, None);
        assert_eq!(outage.left(start), Some(10 * SECOND));
        assert!(outage.next_wait(&fault, start, start + 4 * SECOND, 0.0).is_ok());
        assert_eq!(outage.left(start + 4 * SECOND), Some(6 * SECOND));
        assert!(outage.next_wait(&fault, start + 4 * SECOND, start + 10 * SECOND, 0.0).is_err());

        let never = Settings { outage_budget: Duration::ZERO, ..settings };
        assert_eq!(Outage::new(&never, None).left(start), None, "asking again is bounded, and nothing else");
        assert!(Outage::new(&never, None).next_wait(&fault, start, start + 4 * SECOND, 0.0).is_err());
    }

    #[test]
    fn after_a_silence_that_outlasts_all_it_is_asked_once_more() {
        let settings = Settings { outage_budget: 20 * SECOND, first_wait: SECOND, ..Settings::default() };
        let (fault, start) = (Fault::Silent(SECOND), Instant::now());
        let mut whole = Outage::new(&settings, None);
        let thawed = start + 50 * SECOND;
        assert!(whole.next_wait(&fault, start, thawed, 0.0).is_ok());
        assert_eq!(whole.left(thawed), Some(20 * SECOND), "it begins anew");
        assert!(whole.next_wait(&fault, thawed, thawed + 20 * SECOND, 0.0).is_err(), "and only once");

        for (silence, is_asked) in [(10, false), (15, true)] {
            let mut later = Outage::new(&settings, None);
            assert!(later.next_wait(&fault, start, start + 10 * SECOND, 0.0).is_ok());
            let from = start + 10 * SECOND;
            assert_eq!(later.next_wait(&fault, from, from + silence * SECOND, 0.0).is_ok(), is_asked, "{silence}");
        }
    }

    #[test]
    fn a_wait_longer_than_the_budget_ends_the_outage_at_once() {
        let settings = Settings { outage_budget: 10 * SECOND, ..Settings::default() };
        let fault = |seconds| Fault::service(Some(429), "rate_limit_error").with_hints(None, Some(seconds * SECOND));

        let start = Instant::now();
        let fits = Outage::new(&settings, None).next_wait(&fault(10), start, start, 0.0);
        let Err(Failure::Unavailable { tried }) = Outage::new(&settings, None).next_wait(&fault(11), start, start, 0.0)
        else {
            panic!("the wait does not fit");
        };

        assert_eq!(fits, Ok(10 * SECOND));
        assert!(tried.ends_with("the last: HTTP 429 `rate_limit_error`: m, which asks to wait 11.0 s"), "{tried}");
    }

    #[test]
    fn no_attempt_begins_after_the_deadline() {
        let settings = Settings { first_wait: SECOND, ..Settings::default() };
        let (fault, start) = (Fault::Silent(SECOND), Instant::now());

        let before = Outage::new(&settings, Some(start + 2 * SECOND)).next_wait(&fault, start, start, 1.0);
        let after = Outage::new(&settings, Some(start + SECOND)).next_wait(&fault, start, start, 1.0);

        let told = || "no byte came for 1 s".to_owned();
        assert_eq!((before, after), (Ok(SECOND), Err(Failure::Away { fault: told() })));
    }

    #[test]
    fn a_time_that_ends_in_a_long_silence_ends_in_an_outage() {
        let settings = Settings { outage_budget: 20 * SECOND, ..Settings::default() };
        let start = Instant::now();
        let mut outage = Outage::new(&settings, Some(start + 7 * SECOND));
        let fault = "no byte came for 7 s".to_owned();
        assert_eq!(outage.out_of_time(Some(start), start + 7 * SECOND), Failure::Away { fault });
        let unended = outage.unended(start + 7 * SECOND);
        let next = Outage::new(&settings, None).goes_on(unended, start + 9 * SECOND);
        assert_eq!(next.left(start + 9 * SECOND), Some(13 * SECOND));
    }

    #[test]
    fn an_outage_that_outlasts_its_request_goes_on_with_the_next_one() {
        let settings = Settings { outage_budget: 20 * SECOND, first_wait: SECOND, ..Settings::default() };
        let (start, later) = (Instant::now(), Instant::now() + 1000 * SECOND);
        let short = |began: Instant| Some(began + 2 * SECOND);
        let asks = Fault::service(Some(429), "rate_limit_error").with_hints(None, Some(15 * SECOND));
        let mut first = Outage::new(&settings, short(start));
        assert_eq!(first.out_of_time(Some(start), start + SECOND), Failure::OutOfTime, "a second says nothing");
        assert!(matches!(first.next_wait(&asks, start, start + SECOND, 0.0), Err(Failure::Away { .. })));
        let unended = || {
            let mut outage = Outage::new(&settings, short(start));
            outage.next_wait(&asks, start, start + SECOND, 0.0).unwrap_err();
            outage.unended(start + SECOND)
        };

        let next = Outage::new(&settings, short(start + SECOND)).goes_on(unended(), start + SECOND);
        assert!(matches!(next.first_wait(start + SECOND), Err(Failure::Away { fault }) if fault.contains("15.0 s")));
        let next = Outage::new(&settings, None).goes_on(unended(), start + 6 * SECOND);
        assert_eq!(next.first_wait(start + 6 * SECOND).unwrap().map(|(_, wait)| wait), Some(10 * SECOND));

        let mut next = Outage::new(&settings, None).goes_on(unended(), later);
        assert_eq!(next.first_wait(later), Ok(None));
        let silent = Fault::Silent(SECOND);
        assert!(next.next_wait(&silent, later, later + 18 * SECOND, 0.0).is_ok(), "nobody asked in between");
        assert!(next.next_wait(&silent, later, later + 19 * SECOND, 0.0).is_err(), "the second before counts");
    }
}
