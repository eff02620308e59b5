//! While a session is on.

use super::STOP;
use super::entry_of;
use super::goes_on;
use super::kill_at_the_pipe;
use super::kill_in_silence;
use super::makes;
use super::note;
use super::silence;
use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::lives;
use crate::support::reply;
use crate::support::session;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::process::Command;

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

/// D14 without the flag: what the next session is given is what the killed one left.
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
