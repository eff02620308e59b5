//! Links that lead out of a checkout: what they lead to is in no commit.
//!
//! One that was there when the check was approved is a person's business and only told. One that came later could lead to
//! the answer; it is left out, so that a check which does not need it passes all the same.

use crate::project::Entry;
use crate::project::EntryKind;
use crate::project::Project;
use anyhow::Context;
use anyhow::Result;
use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// Links that one path may lead through, as the system counts.
const HOPS: usize = 40;

/// Lists the links of a tree, written into `folder` and seen at `at`, that lead out of it: those that are also in the
/// commit `since`, and the others, which are removed.
pub(super) fn leading_out(
    project: &Project,
    entries: &[Entry],
    since: Option<&str>,
    folder: &Path,
    at: &Path,
) -> Result<(Vec<String>, Vec<String>)> {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    let laid = Laid { folder, at };
    let leading = entries.iter().filter(|entry| entry.kind == EntryKind::Link && laid.leads_out(&entry.path));
    // All are looked at before one is gone that another leads through.
    let leading: Vec<&Entry> = leading.collect();
    let approved = if leading.is_empty() { None } else { approved(project, since) };
    for entry in leading {
        let name = entry.path.to_string_lossy().into_owned();
        if approved.as_ref().is_none_or(|approved| approved.contains(&(entry.path.clone(), entry.id.clone()))) {
            kept.push(name);
            continue;
        }
        fs::remove_file(folder.join(&entry.path)).with_context(|| format!("could not leave out the link `{name}`"))?;
        left_out.push(name);
    }
    Ok((kept, left_out))
}

/// A tree that was written somewhere.
struct Laid<'a> {
    folder: &'a Path,
    /// Where commands see it.
    at: &'a Path,
}

impl Laid<'_> {
    /// Tells whether a path of this tree leads out of it. What is not there is taken as it is spelled.
    fn leads_out(&self, path: &Path) -> bool {
        let mut left: VecDeque<OsString> = parts(path).into();
        let (mut inside, mut hops) = (PathBuf::new(), 0);
        while let Some(part) = left.pop_front() {
            if part == ".." {
                if !inside.pop() {
                    return true;
                }
                continue;
            }
            inside.push(part);
            let Ok(target) = fs::read_link(self.folder.join(&inside)) else { continue };
            hops += 1;
            let relative = match target.is_absolute() {
                true => target.strip_prefix(self.at).ok(),
                false => Some(target.as_path()),
            };
            let Some(relative) = relative.filter(|_| hops <= HOPS) else { return true };
            if target.is_absolute() {
                inside.clear();
            } else {
                inside.pop();
            }
            parts(relative).into_iter().rev().for_each(|part| left.push_front(part));
        }
        false
    }
}

fn parts(path: &Path) -> Vec<OsString> {
    path.components().filter(|part| *part != Component::CurDir).map(|part| part.as_os_str().to_owned()).collect()
}

/// Returns the links of the commit on which a check was first judged, each with where it leads; none when there is no such
/// commit yet. One that is gone had none.
fn approved(project: &Project, since: Option<&str>) -> Option<BTreeSet<(PathBuf, String)>> {
    let entries = project.tree_of(since?).and_then(|tree| project.entries(&tree)).unwrap_or_default();
    let links = entries.into_iter().filter(|entry| entry.kind == EntryKind::Link);
    Some(links.map(|Entry { path, id, .. }| (path, id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_leads_out_by_whatever_way_and_not_when_it_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let link = |path: &str, target: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(target, path).unwrap();
        };
        let tree = Laid { folder: folder.path(), at: Path::new("/project") };
        link("sub/up", "..");
        let out = [
            ("a/far", "/etc/hosts"),
            ("b", "../x"),
            ("c", "./../x"),
            ("d", "src/../../x"),
            ("e", "sub/up/../x"),
            ("f", "b"),
            ("g", "/project/../x"),
            ("loop", "loop"),
        ];
        let inside =
            [("h", "src/x"), ("i/j", "../src"), ("k", "/project/src/x"), ("l", "i/../nowhere"), ("m", "sub/up/h")];
        for (path, target) in out.iter().chain(&inside) {
            link(path, target);
        }
        for (path, target) in out {
            assert!(tree.leads_out(Path::new(path)), "{path} -> {target}");
        }
        for (path, target) in inside {
            assert!(!tree.leads_out(Path::new(path)), "{path} -> {target}");
        }
    }
}
