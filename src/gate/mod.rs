//! Decides whether a check proves a feature.
//!
//! A pass counts only when the check and the files it depends on are those that were approved, what was tested is
//! committed and the same afterwards, the command exited with 0 by itself in time, and the same check is known not to
//! have passed on an earlier tree. Only this module makes a [`Verdict`]; what follows from one is decided above.

mod check;
mod checkout;
mod closure;
mod difference;
mod failure;
mod sweep;
mod trial;
mod verdict;
mod words;

pub use check::Check;
pub use check::Kind;
pub use check::Problem;
pub use checkout::IN_PLACE;
pub use closure::Pinned;
pub use closure::closure;
pub use sweep::Candidate;
pub use sweep::Swept;
pub use sweep::order;
pub use verdict::Finding;
pub use verdict::Red;
pub use verdict::Trial;
pub use verdict::Verdict;

use crate::clock::Clock;
use crate::process::Interrupt;
use crate::project::Head;
use crate::project::Project;
use crate::sandbox::Level;
use anyhow::Context;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use trial::Surroundings;
use verdict::Circumstances;

/// How checks are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limit of a check that has none of its own.
    pub timeout: Duration,
    /// How long a check may print nothing; with none its limit alone holds.
    pub idle: Option<Duration>,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// Bytes of output kept of the head, and of the tail.
    pub keep: usize,
    /// Made by [`crate::sandbox::environment`]; home, temporary folder, time zone and check files are added.
    pub environment: BTreeMap<String, String>,
    /// Where private folders are made; outside the project.
    pub scratch: PathBuf,
    /// The home in which the tools live that a private home links to.
    pub tool_home: Option<PathBuf>,
}

/// The files of memory's `checks/`, by name below it.
#[derive(Clone, Debug, Default)]
pub struct CheckFiles(Vec<(String, Vec<u8>)>);

impl CheckFiles {
    /// Takes the files as committed in memory.
    pub fn new(files: Vec<(String, Vec<u8>)>) -> Self {
        Self(files)
    }

    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.as_slice())
    }

    /// Returns the files that a name means: itself, or those below the folder of that name. Of a pattern only the
    /// folders before its first wildcard are looked at.
    fn below(&self, name: &str) -> Vec<String> {
        let name = &words::fixed_part(name);
        let within =
            |known: &str| name.is_empty() || known.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        let found: Vec<String> = self.0.iter().map(|(known, _)| known).filter(|known| within(known)).cloned().collect();
        if found.is_empty() && !name.is_empty() { vec![name.clone()] } else { found }
    }
}

/// Runs checks for one session.
pub struct Gate<'a> {
    pub project: &'a Project,
    pub settings: &'a Settings,
    pub interrupt: &'a Interrupt,
    /// As at memory's HEAD.
    pub files: CheckFiles,
    /// Text for `sh` that the setup `init` stands for.
    pub init_script: Option<String>,
    /// Folder for head and tail of outputs, by digest.
    pub artifacts: PathBuf,
    /// Files that a session made and that are in no commit: a pass could rest on them.
    pub left_out: Vec<String>,
    pub session: Option<u32>,
    pub clock: Clock,
}

impl Gate<'_> {
    /// Returns the files that the check's hard closure holds now; pinned, they are what was approved.
    pub fn closure(&self, check: &Check) -> Result<Vec<Pinned>> {
        closure(self.project, check, &self.files)
    }

    /// Says how the files of the check's closure differ from its pins, if they do; `pinned` as for [`Gate::judge`].
    pub fn difference(&self, check: &Check, pinned: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Option<String>> {
        Ok(difference::difference(&check.pins, &self.closure(check)?, pinned))
    }

    /// Runs the check and decides. `red` is the recorded non-pass a proof would stand on, `pinned` returns the bytes of
    /// a pinned id to show a difference.
    ///
    /// # Errors
    /// Only what keeps the gate from deciding, such as an unreadable repository; a check that cannot run is a verdict.
    pub fn judge(
        &self,
        feature: &str,
        check: &Check,
        red: Option<&Red>,
        pinned: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Verdict> {
        if let Some(refused) = self.refusal(check, pinned)? {
            return Ok(self.verdict(feature, check, self.project.head()?.as_ref(), None, refused));
        }
        let head = match checkout::committed(self.project, &self.left_out)? {
            Ok(head) => head,
            Err(reason) => {
                let refused = Trial::refused(Finding::NotCommitted, reason);
                return Ok(self.verdict(feature, check, self.project.head()?.as_ref(), None, refused));
            }
        };
        let mut trial = self.run(check)?;
        if let Some(moved) = checkout::moved(self.project, &head)? {
            if trial.finding == Finding::Passed {
                trial.finding = Finding::TreeMoved;
            }
            trial.detail = if trial.detail.is_empty() { moved } else { format!("{}; {moved}", trial.detail) };
        }
        let red = red.filter(|red| red.check == check.digest());
        if trial.finding == Finding::Passed && !self.is_earlier(red, &head) {
            trial.finding = Finding::AlreadyGreen;
            trial.detail = "no earlier tree is recorded on which this check did not pass".to_owned();
        }
        Ok(self.verdict(feature, check, Some(&head), red, trial))
    }

    /// Runs the check the same way on the tree as it lies there, committed or not. Proves nothing.
    pub fn try_out(&self, check: &Check, pinned: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Trial> {
        self.refusal(check, pinned)?.map_or_else(|| self.run(check), Ok)
    }

    /// Returns a result when the check is not the approved one or not complete, and so must not be run.
    fn refusal(&self, check: &Check, pinned: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Option<Trial>> {
        let files = self.closure(check)?;
        if let Some(difference) = difference::difference(&check.pins, &files, pinned) {
            return Ok(Some(Trial::refused(Finding::CheckChanged, difference)));
        }
        let missing = files.iter().find(|file| file.id.is_none() && file.path.starts_with("checks/"));
        Ok(missing.map(|file| {
            let name = &file.path["checks/".len()..];
            let detail = format!("`$LONGHAUL_CHECKS/{name}` is not among memory's check files");
            Trial::refused(Finding::NotRunnable, detail)
        }))
    }

    /// Runs the check and keeps its output.
    fn run(&self, check: &Check) -> Result<Trial> {
        let around = Surroundings {
            root: self.project.root(),
            owner: self.project.common_dir(),
            settings: self.settings,
            interrupt: self.interrupt,
            files: &self.files,
            init_script: self.init_script.as_deref(),
        };
        let mut trial = trial::run(check, &around)?;
        let saved = trial.output.as_ref().map(|output| output.save(&self.artifacts)).transpose();
        trial.saved = saved.with_context(|| format!("could not keep output in `{}`", self.artifacts.display()))?;
        Ok(trial)
    }

    /// Tells whether the non-pass was on a tree other than this. A commit that is gone counts: rewritten history is
    /// shown, not refused.
    fn is_earlier(&self, red: Option<&Red>, head: &Head) -> bool {
        red.is_some_and(|red| {
            let differing = self.project.changed_paths(&red.commit, &head.commit);
            red.commit != head.commit && differing.map_or(true, |paths| !paths.is_empty())
        })
    }

    fn verdict(&self, feature: &str, check: &Check, head: Option<&Head>, red: Option<&Red>, trial: Trial) -> Verdict {
        let circumstances = Circumstances {
            feature: feature.to_owned(),
            check: check.digest(),
            approved_by: check.approved_by.clone(),
            commit: head.map(|head| head.commit.clone()).unwrap_or_default(),
            tree: head.map(|head| head.tree.clone()).unwrap_or_default(),
            level: Level::Plain.to_string(),
            checkout: checkout::IN_PLACE,
            session: self.session,
            at: self.clock.now().to_string(),
            untracked: self.project.changes().map(|changes| changes.untracked).unwrap_or_default(),
            red: red.cloned(),
        };
        Verdict::new(trial, circumstances)
    }
}

#[cfg(test)]
mod tests;
