//! What a clean checkout needs and no commit holds, installed once and kept.

use crate::gate::Gate;
use crate::gate::Reuse;
use crate::gate::Site;
use crate::gate::checkout;
use crate::gate::checkout::Prepared;
use crate::gate::checkout::Private;
use crate::gate::trial;
use crate::gate::verdict::Trial;
use crate::project::Entry;
use anyhow::Result;

/// What installs in a clean checkout.
pub(in crate::gate) struct Installer<'a> {
    /// Text for `sh`.
    pub text: &'a str,
    /// For a person, when it failed.
    pub failed: String,
}

impl Gate<'_> {
    /// Returns what makes a clean checkout of these files ready, if anything does.
    pub(in crate::gate) fn installer(&self, site: &Site, entries: &[Entry]) -> Option<Installer<'_>> {
        let prepare = self.settings.prepare.as_str();
        if !prepare.trim().is_empty() {
            let failed = format!("`gate.prepare` failed in a clean checkout: `{}`", trial::first_line(prepare));
            return Some(Installer { text: prepare, failed });
        }
        let lock = site.late_lock.as_ref()?;
        // A script that git does not track is not there to be run.
        let text = self.install_script.as_deref().filter(|text| !checkout::named_in(text, entries).is_empty())?;
        let failed = format!("the init script, which installs what `{lock}` names, failed in a clean checkout");
        Some(Installer { text, failed })
    }

    /// Lays what installing makes into the private folder, which is empty. Returns the tree from which it was made, or a
    /// result when installing failed.
    pub(in crate::gate) fn install(
        &self,
        installer: &Installer,
        site: &Site,
        tree: &str,
        entries: &[Entry],
        private: &mut Private,
    ) -> Result<std::result::Result<String, Trial>> {
        let state = self.project.common_dir().join("longhaul");
        let at = self.seen_at(private);
        let prepared = Prepared::of(&state, entries, installer.text, &at);
        let made_from = prepared.made_from().filter(|made_from| self.reuse == Reuse::Alike || made_from == tree);
        if made_from.is_none() {
            checkout::check_out(self.project, tree, site, private, &at)?;
            let folder = private.tree();
            let around = self.surroundings(&folder, Some(private));
            if let Some(failed) = trial::prepare(installer.text, &installer.failed, &around)? {
                return Ok(Err(self.saved(failed)?));
            }
            prepared.keep(tree, self.project, &private.place(), &self.host_environment())?;
            private.empty()?;
        }
        // It comes before the commit's files: it must not lie over one.
        prepared.lay(&private.tree(), &self.host_environment())?;
        Ok(Ok(made_from.unwrap_or_else(|| tree.to_owned())))
    }
}
