//! `run --continue`: the session that was cut off goes on under its own number, and no tool runs twice.

use super::STOP;
use super::entry_of;
use super::is_sound;
use super::kill_at_the_pipe;
use super::kill_in_silence;
use super::kill_in_silence_of;
use super::makes;
use super::note;
use super::silence;
use crate::support::Project;
use crate::support::Run;
use crate::support::as_note;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::fs;

/// Leaves a mark of each time it runs.
fn appends(word: &str) -> Value {
    bash(&format!("echo {word} >> log"))
}

/// The end of a session that makes the check pass.
fn rest() -> [Value; 2] {
    [reply([appends("rest")]), reply([hand_over()])]
}

fn project(replies: impl IntoIterator<Item = Value>) -> Project {
    Project::ready().feature("a", "grep -q rest log").model([session(replies)])
}

#[track_caller]
fn continued(project: &Project, sessions: u32) -> Run {
    let run = project.run(["run", "--continue"]);
    run.exits(0);
    is_sound(project, sessions);
    run
}

/// D14: to go on made a new run, which did not see the tasks of the old one.
#[test]
fn after_a_kill_in_the_silence_of_the_model_the_session_goes_on() {
    let project = project([reply([appends("one")]), silence()].into_iter().chain(rest()));
    project.write("mine.txt", "the user's\n");
    kill_in_silence(&project);

    let run = continued(&project, 1);
    run.hides("was interrupted").tells("session 1 goes on with turn 2 · a").shows("done: 1 feature proven");

    assert_eq!(project.read("log"), "one\nrest\n");
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1)\nfirst");
    let requests = project.played().requests();
    let (before, after) = (&requests[1]["messages"], &requests[2]["messages"]);
    assert_eq!(after.as_array().unwrap().len(), before.as_array().unwrap().len());
    let told = after[2]["content"][1]["text"].as_str().unwrap();
    assert!(told.starts_with("longhaul was stopped in the middle of this session"), "{told}");
    let entry = entry_of(&project, 1);
    assert!(entry.contains("used: 3 turns") && entry.contains("done: worked on it"), "{entry}");
}

/// A shell without the key came after the crash: the session was closed, and the next run counted from nothing.
#[test]
fn a_run_that_lacks_what_it_needs_leaves_the_session_and_the_count_as_they_are() {
    let project = project([reply([appends("one")]), silence()].into_iter().chain(rest()));
    kill_in_silence(&project);
    let root = project.root().display().to_string();
    for (name, value, told) in [
        ("ANTHROPIC_API_KEY", "", "no key for the model service"),
        ("ANTHROPIC_BASE_URL", "http://example.invalid", "would send the key unencrypted"),
        ("TMPDIR", "/nonexistent", "set TMPDIR to a folder that is there"),
        ("TMPDIR", &root, "set TMPDIR to a folder outside of it"),
    ] {
        let output = project.command(["run"]).env(name, value).output().unwrap();
        Run::of(output, name.to_owned()).exits(2).tells(told).hides("was interrupted");
    }

    continued(&project, 1).tells("goes on with what the killed run had used: 1 session");
}

#[test]
fn a_folder_for_temporary_files_inside_the_project_is_told_by_doctor() {
    let project = Project::ready();
    let root = project.root();
    let told = |name: &str| {
        let output = project.command(["doctor"]).env(name, &root).output().unwrap();
        String::from_utf8_lossy(&output.stdout).contains("is inside the project")
    };
    assert_eq!((told("TMPDIR"), told("OTHER")), (true, false));
}

/// A look at where things stand closed the session, and `--continue` said that there was none.
#[test]
fn a_check_by_hand_leaves_the_session_open() {
    for in_place in [false, true] {
        let project = project([reply([appends("one")]), silence()].into_iter().chain(rest()));
        let project = if in_place { project.in_place() } else { project };
        kill_in_silence(&project);

        let check = project.run(["check", "a"]);
        check.exits(8).tells("session 1 was cut off and stays open; what it left uncommitted is not looked at");
        assert!(project.git(["status", "--porcelain"]).contains("log"), "nothing is committed");

        continued(&project, 1).hides("was interrupted").tells("session 1 goes on with turn 2 · a");
    }
}

#[test]
fn without_the_flag_a_fresh_session_starts_from_memory() {
    let project = Project::ready()
        .feature("a", "grep -q rest log")
        .model([session([reply([appends("one")]), silence()]), session(rest())]);
    kill_in_silence(&project);

    project.run(["run"]).exits(0).tells("session 1 was interrupted");

    is_sound(&project, 2);
    assert_eq!(project.played().requests()[2]["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn after_a_kill_between_two_results_each_call_has_its_own_answer_and_none_runs_twice() {
    let three = reply([appends("one"), bash(&format!("echo two >> log; {STOP}")), appends("three")]);
    let project = project([three].into_iter().chain(rest()));
    kill_at_the_pipe(&project, ["run"]);

    continued(&project, 1).hides("was interrupted");

    assert_eq!(project.read("log"), "one\ntwo\nrest\n");
    let results = project.played().results_in(2);
    let results: Vec<&str> = results.split("\n---\n").collect();
    assert_eq!(results[0], "[exit code 0]");
    assert!(results[1].starts_with("interrupted: longhaul was stopped while this call was running"), "{results:?}");
    assert_eq!(results[2], "not run: longhaul was stopped before this call");
}

#[test]
fn after_two_kills_it_still_goes_on() {
    let replies = [
        reply([appends("one"), bash(&format!("echo two >> log; {STOP}")), appends("three")]),
        reply([appends("four")]),
        silence(),
        silence(),
    ];
    let project = project(replies.into_iter().chain(rest()));
    kill_at_the_pipe(&project, ["run"]);
    kill_in_silence_of(&project, ["run", "--continue"], 1);
    kill_in_silence_of(&project, ["run", "--continue"], 2);

    continued(&project, 1).hides("was interrupted");

    assert_eq!(project.read("log"), "one\ntwo\nfour\nrest\n");
    let last = project.played().requests().pop().unwrap().to_string();
    assert_eq!(last.matches("longhaul was stopped in the middle of this session").count(), 3);
    let began = project.events(1).iter().filter(|event| event["type"] == "session_started").count();
    assert_eq!(began, 4);
    assert!(entry_of(&project, 1).contains("used: 4 turns"), "{}", entry_of(&project, 1));
}

/// Takes the end of the record away, from the first line that has this type.
fn cut_before(project: &Project, kind: &str) {
    let path = project.state().join("sessions/0001/events.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let end = text.find(&format!("{{\"type\":\"{kind}\"")).unwrap();
    // And a part of the line, as a kill within the write leaves it.
    fs::write(path, &text[..end + 20]).unwrap();
}

#[test]
fn a_write_to_memory_whose_commit_is_there_is_answered_from_it() {
    let project = project([reply([note("notes/db.md")]), silence()].into_iter().chain(rest()));
    kill_in_silence(&project);
    cut_before(&project, "tool_ended");

    continued_despite_the_tear(&project);

    assert_eq!(project.played().results_in(3), "File created successfully at: /memories/notes/db.md");
    assert_eq!(project.memory_git(["show", "HEAD:notes/db.md"]), as_note("learned").trim_end());
    let written = project.memory_log().iter().filter(|subject| *subject == "memory: create notes/db.md").count();
    assert_eq!(written, 1);
}

#[test]
fn a_command_has_no_commit_to_be_answered_from() {
    let project = project([reply([appends("one")]), silence()].into_iter().chain(rest()));
    kill_in_silence(&project);
    cut_before(&project, "tool_ended");

    continued_despite_the_tear(&project);

    assert!(project.played().results_in(3).starts_with("interrupted: "), "{}", project.played().results_in(3));
    assert_eq!(project.read("log"), "one\nrest\n");
}

/// The record keeps its torn line, which `is_sound` would not read.
#[track_caller]
fn continued_despite_the_tear(project: &Project) {
    project.run(["run", "--continue"]).exits(0).hides("was interrupted");
    assert_eq!(project.played().rejected(), Vec::<String>::new());
}

#[test]
fn an_initializer_goes_on_with_its_drafts_and_the_init_script_is_run_again() {
    let features =
        call("add_features", json!({ "features": [{ "id": "a", "title": "a", "check": { "run": "test -f a" } }] }));
    let set_init = call("set_init", json!({ "path": "init.sh", "starts": "nothing", "ready": "it exits" }));
    let first = session([
        reply([bash("echo 'echo up' > init.sh"), features]),
        silence(),
        reply([set_init]),
        reply([hand_over()]),
    ]);
    let second = session([reply([bash("true")]), silence(), reply([bash("touch a")]), reply([hand_over()])]);
    let project = Project::new().model([first, second]);
    project.write("../SPEC.md", "# Something\n");
    project.run(["init", "--spec", "../SPEC.md", "--set", "provider.key_env=NOBODY"]).exits(0);
    kill_in_silence(&project);
    assert_eq!(project.stored("a")["draft"], true);

    kill_in_silence_of(&project, ["run", "--continue"], 2);
    assert!(entry_of(&project, 1).contains("- initializer: 1 feature"), "{}", entry_of(&project, 1));
    continued(&project, 2).shows("done: 1 feature proven");

    let requests = project.played().requests();
    let told = requests[requests.len() - 2]["messages"][2]["content"][1]["text"].as_str().unwrap().to_owned();
    assert!(told.contains("The init script was run again:") && told.contains("up"), "{told}");
}

/// The same call with the same result, but each time the project's files are others: no circle, before the kill and after it.
#[test]
fn a_session_that_got_on_by_the_same_call_goes_on_by_it() {
    let step = || reply([bash("touch step$(ls | wc -l)")]);
    let steps = || (0..8).map(|_| step());
    let project = project(steps().chain([silence()]).chain(steps()).chain(rest()));
    kill_in_silence(&project);

    continued(&project, 1).hides("stuck").tells("session 1 goes on with turn 9 · a");
}

/// D10: to resume always failed, since it asked for the lock that it already held.
#[test]
fn with_nothing_to_continue_that_is_said_and_a_fresh_session_starts() {
    let project = Project::ready().feature("a", "test -f a").model([session([reply([hand_over()])]), makes("a")]);
    project.run(["run", "--continue", "--sessions", "1"]).exits(3).tells("nothing to continue");

    continued(&project, 2).tells("nothing to continue: no session was cut off; the run goes on from memory");
}

#[test]
fn a_session_with_nothing_left_to_do_is_closed() {
    let made = bash("touch a; git add a; git commit -qm a");
    let project = Project::ready().feature("a", "test -f a").model([session([reply([made]), silence()])]);
    kill_in_silence(&project);

    let run = continued(&project, 1);
    run.tells("a is proven without a session").tells("session 1 is not continued: the check of a passes by now");
    assert!(entry_of(&project, 1).contains("ended: interrupted"), "{}", entry_of(&project, 1));
}

#[test]
fn on_another_branch_or_without_its_feature_the_session_is_closed() {
    let killed = || {
        let other = bash("git status");
        let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b").model([
            session([reply([other]), silence()]),
            makes("a"),
            makes("b"),
        ]);
        kill_in_silence(&project);
        project
    };
    let project = killed();
    project.git(["switch", "-qc", "other"]);
    continued(&project, 3).tells("session 1 is not continued: it began on `main`, and the project is on `other`");

    let project = killed();
    project.run(["feature", "remove", "a"]).exits(0);
    continued(&project, 3).tells("session 1 is not continued: a is not to be worked on any more");

    let project = killed();
    project.run(["feature", "edit", "b", "--json", r#"{"title": "Other words"}"#]).exits(0);
    project.run(["feature", "edit", "a", "--json", r#"{"title": "Other words"}"#]).exits(0);
    continued(&project, 3).tells("session 1 is not continued: a was edited since it began");
    assert!(entry_of(&project, 1).contains("ended: interrupted"), "{}", entry_of(&project, 1));
}

#[test]
fn a_tail_of_zeros_and_a_torn_line_hide_nothing_of_what_stands_before() {
    let project = project([reply([appends("one")]), silence()].into_iter().chain(rest()));
    kill_in_silence(&project);
    let path = project.state().join("sessions/0001/events.jsonl");
    let mut record = fs::read(&path).unwrap();
    record.extend_from_slice(b"{\"type\":\"replied\",\"tu");
    record.extend_from_slice(&[0; 4096]);
    fs::write(&path, record).unwrap();

    continued_despite_the_tear(&project);

    assert_eq!(project.read("log"), "one\nrest\n");
    assert_eq!(project.played().results_in(2), "[exit code 0]");
}

#[test]
fn a_record_without_a_first_turn_is_closed() {
    for (file, why) in [("events.jsonl", "its record ends before its first turn"), ("began.json", "nothing tells what")]
    {
        let first = session([reply([appends("one")]), silence()]);
        let project = Project::ready().feature("a", "grep -q rest log").model([first, session(rest())]);
        kill_in_silence(&project);
        fs::remove_file(project.state().join("sessions/0001").join(file)).unwrap();

        project.run(["run", "--continue"]).exits(0).tells(&format!("session 1 is not continued: {why}"));

        assert_eq!(project.read("log"), "one\nrest\n");
        assert_eq!(project.status("a"), "proven");
    }
}

#[test]
fn another_model_goes_on_in_a_project_that_moved() {
    let project = project([reply([appends("one")]), silence()].into_iter().chain(rest()));
    kill_in_silence(&project);
    project.write("b", "a person's\n");
    project.git(["add", "b"]);
    project.git(["commit", "-qm", "by a person"]);

    let run = project.run(["run", "--continue", "--model", "claude-haiku-5-5"]);
    run.exits(0).tells("session 1 goes on with turn 2 · a").tells("claude-haiku-5-5");

    is_sound(&project, 1);
    assert_eq!(project.played().requests()[2]["model"], "claude-haiku-5-5");
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1)\nby a person\nfirst");
    assert_eq!(project.read("log"), "one\nrest\n");
}

#[test]
fn what_it_had_used_still_counts() {
    let project = project([reply([appends("one")]), silence()].into_iter().chain(rest()));
    kill_in_silence(&project);

    let limited = ["run", "--continue", "--sessions", "1", "--set", "budget.turns_per_session=2"];
    project.run(limited).exits(0).tells("goes on with what the killed run had used: 1 session");

    assert_eq!(project.read("log"), "one\nrest\n");
    let entry = entry_of(&project, 1);
    assert!(entry.contains("used: 2 turns") && entry.contains("the limit of 2 turns a session is reached"), "{entry}");
}
