//! A second run of a check that failed, with what came beside the approved files, was added to them, or changed of the product
//! among them: does that make the difference?

use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::Pin;
use crate::gate::Pinned;
use crate::gate::closure::Reading;
use crate::gate::closure::closure;
use crate::gate::given::is_product_beside;
use crate::gate::stage::PinnedBytes;
use crate::gate::verdict::Trial;
use crate::gate::verdict::Verdict;
use crate::project::Head;
use anyhow::Result;

impl Gate<'_> {
    /// Returns the files among `others`, in whose place something else was tested, if the check fails for want of them alone:
    /// those that came beside the approved ones, approved ones that have more in them now, and what of the product was pinned
    /// with its folder. That proves nothing, since nobody approved it; where something approved is missing, nobody need look.
    /// The tree of the first run must be gone: there is room for one.
    pub(in crate::gate) fn wanted_beside(
        &self,
        trial: &Trial,
        check: &Check,
        known: &Known,
        others: &[String],
        tree: &str,
        pinned: PinnedBytes,
    ) -> Result<Vec<String>> {
        if others.is_empty() || !trial.finding.is_red() {
            return Ok(Vec::new());
        }
        let mut now = closure(self.project, check, &self.files, Reading::Pinned)?;
        let may_help = |file: &Pinned| {
            is_new_or_more(file, check, pinned)
                || file.id.is_some() && is_product_beside(&file.path, check, &self.files, self.project.root())
        };
        now.retain(|file| others.contains(&file.path) && may_help(file));
        if now.is_empty() {
            return Ok(Vec::new());
        }
        let mut open = check.clone();
        open.pins.extend(now.iter().map(|file| (file.path.clone(), file.pin())));
        let site = self.site(&open, known, tree)?;
        let passes = match self.stage(&open, &site, tree, pinned)? {
            Ok(staged) => self.run(&open, open.runs, &staged)?.finding == Finding::Passed,
            Err(_) => false,
        };
        Ok(if passes { now.into_iter().map(|file| file.path).collect() } else { Vec::new() })
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

fn is_new_or_more(file: &Pinned, check: &Check, pinned: PinnedBytes) -> bool {
    let Some(Some(pin)) = check.pins.get(&file.path) else { return true };
    let pin = Pin::read(pin);
    let approved = pinned(pin.id).filter(|_| pin.mode.is_none_or(|mode| mode == file.mode));
    approved.zip(file.bytes.as_deref()).is_some_and(|(approved, now)| has_more(&approved, now))
}

/// Tells whether each line of the one is in the other, in the same order, and others too. What was empty asked for nothing
/// that could be kept.
fn has_more(approved: &[u8], now: &[u8]) -> bool {
    let mut lines = now.split(|byte| *byte == b'\n');
    let mut kept = approved.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).peekable();
    kept.peek().is_some() && approved != now && kept.all(|line| lines.any(|other| other == line))
}

#[cfg(test)]
mod tests {
    use super::has_more;

    #[test]
    fn what_was_added_to_is_told_from_what_was_changed() {
        let more = |now: &str| has_more(b"one\n\ntwo\n", now.as_bytes());
        assert!(more("one\ntwo\nthree\n") && more("zero\none\n\nmore\ntwo") && more("one\ntwo\n"));
        assert!(
            !more("one\n") && !more("two\none\n") && !more("one # off\ntwo\n") && !more("") && !more("one\n\ntwo\n")
        );
        assert!(!has_more(b"\n", b"one\n"));
    }
}
