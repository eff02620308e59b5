//! At moments that nobody chose, and what any kill leaves outside of the project.

use super::is_sound;
use super::kill;
use super::kill_in_silence;
use super::makes;
use super::note;
use super::silence;
use crate::support::Chance;
use crate::support::PATIENCE;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;
use std::time::Instant;

/// One session of a long script: two notes and two files, each under a name of its own, the second committed.
fn step(number: usize) -> Value {
    let save = format!("echo {number} > work/{number}-2; git add work; git commit -qm 'step {number}'");
    session([
        reply([
            note(&format!("notes/{number}-1.md")),
            bash(&format!("mkdir -p work; echo {number} > work/{number}-1")),
        ]),
        reply([note(&format!("notes/{number}-2.md")), bash(&save)]),
        reply([hand_over()]),
    ])
}

/// T35: at moments that nobody chose.
#[test]
fn at_twenty_moments_nothing_is_lost_and_nothing_is_counted_twice() {
    let project = Project::ready()
        .in_place()
        .feature("soon", "test \"$(ls work | wc -l)\" -ge 8")
        .feature("last", "test -e ../go && test -e work")
        .model((1..200).map(step));
    project.write("mine.txt", "the user's\n");
    let args = ["run", "--set", "run.attempts=999", "--set", "run.breaker=999"];
    let mut chance = Chance(0x5eed_1e55);
    for _ in 0..20 {
        kill_after(project.start(args), chance.below(40), Duration::from_micros(chance.below(20_000)));
    }

    fs::write(project.root().join("../go"), "").unwrap();
    project.run(args).exits(0).shows("done: 2 features proven");

    let sessions = fs::read_dir(project.state().join("sessions")).unwrap().count();
    is_sound(&project, u32::try_from(sessions).unwrap());
    assert_eq!(project.git(["status", "--porcelain"]), "?? mine.txt");
    let (notes, files) = (project.memory_git(["ls-tree", "-r", "--name-only", "HEAD"]), project.git(["ls-files"]));
    for number in 1..=u32::try_from(sessions).unwrap() {
        for path in acknowledged(&project.events(number)) {
            let kept = if path.starts_with("notes/") { &notes } else { &files };
            assert!(kept.lines().any(|line| line == path), "{path} of session {number} is lost\n{kept}");
        }
    }
    let counted = project.memory_log().iter().filter(|subject| *subject == "gate: last not proven: failed").count();
    assert_eq!(project.stored("last")["attempts"], counted);
}

/// Kills a run once it has told so many lines, and a moment later; says nothing of one that ended before.
fn kill_after(mut child: Child, lines: u64, moment: Duration) {
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..lines {
        if told.next().is_none() {
            break;
        }
    }
    let start = Instant::now();
    while start.elapsed() < moment {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Lists what a session was told to be done: notes it wrote, files it made.
fn acknowledged(events: &[Value]) -> Vec<String> {
    let done = |event: &&Value| event["type"] == "tool_ended" && event["is_error"] == false;
    let ids: Vec<&Value> = events.iter().filter(done).map(|event| &event["id"]).collect();
    let started = events.iter().filter(|event| event["type"] == "tool_started" && ids.contains(&&event["id"]));
    let path = |event: &Value| {
        let (note, command) = (event["input"]["path"].as_str(), event["input"]["command"].as_str().unwrap_or_default());
        let file = || command.split_once("> ").map(|(_, rest)| rest.split(';').next().unwrap_or_default().to_owned());
        note.map(|path| path.trim_start_matches("/memories/").to_owned()).or_else(file)
    };
    started.filter_map(path).collect()
}

/// Lists the folders for temporary files that lie there.
fn scratch_of(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What one killed run leaves in `TMPDIR`, the next one removes; a folder of somebody else's stays.
#[test]
fn temporary_folders_of_a_killed_run_are_removed_by_the_next() {
    for mode in ["off", "bubblewrap"] {
        let project = Project::ready();
        let tmp = project.root().join("../tmp").components().collect::<PathBuf>();
        fs::create_dir_all(tmp.join("theirs")).unwrap();
        let project = project.variable("TMPDIR", &tmp.display().to_string()).variable("LONGHAUL_SANDBOX_MODE", mode);
        let project = project
            .feature("a", "test ! -e slow || sleep 60; test -f a")
            .model([session([reply([bash("true")]), silence()]), makes("a")]);
        assert_eq!(scratch_of(&tmp), ["theirs"], "{mode}: what ends by itself leaves nothing");

        kill_in_silence(&project);
        let left = scratch_of(&tmp);
        assert!(left.iter().any(|name| name.contains("-session-")), "{mode}: {left:?}");
        project.write("slow", "");
        project.git(["add", "slow"]);
        project.git(["commit", "-qm", "slow"]);
        let child = project.start(["check", "a"]);
        let start = Instant::now();
        while !scratch_of(&tmp).iter().any(|name| name.contains("-check-")) && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        kill(child);
        let left = scratch_of(&tmp);
        assert!(left.iter().any(|name| name.contains("-check-")), "{mode}: {left:?}");
        assert!(!left.iter().any(|name| name.contains("-session-")), "{mode}: {left:?}");

        project.git(["rm", "-q", "slow"]);
        project.git(["commit", "-qm", "fast"]);
        project.run(["check", "a"]).exits(8);
        assert_eq!(scratch_of(&tmp), ["theirs"], "{mode}");
    }
}
