//! What was: `log` by all that narrows it, `memory diff`, and `memory restore`.

use crate::support::Project;
use crate::support::bash;
use crate::support::memory;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::say;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::io::BufRead;
use std::io::BufReader;
use std::process::Command;
use std::process::Stdio;

/// A project with a file that changed, moved and changed again, and another one.
fn moved() -> Project {
    let project = Project::ready();
    for args in [
        &["create", "docs/old.md", "one\n"][..],
        &["str_replace", "docs/old.md", "one", "two"],
        &["create", "docs/other.md", "x\n"],
        &["rename", "docs", "plans"],
        &["str_replace", "plans/old.md", "two", "three"],
    ] {
        project.run([&["memory"], args].concat()).exits(0);
    }
    project
}

/// The subjects that a log shows, newest first.
fn subjects(project: &Project, args: &[&str]) -> Vec<String> {
    let run = project.run([&["log", "--json"], args].concat());
    let lines = run.exits(0).stdout.lines();
    lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["subject"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_log_follows_a_path_and_narrows_by_who_and_what() {
    let project = moved().feature("login", "test -f login");
    assert_eq!(
        subjects(&project, &["plans/old.md"]),
        [
            "memory: edit plans/old.md",
            "memory: rename docs to plans",
            "memory: edit docs/old.md",
            "memory: create docs/old.md"
        ]
    );
    assert_eq!(
        subjects(&project, &["/memories/plans", "-n", "1", "--author", "external"]),
        ["memory: edit plans/old.md"]
    );
    assert_eq!(subjects(&project, &["--feature", "login"]), ["gate: baseline of 1 check", "checklist: add login"]);
    assert_eq!(subjects(&project, &["--author", "agent"]), [""; 0]);
    assert!(subjects(&project, &["--author", "longhaul"]).contains(&"checklist: add login".to_owned()));
    project.run(["log", "--author", "me"]).exits(2).tells("there are `agent`, `longhaul`, `external`");
    project.run(["log", "--feature", "logn"]).exits(2).tells("did you mean `login`?");
    project.run(["log", "nope"]).exits(2).tells("memory never held `nope`").tells("`longhaul memory view` lists");
    project.run(["log", "features.json", "--author", "agent"]).exits(0).tells("no commit of the memory fits");
    project.run(["log", "checks"]).exits(0).tells("no commit of the memory fits");
}

#[test]
fn an_entry_in_json_has_all_that_is_known() {
    let project = moved();
    let run = project.run(["log", "--json", "-n", "2", "-p", "plans"]);
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [edit, rename] = lines.as_slice() else { panic!("{}", run.whole()) };
    assert_eq!((&edit["author"], &edit["parent"]), (&Value::from("external"), &rename["id"]));
    assert_eq!(edit["touched"], json!([{"path": "plans/old.md", "how": "changed"}]));
    assert!(edit["patch"].as_str().unwrap().contains("\n-two\n+three\n"), "{edit}");
    let moved = json!({"path": "plans/other.md", "how": "renamed", "from": "docs/other.md"});
    assert_eq!(rename["touched"][1], moved);
    assert_eq!(rename["id"], project.memory_git(["rev-parse", "HEAD^"]).as_str());
}

#[test]
fn who_reads_only_the_beginning_waits_for_no_more() {
    let project = moved();
    let mut child = project.command(["log", "-p"]).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.ends_with("memory: edit plans/old.md\n"), "{first}");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0), "a reader that goes away is no error");
}

/// Runs `longhaul log` on a terminal, with this pager.
fn on_terminal(project: &Project, pager: &str) -> (Option<i32>, String) {
    let text = format!("'{}' log", env!("CARGO_BIN_EXE_longhaul"));
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &text, "/dev/null"])
        .current_dir(project.root())
        .env_clear()
        .envs(project.environment())
        .envs([("TERM", "xterm"), ("LONGHAUL_PAGER", pager), ("SHELL", "/bin/sh")])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn on_a_terminal_a_log_is_paged_and_elsewhere_not() {
    if !runs_here("script") {
        return;
    }
    let project = moved().variable("PAGER", "sed 's/^/paged: /'");
    let (code, shown) = on_terminal(&project, "sed 's/^/my own: /'");
    assert!(shown.contains("my own: ") && shown.contains("memory: rename docs to plans"), "{shown}");
    assert_eq!(code, Some(0));
    project.run(["log"]).exits(0).prints("memory: rename docs to plans").hides("paged: ");

    // One that ends early, one that reads nothing and fails, one that is not there: nothing of it is an error.
    let (code, shown) = on_terminal(&project, "head -n 1");
    assert_eq!((code, shown.lines().count()), (Some(0), 1), "{shown}");
    assert_eq!(on_terminal(&project, "exit 9").0, Some(0));
    for none in ["no-such-pager -R", "", "cat"] {
        let (code, shown) = on_terminal(&project, none);
        assert!(shown.contains("memory: rename docs to plans") && !shown.contains("paged: "), "{none}: {shown}");
        assert_eq!(code, Some(0), "{none}");
    }
}

#[test]
fn states_are_held_against_each_other_and_the_view_against_memory() {
    let project = moved();
    let first = project.memory_git(["log", "--format=%H", "--grep=create docs/old"]);

    let run = project.run(["memory", "diff", &first[..10]]);
    assert_eq!(run.exits(0).stdout.trim_end(), project.memory_git(["diff", &first, "HEAD"]));
    let run = project.run(["memory", "diff", &first, "HEAD", "--", "plans/other.md"]);
    run.exits(0).prints("+++ b/plans/other.md").hides("old.md");
    let usage = project.run(["memory", "restore"]);
    usage.exits(2).tells("memory restore [OPTIONS] <PATH|--to <COMMIT>|--session <N>>");
    project.run(["memory", "diff", "now"]).exits(0).tells("nothing differs");
    project.run(["memory", "diff", "@3"]).exits(2).tells("no commit of the memory is of session 3");
    project.run(["memory", "diff", "master"]).exits(2).tells("`master` is no commit id").tells("`@7`");

    project.run(["memory", "diff"]).exits(0).tells("nothing differs");
    project.write(".longhaul/memory/plans/old.md", "by hand\n");
    project.run(["memory", "diff"]).exits(0).prints("\n-three\n+by hand\n");
    assert_eq!(project.memory_log()[0], "memory: edit plans/old.md", "looking takes nothing in");
}

#[test]
fn a_restore_is_told_file_by_file_and_another_takes_it_back() {
    let project = moved();
    project.run(["memory", "delete", "plans"]).exits(0);

    let dry = project.run(["memory", "restore", "plans", "--dry-run"]);
    dry.exits(0).prints("added    plans/old.md\nadded    plans/other.md\nwould be as of ");
    assert_eq!(project.memory_log()[0], "memory: delete plans");

    project.run(["memory", "restore", "/memories/plans/"]).exits(0).prints("added    plans/other.md\nas of ");
    assert_eq!(project.read(".longhaul/memory/plans/old.md"), "three\n");
    let at = project.memory_git(["rev-parse", "HEAD~2"]);
    assert_eq!(project.memory_log()[0], format!("memory: restore plans as of {}", &at[..8]));
    assert_eq!(project.memory_git(["log", "-1", "--format=%an"]), "external");

    project.run(["memory", "restore", "plans", "--from", &at]).exits(0).prints("nothing to restore: it is as in ");
    project.run(["memory", "restore", "--to", &project.memory_git(["rev-parse", "HEAD^"])]).exits(0);
    assert!(!project.view().join("plans").exists(), "gone again");
    project.run(["memory", "restore"]).exits(2);
    project.run(["memory", "restore", "--dry-run"]).exits(2);
    project.run(["memory", "restore", "/memories"]).exits(2).tells("it is not said as of when all is to come back");
    project.run(["memory", "restore", "a", "--to", "0123"]).exits(2);
}

#[test]
fn what_a_person_changed_in_the_view_is_kept_by_a_restore() {
    let project = moved();
    project.write(".longhaul/memory/plans/old.md", "by hand\n");
    project.run(["memory", "restore", "plans/old.md"]).exits(0).tells("`plans/old.md` was edited in the view");
    assert_eq!(project.read(".longhaul/memory/plans/old.md"), "three\n", "the edit is the newest change");
    assert_eq!(project.memory_git(["show", "HEAD^:plans/old.md"]), "by hand");
}

#[test]
fn a_checklist_that_comes_back_brings_no_proof_along() {
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b");
    project.write("a", "");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "a"]);
    project.run(["check", "a"]).exits(0);
    let proven = project.memory_git(["rev-parse", "HEAD"]);
    assert_eq!(project.status("a"), "proven");

    // While it is still proven, it stays so, and only what was removed comes back.
    project.run(["feature", "remove", "b"]).exits(0);
    project.run(["memory", "restore", "features.json", "--from", &proven]).exits(0).prints("changed  features.json");
    assert_eq!((project.status("a"), project.status("b")), ("proven".to_owned(), "open".to_owned()));

    // Removed itself, it comes back with nothing but what speaks against it, and its check decides.
    project.run(["feature", "remove", "a"]).exits(0);
    let run = project.run(["memory", "restore", "--to", &proven]);
    run.exits(0).tells("a feature is done there only if it is done now").hides("progress.md");
    assert_eq!(project.status("a"), "open");
    project.run(["check", "a"]).exits(0);
    assert_eq!(project.status("a"), "proven");
}

#[test]
fn a_session_and_a_run_are_states_too() {
    let keeps = |text: &str| {
        let input = json!({"command": "create", "path": format!("/memories/docs/{text}"), "file_text": text});
        session([reply([memory(input)]), say("I stop")])
    };
    let restores = format!("{} memory restore --session 1; echo code $?", env!("CARGO_BIN_EXE_longhaul"));
    let locked = session([reply([bash(&restores)]), say("I stop")]);
    let project = Project::ready().feature("a", "test -f a").model([keeps("one"), keeps("two"), locked]);
    project.run(["run", "--sessions", "2", "--set", "recall.extract=false"]).exits(3);

    project.run(["memory", "diff", "@1", "@2", "--", "docs"]).exits(0).prints("+++ b/docs/two").hides("docs/one");
    let run = project.run(["memory", "restore", "--session", "1"]);
    run.exits(0).prints("removed  docs/two").tells("left as they are, since they only grow: progress.md");
    project.run(["memory", "restore", "docs", "--session", "2"]).exits(0).prints("added    docs/two\nas of ");

    project.run(["run", "--sessions", "1", "--set", "recall.extract=false"]).tells("session 3 ended");
    let events = serde_json::to_string(&project.events(3)).unwrap();
    assert!(events.contains("another longhaul is working on this project") && events.contains("code 6"), "{events}");
}

#[test]
fn a_rename_goes_into_a_folder_that_is_there_or_is_always_meant_to_be() {
    let project = Project::ready().feature("f", "test -f f");
    project.run(["memory", "create", "plans/a.md", "1"]).exits(0);
    project.run(["memory", "create", "b.md", "2"]).exits(0);
    project.run(["memory", "rename", "b.md", "plans"]).exits(0);
    project.run(["memory", "view", "plans/b.md"]).exits(0).prints("2");
    project.run(["memory", "rename", "plans/b.md", "other"]).exits(0);
    project.run(["memory", "view", "other"]).exits(0).prints("2");
    project.run(["memory", "rename", "other", "notes"]).exits(2).tells("/memories/notes/other");
    project.run(["memory", "rename", "plans", "ideas"]).exits(0);
    project.run(["memory", "view", "ideas/a.md"]).exits(0).prints("1");
}
