//! Which notes were used last when, kept beside the repository: reading is no change of memory.
//!
//! Time is counted in days on which sessions were held. A project that rests for a year loses nothing, and neither does
//! one whose clock jumps by ten.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use serde::Serialize;

use crate::memory::notes::index::Listed;
use crate::memory::notes::note::NoteKind;
use crate::memory::store::Store;

const FILE: &str = "reads.json";

#[derive(Default, Deserialize, Serialize)]
struct Reads {
    /// Days with sessions so far.
    days: u32,
    /// The newest of them, by a clock that may be wrong.
    newest: String,
    /// On which of these days a note was used last.
    used: BTreeMap<String, u32>,
}

impl Store {
    /// Counts today as a day with a session.
    pub fn count_day(&self) -> Result<()> {
        self.change_reads(|reads| {
            let today = self.clock.today().to_string();
            if reads.newest != today {
                reads.newest = today;
                reads.days += 1;
            }
        })
    }

    /// Remembers that these notes were read or written.
    pub fn mark_used<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Result<()> {
        let paths: Vec<&str> = paths.into_iter().collect();
        if paths.is_empty() {
            return Ok(());
        }
        self.change_reads(|reads| {
            for path in paths {
                reads.used.insert(path.to_owned(), reads.days);
            }
        })
    }

    /// Lists the notes that nobody used for as many days with sessions; never what the user is or said. What is seen for
    /// the first time counts as used today.
    pub fn unused_for(&self, days: u32) -> Result<Vec<Listed>> {
        let notes = self.index()?.notes;
        let mut unused = Vec::new();
        self.change_reads(|reads| {
            reads.used.retain(|path, _| notes.iter().any(|note| note.path == *path));
            for note in notes {
                let last = *reads.used.entry(note.path.clone()).or_insert(reads.days);
                let may_go = matches!(note.kind, NoteKind::Project | NoteKind::Reference);
                if may_go && reads.days - last.min(reads.days) >= days {
                    unused.push(note);
                }
            }
        })?;
        Ok(unused)
    }

    fn change_reads(&self, change: impl FnOnce(&mut Reads)) -> Result<()> {
        let path = self.place.state.join(FILE);
        // A record that is missing or damaged says that everything was used just now, which is always safe.
        let mut reads: Reads =
            fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        change(&mut reads);
        write(&path, &reads).with_context(|| format!("could not write `{}`", path.display()))
    }
}

fn write(path: &Path, reads: &Reads) -> Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
    file.write_all(&serde_json::to_vec(reads)?)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::clock::Clock;
    use crate::memory::fixture::Memory;

    fn note(kind: &str) -> String {
        format!("---\nname: x\ndescription: y\ntype: {kind}\n---\n")
    }

    /// Holds a session on this day and returns what nobody used for two days.
    fn session(memory: &mut Memory, day: i64) -> Vec<String> {
        memory.store.clock = Clock::fixed(Timestamp::from_second(1_800_000_000 + day * 86_400).unwrap());
        memory.store.count_day().unwrap();
        memory.store.unused_for(2).unwrap().into_iter().map(|note| note.path).collect()
    }

    #[test]
    fn what_nobody_used_for_days_with_sessions_is_listed() {
        let mut memory = Memory::project(&[]);
        session(&mut memory, 0);
        for (path, kind) in
            [("notes/a", "project"), ("notes/b", "reference"), ("notes/c", "user"), ("notes/d", "feedback")]
        {
            assert!(!memory.create(path, &note(kind)).is_error);
        }
        assert!(session(&mut memory, 1).is_empty());
        assert!(!memory.run(&json!({"command": "view", "path": "/memories/notes/b"})).is_error);
        assert_eq!(session(&mut memory, 2), ["notes/a"], "b was read, c and d are the user's");
        assert_eq!(session(&mut memory, 3), ["notes/b", "notes/a"]);
        memory.store.mark_used(["notes/a"]).unwrap();
        assert_eq!(session(&mut memory, 3), ["notes/b"], "a second session of a day is no further day");
    }

    #[test]
    fn a_clock_that_jumps_and_a_project_that_rests_remove_nothing() {
        let mut memory = Memory::project(&[]);
        session(&mut memory, 0);
        memory.create("notes/a", &note("project"));
        for day in [3650, 3650, 3650] {
            assert!(session(&mut memory, day).is_empty());
        }
        assert_eq!(session(&mut memory, -3650), ["notes/a"], "that is a second day all the same");
    }

    #[test]
    fn what_is_known_of_no_note_and_a_damaged_record_count_as_used() {
        let mut memory = Memory::project(&[]);
        memory.write("notes/a", &note("project"));
        session(&mut memory, 0);
        fs::write(memory.place.state.join(FILE), "{").unwrap();
        assert!(session(&mut memory, 9).is_empty());
        assert!(session(&mut memory, 10).is_empty());
        assert_eq!(session(&mut memory, 11), ["notes/a"]);
    }
}
