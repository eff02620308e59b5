//! What a session lays into the git folder and no git would: links that lead our own hand out of the project, pipes that are
//! waited for, files that stand in the way.

use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use serde_json::json;
use std::fs;
use std::path::PathBuf;

const TOLD: &str = "no git puts this into its folder, so it was moved to";

fn ready(work: &str) -> Project {
    Project::ready().feature("a", "test -f a").model([session([reply([bash(work)]), reply([hand_over()])])])
}

/// Makes a folder beside the project with one file in it.
fn outside(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, "of the host\n").unwrap();
    (folder, file)
}

#[test]
fn no_link_in_place_of_refs_leads_to_files_of_the_host() {
    let (folder, file) = outside("their.lock");
    let host = folder.path().display().to_string();
    for work in [
        format!("mv .git/refs .git/old; ln -s {host} .git/refs"),
        format!("ln -s {host} .git/refs/heads/k; mkdir .git/refs/heads/k.lock"),
        format!("mkdir .git/logs/refs/heads/x; ln -s {host} .git/logs/refs/heads/x/k"),
    ] {
        let project = ready(&format!("touch a; git add a; git commit -qm work; {work}"));

        project.run(["run"]).exits(0).tells(TOLD);

        assert_eq!(fs::read_to_string(&file).unwrap(), "of the host\n", "{work}");
        assert!(!project.state().join("outputs/their.lock").exists(), "{work}");
        assert_eq!(project.git(["log", "--format=%s", "main"]), "work\nfirst", "{work}");
    }
}

#[test]
fn a_branch_that_lies_behind_a_link_is_not_set_back_over_a_file_of_the_host() {
    let (folder, file) = outside("authorized_keys");
    let host = folder.path().display();
    let work = format!(
        "touch a; git add a; git commit -qm work; ln -s {host} .git/refs/heads/k; mkdir -p .git/logs/refs/heads/k; \
         cp .git/logs/HEAD .git/logs/refs/heads/k/authorized_keys; echo 'ref: refs/heads/k/authorized_keys' > .git/HEAD"
    );
    let project = ready(&work);

    project.run(["run"]).tells(TOLD);

    assert_eq!(fs::read_to_string(&file).unwrap(), "of the host\n");
    assert!(!project.state().join("outputs/authorized_keys").exists());
    assert!(project.state().join("outputs/k").is_symlink());
}

#[test]
fn what_would_be_waited_for_or_never_ends_holds_up_nothing() {
    for path in ["shallow", "objects/info/alternates", "objects/info/commit-graph", "MERGE_HEAD", "info/exclude"] {
        let project = ready(&format!("touch a; git add a; git commit -qm work; rm -f .git/{path}; mkfifo .git/{path}"));
        project.run(["run"]).exits(0).tells(TOLD).tells(path);
        assert_eq!(project.git(["log", "--format=%s", "main"]), "work\nfirst", "{path}");
    }
    for shallow in ["echo zz > .git/shallow", "ln -s /dev/zero .git/shallow", "mkdir .git/shallow"] {
        let project = ready(&format!("touch a; git add a; git commit -qm work; {shallow}"));
        project.run(["run"]).exits(0).tells(TOLD).tells("/shallow`");
    }
}

/// Makes a pipe below the project, in place of what is there.
fn pipe(path: &str) -> String {
    format!("mkdir -p $(dirname {path}); rm -rf {path}; mkfifo {path}")
}

/// Git itself reads these, and waits: that it does is the twin.
const WAITED_FOR: [&str; 5] = [
    ".gitignore",
    "s/.gitattributes",
    "n/.git/HEAD",
    ".git/index",
    ".git/objects/info/commit-graphs/commit-graph-chain",
];

#[test]
fn a_pipe_that_git_waits_for_holds_up_no_session_and_no_check_in_one() {
    for path in WAITED_FOR {
        let work = "mkdir -p s; touch a s/x; git init -q n; git add a s; git commit -qm work";
        let waits = "timeout 1 sh -c 'git status >/dev/null && git log --format=%s main >/dev/null && git check-attr text s/x >/dev/null'; echo git: $?";
        let work = format!("{work}; {}; {waits}", pipe(path));
        let checks = reply([bash(&work), call("check", json!({}))]);
        let project = Project::ready().feature("a", "test -f a").model([session([checks, reply([hand_over()])])]);

        project.run(["run"]).exits(0).tells(path).tells("so it was moved to");

        let results = project.played().results_in(2);
        assert!(results.contains("git: 124"), "{path}: {results}");
        assert!(results.contains(&format!("{path}` is a pipe or a device")), "{path}: {results}");
    }
}

#[test]
fn a_pipe_that_a_killed_run_left_is_named_by_commands_that_look_and_moved_by_a_run() {
    for path in ["objects/info/alternates", "objects/pack/multi-pack-index", "refs/heads/main", "packed-refs", "index"]
    {
        let project = ready("touch a; git add a; git commit -qm work");
        let path = format!(".git/{path}");
        let planted = std::process::Command::new("sh").args(["-c", &pipe(&path)]).current_dir(project.root()).status();
        assert!(planted.unwrap().success());

        for command in [&["status"][..], &["show", "a"]] {
            project.run(command).exits(7).shows("is a pipe or a device").shows(&path).shows("`longhaul run`");
        }
        project.run(["doctor"]).exits(1).prints("is a pipe or a device");
        project.run(["run"]).exits(0).tells(&path).prints("done: 1 feature proven");
        project.run(["status"]).exits(0);
    }
}

/// These are read before anything can be mended.
#[test]
fn a_pipe_that_would_be_read_as_soon_as_the_repository_is_opened_is_named() {
    for path in ["config", "shallow", "commondir", "info/grafts"] {
        let project = ready("touch a");
        let path = format!(".git/{path}");
        let planted = std::process::Command::new("sh").args(["-c", &pipe(&path)]).current_dir(project.root()).status();
        assert!(planted.unwrap().success());
        for command in ["status", "run", "init"] {
            project.run([command]).exits(7).shows(&path).shows("is a pipe or a device").shows("rm '");
        }
    }
}

#[test]
fn a_pipe_in_place_of_an_object_is_a_commit_that_cannot_be_read() {
    let project = ready(
        "touch a; git add a; git commit -qm work; tree=$(git rev-parse HEAD^{tree}); \
         file=.git/objects/$(echo $tree | cut -c1-2)/$(echo $tree | cut -c3-); rm -f $file; mkfifo $file",
    );
    project.run(["run"]).exits(0).tells(TOLD).tells("/objects/").tells("the branch `main` could not be read");
}

#[test]
fn a_check_within_a_session_tells_of_a_list_that_is_none_and_not_what_is_in_there() {
    let (_folder, file) = outside("secret");
    let link = format!("ln -s {} .git/shallow", file.display());
    let list = "git rev-parse HEAD > .git/shallow".to_owned();
    for (work, is_list) in [(link, false), ("mkfifo .git/shallow".to_owned(), false), (list, true)] {
        let work = reply([bash(&format!("touch a; {work}")), call("check", json!({}))]);
        let project = Project::ready().feature("a", "test -f a").model([session([work, reply([hand_over()])])]);

        project.run(["run"]).exits(0);

        let results = project.played().results_in(2);
        assert_eq!(results.contains("is no list of commits"), !is_list, "{results}");
        assert!(!results.contains("of the host"), "{results}");
    }
}

#[test]
fn a_file_in_place_of_the_folder_of_our_own_refs_is_moved_away() {
    for work in
        ["rm -rf .git/refs/longhaul; echo x > .git/refs/longhaul", "rm -rf .git/refs/tags; touch .git/refs/tags"]
    {
        let project = ready(&format!("touch a; git add a; git commit -qm work; git checkout -q HEAD~1; {work}"));
        project.run(["run"]).exits(0).tells(TOLD);
        assert!(!project.git(["for-each-ref", "refs/longhaul/base"]).is_empty(), "{work}");
    }
}

#[test]
fn a_bisect_that_was_left_open_is_ended_on_the_way_back_to_the_branch() {
    let project = ready(
        "for i in 1 2 3 4; do git commit -q --allow-empty -m $i; done; touch a; git add a; git commit -qm work; \
         git bisect start HEAD HEAD~4",
    );

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["symbolic-ref", "--short", "HEAD"]), "main");
    assert!(!project.root().join(".git/BISECT_LOG").exists());
    assert_eq!(project.git(["for-each-ref", "refs/bisect"]), "");
}

/// git writes through such a link, and so does the person's next commit.
fn no_link_is_written_through(project: Project) {
    let (_folder, file) = outside("victim");
    let names =
        ["COMMIT_EDITMSG", "FETCH_HEAD", "MERGE_MSG", "ORIG_HEAD", "gc.log", "rr-cache", "info/sparse-checkout"];
    let links = names.map(|name| format!("ln -sf {} .git/{name}", file.display())).join("; ");
    let work = format!("git worktree add -q --detach ../beside; {links}; ln -s $PWD/x .git/lfs; touch a");
    let work = format!("{work}; ln -s {} .git/worktrees/beside/COMMIT_EDITMSG", file.display());
    let project = project.feature("a", "test -f a").model([session([reply([bash(&work)]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).tells(TOLD).tells("COMMIT_EDITMSG");

    project.git(["commit", "-q", "--allow-empty", "-m", "mine"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "of the host\n");
    assert_eq!(project.git(["log", "--format=%s", "main"]), "mine\nwip(session 1)\nfirst");
    let git = project.root().join(".git");
    assert!(!names.iter().any(|name| git.join(name).is_symlink()), "all are gone");
    assert!(!git.join("worktrees/beside/COMMIT_EDITMSG").is_symlink());
    assert!(git.join("lfs").is_symlink(), "a link that is a person's own stays");
}

#[test]
fn no_commit_writes_through_a_link_in_the_git_folder() {
    no_link_is_written_through(Project::ready());
}

#[test]
fn no_commit_writes_through_a_link_in_the_git_folder_in_bubblewrap() {
    if runs_here("bwrap") {
        no_link_is_written_through(Project::ready().sandboxed());
    }
}

#[test]
fn a_folder_in_place_of_a_file_that_git_writes_stops_no_commit() {
    for work in [
        "rm -f .git/COMMIT_EDITMSG; mkdir -p .git/COMMIT_EDITMSG/x",
        "rm -rf .git/logs; echo x > .git/logs",
        "rm -rf .git/logs/HEAD; mkdir -p .git/logs/HEAD/x",
        "rm -f .git/info/exclude; mkdir .git/info/exclude",
        "rm -f .git/index; mkdir .git/index",
    ] {
        let project = ready(&format!("touch a; {work}"));
        project.run(["run"]).exits(0).tells(TOLD);
        assert_eq!(project.git(["log", "--format=%s", "main"]), "wip(session 1)\nfirst", "{work}");
    }
}
