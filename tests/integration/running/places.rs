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

#[test]
fn nothing_is_done_with_what_an_earlier_commit_installed() {
    let project = Project::ready().variable("LONGHAUL_GATE_PREPARE", "sh install.sh");
    project.write(".gitignore", "made\n");
    project.write("yarn.lock", "1\n");
    project.write("install.sh", "mkdir -p made; sh deep.sh\n");
    project.write("deep.sh", "true\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "project"]);
    let project = project.feature("a", "test -f made/answer").feature("b", "test -f b");
    let makes = bash("echo 2 > yarn.lock; echo 'touch made/answer' > deep.sh");
    let takes_back = bash("echo true > deep.sh; touch b");
    let project = project.model([makes, takes_back].map(|work| session([reply([work]), reply([hand_over()])])));

    let run = project.run(["run", "--sessions", "2"]);

    run.exits(3).shows("final sweep").shows("regressed: a");
    assert_eq!(["a", "b"].map(|id| project.status(id)), ["regressed", "proven"]);
}

#[test]
fn the_final_sweep_installs_once_more_and_then_it_is_done() {
    let project = Project::ready().variable("LONGHAUL_GATE_PREPARE", "mkdir -p made; cp yarn.lock made/lib");
    project.write(".gitignore", "made\n");
    project.write("yarn.lock", "1\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "project"]);
    let works = session([reply([bash("touch a")]), reply([hand_over()])]);
    let project = project.feature("a", "test -f a && grep 1 made/lib").model([works]);

    project.run(["run"]).exits(0).shows("final sweep").shows("done: 1 feature proven");
    project.run(["run"]).exits(0).hides("final sweep");
    let a = project.stored("a");
    assert_eq!(a["checked"]["prepared"], project.git(["rev-parse", "HEAD^{tree}"]).as_str());
    assert_ne!(a["evidence"]["prepared"], a["evidence"]["tree"]);
}

#[test]
fn a_network_that_failed_at_the_baseline_proves_nothing_and_costs_no_session() {
    let project = Project::ready().variable("LONGHAUL_GATE_PREPARE", "test -e \"$UP\"");
    let up = project.home().join("up");
    let project = project
        .variable("LONGHAUL_SANDBOX_PASS_ENV", "[\"UP\"]")
        .variable("UP", up.to_str().unwrap())
        .feature("old", "test -f README")
        .feature("new", "test -f new");
    let baseline = |id: &str| project.stored(id)["baseline"]["verdict"].clone();
    assert_eq!(["old", "new"].map(baseline), [json!("not ready"), json!("not ready")]);
    std::fs::write(up, "").unwrap();
    let works = session([reply([bash("touch new")]), reply([hand_over()])]);
    let project = project.model([works]);

    project.run(["run"]).exits(4).shows("accept old");

    assert_eq!(["old", "new"].map(|id| project.status(id)), ["already green", "proven"]);
}

#[test]
fn what_cannot_be_installed_costs_no_attempt_takes_nothing_back_and_stops_the_run() {
    let plays = |text: &str| session([reply([bash(text)]), reply([hand_over()])]);
    let broken = "test ! -f broken";
    let project = Project::ready().variable("LONGHAUL_GATE_PREPARE", broken);
    let project = project.feature("a", "test -f a").feature("c", "test -f c").feature("b", "test -f b");
    let sessions =
        [plays("touch a"), plays("touch c; git rm -q a; touch broken"), plays("echo > other"), plays("touch b")];
    let project = project.model(sessions);

    let run = project.run(["run"]);

    run.exits(4)
        .tells("`gate.prepare` failed in a clean checkout: `test ! -f broken`")
        .tells("could not be installed: a")
        .tells("stuck: 2 sessions in a row failed in the same way, on c, and proved nothing: not ready");
    assert_eq!((&project.stored("c")["attempts"], project.status("a").as_str()), (&json!(0), "stale"));

    // Once it installs again, what the session broke is seen.
    project.git(["rm", "-q", "broken"]);
    project.git(["commit", "-qm", "mended"]);
    project.run(["check", "a"]).exits(8);
    assert_eq!(project.status("a"), "regressed");
}

#[test]
fn a_final_sweep_for_which_nothing_can_be_installed_says_so() {
    let project = Project::ready().variable("LONGHAUL_GATE_PREPARE", "true");
    let project = project.feature("a", "test -f a").model([session([reply([bash("touch a")]), reply([hand_over()])])]);
    project.run(["run", "--no-final-sweep"]).exits(3);
    project.write("b", "");
    project.git(["add", "b"]);
    project.git(["commit", "-qm", "more"]);
    let prepare = project.variable("LONGHAUL_GATE_PREPARE", "echo offline; false");

    let text = "could not look once more at a: what a clean checkout needs could not be installed";
    prepare.run(["run"]).exits(4).tells(text).tells("`gate.prepare`");
    assert_eq!(prepare.status("a"), "stale");
}

/// The twin: a check's own setup is its feature's.
#[test]
fn a_setup_that_fails_is_an_attempt() {
    let project = Project::ready();
    let feature = r#"[{"id": "a", "title": "a", "check": {"run": "test -f a", "setup": "test ! -f broken"}}]"#;
    project.run_with(["feature", "add", "-"], feature).exits(0);
    let project = project.model([session([reply([bash("touch broken")]), reply([hand_over()])])]);
    project.run(["run", "--sessions", "1"]).exits(3).tells("check a: not ready");
    assert_eq!(project.stored("a")["attempts"], 1);
}

#[test]
fn a_checkout_is_not_said_to_lack_what_installing_made() {
    for (prepare, lacks) in [
        ("mkdir -p node_modules/lib", "does not hold: `dist/out`; if the check needs it"),
        ("true", "does not hold: `dist/out`, `node_modules/x` (`gate.prepare` does not make it)"),
    ] {
        let project = Project::ready().variable("LONGHAUL_GATE_PREPARE", prepare);
        project.write(".gitignore", "node_modules\ndist\n");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "ignores"]);
        project.write("node_modules/x", "");
        project.write("dist/out", "");
        let project = project.feature("a", "touch made; test -f a");
        project.run(["check", "a"]).exits(8).tells(lacks);
    }
}
