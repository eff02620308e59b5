//! Families D and E: branches, worktrees, repositories inside the project, and what a person left uncommitted.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::process::Command;
use std::process::Stdio;

/// A session that runs this shell text and hands over.
fn runs(text: &str) -> Value {
    session([reply([bash(text)]), reply([hand_over()])])
}

/// A session that runs this shell text and then falls silent.
fn runs_and_hangs(text: &str) -> Value {
    session([reply([bash(text)]), json!({ "silence": "60s" })])
}

/// Runs and kills it once the model is silent.
fn killed(project: &Project) {
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();
}

/// D22: recovery called work safe to delete that was never merged.
#[test]
fn d22_commits_on_a_side_branch_outlive_a_kill_and_the_recovery() {
    let side =
        "git checkout -q -b side; echo 1 > s; git add s; git commit -qm side; git checkout -q main; echo half > half";
    let project = Project::ready().feature("f", "test -f f").model([runs_and_hangs(side), runs("touch f")]);
    killed(&project);
    let tip = project.git(["rev-parse", "side"]);

    project.run(["run"]).exits(0).tells("session 1 was interrupted");

    assert_eq!(project.git(["rev-parse", "side"]), tip);
    assert_eq!(project.git(["show", "side:s"]), "1");
    assert_eq!(project.git(["log", "--format=%s", "main"]), "wip(session 2)\nwip(session 1, interrupted)\nfirst");
}

/// E21: the agent checked out a commit, and eleven later ones were orphaned on a detached HEAD.
#[test]
fn e21_commits_on_a_detached_head_are_kept_and_told() {
    let strays = "git checkout -q --detach; for n in 1 2; do echo $n > f$n; git add f$n; git commit -qm stray$n; done";
    let project = Project::ready().feature("f", "test -f f").model([runs(strays), runs("touch f")]);

    let run = project.run(["run"]);

    run.exits(0).tells("began on `main` and ended on a detached HEAD; the branch has its commits now");
    assert_eq!(project.git(["log", "--format=%s", "main"]), "wip(session 2)\nstray2\nstray1\nfirst");
    assert_eq!(project.git(["status", "--porcelain", "--branch"]), "## main");
}

/// E21 where the branch cannot take them: the agent went back in history, or it left a rebase open.
#[test]
fn e21_commits_beside_the_branch_are_kept_and_the_run_goes_on_on_the_branch() {
    let beside = "git checkout -q --detach HEAD~1; echo 1 > f1; git add f1; git commit -qm stray; echo half > half; ";
    let rebase = "git checkout -qb other HEAD~1; echo other > more; git add more; git commit -qm other; \
                  git checkout -q main; git rebase -q other; echo half > half";
    for text in [beside, rebase] {
        let project = Project::ready();
        project.write("more", "more\n");
        project.git(["add", "more"]);
        project.git(["commit", "-qm", "second"]);
        let project = project.feature("f", "test -f f").model([runs(text), runs("touch f")]);

        project.run(["run"]).exits(0).tells("and the project is back on `main`");

        assert_eq!(project.git(["log", "--format=%s", "main"]), "wip(session 2)\nsecond\nfirst");
        assert_eq!(project.git(["status", "--porcelain", "--branch"]), "## main");
        assert!(!project.git(["status"]).contains("rebase"), "{}", project.git(["status"]));
        project.git(["reflog", "expire", "--expire=now", "--all"]);
        project.git(["gc", "-q", "--prune=now"]);
        let bases = project.git(["for-each-ref", "refs/longhaul/base", "--format=%(subject)"]);
        assert!(bases.contains("wip(session 1)"), "{bases}");
        let base = project.git(["for-each-ref", "--sort=-committerdate", "refs/longhaul/base", "--format=%(refname)"]);
        assert!(base.lines().any(|base| project.git(["ls-tree", "--name-only", base]).contains("half")), "{base}");
    }
}

/// A check that passes on a commit beside the branch proves nothing for the branch.
#[test]
fn e21_a_detached_commit_beside_the_branch_proves_nothing() {
    let beside = "git checkout -q --detach HEAD~1; touch f; git add f; git commit -qm stray";
    let project = Project::ready();
    project.write("more", "more\n");
    project.git(["add", "more"]);
    project.git(["commit", "-qm", "second"]);
    let project = project.feature("f", "test -f f").model([runs(beside)]);

    project.run(["run", "--sessions", "1"]).exits(3);

    assert_eq!(project.status("f"), "open");
}

/// E21 when the session is killed there.
#[test]
fn e21_commits_on_a_detached_head_outlive_a_kill() {
    let strays = "git checkout -q --detach; echo 1 > f1; git add f1; git commit -qm stray; echo half > half";
    let project = Project::ready().feature("f", "test -f f").model([runs_and_hangs(strays), runs("touch f")]);
    killed(&project);

    project.run(["run"]).exits(0).tells("was cut off on a detached HEAD; `main` has its commits now");

    let log = "wip(session 2)\nwip(session 1, interrupted)\nstray\nfirst";
    assert_eq!(project.git(["log", "--format=%s", "main"]), log);
}

/// After a kill somebody else may have moved HEAD: to what is on another branch, `main` is not moved.
#[test]
fn e21_a_head_that_a_person_detached_after_a_kill_is_left_where_it_is() {
    let project = Project::ready();
    project.git(["branch", "release"]);
    project.git(["checkout", "-q", "release"]);
    project.git(["commit", "-q", "--allow-empty", "-m", "release"]);
    project.git(["checkout", "-q", "main"]);
    let project = project.feature("f", "test -f f").model([runs_and_hangs("true")]);
    killed(&project);
    project.git(["checkout", "-q", "--detach", "release"]);

    project.run(["run"]).exits(2).tells("was cut off on a detached HEAD").tells("git switch");

    assert_eq!(project.git(["log", "-1", "--format=%s", "main"]), "first");
    assert_eq!(project.git(["rev-parse", "HEAD"]), project.git(["rev-parse", "release"]));
}

/// E22: commits landed on the wrong branch, and nothing was said of the switch.
#[test]
fn e22_a_branch_that_the_run_did_not_begin_on_is_not_moved() {
    let project = Project::ready().feature("f", "test -f f");
    project.git(["branch", "release"]);
    let project = project.model([runs("git checkout -q release; touch f; echo more >> README"), runs("touch f")]);
    let before = project.git(["rev-parse", "release"]);

    let run = project.run(["run"]);

    run.exits(4).tells("the run began on `main`, and a session left it for `release`").tells("git switch main");
    run.tells("`README` was left out of the commit");
    assert_eq!(project.git(["rev-parse", "release"]), before);
    assert_eq!(project.git(["rev-parse", "main"]), before);
    assert_eq!(project.git(["status", "--porcelain"]), "M README\n?? f");
    assert_eq!(project.status("f"), "open");
    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains("began on `main` and ended on `release`"));
}

/// E22: a branch of the session's own takes its work, and the switch is told.
#[test]
fn e22_a_branch_of_the_sessions_own_takes_its_work_and_is_told() {
    let own = "git checkout -q -b feature-f; touch f";
    let project = Project::ready().feature("f", "test -f f").model([runs(own)]);

    project.run(["run"]).exits(0).tells("began on `main` and ended on `feature-f`");

    assert_eq!(project.git(["log", "--format=%s", "main"]), "first");
    assert_eq!(project.git(["log", "-1", "--format=%s", "feature-f"]), "wip(session 1)");
}

/// E24: the registration of a worktree that was gone blocked the next run.
#[test]
fn e24_a_worktree_that_was_removed_by_hand_blocks_nothing() {
    let project =
        Project::ready().feature("f", "test -f f").model([runs_and_hangs("echo half > half"), runs("touch f")]);
    let worktree = project.root().join("../worktree");
    project.git(["worktree", "add", "-q", "-b", "side", worktree.to_str().unwrap()]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_longhaul"))
        .args(["run"])
        .current_dir(&worktree)
        .env_clear()
        .envs(project.environment())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&worktree).unwrap();

    project.run(["run"]).exits(0).tells("session 1 was interrupted");

    assert_eq!(project.status("f"), "proven");
}

/// E25: a restore wiped uncommitted changes without a word.
#[test]
fn e25_what_a_person_has_not_committed_is_never_wiped() {
    let project =
        Project::ready().feature("f", "test -f f").model([runs_and_hangs("echo half > half"), runs("touch f")]);
    project.write("README", "mine\n");
    project.write("notes.txt", "mine too\n");
    project.run(["run"]).exits(2).tells("`README`");
    assert_eq!((project.read("README"), project.read("notes.txt")), ("mine\n".to_owned(), "mine too\n".to_owned()));

    project.git(["commit", "-qam", "mine"]);
    killed(&project);
    project.write("README", "mine, after the crash\n");
    project.run(["run"]).exits(0);

    assert_eq!(project.read("README"), "mine, after the crash\n");
    assert_eq!(project.git(["show", "HEAD~1:README"]), "mine, after the crash");
    assert_eq!(project.git(["show", "HEAD~1:half"]), "half");
    assert_eq!(project.read("notes.txt"), "mine too\n");
    assert_eq!(project.git(["status", "--porcelain"]), "?? notes.txt");
}

/// E27: edits in nested repositories were never committed and reported as clean.
#[test]
fn e27_a_repository_inside_the_project_is_told_and_nothing_is_proven_on_it() {
    let nested = "git init -q sub; echo 1 > sub/x; git -C sub add x; git -C sub commit -qm x; echo 2 > sub/x; touch f";
    let project = Project::ready().feature("f", "test -f f && test -f sub/x").model([runs(nested)]);

    project
        .run(["run", "--sessions", "1"])
        .exits(3)
        .tells("`sub/` was left out of the commit: it is a git repository of its own");

    assert_eq!(project.status("f"), "open");
    project.run(["run"]).exits(2).tells("git repositories of their own").tells("`sub");
    assert_eq!(project.read("sub/x"), "2\n");
}

/// E28: adding a path inside a submodule destroyed the entry that points to it.
#[test]
fn e28_a_submodule_with_changes_stays_a_submodule() {
    let project = Project::with_submodule();
    let link = project.git(["ls-tree", "HEAD", "lib"]);
    let project = project.feature("f", "test -f f").model([runs("echo 1 > lib/inside; touch f")]);

    project.run(["run"]).tells("`lib`");

    assert!(link.starts_with("160000 commit "), "{link}");
    assert_eq!(project.git(["ls-tree", "HEAD", "lib"]), link);
    assert_eq!(project.git(["ls-files", "-s", "lib"]).lines().count(), 1);
    assert_eq!(project.read("lib/inside"), "1\n");
}

/// E29: a nested repository without commits made every `add -A` fail.
#[test]
fn e29_a_nested_repository_without_commits_and_with_an_odd_name_stops_no_commit() {
    let nested = "git init -q 'ne\nst'; git init -q plain; echo 1 > plain/x; touch f; echo more >> README";
    let project = Project::ready().feature("f", "test -f f").model([runs(nested)]);

    project.run(["run", "--sessions", "1"]).exits(0).tells("a git repository of its own");

    assert_eq!(project.git(["show", "--name-only", "--format=%s"]), "wip(session 1)\n\nREADME\nf");
    // What was tested is the commit, without them.
    assert_eq!(project.status("f"), "proven");
}
