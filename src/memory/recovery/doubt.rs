//! A journal from which commits may be missing: a header or a record in its middle is damaged. Its last whole record would
//! bring back what was long ago, so the branch counts where it stands on that, and records behind the damage do.

use anyhow::Result;
use git2::Oid;

use crate::memory::journal::Journal;
use crate::memory::recovery;
use crate::memory::repository;
use crate::memory::repository::Repository;
use crate::memory::repository::branch;
use crate::memory::repository::branch::From;
use crate::memory::repository::loose::Loose;

/// Returns the newest commit where the journal cannot be believed; none where it can, or nothing newer is known.
pub(super) fn newest(repository: &Repository, journal: &Journal, at: Option<Oid>) -> Result<Option<Oid>> {
    // The usual case, without a look at all of it.
    if at == journal.head() && !journal.has_damaged_header() || !journal.is_doubtful()? {
        return Ok(None);
    }
    let mut newest = None;
    let behind = journal.behind()?.last().map(|record| record.new);
    for commit in at.into_iter().chain(behind) {
        if stands(repository, commit, journal.head())? && stands(repository, commit, newest)? {
            newest = Some(commit);
        }
    }
    Ok(newest)
}

/// Tells whether a commit is another one, or came after it; after one that is gone, all did.
fn stands(repository: &Repository, commit: Oid, from: Option<Oid>) -> Result<bool> {
    if !repository::is_sound(repository, commit)? {
        return Ok(false);
    }
    let Some(from) = from.filter(|from| *from != commit) else { return Ok(true) };
    Ok(!repository::is_sound(repository, from)? || repository::descends(repository, commit, from))
}

/// Begins such a journal anew where the memory is; to be called under the write lock.
pub(super) fn settle(repository: &Repository, journal: &mut Journal, told: &mut Vec<String>) -> Result<()> {
    let at = branch::at(repository)?;
    if at == journal.head() && !journal.has_damaged_header() {
        return Ok(());
    }
    for record in journal.behind()? {
        for object in &record.objects {
            Loose(&repository.objects()).mend(object)?;
        }
    }
    let Some(head) = newest(repository, journal, at)? else {
        return match journal.has_damaged_header() {
            true => recovery::checkpoint(repository, journal),
            false => Ok(()),
        };
    };
    told.push(format!("the journal of the memory was damaged; it was begun anew, and the memory is at `{head}`"));
    recovery::sync_all(repository)?;
    journal.restart(Some(head))?;
    if at.is_none_or(|at| repository::descends(repository, head, at)) {
        branch::move_branch(repository, From::Anywhere, head, ("recovered", 0))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::memory::fixture::Memory;
    use crate::memory::fsck;
    use crate::memory::fsck::Repair;
    use crate::memory::journal::Journal;

    const FIRST: usize = 8192;

    fn written() -> Memory {
        let mut memory = Memory::project(&[]);
        memory.store.checkpoint().unwrap();
        for number in 1..=3 {
            memory.write("notes/a.md", &format!("text {number}\n"));
        }
        memory
    }

    fn flip(memory: &Memory, at: usize) {
        let path = Journal::path(&memory.place.state);
        let mut bytes = fs::read(&path).unwrap();
        bytes[at] ^= 1;
        fs::write(&path, bytes).unwrap();
    }

    fn note(store: &crate::memory::Store) -> Option<String> {
        store.read("notes/a.md").unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// Looks at it, has it mended, by the next open or by `fsck`, and expects that nothing is lost.
    #[track_caller]
    fn expect_newest(mut memory: Memory, newest: &str, by_fsck: bool) {
        let held = memory.store.lock().unwrap();
        let look = memory.open_again();
        assert_eq!(note(&look).as_deref(), Some(newest), "who only reads");
        let told = look.recovered();
        assert!(told.iter().any(|text| text.contains("journal of the memory is damaged")), "{told:?}");
        drop(held);
        let before = fsck::fsck(&memory.place, Repair::No, &|_| {}).unwrap();
        assert!(!before.is_sound(), "{before:?}");
        if by_fsck {
            let mended = fsck::fsck(&memory.place, Repair::Yes, &|_| {}).unwrap();
            assert!(mended.is_sound() && mended.notes.is_empty(), "{mended:?}");
        } else {
            let told = memory.open_again().recovered();
            assert!(told.iter().any(|text| text.contains("journal of the memory was damaged")), "{told:?}");
        }
        memory.store = memory.open_again();
        assert!(memory.store.recovered().is_empty());
        assert!(fsck::fsck(&memory.place, Repair::No, &|_| {}).unwrap().is_sound());
        assert_eq!(note(&memory.store).as_deref(), Some(newest));
        memory.write("notes/a.md", "after\n");
        assert_eq!(note(&memory.open_again()).as_deref(), Some("after\n"));
        assert!(memory.git(&["log", "--format=%s"]).lines().count() >= 2);
    }

    #[test]
    fn a_damaged_record_in_the_middle_shows_nothing_old_and_is_told() {
        for by_fsck in [false, true] {
            // In the body, the digest, the number, the generation and the length of the first record.
            for at in [108, 30, 16, 8, 0] {
                let memory = written();
                flip(&memory, FIRST + at);
                expect_newest(memory, "text 3\n", by_fsck);
            }
        }
    }

    #[test]
    fn a_damaged_last_record_shows_nothing_old_and_is_told() {
        for by_fsck in [false, true] {
            let memory = written();
            let last = memory.store.with_journal(|journal| Ok(journal.begin_of_last())).unwrap().unwrap();
            flip(&memory, last as usize + 100);
            expect_newest(memory, "text 3\n", by_fsck);
        }
    }

    #[test]
    fn records_behind_a_damaged_one_count_though_the_branch_lags() {
        let memory = written();
        flip(&memory, FIRST + 108);
        memory.git(&["update-ref", "refs/heads/main", "main~2"]);
        let store = memory.open_again();
        assert_eq!(note(&store).as_deref(), Some("text 3\n"));
        assert_eq!(memory.git(&["rev-parse", "main"]).trim(), store.head().unwrap().unwrap());
    }

    #[test]
    fn a_damaged_header_brings_nothing_old_back_even_what_is_gone() {
        for by_fsck in [false, true] {
            for gone in [false, true] {
                for generation in [17, 40, 50, 90] {
                    let mut memory = written();
                    memory.store.checkpoint().unwrap();
                    memory.write("notes/a.md", "text 4\n");
                    if gone {
                        let values = crate::secrets::Secrets::new(["text 2".to_owned()]);
                        memory.store.purge(&values, &|_| Ok(()), crate::memory::Purging::Remove).unwrap();
                    }
                    let slot = memory.store.with_journal(|journal| Ok(journal.newest_slot())).unwrap();
                    flip(&memory, slot + generation);
                    expect_newest(memory, "text 4\n", by_fsck);
                }
            }
        }
    }

    #[test]
    fn a_torn_tail_is_no_damage() {
        let memory = written();
        let last = memory.store.with_journal(|journal| Ok(journal.begin_of_last())).unwrap().unwrap();
        flip(&memory, last as usize + 100);
        memory.git(&["update-ref", "refs/heads/main", "main~1"]);
        let store = memory.open_again();
        assert_eq!((note(&store).as_deref(), store.recovered()), (Some("text 2\n"), vec![]));
        assert!(fsck::fsck(&memory.place, Repair::No, &|_| {}).unwrap().is_sound());
    }

    #[test]
    fn a_commit_on_top_of_a_whole_journal_is_not_believed_for_that() {
        let memory = written();
        memory.store.checkpoint().unwrap();
        let who = ["-c", "user.name=x", "-c", "user.email=x"];
        let forged = memory.git(&[&who[..], &["commit-tree", "-p", "main", "-m", "forged", "main^{tree}"]].concat());
        memory.git(&["update-ref", "refs/heads/main", forged.trim()]);
        assert_ne!(memory.open_again().head().unwrap().as_deref(), Some(forged.trim()));
    }
}
