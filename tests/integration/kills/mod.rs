//! `kill -9` in every phase, then the same command again: it says which session was interrupted, keeps all memory and all
//! changes of the project, and goes on with the right numbers.
//!
//! Each kill waits for an event: a command of the run that reaches the pipe `../here`, or a model that falls silent.

mod anywhere;
mod gate;
mod resume;
mod sessions;

use crate::support::PATIENCE;
use crate::support::Project;
use crate::support::Run;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::sync::mpsc;

/// Shell text that stops at the pipe, while there is one.
const STOP: &str = "if test -p ../here; then echo > ../here; sleep 60; fi";

fn makes(name: &str) -> Value {
    session([reply([bash(&format!("touch {name}"))]), reply([hand_over()])])
}

fn silence() -> Value {
    json!({ "silence": "60s" })
}

fn note(path: &str) -> Value {
    memory(json!({ "command": "create", "path": format!("/memories/{path}"), "file_text": as_note("learned") }))
}

/// Kills the process itself, as the system would; its children live on.
fn kill(mut child: Child) -> String {
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Starts a command and kills it when something it runs has reached the pipe.
#[track_caller]
fn kill_at_the_pipe<const N: usize>(project: &Project, args: [&str; N]) {
    let pipe = project.root().join("../here");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let child = project.start(args);
    let (sender, arrived) = mpsc::channel();
    let reading = pipe.clone();
    std::thread::spawn(move || fs::read(reading).map(|_| sender.send(())));
    let arrived = arrived.recv_timeout(PATIENCE).is_ok();
    let told = kill(child);
    assert!(arrived, "nothing reached the pipe\n{told}");
    fs::remove_file(pipe).unwrap();
}

/// Starts `run` and kills it while the model is silent.
fn kill_in_silence(project: &Project) {
    kill_in_silence_of(project, ["run"], 1);
}

/// Starts a command and kills it when the model has fallen silent for so many times in all.
fn kill_in_silence_of<const N: usize>(project: &Project, args: [&str; N], times: usize) {
    let child = project.start(args);
    project.played().wait_for_silences(times);
    kill(child);
}

/// Runs to the end, and holds what must be so after every kill.
#[track_caller]
fn goes_on(project: &Project, sessions: u32) -> Run {
    let run = project.run(["run"]);
    run.exits(0);
    is_sound(project, sessions);
    run
}

#[track_caller]
fn is_sound(project: &Project, sessions: u32) {
    for of in [project.memory_git(["fsck", "--strict", "--no-dangling"]), project.git(["fsck", "--no-dangling"])] {
        assert_eq!(of, "");
    }
    let numbers: Vec<u32> = (1..=sessions).collect();
    let mut folders: Vec<String> = fs::read_dir(project.state().join("sessions"))
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    folders.sort();
    assert_eq!(folders, numbers.iter().map(|number| format!("{number:04}")).collect::<Vec<_>>());
    let entries = project.memory_git(["show", "HEAD:progress.md"]);
    let entries = entries.lines().filter_map(|line| line.strip_prefix("## Session ")?.split(' ').next()?.parse().ok());
    assert_eq!(entries.collect::<Vec<u32>>(), numbers);
    for number in numbers {
        let ended = project.events(number).iter().filter(|event| event["type"] == "session_ended").count();
        assert_eq!(ended, 1, "session {number}");
    }
    assert_eq!(project.git(["status", "--porcelain"]).replace("?? mine.txt", ""), "");
    assert_eq!(orphans(project), Vec::<PathBuf>::new());
    assert_eq!(project.played().rejected(), Vec::<String>::new());
}

/// Lists the living processes that were started for this project.
fn orphans(project: &Project) -> Vec<PathBuf> {
    let mark = format!("LONGHAUL_OWNER={}", project.root().canonicalize().unwrap().join(".git").display());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|process| process.path());
    let is_ours = |process: &PathBuf| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    processes.filter(is_ours).collect()
}

fn entry_of(project: &Project, session: u32) -> String {
    let log = project.memory_git(["show", "HEAD:progress.md"]);
    let start = log.find(&format!("## Session {session} ")).unwrap_or_else(|| panic!("no entry of {session}\n{log}"));
    let entry = &log[start..];
    entry[2..].find("## ").map_or(entry, |end| &entry[..end]).to_owned()
}
