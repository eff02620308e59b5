//! What a check changed of the tree it ran on: that refuses a pass, unless it is output that nothing reads.

use crate::gate::Check;
use crate::gate::Finding;
use crate::gate::Gate;
use crate::gate::Known;
use crate::gate::checkout;
use crate::gate::checkout::Place;
use crate::gate::checkout::Tree;
use crate::gate::closure::texts;
use crate::gate::judge::tell_difference;
use crate::gate::soft;
use crate::gate::stage::PinnedBytes;
use crate::gate::verdict::Trial;
use crate::gate::written::Written;
use crate::project::Head;
use crate::project::freshen;
use crate::project::is_built;
use crate::project::is_lock_file;
use crate::project::is_made_by_tools;
use crate::project::listed;
use crate::project::looks_secret;
use crate::project::path_of;
use anyhow::Context;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;

const ANEW: &str = "if the build makes them, run it and commit what it makes; else let it write to `$TMPDIR`; what it only makes \
    anew each time belongs into `.gitignore`, and out of git with `git rm --cached FILE`, but no test does";
const MODE: &str = "commit them with that mode: `git update-index --chmod=+x FILE`, or `-x`";

/// What a look at the tree after a run found.
pub(in crate::gate) struct Looked {
    /// Files in no commit that lay in the tree.
    pub untracked: Vec<String>,
    pub changed: Changed,
}

/// Tracked files that a run changed.
pub(in crate::gate) struct Changed {
    paths: Vec<String>,
    place: Place,
    mode_alone: bool,
}

impl Gate<'_> {
    /// Compares the tested tree and the project with what they were before the run, and tells what bears on the result.
    pub(in crate::gate) fn look_at_tree(
        &self,
        trial: &mut Trial,
        check: &Check,
        tree: &Tree,
        head: &Head,
    ) -> Result<Looked> {
        let mut looked = Looked { untracked: Vec::new(), changed: self.changed_by(check, tree) };
        let mut moved = checkout::left_head(self.project, head)?;
        if tree.place != Place::Clean {
            let (changes, uncommitted) = self.project.changes_and_uncommitted()?;
            match tree.place {
                Place::InPlace => looked.changed.paths = uncommitted,
                _ if uncommitted.is_empty() => {}
                _ => moved = moved.or(Some(format!("the check changed tracked files: {}", listed(&uncommitted)))),
            }
            looked.untracked = changes.untracked;
        }
        if let Some(moved) = moved {
            refuse(trial, &moved);
        }
        if trial.finding != Finding::Passed && tree.place == Place::Clean {
            let left_out = checkout::uncommitted(self.project, &self.left_out)?;
            trial.add(&left_out.map(|what| format!("not in the tested commit: {what}")).unwrap_or_default());
            trial.add(&self.not_in_checkout(&tree.folder)?);
        }
        tell_difference(trial, tree);
        Ok(looked)
    }

    /// Says of the clean checkout in `folder` that it lacks what git does not track, should that be the reason; empty when it
    /// lacks nothing. What installing made there, or the check itself, is there.
    fn not_in_checkout(&self, folder: &Path) -> Result<String> {
        let mut untracked = self.project.untracked_and_ignored()?;
        let is_there = |path: &str| {
            let whole = soft::installed_in(path).unwrap_or(path);
            folder.join(path_of(whole)).symlink_metadata().is_ok()
        };
        untracked.retain(|path| !path.starts_with(".longhaul/") && !is_there(path));
        let prepares = !self.settings.prepare.trim().is_empty();
        Ok(if untracked.is_empty() { String::new() } else { lacked(&untracked, prepares) })
    }

    /// Finds which tracked files of a tree of its own the check changed. A mode that its text changes is what a person
    /// approved, and goes with the tree.
    fn changed_by(&self, check: &Check, tree: &Tree) -> Changed {
        let texts = texts(check, &self.files);
        let written = Written::by(texts.iter().map(String::as_str));
        let mut changed = tree.changed();
        changed.retain(|file| !(file.mode_alone && written.holds(&file.path)));
        let mode_alone = !changed.is_empty() && changed.iter().all(|file| file.mode_alone);
        Changed { paths: changed.into_iter().map(|file| file.path).collect(), place: tree.place, mode_alone }
    }

    /// Refuses a pass that changed tracked files, unless they are of no account; says then what they are. The tree of the run
    /// must be gone: there is room for one.
    pub(in crate::gate) fn judge_changes(
        &self,
        trial: &mut Trial,
        check: &Check,
        known: &Known,
        changed: &Changed,
        tree: &str,
        pinned: PinnedBytes,
    ) -> Result<Option<String>> {
        let Changed { paths, place, mode_alone } = changed;
        if paths.is_empty() {
            return Ok(None);
        }
        let files = listed(paths);
        if trial.finding == Finding::Passed && self.are_unread(check, known, paths, tree, pinned)? {
            if *place == Place::InPlace {
                self.project.put_back(paths)?;
            }
            return Ok(Some(format!(
                "written by the check, which passes too where nothing is kept of it: {files}; it belongs into `.gitignore`, \
                 and out of git with `git rm --cached FILE`"
            )));
        }
        if trial.finding == Finding::Passed && self.are_built_alike(check, known, changed, tree, pinned)? {
            return Ok(Some(format!(
                "built anew by the check, which passes too with what is committed: {files}; it belongs into `.gitignore`, and \
                 out of git with `git rm --cached FILE`"
            )));
        }
        let way_out = if *mode_alone { MODE } else { ANEW };
        refuse(trial, &format!("the check changed tracked files: {files}; {way_out}"));
        Ok(None)
    }

    /// Tells whether these files came after the check was approved, and it passes too where each is empty and stays so: a
    /// report of an earlier run that somebody committed, and no part of the product.
    fn are_unread(
        &self,
        check: &Check,
        known: &Known,
        paths: &[String],
        tree: &str,
        pinned: PinnedBytes,
    ) -> Result<bool> {
        let is_pinned = |path: &String| matches!(check.pins.get(path), Some(Some(_)));
        // What names the project by its own path would look past a tree that lies elsewhere.
        if paths.iter().any(|path| is_pinned(path) || is_lock_file(path)) || self.names_project(check) {
            return Ok(false);
        }
        if !self.all_came_later(known, paths) {
            return Ok(false);
        }
        let site = self.site(check, known, tree)?;
        let mut staged = match self.stage(check, &site, tree, pinned)? {
            Ok(staged) if staged.place == Place::InPlace => self.copied(tree)?,
            Ok(staged) => staged,
            Err(_) => return Ok(false),
        };
        for path in paths {
            checkout::lay_sink(&staged.folder, &path_of(path))?;
        }
        staged.seal(&self.project.entries(tree)?)?;
        let trial = self.run(check, 1, &staged)?;
        Ok(trial.finding == Finding::Passed && self.changed_by(check, &staged).paths.is_empty())
    }

    /// Tells whether these files are what compilers make, and the check passes too where it takes the committed ones for up to
    /// date: a build of the same source can differ, such as by the path of the folder.
    fn are_built_alike(
        &self,
        check: &Check,
        known: &Known,
        changed: &Changed,
        tree: &str,
        pinned: PinnedBytes,
    ) -> Result<bool> {
        let is_pinned = |path: &String| matches!(check.pins.get(path), Some(Some(_)));
        if changed.place != Place::Clean || changed.paths.iter().any(is_pinned) {
            return Ok(false);
        }
        let site = self.site(check, known, tree)?;
        let Ok(staged) = self.stage(check, &site, tree, pinned)? else { return Ok(false) };
        let paths: Vec<PathBuf> = changed.paths.iter().map(|path| staged.folder.join(path_of(path))).collect();
        if staged.place != Place::Clean || !paths.iter().all(|path| is_built(path)) {
            return Ok(false);
        }
        for path in &paths {
            freshen(path).with_context(|| format!("could not give `{}` a new time", path.display()))?;
        }
        Ok(self.run(check, 1, &staged)?.finding == Finding::Passed)
    }

    /// Tells whether none of these files was there when the check was first judged. Of a commit that is gone nothing is known.
    fn all_came_later(&self, known: &Known, paths: &[String]) -> bool {
        let first = known.since.as_deref().or(known.red.as_ref().map(|red| red.commit.as_str()));
        let entries = first.and_then(|first| self.project.entries(&self.project.tree_of(first).ok()?).ok());
        let before: Option<BTreeSet<PathBuf>> =
            entries.map(|entries| entries.into_iter().map(|entry| entry.path).collect());
        before.is_some_and(|before| paths.iter().all(|path| !before.contains(&path_of(path))))
    }
}

/// Tells what a clean checkout lacks, and the way out: what is installed is for the settings, and all else for a commit.
fn lacked(paths: &[String], prepares: bool) -> String {
    let setting = match prepares {
        _ if !paths.iter().any(|path| soft::installed_in(path).is_some()) => "",
        true => " (`gate.prepare` does not make it)",
        false => " (`gate.prepare` installs what it needs)",
    };
    let is_own = |path: &&String| soft::installed_in(path).is_none() && !is_made_by_tools(path) && !looks_secret(path);
    let own = paths.iter().filter(is_own);
    let way_out = match own.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [path] if paths.len() == 1 => format!("; if the check needs it and does not make it, `git add -f {path}`"),
        _ => "; what the check needs of it and does not make, `git add -f PATH` takes into the commit".to_owned(),
    };
    format!("git does not track, so a clean checkout does not hold: {}{setting}{way_out}", listed(paths))
}

fn refuse(trial: &mut Trial, reason: &str) {
    if trial.finding == Finding::Passed {
        trial.finding = Finding::TreeMoved;
    }
    trial.add(reason);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_of_what_a_checkout_lacks_goes_by_what_that_is() {
        let told = |paths: &[&str], prepares| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            lacked(&paths, prepares).replace("git does not track, so a clean checkout does not hold: ", "")
        };
        assert_eq!(
            told(&["lib/x.o"], false),
            "`lib/x.o`; if the check needs it and does not make it, `git add -f lib/x.o`"
        );
        let commit = "; what the check needs of it and does not make, `git add -f PATH` takes into the commit";
        assert_eq!(told(&["a", "b.a"], true), format!("`a`, `b.a`{commit}"));
        let installs = "`node_modules/x` (`gate.prepare` installs what it needs)";
        assert_eq!(told(&["node_modules/x"], false), installs);
        let both = format!("`a`, `node_modules/x` (`gate.prepare` does not make it){commit}");
        assert_eq!(told(&["a", "node_modules/x"], true), both);
        // The twin: nobody is told to commit what looks like a secret, or what tools make anew.
        assert_eq!(told(&[".env"], false), "`.env`");
        assert_eq!(told(&[".coverage"], false), "`.coverage`");
    }
}
