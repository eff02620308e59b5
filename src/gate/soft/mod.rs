//! The soft closure of a check: files that tools load by themselves, by which a check can be led astray without a change of
//! any file that it names.
//!
//! Honest work changes them too, so a change is told and refuses a pass only with `gate.strict`.

mod included;
mod table;

pub(in crate::gate) use table::Loaded;
pub(in crate::gate) use table::installed_in;
pub(in crate::gate) use table::steers_installing;

use crate::gate::Check;
use crate::gate::Gate;
use crate::gate::Rules;
use crate::gate::Settings;
use crate::gate::checkout;
use crate::gate::checkout::Place;
use crate::project::Project;
use crate::project::blob_id;
use crate::project::content_beneath;
use crate::project::name_of;
use crate::project::path_of;
use anyhow::Result;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use table::NOW_TABLE;
use table::folder_of;

/// Those of them that hold programs and libraries. Where one is committed, tools take it for what it is named after.
const PROVIDING: [&str; 7] = ["node_modules", ".venv", "venv", "site-packages", "vendor", ".tox", ".nox"];

/// Begins what stands for a setting of git's. Such as came later are left out of a checkout, so they change nothing.
const OF_GIT: &str = "git:";

/// Most files kept with a check; those nearest to the project's root are read by most tools.
const KEPT: usize = 300;

/// Of larger files it is the size that counts.
const LARGE: u64 = 10 << 20;

/// The files by path, each with what tells its content from another: git's id of its bytes, as a rule.
pub type Soft = BTreeMap<String, String>;

impl Gate<'_> {
    /// Returns the soft closure of the checks of the project: of a tree and, where checks run in place, of what is not
    /// tracked.
    pub fn soft(&self, tree: &str) -> Result<Soft> {
        let Settings { checkout, prepare, .. } = self.settings;
        let mut soft = self.soft_at(checkout::site(self.project, *checkout, prepare, Some(tree), None)?.place, tree)?;
        soft.extend(self.project.filters()?.into_iter().map(|(key, value)| (format!("{OF_GIT}{key}"), value)));
        Ok(soft)
    }

    /// Lists the settings of git's filters that are not what they were when the check was approved.
    pub(in crate::gate) fn late_filters(&self, check: &Check) -> Result<Vec<String>> {
        let before = |key: &String| check.soft.as_ref()?.get(&format!("{OF_GIT}{key}"));
        let now = self.project.filters()?;
        Ok(now.into_iter().filter(|(key, value)| before(key) != Some(value)).map(|(key, _)| key).collect())
    }

    /// The same for a known place.
    pub(in crate::gate) fn soft_at(&self, place: Place, tree: &str) -> Result<Soft> {
        soft_of(self.project, place, tree, &Loaded::new(&self.settings.soft_closure, self.init_path.as_deref())?)
    }
}

fn soft_of(project: &Project, place: Place, tree: &str, loaded: &Loaded) -> Result<Soft> {
    let tracked: Vec<(String, String)> = project
        .entries(tree)?
        .into_iter()
        .map(|entry| (name_of(entry.path.as_os_str().as_bytes()), entry.id))
        .collect();
    let mut found = providing(&tracked);
    found.extend(included::included(&tracked, &|id| project.blob(id, included::LARGEST)));
    found.extend(tracked.into_iter().filter(|(path, _)| loaded.holds(path)));
    if place == Place::InPlace {
        for path in project.untracked_and_ignored()?.into_iter().filter(|path| loaded.holds(path)) {
            if let Some(content) = content_beneath(project.root(), &path_of(&path), LARGE) {
                found.insert(path, content);
            }
        }
    }
    let mut nearest: Vec<_> = found.into_iter().collect();
    nearest.sort_by_key(|(path, _)| path.matches('/').count());
    Ok(nearest.into_iter().take(KEPT).collect())
}

/// Returns the folders of programs and libraries that are committed, each as one, with a slash at the end.
fn providing(tracked: &[(String, String)]) -> Soft {
    let mut held: BTreeMap<String, String> = BTreeMap::new();
    for (path, id) in tracked {
        if let Some(folder) = folder_of(path, &PROVIDING) {
            held.entry(format!("{folder}/")).or_default().push_str(&format!("{path} {id}\n"));
        }
    }
    held.into_iter().map(|(folder, list)| (folder, blob_id(list.as_bytes()))).collect()
}

/// Tells whether a path is in the soft closure of a check.
pub(in crate::gate) fn holds(soft: &Soft, path: &str) -> bool {
    let within = |folder: &String| folder.ends_with('/') && path.starts_with(folder);
    soft.contains_key(path) || soft.keys().any(within)
}

/// Lists the files of the soft closure that are not what they were when the check was approved; those that are pinned
/// decide by their pins.
pub(in crate::gate) fn changed(check: &Check, now: &Soft) -> Vec<String> {
    let Some(before) = &check.soft else { return Vec::new() };
    let gone = before.keys().filter(|path| !now.contains_key(*path) && !path.starts_with(OF_GIT));
    // Of more files than are kept, one that was left out then would look new.
    let new = |path: &&String| before.len() < KEPT || before.contains_key(*path);
    let other = now.iter().filter(|(path, id)| before.get(*path) != Some(id)).map(|(path, _)| path).filter(new);
    let unknown_then = |path: &str| NOW_TABLE.as_ref().is_some_and(|table| table.is_match(path));
    let is_included = |path: &str| now.get(path).is_some_and(|id| id.starts_with(included::BY));
    let known = |path: &&String| {
        before.contains_key(*path) || check.rules == Rules::Now || !unknown_then(path) && !is_included(path)
    };
    let others = gone.chain(other).filter(known).filter(|path| !check.pins.contains_key(*path));
    let mut changed: Vec<String> = others.cloned().collect();
    changed.sort();
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committed_folder_of_programs_is_one_that_changes_with_each_of_its_files() {
        let of = |paths: &[(&str, &str)]| {
            providing(&paths.iter().map(|(path, id)| ((*path).to_owned(), (*id).to_owned())).collect::<Vec<_>>())
        };
        let one = [("node_modules/.bin/jest", "1"), ("node_modules/a/node_modules/b", "1"), ("web/.venv/bin/x", "1")];
        let before = of(&one);
        assert_eq!(before.keys().collect::<Vec<_>>(), ["node_modules/", "web/.venv/"]);
        assert!(holds(&before, "node_modules/c") && !holds(&before, "node_modules") && !holds(&before, "web/a"));
        let after = of(&[("node_modules/.bin/jest", "2"), one[1], one[2]]);
        let check = Check { soft: Some(before.clone()), ..Check::command("true") };
        assert_eq!((changed(&check, &after), changed(&check, &before)), (vec!["node_modules/".to_owned()], Vec::new()));
        assert_eq!(of(&[("src/vendor.rs", "1"), ("vendor", "1"), ("target/a", "1")]), Soft::new());
    }

    #[test]
    fn a_change_is_a_new_a_gone_or_another_file_and_none_that_is_pinned() {
        let soft = |pairs: &[(&str, &str)]| -> Soft {
            pairs.iter().map(|(path, id)| ((*path).to_owned(), (*id).to_owned())).collect()
        };
        let check = Check {
            soft: Some(soft(&[("a", "1"), ("b", "1"), ("c", "1"), ("pinned", "1")])),
            pins: BTreeMap::from([("pinned".to_owned(), None)]),
            ..Check::command("true")
        };
        assert_eq!(changed(&check, &soft(&[("a", "1"), ("b", "2"), ("d", "1"), ("pinned", "2")])), ["b", "c", "d"]);
        // What came to the table later changes nothing that was approved before.
        let now = Check { rules: Rules::Now, soft: Some(soft(&[])), ..check.clone() };
        let later = soft(&[(".proverc", "1"), ("Makefile", "1")]);
        assert_eq!(changed(&now, &later), [".proverc", "Makefile"]);
        assert_eq!(changed(&Check { rules: Rules::First, ..now }, &later), ["Makefile"]);
        assert_eq!(changed(&Check { soft: None, ..check }, &soft(&[("x", "1")])), [""; 0], "nothing is known");
    }
}
