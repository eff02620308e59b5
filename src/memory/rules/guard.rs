//! Who may write what. A refusal says what to do instead.

use anyhow::Result;

use crate::memory::change::Change;
use crate::memory::command::plan::Kind;
use crate::memory::history::trailers::Author;
use crate::memory::notes::index;
use crate::memory::notes::note;
use crate::memory::notes::note::Front;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::caps;
use crate::memory::rules::caps::Caps;
use crate::memory::rules::path;
use crate::memory::rules::path::shown;

/// The checklist.
pub const CHECKLIST: &str = "features.json";
/// The reference to the init script.
pub const INIT: &str = "init.md";
/// The specification.
pub const SPEC: &str = "spec.md";
/// The log that only grows.
pub const PROGRESS: &str = "progress.md";
/// The folder of the bytes of pinned files, by blob id.
pub const PINNED: &str = "checks/pinned/";

/// Which rules hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Policy {
    /// Everybody may write everything.
    Free,
    /// A project's memory: protected files, an append-only log, caps for the agent.
    Project,
}

/// Why a file is not everybody's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Protected {
    Checklist,
    Init,
    Spec,
    Checks,
    OldProgress,
    Index,
}

/// How an earlier state of a file may come back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::memory) enum Back {
    AsItWas,
    /// Never over what is there, and never away: the bytes are known by their id, and the checklist of now may name them.
    IfMissing,
    /// What is proven stays what is proven now; somebody above puts the two together.
    ByRecord,
    /// Not at all: it only grows.
    Grows,
    /// Made from other files.
    Made,
}

/// Tells how an earlier state of this file may come back.
pub(in crate::memory) fn comes_back(policy: Policy, path: &str) -> Back {
    if policy == Policy::Free {
        return Back::AsItWas;
    }
    match protection(path) {
        Some(Protected::Checklist) => Back::ByRecord,
        Some(Protected::Index) => Back::Made,
        Some(Protected::OldProgress) => Back::Grows,
        Some(Protected::Checks) if path.starts_with(PINNED) => Back::IfMissing,
        Some(Protected::Init | Protected::Spec | Protected::Checks) => Back::AsItWas,
        None if is_progress(path) => Back::Grows,
        None => Back::AsItWas,
    }
}

/// Tells whether a change found at this path in the view is undone rather than adopted.
pub(in crate::memory) fn is_protected(policy: Policy, path: &str) -> bool {
    policy == Policy::Project && (protection(path).is_some() || (is_progress(path) && path != PROGRESS))
}

/// Tells whether undoing a change found at this path has to be told as tampering.
pub(in crate::memory) fn is_guarded(policy: Policy, path: &str) -> bool {
    policy == Policy::Project && (protection(path).is_some() || is_progress(path))
}

/// Tells whether a person's change at this path of a project's memory waits for the end of a run.
pub fn waits_for_a_run(path: &str) -> bool {
    is_guarded(Policy::Project, path)
}

/// Tells whether found bytes may replace the old ones at an append-only path.
pub(in crate::memory) fn may_replace(policy: Policy, path: &str, old: &[u8], new: &[u8]) -> bool {
    policy == Policy::Free || !is_progress(path) || new.starts_with(old)
}

/// Returns why nothing may be written at one of these paths, whatever it is.
pub(in crate::memory) fn forbidden(policy: Policy, author: Author, paths: &[&str]) -> Option<String> {
    if policy == Policy::Free || author == Author::Longhaul {
        return None;
    }
    paths.iter().find_map(|path| protected_text(protection(path)?, author, path))
}

/// Returns why these changes are refused, as a text for the model.
pub(in crate::memory) fn refusal(
    policy: Policy,
    caps: &Caps,
    author: Author,
    (changes, kind): (&[Change], Kind),
    snapshot: &Snapshot<'_>,
) -> Result<Option<String>> {
    if policy == Policy::Free || author == Author::Longhaul {
        return Ok(None);
    }
    for change in changes {
        let refused = match protection(&change.path) {
            Some(protected) => protected_text(protected, author, &change.path),
            None => progress_text(change, snapshot)?.or_else(|| note_text(change, changes, kind)),
        };
        if refused.is_some() {
            return Ok(refused);
        }
    }
    match author {
        Author::Agent => caps::refusal(caps, (changes, kind), snapshot),
        Author::External | Author::Longhaul => caps::too_many(caps, changes, snapshot),
    }
}

fn protection(path: &str) -> Option<Protected> {
    // Compared without case: on some file systems `Features.json` is the same file.
    let path = path.to_lowercase();
    match path.split('/').next().unwrap_or_default() {
        CHECKLIST => Some(Protected::Checklist),
        INIT => Some(Protected::Init),
        SPEC => Some(Protected::Spec),
        "checks" => Some(Protected::Checks),
        "memory.md" => Some(Protected::Index),
        "progress" => Some(Protected::OldProgress),
        _ => None,
    }
}

fn is_progress(path: &str) -> bool {
    let path = path.to_lowercase();
    path::is_at_or_below(&path, PROGRESS)
}

fn protected_text(protected: Protected, author: Author, path: &str) -> Option<String> {
    let agent = author == Author::Agent;
    let instead = match protected {
        Protected::Checklist if agent => {
            "only a feature's check marks it as passing: commit your work and call `hand_over`; \
             `checklist` shows the features"
        }
        Protected::Checklist => "use `longhaul feature`",
        Protected::OldProgress => "older entries are closed; add to the end of /memories/progress.md",
        Protected::Index => {
            "change the note below /memories/notes/ itself: its line is made from its `name`, `description` and `type`"
        }
        Protected::Init | Protected::Spec | Protected::Checks if !agent => return None,
        Protected::Init => "change the init script itself in the project, and say so in `hand_over`",
        Protected::Spec => "the specification is the user's; write what you learned to a file below /memories/notes/",
        Protected::Checks => {
            "checks lie outside the agent's reach; when one looks wrong, say so in `check_problem` of `hand_over`"
        }
    };
    Some(format!("Error: {} is written by longhaul only. Instead: {instead}", shown(path)))
}

fn progress_text(change: &Change, snapshot: &Snapshot<'_>) -> Result<Option<String>> {
    if !is_progress(&change.path) {
        return Ok(None);
    }
    if change.path != PROGRESS {
        return Ok(Some(format!(
            "Error: {} would stand in for /memories/progress.md; use another name",
            shown(&change.path)
        )));
    }
    let old = snapshot.read(PROGRESS)?.unwrap_or_default();
    let appends = change.bytes.as_ref().is_some_and(|new| new.starts_with(&old));
    let text = "Error: /memories/progress.md is append-only: what is written stays. Instead: add lines at its end \
                with `insert` after the last line";
    Ok((!appends).then(|| text.to_owned()))
}

/// Refuses a note that later sessions could not find by what it says of itself.
fn note_text(change: &Change, changes: &[Change], kind: Kind) -> Option<String> {
    let bytes = change.bytes.as_ref().filter(|_| index::is_note(&change.path))?;
    // One that a person left without may get another name.
    let was_one = changes.iter().any(|other| other.bytes.is_none() && index::is_note(&other.path));
    if kind == Kind::Moved && was_one {
        return None;
    }
    Front::read(bytes).err().map(|wrong| note::form(&shown(&change.path), &wrong))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::history::trailers::Origin;

    #[test]
    fn protected_names_are_protected_in_any_letter_case() {
        for path in ["features.json", "Features.JSON", "checks/a.sh", "CHECKS/a", "init.md", "spec.md", "progress/1.md"]
        {
            assert!(is_protected(Policy::Project, path), "{path}");
            assert!(!is_protected(Policy::Free, path), "{path}");
        }
        for path in ["notes/features.json", "checks.md", "progress.md", "notes/MEMORY.md", "specs/spec.md"] {
            assert!(!is_protected(Policy::Project, path), "{path}");
        }
    }

    #[test]
    fn the_progress_log_only_grows() {
        assert!(may_replace(Policy::Project, PROGRESS, b"a\n", b"a\nb\n"));
        assert!(!may_replace(Policy::Project, PROGRESS, b"a\n", b"b\n"));
        assert!(may_replace(Policy::Free, PROGRESS, b"a\n", b"b\n"));
        assert!(may_replace(Policy::Project, "notes/a.md", b"a\n", b"b\n"));
    }

    #[test]
    fn the_agent_cannot_write_what_is_protected_and_is_told_what_to_do() {
        let protected = ["features.json", "init.md", "spec.md", "checks/a.sh", "progress/0001-0040.md", "MEMORY.md"];
        let files: Vec<_> = protected.iter().map(|path| (*path, "x")).collect();
        let mut memory = Memory::project(&files);
        let head = memory.store.head().unwrap();
        let mut free = Memory::free(&files);
        for path in protected {
            let path = format!("/memories/{path}");
            for input in [
                json!({"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"}),
                // What else is wrong with the call is not told: it would invite a better one.
                json!({"command": "str_replace", "path": path, "old_str": "not in it", "new_str": "y"}),
                json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": "y"}),
                json!({"command": "rename", "old_path": path, "new_path": "/memories/mine"}),
                json!({"command": "delete", "path": path}),
            ] {
                let answer = memory.run(&input);
                assert!(answer.is_error && answer.as_text().contains("Instead: "), "{input}: {answer:?}");
            }
            assert!(!free.run(&json!({"command": "delete", "path": path})).is_error, "{path} without the policy");
        }
        for input in [
            json!({"command": "delete", "path": "/memories/checks"}),
            json!({"command": "rename", "old_path": "/memories/progress", "new_path": "/memories/p"}),
            json!({"command": "create", "path": "/memories/checks/b.sh", "file_text": "x"}),
            json!({"command": "create", "path": "/memories/Spec.md", "file_text": "x"}),
        ] {
            assert!(memory.run(&input).is_error, "{input}");
        }
        assert_eq!(memory.store.head().unwrap(), head);
    }

    #[test]
    fn nothing_can_be_moved_into_a_protected_place() {
        let mut memory = Memory::project(&[("notes/a", "x")]);
        for to in ["checks/a", "checks", "features.json", "progress/1.md", "Progress.md"] {
            let to = format!("/memories/{to}");
            let input = json!({"command": "rename", "old_path": "/memories/notes", "new_path": to});
            assert!(memory.run(&input).is_error, "{to}");
        }
    }

    #[test]
    fn the_agent_may_only_add_to_the_end_of_the_progress_log() {
        let mut memory = Memory::project(&[("progress.md", "one\n")]);
        for input in [
            json!({"command": "str_replace", "path": "/memories/progress.md", "old_str": "one", "new_str": "two"}),
            json!({"command": "insert", "path": "/memories/progress.md", "insert_line": 0, "insert_text": "zero"}),
            json!({"command": "delete", "path": "/memories/progress.md"}),
            json!({"command": "rename", "old_path": "/memories/progress.md", "new_path": "/memories/p.md"}),
        ] {
            let answer = memory.run(&input);
            assert!(answer.is_error && answer.as_text().contains("append-only"), "{input}: {answer:?}");
        }
        let add = json!({"command": "insert", "path": "/memories/progress.md", "insert_line": 1, "insert_text": "two"});
        assert!(!memory.run(&add).is_error);
        assert_eq!(memory.committed("progress.md").as_deref(), Some("one\ntwo\n"));
    }

    #[test]
    fn a_person_may_change_spec_and_checks_but_not_the_checklist() {
        let mut memory = Memory::project(&[("features.json", "x"), ("spec.md", "x"), ("checks/a", "x")]);
        let mut edit = |path: &str| {
            let input = json!({"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"});
            memory.store.run(&input, &Origin::of(Author::External)).unwrap()
        };
        assert!(!edit("/memories/spec.md").is_error);
        assert!(!edit("/memories/checks/a").is_error);
        assert!(edit("/memories/features.json").as_text().contains("`longhaul feature`"));
    }
}
