//! The command line from outside: streams, signals, settings and who may call what while a run is on.

use crate::support::Project;
use crate::support::bash;
use crate::support::ends;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use crate::support::signal;
use serde_json::json;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::process::Child;

/// Reads a child's standard error until a line holds this text.
fn wait_for(child: &mut Child, text: &str) {
    let errors = child.stderr.as_mut().unwrap();
    let mut seen = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&seen).contains(text) {
        let read = errors.read(&mut byte).unwrap();
        assert!(read > 0, "`{text}` never came in\n{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&byte);
    }
}

#[test]
fn a_second_interrupt_ends_everything_at_once() {
    // The command ignores TERM and would hold the session for its whole grace; it tells its process first.
    let command = "trap '' TERM; echo $$ >pid; while :; do sleep 1; done";
    let project = Project::ready().feature("a", "test -f a").model([session([reply([bash(command)])])]);
    let mut run = project.start(["run", "--sessions", "1"]);
    wait_for(&mut run, "bash: trap");
    while fs::read_to_string(project.root().join("pid")).unwrap_or_default().trim().is_empty() {
        std::thread::yield_now();
    }

    signal(&run, "INT");
    wait_for(&mut run, "press Ctrl-C again to stop at once");
    signal(&run, "INT");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_ne!(project.memory_log()[0], "progress: session 1", "it ended in order");

    // It was killed before the run ended, and nobody is left to do it later; the system takes a moment for it.
    let pid = project.read("pid");
    assert!(ends(&pid), "the command outlived the run");
}

#[test]
fn nobody_writes_by_hand_what_is_protected_while_a_run_is_on() {
    let silent = json!({"silence": "120s", "tools": []});
    let project = Project::ready().feature("a", "test -f a").model([session([silent])]);
    let mut run = project.start(["run"]);
    project.played().wait_for_silence();

    let write = r#"{"command":"create","path":"/memories/checks/a.sh","file_text":"exit 0"}"#;
    let note = r#"{"command":"create","path":"/memories/docs/b","file_text":"b"}"#;
    let applied = project.run_with(["memory", "apply"], &format!("{write}\n{note}\n"));
    let answers: Vec<&str> = applied.exits(0).stdout.lines().collect();
    assert!(answers[0].contains("another longhaul") && answers[0].contains("\"is_error\":true"), "{answers:?}");
    assert!(answers[1].contains("\"is_error\":false"), "{answers:?}");
    let busy = format!("busy: another longhaul is working on this project (process {}, since 2", run.id());
    project.run(["memory", "create", "checks/a.sh", "exit 0"]).exits(6).tells(&busy);
    for command in [&["restore", "checks/a.sh"][..], &["restore", "--session", "1"], &["delete", "init.md"]] {
        project.run([&["memory"], command].concat()).exits(6).tells("notes can be written meanwhile");
    }
    project.run(["memory", "purge", "--match", "secret word", "--yes"]).exits(6);
    project.run(["memory", "fsck", "--repair"]).exits(6);
    project.run(["memory", "view", "progress.md"]).exits(0);
    project.run(["feature", "remove", "a"]).exits(6);
    project.run_with(["memory", "apply", "--store", ".git/longhaul"], write).exits(2).tells("a project's own memory");

    signal(&run, "KILL");
    run.wait().unwrap();
    project.run_with(["memory", "apply"], write).exits(0).prints("\"is_error\":false");
    assert_eq!(project.memory_git(["log", "-1", "--format=%an %s"]), "external memory: create checks/a.sh");
}

#[test]
fn a_person_writes_between_the_writes_of_a_run_which_takes_it_in() {
    let calls = |name: &str| {
        let input = json!({"command": "create", "path": format!("/memories/docs/{name}"), "file_text": name});
        json!({"silence": "4s", "tools": [{"name": "memory", "input": input}]})
    };
    let model = session([calls("first"), calls("last"), reply([bash("touch a")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([model]);
    let mut run = project.start(["run"]);
    project.played().wait_for_silence();

    let create = |number: usize| project.start(["memory", "create", &format!("docs/{number}"), "x"]);
    let mut children: Vec<_> = (0..8).map(create).collect();
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    project.run(["memory", "str_replace", "docs/3", "x", "y"]).exits(0);
    project.run(["memory", "restore", "docs/3"]).exits(0);
    project.run(["memory", "delete", "docs/4"]).exits(0);

    let status = run.wait().unwrap();
    assert!(status.success(), "{}", project.memory_log().join("\n"));
    assert_eq!(project.status("a"), "proven");
    let log = project.memory_git(["log", "--format=%an %s"]);
    let at = |line: &str| log.lines().position(|other| other == line).unwrap_or_else(|| panic!("no {line}\n{log}"));
    assert!(
        (0..8)
            .all(|number| at(&format!("external memory: create docs/{number}")) > at("agent memory: create docs/last"))
    );
    assert!(project.memory_git(["ls-tree", "-r", "--name-only", "main"]).contains("docs/7"));
    assert!(!project.memory_git(["for-each-ref"]).contains("found"), "nobody is blamed");
    project.run(["memory", "fsck"]).exits(0);
}

#[test]
fn a_limit_on_the_size_of_files_is_called_what_it_is() {
    let project = Project::ready();
    let mut shell = std::process::Command::new("sh");
    let text = format!("ulimit -f 1; exec {} memory create docs/a x", env!("CARGO_BIN_EXE_longhaul"));
    let output = shell.args(["-c", &text]).current_dir(project.root()).env_clear().envs(project.environment()).output();
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("could not write the journal: File too large") && told.contains("`ulimit -f`"), "{told}");
    assert!(!told.contains("disk full"), "{told}");
    assert_eq!(output.status.code(), Some(1));
    project.run(["memory", "create", "docs/a", "x"]).exits(0);
}

#[test]
fn a_restore_that_names_nothing_is_told_what_it_may_name() {
    let project = Project::ready();
    let run = project.run(["memory", "restore"]);
    run.exits(2).tells("--session <N>").tells("--to <COMMIT>").hides("--dry-run").hides("--from");
}

#[test]
fn many_who_write_at_once_wait_for_each_other_and_none_is_lost() {
    let project = Project::ready();
    let create = |number: usize| project.start(["memory", "create", &format!("docs/{number}"), "x"]);
    let children: Vec<_> = (0..20).map(create).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(project.memory_git(["ls-tree", "--name-only", "main:docs"]).lines().count(), 20);
}

#[test]
fn a_rehearsal_serves_until_it_is_interrupted() {
    let project = Project::ready();
    project.write("script.toml", "[[session]]\n[[session.reply]]\ntext = \"hello\"\n");
    let mut served = project.start(["rehearse", "script.toml"]);
    let mut first = String::new();
    BufReader::new(served.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("base_url=http://127.0.0.1:"), "{first}");

    signal(&served, "INT");
    assert_eq!(served.wait().unwrap().code(), Some(0));
}

#[test]
fn a_rehearsal_whose_script_has_ended_says_so() {
    let project = Project::ready().feature("a", "test -f a");
    project.write("../script.toml", "[[session]]\n[[session.reply]]\ntext = \"hello\"\n");
    let told = "the script `../script.toml` has ended: a request found no reply left in it";

    project.run(["rehearse", "../script.toml", "--", "run"]).exits(5).tells(told);
    project.run(["rehearse", "../script.toml", "--", "run", "--sessions", "1"]).exits(3).hides("has ended");
    project.run(["rehearse", "../script.toml", "--", "status"]).exits(0).tells("the script had 1 reply left");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let project = Project::ready();
    let mut log = project.start(["log", "-p"]);
    drop(log.stdout.take());
    assert_eq!(log.wait().unwrap().code(), Some(0));
}

#[test]
fn a_disk_that_is_full_is_one() {
    let project = Project::ready();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut status = std::process::Command::new(env!("CARGO_BIN_EXE_longhaul"));
    let output = status.arg("status").current_dir(project.root()).env_clear().stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("error: could not write to standard output: No space left"), "{told}");
}

/// T41.
#[test]
fn it_works_without_a_home_and_with_a_config_file_of_the_users() {
    let project = Project::ready();
    let settings = project.home().join(".config/longhaul");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("config.toml"), "[budget]\n\nusd = \"much\"\n").unwrap();
    project.run(["status"]).exits(2).tells("/.config/longhaul/config.toml`, line 3; it must be a number");

    let homeless = project.variable("HOME", "");
    homeless.run(["status"]).exits(0).prints("features  none yet");
}

#[test]
fn a_projects_settings_must_be_committed_and_may_narrow() {
    let project = Project::ready().feature("a", "test -f a").model([session([reply([hand_over()])])]);
    project.write("longhaul.toml", "[budget]\nsessions = 1\n");
    project.run(["run"]).exits(2).tells("usage: `longhaul.toml` is not committed as it lies there");
    assert!(project.played().requests().is_empty(), "a session was held on settings nobody committed");

    project.git(["add", "longhaul.toml"]);
    project.git(["commit", "--quiet", "-m", "settings"]);
    project.run(["run"]).exits(3).tells("1 session used, 1 feature open");
}

#[test]
fn data_goes_to_one_stream_and_everything_else_to_the_other() {
    let project = Project::ready().feature("a", "test -f a");
    let run = project.run(["status", "--json", "--exit-code"]);
    run.exits(8);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["features"][0]["state"], "open");
    assert_eq!(run.stderr, "");

    let run = project.run(["show", "b"]);
    run.exits(2).tells("usage: ");
    assert_eq!(run.stdout, "");
}
