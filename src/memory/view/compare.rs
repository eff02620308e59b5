//! How the view differs from the newest commit, and what each difference is: an edit, or only a view that lags.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use anyhow::Result;

use crate::memory::repository;
use crate::memory::repository::contents::Entry;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::path;
use crate::memory::rules::path::MemoryPath;
use crate::memory::view::Found;
use crate::memory::view::View;

/// The largest file that is taken in from the view.
const LARGEST: u64 = 10_000_000;

/// What a difference is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::memory) enum Difference {
    /// The view has no file there.
    Missing,
    /// The view has a file as an earlier commit had it, or what a power cut left of it; an emptied one is taken for that too.
    Lags,
    /// The view has a file that a later commit deleted.
    Leftover,
    /// Something was written in place of the file.
    Edited(Vec<u8>),
    /// Something was written in place of an older state of the file, and put together with what is newer.
    Merged(Vec<u8>),
    /// The same, where both changed the same lines; the text says so.
    Overtaken(String),
    /// Something was written where no file is.
    Added(Vec<u8>),
    /// Something that cannot be taken in lies where a file or its folder has to be.
    InTheWay,
    /// Something that cannot be taken in lies where it hurts nobody; the text says why.
    Ignored(String),
}

/// Tells whether bytes are those, or what a power cut left of those, that a commit since the view was last shown had at
/// this path.
pub(super) type WasShown<'a> = &'a dyn Fn(&str, &[u8]) -> Result<bool>;

/// Which part of the view is looked at.
#[derive(Clone, Copy)]
pub(in crate::memory) enum Scope<'a> {
    Everything,
    /// What lies at, below and on the way to these paths.
    Paths(&'a [&'a str]),
}

/// Compares the view with a commit; paths in byte order.
pub(in crate::memory) fn compare(
    view: &View<'_>,
    snapshot: &Snapshot<'_>,
    was_shown: WasShown<'_>,
    scope: Scope<'_>,
) -> Result<BTreeMap<String, Difference>> {
    let head = head_files(snapshot, scope)?;
    let found = match scope {
        Scope::Everything => view.scan("")?,
        Scope::Paths(paths) => {
            let mut found = BTreeMap::new();
            for path in paths {
                found.extend(view.scan(path)?);
            }
            found
        }
    };
    let mut differences = BTreeMap::new();
    for (path, blob) in &head {
        let difference = match found.get(path) {
            None => Some(Difference::Missing),
            Some(found) => changed(view, path, blob, *found, was_shown)?,
        };
        differences.extend(difference.map(|difference| (path.clone(), difference)));
    }
    for (path, found) in found.iter().filter(|(path, _)| !head.contains_key(*path)) {
        match obstructed(path, &head) {
            Some(place) => differences.insert(place.to_owned(), Difference::InTheWay),
            // Of a folder on the way to some paths the files were not listed.
            None if matches!(snapshot.entry(path)?, Some(Entry::Folder(_))) => {
                differences.insert(path.clone(), Difference::InTheWay)
            }
            None => differences.insert(path.clone(), added(view, path, *found, was_shown)?),
        };
    }
    Ok(differences)
}

fn head_files(snapshot: &Snapshot<'_>, scope: Scope<'_>) -> Result<BTreeMap<String, String>> {
    let Scope::Paths(paths) = scope else { return snapshot.files() };
    let mut files = BTreeMap::new();
    let mut wanted: BTreeSet<&str> = paths.iter().copied().collect();
    wanted.extend(paths.iter().flat_map(|path| path::parents(path)));
    for path in wanted {
        match snapshot.entry(path)? {
            Some(Entry::File(blob)) => {
                files.insert(path.to_owned(), blob);
            }
            Some(Entry::Folder(_)) if paths.contains(&path) => files.extend(snapshot.files_at(path)?),
            _ => {}
        }
    }
    Ok(files)
}

fn changed(
    view: &View<'_>,
    path: &str,
    blob: &str,
    found: Found,
    was_shown: WasShown<'_>,
) -> Result<Option<Difference>> {
    let Found::File { size, shared } = found else { return Ok(Some(Difference::InTheWay)) };
    if size > LARGEST {
        return Ok(Some(Difference::InTheWay));
    }
    let bytes = view.read(path)?;
    if repository::blob_id(&bytes)? == blob {
        return Ok(None);
    }
    if was_shown(path, &bytes)? {
        return Ok(Some(Difference::Lags));
    }
    Ok(Some(if shared { Difference::InTheWay } else { Difference::Edited(bytes) }))
}

fn added(view: &View<'_>, path: &str, found: Found, was_shown: WasShown<'_>) -> Result<Difference> {
    let ignore = |why: &str| Ok(Difference::Ignored(why.to_owned()));
    let (size, shared) = match found {
        Found::File { size, shared } => (size, shared),
        Found::Link => return ignore("a link is not followed"),
        Found::Special => return ignore("a pipe, socket or device cannot be kept"),
        Found::Unnameable => return ignore("its name is not UTF-8"),
    };
    match MemoryPath::relative(path) {
        Ok(checked) if checked.as_str() == path => {}
        Ok(_) => return ignore("its name is not clean"),
        Err(error) => return Ok(Difference::Ignored(error.to_string())),
    }
    if size > LARGEST {
        return ignore("it is larger than 10 MB");
    }
    let bytes = view.read(path)?;
    if was_shown(path, &bytes)? {
        return Ok(Difference::Leftover);
    }
    if shared { ignore("it has another name outside (a hard link)") } else { Ok(Difference::Added(bytes)) }
}

/// Returns the place that has to be cleared when `path` lies where the commit needs something else.
fn obstructed<'p>(path: &'p str, head: &BTreeMap<String, String>) -> Option<&'p str> {
    if let Some(file) = path::parents(path).find(|parent| head.contains_key(*parent)) {
        return Some(file);
    }
    let below = format!("{path}/");
    let needs_folder = head.range(below.clone()..).next().is_some_and(|(file, _)| file.starts_with(&below));
    needs_folder.then_some(path)
}
