//! Where checks run, and what is there for them.

use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use serde_json::json;

/// What a session does that gives a new project its first lock file, and a script that installs what that names.
const LOCKS: &str = "echo modules > .gitignore; echo 1 > yarn.lock; \
    echo '[ \"$LONGHAUL_PHASE\" = start ] || { mkdir -p modules; cp yarn.lock modules/lib; }' > init.sh";

fn gets_its_lock_file(project: Project) {
    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
    let check = json!([{ "id": "works", "title": "works", "check": "grep -x 1 modules/lib" }]);
    project.run_with(["feature", "add", "-"], &check.to_string()).exits(0);
    let works = session([reply([bash(LOCKS)]), reply([call("check", json!({}))]), reply([hand_over()])]);
    let project = project.model([works]);

    project.run(["run"]).exits(0).shows("done: 1 feature proven");

    let evidence = &project.stored("works")["evidence"];
    assert_eq!(evidence["checkout"], "clean");
    let disclosed = evidence["disclosed"].to_string();
    let told = "in a clean checkout, since `yarn.lock` came after the check was approved; the init script installed";
    assert!(disclosed.contains(told), "{disclosed}");
    project.run(["show", "works"]).prints("`yarn.lock` came after the check was approved");
    project
        .run(["status"])
        .prints("in-place (`yarn.lock` is there")
        .prints("clean for 1 check approved before that, with what `init.sh` installs");
    // Nothing was installed in the working tree: the session's own install ran before there was a script.
    assert!(!project.root().join("modules").exists());
    let trajectory = project.events(1).iter().map(ToString::to_string).collect::<String>();
    assert!(trajectory.contains("passed: after"), "the agent's own look says the same: {trajectory}");
}

#[test]
fn a_project_that_gets_its_first_lock_file_is_proven_with_what_its_init_script_installs() {
    gets_its_lock_file(Project::ready());
}

#[test]
fn the_same_in_bubblewrap() {
    if runs_here("bwrap") {
        gets_its_lock_file(Project::ready().sandboxed());
    }
}

#[test]
fn what_was_green_and_broke_keeps_the_place_of_its_first_look() {
    let breaks = session([
        reply([bash("git rm -q README; touch b; echo answer > .gitignore; touch answer; echo > yarn.lock")]),
        reply([hand_over()]),
    ]);
    let cheats = session([reply([bash("touch answer c")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f README || test -f answer").feature("b", "test -f b");
    assert_eq!(project.status("a"), "already green");
    let project = project.model([breaks, cheats]);

    project.run(["run", "--sessions", "2"]).exits(3).shows("regressed: a");

    let a = project.stored("a");
    assert_eq!((&a["passes"], &a["last_verdict"]["checkout"]), (&json!(false), &json!("clean")), "{a:#}");
}

#[test]
fn git_answers_in_a_check_in_bubblewrap() {
    if !runs_here("bwrap") {
        return;
    }
    let project = Project::ready().sandboxed();
    project.git(["tag", "-a", "v1", "-m", "one"]);
    let asks = "test -f works && git describe && git log --oneline && git ls-files | grep works > /dev/null &&
        git diff --exit-code && git -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m inside && git fsck";
    let check = json!([{ "id": "works", "title": "works", "check": { "run": asks, "runs": 2 } }]);
    project.run_with(["feature", "add", "-"], &check.to_string()).exits(0);
    let looks = session([reply([bash("touch works")]), reply([call("check", json!({}))]), reply([hand_over()])]);
    let project = project.model([looks]);

    project.run(["run"]).exits(0).shows("done: 1 feature proven");

    let trajectory = project.events(1).iter().map(ToString::to_string).collect::<String>();
    assert!(trajectory.contains("passed: after"), "on what is not committed yet, too: {trajectory}");
    assert_eq!(project.git(["rev-list", "--count", "--all"]), "2", "what a check commits stays in its checkout");
}
