//! The history read back: who wrote what, in which session, why.

mod changed;
mod entry;
mod filter;
mod follow;
mod graph;
mod patch;
#[cfg(test)]
mod skew;
pub(super) mod state;
pub(super) mod trailers;
mod walk;

pub use entry::Entry;
pub use entry::Touch;
pub use entry::Touched;
pub use filter::Filter;
pub use walk::Walk;

use anyhow::Result;
use serde_json::Value;

use crate::memory::command::Command;
use crate::memory::command::plan;
use crate::memory::command::plan::Outcome;
use crate::memory::history::trailers::ToolUse;
use crate::memory::repository;
use crate::memory::repository::contents;
use crate::memory::repository::contents::Entry as Found;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::path::MemoryPath;
use crate::memory::store::Store;
use crate::message::ToolResult;

impl Store {
    /// Returns the commits that fit, newest first.
    pub fn history(&self, filter: &Filter) -> Result<Vec<Entry>> {
        self.walk(filter)?.collect()
    }

    /// Returns what a commit changed, as a patch; a unique beginning of its id will do.
    pub fn diff(&self, commit: &str) -> Result<String> {
        patch::text(&patch::of(&self.repository, &repository::resolve(&self.repository, commit)?)?)
    }

    /// Returns the files that a commit changed.
    pub fn touched(&self, entry: &Entry) -> Result<Vec<Touched>> {
        let (old, new) = patch::trees(&self.repository, &entry.id)?;
        entry::touched(&self.repository, old, new)
    }

    /// Returns the number of the newest session that wrote something; 0 before the first.
    pub fn last_session(&self) -> Result<u32> {
        let mut next = self.head()?;
        while let Some(id) = next {
            let commit = repository::commit(&self.repository, &id)?;
            if let Some(session) = filter::session(&trailers::parse(&commit.message).trailers) {
                return Ok(session);
            }
            next = commit.parent;
        }
        Ok(0)
    }

    /// Returns the newest version of a file whose bytes are accepted, and its commit. Versions that cannot be read are
    /// passed over.
    pub fn newest_version(&self, path: &str, accept: &dyn Fn(&[u8]) -> bool) -> Result<Option<(String, Vec<u8>)>> {
        let path = MemoryPath::relative(path)?;
        let mut tried = None;
        let mut next = self.head()?;
        while let Some(id) = next {
            if let Some(Found::File(blob)) = contents::entry(&self.repository, Some(&id), path.as_str())?
                && tried.as_ref() != Some(&blob)
            {
                match repository::read(&self.repository, &blob) {
                    Ok(bytes) if accept(&bytes) => return Ok(Some((id, bytes))),
                    _ => tried = Some(blob),
                }
            }
            next = repository::commit(&self.repository, &id)?.parent;
        }
        Ok(None)
    }

    /// Returns the answer to a call whose commit landed before a crash. For recovery only: an id is not unique.
    pub fn landed(&self, session_number: u32, call: &ToolUse, input: &Value) -> Result<Option<ToolResult>> {
        let wanted = ("Tool-Use".to_owned(), trailers::tool_use(call, Some(input)));
        let mut next = self.head()?;
        while let Some(id) = next {
            let commit = repository::commit(&self.repository, &id)?;
            let found = trailers::parse(&commit.message).trailers;
            match filter::session(&found) {
                Some(number) if number < session_number => return Ok(None),
                Some(number) if number == session_number && found.contains(&wanted) => {
                    return self.answer_again(commit.parent, input);
                }
                _ => next = commit.parent,
            }
        }
        Ok(None)
    }

    /// Works the answer out on the commit before; nothing is written.
    fn answer_again(&self, parent: Option<String>, input: &Value) -> Result<Option<ToolResult>> {
        let Ok(command) = Command::parse(input) else { return Ok(None) };
        let snapshot = Snapshot::of(&self.repository, parent);
        match plan::plan(&snapshot, &command, self.caps.view_chars)? {
            Outcome::Write(plan) => Ok(Some(ToolResult::text(plan.answer))),
            Outcome::Answer(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::change::Change;
    use crate::memory::fixture::Memory;
    use crate::memory::history::trailers::Author;
    use crate::memory::history::trailers::Origin;

    fn in_session(number: u32) -> Origin {
        let call = ToolUse { id: format!("toolu_{number}"), turn: number };
        Origin { session: Some(number), tool_use: Some(call), ..Origin::of(Author::Agent) }
    }

    /// Three sessions; each adds its own note and a line to the log.
    fn three_sessions() -> Memory {
        let mut memory = Memory::project(&[("progress.md", "")]);
        for number in 1..=3 {
            let note = json!({"command": "create", "path": format!("/memories/docs/{number}"), "file_text": "x\n"});
            memory.store.run(&note, &in_session(number)).unwrap();
            let line = "line\n".repeat(usize::try_from(number).unwrap());
            let origin = Origin { session: Some(number), ..Origin::of(Author::Longhaul) };
            memory
                .store
                .write(&format!("progress: session {number}"), &[Change::put("progress.md", line)], &origin)
                .unwrap();
        }
        memory
    }

    fn subjects(memory: &Memory, filter: &Filter) -> Vec<String> {
        memory.store.history(filter).unwrap().into_iter().map(|entry| entry.subject).collect()
    }

    #[test]
    fn filters_narrow_by_path_session_and_number() {
        let memory = three_sessions();
        let at = |path: &str| Filter { path: Some(MemoryPath::relative(path).unwrap()), ..Filter::default() };
        assert_eq!(
            subjects(&memory, &at("docs")),
            ["memory: create docs/3", "memory: create docs/2", "memory: create docs/1"]
        );
        assert_eq!(subjects(&memory, &at("docs/2")), ["memory: create docs/2"]);
        assert_eq!(
            subjects(&memory, &Filter { session: Some(2), ..Filter::default() }),
            ["progress: session 2", "memory: create docs/2"]
        );
        assert_eq!(
            subjects(&memory, &Filter { limit: Some(2), ..Filter::default() }),
            ["progress: session 3", "memory: create docs/3"]
        );
        assert_eq!(subjects(&memory, &Filter { limit: Some(1), ..at("progress.md") }), ["progress: session 3"]);
        assert_eq!(subjects(&memory, &Filter { limit: Some(0), ..Filter::default() }), [""; 0]);
        assert_eq!(subjects(&memory, &Filter::default()).len(), 7);
    }

    #[test]
    fn a_commit_is_found_by_every_feature_it_concerns() {
        let mut memory = Memory::project(&[("features.json", "{}")]);
        let origin =
            Origin { feature: Some("a".to_owned()), also: vec!["b".to_owned()], ..Origin::of(Author::Longhaul) };
        let told = "verdict: {\"feature\": \"a\"}\nverdict: {\"feature\": \"b\"}";
        let change = Change::put("features.json", "{1}");
        memory.store.write_told("gate: sweep of 2 passed", told, &[change], &origin).unwrap();
        for id in ["a", "b"] {
            let found = memory.store.history(&Filter { feature: Some(id.to_owned()), ..Filter::default() }).unwrap();
            let [entry] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!((entry.subject.as_str(), entry.body.as_str()), ("gate: sweep of 2 passed", told));
        }
        assert_eq!(subjects(&memory, &Filter { feature: Some("c".to_owned()), ..Filter::default() }), [""; 0]);
    }

    #[test]
    fn an_entry_tells_who_wrote_what_and_why() {
        let memory = three_sessions();
        let entry = memory.store.history(&Filter { limit: Some(2), ..Filter::default() }).unwrap().remove(1);
        assert_eq!((entry.author.as_str(), entry.session), ("agent", Some(3)));
        assert_eq!(entry.at.as_second(), 1_800_000_000);
        assert_eq!(memory.store.touched(&entry).unwrap(), [Touched { path: "docs/3".to_owned(), how: Touch::Added }]);
        assert_eq!(entry.id.len(), 40);
        assert_eq!(entry.trailers.last().unwrap().0, "Tool-Use");

        let patch = memory.store.diff(&entry.id[..10]).unwrap();
        assert!(patch.contains("+++ b/docs/3\n") && patch.contains("\n+x\n"), "{patch}");
        assert!(memory.store.diff("main").unwrap_err().to_string().contains("`main` is no commit id"));
        assert!(memory.store.diff("0123456").is_err());
    }

    #[test]
    fn the_last_session_is_the_newest_that_wrote() {
        assert_eq!(Memory::project(&[]).store.last_session().unwrap(), 0);
        let mut memory = three_sessions();
        memory.write("docs/later", "outside of a session");
        assert_eq!(memory.store.last_session().unwrap(), 3);
    }

    #[test]
    fn an_earlier_version_is_found_when_the_newest_is_no_good() {
        let mut memory = Memory::project(&[("features.json", "{}"), ("features.json", "{1}"), ("other", "x")]);
        memory.write("features.json", "");
        let (commit, bytes) =
            memory.store.newest_version("features.json", &|bytes| !bytes.is_empty()).unwrap().unwrap();
        assert_eq!(bytes, b"{1}");
        assert_eq!(memory.git(&["show", &format!("{commit}:features.json")]), "{1}");
        assert_eq!(memory.store.newest_version("features.json", &|bytes| bytes == b"{2}").unwrap(), None);
        assert_eq!(memory.store.newest_version("never", &|_| true).unwrap(), None);
    }

    #[test]
    fn a_call_that_landed_is_answered_and_no_other() {
        let mut memory = Memory::project(&[("docs/a", "one\n")]);
        let input = json!({"command": "str_replace", "path": "/memories/docs/a", "old_str": "one", "new_str": "two"});
        let origin = in_session(4);
        let call = origin.tool_use.clone().unwrap();
        assert_eq!(memory.store.landed(4, &call, &input).unwrap(), None);

        let answer = memory.store.run(&input, &origin).unwrap();
        memory.write("docs/a", "three\n");

        assert_eq!(memory.store.landed(4, &call, &input).unwrap(), Some(answer));
        assert_eq!(memory.store.landed(5, &call, &input).unwrap(), None);
        let other_turn = ToolUse { turn: 9, ..call.clone() };
        assert_eq!(memory.store.landed(4, &other_turn, &input).unwrap(), None);
        let mut other_input = input;
        other_input["new_str"] = json!("four");
        assert_eq!(memory.store.landed(4, &call, &other_input).unwrap(), None);
    }
}
