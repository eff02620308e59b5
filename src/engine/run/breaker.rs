//! When a run stops because nothing moves, though there are features it could turn to.
//!
//! One feature that is hard never stops it: that feature is blocked, and the others go on.

use crate::engine::counted;
use std::collections::BTreeSet;

/// What a session came to, as far as it decides whether the run goes on.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// None for an initializer.
    pub feature: Option<String>,
    /// It proved its feature, or an initializer added some.
    pub progress: bool,
    pub tree_changed: bool,
    /// The service, a limit or a refusal ended it, so that no count of attempts will.
    pub free: bool,
    /// How its check failed, if it was run and failed with a reason.
    pub failure: Option<Failed>,
}

/// A failure that can be told from others.
#[derive(Clone, Debug, Default)]
pub struct Failed {
    /// The same for equal failures.
    pub digest: String,
    pub cause: Cause,
    /// Its last line, for people.
    pub said: String,
}

/// Where a failure comes from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Cause {
    #[default]
    Feature,
    /// The check did not come to look at the feature.
    Around,
    /// What a clean checkout needs could not be installed, whatever the feature.
    Install,
}

/// Counts sessions that came to nothing.
#[derive(Debug, Default)]
pub struct Breaker {
    /// That neither made progress nor changed the tree.
    idle: Streak,
    /// Of these the newest that cost no attempt.
    free: u32,
    /// Whose checks failed the same way, without progress in between.
    equal: Streak,
    last: Failed,
    /// Trees of the project that this run has seen.
    trees: BTreeSet<String>,
}

/// Sessions in a row.
#[derive(Debug, Default)]
struct Streak {
    sessions: u32,
    features: BTreeSet<Option<String>>,
}

impl Streak {
    fn add(&mut self, feature: Option<String>) {
        self.sessions += 1;
        self.features.insert(feature);
    }
}

impl Breaker {
    /// Takes the project's trees before and after a session; tells whether it made one that the run had not seen yet. Taking
    /// back what another session did moves nothing.
    pub fn is_new(&mut self, [before, after]: &[String; 2]) -> bool {
        self.trees.insert(before.clone());
        self.trees.insert(after.clone())
    }

    /// Counts a session.
    pub fn note(&mut self, session: Session) {
        let idle = !session.progress && !session.tree_changed;
        self.free = if idle && session.free { self.free + 1 } else { 0 };
        if idle {
            self.idle.add(session.feature.clone());
        } else {
            self.idle = Streak::default();
        }
        if session.progress || session.failure.as_ref().is_some_and(|failed| failed.digest != self.last.digest) {
            self.equal = Streak::default();
        }
        if let Some(failed) = session.failure.filter(|_| !session.progress) {
            self.last = failed;
            self.equal.add(session.feature);
        }
    }

    /// Begins anew: a feature was proven without a session.
    pub fn proven(&mut self) {
        (self.idle, self.free, self.equal) = (Streak::default(), 0, Streak::default());
    }

    /// Says that the run stops since all its newest sessions were cut short, if so. One feature is enough, for nothing
    /// blocks it.
    pub fn cut_short(&self, limit: u32) -> Option<String> {
        let sessions = counted(self.free as usize, "session");
        (self.free >= limit).then(|| format!("{sessions} in a row ended before they changed anything"))
    }

    /// Says why the run stops, if it does; `others` tells that a feature other than the last one can be worked on.
    pub fn tripped(&self, limit: u32, others: bool) -> Option<String> {
        let Streak { sessions, features } = &self.idle;
        if *sessions >= limit && (features.len() > 1 || !others) {
            let sessions = counted(*sessions as usize, "session");
            return Some(format!("{sessions} in a row proved nothing and changed nothing"));
        }
        let Streak { sessions, features } = &self.equal;
        // A check that could not run is a fault around it sooner than two features that are hard in the same way. One
        // session may mend what another did to the installing.
        let (least, enough) = match self.last.cause {
            Cause::Install => (limit.min(2), 1),
            Cause::Around => (limit, 2),
            Cause::Feature => (limit, (limit as usize).max(2)),
        };
        if *sessions >= least && features.len() >= enough {
            let of: Vec<&str> = features.iter().flatten().map(String::as_str).collect();
            let said = if self.last.said.is_empty() { String::new() } else { format!(": {}", self.last.said) };
            let sessions = counted(*sessions as usize, "session");
            return Some(format!(
                "{sessions} in a row failed in the same way, on {}, and proved nothing{said}",
                of.join(", ")
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(feature: &str, digest: &str, could_not_run: bool) -> Session {
        let cause = if could_not_run { Cause::Around } else { Cause::Feature };
        let failure = Failed { digest: digest.to_owned(), cause, said: "node: not found".to_owned() };
        Session { feature: Some(feature.to_owned()), tree_changed: true, failure: Some(failure), ..Session::default() }
    }

    fn idle(feature: &str) -> Session {
        Session { feature: Some(feature.to_owned()), ..Session::default() }
    }

    #[test]
    fn one_session_is_one() {
        let mut breaker = Breaker::default();
        breaker.note(idle("a"));
        assert_eq!(breaker.tripped(1, false).unwrap(), "1 session in a row proved nothing and changed nothing");
    }

    fn after(sessions: impl IntoIterator<Item = Session>, others: bool) -> Option<String> {
        let mut breaker = Breaker::default();
        sessions.into_iter().for_each(|session| breaker.note(session));
        breaker.tripped(3, others)
    }

    #[test]
    fn a_tree_that_was_there_before_is_no_change() {
        let mut breaker = Breaker::default();
        let mut is_new = |before: &str, after: &str| breaker.is_new(&[before, after].map(str::to_owned));
        assert_eq!(
            [is_new("a", "a"), is_new("a", "b"), is_new("b", "a"), is_new("a", "b")],
            [false, true, false, false]
        );
        assert!(is_new("b", "c"));
    }

    #[test]
    fn a_feature_that_is_hard_stops_nothing_while_others_can_be_worked_on() {
        assert_eq!(after(["a", "a", "a", "a"].map(idle), true), None);
        assert_eq!(after(["a", "a", "a"].map(|id| failed(id, "x", true)), true), None);
        assert_eq!(after(["a", "a", "a", "b", "b"].map(|id| failed(id, "x", false)), true), None);
        let reason = "3 sessions in a row proved nothing and changed nothing";
        assert_eq!(after(["a", "a", "a"].map(idle), false).unwrap(), reason);
    }

    #[test]
    fn sessions_that_change_nothing_on_several_features_stop_the_run() {
        assert_eq!(after(["a", "a"].map(idle), false), None);
        assert!(after(["a", "a", "b"].map(idle), true).is_some());
        let works = Session { tree_changed: true, ..idle("b") };
        assert_eq!(after([idle("a"), idle("a"), works, idle("b")], true), None);
    }

    #[test]
    fn sessions_that_are_cut_short_stop_the_run_on_whichever_feature() {
        let cut = || Session { free: true, ..idle("a") };
        let works = Session { tree_changed: true, ..cut() };
        let after = |sessions: [Session; 3]| {
            let mut breaker = Breaker::default();
            sessions.into_iter().for_each(|session| breaker.note(session));
            breaker.cut_short(3)
        };
        let reason = "3 sessions in a row ended before they changed anything";
        assert_eq!(after([cut(), cut(), cut()]).as_deref(), Some(reason));
        for other in [works, idle("a")] {
            assert_eq!(after([cut(), other, cut()]), None);
        }
    }

    #[test]
    fn a_fault_around_the_checks_stops_the_run() {
        let expected = "4 sessions in a row failed in the same way, on a, b, and proved nothing: node: not found";
        assert_eq!(after(["a", "a", "a", "b"].map(|id| failed(id, "x", true)), true).unwrap(), expected);
        assert!(after(["a", "b", "c"].map(|id| failed(id, "x", false)), true).is_some());
    }

    #[test]
    fn what_cannot_be_installed_stops_the_run_when_a_session_did_not_mend_it() {
        let uninstalled = |id| {
            let failure = Failed { digest: "x".to_owned(), cause: Cause::Install, said: "no lock file".to_owned() };
            Session { failure: Some(failure), ..failed(id, "x", true) }
        };
        assert_eq!(after([uninstalled("a")], true), None);
        let expected = "2 sessions in a row failed in the same way, on a, and proved nothing: no lock file";
        assert_eq!(after(["a", "a"].map(uninstalled), true).unwrap(), expected);
        assert_eq!(after([uninstalled("a"), failed("a", "y", false), uninstalled("a")], true), None);
    }

    #[test]
    fn another_failure_or_a_proof_begins_anew() {
        let one = |id| failed(id, "x", true);
        assert_eq!(after([one("a"), one("b"), failed("c", "y", true)], true), None);
        let proof = Session { progress: true, ..one("c") };
        assert_eq!(after([one("a"), one("b"), proof, one("d")], true), None);
        assert!(after([one("a"), one("b"), one("d")], true).is_some(), "its twin without the proof");
        let mut breaker = Breaker::default();
        [one("a"), one("b"), one("c")].into_iter().for_each(|session| breaker.note(session));
        breaker.proven();
        assert_eq!(breaker.tripped(3, true), None);
    }
}
