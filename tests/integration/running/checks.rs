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
    assert_eq!(project.stored("g")["baseline"]["verdict"], "already green");
    project.run(["accept", "--already-green", "--reason", "x"]).exits(2).tells("no feature is already green");

    // Who mends what was broken has made nothing that was not there.
    project.run(["run"]).exits(4).tells("g is already green");
    assert_eq!(["g", "r"].map(|id| project.status(id)), ["already green", "proven"]);
    project.run(["accept", "--already-green", "--reason", "it was there"]).exits(0);
    project.run(["run"]).exits(0).shows("done: 1 feature proven, 1 accepted by a person");
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

    project.run(["run"]).exits(4).tells("regressed: old").tells("old is already green");
    assert!(project.root().join("README").exists());
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

/// T11.
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
fn a_runner_without_tests_before_the_test_of_the_whole_and_its_words_in_a_product_refuse_nothing() {
    let project = Project::ready();
    project.write("bin/pytest", "#!/bin/sh\necho '===== no tests ran in 0.00s ====='\n");
    project.write("e2e.sh", "test \"$(sh report.sh | tail -1)\" = good\nsh report.sh\n");
    project.git(["add", "-A"]);
    project.git(["update-index", "--chmod=+x", "bin/pytest"]);
    project.git(["commit", "-qm", "the test"]);
    project.git(["reset", "-q", "--hard"]);
    let report = "printf '0 passing (2ms)\\ncollected 0 items\\nRan 0 tests in 0.0s\\n\\nOK\\n1..0\\ngood\\n'";
    let work = format!("cat > report.sh <<'END'\n{report}\nEND");
    let unit = "PATH=$PWD/bin:$PATH pytest";
    let project = project
        .feature("whole", &format!("{unit} && sh e2e.sh"))
        .feature("product", "sh e2e.sh")
        .feature("nothing", &format!("test -f report.sh && {unit}"))
        .model([session([reply([bash(&work)]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).exits(3);

    assert_eq!(["whole", "product"].map(|id| project.status(id)), ["proven", "proven"]);
    // The twin: where the runner is all there is, its empty run proves nothing.
    project.run(["check", "nothing"]).exits(8).shows("nothing executed");
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
