//! The user's repository: what a run needs of it, and what it leaves there.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use std::os::unix::ffi::OsStrExt;

#[test]
fn a_dirty_tree_is_refused_and_untracked_files_are_not() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.write("notes.txt", "mine\n");
    project.write("README", "changed\n");

    project.run(["run"]).exits(2).tells("`README`").tells("git stash -u");

    project.git(["checkout", "-q", "README"]);
    project.run(["run"]).exits(0).tells("notes.txt");
    assert_eq!(project.git(["status", "--porcelain"]), "?? notes.txt");
}

#[test]
fn a_dirty_tree_is_committed_first_when_the_person_asks_for_it() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.write("notes.txt", "mine\n");
    project.write("README", "changed\n");
    project.write("staged", "new\n");
    project.git(["add", "staged"]);

    project.run(["run", "--include-dirty"]).exits(0);

    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1)\nwip(before session 1)\nfirst");
    assert_eq!(project.git(["show", "--name-only", "--format=%an", "HEAD~1"]), "Ada\n\nREADME\nstaged");
    assert_eq!(project.git(["status", "--porcelain"]), "?? notes.txt");
    // With nothing to commit it changes nothing.
    project.run(["run", "--include-dirty"]).exits(0);
    assert_eq!(project.git(["log", "--format=%s"]).lines().count(), 3);
}

#[test]
fn a_merge_with_conflicts_is_not_committed_for_anybody() {
    let project = Project::ready().feature("a", "test -f a").model([]);
    project.git(["checkout", "-q", "-b", "other"]);
    project.write("README", "theirs\n");
    project.git(["commit", "-qam", "theirs"]);
    project.git(["checkout", "-q", "main"]);
    project.write("README", "ours\n");
    project.git(["commit", "-qam", "ours"]);
    project.git(["-c", "alias.try=!git merge -q other || true", "try"]);

    project.run(["run", "--include-dirty"]).exits(2).tells("a merge is not finished").tells("`README`");

    assert_eq!(project.git(["log", "-1", "--format=%s"]), "ours");
}

#[test]
fn an_untracked_file_that_the_session_changed_is_part_of_its_work() {
    let edits = session([reply([bash("echo more >> draft.sh; touch a")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([edits]);
    project.write("draft.sh", "echo\n");
    project.write("notes.txt", "mine\n");

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["show", "--name-only", "--format=%s"]), "wip(session 1)\n\na\ndraft.sh");
    assert_eq!(project.git(["status", "--porcelain"]), "?? notes.txt");
}

#[test]
fn a_file_that_the_session_took_away_with_git_is_taken_out_by_the_commit() {
    let project = Project::ready();
    project.write("old", "old\n");
    project.write("kept", "kept\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "files"]);
    let removes = session([reply([bash("git rm -q old; git mv kept moved; touch a")]), reply([hand_over()])]);
    let project = project.feature("a", "test -f a && test ! -e old").model([removes]);

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["ls-files"]), "README\na\nmoved");
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

#[test]
fn a_session_that_destroys_the_commit_it_began_on_is_told_and_its_work_counts() {
    let destroys = "touch a; git checkout -q --orphan new; git add -A; git commit -qm all; git branch -M new main; \
        git for-each-ref --format='delete %(refname)' refs/longhaul | git update-ref --stdin; \
        git reflog expire --expire=now --all; git gc -q --prune=now";
    let rewrites = session([reply([bash(destroys)]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([rewrites]);

    project.run(["run"]).exits(0).tells("it is gone from the repository too");

    assert_eq!(project.git(["log", "--format=%s"]), "all");
}

#[test]
fn a_detached_head_is_refused_with_the_way_out() {
    let project = Project::ready().feature("a", "test -f a").model([]);
    project.git(["checkout", "-q", "--detach"]);

    project.run(["run"]).exits(2).tells("detached").tells("git switch -c");
}

#[test]
fn git_clean_and_stash_lose_nothing_of_ours() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.run(["run"]).exits(0);
    let head = project.memory_git(["rev-parse", "HEAD"]);

    project.git(["clean", "-fdqx"]);
    assert!(!project.view().exists());
    project.run(["run"]).exits(0);
    assert!(project.view().join("features.json").exists());

    project.write("x", "x");
    project.git(["stash", "-q", "-a"]);
    assert_eq!(project.status("a"), "proven");
    assert_eq!(project.memory_git(["rev-parse", "HEAD"]), head);
}

/// T12 for the project.
#[test]
fn a_session_that_rewrites_history_is_told_and_loses_nothing() {
    let resets = bash("git reset -q --hard HEAD~1; touch a");
    let project = Project::ready().feature("a", "test -f a");
    project.write("mine", "work of a person\n");
    project.git(["add", "mine"]);
    project.git(["commit", "-qm", "mine"]);
    let mine = project.git(["rev-parse", "HEAD"]);
    let project = project.model([session([reply([resets]), reply([hand_over()])])]);

    project.run(["run"]).tells("out of the branch");

    assert!(project.git(["for-each-ref", "refs/longhaul/base", "--format=%(objectname)"]).contains(&mine));
}

#[test]
fn changes_inside_a_submodule_end_no_run_and_prove_nothing() {
    let project = Project::with_submodule();
    let inside = session([reply([bash("touch lib/inside more")]), reply([hand_over()])]);
    let project = project.feature("a", "test -f lib/inside").model([inside]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("left out of the session's commit: `lib`");
    assert_eq!(project.status("a"), "open");
    // It is there, it is told, and it is in nobody's way.
    project.run(["check", "--all"]).tells("changes inside submodules stay where they are: `lib`");
}

#[test]
fn a_variable_of_git_does_not_lead_to_another_repository() {
    let other = Project::new();
    let before = other.git(["rev-parse", "HEAD"]);
    let elsewhere = other.root().join(".git");
    let project =
        Project::ready().feature("a", "test -f a").model([makes("a")]).variable("GIT_DIR", elsewhere.to_str().unwrap());

    project.run(["run"]).exits(0);

    assert_eq!(other.git(["rev-parse", "HEAD"]), before);
}

#[test]
fn files_taken_out_of_the_index_end_no_session_with_an_error() {
    let command = "touch a; git add .; git commit -qm a; git rm -q --cached README";
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(command)]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains("agent: done: worked on it"));
}

#[test]
fn amended_work_is_in_the_progress_entry() {
    let amend = bash("touch a; git add a; git commit -q --amend -m better");
    let project = Project::ready().feature("a", "test -f a").model([session([reply([amend]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    let head = project.git(["rev-parse", "--short=7", "HEAD"]);
    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains(&format!("project commits: {head}")));
}

#[test]
fn a_commit_of_a_submodule_that_was_not_pushed_is_told_with_the_result() {
    let work = "cd lib; touch a; git add -A; git commit -qm inner; cd ..; git add lib; git commit -qm lib; git -C lib";
    for (then, told) in [("status", true), ("push -q origin HEAD:refs/heads/work", false)] {
        for project in [Project::with_submodule(), Project::with_submodule().in_place()] {
            let plays = session([reply([bash(&format!("{work} {then}"))]), reply([hand_over()])]);
            let project = project.feature("a", "test -f lib/a").model([plays]);

            project.run(["run"]).exits(0);

            let disclosed = project.stored("a")["evidence"]["disclosed"].to_string();
            let text = "not pushed, so that no clone of the project gets it: the commit of the submodule `lib`";
            assert_eq!(disclosed.contains(text), told, "{then}: {disclosed}");
        }
    }
}

#[test]
fn a_submodule_that_is_told_to_be_ignored_is_looked_at_all_the_same() {
    let project = Project::with_submodule();
    let hides = bash("git config submodule.lib.ignore all; touch lib/inside more");
    let project = project.feature("a", "test -f lib/inside").model([session([reply([hides]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("left out of the session's commit: `lib`");
}

#[test]
fn a_session_that_leaves_its_branch_is_told_and_its_commits_are_kept() {
    let strays = bash("git checkout -q --detach && touch a && git add a && git commit -qm stray");
    let project = Project::ready().feature("a", "test -f b").model([session([reply([strays]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("began on `main` and ended on a detached HEAD");

    assert_eq!(project.git(["log", "--format=%s", "main"]), "stray\nfirst");
    assert_eq!(project.git(["rev-parse", "--abbrev-ref", "HEAD"]), "main");
}

/// Shell text that makes a repository inside the project whose settings run a program whenever git looks at it, and the
/// mark that this program leaves outside of the project.
fn reaching_out(project: &Project) -> (String, std::path::PathBuf) {
    let mark = project.home().join("reached");
    let plant = format!(
        "git init -q sub && echo one > sub/file && git -C sub add file && git -C sub commit -qm x && \
         git add sub 2>/dev/null; echo '* filter=reach' > sub/.gitattributes; \
         git -C sub config filter.reach.clean 'touch \"{}\"; cat'; echo two > sub/file; touch a",
        mark.display()
    );
    (plant, mark)
}

/// Plays an agent that makes such a repository; tells whether its program reached a folder outside of the project.
fn settings_of_a_nested_repository_reach_out(project: Project) -> bool {
    let (plant, mark) = reaching_out(&project);
    let project = project.feature("a", "test -f a").model([session([reply([bash(&plant)]), reply([hand_over()])])]);
    project.run(["run", "--sessions", "1"]);
    assert!(project.root().join("sub/file").exists(), "the agent did its part");
    mark.exists()
}

/// T14.
#[test]
fn settings_of_a_nested_repository_run_nothing_outside_of_the_sandbox() {
    assert!(!settings_of_a_nested_repository_reach_out(Project::ready().sandboxed()));
    assert!(settings_of_a_nested_repository_reach_out(Project::ready()), "in plain mode they do, as the README says");
}

/// Every command that has git look at the project, not only `run`. The twin: in plain mode they reach out.
#[test]
fn no_command_runs_settings_of_a_nested_repository_outside_of_the_sandbox() {
    let features = r#"{"features": [{"id": "b", "title": "b", "check": {"run": "test -f b"}}]}"#;
    let commands: [&[&str]; 4] =
        [&["doctor"], &["init", "--from", "../features.json"], &["check", "--all"], &["run", "--sessions", "1"]];
    for command in commands {
        let reaches = |project: Project| {
            project.write("../features.json", features);
            if command[0] != "init" {
                project.run(["init", "--from", "../features.json"]).exits(0);
            }
            let (plant, mark) = reaching_out(&project);
            let mut planted = std::process::Command::new("sh");
            planted.args(["-c", &plant]).current_dir(project.root()).env_clear();
            assert!(planted.envs(project.environment()).status().unwrap().success());
            std::fs::remove_file(&mark).ok();
            project.run(command);
            mark.exists()
        };
        assert!(!reaches(Project::new().sandboxed()), "{command:?}");
        assert!(reaches(Project::new()), "{command:?} has git look at the project");
    }
}

/// The initializer's session is one too.
#[test]
fn an_initializer_session_has_its_git_held() {
    let reaches = |project: Project| {
        project.write("../SPEC.md", "A file a.\n");
        let (plant, mark) = reaching_out(&project);
        let project = project.model([session([reply([bash(&plant)]), reply([hand_over()])])]);
        project.run(["init", "--spec", "../SPEC.md"]);
        assert!(project.root().join("sub/file").exists(), "the agent did its part");
        mark.exists()
    };
    assert!(!reaches(Project::new().sandboxed()));
    assert!(reaches(Project::new()), "in plain mode they do, as the README says");
}

/// A program in the project is never taken for the machine's, wherever the folder stands on the PATH.
#[test]
fn doctor_starts_no_program_of_the_projects() {
    let project = Project::ready();
    let folder = project.root().join("bin");
    project.write("bin/git", "#!/bin/sh\ntouch ../started\nexec /usr/bin/git \"$@\"\n");
    let git = folder.join("git");
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.canonicalize().unwrap().display(), std::env::var("PATH").unwrap());
    let project = project.variable("PATH", &path);

    project.run(["doctor"]).exits(0);
    assert!(!project.root().join("../started").exists());

    project.git(["status"]);
    assert!(project.root().join("../started").exists(), "it would have been found first");
}

/// T38 for the project.
#[test]
fn a_lock_that_a_killed_git_left_stops_no_run_and_is_kept() {
    for project in [Project::ready(), Project::ready().sandboxed()] {
        let lock = "cp .git/index .git/index.lock; touch a";
        let project = project
            .feature("a", "test -f a")
            .feature("b", "test -f b")
            .model([session([reply([bash(lock)]), reply([hand_over()])]), makes("b")]);
        project.write(".git/refs/heads/gone.lock", "");
        let run = project.run(["run"]);
        run.exits(0).tells("had left `gone.lock`").tells("had left `index.lock`; it is kept as");
        assert!(project.state().join("outputs/index.lock").exists());
    }
}

#[test]
fn what_cannot_be_read_or_is_made_by_tools_stays_out_of_the_commit() {
    let work = "touch a; touch secret; chmod 000 secret; mkdir -p pkg/__pycache__ node_modules/x; \
                touch pkg/__pycache__/a.pyc node_modules/x/y";
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(work)]), reply([hand_over()])])]);
    let run = project.run(["run"]);
    run.exits(0).tells("`secret` was left out of the commit: it cannot be read").tells("belongs into `.gitignore`");
    assert_eq!(project.git(["show", "--name-only", "--format=%s"]), "wip(session 1)\n\na");
}

#[test]
fn a_python_check_changes_no_compiled_file_that_somebody_committed() {
    let work = "printf 'def mul(a, b):\\n    return a * b\\n' > calc.py; python3 -c 'import calc'; git add -Af; git commit -qm all";
    let project = Project::ready()
        .feature("mul", "python3 -c 'import calc; assert calc.mul(2, 3) == 6'")
        .model([session([reply([bash(work)]), reply([hand_over()])])]);
    project.run(["run"]).exits(0).prints("done: 1 feature proven");
    assert!(project.git(["ls-files"]).contains(".pyc"), "the agent committed one");
}

#[test]
fn an_unfinished_merge_is_committed_as_it_lies_and_told() {
    let merge = "git checkout -qb o; echo o > README; git commit -qam o; git checkout -q main; echo m > README; \
                 git commit -qam m; git merge -q o; touch a";
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(merge)]), reply([hand_over()])])]);
    project
        .run(["run"])
        .exits(0)
        .tells("a merge was left unfinished; it is committed as it lies, conflicts and all: `README`");
}

/// Names are bytes to git; this one is no text.
#[test]
fn files_whose_names_are_no_text_are_committed_like_all_others() {
    let work = "touch \"$(printf 'gr\\374n')\" \"$(printf 'd\\377.key')\"; mkdir \"$(printf 'sub\\376')\"; \
                echo more > \"$(printf 'sub\\376/x')\"; echo changed > \"$(printf 'old\\375')\"; touch a '\"quoted\"'";
    let project = Project::ready();
    let old = std::ffi::OsStr::from_bytes(b"old\xfd");
    let mine = std::ffi::OsStr::from_bytes(b"mine\xfc");
    for name in [old, mine] {
        std::fs::write(project.root().join(name), "old\n").unwrap();
    }
    project.git(["add", "old*"]);
    project.git(["commit", "-qm", "old"]);
    let project = project.feature("a", "test -f a").model([session([reply([bash(work)]), reply([hand_over()])])]);

    let run = project.run(["run"]);

    run.exits(0).tells(r#"`"d\xff.key"` was left out of the commit: its name looks like a secret"#);
    let files =
        r#""\"quoted\"""#.to_owned() + "\na\n" + r#""gr\374n""# + "\n" + r#""old\375""# + "\n" + r#""sub\376/x""#;
    assert_eq!(project.git(["show", "--name-only", "--format="]), files);
    let left = r#"?? "d\377.key""#.to_owned() + "\n" + r#"?? "mine\374""#;
    assert_eq!(project.git(["status", "--porcelain"]), left);
    project.run(["run"]).exits(0);
}

/// Left out, a tracked file would stay uncommitted for ever; an untracked one is in nobody's way.
#[test]
fn a_tracked_file_that_grew_large_is_committed_and_told_and_an_untracked_one_is_left_out() {
    let grows = "truncate -s 11M data new; touch a";
    let project = Project::ready().in_place();
    project.write("data", "small\n");
    project.git(["add", "data"]);
    project.git(["commit", "-qm", "data"]);
    let project = project.feature("a", "test -f a").feature("b", "test -f b");
    let project = project.model([session([reply([bash(grows)]), reply([hand_over()])]), makes("b")]);

    let run = project.run(["run", "--sessions", "1"]);

    run.tells("larger than 10 MB, and committed since git tracks it: `data`");
    run.tells("`new` was left out of the commit: larger than 10 MB");
    assert_eq!(project.git(["show", "--name-only", "--format=%s"]), "wip(session 1)\n\na\ndata");
    let progress = project.memory_git(["show", "HEAD:progress.md"]);
    assert!(progress.contains("committed since git tracks it: `data`"), "{progress}");
    // Nothing tracked is in the way of checks in place.
    project.run(["run"]).exits(0);
}

#[test]
fn a_working_tree_that_is_called_bare_is_told_how_to_be_one_again() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.git(["config", "core.bare", "true"]);
    project.run(["run"]).exits(2).tells("is a bare repository").tells("`git config core.bare false`");
    project.git(["config", "core.bare", "false"]);
    project.run(["run"]).exits(0);
}
