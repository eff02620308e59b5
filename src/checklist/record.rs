//! What verdicts and people change in a feature. Each function changes one feature and nothing else.

use crate::checklist::feature::Baseline;
use crate::checklist::feature::Feature;
use crate::checklist::file::Checklist;
use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Rules;
use crate::gate::Verdict;
use anyhow::Result;
use anyhow::bail;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeMap;

impl Checklist {
    /// Keeps what the files of the check were at approval, which goes by the rules of now.
    pub fn pin(&mut self, id: &str, pins: &BTreeMap<String, Option<String>>) -> Result<()> {
        if self.find(id)?.check.is_none() {
            bail!("the feature `{id}` has no check to pin");
        }
        self.change(id, |fields| match fields.get_mut("check") {
            Some(Value::Object(check)) => {
                set(check, "pins", json!(pins));
                set(check, "rules", json!(Check::RULES));
            }
            Some(run @ Value::String(_)) => *run = json!({"run": run, "pins": pins, "rules": Check::RULES}),
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
            clear(
                fields,
                &["checked", "last_verdict", "blocked", "refused", "check_problem", "unapproved", "regressed"],
            );
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

    /// Keeps a result that did not prove the feature, and what it says of files that nobody approved. A non-pass becomes the
    /// baseline where none of this check stands.
    pub fn record(&mut self, id: &str, verdict: &Verdict, counts_as_attempt: bool) -> Result<()> {
        self.expect_own(id, verdict)?;
        let feature = self.find(id)?;
        let attempted = counts_as_attempt && verdict.finding() != Finding::Interrupted;
        let attempts = feature.attempts + u32::from(attempted);
        let stands = stands(feature, verdict);
        let mut baseline = verdict.to_baseline();
        if let Some(since) = feature.since() {
            baseline["since"] = json!(since);
        }
        let mut last = verdict.to_last_verdict();
        last["equal"] = json!(equal_failures(feature, &last, attempted));
        // What passed without such a file before does not wait for it.
        let waits = feature.regressed.is_none() && !verdict.unapproved().is_empty();
        let word = feature.regressed.as_ref().is_some_and(|regressed| !regressed["reason"].is_null());
        self.change(id, |fields| {
            set(fields, "last_verdict", last);
            set(fields, "attempts", json!(attempts));
            clear(fields, &["unapproved"]);
            if waits {
                set(fields, "unapproved", json!(verdict.unapproved()));
            }
            // A person's word that was taken back for a failure is asked for again.
            if word && verdict.finding() == Finding::AlreadyGreen {
                clear(fields, &["regressed"]);
            }
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
            clear(fields, &["check_problem", "unapproved"]);
        })
    }

    /// Sets a feature aside, with the reason.
    pub fn block(&mut self, id: &str, reason: &str) -> Result<()> {
        self.change(id, |fields| set(fields, "blocked", json!(reason)))
    }

    /// Keeps why the model refused to go on in the newest session on a feature, or that it did not.
    pub fn note_refusal(&mut self, id: &str, reason: Option<&str>) -> Result<()> {
        self.change(id, |fields| match reason {
            Some(reason) => set(fields, "refused", json!(reason)),
            None => clear(fields, &["refused"]),
        })
    }

    /// Lets a feature wait for a person, because an agent says that its check is wrong.
    pub fn doubt(&mut self, id: &str, problem: &str) -> Result<()> {
        self.change(id, |fields| set(fields, "check_problem", json!(problem)))
    }

    /// Lets a feature be worked on again: not blocked, no attempts, no person's word, no wait for one.
    pub fn reopen(&mut self, id: &str) -> Result<()> {
        self.change(id, |fields| {
            clear(fields, &["blocked", "refused", "check_problem", "unapproved", "accepted"]);
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

/// Tells whether the feature's baseline stays what later passes stand on. What broke after the check had passed before any
/// work is no such: whoever mends it has made nothing that was not there.
fn stands(feature: &Feature, verdict: &Verdict) -> bool {
    let of_now = feature.check.as_ref().is_some_and(|check| check.rules == Rules::Now);
    let of_this = |baseline: &&Baseline| baseline.check == verdict.check();
    feature.baseline.as_ref().filter(of_this).is_some_and(|_| of_now || feature.red().is_some())
}

/// Counts the attempts in a row that failed this way, the newest included.
fn equal_failures(feature: &Feature, newest: &Value, attempted: bool) -> u32 {
    let keys: &[&str] = match newest["failure"].is_null() {
        false => &["failure"],
        // Without a word it is known for the same where nothing changed.
        true if newest["verdict"] == Finding::Failed.as_str() => &["failure", "verdict", "exit", "tree"],
        true => return 0,
    };
    let last = feature.last_verdict.as_ref();
    let same = last.is_some_and(|last| keys.iter().all(|key| last[*key] == newest[*key]));
    let before = if same { feature.equal_failures() } else { 0 };
    before + u32::from(attempted)
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
        &[
            "evidence",
            "checked",
            "last_verdict",
            "baseline",
            "blocked",
            "check_problem",
            "unapproved",
            "regressed",
            "flaky",
        ],
    );
}

/// Sets to null what is there.
pub(super) fn clear(fields: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        if let Some(value) = fields.get_mut(*key) {
            *value = Value::Null;
        }
    }
}

#[cfg(test)]
mod tests;
