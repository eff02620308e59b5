//! What a check proves, and what it does not.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

#[test]
fn a_failing_check_keeps_the_feature_open_and_a_passing_one_proves_it() {
    let project =
        Project::ready().feature("login", "echo checked; test -f login").model([makes("other"), makes("login")]);

    let run = project.run(["run", "--sessions", "1"]);
    run.exits(3).tells("1 session used, 1 feature open");
    assert_eq!(project.status("login"), "open");
    assert_eq!(project.memory_log()[..2], ["progress: session 1", "gate: login not proven: failed"]);

    project.run(["run"]).exits(0).shows("done: 1 feature proven");
    assert_eq!(project.memory_log()[..2], ["progress: session 2", "gate: prove login"]);
    let stored = project.stored("login");
    assert_eq!(stored["passes"], true);
    assert_eq!(stored["evidence"]["commit"], project.git(["rev-parse", "HEAD"]));
    assert_eq!(stored["evidence"]["tree"], project.git(["rev-parse", "HEAD^{tree}"]));
    assert_eq!(project.played().rejected(), Vec::<String>::new());
}

#[test]
fn proving_changes_one_feature_and_nothing_else() {
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b").model([makes("a")]);
    project.run(["run", "--sessions", "1"]).exits(3);

    let proof = project.memory_git(["log", "--format=%H", "--grep=^gate: prove a"]);
    let files = project.memory_git(["show", "--format=", "--name-only", &proof]);
    let at = |rev: &str| -> serde_json::Value {
        serde_json::from_str(&project.memory_git(["show", &format!("{rev}:features.json")])).unwrap()
    };
    let (before, after) = (at(&format!("{proof}^")), at(&proof));

    assert_eq!(files, "features.json");
    assert_eq!(before["features"][1], after["features"][1]);
    assert_eq!(
        (before["features"][0]["passes"].clone(), after["features"][0]["passes"].clone()),
        (json!(false), json!(true))
    );
    let trailers = project.memory_git(["log", "-1", "--format=%(trailers:only,unfold)", &proof]);
    assert!(
        trailers.contains("Session: 1") && trailers.contains("Feature: a") && trailers.contains("Project-Commit: "),
        "{trailers}"
    );
}

#[test]
fn a_check_that_passed_before_any_work_is_not_worked_on_and_can_be_accepted() {
    let project = Project::ready().feature("old", "test -f README").model([]);

    project.run(["run"]).exits(4).tells("longhaul accept old");
    assert!(project.played().requests().is_empty());

    project.run(["accept", "--already-green", "--reason", "it was there"]).exits(0);
    assert_eq!(project.status("old"), "accepted");
    assert_eq!(project.stored("old")["passes"], false);
    project.run(["run"]).exits(0).shows("accepted by a person");
}

#[test]
fn what_was_green_before_any_work_is_neither_done_nor_open_and_holds_nothing_up() {
    let project = Project::ready().feature("old", "test -f README");
    let new = r#"[{"id": "new", "title": "new", "depends_on": ["old"], "check": "test -f new"},
        {"id": "spare", "title": "spare", "required": false, "check": "test -f README"}]"#;
    project.run_with(["feature", "add", "-"], new).exits(0);
    let project = project.model([makes("other"), makes("new")]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("1 session used, 1 feature open, 1 already green");
    project.run(["status"]).prints("0 of 2 required done, 1 already green; next: new");
    // Only the required one is asked for.
    project.run(["run"]).exits(4).tells("longhaul accept old --reason TEXT").hides("accept spare");
    assert_eq!(project.status("new"), "proven");

    project.run(["accept", "--already-green"]).exits(2).tells("needs a reason");
    project.run(["accept", "old", "--reason", "it was there"]).exits(0);
    project.run(["run"]).exits(0).shows("done: 1 feature proven, 1 accepted by a person, 1 optional already green");
    project.run(["status"]).prints("2 of 2 required done (1 proven, 1 accepted)").prints("it was there");
}

#[test]
fn a_sweep_watches_what_was_green_before_any_work() {
    let breaks = session([reply([bash("touch r; git rm -q a")]), reply([hand_over()])]);
    let (g, r) =
        (r#"{"id": "g", "title": "g", "check": "test -f a"}"#, r#"{"id": "r", "title": "r", "check": "test -f r"}"#);
    let project = Project::ready();
    project.write("a", "");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "a"]);
    project.run_with(["feature", "add", "-"], &format!("[{g}, {r}]")).exits(0);
    assert_eq!(project.status("g"), "already green");
    let project = project.model([breaks, makes("a")]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("regressed: g").tells("1 session used, 1 feature open");
    assert_eq!(["g", "r"].map(|id| project.status(id)), ["open", "proven"]);
    assert_eq!(project.stored("g")["baseline"]["verdict"], "failed");
    project.run(["accept", "--already-green", "--reason", "x"]).exits(2).tells("no feature is already green");

    project.run(["run"]).exits(0).shows("done: 2 features proven");
}

#[test]
fn what_stays_green_is_looked_at_once_on_each_tree() {
    let project = Project::ready().feature("old", "test -f README").feature("new", "test -f new").model([makes("new")]);
    let looks = || {
        let log = project.memory_git(["log", "--format=%B"]);
        log.matches("recheck: {\"feature\":\"old\",\"verdict\":\"already green\"").count()
    };

    project.run(["run"]).exits(4).tells("old is already green");
    assert_eq!((looks(), project.status("old").as_str()), (1, "already green"));
    project.run(["run"]).exits(4);
    assert_eq!((looks(), &project.stored("old")["attempts"]), (1, &json!(0)));
}

#[test]
fn already_green_is_accepted_only_while_the_check_passes() {
    let project = Project::ready().feature("lost", "test -f README").feature("kept", "test -d .").model([]);
    project.git(["rm", "-q", "README"]);
    project.write("other", "");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "gone"]);

    let accepted = project.run(["accept", "--already-green", "--reason", "x"]);

    accepted
        .exits(8)
        .prints("kept: accepted")
        .prints("lost: not accepted, its check does not pass now: failed: exit code 1");
    assert_eq!(["lost", "kept"].map(|id| project.status(id)), ["open", "accepted"]);
    assert_eq!(project.stored("lost")["last_verdict"]["verdict"], "failed");
    // One named is a person's word all the same, and says what it is worth.
    project
        .run(["accept", "lost", "--reason", "seen"])
        .exits(0)
        .prints("lost: accepted, although its check does not pass now: failed: exit code 1");
}

#[test]
fn what_was_green_and_broke_outside_of_a_session_is_worked_on() {
    let project = Project::ready().feature("old", "test -f README").model([makes("README")]);
    project.git(["rm", "-q", "README"]);
    project.write("other", "");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "gone"]);

    project.run(["run"]).exits(0).tells("regressed: old").shows("done: 1 feature proven");
}

#[test]
fn a_regression_is_caught_by_the_sweep_and_worked_on_first() {
    let breaks = session([reply([bash("rm a; touch b")]), reply([hand_over()])]);
    let project = Project::ready()
        .feature("a", "test -f a")
        .feature("b", "test -f b")
        .feature("c", "test -f c")
        .model([makes("a"), breaks, makes("a"), makes("c")]);

    let run = project.run(["run"]);

    run.exits(0).shows("done: 3 features proven");
    let log = project.memory_log();
    let order: Vec<&str> = log
        .iter()
        .rev()
        .map(String::as_str)
        .filter(|subject| subject.starts_with("gate: ") && !subject.contains("baseline") && !subject.contains("sweep"))
        .collect();
    assert_eq!(order, ["gate: prove a", "gate: prove b", "gate: regress a", "gate: prove a", "gate: prove c"]);
}

#[test]
fn a_feature_tells_its_whole_history() {
    let breaks = session([reply([bash("rm a; touch b")]), reply([hand_over()])]);
    let doubts =
        session([reply([call("hand_over", json!({ "done": "nothing", "check_problem": "it asks for too much" }))])]);
    let project = Project::ready().feature("a", "echo looked; test -f a").feature("b", "test -f b").model([
        makes("other"),
        makes("a"),
        breaks,
        doubts,
    ]);
    project.run(["run"]).exits(4);
    project.run(["feature", "reopen", "a"]).exits(0);
    project.run(["feature", "block", "a", "--reason", "later"]).exits(0);
    project.run(["accept", "a", "--reason", "seen by hand"]).exits(0);

    let shown = project.run(["show", "a", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.exits(0).stdout).unwrap();

    let history = shown["history"].as_array().unwrap();
    let told: Vec<String> = history
        .iter()
        .map(|fact| {
            let text = |key: &str| fact[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}{}{}", fact["session"], text("kind"), text("verdict"), text("reason"), text("problem"))
        })
        .collect();
    let expected = [
        "null approval ",
        "null baseline failed",
        "1 verdict failed",
        "2 proof passed",
        "3 regression failed",
        "4 doubt it asks for too much",
        "null reopen ",
        "null block later",
        "null accept failedseen by hand",
    ];
    assert_eq!(told, expected);
    let proof = &history[3];
    assert_eq!((&proof["exit"], &proof["approved_by"], &proof["level"]), (&json!(0), &json!("user"), &json!("plain")));
    assert_eq!(proof["commit"], project.git(["rev-parse", "HEAD~1"]));
    let output = std::fs::read_to_string(proof["output"]["path"].as_str().unwrap()).unwrap();
    assert_eq!(output, "looked\n");
    assert_eq!((&shown["state"], &shown["form"]), (&json!("accepted"), &json!("a command alone")));
    // For people, the newest last.
    let lines = project.run(["show", "a"]).stdout;
    let at = |text: &str| lines.find(text).unwrap_or_else(|| panic!("no {text:?} in\n{lines}"));
    assert!(
        at("check approved: ") < at("proven: passed · exit 0")
            && at("regressed: failed · exit 1") < at("accepted: seen by hand")
    );
}

#[test]
fn a_sweep_that_runs_out_of_time_says_whose_turn_did_not_come() {
    let project = || {
        Project::ready()
            .feature("a", "sleep 0.5; test -f a")
            .feature("b", "sleep 0.5; test -f b")
            .feature("c", "test -f c")
            .model([makes("a"), makes("b"), makes("c")])
    };
    let said = "not looked at again, since the sweep's ";

    let run = project().run(["run", "--set", "run.sweep_budget=300ms"]);
    run.exits(0).tells("; `run.sweep_budget` gives it more");
    // Both were last looked at within one second, so either may come first.
    assert!(["a", "b"].iter().any(|id| run.stderr.contains(&format!("{said}0.3s are over: {id};"))), "{}", run.whole());
    project().run(["run"]).exits(0).hides(said);
    project().run(["run", "--set", "run.sweep_budget=off"]).exits(0).hides(said);
}

#[test]
fn a_check_that_is_ended_names_the_signal_or_the_limit() {
    let slow = r#"{"id": "slow", "title": "slow", "check": {"run": "sleep 20", "timeout": "1s"}}"#;
    let project = Project::ready().feature("dies", "kill -11 $$");
    project.run_with(["feature", "add", "-"], slow).exits(0);

    let run = project.run(["check", "--all"]);

    run.exits(8)
        .tells("check dies: signalled (signal 11) in ")
        .tells("check slow: timed out (after its limit of 1s) in 1.");
    project
        .run(["show", "dies"])
        .prints("last result    signalled · signal 11 · ")
        .prints("not proven: signalled · signal 11");
    project
        .run(["show", "slow"])
        .prints("last result    timed out · after its limit of 1s · ")
        .prints("not proven: timed out · after its limit of 1s");
}

#[test]
fn the_commit_of_a_sweep_names_every_feature_it_looked_at() {
    let project = Project::ready()
        .feature("a", "test -f a")
        .feature("b", "test -f b")
        .feature("c", "test -f c")
        .model([makes("a"), makes("b"), makes("c")]);
    project.run(["run"]).exits(0);

    let sweep = project.memory_git(["log", "-1", "--format=%B", "--grep=^gate: sweep of 2 passed"]);

    for id in ["a", "b"] {
        assert!(sweep.contains(&format!("\nFeature: {id}\n")), "{sweep}");
        assert!(sweep.contains(&format!("recheck: {{\"feature\":\"{id}\",\"verdict\":\"passed\"")), "{sweep}");
    }
    assert!(!sweep.contains("Feature: c"), "{sweep}");
}

#[test]
fn check_proves_like_the_hook_and_tells_with_its_code() {
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b");
    project.write("a", "");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "a"]);

    project.run(["check", "a"]).exits(0).shows("proven");
    project.run(["check", "--all"]).exits(8);

    assert_eq!(["a", "b"].map(|id| project.status(id)), ["proven", "open"]);
    project.run(["status", "--exit-code"]).exits(8);
}

#[test]
fn of_a_changed_test_file_the_approved_version_decides_until_a_person_accepts_the_other() {
    for place in ["clean", "in-place"] {
        let project = Project::ready().variable("LONGHAUL_GATE_CHECKOUT", place);
        project.write("tests/a.sh", "test -f a\n");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "test"]);
        let cheat = session([reply([bash("echo true > tests/a.sh")]), reply([hand_over()])]);
        let project = project.feature("a", "sh tests/a.sh").model([cheat, makes("b")]);

        project
            .run(["run", "--sessions", "1"])
            .exits(3)
            .shows("the approved version of the check decided")
            .shows("+true")
            .shows("`longhaul accept a` approves it");
        assert_eq!(project.status("a"), "open");
        assert_eq!(project.stored("a")["last_verdict"]["verdict"], "failed");
        assert_eq!(project.stored("a")["last_verdict"]["overlaid"], json!(["tests/a.sh"]));

        let accepted = project.run(["accept", "a"]);
        accepted.exits(0).prints("-test -f a").prints("+true").prints("the changed check is approved");
        assert_eq!(project.status("a"), "already green");
    }
}

#[test]
fn honest_work_that_adds_tests_beside_the_approved_ones_is_proven() {
    let project = Project::ready();
    project.write("tests/a.sh", "test -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    let work = "touch a; echo 'test -f a; test -f README' > tests/a.sh; echo true > tests/more.sh";
    let work = session([reply([bash(work)]), reply([call("check", json!({}))]), reply([hand_over()])]);
    let check =
        json!({"id": "a", "title": "a", "check": {"run": "for t in tests/*.sh; do sh $t; done", "closure": ["tests"]}});
    project.run_with(["feature", "add", "-"], &check.to_string()).exits(0);
    let project = project.model([work]);

    project.run(["run"]).exits(0);

    assert!(project.played().results_in(3).starts_with("passed"), "{}", project.played().results_in(3));
    assert_eq!(project.stored("a")["evidence"]["overlaid"], json!(["tests/a.sh", "tests/more.sh"]));
    assert_eq!(project.read("tests/more.sh"), "true\n");
}

#[test]
fn of_a_test_file_that_memory_lost_no_other_version_decides() {
    let project = Project::ready();
    project.write("tests/a.sh", "test -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    let project = project.feature("a", "sh tests/a.sh");
    let pinned = project.stored("a")["check"]["pins"]["tests/a.sh"].as_str().unwrap().to_owned();
    let id = pinned.rsplit(' ').next().unwrap();
    project.run(["memory", "delete", &format!("/memories/checks/pinned/{id}")]).exits(0);
    project.write("tests/a.sh", "true\n");
    project.git(["commit", "-qam", "changed"]);

    project.run(["check", "a"]).exits(8).shows("memory cannot give the approved `tests/a.sh`");

    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "check changed");
    project.run(["accept", "a"]).exits(0).prints("`tests/a.sh` is not what was approved");
    assert_eq!(project.status("a"), "already green");
}

#[test]
fn a_word_of_the_shell_is_no_folder_of_tests() {
    let makes = "mkdir -p web/test; echo unit > web/test/unit.js; echo page > web/dist.html";
    let project = Project::ready()
        .feature("page", "cd web && test -f dist.html")
        .model([session([reply([bash(makes)]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.stored("page")["check"]["pins"], json!({}));
}

#[test]
fn a_check_run_by_hand_takes_nothing_from_a_persons_word() {
    let project = Project::ready().feature("w", "false").model([]);
    project.run(["accept", "w", "--reason", "I looked"]).exits(0);

    project.run(["check", "--all"]).exits(8).prints("w: check failed, feature accepted");

    assert_eq!(project.status("w"), "accepted");
    assert_eq!(project.stored("w")["accepted"]["reason"], "I looked");
    project.run(["run"]).exits(0);
}

#[test]
fn a_check_for_a_person_waits_and_costs_no_session() {
    let project = Project::ready().model([]);
    let manual = json!({ "id": "looks", "title": "looks good", "check": { "run": "", "kind": "manual" } });
    project.run_with(["feature", "add", "-"], &manual.to_string()).exits(0);

    project.run(["run"]).exits(4).tells("longhaul accept looks");
    assert_eq!(project.status("looks"), "waiting");

    project.run(["accept", "looks"]).exits(2).tells("vouching for `looks` needs a reason");
    project.run(["accept", "looks", "--reason", "it looks good"]).exits(0);
    project.run(["run"]).exits(0);
    assert!(project.played().requests().is_empty());
}

#[test]
fn of_a_check_whose_files_changed_before_it_ever_ran_the_approved_version_decides() {
    let project = Project::unborn();
    project.run(["init"]).exits(0);
    project.write("tests/a.sh", "test -f a\n");
    let project = project.feature("a", "sh tests/a.sh").model([makes("a")]);
    project.write("tests/a.sh", "true\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "changed"]);

    project.run(["run"]).exits(0);

    assert_eq!(project.stored("a")["baseline"]["verdict"], "failed");
    assert_eq!(project.stored("a")["evidence"]["overlaid"], json!(["tests/a.sh"]));
}

#[test]
fn a_check_that_changes_tracked_files_proves_nothing_and_its_changes_are_kept() {
    let check = "test -f a && echo touched >> README";
    let project = Project::ready().in_place().feature("a", check).model([makes("a")]);

    project.run(["run", "--sessions", "1"]).exits(3);

    let log = project.memory_log();
    assert!(log.contains(&"gate: a not proven: tree moved".to_owned()), "{log:?}");
    assert_eq!(
        project.git(["log", "-2", "--format=%s"]),
        "wip(changed by the check of a)\nwip(changed by the check of a)"
    );
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

#[test]
fn a_check_that_changes_tracked_files_of_a_clean_checkout_changes_nothing_of_the_project() {
    // A30 and T26: a reviewer with write access changed the code and left it.
    let check = "test -f a && echo touched >> README";
    let project = Project::ready().feature("a", check).model([makes("a")]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("the check changed tracked files: `README`");

    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "tree moved");
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "wip(session 1)");
    assert_eq!((project.read("README"), project.git(["status", "--porcelain"])), ("a project\n".into(), "".into()));
}

#[test]
fn a_check_that_changes_tracked_files_does_not_end_the_run_with_an_error() {
    let project = Project::ready().feature("f", "test -f f").feature("g", "echo x >> README; test -f f");
    let idle = || session([reply([bash("true")]), reply([hand_over()])]);
    let project = project.model([makes("f"), idle(), idle()]);

    project.run(["run", "--sessions", "3"]).exits(3).shows("the check changed tracked files: `README`");

    assert_eq!(project.status("g"), "open");
    assert_eq!(project.stored("f")["passes"], true);
}

#[test]
fn a_pass_that_rests_on_a_file_left_out_of_the_commit_proves_nothing() {
    let makes = |text: &str| session([reply([bash(text)]), reply([hand_over()])]);
    let project = Project::ready()
        .feature("a", "test -f server.pem")
        .model([makes("echo key > server.pem; touch x"), makes("git add -f server.pem; git commit -qm 'a test key'")]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("left out of the session's commit: `server.pem`");
    assert_eq!(project.status("a"), "open");
    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "failed");

    project.run(["run"]).exits(0);
    assert_eq!(project.git(["show", "HEAD:server.pem"]), "key");
}

#[test]
fn in_the_working_tree_a_file_left_out_of_the_commit_keeps_the_check_from_being_judged() {
    let makes = session([reply([bash("echo key > server.pem; touch x")]), reply([hand_over()])]);
    let project = Project::ready().in_place().feature("a", "test -f server.pem").model([makes]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("left out of the session's commit: `server.pem`");

    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "not committed");
}

#[test]
fn without_a_final_sweep_a_run_does_not_end_as_done() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);

    project.run(["run", "--no-final-sweep"]).exits(3).tells("the final sweep was left out");
}

#[test]
fn one_endless_line_of_a_check_stays_out_of_the_checklist() {
    let project = Project::ready().feature("a", "head -c 300000 /dev/zero | tr '\\0' x; test -f a").model([makes("b")]);

    let run = project.run(["run", "--sessions", "1"]);
    run.exits(3);

    assert!(run.stderr.len() < 5_000, "{}", run.stderr.len());
    assert!(project.checklist().to_string().len() < 5_000);
}

#[test]
fn the_checklist_attack_by_the_memory_tool_is_refused_and_by_shell_undone() {
    let by_tool = memory(
        json!({ "command": "str_replace", "path": "/memories/features.json", "old_str": "false", "new_str": "true" }),
    );
    let by_shell = bash("sed -i 's/\"passes\": false/\"passes\": true/' .longhaul/memory/features.json; touch a");
    let project = Project::ready().feature("a", "test -f a").model([session([
        reply([by_tool]),
        reply([by_shell]),
        reply([hand_over()]),
    ])]);

    project.run(["run", "--sessions", "1"]).tells("features.json").tells("proves nothing");

    let refusal = project.played().results_in(2);
    assert!(refusal.contains("features.json") && refusal.contains("longhaul"), "{refusal}");
    assert!(project.played().results_in(3).contains("put back"), "{}", project.played().results_in(3));
    let of_session = project.memory_git(["log", "--format=%s", "--grep=^Session: 1$"]);
    assert!(!of_session.contains("prove a"), "{of_session}");
    assert_eq!(
        std::fs::read_to_string(project.view().join("features.json")).unwrap().trim(),
        project.memory_git(["show", "HEAD:features.json"])
    );
    // The honest part of that session's work counts as soon as longhaul itself has looked.
    project.run(["run"]).exits(0);
    assert_eq!(project.played().requests().len(), 3);
}

#[test]
fn a_check_that_the_agent_reports_as_wrong_waits_for_a_person_and_the_run_goes_on() {
    let reports =
        session([reply([call("hand_over", json!({ "done": "nothing", "check_problem": "it tests the wrong page" }))])]);
    let project =
        Project::ready().feature("odd", "false").feature("fine", "test -f fine").model([reports, makes("fine")]);

    let run = project.run(["run"]);

    run.exits(4).tells("it tests the wrong page").tells("longhaul feature edit odd");
    assert_eq!(["odd", "fine"].map(|id| project.status(id)), ["waiting", "proven"]);
    assert_eq!(project.stored("odd")["blocked"], json!(null));
    project.run(["show", "odd"]).exits(0).prints("waits          it tests the wrong page");
    project.run(["status"]).exits(0).prints("odd waits for a person");
    project.run(["feature", "reopen", "odd"]).exits(0).prints("odd: reopened, open");
}

#[test]
fn a_strict_gate_refuses_what_tools_load_by_themselves_until_a_person_accepts_it() {
    let project = Project::ready().variable("LONGHAUL_GATE_STRICT", "true");
    project.write("Makefile", "check:\n\ttest -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "make"]);
    let cheat = session([reply([bash("printf 'check:\\n\\ttrue\\n' > Makefile")]), reply([hand_over()])]);
    let project = project.feature("a", "grep -q true Makefile || test -f a").model([cheat]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("`Makefile`").shows("longhaul accept a");
    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "check changed");
    project.run(["show", "a"]).exits(0).prints("loaded by tools by themselves: Makefile");

    project.run(["accept", "a"]).exits(0).prints("`Makefile`").prints("the changed check is approved");
    assert_eq!(project.status("a"), "already green");
}

#[test]
fn in_a_sandbox_a_check_finds_a_clean_tree_at_the_projects_own_path() {
    let project = Project::ready().sandboxed();
    let root = project.root().display().to_string();
    let check = format!(
        "test \"$(pwd -P)\" = '{root}' && ! test -e stray && ! ls -A .longhaul 2>/dev/null && git log -1 --format=%s && \
         files=$LONGHAUL_CHECKS && ! touch \"$files/x\" 2>/dev/null && ! touch .git/x 2>/dev/null && test -f a"
    );
    let project = project.feature("a", &check).model([session([
        reply([bash(
            "touch a; git add a; git commit -qm a; mkdir -p out; echo out/ >> .git/info/exclude; touch out/stray",
        )]),
        reply([call("check", json!({}))]),
        reply([hand_over()]),
    ])]);
    project.write("stray", "");
    project.run(["run"]).exits(0);
    let evidence = project.stored("a")["evidence"].clone();
    assert_eq!((&evidence["level"], &evidence["checkout"]), (&json!("bubblewrap"), &json!("clean")), "{evidence}");
    assert_eq!(project.git(["status", "--porcelain"]), "?? stray");
}

#[test]
fn a_script_that_decides_alone_and_is_not_pinned_is_told_at_approval() {
    let project = Project::ready();
    let add = |check: &str| project.run(["feature", "add", "--title", check, "--check", check]);
    add("sh verify.sh").exits(0).tells("`verify.sh` alone decides the check of sh-verify-sh, and it is not pinned");
    add("sh tests/verify.sh").exits(0).hides("alone decides");
    add("test \"$(sh greet.sh)\" = hello").exits(0).hides("alone decides");
}

#[test]
fn a_check_that_wants_the_network_is_told_which_setting_gives_it() {
    let lookup = "python3 -c 'import urllib.request as u; u.urlopen(\"http://example.invalid/\")'";
    let project = Project::ready().sandboxed().feature("a", lookup);
    project.run(["show", "a"]).exits(0);
    project.run(["check", "a"]).exits(8).tells("it does not have here: `\"network\": true` in the check gives it one");
    Project::ready().feature("a", lookup).run(["check", "a"]).exits(8).hides("does not have here");
}

/// B06: a server that a check leaves holds its port, and the next session blames its code.
#[test]
fn a_server_that_a_check_leaves_is_ended_and_named_with_its_port() {
    let serve = "setsid -f python3 -m http.server 38377 >/dev/null 2>&1; sleep 1; test -f a";
    for project in [Project::ready(), Project::ready().sandboxed()] {
        let project = project.feature("a", serve);
        for _ in 0..2 {
            let run = project.run(["check", "a"]);
            run.exits(8)
                .tells("left running by the check, and ended: ")
                .tells("http.server 38377")
                .tells("on port 38377");
        }
    }
}

#[test]
fn a_check_that_misses_an_ignored_file_says_what_a_clean_checkout_does_not_hold() {
    let build = "echo build > .gitignore; mkdir build; touch build/out";
    let project = Project::ready()
        .feature("a", "test -f build/out")
        .model([session([reply([bash(build)]), reply([hand_over()])])]);
    project
        .run(["run", "--sessions", "1"])
        .exits(3)
        .tells("a clean checkout does not hold: `build/out` (`gate.checkout`)");
}

#[test]
fn a_setup_that_fails_is_named_with_how_it_ended() {
    let project = Project::ready();
    let json = r#"{"id": "a", "title": "a", "check": {"run": "true", "setup": "sh up.sh", "ready": "true"}}"#;
    project.run_with(["feature", "add", "-"], json).exits(0).tells("the check's setup `sh up.sh` failed: exit code ");
}

#[test]
fn a_check_that_is_silent_for_too_long_is_told_with_the_limit_and_its_setting() {
    let project = Project::ready().feature("a", "echo begun; test -f a && sleep 30");
    project.write("a", "a\n");
    project.git(["add", "a"]);
    project.git(["commit", "-qm", "a"]);

    let run = project.run(["check", "a", "--set", "gate.idle=1s"]);

    run.exits(8).shows("timed out").shows("it printed nothing for 1s, the limit in `gate.idle`").hides("limit of 5m");
}
