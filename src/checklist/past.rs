//! What the records of a feature say about its past.

use crate::checklist::feature::Baseline;
use crate::checklist::feature::Feature;
use crate::checklist::feature::State;
use crate::checklist::file::Checklist;
use serde_json::Value;

/// Verdicts by which a check ran and did not pass.
const RAN: [&str; 3] = ["failed", "timed out", "signalled"];

/// Verdicts that are about the check sooner than about the feature.
const OF_THE_CHECK: [&str; 5] = ["not runnable", "check changed", "tree moved", "empty", "nothing executed"];

impl Baseline {
    /// Tells whether the check came to run and did not pass.
    pub fn is_failure(&self) -> bool {
        RAN.contains(&self.verdict.as_str())
    }
}

impl Feature {
    /// Returns the recorded non-pass on which a proof can stand.
    pub fn red(&self) -> Option<&Baseline> {
        self.baseline.as_ref().filter(|baseline| !is_green(&baseline.verdict))
    }

    /// Returns the commit on which the check, as it is now, was first judged.
    pub fn since(&self) -> Option<&str> {
        let baseline = self.baseline.as_ref()?;
        let of_this = self.is_of_this_check(&Value::from(baseline.check.as_str()));
        of_this.then(|| baseline.since.as_deref().unwrap_or(&baseline.commit))
    }

    /// Returns when the check last passed, as written; empty when it never did.
    pub fn checked_at(&self) -> String {
        let green = self.last_verdict.as_ref().filter(|_| !self.is_done() && self.is_already_green());
        let newest = self.checked.as_ref().or(self.evidence.as_ref()).or(self.accepted.as_ref()).or(green);
        newest.and_then(|record| record["at"].as_str()).unwrap_or_default().to_owned()
    }

    /// Tells whether the newest result that did not prove it is of this check and of this tree.
    pub fn was_judged_on(&self, tree: &str) -> bool {
        let digest = self.check.as_ref().map(crate::gate::Check::digest);
        self.last_verdict
            .as_ref()
            .is_some_and(|verdict| verdict["tree"] == tree && verdict["check"].as_str() == digest.as_deref())
    }

    /// Tells whether the result of its check, as it is now, once changed without a change of the tree.
    pub fn is_flaky(&self) -> bool {
        self.flaky.as_ref().is_some_and(|flaky| self.is_of_this_check(&flaky["check"]))
    }

    /// Lists the trees on which this very check is recorded to have run, and whether it passed there.
    pub fn results(&self) -> Vec<(String, bool)> {
        let of_this = |record: &&Value| self.is_of_this_check(&record["check"]);
        let tree = |record: &Value| record["tree"].as_str().map(str::to_owned);
        let proofs = [&self.evidence, &self.regressed].into_iter().flatten().filter(of_this);
        let rechecks = self.checked.iter().filter(|_| self.evidence.as_ref().is_some_and(|proof| of_this(&proof)));
        let passes = proofs.chain(rechecks).filter_map(|record| Some((tree(record)?, true)));
        let other = self.last_verdict.iter().filter(of_this).filter_map(|record| {
            let verdict = record["verdict"].as_str()?;
            let passed = is_green(verdict);
            (passed || RAN.contains(&verdict)).then(|| tree(record)).flatten().map(|tree| (tree, passed))
        });
        passes.chain(other).collect()
    }

    /// Returns the name of the newest result that did not prove it.
    pub fn last_finding(&self) -> Option<&str> {
        self.last_verdict.as_ref()?["verdict"].as_str()
    }

    /// Tells whether the newest result speaks against the check itself, which work on the feature cannot mend.
    pub fn is_check_at_fault(&self) -> bool {
        let newest = self.last_verdict.as_ref().filter(|verdict| self.is_of_this_check(&verdict["check"]));
        newest.and_then(|verdict| verdict["verdict"].as_str()).is_some_and(|verdict| OF_THE_CHECK.contains(&verdict))
    }

    /// Tells whether at the newest result the files that decide were not those that were approved.
    pub fn is_check_changed(&self) -> bool {
        let newest = self.last_verdict.as_ref().filter(|verdict| self.is_of_this_check(&verdict["check"]));
        let overlaid = |verdict: &Value| verdict["overlaid"].as_array().is_some_and(|paths| !paths.is_empty());
        newest.is_some_and(|verdict| verdict["verdict"] == "check changed" || overlaid(verdict))
    }

    /// Returns how many attempts in a row failed like the newest one.
    pub fn equal_failures(&self) -> u32 {
        let equal = self.last_verdict.as_ref().and_then(|last| last["equal"].as_u64());
        equal.and_then(|equal| u32::try_from(equal).ok()).unwrap_or_default()
    }

    /// Returns the newest result that did not prove it as text: what was found, why, and the end of the output.
    pub fn last_verdict_text(&self) -> Option<String> {
        let verdict = self.last_verdict.as_ref()?;
        let parts = ["verdict", "detail", "tail"].iter().filter_map(|key| verdict[*key].as_str());
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        Some(parts.join("\n"))
    }

    /// Tells whether a person took it although its check could be run, so that a sweep watches over it.
    pub fn is_accepted_green(&self) -> bool {
        let green = |record: &Value| record["verdict"].as_str().is_some_and(is_green);
        self.check.is_some() && self.accepted.as_ref().is_some_and(green)
    }

    /// Tells whether the newest pass stands on something that was installed from another tree than the tested one.
    pub fn stands_on_older_install(&self) -> bool {
        let newest = self.checked.as_ref().or(self.evidence.as_ref());
        newest.is_some_and(|pass| !pass["prepared"].is_null() && pass["prepared"] != pass["tree"])
    }

    /// Tells whether an accepted feature was looked at on this tree.
    pub fn was_green_on(&self, tree: &str) -> bool {
        [&self.checked, &self.evidence, &self.accepted].into_iter().flatten().any(|record| record["tree"] == tree)
    }
}

impl Checklist {
    /// Returns the features that are not done, in the order they are worked on: regressed first, then by priority, then
    /// by the order of the file.
    pub fn in_turn(&self, tree: &str) -> Vec<&Feature> {
        let state = |feature: &Feature| self.state(&feature.id, tree);
        let mut features: Vec<&Feature> = self.features().iter().filter(|feature| !state(feature).is_done()).collect();
        features.sort_by(|a, b| {
            let regressed = |feature: &Feature| state(feature) == State::Regressed;
            regressed(b).cmp(&regressed(a)).then(a.priority.total_cmp(&b.priority))
        });
        features
    }
}

fn is_green(verdict: &str) -> bool {
    matches!(verdict, "passed" | "already green")
}
