//! States of the memory as people name them, and how two of them differ.

use anyhow::Context;
use anyhow::Result;

use crate::failure::Failure;
use crate::memory::history::Filter;
use crate::memory::history::patch;
use crate::memory::repository;
use crate::memory::rules::path::MemoryPath;
use crate::memory::store::Store;
use crate::memory::view::View;
use crate::memory::view::compare;
use crate::memory::view::compare::Difference;
use crate::memory::view::compare::Scope;

/// A state of the memory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// As the newest commit has it.
    Now,
    /// As this commit has it; a unique beginning of its id will do.
    Commit(String),
    /// As this session left it.
    Session(u32),
}

impl State {
    /// Reads what a person typed: a commit, `@7` for session 7, or `now`.
    pub fn read(text: &str) -> Self {
        let session = text.strip_prefix('@').and_then(|number| number.parse().ok());
        match session {
            Some(session) => Self::Session(session),
            None if text == "now" || text == "HEAD" => Self::Now,
            None => Self::Commit(text.to_owned()),
        }
    }
}

impl Store {
    /// Returns the commit that has a state.
    pub(in crate::memory) fn commit_of(&self, state: &State) -> Result<String> {
        match state {
            State::Now => self.head()?.context("the memory has no commit yet"),
            State::Commit(id) => repository::resolve(&self.repository, id),
            State::Session(session) => {
                let filter = Filter { session: Some(*session), limit: Some(1), ..Filter::default() };
                let newest = self.walk(&filter)?.next().transpose()?;
                let none = || {
                    Failure::usage(format!("no commit of the memory is of session {session}"))
                        .hint("`longhaul log` shows of which session each commit is")
                };
                Ok(newest.ok_or_else(none)?.id)
            }
        }
    }

    /// Returns how one state became another, as a patch; of these paths, where some are given.
    pub fn difference(&self, from: &State, to: &State, paths: &[MemoryPath]) -> Result<String> {
        let tree = |state| repository::tree_of(&self.repository, &self.commit_of(state)?);
        let paths: Vec<&[u8]> = given(paths).into_iter().map(str::as_bytes).collect();
        patch::text(&patch::between(&self.repository, Some(tree(from)?), tree(to)?, &paths)?)
    }

    /// Returns what was changed in the view and is not in memory, as a patch; of these paths, where some are given.
    pub fn not_taken_in(&self, paths: &[MemoryPath]) -> Result<String> {
        let (snapshot, view) = (self.snapshot()?, View::of(&self.place));
        let shown = self.last_shown();
        let was_shown = |path: &str, found: &[u8]| self.was_shown(shown.as_deref(), path, found);
        let paths = given(paths);
        let scope = if paths.is_empty() { Scope::Everything } else { Scope::Paths(&paths) };
        let mut text = String::new();
        for (path, difference) in compare::compare(&view, &snapshot, &was_shown, scope)? {
            text.push_str(&match difference {
                Difference::Edited(new) => patch::of_bytes(&path, snapshot.read(&path)?.as_deref(), &new)?,
                Difference::Added(new) => patch::of_bytes(&path, None, &new)?,
                // Shown anew at the next look, or nothing that memory could hold.
                _ => continue,
            });
        }
        Ok(text)
    }
}

/// Returns the paths that narrow something down: the root does not.
fn given(paths: &[MemoryPath]) -> Vec<&str> {
    if paths.iter().any(MemoryPath::is_root) {
        return Vec::new();
    }
    paths.iter().map(MemoryPath::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::change::Change;
    use crate::memory::fixture::Memory;
    use crate::memory::history::trailers::Author;
    use crate::memory::history::trailers::Origin;

    #[test]
    fn states_are_read_as_they_are_typed() {
        let cases = [("@7", State::Session(7)), ("now", State::Now), ("HEAD", State::Now)];
        for (text, state) in cases {
            assert_eq!(State::read(text), state);
        }
        for text in ["0123abcd", "@", "@x", "session"] {
            assert_eq!(State::read(text), State::Commit(text.to_owned()));
        }
    }

    #[test]
    fn two_states_differ_as_git_says() {
        let mut memory = Memory::project(&[("docs/a", "1\n"), ("b", "1\n")]);
        let first = memory.store.head().unwrap().unwrap();
        let origin = Origin { session: Some(3), ..Origin::of(Author::Agent) };
        memory.store.write("x", &[Change::put("docs/a", "2\n")], &origin).unwrap();
        memory.write("b", "2\n");

        let of = |from: State, to: State, path: &str| {
            memory.store.difference(&from, &to, &[MemoryPath::relative(path).unwrap()]).unwrap()
        };
        let all = of(State::Commit(first[..9].to_owned()), State::Now, "");
        assert_eq!(all, memory.git(&["diff", &first, "HEAD"]));
        assert_eq!(of(State::Session(3), State::Now, ""), memory.git(&["diff", "HEAD^", "HEAD"]));
        assert_eq!(of(State::Commit(first), State::Now, "docs"), memory.git(&["diff", "HEAD~2", "HEAD", "--", "docs"]));
        assert_eq!(of(State::Now, State::Now, ""), "");
        let error = memory.store.difference(&State::Session(4), &State::Now, &[]).unwrap_err();
        assert_eq!(error.to_string(), "no commit of the memory is of session 4");
    }

    #[test]
    fn what_lies_in_the_view_and_not_in_memory_is_shown() {
        let memory = Memory::project(&[("a", "1\n"), ("b", "1\n")]);
        assert_eq!(memory.store.not_taken_in(&[]).unwrap(), "");
        memory.edit("a", "2\n");
        memory.edit("new", "x\n");
        std::fs::remove_file(memory.at("b")).unwrap();

        let all = memory.store.not_taken_in(&[]).unwrap();
        assert!(all.contains("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"), "{all}");
        assert!(all.contains("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"), "{all}");
        assert!(!all.contains("b/b"), "a deleted file only comes back: {all}");
        let one = memory.store.not_taken_in(&[MemoryPath::relative("new").unwrap()]).unwrap();
        assert!(one.contains("b/new") && !one.contains("b/a"), "{one}");
    }
}
