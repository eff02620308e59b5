//! Family D: state files, locks, resume.

use crate::support::Project;
use crate::support::as_nobody;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::hand_to_nobody;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// D02: one file that could not be read cost the others too, and an empty list its file.
#[test]
fn d02_a_progress_log_that_is_no_text_costs_neither_the_checklist_nor_itself() {
    let works = session([reply([bash("touch f")]), reply([hand_over()])]);
    let project = Project::ready().feature("f", "test -f f").model([works]);
    let broken = b"# Progress\n\n## Session 7 \xff\xfe\0torn";
    commit_to_memory(&project, "progress.md", broken);

    project.run(["run"]).exits(0);

    assert_eq!(project.status("f"), "proven");
    let log = project.memory_git(["show", "HEAD:progress.md"]);
    assert!(log.contains("torn") && log.contains("touch f") || log.contains("worked on it"), "{log}");
}

/// D02 for the list itself: without its last entry it is an empty list, not no list.
#[test]
fn d02_the_last_feature_that_goes_leaves_an_empty_checklist() {
    let project = Project::ready().feature("f", "test -f f").model([]);

    project.run(["feature", "remove", "f"]).exits(0);

    assert_eq!(project.checklist()["features"], json!([]));
    assert!(project.view().join("features.json").exists());
    project.run(["status"]).exits(0);
    project.run(["run"]).exits(2).tells("the checklist is empty");
    let project = project.feature("g", "test -f g");
    assert_eq!(project.status("g"), "open");
}

/// D03: a torn file loaded as an empty state and was then overwritten.
#[test]
fn d03_a_checklist_that_cannot_be_read_is_never_written_over() {
    for text in
        ["{\"version\": 1, \"features\": [{\"id\": \"a\"", "[]", "\"text\"", "7", "{\"version\": 1, \"features\": 7}"]
    {
        let project = Project::ready().feature("f", "test -f f");
        commit_to_memory(&project, "features.json", text);
        let head = project.memory_git(["rev-parse", "HEAD"]);

        let add = ["feature", "add", "--id", "g", "--title", "g", "--check", "true"];
        project.run(add).exits(2).tells("features.json");
        project.run(["run"]).exits(2).tells("features.json");

        assert_eq!(project.memory_git(["rev-parse", "HEAD"]), head, "{text}");
    }
}

/// D03 for the view: a torn copy of the checklist is put back from what is committed.
#[test]
fn d03_a_torn_view_of_the_checklist_is_put_back() {
    let project =
        Project::ready().feature("f", "test -f f").model([session([reply([bash("touch f")]), reply([hand_over()])])]);
    std::fs::write(project.view().join("features.json"), "{\"version\": 1, \"feat").unwrap();

    project.run(["run"]).exits(0).tells("features.json");

    assert_eq!(project.status("f"), "proven");
}

/// D03 for a checklist of zero bytes: the last good one is taken back, and that is said.
#[test]
fn d03_an_emptied_checklist_is_taken_back_from_the_last_good_commit() {
    let works = session([reply([bash("touch f")]), reply([hand_over()])]);
    let project = Project::ready().feature("f", "test -f f").model([works]);
    commit_to_memory(&project, "features.json", "");

    project.run(["run"]).exits(0).tells("the checklist was empty; taken back from the memory commit");

    assert_eq!(project.status("f"), "proven");
    let log = project.memory_log();
    assert!(log.contains(&"checklist: recover the last good version".to_owned()), "{log:?}");
}

/// A checklist of another hand: integer ids, keys in an order of its own, and some that longhaul does not know.
const FOREIGN: &str = r#"{
  "owner": {"team": "x", "size": 3.50},
  "features": [
    {
      "zeta": [1, 2.0, null],
      "passes": false,
      "title": "Seven",
      "id": 7,
      "check": {
        "mine": true,
        "run": "test -f f"
      }
    },
    {
      "id": "b",
      "depends_on": [7],
      "title": "B",
      "check": {"run": "test -f b"},
      "x-ticket": 12345678901234567890
    }
  ],
  "version": 1
}
"#;

/// D04: each change of a state turned the ids into texts and added keys of its own.
#[test]
fn d04_a_change_of_state_changes_the_fields_meant_and_nothing_else() {
    let works = session([reply([bash("touch f")]), reply([hand_over()])]);
    let project = Project::ready().model([works]);
    commit_to_memory(&project, "features.json", FOREIGN);
    let before: Value = serde_json::from_str(FOREIGN).unwrap();

    project.run(["feature", "block", "b", "--reason", "later"]).exits(0);
    project.run(["check", "--all"]);
    project.run(["run", "--sessions", "1"]);

    assert_eq!(project.status("7"), "proven");
    let after = project.memory_git(["show", "HEAD:features.json"]);
    let stored: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(stored["owner"], before["owner"]);
    for (old, new) in before["features"].as_array().unwrap().iter().zip(stored["features"].as_array().unwrap()) {
        for (key, value) in
            old.as_object().unwrap().iter().filter(|(key, _)| !["passes", "check"].contains(&key.as_str()))
        {
            assert_eq!(&new[key], value, "{key}");
        }
        let known =
            ["passes", "evidence", "checked", "last_verdict", "baseline", "attempts", "blocked", "recent", "sessions"];
        let added = new.as_object().unwrap().keys().filter(|key| old.get(key.as_str()).is_none());
        assert_eq!(added.filter(|key| !known.contains(&key.as_str())).collect::<Vec<_>>(), Vec::<&String>::new());
    }
    assert_eq!(stored["features"][0]["check"]["mine"], true);
    let order = [
        "\"owner\"",
        "3.50",
        "\"zeta\"",
        "\"title\": \"Seven\"",
        "\"id\": 7",
        "12345678901234567890",
        "\"version\": 1",
    ];
    let places = order.map(|part| after.find(part).unwrap_or_else(|| panic!("{part}: {after}")));
    assert!(places.is_sorted(), "{after}");
    assert!(after.contains("\n  \"features\": [\n    {\n      \"zeta\""), "{after}");
}

/// D05: what was written into one list overwrote another.
#[test]
fn d05_each_project_and_each_store_has_its_own_memory() {
    let project = Project::ready().feature("f", "test -f f");
    let other = project.root().join("other");
    project.git(["init", "-q", "other"]);
    let within = |args: &[&str]| {
        let output = project.command(args).current_dir(&other).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let call = |text: &str| json!({"command": "create", "path": "/memories/a.md", "file_text": text}).to_string();
    for store in ["one", "two"] {
        project.run_with(["memory", "apply", "--store", store], &call(store)).exits(0);
    }
    let (head, features) = (project.memory_git(["rev-parse", "HEAD"]), project.checklist());

    within(&["init"]);
    within(&["feature", "add", "--id", "f", "--title", "another", "--check", "false"]);
    within(&["feature", "block", "f", "--reason", "x"]);
    project.run(["memory", "delete", "/memories/a.md", "--store", "one"]).exits(0);

    assert_eq!((project.memory_git(["rev-parse", "HEAD"]), project.checklist()), (head, features));
    assert_eq!(project.read("two/memory/a.md"), "two");
    assert!(!project.root().join("one/memory/a.md").exists());
    project.run(["feature", "block", "f", "--reason", "mine"]).exits(0);
    let theirs = project.git(["--git-dir", "other/.git/longhaul/memory.git", "show", "HEAD:features.json"]);
    assert!(theirs.contains("another") && !theirs.contains("mine"), "{theirs}");
}

/// D06: a change was said to be done, and the file on disk was the old one.
#[test]
fn d06_what_is_said_to_be_done_is_on_the_disk() {
    let add = ["feature", "add", "--id", "g", "--title", "g", "--check", "test -f g"];
    // The view: a file, a folder; then the memory itself: its objects, its branch, all of it.
    for shut in [
        ".longhaul/memory/features.json",
        ".longhaul/memory",
        ".git/longhaul/memory.git/objects",
        ".git/longhaul/memory.git/refs/heads",
        ".git/longhaul/journal",
        ".git/longhaul",
    ] {
        let project = Project::ready().feature("f", "test -f f");
        let (path, before) = (project.root().join(shut), project.checklist());
        hand_to_nobody(&project);
        let was = path.metadata().unwrap().permissions();
        let writable = was.mode();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(writable & !0o222)).unwrap();

        let Some(output) = as_nobody(&project, &add) else { return };

        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        std::fs::set_permissions(&path, was).unwrap();
        // As longhaul reads it: the newest commit may be in the journal alone.
        let list = as_nobody(&project, &["feature", "list"]).unwrap();
        let is_there = String::from_utf8_lossy(&list.stdout).contains("g ");
        assert!(is_there || !output.status.success(), "{shut}: {told}");
        assert!(output.status.success() || !told.trim().is_empty(), "{shut}");
        if !is_there {
            assert_eq!(project_features(&project), before["features"].as_array().unwrap().len(), "{shut}");
            assert!(as_nobody(&project, &add).unwrap().status.success(), "{shut}: once it can be written");
        }
        as_nobody(&project, &["check", "--all"]).unwrap();
        let view = std::fs::read_to_string(project.view().join("features.json")).unwrap();
        assert!(view.contains("\"g\""), "{shut}: {told}");
    }
}

/// D06 for a disk without room: no file may grow.
#[test]
fn d06_a_write_for_which_there_is_no_room_is_no_success() {
    let project = Project::ready().feature("f", "test -f f");
    let before = project.checklist();
    let text = "ulimit -f 0; exec \"$0\" feature add --id g --title g --check 'test -f g'";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", text, env!("CARGO_BIN_EXE_longhaul")]).current_dir(project.root()).env_clear();
    let output = command.envs(project.environment()).stdin(Stdio::null()).output().unwrap();

    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(project.checklist(), before);
    let project = project.feature("g", "test -f g");
    assert_eq!(project.status("g"), "open");
}

/// D12: a single first run believed that another one held the lock.
#[test]
fn d12_a_first_run_is_not_in_its_own_way() {
    let longhaul = env!("CARGO_BIN_EXE_longhaul");
    let asks = format!("'{longhaul}' status && '{longhaul}' log && '{longhaul}' memory view /memories && touch f");
    for args in [&["run"][..], &["run", "--json"], &["run", "--continue"], &["run", "--sessions", "2"]] {
        let project =
            Project::ready().feature("f", "test -f f").model([session([reply([bash(&asks)]), reply([hand_over()])])]);

        project.run(args.iter()).exits(0).hides("another longhaul").hides("waiting for another");

        assert_eq!(project.status("f"), "proven", "{args:?}");
    }
    if runs_here("script") {
        let project =
            Project::ready().feature("f", "test -f f").model([session([reply([bash(&asks)]), reply([hand_over()])])]);
        let mut terminal = std::process::Command::new("script");
        terminal.args(["--quiet", "--return", "--command", &format!("'{longhaul}' run"), "/dev/null"]);
        terminal.current_dir(project.root()).env_clear().envs(project.environment());
        let output = terminal.envs([("TERM", "xterm"), ("SHELL", "/bin/sh")]).stdin(Stdio::null()).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && !shown.contains("another longhaul"), "{shown}");
    }
}

/// D13: the project's folder was removed and the run was still listed as running.
#[test]
fn d13_a_run_whose_project_is_gone_ends_and_says_so() {
    let away = bash("cd / && mv \"$OLDPWD\" \"$OLDPWD.moved\"");
    let project = Project::ready().feature("f", "test -f f").model([session([reply([away]), reply([hand_over()])])]);

    let run = project.run(["run"]);

    run.exits(1).tells("is gone");
}

/// D18: resuming failed, since the record of the session was not found where it was looked for.
#[test]
fn d18_going_on_needs_no_record_of_an_earlier_session() {
    for lost in ["sessions/0001/events.jsonl", "sessions/0001", "sessions"] {
        let half = session([reply([bash("echo half >half")]), reply([hand_over()])]);
        let rest = session([reply([bash("cp half f")]), reply([hand_over()])]);
        let project = Project::ready().feature("f", "test -f f").model([half, rest]);
        project.run(["run", "--sessions", "1"]).exits(3);
        std::fs::rename(project.state().join(lost), project.home().join("moved")).unwrap();

        project.run(["run"]).exits(0);

        assert_eq!(project.status("f"), "proven", "{lost}");
        assert!(project.memory_log().contains(&"progress: session 2".to_owned()), "{lost}: {:?}", project.memory_log());
    }
}

/// D19: opening an old session started to run the goal.
#[test]
fn d19_looking_starts_nothing() {
    let half = session([reply([bash("echo half >half")]), reply([hand_over()])]);
    let project = Project::ready().feature("f", "touch ran; test -f f").model([half]);
    project.run(["run", "--sessions", "1"]).exits(3);
    project.git(["clean", "-fdq"]);
    let before = (project.memory_git(["rev-parse", "HEAD"]), project.git(["rev-parse", "HEAD"]));
    let asked = project.played().requests().len();

    for words in [
        "status",
        "status --json",
        "log",
        "log -p",
        "log --session 1",
        "show f",
        "show --session 1",
        "feature list",
        "doctor",
        "prompt session",
        "memory view /memories",
    ] {
        project.run(words.split(' ')).exits(0);
    }

    assert_eq!(project.played().requests().len(), asked);
    assert_eq!(project.read("half"), "half\n");
    assert!(!project.root().join("ran").exists());
    assert_eq!((project.memory_git(["rev-parse", "HEAD"]), project.git(["rev-parse", "HEAD"])), before);
}

/// D21: workers ended without committing, the number one failure.
#[test]
fn d21_what_a_session_leaves_uncommitted_is_committed() {
    let five = bash("for n in 1 2 3 4 5; do echo $n > file$n; done; echo more >> README");
    let project =
        Project::ready().feature("f", "test -f never").model([session([reply([five]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).exits(3);

    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert_eq!(
        project.git(["show", "--name-only", "--format=%s"]),
        "wip(session 1)\n\nREADME\nfile1\nfile2\nfile3\nfile4\nfile5"
    );
}

/// D21 when the session dies: the provider refuses after the work.
#[test]
fn d21_what_a_session_that_dies_leaves_is_committed_too() {
    let refused = serde_json::json!({ "status": 403 });
    let project =
        Project::ready().feature("f", "test -f never").model([session([reply([bash("echo 1 > file1")]), refused])]);

    project.run(["run"]).exits(5);

    assert_eq!(project.git(["show", "--name-only", "--format=%s"]), "wip(session 1)\n\nfile1");
    assert_eq!(project.stored("f")["attempts"], 0);
}

/// Puts a file into memory behind longhaul's back, as a commit.
fn commit_to_memory(project: &Project, path: &str, text: impl AsRef<[u8]>) {
    let folder = tempfile::tempdir().unwrap();
    let clone = folder.path().join("clone").display().to_string();
    let memory = project.state().join("memory.git").display().to_string();
    project.git(["clone", "-q", &memory, &clone]);
    std::fs::write(folder.path().join("clone").join(path), text).unwrap();
    project.git(["-C", &clone, "commit", "-qam", "torn"]);
    project.git(["-C", &clone, "push", "-q"]);
}

fn project_features(project: &Project) -> usize {
    project.checklist()["features"].as_array().unwrap().len()
}
