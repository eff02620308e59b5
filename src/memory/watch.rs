//! The branch, watched: while no other longhaul can write, whatever else moves it is neither read nor kept.

use std::cell::RefCell;

use anyhow::Result;

use crate::memory::repository;
use crate::memory::store::Store;

/// Where this process last saw the branch with its own hand on it.
#[derive(Default)]
pub(super) struct Watch {
    on: bool,
    at: RefCell<Option<String>>,
}

impl Watch {
    /// Returns the commit to go by, when there is one beside what the branch says.
    pub(super) fn at(&self) -> Option<String> {
        self.at.borrow().clone()
    }

    /// Notes where this process has moved the branch.
    pub(super) fn follow(&self, commit: &str) {
        if self.on {
            self.at.replace(Some(commit.to_owned()));
        }
    }
}

impl Store {
    /// Takes this process for the only writer from now on; to be called by who holds the run lock.
    ///
    /// A command of the agent can move the branch with plain git. From here on such a commit is not read, and the next
    /// look at the view, or the next write, puts the branch back.
    pub fn watch(&mut self) -> Result<()> {
        self.watch = Watch { on: true, at: RefCell::new(self.head()?) };
        Ok(())
    }

    /// Puts the branch back where this process left it. What was found there is kept under a ref of its own.
    pub(super) fn put_branch_back(&mut self) -> Result<()> {
        let Some(ours) = self.watch.at() else { return Ok(()) };
        // One that cannot be read is as good as gone.
        let found = repository::head(&self.repository).ok().flatten();
        if found.as_ref() == Some(&ours) {
            return Ok(());
        }
        let kept = repository::move_back(&self.repository, &ours, found.as_deref())?;
        self.pending.moved.push(kept.unwrap_or_else(|| "nothing that can be kept".to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::fixture::Memory;

    fn watched(files: &[(&str, &str)]) -> (Memory, String) {
        let mut memory = Memory::project(files);
        memory.store.watch().unwrap();
        let head = memory.store.head().unwrap().unwrap();
        (memory, head)
    }

    /// Commits a file with plain git, in the name of longhaul, as an agent's shell can.
    fn forge(memory: &Memory, path: &str, text: &str) -> String {
        let source = memory.outside("forged");
        std::fs::write(&source, text).unwrap();
        let blob = memory.git(&["hash-object", "-w", source.to_str().unwrap()]);
        let index = memory.outside("index");
        let git = |args: &[&str]| {
            let output = std::process::Command::new("git")
                .arg("--git-dir")
                .arg(&memory.place.repository)
                .args(["-c", "user.name=longhaul", "-c", "user.email=longhaul@longhaul.invalid"])
                .args(args)
                .env("GIT_INDEX_FILE", &index)
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["read-tree", "main"]);
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{},{path}", blob.trim())]);
        let tree = git(&["write-tree"]);
        let commit = git(&["commit-tree", &tree, "-p", "main", "-m", "gate: prove f"]);
        git(&["update-ref", "refs/heads/main", &commit]);
        commit
    }

    #[test]
    fn a_commit_forged_with_plain_git_is_never_read_and_is_put_back() {
        let (mut memory, ours) = watched(&[("features.json", "open")]);

        let forged = forge(&memory, "features.json", "proven");

        assert_eq!(memory.committed("features.json").as_deref(), Some("open"));
        let findings = memory.inspect();
        assert!(findings.tampered());
        assert_eq!(findings.moved, [format!("refs/longhaul/found/{forged}")]);
        assert_eq!(memory.git(&["rev-parse", "main"]).trim(), ours);
        assert_eq!(memory.git(&["rev-parse", &findings.moved[0]]).trim(), forged);
        assert_eq!(memory.shown("features.json").as_deref(), Some("open"));
        assert!(memory.inspect().is_empty());
    }

    #[test]
    fn without_the_watch_the_forged_commit_would_count() {
        let mut memory = Memory::project(&[("features.json", "open")]);
        forge(&memory, "features.json", "proven");
        assert_eq!(memory.committed("features.json").as_deref(), Some("proven"));
        assert!(!memory.inspect().tampered());
    }

    #[test]
    fn a_write_after_the_branch_was_moved_stands_on_our_own_commit() {
        let (mut memory, ours) = watched(&[("a", "1"), ("features.json", "open")]);
        forge(&memory, "features.json", "proven");
        memory.write("a", "2");
        assert_eq!(memory.git(&["rev-parse", "main~1"]).trim(), ours);
        assert_eq!(memory.committed("features.json").as_deref(), Some("open"));
        assert!(memory.inspect().tampered(), "what a write undid is told by the next look");
    }

    #[test]
    fn a_branch_that_was_deleted_rewound_or_emptied_comes_back() {
        let (mut memory, ours) = watched(&[("a", "1"), ("features.json", "open")]);
        let file = memory.place.repository.join("refs/heads/main");
        let deeds: [&dyn Fn(&Memory); 4] = [
            &|memory| drop(memory.git(&["update-ref", "-d", "refs/heads/main"])),
            &|memory| drop(memory.git(&["update-ref", "refs/heads/main", "main~1"])),
            &|_| std::fs::write(&file, "").unwrap(),
            &|_| std::fs::write(&file, "0123456789012345678901234567890123456789\n").unwrap(),
        ];
        for (number, deed) in deeds.into_iter().enumerate() {
            deed(&memory);
            assert!(memory.inspect().tampered(), "{number}");
            assert_eq!(memory.git(&["rev-parse", "main"]).trim(), ours, "{number}");
            assert_eq!(memory.git(&["fsck", "--strict"]), "", "{number}");
        }
    }

    #[test]
    fn packing_the_repository_is_no_tampering() {
        let (mut memory, _) = watched(&[("a", "1"), ("features.json", "open")]);
        memory.git(&["gc", "--quiet", "--prune=now"]);
        memory.git(&["pack-refs", "--all"]);
        assert!(memory.inspect().is_empty());
        memory.write("a", "2");
        assert_eq!(memory.committed("a").as_deref(), Some("2"));
    }
}
