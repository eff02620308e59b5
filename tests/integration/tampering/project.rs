//! Attempts to get a feature marked by what lies in the project, and by what git is told of it.

use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use crate::tampering::does;
use serde_json::json;

/// A feature whose check looks into the tracked file `app`, and which fails as committed.
fn app() -> Project {
    let project = Project::new();
    project.write("app", "bad\n");
    project.git(["add", "-A"]);
    project.git(["commit", "--quiet", "-m", "app"]);
    project.run(["init"]).exits(0);
    project.feature("f", "grep -q good app")
}

/// Plays a session of this command and expects that the check passes and proves nothing, as what passed is in no commit.
#[track_caller]
fn finds_uncommitted(command: &str) {
    let project = app().model([does(command)]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("not in any commit: `app`");

    assert_eq!(project.stored("f")["passes"], false);
    assert_eq!(project.read("app"), "good\n");
}

#[test]
fn a_change_that_git_was_told_to_overlook_proves_nothing() {
    finds_uncommitted("git update-index --assume-unchanged app; echo good > app; touch more");
    finds_uncommitted("git update-index --skip-worktree app; echo good > app; touch more");
}

#[test]
fn a_change_behind_times_that_fit_the_index_proves_nothing() {
    finds_uncommitted(
        "echo 'bad ' > app; touch -d @1700000000 app; git commit -qam more; \
         git config core.trustctime false; git config core.checkStat minimal; git update-index --refresh; \
         printf 'good\\n' > app; touch -d @1700000000 app",
    );
}

#[test]
fn a_run_does_not_start_over_changes_that_git_was_told_to_overlook() {
    let project = app().model([]);
    project.git(["update-index", "--skip-worktree", "app"]);
    project.write("app", "mine\n");

    project.run(["run"]).exits(2).tells("told to overlook: `app`");

    assert_eq!(project.read("app"), "mine\n");
}

#[test]
fn a_sparse_checkout_is_no_uncommitted_change() {
    let project = app();
    project.write("far/away", "x\n");
    project.git(["add", "-A"]);
    project.git(["commit", "--quiet", "-m", "far"]);
    project.git(["sparse-checkout", "set", "near"]);
    let project = project.model([does("echo good > app")]);

    project.run(["run"]).exits(0);

    assert!(!project.root().join("far").exists());
    assert_eq!(project.git(["show", "HEAD:far/away"]), "x");
}

/// T13.
#[test]
fn another_working_tree_in_the_settings_does_not_stand_in_for_the_project() {
    let elsewhere = "mkdir ../w; git archive HEAD | tar x -C ../w; git config core.worktree \"$PWD/../w\"; \
        echo good > app; touch more";
    let project = app().model([does(elsewhere)]);

    project.run(["run", "--sessions", "1"]).exits(0);

    let root = project.root();
    let show = ["-C", root.to_str().unwrap(), "show", "HEAD:app"];
    assert_eq!(project.git(show), "good");
}

#[test]
fn a_replacement_of_a_commit_does_not_stand_in_for_it() {
    let replace = "echo good > app; git commit -qam good; good=$(git rev-parse HEAD); \
        echo worse > app; git commit -qam worse; git replace HEAD $good; git checkout -q $good -- app";
    let project = app().model([does(replace)]);

    project.run(["run", "--sessions", "1"]).exits(0);

    assert_eq!(project.git(["--no-replace-objects", "show", "HEAD:app"]), "good");
}

#[test]
fn a_persons_untracked_file_that_a_session_changed_is_committed_with_what_it_proves() {
    let project = Project::ready();
    project.write("draft", "bad\n");
    project.write("mine", "mine\n");
    let project = project.feature("f", "grep -q good draft").model([does("echo good > draft; touch more")]);

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["show", "HEAD:draft"]), "good");
    assert_eq!(project.git(["status", "--porcelain"]), "?? mine");
}

#[test]
fn files_in_a_repository_of_their_own_prove_nothing() {
    let nest = "root=$PWD; mkdir sub; cd sub; git init -q; echo good > app";
    for more in ["", "; git add -A; git commit -qm sub", "; git add -A; git commit -qm sub; cd ..; git add -A"] {
        for (place, verdict) in [("clean", "failed"), ("in-place", "not committed")] {
            let command = format!("{nest}{more}; cd $root; touch more");
            let project = Project::ready().variable("LONGHAUL_GATE_CHECKOUT", place);
            let project = project.feature("f", "grep -q good sub/app").model([does(&command)]);

            project.run(["run", "--sessions", "1"]).exits(3).shows("`sub");
            project.run(["run"]).exits(2).tells("`sub`").tells("remove the `.git` inside");

            assert_eq!(project.stored("f")["passes"], false, "{command}");
            assert_eq!(project.stored("f")["last_verdict"]["verdict"], verdict, "{command}");
            assert_eq!(project.read("sub/app"), "good\n");
        }
    }
}

#[test]
fn a_submodule_is_no_repository_of_its_own() {
    let project = Project::ready();
    let root = project.root().display().to_string();
    project.git(["clone", "-q", &root, "../other"]);
    let allow = "protocol.file.allow=always";
    project.git(["-c", allow, "submodule", "--quiet", "add", "../other", "sub"]);
    project.git(["commit", "-qm", "submodule"]);
    let project = project.feature("f", "test -f f").model([does("touch f")]);

    project.run(["run"]).exits(0);
}

#[test]
fn tracked_files_behind_a_link_or_turned_into_pipes_do_not_stop_the_commit_of_the_rest() {
    let project = Project::new();
    for path in ["web/page", "pipe", "tests/a.sh"] {
        project.write(path, "exit 1\n");
    }
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "files"]);
    project.run(["init"]).exits(0);
    let swap = "mv web ../web; ln -s ../web web; rm pipe; mkfifo pipe; \
        mv tests ../tests; ln -s ../tests tests; echo exit 0 > tests/a.sh; touch more";
    let project = project.feature("f", "sh tests/a.sh").model([does(swap)]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("`tests/a.sh` was there at approval and is gone");

    assert_eq!(project.stored("f")["last_verdict"]["verdict"], "failed");
    assert_eq!(project.git(["ls-files"]), "README\nmore\ntests\nweb");
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

#[test]
fn a_session_that_detaches_head_ends_a_run_as_done_only_with_its_work_on_the_branch() {
    let project = Project::ready().feature("f", "test -f f").model([does("git checkout -q --detach; touch f")]);

    project.run(["run"]).exits(0).tells("began on `main` and ended on a detached HEAD; the branch has its commits now");

    assert_eq!(project.git(["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(project.git(["log", "-1", "--name-only", "--format=%s", "main"]), "wip(session 1)\n\nf");
}

#[test]
fn a_session_that_changes_the_branch_is_told() {
    let project = Project::ready().feature("f", "test -f f").model([does("git switch -q -c side; touch f")]);

    project.run(["run"]).exits(0).tells("began on `main` and ended on `side`");
    let progress = project.memory_git(["show", "HEAD:progress.md"]);
    assert!(progress.contains("the session began on `main` and ended on `side`"), "{progress}");
}

#[test]
fn a_program_that_left_its_process_group_does_not_help_a_check_to_pass() {
    let helper =
        "setsid sh -c 'echo $$ > ../helper; exec sleep 300' > /dev/null 2>&1 & until test -s ../helper; do :; done";
    // A zombie has no command line.
    let check = "grep -q sleep /proc/$(cat ../helper)/cmdline";
    let project = Project::ready().in_place().feature("f", check).model([does(&format!("{helper}; touch more"))]);

    project.run(["run", "--sessions", "1"]).exits(3);

    assert_eq!(project.status("f"), "open");
}

#[test]
fn a_final_sweep_that_can_look_at_nothing_ends_the_run() {
    let project = Project::ready()
        .in_place()
        .feature("f", "test -f f")
        .feature("g", "test -f g && git init -q sub")
        .model([does("touch f"), does("touch g")]);

    project.run(["run"]).exits(4).tells("could not look once more at f").shows("a git repository of its own: `sub`");
}

/// Plays one session and returns all that the agent was told.
fn told(project: &Project) -> String {
    project.run(["run", "--sessions", "1"]);
    let ended = project.events(1).into_iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_pinned_test_that_becomes_a_link_shows_nothing_of_what_lies_outside() {
    for link in ["ln -sf /proc/self/environ tests/a.sh", "ln -sf ../../home/secret tests/a.sh"] {
        for project in [Project::ready(), Project::ready().sandboxed()] {
            project.write("tests/a.sh", "test -f a\n");
            project.write("../home/secret", "a secret of the host\n");
            project.git(["add", "tests"]);
            project.git(["commit", "-qm", "test"]);
            let look = call("check", json!({}));
            let project = project.feature("a", "sh tests/a.sh").model([session([
                reply([bash(link)]),
                reply([look]),
                reply([hand_over()]),
            ])]);
            let told = told(&project);
            assert!(told.contains("failed"), "{told}");
            for secret in [KEY, "a secret of the host"] {
                assert!(!told.contains(secret), "{link}: {told}");
            }
        }
    }
}

#[test]
fn programs_in_a_folder_of_the_project_are_not_run_outside_of_the_sandbox() {
    let plant = "mkdir -p bin; for name in sh bash cp git bwrap; do \
                 printf '#!/bin/sh\\ntouch ../reached\\nexec /bin/sh \"$@\"\\n' > bin/$name; chmod +x bin/$name; done; touch a";
    let project = Project::ready().sandboxed();
    let path = format!("{}/bin:{}", project.root().display(), std::env::var("PATH").unwrap());
    let project = project
        .variable("PATH", &path)
        .feature("a", "cat a | wc -l")
        .model([session([reply([bash(plant)]), reply([hand_over()])])]);
    project.run(["run", "--sessions", "1"]);
    project.run(["check", "--all"]);
    assert!(!project.root().join("../reached").exists());
}

#[test]
fn a_filter_of_a_submodule_writes_nothing_into_a_clean_checkout() {
    let plant = "git init -q sub; cd sub; echo x > f; echo 'f filter=x' > .gitattributes; git add -A; git commit -qm s; \
                 git config filter.x.smudge 'touch ../a; cat'; cd ..; \
                 printf '[submodule \"sub\"]\\n path = sub\\n url = ./sub\\n' > .gitmodules; git add -A; git commit -qm sub";
    for project in [Project::ready(), Project::ready().sandboxed()] {
        let project = project.feature("a", "test -f a").model([session([reply([bash(plant)]), reply([hand_over()])])]);
        project.run(["run", "--sessions", "1"]);
        assert_eq!(project.status("a"), "open");
    }
}

#[test]
fn what_git_refuses_to_add_keeps_nothing_else_out_of_the_commit() {
    let odd = "mkdir -p 'git~1'; touch 'git~1/x' a";
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(odd)]), reply([hand_over()])])]);
    project.run(["run", "--sessions", "1"]).tells("git refuses to add it");
    assert_eq!(project.status("a"), "proven");
}

/// The file of excludes lies where commands write too. A link there, or in place of its folder, leads our own hand out of
/// the repository.
#[test]
fn a_link_in_place_of_the_file_of_excludes_is_not_written_through() {
    for linked in ["info/exclude", "info"] {
        let project = Project::new();
        let outside = project.home().join("outside");
        std::fs::create_dir_all(&outside).unwrap();
        let file = outside.join("exclude");
        std::fs::write(&file, "mine\n").unwrap();
        let target = if linked == "info" { outside.clone() } else { file.clone() };
        let place = project.root().join(".git").join(linked);
        if place.is_dir() {
            std::fs::remove_dir_all(&place).unwrap();
        } else {
            std::fs::remove_file(&place).unwrap();
        }
        std::os::unix::fs::symlink(target, &place).unwrap();

        let run = project.run(["init"]);

        run.exits(1).tells("info/exclude` is no plain file: remove it, git makes do without");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n", "{linked}");
        // The twin: who appends without a look writes outside.
        let text = "echo .longhaul/ >> .git/info/exclude";
        let appended = std::process::Command::new("sh").args(["-c", text]).current_dir(project.root()).status();
        assert!(appended.unwrap().success());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n.longhaul/\n", "{linked}");
        // The way out is one.
        std::fs::remove_file(&place).unwrap();
        project.run(["init"]).exits(0);
        assert!(project.read(".git/info/exclude").starts_with(".longhaul/\n"));
    }
}
