//! The tree a check runs on, and where it lies.
//!
//! `clean` is a commit written into a private folder, `in-place` the working tree itself once everything in it is
//! committed, `copy` a copy of the working tree with the approved files of the check laid over it.

mod copy;
mod in_place;
mod links;
mod overlay;
mod place;
mod prepared;
mod private;
mod seal;

pub(in crate::gate) use copy::copy;
pub(in crate::gate) use in_place::left_head;
pub(in crate::gate) use in_place::uncommitted;
pub(in crate::gate) use overlay::drop_compiled;
pub(in crate::gate) use overlay::is_of_project;
pub(in crate::gate) use overlay::lay_sink;
pub(in crate::gate) use overlay::overlay;
pub use place::Checkout;
pub use place::Place;
pub use place::Site;
pub use place::site;
pub(in crate::gate) use place::way_out;
pub(in crate::gate) use prepared::Prepared;
pub use prepared::Reuse;
pub(in crate::gate) use prepared::named_in;
pub(in crate::gate) use private::Private;
pub use private::outside;

use crate::project::Entry;
use crate::project::EntryKind;
use crate::project::Project;
use crate::project::file_id;
use crate::project::is_lock_file;
use anyhow::Result;
use seal::Broken;
use seal::Seal;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

/// A tree that a check can run on.
pub(in crate::gate) struct Tree {
    pub folder: PathBuf,
    pub place: Place,
    /// What was laid over it from the pins.
    pub overlaid: Vec<String>,
    /// How the files of the check differed before that.
    pub difference: String,
    /// What a person should know of it.
    pub disclosed: Vec<String>,
    /// What it lacks on purpose: told of a check that does not pass on it.
    pub lacking: Vec<String>,
    /// The tree from which was made what installing laid into it.
    pub prepared: Option<String>,
    seal: Option<Seal>,
    /// Gone with the tree.
    pub private: Option<Private>,
}

impl Tree {
    /// Takes the working tree as it lies there.
    pub(in crate::gate) fn in_place(project: &Project) -> Self {
        Self::new(project.root().to_owned(), Place::InPlace, None)
    }

    /// Takes what lies in the private folder.
    pub(in crate::gate) fn private(private: Private, place: Place) -> Self {
        Self::new(private.tree(), place, Some(private))
    }

    fn new(folder: PathBuf, place: Place, private: Option<Private>) -> Self {
        let (overlaid, disclosed, lacking) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            folder,
            place,
            overlaid,
            difference: String::new(),
            disclosed,
            lacking,
            prepared: None,
            seal: None,
            private,
        }
    }

    /// Remembers the tracked files as they are now.
    pub(in crate::gate) fn seal(&mut self, entries: &[Entry]) -> Result<()> {
        self.seal = Some(Seal::of(&self.folder, entries)?);
        Ok(())
    }

    /// Lists the tracked files that changed since; none when nothing was remembered.
    pub(in crate::gate) fn changed(&self) -> Vec<Broken> {
        self.seal.as_ref().map(|seal| seal.broken(&self.folder)).unwrap_or_default()
    }
}

/// What is to be known of a tree that was written somewhere.
#[derive(Debug, Default)]
pub(in crate::gate) struct Written {
    /// For whoever looks at a result.
    pub odd: Vec<String>,
    /// What it lacks on purpose, as [`Tree::lacking`].
    pub lacking: Vec<String>,
}

/// Writes a tree of the project into the private folder, with a git folder of its own. Commands see it at `at`. What came
/// after the check of `site` was approved is left out: links out of the tree, and programs of git's that write files.
pub(in crate::gate) fn check_out(
    project: &Project,
    tree: &str,
    site: &Site,
    private: &mut Private,
    at: &Path,
) -> Result<Written> {
    let missing = project.check_out(tree, &private.place(), &site.late_filters)?;
    let lent = lend(project, tree, private)?;
    let absent = |path| format!("`{path}` is not there: its commit was not fetched, or it is no submodule");
    let mut odd: Vec<String> = missing.iter().map(absent).collect();
    let (mut pointers, mut filtered) = (Vec::new(), Vec::new());
    let entries = project.entries(tree)?;
    for entry in &entries {
        let path = private.tree().join(&entry.path);
        let name = entry.path.to_string_lossy().into_owned();
        if is_pointer(&path) {
            pointers.push(name);
        } else if matches!(entry.kind, EntryKind::File | EntryKind::Executable) && file_id(&path)? != entry.id {
            project.require_sound(&entry.id, &name)?;
            filtered.push(name);
        }
    }
    let (kept, left_out) = links::leading_out(project, &entries, site.since.as_deref(), &private.tree(), at)?;
    odd.extend(told("LFS pointers instead of the files", &pointers));
    odd.extend(told("other bytes than in the commit, written by a filter of git's", &filtered));
    odd.extend(told("settings of git that came after the check was approved and ran nothing here", &site.late_filters));
    odd.extend(told("links to files in no commit", &kept));
    odd.extend(told(
        "left out, since they lead to files in no commit and came after the check was approved",
        &left_out,
    ));
    odd.extend(lent);
    let lacking = told(
        "links that lead out of the project, so they are not in the tested tree; commit the file itself",
        &left_out,
    );
    let unfiltered = told(
        "git's filters came after the check was approved, so they wrote none of the tested files; `longhaul accept FEATURE` \
         approves them",
        &site.late_filters,
    );
    Ok(Written { odd, lacking: lacking.into_iter().chain(unfiltered).collect() })
}

/// Gives a copy of the working tree a git folder of its own, with the index of this tree.
pub(in crate::gate) fn lend_git(project: &Project, tree: &str, private: &mut Private) -> Result<Option<String>> {
    project.read_index(tree, &private.place())?;
    lend(project, tree, private)
}

/// Makes the git folder of a checkout, and says what is odd about it.
fn lend(project: &Project, tree: &str, private: &mut Private) -> Result<Option<String>> {
    let Some(head) = project.head()? else { return Ok(None) };
    let lent = project.lend_git(&private.git_dir(), &head.commit, tree, &private.place())?;
    private.objects = Some(lent.objects);
    Ok(lent.odd)
}

fn told(what: &str, paths: &[String]) -> Option<String> {
    (!paths.is_empty()).then(|| format!("{what}: {}", crate::project::listed(paths)))
}

/// Tells whether a file is the stand-in that Git LFS keeps in its place.
fn is_pointer(path: &Path) -> bool {
    let mut first = [0; 24];
    let regular = path.symlink_metadata().is_ok_and(|found| found.is_file());
    regular
        && File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
        && first == *b"version https://git-lfs."
}
