//! What else of the repository is not as it was after a session: branches that are not its own, and what git would run.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;

fn ready(work: &str) -> Project {
    let project = Project::ready().feature("a", "test -f a");
    for branch in ["moved", "gone", "ahead", "still"] {
        project.git(["branch", branch]);
    }
    project.git(["commit", "-q", "--allow-empty", "-m", "second"]);
    project.model([session([
        reply([bash(&format!("touch a; git add a; git commit -qm work; {work}"))]),
        reply([hand_over()]),
    ])])
}

/// T12 for other branches of the project.
#[test]
fn another_branch_that_a_session_moves_or_removes_is_told_and_its_commit_kept() {
    let project = ready(
        "other=$(git commit-tree -m other HEAD^{tree}); git update-ref refs/heads/moved $other; git branch -qD gone; \
         git branch -qf ahead main; git branch new",
    );
    let first = project.git(["rev-parse", "still"]);
    let short = &first[..7];

    let run = project.run(["run"]);

    let progress = project.memory_git(["show", "HEAD:progress.md"]);
    for told in [
        format!("the branch `gone` is gone while the session was on; it was at {short}, which is kept below"),
        "the branch `moved` moved to ".to_owned(),
        format!("the branch `ahead` went on from {short} to "),
    ] {
        run.exits(0).tells(&told);
        assert!(progress.contains(&told), "{told}: {progress}");
    }
    assert!(!["`still`", "`new`", "branch `main`"].iter().any(|name| progress.contains(name)), "{progress}");
    let kept = project.git(["for-each-ref", "--format=%(objectname)", "refs/longhaul/base"]);
    assert!(kept.contains(&first), "{kept}");
}

/// T14.
#[test]
fn settings_that_run_programs_are_told_when_they_come_in_a_session() {
    let module = "git init -q --bare m; mkdir -p .git/modules; mv m .git/modules/sub; \
                  git config --file .git/modules/sub/config core.fsmonitor 'touch ran'; git config user.name x";
    let project = ready(module);
    project.git(["config", "alias.mine", "!true"]);

    project
        .run(["run"])
        .exits(0)
        .tells("git settings that run programs came")
        .tells("core.fsmonitor = touch ran")
        .tells("modules/sub/config");
    let progress = project.memory_git(["show", "HEAD:progress.md"]);
    assert!(progress.contains("core.fsmonitor = touch ran") && !progress.contains("alias.mine"), "{progress}");
}

#[test]
fn what_there_are_hundreds_of_is_counted_and_no_wall_of_text() {
    let work = "touch a; for i in $(seq 40); do mkdir r$i; git -C r$i init -q; done; \
                for i in $(seq 25); do sleep 300 & done >/dev/null 2>&1";
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(work)]), reply([hand_over()])])]);

    let run = project.run(["run"]);

    let told = "40 paths were left out of the commit: it is a git repository of its own: ";
    run.tells(told).tells(" and 35 more").shows(" and 15 more");
    assert_eq!(run.whole().matches("left out of the commit").count(), 1, "{}", run.whole());
    assert_eq!(run.whole().matches("`sleep 300`").count(), 10, "{}", run.whole());
}
