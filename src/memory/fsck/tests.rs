//! Verdicts beside those of git's own `fsck`, over a list of damages.

mod damages;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::SystemTime;

use super::*;
use crate::memory::fixture::Memory;
use crate::memory::fsck::tests::damages::Damage;
use crate::memory::fsck::tests::damages::Git;
use crate::memory::fsck::tests::damages::Left;
use crate::memory::fsck::tests::damages::damages;

fn fsck(place: &Place, repair: Repair) -> Result<Checkup> {
    super::fsck(place, repair, &|_| {})
}

/// Makes a memory with a past: files that changed, folders, one that is gone.
fn memory() -> Memory {
    let mut memory = Memory::project(&[("features.json", "{}"), ("notes/a.md", "one"), ("notes/deep/b.md", "deep")]);
    memory.write("notes/a.md", "two");
    memory.write("progress.md", "first\n");
    memory.write("notes/a.md", "three");
    memory
}

/// Makes the same with everything in one pack, and the journal begun anew.
fn packed() -> Memory {
    let memory = memory();
    memory.store.checkpoint().unwrap();
    memory.git(&["gc", "--quiet", "--prune=now"]);
    memory
}

fn object(memory: &Memory, name: &str) -> PathBuf {
    let id = memory.git(&["rev-parse", name]);
    memory.place.repository.join("objects").join(&id[..2]).join(id[2..].trim())
}

fn in_pack(memory: &Memory, kind: &str) -> PathBuf {
    let entries = fs::read_dir(memory.place.repository.join("objects/pack")).unwrap();
    let path =
        entries.map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some_and(|found| found == kind));
    path.unwrap()
}

fn write(path: PathBuf, bytes: &[u8]) {
    // What git packs is read-only.
    let _ = fs::remove_file(&path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn change(path: PathBuf, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    write(path, &bytes);
}

fn halve(path: PathBuf) {
    change(path, |bytes| bytes.truncate(bytes.len() / 2));
}

fn lose_journal(memory: &Memory) {
    fs::remove_file(Journal::path(&memory.place.state)).unwrap();
}

fn git_finds_it_sound(memory: &Memory) -> bool {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(&memory.place.repository)
        .args(["fsck", "--strict", "--no-dangling"])
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .output()
        .unwrap();
    output.status.success()
}

#[test]
fn a_memory_without_damage_is_sound_loose_or_packed() {
    for memory in [memory(), packed(), Memory::project(&[])] {
        let checkup = fsck(&memory.place, Repair::No).unwrap();
        assert!(git_finds_it_sound(&memory));
        assert_eq!((checkup.faults, checkup.notes), (vec![], vec![]));
    }
    assert_eq!(fsck(&memory().place, Repair::No).unwrap().commits, 6);
}

/// T39.
#[test]
fn each_damage_is_seen_as_git_sees_it_and_mended_or_named() {
    for Damage { name, make, harm, git, left } in damages() {
        let memory = make();
        harm(&memory);
        assert_eq!(git_finds_it_sound(&memory), git == Git::Sound, "{name}: git");

        let before = fsck(&memory.place, Repair::No).unwrap();
        assert!(!before.is_sound(), "{name}: {before:?}");
        assert_eq!(fsck(&memory.place, Repair::No).unwrap(), before, "{name}: a look changes nothing");

        let after = fsck(&memory.place, Repair::Yes).unwrap();
        let unmended: Vec<&str> =
            after.faults.iter().filter(|fault| !fault.mended).map(|fault| fault.what.as_str()).collect();
        match left {
            Left::Nothing => {
                assert_eq!(unmended, Vec::<&str>::new(), "{name}");
                assert!(git_finds_it_sound(&memory), "{name}: git, afterwards");
                let store = memory.open_again();
                assert_eq!(store.read("features.json").unwrap().as_deref(), Some(&b"{}"[..]), "{name}");
            }
            Left::Lost(what) => assert!(unmended.iter().any(|fault| fault.contains(what)), "{name}: {unmended:?}"),
        }
        let again = fsck(&memory.place, Repair::Yes).unwrap();
        assert_eq!(again.faults.len(), unmended.len(), "{name}: {again:?}");
    }
}

#[test]
fn what_is_set_aside_is_kept() {
    let memory = memory();
    write(object(&memory, "main:notes/a.md"), b"garbage");
    write(memory.place.repository.join("info/grafts"), b"planted");
    fsck(&memory.place, Repair::Yes).unwrap();
    let found = memory.place.state.join("found");
    let kept: Vec<Vec<u8>> =
        fs::read_dir(found).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(kept.contains(&b"garbage".to_vec()) && kept.contains(&b"planted".to_vec()));
}

#[test]
fn what_a_kill_leaves_is_a_note_and_goes_with_a_repair() {
    let memory = memory();
    let left = ["refs/heads/main.lock", "HEAD.lock", "objects/tmp_object_1_0", "objects/pack/tmp_pack_x"];
    left.iter().for_each(|name| write(memory.place.repository.join(name), b"x"));
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let tmp = fs::File::options().write(true).open(memory.place.repository.join(left[3])).unwrap();
    tmp.set_modified(long_ago).unwrap();
    write(memory.place.state.join("view.json"), b"{\"views");
    let before = fsck(&memory.place, Repair::No).unwrap();
    assert!(before.is_sound() && before.notes.len() == 5, "{before:?}");
    let after = fsck(&memory.place, Repair::Yes).unwrap();
    assert_eq!((after.faults, after.notes), (vec![], vec![]));
    assert!(left.iter().all(|name| !memory.place.repository.join(name).exists()));
}

#[test]
fn what_a_git_at_work_is_writing_is_left_to_it() {
    let memory = memory();
    let path = memory.place.repository.join("objects/pack/tmp_pack_x");
    write(path.clone(), b"x");
    let after = fsck(&memory.place, Repair::Yes).unwrap();
    assert!(after.is_sound() && after.notes[0].contains("a git at work is writing"), "{after:?}");
    assert!(path.exists());
}

#[test]
fn a_copied_memory_and_one_without_a_journal_are_sound() {
    let memory = memory();
    lose_journal(&memory);
    let checkup = fsck(&memory.place, Repair::No).unwrap();
    assert!(checkup.is_sound() && checkup.notes[0].contains("no journal"), "{checkup:?}");
    assert!(fsck(&memory.place, Repair::Yes).unwrap().notes.is_empty());

    let copy = memory.outside("copy");
    let copied = Command::new("cp").arg("-r").arg(&memory.place.state).arg(&copy).status().unwrap();
    assert!(copied.success());
    let place = Place { repository: copy.join("memory.git"), state: copy, ..memory.place.clone() };
    assert!(fsck(&place, Repair::No).unwrap().is_sound());
}

#[test]
fn a_memory_that_is_gone_is_said_to_be() {
    let memory = memory();
    fs::remove_dir_all(&memory.place.repository).unwrap();
    assert!(fsck(&memory.place, Repair::No).is_err_and(|error| error.to_string().contains("is gone")));
    symlink("/nowhere", &memory.place.repository).unwrap();
    assert!(fsck(&memory.place, Repair::Yes).is_err());
}

#[test]
fn a_newest_commit_that_is_lost_is_named_and_the_one_before_it_counts() {
    let memory = memory();
    write(object(&memory, "main"), b"");
    let (newest, before) = (memory.git(&["rev-parse", "main"]), memory.git(&["rev-parse", "main@{1}"]));
    lose_journal(&memory);
    let after = fsck(&memory.place, Repair::Yes).unwrap();
    assert!(after.is_sound(), "{after:?}");
    let lost =
        format!("the commit {} is lost; the memory goes on from the one before it, {}", newest.trim(), before.trim());
    assert_eq!(after.notes, [lost]);
    assert_eq!(memory.open_again().read("notes/a.md").unwrap().as_deref(), Some(&b"two"[..]));
}

#[test]
fn what_cannot_be_read_is_called_neither_damaged_nor_sound_and_stays_where_it_is() {
    let memory = memory();
    lose_journal(&memory);
    for path in [object(&memory, "main"), memory.place.repository.join("packed-refs")] {
        let bytes = fs::read(&path).ok();
        let _ = fs::remove_file(&path);
        symlink(&path, &path).unwrap();
        for repair in [Repair::No, Repair::Yes] {
            assert!(fsck(&memory.place, repair).is_err_and(|error| error.to_string().contains("could not read")));
        }
        fs::remove_file(&path).unwrap();
        bytes.into_iter().for_each(|bytes| fs::write(&path, bytes).unwrap());
    }
    assert!(fsck(&memory.place, Repair::No).unwrap().is_sound());
}

/// Writes commit after commit and packs them with git until a look has been taken so often; returns what each look found.
fn beside_a_writer_and_git<T: Send>(looks: usize, look: impl Fn(&Place) -> T + Sync) -> Vec<T> {
    let mut memory = memory();
    let place = memory.place.clone();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let found = (0..looks).map(|_| look(&place)).collect();
            is_done.store(true, Ordering::Relaxed);
            found
        });
        for number in 0.. {
            if is_done.load(Ordering::Relaxed) {
                break;
            }
            memory.write("notes/a.md", &number.to_string());
            if number % 20 == 0 {
                memory.git(&["gc", "--quiet", "--prune=now"]);
            }
        }
        looking.join().unwrap()
    })
}

#[test]
fn beside_a_writer_and_git_a_sound_memory_is_sound() {
    let found = beside_a_writer_and_git(40, |place| fsck(place, Repair::No).unwrap());
    let damaged: Vec<_> = found.iter().filter(|checkup| !checkup.is_sound()).collect();
    assert!(damaged.is_empty(), "{damaged:?}");
}

#[test]
fn a_state_between_two_steps_of_a_write_is_no_damage() {
    let memory = memory();
    let held = WriteLock::take(&memory.place.state, &|_| {}).unwrap();
    // The journal has a commit to which the branch did not go yet.
    let branch = memory.place.repository.join(BRANCH);
    let newest = fs::read(&branch).unwrap();
    fs::write(&branch, memory.git(&["rev-parse", "main~1"])).unwrap();
    assert!(!Look::at(&memory.place).unwrap().checkup().is_sound(), "its twin: who looks once");
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| fsck(&memory.place, Repair::No).unwrap());
        std::thread::sleep(Duration::from_millis(200));
        fs::write(&branch, newest).unwrap();
        drop(held);
        let found = looking.join().unwrap();
        assert!(found.is_sound(), "{found:?}");
    });
}
