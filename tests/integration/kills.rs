//! `kill -9` in every phase, then the same command again: it says which session was interrupted, keeps all memory and all
//! changes of the project, and goes on with the right numbers.
//!
//! Each kill waits for an event: a command of the run that reaches the pipe `../here`, or a model that falls silent.

use crate::support::PATIENCE;
use crate::support::Project;
use crate::support::Run;
use crate::support::as_note;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::lives;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use std::time::Instant;

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
    let child = project.start(["run"]);
    project.played().wait_for_silence();
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

#[test]
fn in_the_initializer_its_drafts_are_kept_and_in_the_init_script_no_turn_is_lost() {
    let features =
        call("add_features", json!({ "features": [{ "id": "a", "title": "a", "check": { "run": "test -f a" } }] }));
    let set_init = call("set_init", json!({ "path": "init.sh", "starts": "nothing", "ready": "it exits" }));
    let first = session([reply([bash(&format!("echo '{STOP}' > init.sh")), features]), silence()]);
    let second = session([reply([set_init]), reply([hand_over()])]);
    let project = Project::new().model([first, second, makes("a")]);
    project.write("../SPEC.md", "# Something\n");
    project.run(["init", "--spec", "../SPEC.md", "--set", "provider.key_env=NOBODY"]).exits(0);

    kill_in_silence(&project);
    assert_eq!(project.stored("a")["draft"], true);
    project.run(["run", "--sessions", "1"]).exits(3).tells("session 1 was interrupted");
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1, interrupted)\nfirst");
    assert_eq!(project.status("a"), "open");

    kill_at_the_pipe(&project, ["run"]);
    let asked = project.played().requests().len();
    goes_on(&project, 4).tells("session 3 was interrupted").shows("done: 1 feature proven");
    assert_eq!(project.played().requests().len(), asked + 2);
    assert!(entry_of(&project, 1).contains("- initializer\n"), "{}", entry_of(&project, 1));
    assert!(entry_of(&project, 3).contains("- feature: a, check not run\n"), "{}", entry_of(&project, 3));
}

/// A session that wrote to memory and to the project and was killed while the model was silent.
fn killed_in_silence() -> Project {
    let work = [note("notes/db.md"), bash("echo half > half; echo more >> README")];
    let project = Project::ready().feature("a", "test -f a").model([session([reply(work), silence()]), makes("a")]);
    project.write("mine.txt", "the user's\n");
    kill_in_silence(&project);
    project
}

#[test]
fn while_the_model_is_silent_memory_and_project_are_kept() {
    let project = killed_in_silence();

    goes_on(&project, 2).tells("session 1 was interrupted");

    assert_eq!(project.git(["log", "--format=%s", "--reverse"]), "first\nwip(session 1, interrupted)\nwip(session 2)");
    assert_eq!(project.git(["show", "--format=", "--name-only", "HEAD~1"]), "README\nhalf");
    assert_eq!(project.memory_git(["show", "HEAD:notes/db.md"]), as_note("learned").trim_end());
    assert_eq!(project.git(["status", "--porcelain"]), "?? mine.txt");
    assert_eq!(project.stored("a")["attempts"], 0);
    let first_words = project.played().requests()[2]["messages"][0]["content"].to_string();
    assert!(first_words.contains("session 1 was interrupted"), "{first_words}");
}

#[test]
fn without_the_recovery_the_leftover_of_a_session_would_bar_the_way() {
    let project = killed_in_silence();
    let ended = json!({ "type": "session_ended", "session": 1, "reason": "made up", "outcome": "none" });
    let record = project.state().join("sessions/0001/events.jsonl");
    let mut record = fs::OpenOptions::new().append(true).open(record).unwrap();
    writeln!(record, "{ended}").unwrap();

    project.run(["run"]).exits(2).tells("uncommitted changes").hides("was interrupted");

    assert_eq!(project.git(["log", "--format=%s"]), "first");
}

#[test]
fn without_its_folder_the_number_of_a_session_is_still_not_given_out_again() {
    let project = killed_in_silence();
    fs::remove_dir_all(project.state().join("sessions")).unwrap();
    project.git(["commit", "-qam", "by hand"]);

    project.run(["run"]).exits(0);

    assert!(project.state().join("sessions/0002").exists() && !project.state().join("sessions/0001").exists());
}

#[test]
fn before_a_session_knows_what_was_there_it_takes_no_file_of_the_users() {
    for list in [None, Some("[\"mi")] {
        let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
        project.write("mine.txt", "the user's\n");
        // What a kill leaves in the first moment of a session; too short a time to hit.
        let folder = project.state().join("sessions/0001");
        fs::create_dir_all(folder.join("artifacts")).unwrap();
        fs::write(folder.join("events.jsonl"), "").unwrap();
        if let Some(list) = list {
            fs::write(folder.join("untracked.json"), list).unwrap();
        }

        goes_on(&project, 2).tells("session 1 was interrupted");

        assert_eq!(project.git(["log", "--format=%s"]), "wip(session 2)\nfirst");
        assert_eq!(project.git(["status", "--porcelain"]), "?? mine.txt");
        assert!(entry_of(&project, 1).contains("- stopped before it began\n"), "{}", entry_of(&project, 1));
    }
}

#[test]
fn during_a_command_what_it_wrote_is_kept_and_what_still_runs_is_ended() {
    let server = "(echo \"$BASHPID\" > ../server; while :; do echo x >> README; sleep 0.05; done) &";
    let runs = "until tail -n 1 README | grep -qx x; do :; done";
    let stuck = format!("echo $$ > ../shell; echo part > part; {server} {runs}; {STOP}");
    let project = Project::ready().feature("a", "test -f a").model([session([reply([bash(&stuck)])]), makes("a")]);
    kill_at_the_pipe(&project, ["run"]);
    let processes = ["../shell", "../server"].map(|path| project.read(path));
    assert!(processes.iter().all(|process| lives(process)));

    let run = goes_on(&project, 2);

    run.tells("session 1 was interrupted").tells("commands of a longhaul that was killed were still running");
    assert!(!processes.iter().any(|process| lives(process)));
    assert_eq!(
        project.git(["show", "--format=%s", "--name-only", "HEAD~1"]),
        "wip(session 1, interrupted)\n\nREADME\npart"
    );
}

#[test]
fn what_a_killed_session_left_is_not_put_on_another_branch() {
    let silent = session([reply([bash("echo half > half")]), json!({ "silence": "60s" })]);
    let project = Project::ready().feature("f", "test -f f").model([silent]);
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();
    project.git(["checkout", "-q", "-b", "other"]);

    project.run(["run"]).exits(2).tells("session 1 was interrupted on branch `main`").tells("`git switch main`");

    assert_eq!(project.git(["log", "--format=%s"]), "first");
    assert_eq!(project.git(["status", "--porcelain"]), "?? half");
}

#[test]
fn what_lay_there_before_a_killed_session_does_not_hold_it_to_its_branch() {
    let project =
        Project::ready().feature("f", "test -f f").model([session([json!({ "silence": "60s" })]), makes("f")]);
    project.write("notes.txt", "mine");
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();
    project.git(["checkout", "-q", "-b", "other"]);

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["status", "--porcelain"]), "?? notes.txt");
    assert_eq!(project.git(["log", "-1", "--format=%s", "main"]), "first");
}

#[test]
fn without_the_mark_a_command_would_live_on() {
    let stuck = format!("env -u LONGHAUL_OWNER setsid sh -c 'echo $$ > ../server; {STOP}'");
    let project = Project::ready().feature("a", "test -f a").model([session([reply([bash(&stuck)])]), makes("a")]);
    kill_at_the_pipe(&project, ["run"]);

    goes_on(&project, 2);

    let server = project.read("../server");
    assert!(lives(&server));
    let group = format!("kill -9 -{}", server.trim());
    assert!(Command::new("sh").args(["-c", &group]).status().unwrap().success());
}

#[test]
fn after_a_command_and_before_the_next_request_an_edit_in_the_view_is_kept() {
    let edit = "mkdir .longhaul/memory/notes; echo kept > .longhaul/memory/notes/x.md; echo work > work";
    // Whoever holds the lock stops the run where it takes over the edit: the command has ended and is not yet told.
    let hold = "flock .git/longhaul/write.lock sh -c 'touch ../held; sleep 60' &";
    let command = format!("{edit}; {hold} until test -e ../held; do :; done; echo > ../here");
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(&command)]), silence()]), makes("a")]);
    kill_at_the_pipe(&project, ["run"]);
    assert_eq!(project.played().requests().len(), 1);

    goes_on(&project, 2).tells("session 1 was interrupted").tells("were still running, and were ended");

    assert_eq!(project.memory_git(["show", "HEAD:notes/x.md"]), "kept");
    assert_eq!(project.git(["show", "--format=", "--name-only", "HEAD~1"]), "work");
}

#[test]
fn during_the_check_of_the_gate_the_feature_is_judged_by_the_next_run() {
    let project = Project::ready().in_place().feature("a", &format!("test -f a || exit 1; {STOP}")).model([makes("a")]);
    kill_at_the_pipe(&project, ["run"]);
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "wip(session 1)");

    goes_on(&project, 1).tells("session 1 was interrupted").tells("a is proven without a session");

    assert_eq!(project.stored("a")["attempts"], 0);
    assert!(entry_of(&project, 1).contains("check not run"), "{}", entry_of(&project, 1));
}

#[test]
fn between_the_verdict_and_the_entry_the_verdict_stands_and_the_entry_says_so() {
    let first = format!("test -f a || exit 1; test ! -e b || {{ {STOP}; }}");
    let project =
        Project::ready().in_place().feature("a", &first).feature("b", "test -f b").model([makes("a"), makes("b")]);
    // The sweep after session 2 runs the check of session 1 again.
    kill_at_the_pipe(&project, ["run"]);
    assert_eq!(project.memory_log()[..2], ["gate: prove b", "progress: session 1"]);

    goes_on(&project, 2).tells("session 2 was interrupted");

    let entry = entry_of(&project, 2);
    assert!(entry.contains("- feature: b, recorded before the end: gate: prove b\n"), "{entry}");
    assert_eq!(["a", "b"].map(|id| project.status(id)), ["proven", "proven"]);
}

#[test]
fn during_the_users_hook_the_entry_is_there_and_is_not_written_twice() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    let settings = project.home().join(".config/longhaul");
    fs::create_dir_all(&settings).unwrap();
    let stop = STOP.replace("sleep 60", "exec sleep 1");
    fs::write(settings.join("config.toml"), format!("[hooks]\nsession_end = [\"{stop}\"]\n")).unwrap();
    kill_at_the_pipe(&project, ["run"]);
    let entry = entry_of(&project, 1);

    goes_on(&project, 1).tells("session 1 was interrupted");

    assert_eq!(entry_of(&project, 1), entry);
    assert_eq!(project.memory_log()[..2], ["progress: session 1", "gate: prove a"]);
}

#[test]
fn during_the_final_sweep_no_session_is_lost_and_the_sweep_is_held_again() {
    let check = format!("test -f a || exit 1; test ! -e c || {{ {STOP}; }}");
    let project = Project::ready().in_place().feature("a", &check).model([makes("a")]);
    project.run(["run"]).exits(0);
    project.write("c", "");
    project.git(["add", "c"]);
    project.git(["commit", "-qm", "by hand"]);
    assert_eq!(project.status("a"), "stale");
    kill_at_the_pipe(&project, ["run"]);

    goes_on(&project, 1).hides("was interrupted").tells("final sweep");

    assert_eq!(project.status("a"), "proven");
}

#[test]
fn during_a_baseline_the_feature_is_there_and_the_next_run_makes_up_for_it() {
    let project = Project::ready().in_place();
    let check = format!("{STOP}; test -f a");
    kill_at_the_pipe(&project, ["feature", "add", "--id", "a", "--title", "a", "--check", &check]);
    assert_eq!(project.stored("a")["baseline"], Value::Null);
    assert_eq!(project.memory_log()[0], "checklist: add a");

    let project = project.model([makes("a")]);
    goes_on(&project, 1);

    assert_eq!(project.stored("a")["baseline"]["verdict"], "failed");
}

#[test]
fn during_init_the_next_one_finishes_it() {
    for commits in 0..4 {
        let project = Project::new();
        let child = project.start(["init"]);
        wait_for_commits(&project, commits);
        kill(child);

        project.run(["init"]).exits(0);

        let mut log = project.memory_log();
        log.reverse();
        let seeds = ["the index", "the progress log", "the checklist", "the init-script reference"];
        assert_eq!(log, seeds.map(|seed| format!("init: {seed}")));
        assert_eq!(project.memory_git(["fsck", "--strict"]), "");
        let left: Vec<_> = fs::read_dir(project.state()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("new")), "{left:?}");
        project.run(["status"]).exits(0);
    }
}

/// Waits until the memory is being made, or has so many commits.
fn wait_for_commits(project: &Project, commits: usize) {
    let branch = project.state().join("memory.git/refs/heads/main");
    let start = Instant::now();
    let mut seen = Vec::new();
    while seen.len() < commits || !project.state().exists() {
        if let Ok(id) = fs::read_to_string(&branch)
            && seen.last() != Some(&id)
        {
            seen.push(id);
        }
        assert!(start.elapsed() < PATIENCE, "only {} commits", seen.len());
        std::thread::yield_now();
    }
}

/// Chooses by the same numbers each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

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
