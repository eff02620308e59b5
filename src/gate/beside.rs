//! A second run of a check that failed, with the files that came beside the approved ones: do they make the difference?

use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::closure::Reading;
use crate::gate::closure::closure;
use crate::gate::stage::PinnedBytes;
use crate::gate::verdict::Trial;
use crate::gate::verdict::Verdict;
use crate::project::Head;
use anyhow::Result;

impl Gate<'_> {
    /// Returns the files among `beside`, which were taken out of the tested tree, if the check fails for want of them alone.
    /// That proves nothing: nobody approved them. The tree of the first run must be gone: there is room for one.
    pub(in crate::gate) fn wanted_beside(
        &self,
        trial: &Trial,
        check: &Check,
        known: &Known,
        beside: Vec<String>,
        tree: &str,
        pinned: PinnedBytes,
    ) -> Result<Vec<String>> {
        if beside.is_empty() || !trial.finding.is_red() {
            return Ok(Vec::new());
        }
        let mut open = check.clone();
        let now = closure(self.project, check, &self.files, Reading::Pinned)?;
        open.pins
            .extend(now.iter().filter(|file| beside.contains(&file.path)).map(|file| (file.path.clone(), file.pin())));
        let site = self.site(&open, known, tree)?;
        let passes = match self.stage(&open, &site, tree, pinned)? {
            Ok(staged) => self.run(&open, open.runs, &staged)?.finding == Finding::Passed,
            Err(_) => false,
        };
        Ok(if passes { beside } else { Vec::new() })
    }

    /// Judges a check that was approved only now on an earlier commit, with its approved files laid over that. None where no
    /// tree of that commit can be had, or the check does not fail there.
    ///
    /// # Errors
    /// As [`Gate::judge`].
    pub fn red_before(
        &self,
        feature: &str,
        check: &Check,
        known: &Known,
        commit: &str,
        pinned: PinnedBytes,
    ) -> Result<Option<Verdict>> {
        let Ok(tree) = self.project.tree_of(commit) else { return Ok(None) };
        let site = self.site(check, known, &tree)?;
        if site.place != super::Place::Clean || self.refusal(check, pinned)?.is_some() {
            return Ok(None);
        }
        let Ok(staged) = self.stage(check, &site, &tree, pinned)? else { return Ok(None) };
        let trial = self.run(check, 1, &staged)?;
        if trial.finding != Finding::Failed {
            return Ok(None);
        }
        let head = Head { commit: commit.to_owned(), tree, branch: None };
        Ok(Some(Verdict::new(trial, self.circumstances(feature, check, Some(&head), Some(&staged)))))
    }
}
