//! The branch, watched: only the journal says where it is. Whatever else moves it is not read, and put back by the next look.

use std::mem;
use std::slice;

use anyhow::Result;
use anyhow::bail;
use git2::Oid;

use crate::memory::journal::Journal;
use crate::memory::recovery;
use crate::memory::repository;
use crate::memory::repository::branch;
use crate::memory::repository::branch::From;
use crate::memory::repository::branch::Moved;
use crate::memory::rules::guard::Policy;
use crate::memory::store::Store;
use crate::memory::view::adoption;
use crate::memory::write;
use crate::memory::write::TRIES;

impl Store {
    /// Takes in commits that something else made on top of ours with plain git, as a person may between runs; to be called
    /// while no run is on, before anything of a session runs. A branch that was moved elsewhere is put back.
    /// `notice` hears of a long wait for another process.
    pub fn take_in_branch(&mut self, notice: &dyn Fn(&str)) -> Result<()> {
        let _lock = self.lock_telling(notice)?;
        let found = self.branch()?;
        if found == self.expected() {
            return Ok(());
        }
        if let Some(found) = found
            && self.take_in_commits(found)?
        {
            let text = format!("commits that something else made in the memory are taken in, up to `{found}`");
            recovery::write_down(&self.place.state, slice::from_ref(&text));
            self.told.borrow_mut().push(text);
            return Ok(());
        }
        self.put_branch_back()?;
        // It happened before, so nothing that comes now is to blame.
        let moved = mem::take(&mut self.pending.moved);
        self.told.borrow_mut().extend(moved.iter().map(|kept| adoption::moved(kept)));
        Ok(())
    }

    /// Says where the branch was moved by something else, for who only looks; one that lags is no matter.
    pub fn strayed(&self) -> Result<Option<String>> {
        // First the branch: who writes meanwhile moves it last.
        let found = self.branch()?;
        let ours = self.head()?.map(|head| repository::oid(&head)).transpose()?;
        let Some((found, ours)) = found.zip(ours).filter(|(found, ours)| found != ours) else { return Ok(None) };
        if repository::descends(&self.repository, ours, found) {
            return Ok(None);
        }
        let then = match repository::descends(&self.repository, found, ours) {
            true => "takes in what is there",
            false => "puts it back and keeps what is there",
        };
        Ok(Some(format!(
            "something else moved the memory's branch to `{found}`; what longhaul left is shown, and the next command \
             that writes into the memory while no run is on {then}"
        )))
    }

    /// Goes on from a commit that something else made, if it stands on ours; tells whether it does.
    fn take_in_commits(&self, found: Oid) -> Result<bool> {
        let stands = self.expected().is_none_or(|ours| repository::descends(&self.repository, found, ours))
            && repository::is_sound(&self.repository, found)?;
        if stands {
            recovery::sync_all(&self.repository)?;
            self.with_journal(|journal| journal.restart(Some(found)))?;
        }
        Ok(stands)
    }

    /// Returns where the journal says that the branch is.
    fn expected(&self) -> Option<Oid> {
        self.journal.borrow().as_ref().and_then(Journal::head)
    }

    /// Returns where the branch is. A disk that fails once is no reason to stop.
    fn branch(&self) -> Result<Option<Oid>> {
        branch::at(&self.repository).or_else(|_| branch::at(&self.repository))
    }

    /// Puts the branch back where the journal says. What was found there is kept under a ref of its own.
    pub(in crate::memory) fn put_branch_back(&mut self) -> Result<()> {
        let Some(ours) = self.expected() else { return Ok(()) };
        let why = ("put back", self.clock.now().as_second());
        for _ in 0..TRIES {
            let found = self.branch()?;
            if found == Some(ours) || self.belongs_to_all(found)? {
                return Ok(());
            }
            if self.lags_at(found, ours)? {
                branch::move_branch(&self.repository, From::At(found), ours, why)?;
                continue;
            }
            // What moves it once more in between has to be kept too.
            let kept = found.map(|found| branch::keep_found(&self.repository, found)).transpose()?.flatten();
            let from = kept.as_ref().and(found).map_or(From::Anywhere, |found| From::At(Some(found)));
            if branch::move_branch(&self.repository, from, ours, why)? == Moved::Yes {
                let kept = kept.unwrap_or_else(|| "nothing that can be kept".to_owned());
                recovery::write_down(&self.place.state, &[adoption::moved(&kept)]);
                self.pending.moved.push(kept);
                return Ok(());
            }
        }
        bail!("{}", write::busy())
    }

    /// Tells whether it is one commit behind because this process could not move it: nobody else did anything.
    fn lags_at(&self, found: Option<Oid>, ours: Oid) -> Result<bool> {
        let is_unmoved = self.unmoved.get() == Some(ours);
        Ok(is_unmoved && repository::step(&self.repository, ours)?.parents.first().copied() == found)
    }

    /// Goes on from what was found in a memory without rules, which belongs to whoever writes into it.
    fn belongs_to_all(&self, found: Option<Oid>) -> Result<bool> {
        match found.filter(|_| self.policy == Policy::Free) {
            Some(found) => self.take_in_commits(found),
            None => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;

    fn watched(files: &[(&str, &str)]) -> (Memory, String) {
        let memory = Memory::project(files);
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
        let events = std::fs::read_to_string(memory.place.state.join("events.jsonl")).unwrap();
        assert!(events.contains(&findings.moved[0]), "{events}");
        assert!(memory.inspect().is_empty());
    }

    #[test]
    fn a_branch_that_could_not_be_moved_is_moved_later_and_nobody_is_blamed() {
        for unmoved in [true, false] {
            let (mut memory, _) = watched(&[("a", "1")]);
            let ours = memory.write("a", "2");
            memory.store.unmoved.set(unmoved.then(|| Oid::from_str(&ours).unwrap()));
            memory.git(&["update-ref", "refs/heads/main", "main~1"]);
            let findings = memory.inspect();
            assert_eq!(memory.git(&["rev-parse", "main"]).trim(), ours);
            assert_eq!(findings.tampered(), !unmoved, "its twin: somebody else moved it");
        }
    }

    #[test]
    fn without_the_journal_the_forged_commit_would_count() {
        let (memory, _) = watched(&[("features.json", "open")]);
        forge(&memory, "features.json", "proven");
        let read = |store: &crate::memory::Store| store.read("features.json").unwrap();
        assert_eq!(read(&memory.open_again()).as_deref(), Some(&b"open"[..]));
        std::fs::remove_file(memory.place.state.join("journal")).unwrap();
        assert_eq!(read(&memory.open_again()).as_deref(), Some(&b"proven"[..]));
    }

    #[test]
    fn what_a_person_commits_with_plain_git_between_runs_is_taken_in_and_a_rewritten_past_is_not() {
        let (mut memory, _) = watched(&[("notes/a", "1"), ("features.json", "open")]);
        let theirs = forge(&memory, "notes/b", "2");
        memory.store.take_in_branch(&|_| {}).unwrap();
        assert_eq!(memory.store.head().unwrap(), Some(theirs.clone()));
        assert!(memory.inspect().moved.is_empty());

        memory.git(&["update-ref", "refs/heads/main", "main~1"]);
        let elsewhere = forge(&memory, "notes/c", "3");
        memory.store.take_in_branch(&|_| {}).unwrap();
        assert_eq!(memory.store.head().unwrap(), Some(theirs));
        let told = memory.store.recovered();
        assert!(
            told[0].contains("are taken in") && told[0].contains(&memory.store.head().unwrap().unwrap()),
            "{told:?}"
        );
        let kept = format!("refs/longhaul/found/{elsewhere}");
        assert!(told[1].contains("something else moved the memory's branch") && told[1].contains(&kept), "{told:?}");
        assert_eq!(memory.git(&["rev-parse", &kept]).trim(), elsewhere);
        assert!(memory.inspect().is_empty(), "nothing that comes now is to blame");
        let events = std::fs::read_to_string(memory.place.state.join("events.jsonl")).unwrap();
        assert!(told.iter().all(|text| events.contains(text)), "{events}");
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
