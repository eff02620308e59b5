//! What was: `log` by all that narrows it, `memory diff`, and `memory restore`.

use crate::support::Project;
use crate::support::runs_here;
use serde_json::Value;
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
}

#[test]
fn an_entry_in_json_has_all_that_is_known() {
    let project = moved();
    let run = project.run(["log", "--json", "-n", "2", "-p", "plans"]);
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [edit, rename] = lines.as_slice() else { panic!("{}", run.whole()) };
    assert_eq!((&edit["author"], &edit["parent"]), (&Value::from("external"), &rename["id"]));
    assert_eq!(edit["touched"], serde_json::json!([{"path": "plans/old.md", "how": "changed"}]));
    assert!(edit["patch"].as_str().unwrap().contains("\n-two\n+three\n"), "{edit}");
    let moved = serde_json::json!({"path": "plans/other.md", "how": "renamed", "from": "docs/other.md"});
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
