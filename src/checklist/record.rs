//! What verdicts and people change in a feature. Each function changes one feature and nothing else.

use crate::checklist::feature::Feature;
use crate::checklist::file::Checklist;
use crate::gate::Finding;
use crate::gate::Verdict;
use anyhow::Result;
use anyhow::bail;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeMap;

impl Checklist {
    /// Keeps what the files of the check were at approval.
    pub fn pin(&mut self, id: &str, pins: &BTreeMap<String, Option<String>>) -> Result<()> {
        if self.find(id)?.check.is_none() {
            bail!("the feature `{id}` has no check to pin");
        }
        self.change(id, |fields| match fields.get_mut("check") {
            Some(Value::Object(check)) => set(check, "pins", json!(pins)),
            Some(run @ Value::String(_)) => *run = json!({"run": run, "pins": pins}),
            _ => {}
        })
    }

    /// Keeps what tools load by themselves as it was when the check was approved.
    pub fn keep_soft(&mut self, id: &str, soft: &BTreeMap<String, String>) -> Result<()> {
        self.change(id, |fields| {
            if let Some(Value::Object(check)) = fields.get_mut("check") {
                set(check, "soft", json!(soft));
            }
        })
    }

    /// Keeps what the check found when it was approved.
    pub fn set_baseline(&mut self, id: &str, verdict: &Verdict) -> Result<()> {
        self.expect_own(id, verdict)?;
        if !verdict.is_red() && !verdict.finding().is_green() {
            bail!("the check of `{id}` did not run, so there is nothing to stand on: {}", verdict.trial().sentence());
        }
        self.change(id, |fields| set(fields, "baseline", verdict.to_baseline()))
    }

    /// Marks a feature as done.
    ///
    /// # Errors
    /// When the verdict is not a proof, or is about another feature or another check.
    pub fn prove(&mut self, id: &str, verdict: &Verdict) -> Result<()> {
        self.expect_own(id, verdict)?;
        if !verdict.proves() {
            bail!("the verdict on `{id}` proves nothing: {}", verdict.trial().sentence());
        }
        self.change(id, |fields| {
            set(fields, "passes", json!(true));
            set(fields, "evidence", verdict.to_evidence());
            clear(fields, &["checked", "last_verdict", "blocked", "check_problem", "regressed"]);
            note_flip(fields, verdict);
        })
    }

    /// Keeps that a feature already done passed again.
    pub fn rechecked(&mut self, id: &str, verdict: &Verdict) -> Result<()> {
        self.expect_own(id, verdict)?;
        if !verdict.finding().is_green() {
            bail!("the check of `{id}` did not pass again: {}", verdict.trial().sentence());
        }
        let mut checked = json!({"commit": verdict.commit(), "tree": verdict.tree(), "at": verdict.at()});
        if let Some(prepared) = verdict.prepared() {
            checked["prepared"] = json!(prepared);
        }
        self.change(id, |fields| {
            set(fields, "checked", checked);
            note_flip(fields, verdict);
        })
    }

    /// Takes a pass back; the evidence is kept as `regressed`.
    ///
    /// # Errors
    /// When the verdict does not say that the check fails.
    pub fn regress(&mut self, id: &str, verdict: &Verdict) -> Result<()> {
        self.expect_own(id, verdict)?;
        if verdict.finding().is_silent() || verdict.finding().is_green() {
            bail!("the verdict on `{id}` is no failure: {}", verdict.trial().sentence());
        }
        let feature = self.find(id)?;
        let Some(evidence) = feature.evidence.clone().or_else(|| feature.accepted.clone()) else {
            bail!("the feature `{id}` was neither proven nor accepted, so it cannot regress");
        };
        self.change(id, |fields| {
            set(fields, "passes", json!(false));
            clear(fields, &["evidence", "checked", "accepted"]);
            set(fields, "regressed", evidence);
            set(fields, "last_verdict", verdict.to_last_verdict());
            set(fields, "attempts", json!(0));
            note_flip(fields, verdict);
        })
    }

    /// Keeps a result that did not prove the feature. A non-pass becomes the baseline when there is none of this check.
    pub fn record(&mut self, id: &str, verdict: &Verdict, counts_as_attempt: bool) -> Result<()> {
        self.expect_own(id, verdict)?;
        let feature = self.find(id)?;
        let attempted = counts_as_attempt && verdict.finding() != Finding::Interrupted;
        let attempts = feature.attempts + u32::from(attempted);
        let stands = feature.red().is_some_and(|red| red.check == verdict.check());
        let mut baseline = verdict.to_baseline();
        if let Some(since) = feature.since() {
            baseline["since"] = json!(since);
        }
        let mut last = verdict.to_last_verdict();
        last["equal"] = json!(equal_failures(feature, &last["failure"], attempted));
        self.change(id, |fields| {
            set(fields, "last_verdict", last);
            set(fields, "attempts", json!(attempts));
            note_flip(fields, verdict);
            if verdict.is_red() && !stands {
                set(fields, "baseline", baseline);
            }
        })
    }

    /// Counts an attempt whose check was not run, because the session could prove nothing.
    pub fn count_attempt(&mut self, id: &str) -> Result<()> {
        let attempts = self.find(id)?.attempts + 1;
        self.change(id, |fields| set(fields, "attempts", json!(attempts)))
    }

    /// Names who approves the check as it is now. What was known of the old one is no longer true.
    pub fn approve(&mut self, id: &str, approved_by: &str) -> Result<()> {
        self.change(id, |fields| {
            if let Some(Value::Object(check)) = fields.get_mut("check") {
                set(check, "approved_by", json!(approved_by));
            }
            forget(fields);
        })
    }

    /// Keeps that a person vouches for a feature, with what its check said, if it was run.
    pub fn accept(&mut self, id: &str, reason: &str, place: Accepted, verdict: Option<&Verdict>) -> Result<()> {
        let verdict = verdict.map(|verdict| verdict.finding().as_str());
        let accepted =
            json!({"reason": reason, "commit": place.commit, "tree": place.tree, "at": place.at, "verdict": verdict});
        self.change(id, |fields| {
            set(fields, "accepted", accepted);
            clear(fields, &["check_problem"]);
        })
    }

    /// Sets a feature aside, with the reason.
    pub fn block(&mut self, id: &str, reason: &str) -> Result<()> {
        self.change(id, |fields| set(fields, "blocked", json!(reason)))
    }

    /// Lets a feature wait for a person, because an agent says that its check is wrong.
    pub fn doubt(&mut self, id: &str, problem: &str) -> Result<()> {
        self.change(id, |fields| set(fields, "check_problem", json!(problem)))
    }

    /// Lets a feature be worked on again: not blocked, no attempts, no person's word, no doubt about its check.
    pub fn reopen(&mut self, id: &str) -> Result<()> {
        self.change(id, |fields| {
            clear(fields, &["blocked", "check_problem", "accepted"]);
            set(fields, "attempts", json!(0));
            if let Some(Value::Object(last)) = fields.get_mut("last_verdict") {
                set(last, "equal", json!(0));
            }
        })
    }

    fn expect_own(&self, id: &str, verdict: &Verdict) -> Result<()> {
        let check = self.find(id)?.check.as_ref().map(crate::gate::Check::digest);
        if verdict.feature() != id || check.as_deref() != Some(verdict.check()) {
            bail!("the verdict is about a check of `{}` that is not the check of `{id}` now", verdict.feature());
        }
        Ok(())
    }
}

/// Where and when a person vouched.
#[derive(Clone, Copy, Debug)]
pub struct Accepted<'a> {
    pub commit: &'a str,
    pub tree: &'a str,
    pub at: &'a str,
}

/// Counts the attempts in a row that failed this way, the newest included.
fn equal_failures(feature: &Feature, failure: &Value, attempted: bool) -> u32 {
    let same = feature.last_verdict.as_ref().is_some_and(|last| !failure.is_null() && last["failure"] == *failure);
    let before = if same { feature.equal_failures() } else { 0 };
    before + u32::from(attempted && !failure.is_null())
}

fn set(fields: &mut Map<String, Value>, key: &str, value: Value) {
    fields.insert(key.to_owned(), value);
}

/// Keeps that a check's result changed without a change of the tree; from then on it has to pass several times.
fn note_flip(fields: &mut Map<String, Value>, verdict: &Verdict) {
    if verdict.flipped() {
        let flip = json!({
            "check": verdict.check(), "commit": verdict.commit(), "tree": verdict.tree(), "at": verdict.at(),
        });
        set(fields, "flaky", flip);
    }
}

/// Forgets what was known from a check that is no longer the feature's.
pub(super) fn forget(fields: &mut Map<String, Value>) {
    set(fields, "passes", json!(false));
    set(fields, "attempts", json!(0));
    clear(
        fields,
        &["evidence", "checked", "last_verdict", "baseline", "blocked", "check_problem", "regressed", "flaky"],
    );
}

/// Sets to null what is there.
fn clear(fields: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        if let Some(value) = fields.get_mut(*key) {
            *value = Value::Null;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::State;
    use crate::gate::Check;

    fn checklist() -> Checklist {
        let mut checklist = Checklist::empty();
        checklist
            .add(&json!([{"id": "a", "title": "A", "check": "true"}, {"id": "b", "title": "B", "check": "true"}]), "me")
            .unwrap();
        checklist
    }

    fn verdict(checklist: &Checklist, finding: Finding, tree: &str) -> Verdict {
        Verdict::example("a", checklist.get("a").unwrap().check.as_ref().unwrap(), finding, tree)
    }

    /// Everything but the feature `a`.
    fn rest(checklist: &Checklist) -> Value {
        let mut root: Value = serde_json::from_str(&checklist.render()).unwrap();
        root["features"][0] = Value::Null;
        root
    }

    #[test]
    fn a_proof_changes_passes_and_evidence_together_and_nothing_else() {
        let mut checklist = checklist();
        let before = rest(&checklist);
        let proof = verdict(&checklist, Finding::Passed, "now");
        checklist.prove("a", &proof).unwrap();
        let a = checklist.get("a").unwrap();
        assert_eq!((a.passes, a.evidence.clone()), (true, Some(proof.to_evidence())));
        assert_eq!((checklist.state("a", "now"), checklist.state("a", "later")), (State::Proven, State::Stale));
        assert_eq!(rest(&checklist), before);
    }

    #[test]
    fn only_a_proof_of_this_check_of_this_feature_proves() {
        let mut checklist = checklist();
        let unproven = [
            Finding::Failed,
            Finding::TimedOut,
            Finding::Signalled,
            Finding::NotRunnable,
            Finding::NotReady,
            Finding::CheckChanged,
            Finding::TreeMoved,
            Finding::AlreadyGreen,
            Finding::Interrupted,
            Finding::NotCommitted,
        ];
        for finding in unproven {
            let error = checklist.prove("a", &verdict(&checklist, finding, "now")).unwrap_err().to_string();
            assert_eq!(error, format!("the verdict on `a` proves nothing: {finding}"));
        }
        let of_a = verdict(&checklist, Finding::Passed, "now");
        let of_another_check = Verdict::example("a", &Check::command("other"), Finding::Passed, "now");
        assert!(checklist.prove("b", &of_a).is_err());
        assert!(checklist.prove("a", &of_another_check).is_err());
        assert!(!checklist.features().iter().any(|feature| feature.passes));
    }

    #[test]
    fn a_regression_takes_the_pass_back_and_keeps_the_evidence() {
        let mut checklist = checklist();
        let proof = verdict(&checklist, Finding::Passed, "first");
        assert!(checklist.regress("a", &verdict(&checklist, Finding::Failed, "x")).is_err());
        checklist.prove("a", &proof).unwrap();
        for finding in [Finding::Interrupted, Finding::NotCommitted, Finding::Passed] {
            assert!(checklist.regress("a", &verdict(&checklist, finding, "x")).is_err());
        }
        checklist.regress("a", &verdict(&checklist, Finding::Failed, "second")).unwrap();
        let a = checklist.get("a").unwrap();
        assert_eq!((a.passes, a.evidence.clone(), a.regressed.clone()), (false, None, Some(proof.to_evidence())));
        assert_eq!(checklist.state("a", "second"), State::Regressed);
        checklist.prove("a", &verdict(&checklist, Finding::Passed, "third")).unwrap();
        assert_eq!((checklist.state("a", "third"), &checklist.get("a").unwrap().regressed), (State::Proven, &None));
    }

    #[test]
    fn a_passing_recheck_makes_a_stale_feature_proven() {
        let mut checklist = checklist();
        checklist.prove("a", &verdict(&checklist, Finding::Passed, "first")).unwrap();
        assert!(checklist.rechecked("a", &verdict(&checklist, Finding::Failed, "second")).is_err());
        assert_eq!(checklist.state("a", "second"), State::Stale);
        checklist.rechecked("a", &verdict(&checklist, Finding::AlreadyGreen, "second")).unwrap();
        assert_eq!((checklist.state("a", "second"), checklist.state("a", "first")), (State::Proven, State::Proven));
    }

    #[test]
    fn a_result_that_proves_nothing_is_kept_and_counted() {
        let mut checklist = checklist();
        let record = |checklist: &mut Checklist, finding, tree: &str, counts| {
            let verdict = verdict(checklist, finding, tree);
            checklist.record("a", &verdict, counts).unwrap();
            let a = checklist.get("a").unwrap().clone();
            (a.attempts, a.baseline.map(|baseline| format!("{} {}", baseline.verdict, baseline.commit)))
        };
        assert_eq!(record(&mut checklist, Finding::AlreadyGreen, "1", false), (0, None));
        assert_eq!(record(&mut checklist, Finding::Interrupted, "1", true), (0, None));
        let first = Some("failed commit of 2".to_owned());
        assert_eq!(record(&mut checklist, Finding::Failed, "2", true), (1, first.clone()));
        assert_eq!(record(&mut checklist, Finding::TimedOut, "3", true), (2, first.clone()));
        assert_eq!(record(&mut checklist, Finding::CheckChanged, "4", true), (3, first));
        assert_eq!(checklist.get("a").unwrap().last_verdict.as_ref().unwrap()["verdict"], "check changed");
        checklist.reopen("a").unwrap();
        assert_eq!(checklist.get("a").unwrap().attempts, 0);
    }

    #[test]
    fn attempts_that_fail_the_same_way_are_counted() {
        let mut checklist = checklist();
        let record = |checklist: &mut Checklist, finding, counts| {
            let verdict = verdict(checklist, finding, "t");
            checklist.record("a", &verdict, counts).unwrap();
            checklist.get("a").unwrap().equal_failures()
        };
        assert_eq!(record(&mut checklist, Finding::NotReady, true), 1);
        assert_eq!(record(&mut checklist, Finding::NotReady, true), 2);
        assert_eq!(record(&mut checklist, Finding::NotReady, false), 2, "a look by hand is no attempt");
        assert_eq!(record(&mut checklist, Finding::TimedOut, true), 1);
        assert_eq!(record(&mut checklist, Finding::TimedOut, true), 2);
        checklist.reopen("a").unwrap();
        assert_eq!(record(&mut checklist, Finding::TimedOut, true), 1);
        assert_eq!(record(&mut checklist, Finding::NotCommitted, true), 0);
    }

    #[test]
    fn a_red_replaces_a_baseline_that_was_green_or_of_another_check() {
        let mut checklist = checklist();
        checklist.set_baseline("a", &verdict(&checklist, Finding::AlreadyGreen, "1")).unwrap();
        assert_eq!(checklist.state("a", "1"), State::AlreadyGreen);
        checklist.record("a", &verdict(&checklist, Finding::Failed, "2"), true).unwrap();
        assert_eq!(checklist.get("a").unwrap().baseline.as_ref().unwrap().commit, "commit of 2");
        assert_eq!(checklist.get("a").unwrap().since(), Some("commit of 1"), "it is still the same check");
        assert_eq!(checklist.state("a", "2"), State::Open);
        checklist.pin("a", &BTreeMap::from([("tests/x".to_owned(), None)])).unwrap();
        checklist.record("a", &verdict(&checklist, Finding::Failed, "3"), true).unwrap();
        assert_eq!(checklist.get("a").unwrap().baseline.as_ref().unwrap().commit, "commit of 3");
        assert_eq!(checklist.get("a").unwrap().since(), Some("commit of 3"), "it is another check");
        assert!(checklist.set_baseline("a", &verdict(&checklist, Finding::NotCommitted, "4")).is_err());
    }

    #[test]
    fn another_check_makes_what_was_known_untrue() {
        let mut checklist = checklist();
        checklist.prove("a", &verdict(&checklist, Finding::Passed, "1")).unwrap();
        assert!(checklist.set_check("a", &json!({"run": "x", "timout": 1}), "me").is_err());
        assert!(checklist.get("a").unwrap().passes);
        checklist.set_check("a", &json!("false"), "me").unwrap();
        let a = checklist.get("a").unwrap();
        assert_eq!((a.passes, &a.evidence, a.check.as_ref().unwrap().run.as_str()), (false, &None, "false"));
    }

    #[test]
    fn a_doubted_check_waits_for_a_person_until_something_is_known() {
        let mut doubted = checklist();
        doubted.doubt("a", "it calls a wrong port").unwrap();
        assert_eq!(doubted.state("a", "1"), State::Waiting);
        let settled: [fn(&mut Checklist); 4] = [
            |list| list.reopen("a").unwrap(),
            |list| list.prove("a", &verdict(list, Finding::Passed, "1")).unwrap(),
            |list| list.accept("a", "seen", Accepted { commit: "c", tree: "1", at: "now" }, None).unwrap(),
            |list| list.set_check("a", &json!("false"), "me").unwrap(),
        ];
        for settle in settled {
            let mut list = doubted.clone();
            settle(&mut list);
            assert_eq!(list.get("a").unwrap().check_problem, None);
        }
    }

    #[test]
    fn a_persons_word_is_no_proof() {
        let mut checklist = checklist();
        let green = verdict(&checklist, Finding::AlreadyGreen, "1");
        checklist.accept("a", "seen", Accepted { commit: "c", tree: "1", at: "now" }, Some(&green)).unwrap();
        let a = checklist.get("a").unwrap();
        assert_eq!((a.passes, checklist.state("a", "2")), (false, State::Accepted));
        assert_eq!(
            a.accepted,
            Some(json!({"reason": "seen", "commit": "c", "tree": "1", "at": "now", "verdict": "already green"}))
        );
        checklist.reopen("a").unwrap();
        assert_eq!(checklist.state("a", "2"), State::Open);
    }
}
