//! T11 to T16 and T38 to T41: what becomes of memory's files between two commands, at its user's hands or a crash's.
//!
//! Each tamper within a session is in `src/memory/seal/tests.rs`, each damage in `src/memory/fsck/tests.rs`.

use crate::support::PATIENCE;
use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use crate::support::signal;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

/// What is put into the place of a folder.
type InPlace<'a> = &'a dyn Fn(&Project, &Path);

/// What a crash did.
type Harm<'a> = &'a dyn Fn(&Project);

fn runs(text: &str) -> Value {
    session([reply([bash(text)]), reply([hand_over()])])
}

/// A project with a note and an open feature.
fn noted() -> Project {
    let project = Project::ready().feature("f", "test -f f");
    project.run(["memory", "create", "notes/a.md", &as_note("mine")]).exits(0);
    project
}

fn note(project: &Project) -> String {
    project.memory_git(["show", "HEAD:notes/a.md"])
}

/// T12: histories that a command of the agent's wrote anew, in the project and in memory.
#[test]
fn t12_no_rewritten_history_loses_a_commit() {
    let in_memory =
        "g='git --git-dir=.git/longhaul/memory.git --work-tree=../w -c user.name=x -c user.email=x'; mkdir ../w; ";
    for deed in [
        "$g commit -q --amend --allow-empty -m amended",
        "$g reset -q --hard HEAD~2",
        "$g branch -qf other HEAD~1; $g symbolic-ref HEAD refs/heads/other; $g branch -qD main",
        "$g checkout -q --detach HEAD~1; $g branch -qf main HEAD",
    ] {
        let project = noted().model([runs(&format!("{in_memory}{deed}; touch g")), runs("touch f")]);
        let (before, log) = (project.memory_git(["rev-parse", "HEAD"]), project.memory_log());

        project.run(["run", "--sessions", "1"]).exits(3).tells("it proves nothing");

        assert!(project.memory_log().ends_with(&log), "{deed}: {:?}", project.memory_log());
        assert_eq!(project.memory_git(["symbolic-ref", "HEAD"]), "refs/heads/main", "{deed}");
        project.memory_git(["merge-base", "--is-ancestor", &before, "main"]);
        project.run(["run"]).exits(0);
    }
}

/// T15: what a user wrote into a note between two sessions was undone.
#[test]
fn t15_a_users_edit_of_a_note_is_taken_over_between_sessions_and_within_one() {
    let edit = |word: &str| as_note("mine").replace("about mine", &format!("about {word}"));
    let silent = json!({ "silence": "1s", "tools": [{ "name": "bash", "input": { "command": "touch f" } }] });
    let project = noted().model([session([silent, reply([hand_over()])])]);
    let at = project.view().join("notes/a.md");
    fs::write(&at, edit("yours")).unwrap();

    let child = project.start(["run"]);
    project.played().wait_for_silence();
    assert!(note(&project).contains("about yours"), "{}", note(&project));
    fs::write(&at, edit("ours")).unwrap();
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(&at).unwrap(), edit("ours"));
    assert!(note(&project).contains("about ours"));
    let who = project.memory_git(["log", "--format=%an", "--", "notes/a.md"]);
    assert_eq!(who.lines().collect::<std::collections::BTreeSet<_>>(), ["external"].into(), "{who}");
    assert_eq!(who.lines().count(), 3);
}

/// T16 for the view: it can be made again at any time, whatever lies in its place.
#[test]
fn t16_a_view_that_is_gone_a_file_or_a_link_is_made_again() {
    let outside = |project: &Project| project.home().join("outside");
    let deeds: [(&str, InPlace); 3] = [
        ("gone", &|_, _| ()),
        ("a file", &|_, at| fs::write(at, "x").unwrap()),
        ("a link", &|project, at| {
            fs::create_dir(outside(project)).unwrap();
            symlink(outside(project), at).unwrap();
        }),
    ];
    for place in [".longhaul", ".longhaul/memory", ".longhaul/memory/notes"] {
        for (what, deed) in &deeds {
            let project = noted().model([runs("touch f")]);
            let (at, head) = (project.root().join(place), project.memory_git(["rev-parse", "HEAD"]));
            fs::remove_dir_all(&at).unwrap();
            deed(&project, &at);

            project.run(["status"]).exits(0);
            assert_eq!(project.memory_git(["rev-parse", "HEAD"]), head, "{place} {what}");
            project.run(["run"]).exits(0);

            let shown = fs::read_to_string(project.view().join("notes/a.md"));
            assert_eq!(shown.unwrap_or_default(), as_note("mine"), "{place} {what}");
            assert!(!at.is_symlink(), "{place} {what}");
            let written = fs::read_dir(outside(&project)).map_or(0, Iterator::count);
            assert_eq!(written, 0, "{place} {what}");
        }
    }
}

/// T16 for the memory itself: it is never made anew in silence, and no link leads elsewhere for good.
#[test]
fn t16_a_memory_that_is_gone_or_a_file_is_said_to_be() {
    for what in ["gone", "a file", "a link to nothing"] {
        let project = noted().model([runs("touch g")]);
        project.run(["run", "--sessions", "1"]).exits(3);
        let repository = project.state().join("memory.git");
        let away = project.home().join("away");
        fs::rename(&repository, &away).unwrap();
        match what {
            "a file" => fs::write(&repository, "x").unwrap(),
            "a link to nothing" => symlink("nowhere", &repository).unwrap(),
            _ => (),
        }

        for command in
            [&["status"][..], &["run"], &["init"], &["memory", "create", "notes/b.md", "x"], &["memory", "fsck"]]
        {
            let run = project.run(command.iter());
            assert_eq!(run.code, Some(7), "{what}: {}", run.whole());
        }
        assert!(!repository.join("objects").exists(), "{what}: no other one was made");

        // The way out that is told.
        fs::remove_file(&repository).ok();
        fs::rename(&away, &repository).unwrap();
        assert_eq!(project.status("f"), "open");
        assert!(note(&project).contains("about mine"));
    }
}

/// T38: locks that a killed process left.
#[test]
fn t38_stale_locks_in_memory_stop_nothing_and_are_told() {
    let project = noted().model([runs("touch f")]);
    let repository = project.state().join("memory.git");
    let locks = [
        "index.lock",
        "HEAD.lock",
        "refs/heads/main.lock",
        "packed-refs.lock",
        "config.lock",
        "objects/maintenance.lock",
    ];
    for lock in locks {
        fs::write(repository.join(lock), "").unwrap();
    }
    fs::write(project.root().join(".git/index.lock"), "").unwrap();
    // The twin: git itself does not get past them.
    let refused = std::process::Command::new("git")
        .arg("--git-dir")
        .arg(&repository)
        .args(["update-ref", "refs/heads/main", "HEAD~1"])
        .output();
    assert!(!refused.unwrap().status.success());

    project.run(["run"]).exits(0).tells("locks that killed processes had left in the memory were removed: 5");

    for lock in ["HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"] {
        assert!(!repository.join(lock).exists(), "{lock}");
    }
    assert_eq!(project.status("f"), "proven");
    project.memory_git(["pack-refs", "--all"]);
}

/// T39: what a crash of the machine leaves of files that were not on the disk yet.
#[test]
fn t39_files_that_a_crash_emptied_cut_or_filled_with_garbage_cost_no_step_by_hand() {
    let object = |project: &Project, name: &str| {
        let id = project.memory_git(["rev-parse", name]);
        project.state().join("memory.git/objects").join(&id[..2]).join(&id[2..])
    };
    let empty = |path: &Path| fs::write(path, "").unwrap();
    let deeds: [(&str, Harm); 8] = [
        ("an empty commit", &|project| empty(&object(project, "main"))),
        ("an empty folder", &|project| empty(&object(project, "main^{tree}"))),
        ("an empty file", &|project| empty(&object(project, "main:features.json"))),
        ("an object of zeros", &|project| fs::write(object(project, "main"), vec![0; 200]).unwrap()),
        ("an empty branch", &|project| empty(&project.state().join("memory.git/refs/heads/main"))),
        ("an empty HEAD", &|project| empty(&project.state().join("memory.git/HEAD"))),
        ("settings of garbage", &|project| fs::write(project.state().join("memory.git/config"), "[garb\0ge").unwrap()),
        ("a pack that was cut", &|project| {
            let packs = project.state().join("memory.git/objects/pack");
            fs::write(packs.join("pack-0123456789012345678901234567890123456789.pack"), "PACK\0\0").unwrap();
            fs::write(packs.join("pack-0123456789012345678901234567890123456789.idx"), "").unwrap();
        }),
    ];
    for (what, deed) in deeds {
        let project = noted().model([runs("touch f")]);
        let head = project.memory_git(["rev-parse", "main"]);
        deed(&project);

        let looked = project.run(["status"]);
        assert_eq!(looked.code, Some(0), "{what}: {}", looked.whole());
        let ended = project.run(["run"]);
        assert_eq!(ended.code, Some(0), "{what}: {}", ended.whole());

        assert_eq!(project.status("f"), "proven", "{what}");
        assert!(note(&project).contains("about mine"), "{what}");
        project.memory_git(["merge-base", "--is-ancestor", &head, "main"]);
        project.run(["memory", "fsck", "--repair"]).exits(0);
        project.memory_git(["fsck", "--strict", "--no-dangling"]);
    }
}

/// T40: two at once, and one of them stopped with the lock in its hands.
#[test]
fn t40_a_stopped_run_keeps_its_lock_and_nobody_waits_for_it() {
    let silent = json!({ "silence": "3s", "tools": [{ "name": "bash", "input": { "command": "touch f" } }] });
    let project = noted().model([session([silent, reply([hand_over()])])]);
    let child = project.start(["run"]);
    project.played().wait_for_silence();
    signal(&child, "STOP");

    let begun = Instant::now();
    for command in [&["run"][..], &["check"], &["memory", "create", "checks/a", "x"]] {
        project.run(command.iter()).exits(6).tells("another longhaul");
    }
    project.run(["memory", "create", "work/a", "x"]).exits(0);
    project.run(["status"]).exits(0);
    project.run(["log"]).exits(0);
    assert!(begun.elapsed() < PATIENCE / 4, "{:?}", begun.elapsed());

    signal(&child, "CONT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    project.run(["run"]).exits(0);
}

/// T40 for a single write: whoever waits for it says so, and ends once it is plain that nothing comes.
#[test]
fn t40_a_writer_that_was_stopped_in_its_write_is_waited_for_aloud() {
    let project = Project::new();
    let store = project.root().join("store");
    let call = r#"{"command": "create", "path": "/memories/a", "file_text": "x"}"#;
    project.run_with(["memory", "apply", "--store", "store"], call).exits(0);
    let lock = store.join("memory.git/longhaul/write.lock");
    assert!(lock.exists(), "{}", lock.display());
    let held = std::process::Command::new("flock").arg(&lock).args(["sleep", "3"]).spawn();
    let Ok(mut held) = held else { return crate::support::skipped("`flock` does not run here") };
    std::thread::sleep(Duration::from_millis(500));

    let call = r#"{"command": "create", "path": "/memories/b", "file_text": "x"}"#;
    let run = project.run_with(["memory", "apply", "--store", "store"], call);
    held.wait().unwrap();

    run.exits(0).tells("waiting for another process").prints("\"is_error\":false");
    assert_eq!(project.git(["--git-dir", "store/memory.git", "ls-tree", "--name-only", "main"]), "a\nb");
}

/// T41: no home, none that can be read, and none that is a folder.
#[test]
fn t41_it_works_without_a_home() {
    let write = memory(json!({ "command": "create", "path": "/memories/work/a.md", "file_text": "mine" }));
    for home in [None, Some(""), Some("/nowhere/at/all"), Some("/dev/null")] {
        let project = noted().model([session([reply([write.clone(), bash("touch f")]), reply([hand_over()])])]);
        let mut command = project.command(["run"]);
        match home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{home:?}: {told}");
        assert_eq!(project.memory_git(["show", "HEAD:work/a.md"]), "mine", "{home:?}");
    }
}
