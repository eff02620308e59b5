//! What an agent's shell may do to the memory without a sandbox, and what becomes of it.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::memory::Author;
use crate::memory::Origin;
use crate::memory::fixture::Memory;
use crate::memory::repository::branch::BRANCH;

const FILES: [(&str, &str); 3] = [("features.json", "open"), ("notes/a.md", "one"), ("checks/run.sh", "exit 1")];

/// Something done behind longhaul's back.
struct Tamper {
    name: &'static str,
    deed: fn(&Memory),
    kept: Kept,
}

/// Where what was found is afterwards.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kept {
    File,
    Ref,
    /// There was nothing, or only what is damaged.
    Nothing,
}

fn memory() -> Memory {
    let mut memory = Memory::project(&FILES);
    memory.write("notes/a.md", "two");
    memory.inspect();
    memory
}

fn put(memory: &Memory, name: &str, text: &str) {
    let path = memory.place.repository.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn object(memory: &Memory, name: &str) -> PathBuf {
    let id = memory.git(&["rev-parse", name]);
    memory.place.repository.join("objects").join(&id[..2]).join(id[2..].trim())
}

fn git(memory: &Memory, args: &[&str]) -> String {
    let named = [&["-c", "user.name=longhaul", "-c", "user.email=l@l"], args].concat();
    memory.git(&named).trim().to_owned()
}

/// Makes a commit of the newest files with this parent, and moves the branch there.
fn commit_on(memory: &Memory, parents: &[&str]) {
    let commit = git(memory, &[&["commit-tree", "main^{tree}", "-m", "gate: prove f"], parents].concat());
    git(memory, &["update-ref", BRANCH, &commit]);
}

fn journal(memory: &Memory) -> PathBuf {
    Journal::path(&memory.place.state)
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
}

/// Makes a journal as it was one write ago.
fn older_journal(memory: &Memory) -> Vec<u8> {
    let mut bytes = fs::read(journal(memory)).unwrap();
    let Some(last) = memory.store.journal.borrow().as_ref().and_then(|journal| journal.begin_of_last()) else {
        panic!()
    };
    bytes[usize::try_from(last).unwrap()..].fill(0);
    bytes
}

#[expect(clippy::too_many_lines, reason = "a list")]
fn tampers() -> Vec<Tamper> {
    use Kept::*;
    let tamper = |name, deed, kept| Tamper { name, deed, kept };
    vec![
        tamper("the newest commit amended", |m| commit_on(m, &["-p", "main~1"]), Ref),
        tamper("a history of its own", |m| commit_on(m, &[]), Ref),
        tamper("a reset", |m| drop(git(m, &["update-ref", BRANCH, "main~2"])), Ref),
        tamper("the branch deleted", |m| drop(git(m, &["update-ref", "-d", BRANCH])), Nothing),
        tamper("the branch's file deleted", |m| fs::remove_file(m.place.repository.join(BRANCH)).unwrap(), Nothing),
        tamper("the branch's file emptied", |m| put(m, BRANCH, ""), Nothing),
        tamper("the branch at nothing", |m| put(m, BRANCH, &"1".repeat(40)), Nothing),
        tamper(
            "a folder in the branch's place",
            |m| {
                fs::remove_file(m.place.repository.join(BRANCH)).unwrap();
                fs::create_dir(m.place.repository.join(BRANCH)).unwrap();
            },
            Nothing,
        ),
        tamper(
            "the branch packed at an older commit",
            |m| {
                let older = git(m, &["rev-parse", "main~2"]);
                fs::remove_file(m.place.repository.join(BRANCH)).unwrap();
                put(m, "packed-refs", &format!("{older} {BRANCH}\n"));
            },
            Ref,
        ),
        tamper(
            "the branch a name of another",
            |m| {
                git(m, &["update-ref", "refs/heads/other", "main~2"]);
                git(m, &["symbolic-ref", BRANCH, "refs/heads/other"]);
            },
            Ref,
        ),
        tamper("HEAD at another branch", |m| put(m, "HEAD", "ref: refs/heads/other\n"), File),
        tamper("HEAD detached", |m| drop(git(m, &["update-ref", "--no-deref", "HEAD", "main~1"])), File),
        tamper(
            "the repository a copy, the old one gone",
            |m| {
                copy(&m.place.repository, &m.outside("copy"));
                fs::remove_dir_all(&m.place.repository).unwrap();
                fs::rename(m.outside("copy"), &m.place.repository).unwrap();
            },
            Nothing,
        ),
        tamper(
            "the repository another, the old one elsewhere",
            |m| {
                let other = Memory::project(&[("features.json", "proven")]);
                fs::rename(&m.place.repository, m.outside("away")).unwrap();
                copy(&other.place.repository, &m.place.repository);
            },
            File,
        ),
        tamper(
            "the repository a link",
            |m| {
                fs::rename(&m.place.repository, m.outside("away")).unwrap();
                symlink(m.outside("away"), &m.place.repository).unwrap();
            },
            File,
        ),
        tamper("another place for objects", |m| put(m, "objects/info/alternates", "/x\n"), File),
        tamper("another place for objects, by web", |m| put(m, "objects/info/http-alternates", "/x\n"), File),
        tamper("a graft", |m| put(m, "info/grafts", &git(m, &["rev-parse", "main"])), File),
        tamper("a replacement", |m| drop(git(m, &["replace", "main", "main~1"])), File),
        tamper(
            "a replacement, packed",
            |m| {
                git(m, &["replace", "main", "main~1"]);
                git(m, &["pack-refs", "--all"]);
            },
            File,
        ),
        tamper("a shallow history", |m| put(m, "shallow", &git(m, &["rev-parse", "main"])), File),
        tamper("another folder of refs", |m| put(m, "commondir", "../x"), File),
        tamper("attributes", |m| put(m, "info/attributes", "* diff=x"), File),
        tamper("a setting: another working tree", |m| drop(git(m, &["config", "core.worktree", "/"])), File),
        tamper("a setting: a program to watch files", |m| drop(git(m, &["config", "core.fsmonitor", "x"])), File),
        tamper("a setting: a folder of hooks", |m| drop(git(m, &["config", "core.hooksPath", "/x"])), File),
        tamper("a setting: another file of settings", |m| drop(git(m, &["config", "include.path", "/x"])), File),
        tamper("a hook", |m| put(m, "hooks/reference-transaction", "#!/bin/sh\n"), File),
        tamper(
            "the newest commit overwritten",
            |m| {
                fs::write(object(m, "main"), "x").unwrap();
            },
            Nothing,
        ),
        tamper(
            "a folder cut",
            |m| {
                let bytes = fs::read(object(m, "main:notes")).unwrap();
                fs::write(object(m, "main:notes"), &bytes[..bytes.len() / 2]).unwrap();
            },
            Nothing,
        ),
        tamper("a file's bytes deleted", |m| fs::remove_file(object(m, "main:features.json")).unwrap(), Nothing),
        tamper("the journal deleted", |m| fs::remove_file(journal(m)).unwrap(), Nothing),
        tamper("the journal emptied", |m| fs::write(journal(m), "").unwrap(), File),
        tamper("the journal overwritten", |m| fs::write(journal(m), vec![7; 300_000]).unwrap(), File),
        tamper("the journal as it was before", |m| fs::write(journal(m), older_journal(m)).unwrap(), File),
        tamper(
            "the journal another file, as it was before",
            |m| {
                let older = older_journal(m);
                fs::remove_file(journal(m)).unwrap();
                fs::write(journal(m), older).unwrap();
            },
            File,
        ),
        tamper(
            "the journal a link",
            |m| {
                fs::rename(journal(m), m.outside("journal")).unwrap();
                symlink(m.outside("journal"), journal(m)).unwrap();
            },
            File,
        ),
        tamper("the memory's name another", |m| put(m, "longhaul-id", &"0".repeat(32)), Nothing),
        tamper("the checklist edited in the view", |m| m.edit("features.json", "proven"), File),
        tamper("a check edited in the view", |m| m.edit("checks/run.sh", "exit 0"), File),
        tamper(
            "the checklist a link",
            |m| {
                fs::remove_file(m.at("features.json")).unwrap();
                symlink("/etc/hostname", m.at("features.json")).unwrap();
            },
            File,
        ),
        tamper(
            "the checklist a hard link",
            |m| {
                fs::write(m.outside("x"), "proven").unwrap();
                fs::remove_file(m.at("features.json")).unwrap();
                fs::hard_link(m.outside("x"), m.at("features.json")).unwrap();
            },
            File,
        ),
        tamper(
            "a pipe in the checklist's place",
            |m| {
                fs::remove_file(m.at("features.json")).unwrap();
                assert!(Command::new("mkfifo").arg(m.at("features.json")).status().unwrap().success());
            },
            File,
        ),
        tamper(
            "an older check, and a record that says it lags",
            |m| {
                m.edit("checks/run.sh", "exit 0");
                fs::write(m.place.state.join("view.json"), "{\"version\":1,\"views\":{}}").unwrap();
            },
            File,
        ),
    ]
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(0, Iterator::count) == 0
}

/// Expects that all is as longhaul wrote it, and that what was found is kept.
#[track_caller]
fn expect_ours(memory: &Memory, store: &Store, head: &str, kept: Kept, name: &str) {
    assert_eq!(memory.git(&["rev-parse", "main"]).trim(), head, "{name}");
    assert_eq!(memory.git(&["symbolic-ref", "HEAD"]).trim(), BRANCH, "{name}");
    let log = memory.git(&["log", "--format=%s"]);
    assert!(log.lines().count() >= 4 && !log.contains("gate: prove"), "{name}: {log}");
    for (path, text) in [("features.json", "open"), ("notes/a.md", "two"), ("checks/run.sh", "exit 1")] {
        assert_eq!(store.read(path).unwrap().as_deref(), Some(text.as_bytes()), "{name}");
        assert_eq!(memory.shown(path).as_deref(), Some(text), "{name}");
    }
    assert_eq!(layout::look(&memory.place.repository), [], "{name}");
    let checkup = fsck::fsck(&memory.place, fsck::Repair::No, &|_| {}).unwrap();
    assert!(checkup.is_sound(), "{name}: {checkup:?}");
    let refs = memory.git(&["for-each-ref", "refs/longhaul/found"]);
    match kept {
        Kept::Ref => assert_ne!(refs, "", "{name}"),
        Kept::File => {
            let found = memory.place.state.join("found");
            assert!(!is_empty(&found) || !is_empty(&memory.kept()), "{name}");
        }
        Kept::Nothing => {}
    }
}

/// T11 to T14, in the memory: checklist, histories, links of the repository, hooks and settings.
#[test]
fn what_is_done_between_writes_is_undone_before_the_next_and_told() {
    for Tamper { name, deed, kept } in tampers() {
        let mut memory = memory();
        deed(&memory);
        let head = memory.write("notes/b.md", name);
        let findings = memory.inspect();
        assert!(findings.tampered(), "{name}: {findings:?}");
        expect_ours(&memory, &memory.store, &head, kept, name);
        assert_eq!(memory.committed("notes/b.md").as_deref(), Some(name));
        assert!(memory.inspect().is_empty(), "{name}");
    }
}

#[test]
fn what_is_done_last_in_a_session_is_undone_at_its_end_and_told() {
    for Tamper { name, deed, kept } in tampers() {
        let mut memory = memory();
        let head = memory.store.head().unwrap().unwrap();
        deed(&memory);
        let findings = memory.inspect();
        assert!(findings.tampered(), "{name}: {findings:?}");
        expect_ours(&memory, &memory.store, &head, kept, name);
        assert!(memory.inspect().is_empty(), "{name}");
    }
}

#[test]
fn what_is_done_between_sessions_is_found_by_the_next() {
    for Tamper { name, deed, kept } in tampers() {
        let memory = memory();
        let head = memory.store.head().unwrap().unwrap();
        deed(&memory);
        // The last session left where it stood by its journal; a link or a copy in the place of the whole is what it is.
        if name.starts_with("the repository") {
            continue;
        }
        let mut store = memory.open_again();
        let told = Arc::new(Mutex::new(store.recovered()));
        let hear = Arc::clone(&told);
        store.on_notice(move |text| hear.lock().unwrap().push(text.to_owned()));
        store.take_in_branch(&|_| {}).unwrap();
        told.lock().unwrap().extend(store.recovered());
        let findings = store.inspect(&Origin::of(Author::External), &memory.kept()).unwrap();
        let is_quiet = ["a file's bytes deleted", "the branch's file deleted"].contains(&name);
        assert!(is_quiet || findings.tampered() || !told.lock().unwrap().is_empty(), "{name}");
        let kept = if name.starts_with("the journal") || kept == Kept::Ref { Kept::Nothing } else { kept };
        expect_ours(&memory, &store, &head, kept, name);
    }
}

/// The twin: without the watch nobody hears of any of it.
#[test]
fn without_the_watch_it_all_passes_unnoticed() {
    for Tamper { name, deed, .. } in tampers() {
        let mut memory = memory();
        memory.store.seal.watch = Watch::Off;
        deed(&memory);
        let change = [crate::memory::Change::put("notes/b.md", "b")];
        // Some of it only stops the next write.
        let _ = memory.store.write("x", &change, &Origin::of(Author::Longhaul));
        assert!(
            memory.store.inspect(&Origin::of(Author::External), &memory.kept()).is_ok_and(|found| found.is_empty()),
            "{name}"
        );
    }
}

#[test]
fn a_repository_that_was_replaced_by_one_that_lacks_something_stops_the_session() {
    let mut memory = memory();
    copy(&memory.place.repository, &memory.outside("copy"));
    let lost = object(&memory, "main:features.json");
    fs::remove_dir_all(&memory.place.repository).unwrap();
    fs::rename(memory.outside("copy"), &memory.place.repository).unwrap();
    fs::remove_file(lost).unwrap();
    let keep_in = memory.kept();
    let refused = memory.store.inspect(&Origin::of(Author::External), &keep_in).unwrap_err();
    assert_eq!(refused.downcast_ref::<Failure>().unwrap().kind, Kind::Integrity);
}

/// T38.
#[test]
fn locks_that_are_planted_stop_nothing() {
    let mut memory = memory();
    for name in ["refs/heads/main.lock", "packed-refs.lock", "HEAD.lock"] {
        put(&memory, name, "");
    }
    memory.write("notes/b.md", "b");
    assert!(memory.inspect().is_empty());
    assert_eq!(memory.committed("notes/b.md").as_deref(), Some("b"));
}

/// Holds so many sessions of a few writes, with what people and their git do in between, and expects not one word.
fn hold_clean_sessions(sessions: usize) {
    let mut memory = memory();
    for session in 0..sessions {
        let mut store = memory.open_again();
        store.on_notice(|text| panic!("{text}"));
        assert_eq!(store.recovered(), Vec::<String>::new(), "{session}");
        store.take_in_branch(&|_| {}).unwrap();
        memory.store = store;
        memory.edit("notes/mine.md", &format!("mine {session}"));
        let adopted = memory.inspect();
        assert!(!adopted.tampered() && adopted.adopted == ["notes/mine.md"], "{session}: {adopted:?}");
        let created = memory.create(&format!("work/{}/{session}.md", session % 7), "text");
        assert!(!created.is_error, "{}", created.as_text());
        memory.run(&json!({"command": "delete", "path": format!("/memories/work/{}/{session}.md", session % 7)}));
        memory.write("progress.md", &format!("session {session}\n"));
        match session % 50 {
            10 => drop(memory.git(&["gc", "--quiet"])),
            20 => drop(memory.git(&["pack-refs", "--all"])),
            30 => drop(memory.git(&["repack", "-adq"])),
            40 => drop(memory.git(&["config", "gc.auto", "0"])),
            _ => {}
        }
        assert!(memory.inspect().is_empty(), "{session}");
        if session % 3 > 0 {
            memory.store.checkpoint().unwrap();
        }
    }
    assert!(fsck::fsck(&memory.place, fsck::Repair::No, &|_| {}).unwrap().is_sound());
}

#[test]
fn two_hundred_clean_sessions_raise_no_alarm() {
    hold_clean_sessions(200);
}

#[test]
#[ignore = "takes minutes"]
fn a_thousand_clean_sessions_raise_no_alarm() {
    hold_clean_sessions(1000);
}

type Deed = fn(&Memory);

/// What comes into a repository that was looked at before, and has not changed for long.
const LATE: [(&str, Deed); 12] = [
    ("alternates", |m| put(m, "objects/info/alternates", "/elsewhere\n")),
    ("grafts", |m| put(m, "info/grafts", "x")),
    ("a shallow history", |m| put(m, "shallow", "x")),
    ("replaced objects", |m| put(m, "refs/replace/x", "x")),
    ("another common folder", |m| put(m, "commondir", "..")),
    ("a hook", |m| put(m, "hooks/post-commit", "x")),
    ("packed replacements", |m| put(m, "packed-refs", &format!("{} refs/replace/x\n", "1".repeat(40)))),
    ("a list of commits", |m| put(m, "objects/info/commit-graph", "x")),
    ("a list of packs", |m| put(m, "objects/pack/multi-pack-index", "x")),
    ("HEAD at another branch", |m| rewrite(m, "HEAD", "main", "mine")),
    ("a setting", |m| rewrite(m, "config", "bare = true", "pager= cat ")),
    ("another memory's name", |m| put(m, "longhaul-id", &"1".repeat(32))),
];

/// Changes a file in its place, with as many bytes and the time that it had.
fn rewrite(memory: &Memory, name: &str, old: &str, new: &str) {
    let path = memory.place.repository.join(name);
    let (text, time) = (fs::read_to_string(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap());
    assert!(text.contains(old) && old.len() == new.len());
    fs::write(&path, text.replace(old, new)).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_look_that_a_write_spares_itself_misses_nothing() {
    let mut memories: Vec<Memory> = LATE.iter().map(|_| Memory::project(&[("a", "1")])).collect();
    std::thread::sleep(std::time::Duration::from_millis(2200));
    for (memory, (name, deed)) in memories.iter_mut().zip(LATE) {
        let identity = identity::known(&memory.place.repository).unwrap();
        let is_known = |memory: &Memory, what| memory.store.seal.looks.find(what, || Ok(None::<Vec<PathBuf>>)).unwrap();
        memory.write("a", "2");
        memory.write("a", "3");
        assert!(is_known(memory, "foreign") && is_known(memory, "identity"), "{name}: its twin, nothing is looked at");
        deed(memory);
        memory.write("a", "4");
        let foreign: Vec<_> =
            layout::look(&memory.place.repository).into_iter().chain(shortcuts::look(&memory.place)).collect();
        assert_eq!(foreign, [], "{name}");
        assert_eq!(identity::known(&memory.place.repository).unwrap(), identity, "{name}");
    }
}
