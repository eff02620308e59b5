//! Keeps the repository quick to read for git as well: what lies loose goes into few packs, and git gets its list of which
//! commit touched which path. It is done between sessions, never on the way of a write.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::Result;
use anyhow::bail;

use crate::memory::store::Store;
use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Interrupt;

/// Loose objects from which on they are packed.
const MANY: usize = 2000;
/// Their names are spread evenly, so that one of the 256 folders tells for all.
const ONE: &str = "17";
const FOLDERS: usize = 256;
/// Packing takes about 0.2 ms an object; all of a long history is packed at once only the first time.
const LIMIT: Duration = Duration::from_secs(300);

impl Store {
    /// Packs what lies loose when that has become much; `path` is where git is looked for. To be called by who holds the
    /// run lock. Others may read and write meanwhile.
    pub fn keep_up(&self, path: &str) -> Result<()> {
        let loose = fs::read_dir(self.repository.objects().join(ONE)).map_or(0, Iterator::count) * FOLDERS;
        if loose < MANY { Ok(()) } else { self.pack(path) }
    }

    fn pack(&self, path: &str) -> Result<()> {
        // With all on disk nothing has to be written again from the journal, which would make it loose once more.
        self.checkpoint()?;
        // Each pack has at least twice the objects of the next, so that there are few and most are never rewritten.
        self.git(path, &["repack", "-d", "-l", "-q", "--geometric=2", "--no-write-bitmap-index"])?;
        self.git(path, &["commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress"])
    }

    /// Runs git on the repository, without the settings of anybody and without what a setting there could start.
    fn git(&self, path: &str, args: &[&str]) -> Result<()> {
        let place = &self.place.repository;
        let settings = [
            ("GIT_DIR", place.to_string_lossy().into_owned()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_NO_LAZY_FETCH", "1".to_owned()),
            ("GIT_ALLOW_PROTOCOL", "none".to_owned()),
            ("LC_ALL", "C".to_owned()),
            ("PATH", path.to_owned()),
        ];
        let environment: BTreeMap<_, _> = settings.map(|(name, value)| (name.to_owned(), value)).into();
        // What replaces loose objects has to be on disk before they go.
        let fixed = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsync=committed", "-c", "core.fsyncMethod=fsync"];
        let all: Vec<&str> = fixed.iter().chain(args).copied().collect();
        let finished = process::run(&Command::new("git", &all, place, environment).limit(LIMIT), &Interrupt::new());
        match finished.exit {
            Exit::Code(0) => Ok(()),
            exit => {
                let (what, said) = (args.first().unwrap_or(&""), finished.output.last_lines(3));
                bail!("`git {what}` failed in `{}` ({exit}): {}", place.display(), said.trim())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::repository::loose::Loose;
    use crate::memory::repository::object::Object;

    fn path() -> String {
        std::env::var("PATH").unwrap()
    }

    fn count(memory: &Memory, what: &str) -> usize {
        let told = memory.git(&["count-objects", "-v"]);
        told.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(": ")?.parse().ok()).unwrap()
    }

    #[test]
    fn what_is_loose_goes_into_few_packs_and_nothing_else_changes() {
        let mut memory = Memory::project(&[("notes/a", "first")]);
        let old = memory.open_again();
        for round in 0..12 {
            for number in 0..5 {
                memory.write(&format!("docs/{number}"), &format!("{round} {number}"));
            }
            memory.store.pack(&path()).unwrap();
            assert_eq!(count(&memory, "count"), 0);
        }
        assert!(count(&memory, "packs") <= 6, "{}", count(&memory, "packs"));
        assert_eq!(memory.subjects().len(), 61);
        assert_eq!(memory.git(&["fsck", "--strict"]), "");
        assert_eq!(memory.git(&["commit-graph", "verify", "--no-progress"]), "");
        for store in [&old, &memory.store, &memory.open_again()] {
            assert_eq!(store.read("notes/a").unwrap().as_deref(), Some(&b"first"[..]));
            assert_eq!(store.read("docs/4").unwrap().as_deref(), Some(&b"11 4"[..]));
        }
        memory.write("docs/0", "after");
        assert!(memory.inspect().is_empty());
    }

    #[test]
    fn a_few_loose_objects_are_left_and_many_are_packed() {
        let memory = Memory::project(&[("a", "x")]);
        memory.store.keep_up("/nowhere").unwrap();
        let objects = memory.place.repository.join("objects");
        let all =
            (0..).map(|number: u32| Object::new(git2::ObjectType::Blob, number.to_string().into_bytes()).unwrap());
        for object in all.filter(|object| object.id.to_string().starts_with(ONE)).take(MANY / FOLDERS + 1) {
            Loose(&objects).write(&object).unwrap();
        }
        let without = memory.store.keep_up("/nowhere").unwrap_err().to_string();
        assert!(without.contains("`git repack` failed"), "{without}");
        memory.store.keep_up(&path()).unwrap();
        assert_eq!(count(&memory, "count"), 0);
    }
}
