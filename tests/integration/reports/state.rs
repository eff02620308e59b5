//! Family D: state files, locks, resume.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;

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
fn commit_to_memory(project: &Project, path: &str, text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let clone = folder.path().join("clone").display().to_string();
    let memory = project.state().join("memory.git").display().to_string();
    project.git(["clone", "-q", &memory, &clone]);
    std::fs::write(folder.path().join("clone").join(path), text).unwrap();
    project.git(["-C", &clone, "commit", "-qam", "torn"]);
    project.git(["-C", &clone, "push", "-q"]);
}
