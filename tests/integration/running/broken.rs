//! A repository that a command or a crash left broken: what git itself refuses to work with stops no run.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;
use std::fs;
use std::process::Command;

/// What destroys a repository with a commit on `main`, and what is told of its repair.
const DAMAGES: [(&str, &str); 19] = [
    ("echo garbage > .git/index", "the index of the project could not be read"),
    (": > .git/index", "the index of the project could not be read"),
    ("head -c 40 .git/index > i; mv i .git/index", "the index of the project could not be read"),
    ("rm .git/index; mkfifo .git/index", "the index of the project could not be read"),
    ("rm .git/index; mkdir .git/index", "the index of the project could not be read"),
    ("echo garbage > .git/HEAD", "HEAD of the project could not be read; it names `main` again"),
    (": > .git/HEAD", "HEAD of the project could not be read; it names `main` again"),
    ("rm .git/HEAD; mkfifo .git/HEAD", "HEAD of the project could not be read; it names `main` again"),
    ("truncate -s 3G .git/HEAD", "HEAD of the project could not be read; it names `main` again"),
    ("echo 0123456789012345678901234567890123456789 > .git/HEAD", "HEAD of the project could not be read"),
    ("git pack-refs --all; echo garbage >> .git/packed-refs", "the packed branches could not be read"),
    ("echo garbage > .git/packed-refs", "the packed branches could not be read"),
    ("echo > .git/packed-refs", "the packed branches could not be read"),
    ("git pack-refs --all; rm -rf .git/refs", "the folder of branches was gone"),
    ("echo garbage > .git/refs/heads/main", "the branch `main` could not be read"),
    (": > .git/refs/heads/main", "the branch `main` could not be read"),
    ("git checkout -q --detach; echo garbage > .git/refs/heads/main", "the branch `main` could not be read"),
    ("rm .git/refs/heads/main", "the branch `main` could not be read"),
    ("rm .git/refs/heads/main; mkfifo .git/refs/heads/main", "the branch `main` could not be read"),
];

fn shell(project: &Project, text: &str) {
    let status = Command::new("sh").args(["-ec", text]).current_dir(project.root()).status().unwrap();
    assert!(status.success(), "{text}");
}

/// Tells whether git itself would work there.
fn git_works(project: &Project) -> bool {
    ["git log", "git add README"].iter().all(|text| {
        let mut git = Command::new("timeout");
        git.args(["2", "sh", "-c", text]).current_dir(project.root()).env_clear().envs(project.environment());
        git.output().unwrap().status.success()
    })
}

#[test]
fn what_a_session_destroys_of_the_repository_is_made_again_and_its_work_counts() {
    for (number, (damage, told)) in DAMAGES.into_iter().enumerate() {
        let work = format!("touch a; git add a; git commit -qm work; touch left; {damage}");
        let project =
            Project::ready().feature("a", "test -f a").model([session([reply([bash(&work)]), reply([hand_over()])])]);
        let project = if number % 2 == 0 { project } else { project.sandboxed() };

        project.run(["run"]).exits(0).tells(told);

        assert_eq!(project.git(["log", "--format=%s", "main"]), "wip(session 1)\nwork\nfirst", "{damage}");
        assert_eq!(project.git(["status", "--porcelain", "--branch"]), "## main", "{damage}");
        assert!(project.memory_git(["show", "HEAD:progress.md"]).contains(told), "{damage}");
    }
}

#[test]
fn what_a_crash_destroys_of_the_repository_is_made_again_by_the_next_command() {
    for (number, (damage, told)) in DAMAGES.into_iter().enumerate() {
        // Those git does not even take for a repository any more, and with a detached HEAD it works.
        if damage.contains("HEAD; mkfifo") || damage.contains("-rf .git/refs") || damage.contains("--detach") {
            continue;
        }
        let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b");
        let project = project.model([makes("a"), makes("b")]);
        project.run(["run", "--sessions", "1"]).exits(3);
        assert!(git_works(&project));
        shell(&project, damage);
        assert!(!git_works(&project), "{damage} destroys nothing");

        let run = if number % 2 == 0 { project.run(["run"]) } else { project.run(["check", "a"]) };

        run.exits(0).tells(told);
        assert!(git_works(&project), "{damage}");
        project.run(["run"]).exits(0);
        assert_eq!(project.git(["log", "--format=%s", "main"]), "wip(session 2)\nwip(session 1)\nfirst", "{damage}");
    }
}

#[test]
fn what_was_found_is_kept_and_what_only_looks_says_how_it_is_mended() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.run(["run"]).exits(0);
    shell(&project, "echo one > .git/index; echo two > .git/refs/heads/main");

    project.run(["status"]).exits(7).tells("the commit at HEAD of the project cannot be read").tells("`longhaul run`");
    project.run(["doctor"]).shows("`longhaul run`");
    assert_eq!(project.read(".git/index"), "one\n");

    project.run(["run"]).exits(0);
    assert_eq!(project.read(".git/longhaul/outputs/index"), "one\n");
    assert_eq!(project.read(".git/longhaul/outputs/main"), "two\n");
}

#[test]
fn a_check_within_a_session_that_broke_the_repository_is_told_and_ends_nothing() {
    for (damage, told) in [("index", "the index of the project cannot be read"), ("HEAD", "the commit at HEAD")] {
        let project = Project::ready().feature("a", "test -f a").model([session([
            reply([bash(&format!("touch a; echo garbage > .git/{damage}")), call("check", json!({}))]),
            reply([hand_over()]),
        ])]);

        project.run(["run"]).exits(0);

        let results = project.played().results_in(2);
        assert!(results.contains(&format!("the check cannot run: {told}")), "{results}");
    }
}

#[test]
fn a_git_folder_that_is_none_any_more_is_told_and_is_no_part_of_the_project_around_it() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    Command::new("git").args(["init", "-q"]).current_dir(project.root().join("..")).status().unwrap();
    shell(&project, "rm .git/HEAD");

    for command in ["run", "status", "check"] {
        project.run([command]).exits(7).tells("is no git folder any more").tells("ref: refs/heads/BRANCH");
    }
    project.run(["doctor"]).exits(1).prints("is no git folder any more");
    assert!(!project.root().join("../.git/longhaul").exists());

    project.write(".git/HEAD", "ref: refs/heads/main\n");
    project.run(["run"]).exits(0);
}

#[test]
fn a_history_that_a_session_deleted_ends_the_run_with_what_is_left_and_the_way_on() {
    let deletes = session([reply([bash("touch b; rm -rf .git/objects")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b && test -f c");
    let project = project.model([makes("a"), deletes, makes("c")]);

    let gone = "/.git/objects` is gone, and with it the commits of the project";
    project.run(["run"]).exits(7).tells(gone).tells("and longhaul's memory are still there").hides("usage: git diff");
    let run = project.run(["status"]);
    run.exits(7).tells(gone);

    let (_, way_on) = run.stderr.split_once("a new history of the files: `").unwrap();
    shell(&project, way_on.split_once("`\n").unwrap().0);
    project.run(["run"]).exits(0).prints("done: 2 features proven");
}

#[test]
fn a_head_of_which_nothing_is_known_is_left_as_it_is() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.run(["run"]).exits(0);
    project.git(["checkout", "-q", "-b", "other"]);
    project.write("mine", "mine\n");
    project.git(["add", "mine"]);
    project.git(["commit", "-qm", "mine"]);
    project.write(".git/HEAD", "garbage\n");

    // The session began on `main`, and a person went elsewhere since.
    let run = project.run(["run"]);

    run.exits(7).tells("it is not known which branch it named").tells("`main`, `other`");
    assert_eq!(project.read(".git/HEAD"), "garbage\n");
    project.write(".git/HEAD", "ref: refs/heads/other\n");
    project.run(["run"]).exits(0);
}

#[test]
fn files_that_a_sparse_checkout_leaves_out_are_not_deleted_by_a_new_index() {
    let breaks = "touch a; echo garbage > .git/index";
    let project = Project::new();
    project.write("left/out", "left out\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "more"]);
    project.git(["sparse-checkout", "set", "--no-cone", "/*", "!left/"]);
    project.run(["init"]).exits(0);
    let project = project.feature("a", "test -f a").model([session([reply([bash(breaks)]), reply([hand_over()])])]);
    assert!(!project.root().join("left").exists());

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["show", "--name-status", "--format=%s"]), "wip(session 1)\n\nA\ta");
}

/// Of these libgit2 reads only some.
#[test]
fn an_index_of_another_form_is_left_as_it_is() {
    let forms =
        ["update-index --split-index", "sparse-checkout set --cone --sparse-index src", "config index.skipHash true"];
    for form in forms {
        let project = Project::new();
        for name in ["src/a", "other/b", "other/c"] {
            project.write(name, "text\n");
        }
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "more"]);
        project.run(["init"]).exits(0);
        let project = project.feature("a", "test -f src/done").model([makes("src/done")]);
        project.write("src/a", "other text\n");
        shell(&project, &format!("git {form} && git -c user.name=a -c user.email=a commit -qam other"));

        project.run(["run"]).exits(0).hides("the index");

        assert_eq!(project.git(["status", "--porcelain"]), "", "{form}");
    }
}

#[test]
fn locks_of_any_kind_are_moved_out_of_the_way() {
    let locks = "touch a; mkfifo .git/index.lock; mkdir .git/refs/heads/main.lock; touch .git/HEAD.lock";
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(locks)]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).tells("had left `index.lock`").tells("had left `main.lock`").tells("`HEAD.lock`");

    assert!(fs::symlink_metadata(project.state().join("outputs/main.lock")).unwrap().is_dir());
}
