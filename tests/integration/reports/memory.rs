//! Family E: the repository of memory among what users, their hooks and other programs of git do.

use crate::support::PATIENCE;
use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Instant;

fn create(path: &str, text: &str) -> Value {
    memory(json!({ "command": "create", "path": path, "file_text": text }))
}

fn runs(text: &str) -> Value {
    session([reply([bash(text)]), reply([hand_over()])])
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// E02: somebody else's `git status` held the lock of the index, and the commit failed.
#[test]
fn e02_other_gits_at_the_same_time_cost_no_write_and_no_commit() {
    let works = "for n in 1 2 3 4 5 6 7 8; do echo $n > f$n; git add f$n; git commit -qm $n; done; touch f";
    let project = Project::ready().feature("f", "test -f f").model([runs(works)]);
    let stop = AtomicBool::new(false);
    let repository = project.state().join("memory.git");
    std::thread::scope(|scope| {
        for folder in [project.root(), repository.clone()] {
            let (stop, environment) = (&stop, project.environment());
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    for args in
                        [&["status"][..], &["log", "--oneline", "-3"], &["pack-refs", "--all"], &["gc", "--auto"]]
                    {
                        let mut git = Command::new("git");
                        git.args(args).current_dir(&folder).env_clear().envs(environment.iter().cloned());
                        git.output().unwrap();
                    }
                }
            });
        }
        let writes: String = (0..50)
            .map(|number| json!({"command": "create", "path": format!("/memories/work/{number}"), "file_text": "x"}))
            .map(|call| format!("{call}\n"))
            .collect();
        let written = project.run_with(["memory", "apply"], &writes);
        let run = project.run(["run"]);
        stop.store(true, Ordering::Relaxed);
        written.exits(0).hides("\"is_error\":true");
        run.exits(0);
    });

    let files = project.memory_git(["ls-tree", "-r", "--name-only", "HEAD", "work/"]);
    assert_eq!(files.lines().count(), 50);
    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert_eq!(project.memory_git(["fsck", "--strict", "--no-dangling"]), "");
}

/// E06: what ran within a commit hook of the user's wrote into the index of that commit.
#[test]
fn e06_a_write_to_memory_within_a_users_commit_is_no_part_of_it() {
    let project = Project::ready();
    let longhaul = env!("CARGO_BIN_EXE_longhaul");
    let writes =
        format!("'{longhaul}' memory create work/\"$(basename $0)-$$\".md x && '{longhaul}' status > /dev/null");
    for hook in ["pre-commit", "post-commit"] {
        script(&project.root().join(".git/hooks").join(hook), &writes);
    }
    project.write("mine", "mine\n");
    project.write("later", "later\n");
    project.git(["add", "mine"]);

    project.git(["commit", "-qm", "mine"]);
    project.git(["commit", "-q", "--only", "--allow-empty", "-m", "nothing"]);

    assert_eq!(project.git(["show", "--name-only", "--format=", "HEAD~1"]), "mine");
    assert_eq!(project.git(["ls-tree", "-r", "--name-only", "HEAD"]), "README\nmine");
    assert_eq!(project.git(["status", "--porcelain"]), "?? later");
    assert_eq!(project.git(["fsck"]), "");
    let files = project.memory_git(["ls-tree", "-r", "--name-only", "HEAD", "work/"]);
    assert_eq!(files.lines().count(), 4, "{files}");
}

/// E07: a process in the background undid the user's `git reset` within seconds.
#[test]
fn e07_a_branch_that_its_user_resets_stays_where_it_was_put() {
    let silent = json!({ "silence": "2s", "tools": [{ "name": "bash", "input": { "command": "touch g" } }] });
    let project = Project::ready().feature("f", "test -f f").feature("g", "test -f g && test -f f").model([
        runs("touch f"),
        session([silent, reply([hand_over()])]),
        runs("touch f g"),
    ]);
    project.run(["run", "--sessions", "1"]).exits(3);
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1)\nfirst");

    // Between sessions: looking does not undo it, and the next session starts from there.
    project.git(["reset", "-q", "--hard", "HEAD~1"]);
    for command in [&["status"][..], &["show", "f"], &["feature", "list"], &["check", "--all"]] {
        project.run(command.iter());
        assert_eq!(project.git(["log", "--format=%s"]), "first", "{command:?}");
    }
    project.git(["commit", "-q", "--allow-empty", "-m", "mine"]);

    // And while one is on.
    let child = project.start(["run", "--sessions", "1"]);
    project.played().wait_for_silence();
    project.git(["reset", "-q", "--hard", "HEAD~1"]);
    let told = String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr).into_owned();
    assert!(told.contains("out of the branch"), "{told}");
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 2)\nfirst");

    project.run(["run"]).exits(0);
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 3)\nwip(session 2)\nfirst");
}

/// E10: a run without a terminal ended at a merge that memory was in the middle of, and nothing led out.
#[test]
fn e10_a_merge_a_rebase_or_a_pick_left_open_in_memory_stops_nothing() {
    let write = create("/memories/work/a.md", "mine");
    let works = session([reply([write, bash("touch f")]), reply([hand_over()])]);
    let project = Project::ready().feature("f", "test -f f").model([works]);
    let commit = project.memory_git(["rev-parse", "HEAD~1"]);
    let repository = project.state().join("memory.git");
    for name in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD", "rebase-merge/onto", "sequencer/head"] {
        fs::create_dir_all(repository.join(name).parent().unwrap()).unwrap();
        fs::write(repository.join(name), format!("{commit}\n")).unwrap();
    }
    for name in ["MERGE_MSG", "MERGE_MODE", "BISECT_LOG", "rebase-merge/head-name", "sequencer/todo", "index"] {
        fs::write(repository.join(name), "refs/heads/main\n").unwrap();
    }

    project.run(["status"]).exits(0);
    project.run(["run"]).exits(0);

    assert_eq!(project.memory_git(["show", "HEAD:work/a.md"]), "mine");
    let parents = project.memory_git(["log", "--format=%p"]);
    assert!(parents.lines().all(|line| !line.contains(' ')), "no merge came of it: {parents}");
    project.run(["memory", "fsck"]).exits(0);
}

/// E11: a remote with another history was taken over by force, and 79 files of memory were gone.
#[test]
fn e11_a_history_from_elsewhere_never_takes_the_place_of_memory() {
    let project = Project::ready().feature("f", "test -f f");
    project.run(["memory", "create", "work/a.md", "mine"]).exits(0);
    project.git(["init", "-q", "--initial-branch=main", "../other"]);
    project.git(["-C", "../other", "commit", "-q", "--allow-empty", "-m", "unrelated"]);
    let fetch = "git --git-dir=.git/longhaul/memory.git fetch -q --force --update-head-ok ../other '+refs/heads/*:refs/heads/*'";
    let project = project.model([runs(fetch), runs("touch f")]);
    let before = project.memory_log();

    project.memory_git(["fetch", "-q", "--force", "--update-head-ok", "../other", "+refs/heads/*:refs/heads/*"]);
    assert_eq!(project.memory_log(), ["unrelated"]);
    // Who only looks sees the right one too.
    assert_eq!(project.status("f"), "open");
    project.run(["check"]).exits(8).tells("refs/longhaul/found/");
    assert!(project.memory_log().ends_with(&before), "{:?}", project.memory_log());

    project.run(["run", "--sessions", "1"]).exits(3).tells("it proves nothing").tells("refs/longhaul/found/");
    assert!(project.memory_log().ends_with(&before), "{:?}", project.memory_log());
    project.run(["run"]).exits(0);
    assert_eq!(project.memory_git(["show", "HEAD:work/a.md"]), "mine");
    assert_eq!(project.memory_git(["fsck", "--strict", "--no-dangling"]), "");
}

/// E13: a commit hung for ever, as git asked for the words of a key.
#[test]
fn e13_no_program_that_signs_is_waited_for() {
    for signs in ["sleep 300", "exit 1"] {
        let project = Project::new();
        let program = project.home().join("signs");
        script(&program, &format!("touch '{}'; {signs}", project.home().join("asked").display()));
        for file in [project.home().join(".gitconfig"), project.home().join("extra")] {
            let text = format!(
                "[commit]\n\tgpgsign = true\n[tag]\n\tgpgsign = true\n[gpg]\n\tprogram = {0}\n[gpg \"ssh\"]\n\tprogram = {0}\n[user]\n\tsigningkey = x\n",
                program.display()
            );
            fs::write(file, text).unwrap();
        }
        let write = create("/memories/notes/a.md", &as_note("mine"));
        let begun = Instant::now();

        project.run(["init"]).exits(0);
        let project =
            project.feature("f", "test -f f").model([session([reply([write, bash("touch f")]), reply([hand_over()])])]);
        project.run(["run"]).exits(0);

        assert!(begun.elapsed() < PATIENCE, "{signs}");
        assert!(!project.home().join("asked").exists(), "{signs}");
        assert_eq!(project.memory_git(["log", "-1", "--format=%G?"]), "N");
        assert_eq!(project.git(["log", "-1", "--format=%s %G?"]), "wip(session 1) N");
    }
}

/// E17: the commit of a file that is ignored failed half-way.
#[test]
fn e17_a_tracked_file_that_came_to_be_ignored_is_committed_and_memory_knows_no_ignoring() {
    let project = Project::new();
    project.write("kept", "1\n");
    project.git(["add", "kept"]);
    project.git(["commit", "-qm", "kept"]);
    project.write("../home/ignored", "*\n");
    project.git(["config", "--file", "../home/.gitconfig", "core.excludesFile", "../home/ignored"]);
    project.run(["init"]).exits(0);
    let work = "echo kept > .gitignore; echo 'new*' >> .gitignore; git add -f .gitignore; echo 2 > kept; echo 3 > new1; echo 4 > f; git add -f f";
    let write = create("/memories/notes/a.md", &as_note("mine"));
    let project = project
        .feature("f", "grep -q 2 kept && test -f f")
        .model([session([reply([write, bash(work)]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["show", "--name-only", "--format=%s"]), "wip(session 1)\n\n.gitignore\nf\nkept");
    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert!(project.memory_git(["ls-tree", "-r", "--name-only", "HEAD"]).contains("notes/a.md"));
}
