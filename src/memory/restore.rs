//! An earlier state brought back: worked out on two commits, then written as a commit like any other.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use anyhow::Result;

use crate::failure::Failure;
use crate::memory::change::Change;
use crate::memory::command::plan::Kind;
use crate::memory::history::Filter;
use crate::memory::history::Touch;
use crate::memory::history::Touched;
use crate::memory::history::state::State;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;
use crate::memory::repository::contents;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::guard;
use crate::memory::rules::guard::Back;
use crate::memory::rules::guard::PINNED;
use crate::memory::rules::path;
use crate::memory::rules::path::MemoryPath;
use crate::memory::store::Store;

/// What is to come back.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// A file or folder as it was before its newest change.
    Undone(MemoryPath),
    /// A file or folder as it was then.
    Path(MemoryPath, State),
    /// The whole memory as it was then.
    All(State),
}

/// What bringing a state back comes to.
#[derive(Clone, Debug)]
pub struct Restoration {
    /// The commit that has the state.
    pub from: String,
    /// Without the checklist of a project, whose record is the gate's.
    pub changes: Vec<Change>,
    /// The checklist as it was then, where it differs and is wanted.
    pub checklist: Option<Vec<u8>>,
    /// Files that differ and stay as they are, since they only grow.
    pub kept: Vec<String>,
    subject: String,
}

impl Store {
    /// Works out what brings a state back; nothing is written.
    pub fn restoration(&self, wanted: &Wanted) -> Result<Restoration> {
        let (at, from) = match wanted {
            Wanted::Undone(path) => (path.as_str(), self.before_newest_change(path)?),
            Wanted::Path(path, state) => (path.as_str(), self.commit_of(state)?),
            Wanted::All(state) => ("", self.commit_of(state)?),
        };
        let old = Snapshot::of(&self.repository, Some(from.clone()));
        let (then, now) = (old.files_at(at)?, self.snapshot()?.files_at(at)?);
        if then.is_empty() && !at.is_empty() {
            return Err(Failure::usage(format!("commit {} has no `{at}`", short(&from)))
                .hint(format!("`longhaul log {at}` shows what became of it"))
                .into());
        }
        let what = if at.is_empty() { "all" } else { at };
        let subject = format!("memory: restore {what} as of {}", short(&from));
        let mut found = Restoration { from, changes: Vec::new(), checklist: None, kept: Vec::new(), subject };
        self.sort(&mut found, &old, &then, &now)?;
        match found.kept.iter().find(|kept| *kept == at) {
            Some(kept) => Err(kept_failure(kept)),
            None => Ok(found),
        }
    }

    /// Sorts what differs by how it may come back.
    fn sort(
        &self,
        found: &mut Restoration,
        old: &Snapshot<'_>,
        then: &BTreeMap<String, String>,
        now: &BTreeMap<String, String>,
    ) -> Result<()> {
        let paths: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
        for path in paths.into_iter().filter(|path| then.get(*path) != now.get(*path)) {
            let bytes = then.get(path).map(|blob| old.bytes(blob)).transpose()?;
            match guard::comes_back(self.policy, path) {
                Back::AsItWas => found.changes.push(Change { path: path.clone(), bytes }),
                Back::IfMissing if now.contains_key(path) => {}
                Back::IfMissing => found.changes.push(Change { path: path.clone(), bytes }),
                Back::ByRecord => found.checklist = bytes,
                Back::Grows => found.kept.push(path.clone()),
                Back::Made => {}
            }
        }
        Ok(())
    }

    /// Returns the commit before the newest change of a path.
    fn before_newest_change(&self, path: &MemoryPath) -> Result<String> {
        let filter = Filter { path: Some(path.clone()), limit: Some(1), ..Filter::default() };
        let Some(newest) = self.walk(&filter)?.next().transpose()? else {
            return Err(Failure::usage(format!("memory never had `{}`", path.as_str()))
                .hint("`longhaul memory view` shows what there is, `longhaul log` what there was")
                .into());
        };
        let before = contents::entry(&self.repository, newest.parent.as_deref(), path.as_str())?;
        newest.parent.filter(|_| before.is_some()).ok_or_else(|| {
            let text = format!("`{}` did not change since it came, by commit {}", path.as_str(), short(&newest.id));
            let hint = "`--from COMMIT` names a state; `longhaul memory delete` or `rename` takes the file away";
            Failure::usage(text).hint(hint).into()
        })
    }

    /// Returns the pinned files of a commit that are not there any more; a checklist of then may name them.
    pub fn pinned_of(&self, commit: &str) -> Result<Vec<Change>> {
        let old = Snapshot::of(&self.repository, Some(commit.to_owned()));
        let now = self.snapshot()?.files_at(PINNED.trim_end_matches('/'))?;
        let missing =
            old.files_at(PINNED.trim_end_matches('/'))?.into_iter().filter(|(path, _)| !now.contains_key(path));
        missing.map(|(path, blob)| Ok(Change::put(path, old.bytes(&blob)?))).collect()
    }

    /// Says which files a restoration changes, and how.
    pub fn restored(&self, restoration: &Restoration) -> Result<Vec<Touched>> {
        let snapshot = self.snapshot()?;
        let touched = |change: &Change| {
            let how = match (&change.bytes, snapshot.entry(&change.path)?) {
                (None, _) => Touch::Removed,
                (Some(_), None) => Touch::Added,
                (Some(_), Some(_)) => Touch::Changed,
            };
            Ok(Touched { path: change.path.clone(), how })
        };
        restoration.changes.iter().map(touched).collect()
    }

    /// Writes a restoration as one commit of a person's.
    ///
    /// # Errors
    /// When it would bring a secret back, or something lies in its way.
    pub fn restore(&mut self, restoration: &Restoration) -> Result<String> {
        let snapshot = self.snapshot()?;
        let changes = restoration.changes.as_slice();
        let refused = match self.screen.refusal((changes, Kind::Written), Author::External, &snapshot)? {
            Some(refused) => Some(refused),
            None => self.obstacle(changes, &snapshot)?,
        };
        if let Some(text) = refused.or(self.file_in_the_way(changes, &snapshot)?) {
            return Err(Failure::usage(text.strip_prefix("Error: ").unwrap_or(&text)).into());
        }
        let body = format!("from commit {}", restoration.from);
        self.write_told(&restoration.subject, &body, changes, &Origin::of(Author::External))
    }

    /// Says which file lies where a folder has to be; one that goes in the same commit is in nobody's way.
    fn file_in_the_way(&self, changes: &[Change], snapshot: &Snapshot<'_>) -> Result<Option<String>> {
        let gone: BTreeSet<&str> = changes.iter().filter(|c| c.bytes.is_none()).map(|c| c.path.as_str()).collect();
        for change in changes.iter().filter(|change| change.bytes.is_some()) {
            if let Some(file) = snapshot.file_above(&change.path)?.filter(|file| !gone.contains(file)) {
                let shown = path::shown(file);
                return Ok(Some(format!("{} cannot come back: {shown} is a file now", path::shown(&change.path))));
            }
        }
        Ok(None)
    }
}

fn kept_failure(path: &str) -> anyhow::Error {
    Failure::usage(format!("`{path}` only grows, so it is not taken back"))
        .hint(format!("`longhaul log -p {path}` shows what it was"))
        .into()
}

fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::rules::screen::Screen;
    use crate::secrets::Scanner;
    use crate::secrets::Secrets;
    use crate::secrets::seeds::seeds;

    fn path(text: &str) -> MemoryPath {
        MemoryPath::relative(text).unwrap()
    }

    fn restore(memory: &mut Memory, wanted: &Wanted) -> Result<Vec<Touched>> {
        let found = memory.store.restoration(wanted)?;
        let touched = memory.store.restored(&found)?;
        memory.store.restore(&found)?;
        Ok(touched)
    }

    fn all_as_of(commit: &str) -> Wanted {
        Wanted::All(State::Commit(commit.to_owned()))
    }

    fn files(memory: &Memory) -> Vec<(String, Vec<u8>)> {
        memory.store.read_all("").unwrap()
    }

    #[test]
    fn each_state_comes_back_exactly_and_goes_again() {
        let mut memory = Memory::free(&[("a", "1"), ("d/e", "2"), ("features.json", "3"), ("progress.md", "4")]);
        let calls = [
            json!({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/x"}),
            json!({"command": "delete", "path": "/memories/a"}),
            json!({"command": "create", "path": "/memories/a/now/a/folder", "file_text": "5"}),
            json!({"command": "create", "path": "/memories/d", "file_text": "now a file"}),
            json!({"command": "delete", "path": "/memories/progress.md"}),
        ];
        let mut states = vec![(memory.store.head().unwrap().unwrap(), files(&memory))];
        for call in calls {
            assert!(!memory.run(&call).is_error, "{call}");
            states.push((memory.store.head().unwrap().unwrap(), files(&memory)));
        }
        for (commit, state) in states.iter().chain(states.iter().rev()) {
            restore(&mut memory, &all_as_of(commit)).unwrap();
            assert_eq!(&files(&memory), state, "{commit}");
            assert!(memory.inspect().is_empty(), "the view follows");
        }
        let log = memory.git(&["log", "-1", "--format=%an: %s%n%b"]);
        let first = &states[0].0;
        assert_eq!(log.trim_end(), format!("external: memory: restore all as of {}\nfrom commit {first}", &first[..8]));
    }

    #[test]
    fn the_newest_change_of_a_path_is_taken_back_also_a_deletion() {
        let mut memory = Memory::project(&[("docs/a", "1"), ("docs/b", "x"), ("docs/a", "2"), ("other", "y")]);
        memory.run(&json!({"command": "delete", "path": "/memories/docs"}));
        let added = |path: &str| Touched { path: path.to_owned(), how: Touch::Added };
        let undone = Wanted::Undone(path("docs"));
        assert_eq!(restore(&mut memory, &undone).unwrap(), [added("docs/a"), added("docs/b")]);
        assert_eq!(memory.committed("docs/a").as_deref(), Some("2"));

        memory.write("docs/a", "3");
        restore(&mut memory, &Wanted::Undone(path("docs/a"))).unwrap();
        assert_eq!(memory.committed("docs/a").as_deref(), Some("2"));
        restore(&mut memory, &Wanted::Undone(path("docs/a"))).unwrap();
        assert_eq!(memory.committed("docs/a").as_deref(), Some("3"), "another restore takes it back");
        assert_eq!(memory.committed("other").as_deref(), Some("y"));

        let told = |path: &str| memory.store.restoration(&Wanted::Undone(self::path(path))).unwrap_err().to_string();
        assert!(told("other").starts_with("`other` did not change since it came, by commit "), "{}", told("other"));
        assert_eq!(told("never"), "memory never had `never`");
    }

    #[test]
    fn what_longhaul_records_stays_and_the_index_follows() {
        let note = |text: &str| format!("---\nname: {text}\ndescription: d\ntype: project\n---\n");
        let mut memory = Memory::project(&[
            ("MEMORY.md", "# Mine\n"),
            ("features.json", "old"),
            ("progress.md", "1\n"),
            ("progress/0001.md", "0\n"),
            ("checks/a.sh", "old"),
            ("checks/pinned/1", "one"),
            ("notes/a.md", &note("one")),
        ]);
        let first = memory.store.head().unwrap().unwrap();
        for (path, text) in [("features.json", "new"), ("progress.md", "1\n2\n"), ("checks/a.sh", "new")] {
            memory.write(path, text);
        }
        memory.write("checks/pinned/2", "two");
        memory.write("notes/a.md", &note("two"));
        memory.write("notes/b.md", &note("three"));
        let removed = ["checks/pinned/1", "progress/0001.md"].map(Change::remove);
        memory.store.write("x", &removed, &Origin::of(Author::Longhaul)).unwrap();

        let found = memory.store.restoration(&all_as_of(&first)).unwrap();
        assert_eq!(found.checklist.as_deref(), Some(&b"old"[..]), "it is for somebody above");
        assert_eq!(found.kept, ["progress.md", "progress/0001.md"]);
        memory.store.restore(&found).unwrap();

        let now = |path: &str| memory.committed(path).unwrap_or_default();
        let kept = ["features.json", "progress.md", "checks/pinned/2"].map(now);
        assert_eq!(kept, ["new", "1\n2\n", "two"]);
        assert_eq!(["checks/a.sh", "checks/pinned/1", "notes/b.md"].map(now), ["old", "one", ""]);
        let index = now("MEMORY.md");
        assert!(index.starts_with("# Mine\n\n- [one](notes/a.md)") && !index.contains("b.md"), "{index}");
        let told = memory.store.restoration(&Wanted::Path(path("progress.md"), State::Commit(first))).unwrap_err();
        assert_eq!(told.to_string(), "`progress.md` only grows, so it is not taken back");
    }

    #[test]
    fn a_secret_does_not_come_back_unless_it_may() {
        let (_, secret, text) = seeds(1).swap_remove(0);
        let mut memory = Memory::project(&[]);
        let with = memory.write("docs/a", &text);
        memory.write("docs/a", "clean");
        let head = memory.store.head().unwrap();
        let told = restore(&mut memory, &all_as_of(&with)).unwrap_err().to_string();
        assert!(told.starts_with("/memories/docs/a is not written: ") && !told.contains(&secret), "{told}");
        assert_eq!(memory.store.head().unwrap(), head);

        memory.store.screen(Screen::new(Scanner::of_known(Secrets::default())));
        restore(&mut memory, &all_as_of(&with)).unwrap();
        assert_eq!(memory.committed("docs/a"), Some(text));
    }

    #[test]
    fn what_lies_in_the_way_stays_and_is_told() {
        let mut memory = Memory::project(&[("docs/a", "1")]);
        let then = memory.store.head().unwrap().unwrap();
        memory.run(&json!({"command": "delete", "path": "/memories/docs"}));
        memory.write("docs", "a file");
        let told = restore(&mut memory, &Wanted::Path(path("docs/a"), State::Commit(then.clone()))).unwrap_err();
        assert_eq!(told.to_string(), "/memories/docs/a cannot come back: /memories/docs is a file now");
        assert_eq!(memory.committed("docs").as_deref(), Some("a file"));
        restore(&mut memory, &Wanted::Path(path("docs"), State::Commit(then))).unwrap();
        assert_eq!(memory.committed("docs/a").as_deref(), Some("1"), "the folder in the place of the file");
        let told = memory.store.restoration(&Wanted::Path(path("no"), State::Now)).unwrap_err().to_string();
        assert!(told.ends_with(" has no `no`"), "{told}");
    }
}
