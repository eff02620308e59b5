//! A second look at the commit of a baseline, where the check could only not be set up: a network that failed says nothing
//! of the feature, which may have worked all along.

use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::Place;
use crate::gate::Red;
use crate::gate::stage::PinnedBytes;
use crate::gate::verdict::Trial;
use anyhow::Result;

impl Gate<'_> {
    /// Takes a pass back that would stand on such a baseline alone, if the check passes there with things as they are now.
    /// The tree of the pass must be gone: there is room for one.
    pub(in crate::gate) fn look_back(
        &self,
        trial: &mut Trial,
        check: &Check,
        known: &Known,
        red: &Red,
        pinned: PinnedBytes,
    ) -> Result<()> {
        if trial.finding != Finding::Passed || !red.unprepared {
            return Ok(());
        }
        let Ok(tree) = self.project.tree_of(&red.commit) else { return Ok(()) };
        let site = self.site(check, known, &tree)?;
        if site.place != Place::Clean {
            return Ok(());
        }
        let found = match self.stage(check, &site, &tree, pinned)? {
            Ok(staged) => self.run(check, check.runs, &staged)?.finding,
            Err(refused) => refused.finding,
        };
        match found {
            Finding::Passed => {
                trial.finding = Finding::AlreadyGreen;
                trial.add("it could not be set up before any work, and passes on that commit now that it can be");
            }
            cut @ (Finding::Interrupted | Finding::OutOfTime) => trial.finding = cut,
            _ => {}
        }
        Ok(())
    }
}
