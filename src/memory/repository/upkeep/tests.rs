use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use super::*;
use crate::memory::fixture::Memory;
use crate::memory::fsck;
use crate::memory::fsck::Repair;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;
use crate::memory::repository::loose::Loose;
use crate::memory::repository::object::Object;
use crate::memory::seal::shortcuts;

fn path() -> String {
    std::env::var("PATH").unwrap()
}

fn count(memory: &Memory, what: &str) -> usize {
    let told = memory.git(&["count-objects", "-v"]);
    told.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(": ")?.parse().ok()).unwrap()
}

/// Packs, with the git that is found there.
fn pack(memory: &Memory, path: &str) -> Result<()> {
    let right = Right::if_free(&memory.place.state)?.context("nobody else packs")?;
    Packing::of(&memory.store, path, &Interrupt::new()).git.pack(&right)
}

#[test]
fn what_is_loose_goes_into_few_packs_and_nothing_else_changes() {
    let mut memory = Memory::project(&[("notes/a", "first")]);
    let old = memory.open_again();
    for round in 0..12 {
        for number in 0..5 {
            memory.write(&format!("docs/{number}"), &format!("{round} {number}"));
        }
        memory.store.checkpoint().unwrap();
        pack(&memory, &path()).unwrap();
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
    let mut memory = Memory::project(&[("a", "x")]);
    memory.store.keep_up("/nowhere", &Interrupt::new()).unwrap();
    litter(&memory);
    let without = memory.store.keep_up("/nowhere", &Interrupt::new()).unwrap_err().to_string();
    assert!(without.contains("`git repack` failed"), "{without}");
    memory.store.keep_up(&path(), &Interrupt::new()).unwrap();
    assert_eq!(count(&memory, "count"), 0);
}

/// Lays down loose objects of which `is_due` thinks that there are many.
fn litter(memory: &Memory) {
    litter_more(memory, MANY / git::FOLDERS + 1);
}

fn litter_more(memory: &Memory, objects_in_one: usize) {
    let objects = memory.place.repository.join("objects");
    let all = (0..).map(|number: u32| Object::new(git2::ObjectType::Blob, number.to_string().into_bytes()).unwrap());
    for object in all.filter(|object| object.id.to_string().starts_with(git::ONE)).take(objects_in_one) {
        Loose(&objects).write(&object).unwrap();
    }
}

fn apply(memory: &mut Memory, path: &str) -> Vec<String> {
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = told.clone();
    memory.store.on_notice(move |text| heard.lock().unwrap().push(text.to_owned()));
    let line = |number| format!(r#"{{"command":"create","path":"/memories/{number}","file_text":"x"}}"#);
    let lines: Vec<String> = (0..200).map(line).collect();
    let origin = Origin::of(Author::External);
    crate::memory::apply(&mut memory.store, lines.join("\n").as_bytes(), |_| Ok(()), &origin, path).unwrap();
    let told = told.lock().unwrap();
    told.iter().filter(|text| !text.starts_with("packing the memory: about ")).cloned().collect()
}

#[test]
fn a_long_row_of_writes_is_packed_on_the_way() {
    let mut memory = Memory::free(&[]);
    litter(&memory);
    assert_eq!(apply(&mut memory, &path()), Vec::<String>::new());
    assert!(count(&memory, "in-pack") > MANY / git::FOLDERS, "it was packed");
    assert_eq!(memory.subjects().len(), 200);
    assert!(!memory.git(&["fsck", "--strict"]).contains("missing"));
    assert_eq!(memory.store.read("7").unwrap().as_deref(), Some(&b"x"[..]));
}

#[test]
fn a_packing_that_fails_is_told_once_and_each_write_counts_all_the_same() {
    let mut memory = Memory::free(&[]);
    litter(&memory);
    let told = apply(&mut memory, "/nowhere");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("the memory is not packed, so that git reads it more slowly: `git repack` failed"));
    assert_eq!((memory.subjects().len(), count(&memory, "in-pack")), (200, 0));
}

#[test]
fn who_packs_keeps_a_purge_away_until_its_git_has_ended() {
    let mut memory = Memory::project(&[("a", "x")]);
    let state = &memory.place.state.clone();
    let right = Right::if_free(state).unwrap().unwrap();
    // Its twin: a command that is started meanwhile has no part in it.
    let mut other = std::process::Command::new("sleep").arg("30").spawn().unwrap();
    let input = right.passed_on().unwrap();
    let mut git = std::process::Command::new("sleep").arg("30").stdin(input).spawn().unwrap();
    std::mem::drop(right);
    assert!(Right::if_free(state).unwrap().is_none(), "the git of one that was killed still packs");
    litter(&memory);
    memory.store.keep_up("/nowhere", &Interrupt::new()).unwrap();
    git.kill().and_then(|()| git.wait()).unwrap();
    assert!(Right::if_free(state).unwrap().is_some());
    other.kill().and_then(|()| other.wait()).unwrap();
}

/// Makes a `git` that does this in the place of the real one, which is `$git`; returns where to look for programs then.
fn instead_of_git(memory: &Memory, script: &str) -> String {
    let folder = memory.outside("bin");
    fs::create_dir_all(&folder).unwrap();
    let real = process::find_program("git", &path(), &folder).unwrap();
    let file = folder.join("git");
    fs::write(&file, format!("#!/bin/sh\ngit='{}'\n{script}\n", real.display())).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), path())
}

/// Waits until a file is there.
fn wait_for(file: &Path) {
    let start = Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "`{}` never came", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_session_packs_on_the_way_and_no_write_waits_for_a_git_that_takes_for_ever() {
    let mut memory = Memory::project(&[]);
    litter(&memory);
    let began = memory.outside("began");
    let interrupt = Interrupt::new();
    let slow =
        instead_of_git(&memory, &format!("nice > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 300", began.display()));
    let write = |memory: &mut Memory, numbers: std::ops::Range<u64>| {
        numbers.for_each(|number| assert!(!memory.create(&format!("docs/{number}"), "x").is_error));
    };
    write(&mut memory, 0..OFTEN);
    assert!(!began.exists(), "its twin: nobody asked for it");

    memory.store.pack_on_the_way(&slow, &interrupt);
    write(&mut memory, OFTEN..2 * OFTEN);
    wait_for(&began);
    #[cfg(target_os = "linux")]
    assert!(fs::read_to_string(&began).unwrap().trim().parse::<i32>().unwrap() > 0, "it gives way");
    write(&mut memory, 2 * OFTEN..6 * OFTEN);
    assert_eq!(memory.subjects().len(), 6 * OFTEN as usize, "while the git still runs");

    // The session ends meanwhile, and a person does not wait.
    let ended = thread::scope(|scope| {
        let asked = scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            interrupt.request();
        });
        let ended = memory.store.keep_up(&slow, &interrupt);
        asked.join().unwrap();
        ended
    });
    ended.unwrap();
    assert_eq!(count(&memory, "in-pack"), 0);
    memory.store.keep_up(&path(), &Interrupt::new()).unwrap();
    assert_eq!(count(&memory, "count"), 0, "the next one does it all");
}

#[test]
fn a_session_that_ends_while_it_packs_waits_for_that() {
    let mut memory = Memory::project(&[]);
    litter(&memory);
    let began = memory.outside("began");
    let slow = instead_of_git(&memory, &format!("echo > '{}'; sleep 0.3; exec \"$git\" \"$@\"", began.display()));
    memory.store.pack_on_the_way(&slow, &Interrupt::new());
    (0..OFTEN).for_each(|number| assert!(!memory.create(&format!("docs/{number}"), "x").is_error));
    wait_for(&began);
    memory.store.keep_up("/nowhere", &Interrupt::new()).unwrap();
    assert!(count(&memory, "in-pack") > MANY / git::FOLDERS, "what had begun is done");
    assert!(Right::if_free(&memory.place.state).unwrap().is_some());
}

#[test]
fn a_packing_that_failed_is_tried_again_when_there_is_twice_as_much() {
    let memory = Memory::project(&[]);
    litter(&memory);
    let mut packing = Packing::of(&memory.store, "/nowhere", &Interrupt::new());
    let told = std::cell::Cell::new(0);
    let mut look = || {
        packing.begin_if_due(Priority::Low, &|_| told.set(told.get() + 1));
        let waited = packing.wait(&|_| {});
        packing.tell(waited, &|_| told.set(told.get() + 1));
        told.get()
    };
    assert_eq!([look(), look(), look()], [1; 3]);
    litter_more(&memory, 2 * (MANY / git::FOLDERS + 1));
    assert_eq!([look(), look()], [2; 2]);
}

/// A git that is killed at whatever moment takes nothing with it, and stops no later one.
#[test]
fn a_git_that_is_killed_while_it_packs_loses_nothing() {
    let mut memory = Memory::project(&[]);
    for number in 0..40 {
        memory.write(&format!("docs/{}", number % 9), &format!("{number}"));
    }
    memory.store.checkpoint().unwrap();
    pack(&memory, &path()).unwrap();
    let mut killed = 0;
    for step in 0..24 {
        for number in 0..6 {
            memory.write(&format!("docs/{number}"), &format!("{step} {number}"));
        }
        let before = memory.store.read_all("").unwrap();
        let kill = format!("exec timeout -s KILL 0.{:03} \"$git\" \"$@\"", 2 + step * 2);
        killed += usize::from(pack(&memory, &instead_of_git(&memory, &kill)).is_err());
        let checkup = fsck::fsck(&memory.place, Repair::No, &|_| {}).unwrap();
        assert_eq!(checkup.faults, [], "{step}");
        assert_eq!(memory.open_again().read_all("").unwrap(), before);
    }
    assert!(killed > 3, "{killed} of 24 were killed");
    // What it left lies there for a while, as it may be some other git's that is at work.
    let objects = memory.place.repository.join("objects");
    for name in ["pack/tmp_pack_left", "pack/.tmp-1-pack-left.pack", "info/commit-graphs/tmp_graph_left"] {
        fs::create_dir_all(objects.join(name).parent().unwrap()).unwrap();
        fs::write(objects.join(name), "x").unwrap();
    }
    let lock = objects.join("info/commit-graphs/commit-graph-chain.lock");
    fs::write(&lock, "").unwrap();
    pack(&memory, &path()).unwrap();
    assert!(lock.exists() && !halves(&objects).is_empty());
    for path in halves(&objects).iter().chain([&lock]) {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }
    pack(&memory, &path()).unwrap();
    assert!(!lock.exists());
    assert_eq!(halves(&objects), Vec::<PathBuf>::new());
    assert_eq!(memory.git(&["fsck", "--strict", "--no-dangling"]), "");
    assert_eq!(memory.git(&["commit-graph", "verify", "--no-progress"]), "");
}

/// Returns the half-written files of git.
fn halves(objects: &Path) -> Vec<PathBuf> {
    let folders = ["pack", "info/commit-graphs"].map(|folder| fs::read_dir(objects.join(folder)).unwrap());
    let files = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let is_half =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().trim_start_matches('.').starts_with("tmp");
    files.filter(is_half).collect()
}

/// Tells how many packs this process holds that are gone.
fn held(memory: &Memory) -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let ours = format!("{}/", memory.place.repository.display());
    maps.lines().filter(|line| line.contains(&ours) && line.ends_with("(deleted)")).count()
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "nobody else tells what a process holds")]
fn a_long_row_of_writes_holds_no_packs_that_are_gone() {
    let mut memory = Memory::project(&[]);
    memory.store.pack_on_the_way(&path(), &Interrupt::new());
    for round in 0..3 {
        memory.write(&format!("docs/{round}"), &"words ".repeat(100));
        pack(&memory, &path()).unwrap();
        let old = memory.store.read("docs/0").unwrap();
        assert!(old.is_some());
    }
    assert!(held(&memory) > 0, "its twin: they are held until a packing on the way has ended");
    litter(&memory);
    let start = Instant::now();
    while held(&memory) > 0 {
        memory.store.pack_meanwhile().unwrap();
        assert!(start.elapsed() < Duration::from_secs(60));
    }
    assert_eq!(memory.store.read("docs/2").unwrap(), Some("words ".repeat(100).into_bytes()));
}

#[test]
fn what_was_packed_is_known_as_ours_and_a_list_of_others_is_not_gone_on_from() {
    let mut memory = Memory::project(&[("a", "1")]);
    pack(&memory, &path()).unwrap();
    assert!(shortcuts::look(&memory.place).is_empty() && !shortcuts::are_missing(&memory.place.repository));
    memory.write("a", "2");
    memory.git(&["commit-graph", "write", "--reachable"]);
    assert!(!shortcuts::look(&memory.place).is_empty(), "its twin");
    pack(&memory, &path()).unwrap();
    assert!(shortcuts::look(&memory.place).is_empty());
    assert!(memory.place.state.join("found/memory.git__objects__info__commit-graph").exists());
    assert_eq!(memory.git(&["commit-graph", "verify", "--no-progress"]), "");
}

#[test]
fn a_list_of_commits_that_is_gone_is_made_again() {
    let mut memory = Memory::project(&[("a", "1")]);
    pack(&memory, &path()).unwrap();
    fs::remove_dir_all(memory.place.repository.join("objects/info/commit-graphs")).unwrap();
    memory.store.keep_up(&path(), &Interrupt::new()).unwrap();
    assert!(!shortcuts::are_missing(&memory.place.repository));
}
