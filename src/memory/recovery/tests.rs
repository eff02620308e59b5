use std::fs;
use std::path::PathBuf;

use super::*;
use crate::memory::fixture::Memory;

fn write(memory: &mut Memory, number: usize) {
    memory.write("notes/a.md", &format!("text {number}\n"));
}

/// Returns the files of the newest commit: its own, and those of its trees and of the note.
fn files_of_head(memory: &Memory) -> Vec<PathBuf> {
    let ids = ["main", "main^{tree}", "main:notes", "main:notes/a.md"].map(|name| memory.git(&["rev-parse", name]));
    let file = |id: &String| memory.place.repository.join("objects").join(&id[..2]).join(id[2..].trim());
    ids.iter().map(file).collect()
}

/// What a power cut makes of files that nobody synced.
const CUTS: [fn(&Path); 4] = [
    |path| fs::write(path, "").unwrap(),
    |path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    },
    |path| fs::write(path, vec![0; 300]).unwrap(),
    |path| fs::remove_file(path).unwrap(),
];

#[test]
fn every_object_that_a_power_cut_took_is_written_again() {
    for (cut, make) in CUTS.iter().enumerate() {
        let mut memory = Memory::project(&[]);
        (1..=3).for_each(|number| write(&mut memory, number));
        let files = files_of_head(&memory);
        for file in &files {
            make(file);
        }
        fs::write(memory.place.repository.join("refs/heads/main"), "").unwrap();
        let store = memory.open_again();
        assert_eq!(store.read("notes/a.md").unwrap().as_deref(), Some(&b"text 3\n"[..]), "{cut}");
        assert_eq!(memory.git(&["fsck", "--strict"]), "", "{cut}");
        assert_eq!(memory.git(&["log", "--oneline"]).lines().count(), 3, "{cut}");
        let told = store.recovered();
        let damaged = "4 damaged objects of the memory were written again from its journal";
        assert_eq!(told.iter().any(|text| text == damaged), cut < 3, "{told:?}");
        assert!(
            told.iter().any(|text| text.starts_with("the branch of the memory was unreadable or gone")),
            "{told:?}"
        );
        assert!(memory.open_again().recovered().is_empty(), "it is in order now");
    }
}

#[test]
fn without_the_journal_what_a_power_cut_took_is_lost() {
    let mut memory = Memory::project(&[]);
    (1..=3).for_each(|number| write(&mut memory, number));
    CUTS[0](&files_of_head(&memory)[0]);
    fs::remove_file(Journal::path(&memory.place.state)).unwrap();
    let store = memory.open_again();
    assert_eq!(store.read("notes/a.md").unwrap().as_deref(), Some(&b"text 2\n"[..]));
    let told = store.recovered();
    assert!(told.iter().any(|text| text.contains("git's record has it at")), "{told:?}");
}

#[test]
fn what_cannot_be_read_is_not_taken_for_lost() {
    let open = |memory: &Memory| {
        crate::memory::Store::open(
            &memory.place,
            memory.store.policy,
            memory.store.caps,
            crate::memory::fixture::clock(),
        )
    };
    for lost in [true, false] {
        let mut memory = Memory::project(&[]);
        (1..=3).for_each(|number| write(&mut memory, number));
        fs::remove_file(Journal::path(&memory.place.state)).unwrap();
        for path in [memory.place.repository.join("refs/heads/main"), files_of_head(&memory)[0].clone()] {
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            if lost {
                assert_eq!(open(&memory).unwrap().recovered().len(), 1, "its twin: git's record is asked");
                break;
            }
            std::os::unix::fs::symlink(&path, &path).unwrap();
            assert!(open(&memory).is_err(), "{}", path.display());
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        let newest = open(&memory).unwrap().read("notes/a.md").unwrap();
        assert_eq!(newest.as_deref(), Some(&b"text 3\n"[..]));
    }
}

#[test]
fn a_commit_that_is_only_in_the_journal_counts() {
    let mut memory = Memory::project(&[]);
    (1..=2).for_each(|number| write(&mut memory, number));
    let newest = memory.git(&["rev-parse", "main"]);
    files_of_head(&memory).iter().for_each(|file| fs::remove_file(file).unwrap());
    let before = memory.git(&["rev-parse", "main@{1}"]);
    fs::write(memory.place.repository.join(BRANCH), &before).unwrap();
    let store = memory.open_again();
    assert_eq!(store.head().unwrap().as_deref(), Some(newest.trim()));
    assert_eq!(memory.git(&["rev-parse", "main"]), newest);
    assert!(store.recovered().is_empty(), "that is what any kill leaves: {:?}", store.recovered());
    // The twin: git wrote down that somebody put it back.
    memory.git(&["update-ref", "refs/heads/main", before.trim()]);
    assert_ne!(memory.open_again().recovered().len(), 0);
}

/// The file of the branch and its spare one take turns: a power cut may leave what the other held before the checkpoint.
#[test]
fn a_branch_from_before_the_checkpoint_is_brought_up_and_that_is_told() {
    for since in 0..2 {
        let mut memory = Memory::project(&[]);
        (1..=4).for_each(|number| write(&mut memory, number));
        memory.store.checkpoint().unwrap();
        (5..5 + since).for_each(|number| write(&mut memory, number));
        let newest = memory.git(&["rev-parse", "main"]);
        let before = memory.git(&["rev-parse", &format!("main~{}", since + 1)]);
        fs::write(memory.place.repository.join(BRANCH), &before).unwrap();

        let store = memory.open_again();

        assert_eq!(memory.git(&["rev-parse", "main"]), newest, "git shows it at once");
        let told = store.recovered().join("\n");
        assert_eq!(
            told,
            format!(
                "the branch of the memory was at `{}`; it is at `{}` again, as the journal says",
                before.trim(),
                newest.trim()
            )
        );
        assert!(memory.git(&["for-each-ref", "refs/longhaul"]).is_empty(), "there is nothing that has to be kept");
    }
}

/// Its twin: what is no earlier state of ours is not taken for one.
#[test]
fn a_branch_that_stands_elsewhere_is_left_to_the_look_that_keeps_it() {
    let mut memory = Memory::project(&[]);
    (1..=2).for_each(|number| write(&mut memory, number));
    memory.store.checkpoint().unwrap();
    let other = memory.git(&["-c", "user.name=x", "-c", "user.email=x@y", "commit-tree", "-m", "other", "main^{tree}"]);
    fs::write(memory.place.repository.join(BRANCH), &other).unwrap();
    assert!(memory.open_again().recovered().is_empty());
    assert_eq!(memory.git(&["rev-parse", "main"]), other);
}

#[test]
fn a_journal_of_another_memory_is_set_aside_and_the_branch_is_believed() {
    let mut memory = Memory::project(&[("notes/a.md", "mine")]);
    let mut other = Memory::project(&[("notes/a.md", "theirs")]);
    write(&mut other, 9);
    fs::copy(Journal::path(&other.place.state), Journal::path(&memory.place.state)).unwrap();
    memory.store = memory.open_again();
    assert_eq!(memory.committed("notes/a.md").as_deref(), Some("mine"));
    assert!(memory.place.state.join("found/journal").exists());
    assert!(memory.store.recovered()[0].contains("it was set aside"));
    write(&mut memory, 2);
    assert_eq!(memory.open_again().read("notes/a.md").unwrap().as_deref(), Some(&b"text 2\n"[..]));
}

#[test]
fn a_copy_of_the_whole_and_a_memory_from_before_the_journal_just_go_on() {
    let mut memory = Memory::project(&[("notes/a.md", "mine")]);
    fs::remove_file(Journal::path(&memory.place.state)).unwrap();
    fs::remove_file(memory.place.repository.join(identity::IDENTITY)).unwrap();
    memory.store = memory.open_again();
    assert!(memory.store.recovered().is_empty());
    write(&mut memory, 1);
    assert_eq!(memory.committed("notes/a.md").as_deref(), Some("text 1\n"));
}

/// T38.
#[test]
fn what_killed_processes_left_is_removed_told_and_written_down() {
    let mut memory = Memory::project(&[("notes/a.md", "mine")]);
    write(&mut memory, 1);
    let left = ["refs/heads/main.lock", "packed-refs.lock", "objects/tmp_object_1_2"];
    left.iter().for_each(|name| fs::write(memory.place.repository.join(name), "").unwrap());
    fs::write(memory.place.repository.join("HEAD"), "").unwrap();
    let told = memory.open_again().recovered();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(left.iter().all(|name| !memory.place.repository.join(name).exists()));
    let events = fs::read_to_string(memory.place.state.join("events.jsonl")).unwrap();
    let events: Vec<serde_json::Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts: Vec<_> = events.iter().map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!(texts, told);
    assert!(memory.open_again().recovered().is_empty());
}

#[test]
fn what_only_the_journal_has_is_read_from_there_and_nothing_is_written() {
    for (cut, make) in CUTS.iter().enumerate() {
        let mut memory = Memory::project(&[]);
        (1..=3).for_each(|number| write(&mut memory, number));
        let files = files_of_head(&memory);
        files.iter().for_each(|file| make(file));
        fs::write(memory.place.repository.join("refs/heads/main"), "").unwrap();
        let held = memory.store.lock().unwrap();
        let other = memory.open_again();
        assert_eq!(other.read("notes/a.md").unwrap().as_deref(), Some(&b"text 3\n"[..]), "{cut}");
        assert_eq!(other.list().unwrap(), [("notes/a.md".to_owned(), 7)], "{cut}");
        assert_eq!(other.history(&crate::memory::Filter::default()).unwrap().len(), 3, "{cut}");
        for file in &files {
            let id = file.iter().rev().take(2).map(|part| part.to_str().unwrap()).collect::<Vec<_>>();
            let id = Oid::from_str(&format!("{}{}", id[1], id[0])).unwrap();
            let whole = Loose(&memory.place.repository.join("objects")).is_whole(id).unwrap();
            assert_ne!(whole, Some(true), "{cut}");
        }
        drop(held);
    }
}

#[test]
fn only_a_disk_that_takes_nothing_is_looked_past() {
    for (kind, expected) in [
        (ErrorKind::StorageFull, true),
        (ErrorKind::ReadOnlyFilesystem, true),
        (ErrorKind::QuotaExceeded, true),
        (ErrorKind::InvalidData, false),
        (ErrorKind::NotFound, false),
    ] {
        let error = anyhow::Error::new(io::Error::from(kind)).context("could not");
        assert_eq!(is_of_the_disk(&error), expected, "{kind:?}");
    }
}

#[test]
fn while_another_process_writes_it_is_only_looked_at_and_put_in_order_by_the_first_write() {
    let mut memory = Memory::project(&[("notes/a.md", "1")]);
    write(&mut memory, 2);
    fs::write(memory.place.repository.join("refs/heads/main"), "").unwrap();
    let held = memory.store.lock().unwrap();
    let mut other = memory.open_again();
    assert_eq!(other.read("notes/a.md").unwrap().as_deref(), Some(&b"text 2\n"[..]));
    assert!(other.recovered().is_empty());
    drop(held);
    let origin = crate::memory::Origin::of(crate::memory::Author::Longhaul);
    other.write("x", &[crate::memory::Change::put("notes/b.md", "b")], &origin).unwrap();
    assert_eq!(other.recovered().len(), 1);
    assert_eq!(memory.committed("notes/b.md").as_deref(), Some("b"), "the first process sees it");
}

#[test]
fn pipes_in_the_place_of_our_files_hold_nobody() {
    for name in ["write.lock", "view.json", "pack.lock", "memory.git/packed-refs"] {
        let mut memory = Memory::project(&[("a", "x")]);
        let path = memory.place.state.join(name);
        let _ = fs::remove_file(&path);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        memory.store = memory.open_again();
        memory.write("a", "after");
        assert!(!path.exists() || path.is_file(), "{name}");
        assert_eq!(memory.committed("a").as_deref(), Some("after"), "{name}");
        let told = memory.store.recovered().join("\n");
        assert!(told.starts_with("no file lay at `") && told.contains("; what lay there is kept as `"), "{told}");
    }
}

#[test]
fn folders_in_the_place_of_our_files_are_set_aside_and_the_next_write_goes() {
    for name in ["memory.git/refs/heads/main.lock", "memory.git/HEAD.lock", "write.lock", "view.json", "pack.lock"] {
        let mut memory = Memory::project(&[("a", "x")]);
        let path = memory.place.state.join(name);
        let _ = fs::remove_file(&path);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("mine"), "kept").unwrap();
        memory.write("a", "while it is open");
        memory.store = memory.open_again();
        memory.write("a", "after");
        assert!(!path.is_dir(), "{name}");
        assert_eq!(memory.git(&["rev-parse", "main"]).trim(), memory.store.head().unwrap().unwrap(), "{name}");
        assert_eq!(memory.committed("a").as_deref(), Some("after"), "{name}");
        let kept = fs::read_dir(memory.place.state.join("found")).unwrap().next().unwrap().unwrap().path();
        assert_eq!(fs::read_to_string(kept.join("mine")).unwrap(), "kept", "{name}");
    }
}

#[test]
fn a_file_in_the_place_of_what_was_found_stops_nothing() {
    let memory = Memory::project(&[("a", "x")]);
    fs::write(memory.place.state.join("found"), "in the way").unwrap();
    memory.git(&["config", "a.b", "c"]);
    let told = memory.open_again().recovered();
    assert!(told.len() == 1 && told[0].contains("config"), "{told:?}");
    assert_eq!(fs::read_to_string(memory.place.state.join("found/found")).unwrap(), "in the way");
}
