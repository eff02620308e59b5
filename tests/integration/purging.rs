//! `memory purge` and `memory prune`: what a person takes out of memory, for good or into history.

use crate::support::Chance;
use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Of no known form, so nothing keeps it out.
const KEY: &str = "open sesame 4711";

/// A project in whose memory, records and view the key is.
fn leaked() -> Project {
    let note = memory(json!({"command": "create", "path": "/memories/notes/door.md", "file_text": as_note(KEY)}));
    let edit =
        json!({"command": "str_replace", "path": "/memories/notes/door.md", "old_str": KEY, "new_str": "ask Ada"});
    let words = bash(&format!("echo {KEY}; touch a"));
    let project = Project::ready().feature("a", "test -f a").model([session([
        reply([note, words]),
        reply([memory(edit)]),
        reply([hand_over()]),
    ])]);
    project.run(["run", "--sessions", "1"]);
    project
}

/// Names the files around memory that have the key, and tells whether an object has it.
fn places(root: &Path) -> Vec<String> {
    let state = root.join(".git/longhaul");
    let mut grep = Command::new("grep");
    let found = grep.args(["-rlF", KEY]).arg(&state).arg(root.join(".longhaul")).output().unwrap();
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(state.join("memory.git")).args(["cat-file", "--batch-all-objects", "--batch"]);
    let objects = String::from_utf8_lossy(&git.output().unwrap().stdout).contains(KEY);
    let files = String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect::<Vec<_>>();
    files.into_iter().chain(objects.then(|| "an object".to_owned())).collect()
}

#[test]
fn a_key_on_standard_input_is_removed_from_everything_and_the_project_goes_on() {
    let project = leaked();
    assert!(places(&project.root()).iter().any(|place| place == "an object"), "its twin");
    let before = project.memory_log();
    let purge = ["memory", "purge", "--match", "-"];

    let looked = project.run_with([&purge[..], &["--dry-run"]].concat(), &format!("{KEY}\n"));
    looked
        .exits(0)
        .shows("it is in 2 version(s) of files: MEMORY.md, notes/door.md")
        .shows("sessions/0001/events.jsonl");
    project.run_with(purge, KEY).exits(2).tells("there is no terminal to ask on").tells("`--yes`");
    assert_eq!(project.memory_log(), before);

    let purged = project.run_with([&purge[..], &["--yes"]].concat(), &format!("{KEY}\n"));

    purged.exits(0).shows("removed from 2 version(s) of files: MEMORY.md, notes/door.md").shows("commits got new ids");
    assert_eq!(places(&project.root()), Vec::<String>::new());
    assert_eq!(project.memory_git(["fsck", "--strict", "--full"]), "");
    let after = project.memory_log();
    assert_eq!((after[0].as_str(), &after[1..]), ("memory: purge", &before[..]));
    project.run(["check"]).exits(0).hides("warning");
    assert_eq!(project.status("a"), "proven");
    project.run(["show", "--session", "1"]).exits(0).shows("[secret left out]");
    project.run_with([&purge[..], &["--yes"]].concat(), KEY).exits(0).shows("it is nowhere");
}

#[test]
fn what_is_too_short_and_a_project_in_use_are_refused() {
    let project = leaked();
    project.run(["memory", "purge", "--match", "sesam", "--yes"]).exits(2).tells("less than 6 bytes");
    let held = fs::File::open(project.state().join("run.lock")).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    project.run(["memory", "purge", "--match", KEY, "--yes"]).exits(6);
    assert!(!places(&project.root()).is_empty());
}

#[test]
fn each_line_of_several_is_removed_and_what_is_too_short_for_that_is_said() {
    let project = Project::ready();
    project.run(["memory", "create", "docs/a", "staging FivB50756EHu\nprod Gkq881\npin 4711\n"]).exits(0);
    let purge = ["memory", "purge", "--match", "-", "--yes"];
    let shown = || project.run(["memory", "view", "docs/a"]).stdout.clone();

    project
        .run_with(purge, "  FivB50756EHu\r\n\tGkq881 \r\n4711\r\n")
        .exits(0)
        .shows("removed from")
        .tells("looked for within the whole text only, and not by themselves, being shorter than 6 bytes: line 3;");

    let left = shown();
    assert!(left.contains("staging [secret left out]") && left.contains("prod [secret left out]"), "{left}");
    let nowhere = project.run_with(purge, "4711\nsomething else\n");
    nowhere.exits(0).shows("its short ones may be").hides("it is nowhere").tells("line 1;");
    assert!(shown().contains("pin 4711"));
    let twin = project.run_with(purge, "nothing here\nsomething else\n");
    twin.exits(0).shows("it is nowhere").hides("by themselves");
}

/// Returns the names of files and folders below a folder, objects and ids aside.
fn names(folder: &Path, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_id = name.split('.').next().unwrap().bytes().all(|byte| byte.is_ascii_hexdigit());
        if path.is_dir() && !["objects", "history"].contains(&name.as_str()) {
            names(&path, all);
        }
        all.extend(Some(name).filter(|_| !is_id));
    }
}

/// Returns all keys in a value.
fn keys(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            all.insert(key.clone());
            keys(value, all);
        }),
        Value::Array(items) => items.iter().for_each(|item| keys(item, all)),
        _ => {}
    }
}

#[test]
fn no_word_that_longhaul_or_git_stands_on_is_purged() {
    let project = leaked();
    let mut words = BTreeSet::new();
    names(&project.state(), &mut words);
    keys(&serde_json::from_slice(&fs::read(project.view().join("features.json")).unwrap()).unwrap(), &mut words);
    let events = fs::read_to_string(project.state().join("sessions/0001/events.jsonl")).unwrap();
    for event in events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        words.extend(event.as_object().unwrap().keys().cloned());
        words.insert(event["type"].as_str().unwrap().to_owned());
    }
    words.retain(|word| word.len() >= 6);
    for word in ["memory.git", "sessions", "last_verdict", "session_ended"] {
        assert!(words.contains(word), "{words:?}");
    }
    let before = (project.memory_git(["rev-parse", "main"]), project.status("a"));
    for word in words {
        let refused = project.run(["memory", "purge", "--match", &word, "--yes"]);
        refused.exits(2).tells("nothing was touched").tells("give the longer text around it");
    }
    assert_eq!((project.memory_git(["rev-parse", "main"]), project.status("a")), before);
    project.run(["memory", "fsck"]).exits(0);
    project.run(["memory", "purge", "--match", KEY, "--yes"]).exits(0).shows("removed from");
}

#[test]
fn a_text_that_reaches_over_the_quotes_of_json_breaks_none() {
    let project = leaked();
    for text in [r#"test -f a""#, r#"","title"#, "\"features\": ["] {
        project.run(["memory", "purge", "--match", text, "--yes"]);
        assert_eq!(project.status("a"), "proven", "{text}");
        project.run(["show", "--session", "1"]).exits(0);
        project.run(["memory", "fsck"]).exits(0);
    }
}

#[test]
fn a_memory_that_an_earlier_purge_renamed_is_found_with_the_way_back() {
    let project = leaked();
    let (own, found) = (project.state().join("memory.git"), project.state().join("[secret left out].git"));
    fs::rename(&own, &found).unwrap();
    for command in [&["log"][..], &["memory", "fsck"], &["init"], &["run"]] {
        let told =
            format!("hint: `mv '{}' '{}'`, then `longhaul memory fsck --repair`", found.display(), own.display());
        project.run(command).exits(7).tells("a purge gave it that").tells(&told);
    }
    fs::rename(&found, &own).unwrap();
    fs::rename(project.state().join("sessions"), project.state().join("[secret left out]s")).unwrap();
    project.run(["status"]).tells("another name").tells("/sessions'`");
    fs::rename(project.state().join("[secret left out]s"), project.state().join("sessions")).unwrap();
    project.run(["memory", "fsck", "--repair"]).exits(0).hides("another name");
    assert_eq!(project.status("a"), "proven");
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// Runs a purge of the key in a folder.
fn purge_in(project: &Project, folder: &Path) {
    let mut purge = project.command(["memory", "purge", "--match", KEY, "--yes"]);
    assert!(purge.current_dir(folder).output().unwrap().status.success());
}

#[test]
fn a_purge_in_a_copied_or_moved_project_leaves_what_lies_at_the_old_place_alone() {
    let project = Project::ready();
    project.run(["memory", "create", "docs/a", KEY]).exits(0);
    let (moved, theirs) = (project.home().join("moved"), project.view().join("docs/a"));
    copy(&project.root(), &moved);
    purge_in(&project, &moved);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), KEY, "the one that it was copied from");
    assert_eq!(places(&moved), Vec::<String>::new());

    // Something else comes to lie where the project was, without git.
    fs::remove_dir_all(project.root().join(".git")).unwrap();
    purge_in(&project, &moved);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), KEY);
}

#[test]
fn a_purge_reaches_the_views_of_all_worktrees() {
    let project = Project::ready();
    project.run(["memory", "create", "docs/a", KEY]).exits(0);
    let other = project.home().join("other");
    project.git(["worktree", "add", "-q", "-b", "side", other.to_str().unwrap()]);
    assert!(project.command(["check"]).current_dir(&other).output().unwrap().status.success());
    let shown = || fs::read_to_string(other.join(".longhaul/memory/docs/a")).unwrap();
    assert_eq!(shown(), KEY, "its twin");
    purge_in(&project, &project.root());
    assert_eq!(shown(), "[secret left out]");
}

#[test]
fn a_memory_in_a_folder_is_purged_too() {
    let project = Project::unborn();
    let store = project.home().join("store");
    let store = store.to_str().unwrap();
    project.run(["memory", "--store", store, "create", "a", KEY]).exits(0);
    project.run(["memory", "--store", store, "purge", "--match", KEY, "--yes"]).exits(0);
    project.run(["memory", "--store", store, "view", "a"]).exits(0).shows("[secret left out]");
    let grep = Command::new("grep").args(["-rqF", KEY, store]).status().unwrap();
    assert!(!grep.success());
}

#[test]
fn while_a_purge_is_at_work_others_say_that_it_is_running() {
    let project = leaked();
    // The mark of one at work is held by its process.
    let mark = fs::File::create(project.state().join("purge.unfinished")).unwrap();
    rustix::fs::flock(&mark, rustix::fs::FlockOperation::LockExclusive).unwrap();
    project.run(["status"]).exits(0).tells("`longhaul memory purge` is running").hides("was ended");
    drop(mark);
    project.run(["status"]).exits(0).tells("`longhaul memory purge` was ended").hides("is running");
}

#[test]
fn the_mark_of_a_purge_is_held_from_its_first_moment_to_its_last() {
    let project = leaked();
    let create = |number: usize| json!({"command": "create", "path": format!("/memories/docs/{number}"), "file_text": format!("{KEY} {number}\n")});
    let calls: String = (0..30).map(|number| format!("{}\n", create(number))).collect();
    project.run_with(["memory", "apply"], &calls).exits(0);
    let mut child = project.start(["memory", "purge", "--match", KEY, "--yes"]);
    let (mut held, mut free) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        let Ok(mark) = fs::File::open(project.state().join("purge.unfinished")) else { continue };
        match rustix::fs::flock(&mark, rustix::fs::FlockOperation::NonBlockingLockShared) {
            Err(_) => held += 1,
            // It may have been removed since it was opened.
            Ok(()) => free += usize::from(project.state().join("purge.unfinished").exists()),
        }
    }
    assert!(held > 0 && free == 0, "{held} times held, {free} times free");
}

/// Kills purges of one memory all over the time that one takes.
fn kills(count: u64) {
    let project = leaked();
    let create = |number: usize| json!({"command": "create", "path": format!("/memories/docs/{number}"), "file_text": format!("{KEY} {number}\n")});
    let calls: String = (0..30).map(|number| format!("{}\n", create(number))).collect();
    project.run_with(["memory", "apply"], &calls).exits(0);
    let told = project.memory_log();
    let saved = project.home().join("saved");
    copy(&project.root(), &saved);
    let purge = ["memory", "purge", "--match", KEY, "--yes"];
    let start = Instant::now();
    project.run(purge).exits(0);
    let whole = start.elapsed().as_micros() as u64 * 11 / 10;
    let (mut chance, mut cut) = (Chance(7), 0);
    for _ in 0..count {
        fs::remove_dir_all(project.root()).unwrap();
        copy(&saved, &project.root());
        let mut child = project.start(purge);
        thread::sleep(Duration::from_micros(chance.below(whole)));
        child.kill().unwrap();
        child.wait().unwrap();
        let unfinished = project.state().join("purge.unfinished").exists();
        cut += u64::from(unfinished);
        let view = project.run(["memory", "view"]);
        view.exits(0);
        assert_eq!(view.stderr.contains("`longhaul memory purge` was ended"), unfinished);
        project.memory_git(["fsck", "--strict", "--full", "--no-dangling"]);

        let again = project.run(purge);
        again.exits(0).hides("moved the memory's branch");

        assert_eq!(places(&project.root()), Vec::<String>::new());
        let mut log = project.memory_log();
        log.retain(|subject| subject != "memory: purge");
        assert_eq!(log, told);
        assert_eq!(project.memory_git(["fsck", "--strict", "--full"]), "");
    }
    assert!(cut > count / 4, "only {cut} of {count} kills came in between");
}

#[test]
fn a_killed_purge_leaves_a_whole_memory_and_ends_the_next_time() {
    kills(6);
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_killed_purges_leave_a_whole_memory() {
    kills(200);
}

fn of_kind(kind: &str) -> String {
    format!("---\nname: n\ndescription: d\ntype: {kind}\n---\ntext\n")
}

#[test]
fn notes_that_nobody_used_are_pruned_and_history_keeps_them() {
    let project = Project::ready();
    for kind in ["project", "reference", "user", "feedback"] {
        project.run(["memory", "create", &format!("notes/{kind}.md"), &of_kind(kind)]).exits(0);
    }
    project.run(["memory", "create", "notes/used.md", &of_kind("project")]).exits(0);
    let used: serde_json::Map<_, _> = ["project", "reference", "user", "feedback", "used"]
        .iter()
        .map(|name| (format!("notes/{name}.md"), json!(if *name == "used" { 100 } else { 10 })))
        .collect();
    let reads = json!({"days": 100, "newest": "2020-01-01", "used": used}).to_string();
    fs::write(project.state().join("reads.json"), reads).unwrap();
    let notes = || project.memory_git(["ls-tree", "--name-only", "HEAD", "notes/"]);
    let before = (notes(), project.memory_log());
    let prune = |time: &str, more: &[&str]| project.run([&["memory", "prune", "--unused-for", time], more].concat());

    prune("91d", &[]).exits(0).shows("no note goes");
    prune("90d", &["--dry-run"]).exits(0).shows("notes/project.md").shows("notes/reference.md").hides("used.md");
    assert_eq!((notes(), project.memory_log()), before);
    prune("soon", &[]).exits(2).tells("give a time such as `90d`");

    prune("90d", &[]).exits(0).shows("notes/project.md").shows("notes/reference.md").hides("user.md");

    assert_eq!(notes(), "notes/feedback.md\nnotes/used.md\nnotes/user.md");
    let told = project.memory_git(["log", "-1", "--format=%an: %s"]);
    assert_eq!(told, "external: memory: expire 2 notes unused for 90 days");
    assert_eq!(project.memory_git(["show", "HEAD~1:notes/project.md"]), of_kind("project").trim_end());
    prune("90d", &[]).exits(0).shows("no note goes");
    project.run(["memory", "--store", "elsewhere", "prune", "--unused-for", "1d"]).exits(2).tells("only in a project");
}
