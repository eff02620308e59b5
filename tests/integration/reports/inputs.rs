//! T48: texts that are no checklist, no settings and no names.

use crate::support::Project;
use crate::support::as_note;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

/// Duplicate ids and keys, a byte order mark, UTF-16 and endless depth.
#[test]
fn t48_a_checklist_that_is_none_is_refused_and_changes_nothing() {
    let feature = |id: &str| format!(r#"{{"id": "{id}", "title": "t", "check": "test -f a"}}"#);
    let utf16: Vec<u8> = "[]".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    let project = Project::ready();
    let head = project.memory_git(["rev-parse", "HEAD"]);
    for (text, words) in [
        (format!("[{}, {}]", feature("a"), feature("a")).into_bytes(), "a"),
        (br#"[{"id": "a", "id": "b", "title": "t"}]"#.to_vec(), "id"),
        ([b"\xef\xbb\xbf", format!("[{}]", feature("a")).as_bytes()].concat(), "byte order mark"),
        ([b"\xff\xfe", utf16.as_slice()].concat(), "UTF-8"),
        (deep("[", "]").into_bytes(), "recursion"),
        (deep(r#"{"a":"#, "}").into_bytes(), "recursion"),
    ] {
        let path = project.home().join("list.json");
        std::fs::write(&path, &text).unwrap();
        let mut command = project.command(["feature", "add", "-"]);
        command.stdin(Stdio::from(std::fs::File::open(&path).unwrap()));
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}: {told}");
        assert!(told.contains(words) && told.len() < 2_000, "{words}: {told}");
        assert_eq!(project.memory_git(["rev-parse", "HEAD"]), head, "{words}");
    }
}

/// A check that is a comment was added and blocked at once.
#[test]
fn t48_a_check_of_nothing_but_comments_is_refused_and_one_that_does_something_is_not() {
    let project = Project::ready();
    let add = |check: &str| project.run(["feature", "add", "--title", "x", "--check", check]);
    add("# nope").exits(2).tells("it holds nothing but comments: give the command that shows the feature");
    add("\n  # later\n").exits(2).tells("nothing but comments");
    project.run(["feature", "list"]).tells("the checklist is empty");
    add("# what it does\ntest -f x").exits(0);
    project.run(["feature", "edit", "x", "--json", r##"{"check": "# off"}"##]).exits(2).tells("nothing but comments");
}

/// Settings of 50 MB, or without an end to their depth.
#[test]
fn t48_settings_that_are_too_large_or_too_deep_end_no_program_by_a_crash() {
    let project = Project::ready();
    let large = format!("{}\n", "# nothing but words ".repeat(16)).repeat(50 * 1024 * 1024 / 321);
    let deep = format!("[run]\nattempts = {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let tables = format!("{}x = 1\n", "a.".repeat(100_000));
    for text in [large, deep, tables] {
        project.write("longhaul.toml", &text);
        let start = Instant::now();
        let run = project.run(["feature", "list"]);
        assert_eq!((run.code, run.stderr.contains("longhaul.toml")), (Some(2), true), "{:.3000}", run.stderr);
        assert!(run.stderr.len() < 4_000, "{} bytes of words", run.stderr.len());
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}

/// Escapes, carriage returns and marks of direction in titles and notes.
#[test]
fn t48_titles_and_notes_cannot_drive_the_terminal() {
    let evil = "red\u{1b}[31m \u{1b}]52;c;aGk=\u{7} over\rwritten \u{202e}back \u{9b}2J";
    let project = Project::ready();
    project.run(["feature", "add", "--id", "a", "--title", evil, "--check", "test -f a"]).exits(0);
    project.run_with(["memory", "create", "scratch.md", "-"], evil).exits(0);
    let note = project.run_with(["memory", "create", "notes/evil.md", "-"], &as_note(evil));
    assert!(!raw(&note.stderr), "{:?}", note.whole());
    assert!(raw(&project.memory_git(["show", "HEAD:scratch.md"])), "it is kept as it came");
    project.run(["feature", "list"]).exits(0).prints("red\\u{1b}[31m");
    project.run(["memory", "view", "/memories/scratch.md"]).exits(0).prints("red\\u{1b}[31m");
    let shown =
        [vec!["feature", "list"], vec!["show", "a"], vec!["status"], vec!["log"], vec!["memory", "view", "/memories"]];
    for args in shown {
        let run = project.run(args.clone());
        assert!(!raw(&run.stdout) && !raw(&run.stderr), "{args:?}: {:?}", run.whole());
    }
}

/// Tells whether a text holds what a terminal would act on.
fn raw(text: &str) -> bool {
    text.chars().any(|c| "\u{1b}\u{7}\r\u{202e}\u{9b}".contains(c))
}
