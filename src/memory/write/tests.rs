use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::Mutex;

use serde_json::json;

use super::*;
use crate::memory::ToolUse;
use crate::memory::fixture;
use crate::memory::fixture::Memory;
use crate::memory::repository::branch;
use crate::memory::repository::branch::Moved;
use crate::memory::repository::object::Signed;

fn in_session() -> Origin {
    Origin {
        author: Author::Agent,
        session: Some(7),
        feature: Some("login".to_owned()),
        also: Vec::new(),
        tool_use: Some(ToolUse { id: "toolu_01".to_owned(), turn: 12 }),
        project_commit: Some("c0ffee".to_owned()),
    }
}

#[test]
fn the_first_write_into_an_empty_store_is_committed() {
    let mut memory = Memory::project(&[]);
    assert_eq!(memory.store.head().unwrap(), None);

    let answer = memory.create("docs/db.md", "postgres\n");

    assert_eq!(answer, ToolResult::text("File created successfully at: /memories/docs/db.md"));
    assert_eq!(memory.git(&["show", "main:docs/db.md"]), "postgres\n");
    assert_eq!(memory.shown("docs/db.md").as_deref(), Some("postgres\n"));
    assert_eq!(memory.subjects(), ["memory: create docs/db.md"]);
}

#[test]
fn plain_git_reads_the_history_as_a_story() {
    let mut memory = Memory::project(&[("features.json", "{}")]);
    for input in [
        json!({"command": "create", "path": "/memories/docs/db.md", "file_text": "a\n"}),
        json!({"command": "str_replace", "path": "/memories/docs/db.md", "old_str": "a", "new_str": "b"}),
        json!({"command": "insert", "path": "/memories/docs/db.md", "insert_line": 1, "insert_text": "c"}),
        json!({"command": "rename", "old_path": "/memories/docs", "new_path": "/memories/old"}),
        json!({"command": "delete", "path": "/memories/old"}),
    ] {
        assert!(!memory.store.run(&input, &in_session()).unwrap().is_error, "{input}");
    }

    assert_eq!(
        memory.git(&["log", "--format=%an %cn: %s"]),
        "agent longhaul: memory: delete old\n\
         agent longhaul: memory: rename docs to old\n\
         agent longhaul: memory: insert into docs/db.md\n\
         agent longhaul: memory: edit docs/db.md\n\
         agent longhaul: memory: create docs/db.md\n\
         longhaul longhaul: memory: seed features.json\n"
    );
    let trailers = memory.git(&["log", "-1", "--format=%(trailers:only,unfold)"]);
    let digest = trailers::input_digest(&json!({"command": "delete", "path": "/memories/old"}));
    assert_eq!(
        trailers.trim_end(),
        format!("Session: 7\nFeature: login\nTool-Use: toolu_01 turn 12 {digest}\nProject-Commit: c0ffee")
    );
    assert_eq!(memory.git(&["fsck", "--strict"]), "");
    assert_eq!(memory.git(&["log", "-1", "--format=%at"]), "1800000000\n");
}

#[test]
fn a_write_that_changes_nothing_makes_no_commit() {
    let mut memory = Memory::project(&[("docs/a", "x")]);
    let head = memory.store.head().unwrap();
    let same = json!({"command": "str_replace", "path": "/memories/docs/a", "old_str": "x", "new_str": "x"});
    assert!(!memory.run(&same).is_error);
    assert_eq!(Some(memory.write("docs/a", "x")), head);
    assert_eq!(memory.store.head().unwrap(), head);
}

#[test]
fn a_persons_edit_is_taken_in_before_the_agent_writes_over_it() {
    let mut memory = Memory::project(&[("docs/a", "one\n")]);
    memory.edit("docs/a", "one\nby hand\n");

    let input = json!({"command": "insert", "path": "/memories/docs/a", "insert_line": 2, "insert_text": "two"});
    assert!(!memory.run(&input).is_error);

    assert_eq!(memory.committed("docs/a").as_deref(), Some("one\nby hand\ntwo\n"));
    assert_eq!(memory.subjects()[..2], ["memory: insert into docs/a", "memory: adopt docs/a"]);
    assert_eq!(memory.git(&["log", "-1", "--skip=1", "--format=%an"]), "external\n");
    assert_eq!(memory.inspect().adopted, ["docs/a"]);
}

#[test]
fn longhauls_own_write_keeps_what_was_put_in_the_files_place() {
    let mut memory = Memory::project(&[("features.json", "true state")]);
    memory.edit("features.json", "forged");
    memory.write("features.json", "next state");

    assert_eq!(memory.shown("features.json").as_deref(), Some("next state"));
    let findings = memory.inspect();
    assert!(findings.tampered());
    assert_eq!(fs::read_to_string(&findings.set_aside[0].1).unwrap(), "forged");
}

#[test]
fn only_clean_paths_are_written() {
    let mut memory = Memory::project(&[]);
    for path in ["", "/", "a/", "a//b", "./a", "../a", ".git/config", "a/.git"] {
        let written = memory.store.write("x", &[Change::put(path, "x")], &Origin::of(Author::Longhaul));
        assert!(written.is_err(), "{path:?}");
    }
}

#[test]
fn what_a_killed_process_leaves_does_not_block_and_is_swept_up() {
    let mut memory = Memory::project(&[("a", "x")]);
    let lock = memory.place.repository.join("refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let half = memory.place.repository.join("objects/tmp_object_git2_0123");
    fs::write(&half, "half").unwrap();
    memory.write("a", "y");
    memory.inspect();
    assert_eq!(memory.committed("a").as_deref(), Some("y"));
    assert!(!lock.exists() && !half.exists());
}

/// T40.
#[test]
fn writers_at_the_same_time_lose_nothing() {
    let memory = Memory::free(&[]);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let mut store = memory.open_again();
            scope.spawn(move || {
                for number in 0..10 {
                    let path = format!("/memories/{writer}/{number}");
                    let input = json!({"command": "create", "path": path, "file_text": "x"});
                    assert!(!store.run(&input, &Origin::of(Author::Agent)).unwrap().is_error);
                }
            });
        }
    });
    assert_eq!(memory.subjects().len(), 40);
    assert_eq!(memory.store.list().unwrap().len(), 40);
    assert_eq!(memory.git(&["fsck", "--strict"]), "");
}

#[test]
fn who_writes_without_the_lock_loses_nothing_either() {
    let mut memory = Memory::free(&[("start", "x")]);
    let other = repository::open(&memory.place.repository).unwrap();
    let foreign = move || {
        for number in 0..20 {
            let path = format!("foreign/{number}");
            let signed = Signed { author: "f", committer: "f", seconds: 0, message: "foreign" };
            loop {
                let head = branch::head(&other).unwrap();
                let changes = [(path.as_str(), Some(&b"x"[..]))];
                let commit = repository::stage(&other, head.as_deref(), &changes, &signed).unwrap().unwrap();
                repository::write(&other, &commit).unwrap();
                if branch::move_branch(&other, From::At(commit.old), commit.new, ("f", 0)).unwrap() == Moved::Yes {
                    break;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(foreign);
        for number in 0..20 {
            memory.write(&format!("ours/{number}"), "x");
        }
    });
    memory.inspect();
    assert_eq!(memory.store.read_all("ours").unwrap().len(), 20);
    // Who was overtaken by one of ours is kept beside.
    let kept = memory.git(&["log", "--branches", "--glob=refs/longhaul/found", "--format=%s"]);
    assert_eq!(kept.lines().filter(|subject| *subject == "foreign").count(), 20);
    assert_eq!(memory.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn a_view_that_cannot_follow_is_told_and_catches_up() {
    let mut memory = Memory::project(&[("a", "x")]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    memory.store.on_notice(move |text| heard.lock().unwrap().push(text.to_owned()));
    // A state folder without its record stands for a disk that refuses: the name is taken by a folder.
    let record = memory.place.state.join("view.json");
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    memory.store.show_changes(&[Change::put("a", "y")], &"0".repeat(40));
    assert!(told.lock().unwrap()[0].contains("its view lags"), "{told:?}");

    fs::remove_dir(&record).unwrap();
    memory.edit("a", "x");
    assert!(memory.inspect().is_empty());
}

/// Runs this test again in a process of its own, with a home whose git settings would change everything.
#[test]
fn the_users_git_settings_do_nothing() {
    const CHILD: &str = "LONGHAUL_TEST_MEMORY_OF_CHILD";
    if let Some(folder) = std::env::var_os(CHILD) {
        let mut store = Store::open_or_create_free(Path::new(&folder), fixture::clock(), |_| {}).unwrap();
        let input = json!({"command": "create", "path": "/memories/a.txt", "file_text": "a\r\nb\n"});
        assert!(!store.run(&input, &Origin::of(Author::Agent)).unwrap().is_error);
        return;
    }
    let signing = "[user]\nname = Somebody\nemail = some@body\nsigningkey = K\n[commit]\ngpgsign = true\n\
                   [gpg]\nprogram = SIGN\n[core]\nautocrlf = true\nlogAllRefUpdates = always\nhooksPath = HOOKS\n[init]\ntemplateDir = HOOKS\n";
    for settings in [signing, "[init]\ndefaultBranch = trunk\n[core]\nbare = false\nrepositoryformatversion = 9\n"] {
        let home = tempfile::tempdir().unwrap();
        let marker = home.path().join("was-run");
        let program = home.path().join("hooks/program");
        fs::create_dir_all(home.path().join("hooks/hooks")).unwrap();
        fs::write(&program, format!("#!/bin/sh\ntouch {}\nexit 1\n", marker.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        for hook in ["pre-commit", "post-commit", "reference-transaction"] {
            fs::copy(&program, home.path().join("hooks/hooks").join(hook)).unwrap();
            fs::copy(&program, home.path().join("hooks").join(hook)).unwrap();
        }
        let settings = settings
            .replace("SIGN", program.to_str().unwrap())
            .replace("HOOKS", home.path().join("hooks").to_str().unwrap());
        let config = home.path().join(".gitconfig");
        fs::write(&config, &settings).unwrap();

        let child = process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory::write::tests::the_users_git_settings_do_nothing"])
            .env_clear()
            .env("HOME", home.path())
            .env(CHILD, home.path().join("store"))
            .output()
            .unwrap();

        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        let repository = home.path().join("store/memory.git");
        let commit = fixture::git(&repository, &["cat-file", "commit", "main"]);
        assert!(commit.contains("author agent <agent@longhaul.invalid> 1800000000 +0000\n"), "{commit}");
        assert!(commit.contains("committer longhaul <longhaul@longhaul.invalid> 1800000000 +0000\n"), "{commit}");
        assert!(!commit.contains("gpgsig"), "{commit}");
        assert_eq!(fixture::git(&repository, &["show", "main:a.txt"]), "a\r\nb\n");
        assert!(!marker.exists() && !repository.join("hooks").exists());
        assert_eq!(fs::read_to_string(&config).unwrap(), settings);
        assert!(!fs::read_to_string(repository.join("config")).unwrap().contains("user"));
    }
}
