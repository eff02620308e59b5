//! Runs the checks of features already done, within a time budget.

use crate::clock::deadline;
use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::Verdict;
use crate::gate::soft;
use anyhow::Result;
use std::time::Duration;
use std::time::Instant;

/// A feature whose check is to be run again.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub feature: String,
    pub check: Check,
    pub known: Known,
    /// When it last passed, as written in the evidence; empty comes first.
    pub at: String,
}

/// What a sweep is at.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// The check of this feature.
    Begins(&'a str),
    Ended(&'a Verdict),
}

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Swept {
    pub verdicts: Vec<Verdict>,
    /// Features about which nothing is said, and why: out of time, interrupted, not committed, or nothing was installed.
    pub left: Vec<(String, Finding)>,
}

/// Orders a sweep: first what has a changed path in its closure, hard or soft, then what was longest not looked at.
pub fn order(mut candidates: Vec<Candidate>, changed: &[String]) -> Vec<Candidate> {
    // A project's own `checks/` is pinned with a dot before it.
    let pinned = |check: &Check, path: &String| {
        let soft = check.soft.as_ref().is_some_and(|soft| soft::holds(soft, path));
        soft || check.pins.contains_key(path) || check.pins.contains_key(&format!("./{path}"))
    };
    let touched = |candidate: &Candidate| changed.iter().any(|path| pinned(&candidate.check, path));
    candidates.sort_by(|a, b| touched(b).cmp(&touched(a)).then_with(|| a.at.cmp(&b.at)));
    candidates
}

impl Gate<'_> {
    /// Runs the candidates in their order until the budget is used up or the session is interrupted. A check that has
    /// begun may take its own limit, but not more than is left of the run's time.
    pub fn sweep(
        &self,
        candidates: Vec<Candidate>,
        budget: Option<Duration>,
        pinned: &dyn Fn(&str) -> Option<Vec<u8>>,
        told: &mut dyn FnMut(Step),
    ) -> Result<Swept> {
        let start = Instant::now();
        let (mut swept, mut uninstalled) = (Swept::default(), false);
        for candidate in candidates {
            let reason = match budget {
                _ if self.interrupt.requested() => Some(Finding::Interrupted),
                Some(budget) if start.elapsed() >= budget => Some(Finding::OutOfTime),
                _ if deadline::is_over(self.deadline) => Some(Finding::OutOfTime),
                // It would fail for each, and may take long to.
                _ if uninstalled => Some(Finding::NotReady),
                _ => None,
            };
            if let Some(reason) = reason {
                swept.left.push((candidate.feature, reason));
                continue;
            }
            told(Step::Begins(&candidate.feature));
            let verdict = self.judge(&candidate.feature, &candidate.check, &candidate.known, pinned)?;
            if verdict.finding() != Finding::Interrupted {
                told(Step::Ended(&verdict));
            }
            // It says nothing about the feature: a check before it may have changed tracked files.
            uninstalled = verdict.trial().is_uninstalled();
            match verdict.finding().is_silent() || uninstalled {
                true => swept.left.push((candidate.feature, verdict.finding())),
                false => swept.verdicts.push(verdict),
            }
        }
        Ok(swept)
    }
}
