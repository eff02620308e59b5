//! Where a check runs, why there, and what installs what it needs.

use super::is_lock_file;
use crate::project::LockFile;
use crate::project::Project;
use anyhow::Result;
use std::fmt::Display;
use std::fmt::Formatter;

/// What the setting `gate.checkout` asks for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Checkout {
    #[default]
    Auto,
    Clean,
    InPlace,
}

/// Where a check ran; kept in the evidence.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    Clean,
    InPlace,
    Copy,
}

impl Display for Place {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Clean => "clean",
            Self::InPlace => "in-place",
            Self::Copy => "copy",
        })
    }
}

/// Where a check runs, and why there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Site {
    pub place: Place,
    pub why: String,
    /// A lock file that came after the check was approved, and so does not move it out of its clean checkout.
    pub late_lock: Option<String>,
    /// The commit on which the check was first judged.
    pub since: Option<String>,
    /// Settings of git that came after the check was approved, by which a program would write what is checked out.
    pub late_filters: Vec<String>,
}

impl Site {
    fn of(place: Place, why: impl Into<String>) -> Self {
        Self { place, why: why.into(), late_lock: None, since: None, late_filters: Vec::new() }
    }

    /// The site of a check that would look past any tree but the project's own.
    pub(in crate::gate) fn named() -> Self {
        Self::of(Place::InPlace, "the check names the project by its own path")
    }
}

/// Tells where the checks of a project run on `tree`, its HEAD's if none is said. `since` is the commit on which a check
/// was first judged; it keeps the place that it had there, or a session could move its own check to where a file in no
/// commit helps it.
pub fn site(
    project: &Project,
    wanted: Checkout,
    prepare: &str,
    tree: Option<&str>,
    since: Option<&str>,
) -> Result<Site> {
    let site = decide(project, wanted, prepare, tree, since)?;
    Ok(Site { since: since.map(str::to_owned), ..site })
}

fn decide(project: &Project, wanted: Checkout, prepare: &str, tree: Option<&str>, since: Option<&str>) -> Result<Site> {
    match wanted {
        Checkout::Clean => return Ok(Site::of(Place::Clean, "`gate.checkout` says so")),
        Checkout::InPlace => return Ok(Site::of(Place::InPlace, "`gate.checkout` says so")),
        Checkout::Auto if !prepare.trim().is_empty() => {
            return Ok(Site::of(Place::Clean, "`gate.prepare` installs what it needs"));
        }
        Checkout::Auto => {}
    }
    let tree = match tree {
        Some(tree) => Some(tree.to_owned()),
        None => project.head()?.map(|head| head.tree),
    };
    let Some(lock) = tree.map(|tree| lock_file_in(project, &tree)).transpose()?.flatten() else {
        return Ok(Site::of(Place::Clean, "there is no lock file"));
    };
    if since.is_some_and(|since| !had_lock_file(project, since)) {
        let why = format!("`{lock}` came after the check was approved");
        return Ok(Site { late_lock: Some(lock), ..Site::of(Place::Clean, why) });
    }
    Ok(Site::of(Place::InPlace, format!("`{lock}` is there, and no `gate.prepare` installs what it names")))
}

/// Says what a person can set for a check that a late lock file leaves without what it names.
pub(in crate::gate) fn way_out(lock: &str) -> String {
    let prepare = match LockFile::named(lock) {
        Some(known) => format!("gate.prepare = \"{}\"", known.prepare),
        None => "gate.prepare".to_owned(),
    };
    format!(
        "`{lock}` came after the check was approved, so it still runs in a clean checkout, where nothing installs what \
         that file names: a person can set `{prepare}`, or `gate.checkout = \"in-place\"`"
    )
}

fn lock_file_in(project: &Project, tree: &str) -> Result<Option<String>> {
    let paths = project.entries(tree)?.into_iter().map(|entry| entry.path.to_string_lossy().into_owned());
    Ok(paths.into_iter().find(|path| is_lock_file(path)))
}

/// A commit that is gone had none: else to remove it would be a way out of the clean checkout.
fn had_lock_file(project: &Project, commit: &str) -> bool {
    let lock = project.tree_of(commit).and_then(|tree| lock_file_in(project, &tree));
    lock.is_ok_and(|lock| lock.is_some())
}
