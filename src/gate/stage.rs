//! Makes the tree that a check runs on: laid out, prepared, and with the approved files of the check in their places.

use crate::failure::Failure;
use crate::failure::Kind;
use crate::gate::Check;
use crate::gate::Checkout;
use crate::gate::Finding;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::Pinned;
use crate::gate::Settings;
use crate::gate::Site;
use crate::gate::checkout;
use crate::gate::checkout::Place;
use crate::gate::checkout::Private;
use crate::gate::checkout::Tree;
use crate::gate::closure;
use crate::gate::closure::Reading;
use crate::gate::difference::difference;
use crate::gate::verdict::Trial;
use crate::gate::words;
use crate::process;
use crate::project::Entry;
use crate::project::NotLaidOut;
use crate::project::Project;
use crate::sandbox::Level;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

/// What the gate asks memory for: the bytes of a pinned id.
pub(in crate::gate) type PinnedBytes<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Passes over the overlay: a folder in place of a link changes what lies behind it.
const OVERLAYS: usize = 2;

impl Gate<'_> {
    /// Tells where this check runs on a tree. What names the project by its own path would look past one that lies
    /// elsewhere.
    pub(in crate::gate) fn site(&self, check: &Check, known: &Known, tree: &str) -> Result<Site> {
        if self.names_project(check) {
            return Ok(Site::named());
        }
        let Settings { checkout, prepare, .. } = self.settings;
        let site = checkout::site(self.project, *checkout, prepare, Some(tree), known.since.as_deref())?;
        match site.place {
            Place::Clean => Ok(Site { late_filters: self.late_filters(check)?, ..site }),
            _ => Ok(site),
        }
    }

    pub(in crate::gate) fn names_project(&self, check: &Check) -> bool {
        if self.is_bound() {
            return false;
        }
        let root = self.project.root().to_string_lossy().into_owned();
        closure::texts(check, &self.files).iter().chain(&self.init_script).any(|text| words::holds_path(text, &root))
    }

    /// Makes the tree for the check from `tree`, a commit's or a snapshot's; a result comes instead when that failed.
    pub(in crate::gate) fn stage(
        &self,
        check: &Check,
        site: &Site,
        tree: &str,
        pinned: PinnedBytes,
    ) -> Result<std::result::Result<Tree, Trial>> {
        match self.staged(check, site, tree, pinned) {
            // Whoever works in the tree can make its files too many to look at, or such that they cannot be written anew;
            // that ends the check, not the run.
            Err(error) if error.is::<NotLaidOut>() => Ok(Err(Trial::refused(Finding::NotReady, error.to_string()))),
            Err(error) => match error.downcast::<Failure>() {
                Ok(failure) if failure.kind == Kind::Usage => {
                    Ok(Err(Trial::refused(Finding::CheckChanged, failure.message)))
                }
                Ok(failure) => Err(failure.into()),
                Err(error) => Err(error),
            },
            staged => staged,
        }
    }

    fn staged(
        &self,
        check: &Check,
        site: &Site,
        tree: &str,
        pinned: PinnedBytes,
    ) -> Result<std::result::Result<Tree, Trial>> {
        let entries = self.project.entries(tree)?;
        let unpublished = self.project.unpublished(&entries);
        let mut staged = match site.place {
            Place::Clean => match self.clean(site, tree, &entries)? {
                Ok(staged) => staged,
                Err(refused) => return Ok(Err(refused)),
            },
            _ => match self.project_difference(check, self.project.root(), pinned)? {
                None => {
                    let mut in_place = self.disclosing(site, Tree::in_place(self.project));
                    in_place.disclosed.extend(unpublished);
                    return Ok(Ok(in_place));
                }
                Some(difference) if self.names_project(check) => {
                    return Ok(Err(Trial::refused(Finding::CheckChanged, difference)));
                }
                Some(_) => self.disclosing(site, self.copied(tree)?),
            },
        };
        staged.disclosed.extend(unpublished);
        if let Some(refused) = self.lay_over(&mut staged, check, pinned)? {
            return Ok(Err(refused));
        }
        checkout::drop_compiled(&staged.folder, &check.pins)?;
        staged.seal(&entries)?;
        Ok(Ok(staged))
    }

    /// Tells whether a tree is shown at the project's own path, wherever it lies.
    pub(in crate::gate) fn is_bound(&self) -> bool {
        self.settings.sandbox.level == Level::Bubblewrap
    }

    /// Returns the environment of what the gate runs itself, outside of any sandbox.
    pub(in crate::gate) fn host_environment(&self) -> BTreeMap<String, String> {
        host_environment(self.settings, self.project)
    }

    /// Returns where commands see what lies in the private folder.
    pub(in crate::gate) fn seen_at(&self, private: &Private) -> PathBuf {
        if self.is_bound() { self.project.root().to_owned() } else { private.tree() }
    }

    fn private(&self) -> Result<Private> {
        let scratch = self.project.scratch().unwrap_or(&self.settings.scratch);
        Private::open(scratch, self.project.root())
    }

    /// Writes the tree into the private folder, with what installing makes.
    fn clean(&self, site: &Site, tree: &str, entries: &[Entry]) -> Result<std::result::Result<Tree, Trial>> {
        let mut private = self.private()?;
        let installer = self.installer(site, entries);
        let installed = installer.as_ref().map(|by| self.install(by, site, tree, entries, &mut private)).transpose()?;
        let prepared = match installed.transpose() {
            Ok(prepared) => prepared,
            Err(failed) => return Ok(Err(failed)),
        };
        let at = self.seen_at(&private);
        let written = checkout::check_out(self.project, tree, site, &mut private, &at)?;
        let mut staged = Tree::private(private, Place::Clean);
        staged.prepared = prepared;
        staged.disclosed = written.odd;
        staged.lacking.extend(written.lacking);
        if let Some(lock) = &site.late_lock {
            let who = if installer.is_some() { "the init script installed" } else { "nothing installs" };
            staged.disclosed.push(format!(
                "in a clean checkout, since `{lock}` came after the check was approved; {who} what it names"
            ));
            staged.lacking.extend(installer.is_none().then(|| checkout::way_out(lock)));
        }
        Ok(Ok(staged))
    }

    /// Says of a tree why it is no clean checkout, where nobody asked for another.
    fn disclosing(&self, site: &Site, mut tree: Tree) -> Tree {
        if self.settings.checkout != Checkout::InPlace {
            tree.disclosed.push(format!("not in a clean checkout: {}", site.why));
        }
        tree
    }

    /// Copies the working tree, whose check files are not the approved ones, into the private folder.
    pub(in crate::gate) fn copied(&self, tree: &str) -> Result<Tree> {
        let mut private = self.private()?;
        let ours = [".git", ".longhaul"];
        checkout::copy(self.project.root(), &private.tree(), &ours, &self.host_environment())?;
        let odd = checkout::lend_git(self.project, tree, &mut private)?;
        let mut copied = Tree::private(private, Place::Copy);
        copied.disclosed.extend(odd);
        Ok(copied)
    }

    /// Puts the approved files of the check in their places; returns a result when they cannot be.
    fn lay_over(&self, tree: &mut Tree, check: &Check, pinned: PinnedBytes) -> Result<Option<Trial>> {
        let Some(difference) = self.project_difference(check, &tree.folder, pinned)? else { return Ok(None) };
        tree.difference = difference;
        for _ in 0..OVERLAYS {
            let now = closure::closure_in(&tree.folder, self.project, check, &self.files, Reading::Pinned)?;
            match checkout::overlay(&tree.folder, &check.pins, &now, pinned)? {
                Ok(paths) => tree.overlaid.extend(paths),
                Err(path) => {
                    let detail = format!("{}\nmemory cannot give the approved `{path}`", tree.difference);
                    return Ok(Some(Trial::refused(Finding::CheckChanged, detail)));
                }
            }
        }
        tree.overlaid.sort();
        tree.overlaid.dedup();
        let left = self.project_difference(check, &tree.folder, pinned)?;
        Ok(left.map(|difference| Trial::refused(Finding::CheckChanged, difference)))
    }

    /// Says how the files of the check that lie in the project differ from the pins.
    fn project_difference(&self, check: &Check, folder: &Path, pinned: PinnedBytes) -> Result<Option<String>> {
        let now = closure::closure_in(folder, self.project, check, &self.files, Reading::Pinned)?;
        Ok(part_difference(check, now, pinned, &checkout::is_of_project))
    }

    /// Says how memory's files of the check differ from the pins.
    pub(in crate::gate) fn memory_difference(
        &self,
        check: &Check,
        now: Vec<Pinned>,
        pinned: PinnedBytes,
    ) -> Option<String> {
        part_difference(check, now, pinned, &|path| !checkout::is_of_project(path))
    }
}

fn part_difference(
    check: &Check,
    now: Vec<Pinned>,
    pinned: PinnedBytes,
    part: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let pins: BTreeMap<_, _> =
        check.pins.iter().filter(|(path, _)| part(path)).map(|(path, pin)| (path.clone(), pin.clone())).collect();
    let now: Vec<Pinned> = now.into_iter().filter(|file| part(&file.path)).collect();
    difference(&pins, &now, pinned)
}

/// Returns the environment of checks without the project's own folders of programs.
pub(in crate::gate) fn host_environment(settings: &Settings, project: &Project) -> BTreeMap<String, String> {
    let mut environment = settings.environment.clone();
    if let Some(path) = environment.get_mut("PATH") {
        *path = process::path_outside(path, project.root());
    }
    environment
}
