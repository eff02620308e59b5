//! What a purge never touches, whatever is looked for: the names that the layout of a memory has, git's own files, and the
//! form of JSON that longhaul reads back.

use std::path::Path;
use std::path::PathBuf;

use crate::memory::Place;
use crate::memory::notes::index::INDEX;
use crate::memory::rules::guard::CHECKLIST;
use crate::memory::rules::guard::INIT;
use crate::memory::rules::guard::PINNED;
use crate::memory::rules::guard::PROGRESS;
use crate::memory::rules::guard::Policy;
use crate::memory::rules::guard::SPEC;

/// Names in a project's memory, beside those of single files.
pub(super) const FOLDERS: [&str; 5] = ["progress", "checks", "checks/pinned", "notes", "notes/reflections"];
/// Files of git's in the repository, which are not written as plain files.
pub(super) const GIT_FILES: [&str; 8] =
    ["HEAD", "config", "packed-refs", "index", "longhaul-id", "objects/main.spare", "info/refs", "commondir"];
/// How a file beside the history is written anew.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Text,
    Json,
    /// Not at all, but for the ids of commits.
    Fixed,
}

/// What is longhaul's own in a memory and around it.
pub(super) struct Own {
    policy: Policy,
    repository: PathBuf,
    state: PathBuf,
    views: Vec<PathBuf>,
}

impl Own {
    pub(super) fn of(place: &Place, policy: Policy, views: Vec<PathBuf>) -> Self {
        Self { policy, repository: place.repository.clone(), state: place.state.clone(), views }
    }

    /// Tells whether the layout of a memory has this name, and so it stays.
    pub(super) fn is_name_in_memory(&self, path: &str) -> bool {
        let below = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| !rest.is_empty());
        let fixed = [CHECKLIST, INIT, SPEC, PROGRESS, INDEX];
        self.policy == Policy::Project
            && (fixed.contains(&path) || FOLDERS.contains(&path) || below("progress/") || below(PINNED))
    }

    /// Tells whether this file of the memory is JSON that longhaul reads back.
    pub(super) fn is_json_in_memory(&self, path: &str) -> bool {
        self.policy == Policy::Project && path == CHECKLIST
    }

    /// Tells whether the last part of a path around the history is a name of longhaul's or git's.
    pub(super) fn is_name(&self, path: &Path) -> bool {
        if let Some(view) = self.views.iter().find(|view| path.starts_with(view)) {
            let within = path.strip_prefix(view).unwrap_or(path);
            return within == Path::new("") || self.is_name_in_memory(&within.to_string_lossy());
        }
        if let Ok(within) = path.strip_prefix(&self.state) {
            let depth = within.components().count();
            let is_of_session = within.starts_with("sessions") && depth <= 3;
            let is_of_git = self.repository.starts_with(&self.state) && path.starts_with(&self.repository);
            return depth <= 1 || is_of_session || within.starts_with("history") || is_of_git;
        }
        // What is left is git's folder, and what lies beside the views.
        true
    }

    /// Returns how a file around the history is written anew.
    pub(super) fn form(&self, path: &Path) -> Form {
        if let Some(view) = self.views.iter().find(|view| path.starts_with(view)) {
            let within = path.strip_prefix(view).unwrap_or(path).to_string_lossy();
            return if self.is_json_in_memory(&within) { Form::Json } else { Form::Text };
        }
        let is_of_git = |within: &Path| GIT_FILES.iter().any(|name| within == Path::new(name));
        if path.strip_prefix(&self.repository).is_ok_and(is_of_git) {
            return Form::Fixed;
        }
        match path.strip_prefix(&self.state) {
            Ok(within) if within == Path::new("view.json") || within.starts_with("history") => Form::Fixed,
            Ok(_) if path.extension().is_some_and(|end| end == "json" || end == "jsonl") => Form::Json,
            _ => Form::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_layout_stay_and_those_of_people_do_not() {
        let place = Place::in_project(Path::new("/p"), Path::new("/p/.git"));
        let own = Own::of(&place, Policy::Project, vec![place.view.clone()]);
        let stay = [
            "/p/.git/longhaul/memory.git",
            "/p/.git/longhaul/sessions",
            "/p/.git/longhaul/sessions/0001/events.jsonl",
            "/p/.git/longhaul/memory.git/info/x",
            "/p/.longhaul/memory",
            "/p/.longhaul/memory/features.json",
            "/p/.longhaul/memory/progress/0001-0040.md",
            "/p/.longhaul/memory/checks/pinned/01234567",
        ];
        for path in stay {
            assert!(own.is_name(Path::new(path)), "{path}");
        }
        let change = [
            "/p/.longhaul/memory/notes/features.json",
            "/p/.longhaul/memory/w/a",
            "/p/.git/longhaul/found/1/x",
            "/p/.git/longhaul/outputs/x.txt",
            "/p/.git/longhaul/sessions/0001/artifacts/x",
            "/p/.longhaul/memory/checks/a",
        ];
        for path in change {
            assert!(!own.is_name(Path::new(path)), "{path}");
        }
        let free = Own::of(&Place::at(Path::new("/f")), Policy::Free, vec!["/f/memory".into()]);
        assert!(!free.is_name(Path::new("/f/memory/features.json")), "it is no one's there");
        assert!(free.is_name(Path::new("/f/memory.git/longhaul")) && free.is_name(Path::new("/f/memory.git/config")));
        assert!(!free.is_name(Path::new("/f/memory.git/longhaul/found/1/x")));
    }

    #[test]
    fn gits_files_are_not_written_and_json_of_ours_keeps_its_form() {
        let place = Place::in_project(Path::new("/p"), Path::new("/p/.git"));
        let own = Own::of(&place, Policy::Project, vec![place.view.clone()]);
        for (path, form) in [
            ("/p/.git/longhaul/memory.git/config", Form::Fixed),
            ("/p/.git/longhaul/memory.git/HEAD", Form::Fixed),
            ("/p/.git/longhaul/memory.git/COMMIT_EDITMSG", Form::Text),
            ("/p/.git/longhaul/view.json", Form::Fixed),
            ("/p/.git/longhaul/reads.json", Form::Json),
            ("/p/.git/longhaul/sessions/0001/events.jsonl", Form::Json),
            ("/p/.git/longhaul/sessions/0001/artifacts/x.txt", Form::Text),
            ("/p/.longhaul/memory/features.json", Form::Json),
            ("/p/.longhaul/memory/w/features.json", Form::Text),
        ] {
            assert_eq!(own.form(Path::new(path)), form, "{path}");
        }
    }
}
