//! What one run of a check found.

use crate::clock::duration;
use crate::gate::Ended;
use crate::gate::Finding;
use crate::gate::Skips;
use crate::gate::checkout::Place;
use crate::process::Exit;
use crate::process::Output;
use serde_json::Value;
use serde_json::json;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// Untracked files that evidence names; more are as good as this many.
const UNTRACKED: usize = 20;

/// What comes before a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::gate) enum Unprepared {
    /// Installing what a clean checkout needs, which is the project's and no feature's.
    Install,
    /// The check's own setup.
    Setup,
}

/// One run of a check, with its setup. Says what happened and proves nothing.
#[derive(Clone, Debug)]
pub struct Trial {
    pub(in crate::gate) finding: Finding,
    /// Of the last command that ran; none when nothing did.
    pub(in crate::gate) exit: Option<Exit>,
    pub(in crate::gate) duration: Duration,
    pub(in crate::gate) output: Option<Output>,
    pub(in crate::gate) saved: Option<PathBuf>,
    /// Passes in a row.
    pub(in crate::gate) runs: u32,
    /// It passed and then failed, on the same tree.
    pub(in crate::gate) flipped: bool,
    /// What failed before it was even tried.
    pub(in crate::gate) unprepared: Option<Unprepared>,
    /// The time after which it was ended, if it was.
    pub(in crate::gate) limit: Option<Duration>,
    /// How many tests it skipped, where that is known.
    pub(in crate::gate) skips: Option<Skips>,
    /// How many tests came to their end.
    pub(in crate::gate) ended: Ended,
    /// It chooses tests by their names, and found none of these.
    pub(in crate::gate) chose_none: bool,
    /// What tools load by themselves and came meanwhile.
    pub(in crate::gate) planted: Vec<String>,
    /// Why, when the exit code does not say it.
    pub(in crate::gate) detail: String,
}

impl Trial {
    /// Makes the result of a check that did not come to run.
    pub(in crate::gate) fn refused(finding: Finding, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            finding,
            exit: None,
            duration: Duration::ZERO,
            output: None,
            saved: None,
            runs: 0,
            flipped: false,
            unprepared: None,
            limit: None,
            skips: None,
            ended: Ended::default(),
            chose_none: false,
            planted: Vec::new(),
            detail,
        }
    }

    /// Adds to the reason.
    pub(in crate::gate) fn add(&mut self, text: &str) {
        let gap = if self.detail.is_empty() || text.is_empty() { "" } else { "; " };
        self.detail = format!("{}{gap}{text}", self.detail);
    }

    /// Returns the kind of result.
    pub fn finding(&self) -> Finding {
        self.finding
    }

    /// Tells whether what a clean checkout needs could not be installed, so that it says nothing of any feature.
    pub fn is_uninstalled(&self) -> bool {
        self.unprepared == Some(Unprepared::Install)
    }

    /// Returns how the last command ended; none when nothing ran.
    pub fn exit(&self) -> Option<&Exit> {
        self.exit.as_ref()
    }

    /// Returns the time it took, setup included.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns what the last command printed.
    pub fn output(&self) -> Option<&Output> {
        self.output.as_ref()
    }

    /// Returns the file in which head and tail of the output are kept.
    pub fn output_path(&self) -> Option<&Path> {
        self.saved.as_deref()
    }

    /// Returns the last lines of the output.
    pub fn last_lines(&self, n: usize) -> String {
        self.output.as_ref().map(|output| output.last_lines(n)).unwrap_or_default()
    }

    /// Returns why it was refused, for people; empty when the exit code says all.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns what ended it where it did not end by itself: a signal or its limit.
    pub fn ended_by(&self) -> Option<String> {
        match (self.finding, &self.exit) {
            (Finding::Signalled, Some(Exit::Signal(signal))) => Some(format!("signal {signal}")),
            (Finding::TimedOut, _) => self.limit.map(|limit| format!("after its limit of {}", duration::spell(limit))),
            _ => None,
        }
    }

    /// Returns the result in one sentence.
    pub fn sentence(&self) -> String {
        let seconds = format!("{:.1} s", self.duration.as_secs_f64());
        let how = match (self.finding, &self.exit) {
            (Finding::Failed, Some(Exit::Code(code))) if *code != 0 => format!("exit code {code} after {seconds}"),
            (Finding::Signalled, Some(Exit::Signal(signal))) => format!("signal {signal} after {seconds}"),
            (Finding::TimedOut, Some(_)) => self.ended_by().unwrap_or_else(|| format!("after {seconds}")),
            (_, Some(_)) => format!("after {seconds}"),
            (_, None) => String::new(),
        };
        // What would follow a colon is on the lines below.
        let reason = self.detail.lines().next().unwrap_or_default().trim_end_matches(':');
        let parts: Vec<&str> = [how.as_str(), reason].into_iter().filter(|part| !part.is_empty()).collect();
        match parts.is_empty() {
            true => self.finding.to_string(),
            false => format!("{}: {}", self.finding, parts.join(", ")),
        }
    }

    fn output_json(&self) -> Value {
        self.output.as_ref().map_or(Value::Null, |output| {
            let path = self.saved.as_deref().map(|path| path.to_string_lossy());
            json!({"digest": output.digest, "bytes": output.size, "path": path})
        })
    }

    fn exit_json(&self) -> Value {
        match &self.exit {
            Some(Exit::Code(code)) => json!(code),
            Some(Exit::Signal(signal)) => json!(format!("signal {signal}")),
            Some(Exit::NotStarted(reason)) => json!(reason),
            Some(exit @ (Exit::TimedOut | Exit::Silent | Exit::Interrupted)) => json!(exit.to_string()),
            None => Value::Null,
        }
    }
}

/// A recorded non-pass, on which a later pass can stand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Red {
    pub commit: String,
    /// The finding's name.
    pub verdict: String,
    /// Digest of the check that ran.
    pub check: String,
    /// It was not even tried, since installing or the setup failed.
    pub unprepared: bool,
    /// How many tests it skipped, where that is known.
    pub skips: Option<Skips>,
    /// How many tests came to their end, where that is known for sure.
    pub ended: Option<u64>,
    /// It chooses tests by their names, and found none of these.
    pub chose_none: bool,
}

/// Where and for what a verdict was made.
#[derive(Clone, Debug)]
pub(in crate::gate) struct Circumstances {
    pub feature: String,
    /// Digest of the check.
    pub check: String,
    pub approved_by: String,
    /// Empty in a project without commits.
    pub commit: String,
    pub tree: String,
    /// What decides beside the product, by [`crate::gate::Check::form`].
    pub form: &'static str,
    pub level: String,
    /// None when nothing ran.
    pub checkout: Option<Place>,
    /// Files of the check that were laid over the tree.
    pub overlaid: Vec<String>,
    /// Those of them that were absent at approval; they were taken out.
    pub unapproved: Vec<String>,
    /// What a person should know of the tested tree.
    pub disclosed: Vec<String>,
    /// Files of the soft closure that changed since approval, or came while the check ran.
    pub soft: Vec<String>,
    /// The tree from which was made what installing laid into the tested one.
    pub prepared: Option<String>,
    pub session: Option<u32>,
    pub at: String,
    /// Untracked files that lay in the project; they are in no commit.
    pub untracked: Vec<String>,
    pub red: Option<Red>,
    pub flipped: bool,
}

/// What the gate found about a feature. Made only by the gate, only by running the check.
#[derive(Clone, Debug)]
pub struct Verdict {
    trial: Trial,
    circumstances: Circumstances,
}

impl Verdict {
    pub(in crate::gate) fn new(trial: Trial, circumstances: Circumstances) -> Self {
        Self { trial, circumstances }
    }

    /// Tells whether the feature is done by this.
    pub fn proves(&self) -> bool {
        self.trial.finding == Finding::Passed
    }

    /// Returns the kind of result.
    pub fn finding(&self) -> Finding {
        self.trial.finding
    }

    /// Tells whether a later proof can stand on this non-pass. A setup that is not known yet was not even tried: of the
    /// feature, which may work as it is, that tells nothing.
    pub fn is_red(&self) -> bool {
        self.finding().is_red() && !(self.finding() == Finding::NotReady && self.trial.exit.is_none())
    }

    /// Returns the run itself: exit, time, output, reason.
    pub fn trial(&self) -> &Trial {
        &self.trial
    }

    /// Returns the feature's id.
    pub fn feature(&self) -> &str {
        &self.circumstances.feature
    }

    /// Returns the digest of the check that decided.
    pub fn check(&self) -> &str {
        &self.circumstances.check
    }

    /// Returns the commit that was tested; empty when there is none.
    pub fn commit(&self) -> &str {
        &self.circumstances.commit
    }

    /// Returns the tree that was tested; empty when there is none.
    pub fn tree(&self) -> &str {
        &self.circumstances.tree
    }

    /// Returns the tree from which was made what installing laid into the tested one.
    pub fn prepared(&self) -> Option<&str> {
        self.circumstances.prepared.as_deref()
    }

    /// Returns when it was made.
    pub fn at(&self) -> &str {
        &self.circumstances.at
    }

    /// Returns the files of the check that were not the tree's.
    pub fn overlaid(&self) -> &[String] {
        &self.circumstances.overlaid
    }

    /// Returns the files that the check names, that were absent when it was approved, and without which it did not pass. Such as
    /// the check makes itself are left out.
    pub fn unapproved(&self) -> &[String] {
        if self.finding().is_green() { &[] } else { &self.circumstances.unapproved }
    }

    /// Returns the files that tools load by themselves and that changed since approval.
    pub fn soft(&self) -> &[String] {
        &self.circumstances.soft
    }

    /// Tells whether it was made in the working tree itself.
    pub fn is_in_place(&self) -> bool {
        self.circumstances.checkout == Some(Place::InPlace)
    }

    /// Tells whether the check's result changed without a change of the tree.
    pub fn flipped(&self) -> bool {
        self.circumstances.flipped
    }

    /// Renders the evidence kept with a proven feature.
    pub fn to_evidence(&self) -> Value {
        let of = &self.circumstances;
        let red = of.red.as_ref().map(|red| json!({"commit": red.commit, "verdict": red.verdict}));
        json!({
            "commit": of.commit, "tree": of.tree, "check": of.check, "exit": self.trial.exit_json(),
            "seconds": self.seconds(), "output": self.trial.output_json(), "runs": self.trial.runs, "red": red,
            "level": of.level, "checkout": self.checkout(), "form": of.form, "approved_by": of.approved_by,
            "overlaid": of.overlaid, "disclosed": of.disclosed, "soft": of.soft, "session": of.session, "at": of.at,
            "untracked": of.untracked.iter().take(UNTRACKED).collect::<Vec<_>>(), "prepared": of.prepared,
        })
    }

    /// Renders the result kept with a feature it did not prove.
    pub fn to_last_verdict(&self) -> Value {
        let of = &self.circumstances;
        json!({
            "verdict": self.trial.finding.as_str(), "detail": self.trial.detail, "commit": of.commit, "tree": of.tree,
            "limit": self.trial.limit.map(duration::spell),
            "check": of.check, "exit": self.trial.exit_json(), "seconds": self.seconds(),
            "output": self.trial.output_json(), "tail": self.trial.last_lines(20), "level": of.level,
            "checkout": self.checkout(), "overlaid": of.overlaid, "disclosed": of.disclosed, "soft": of.soft,
            "session": of.session, "at": of.at, "failure": self.failure(),
        })
    }

    /// Renders the result on which later passes stand.
    pub fn to_baseline(&self) -> Value {
        let of = &self.circumstances;
        let mut baseline = json!({"commit": of.commit, "verdict": self.trial.finding.as_str(), "check": of.check});
        if self.trial.unprepared.is_some() {
            baseline["unprepared"] = json!(true);
        }
        if self.trial.chose_none {
            baseline["chose_none"] = json!(true);
        }
        if let Some(Skips { tests, skipped, expected }) = self.trial.skips {
            baseline["tests"] = json!(tests);
            baseline["skipped"] = json!(skipped);
            baseline["expected"] = json!(expected);
        }
        if self.trial.ended.is_sure && self.trial.ended.count > 0 {
            baseline["ended"] = json!(self.trial.ended.count);
        }
        baseline
    }

    fn checkout(&self) -> Option<String> {
        self.circumstances.checkout.map(|place| place.to_string())
    }

    fn seconds(&self) -> f64 {
        (self.trial.duration.as_secs_f64() * 1000.0).round() / 1000.0
    }
}

#[cfg(test)]
impl Verdict {
    /// Makes a verdict without running anything, for tests of what follows from one.
    pub(crate) fn example(feature: &str, check: &crate::gate::Check, finding: Finding, tree: &str) -> Self {
        let circumstances = Circumstances {
            feature: feature.to_owned(),
            check: check.digest(),
            approved_by: check.approved_by.clone(),
            commit: format!("commit of {tree}"),
            tree: tree.to_owned(),
            level: "plain".to_owned(),
            form: check.form(),
            checkout: Some(Place::InPlace),
            overlaid: Vec::new(),
            unapproved: Vec::new(),
            disclosed: Vec::new(),
            soft: Vec::new(),
            prepared: None,
            session: Some(7),
            at: "2026-11-29T14:03:00Z".to_owned(),
            untracked: Vec::new(),
            red: None,
            flipped: false,
        };
        Self::new(Trial::refused(finding, ""), circumstances)
    }

    /// Makes it one that stands without a file that was absent at approval.
    pub(crate) fn without(mut self, path: &str) -> Self {
        self.circumstances.unapproved.push(path.to_owned());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_what_happened_and_why() {
        let ran = |finding, exit| Trial {
            exit: Some(exit),
            duration: Duration::from_millis(1240),
            ..Trial::refused(finding, "")
        };
        assert_eq!(ran(Finding::Failed, Exit::Code(3)).sentence(), "failed: exit code 3 after 1.2 s");
        assert_eq!(ran(Finding::TimedOut, Exit::TimedOut).sentence(), "timed out: after 1.2 s");
        let limited = Trial { limit: Some(Duration::from_secs(300)), ..ran(Finding::TimedOut, Exit::TimedOut) };
        assert_eq!(limited.sentence(), "timed out: after its limit of 5m");
        let refused = Trial::refused(Finding::NotCommitted, "`a.rs` is changed\nmore");
        assert_eq!(refused.sentence(), "not committed: `a.rs` is changed");
        assert_eq!(Trial::refused(Finding::Failed, "it differs:\n-a").sentence(), "failed: it differs");
    }
}
