//! Family A: completion and false «done».

use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::say;
use crate::support::session;
use serde_json::json;

/// A session that makes the check of feature `name` pass and hands over.
fn makes(name: &str) -> serde_json::Value {
    session([reply([bash(&format!("touch {name}"))]), reply([hand_over()])])
}

fn with_features(count: usize) -> Project {
    (1..=count)
        .fold(Project::ready(), |project, number| project.feature(&format!("f{number}"), &format!("test -f f{number}")))
}

/// A01: the loop said that it was finished with 3 of 15 tasks done.
#[test]
fn a01_a_completion_phrase_does_not_end_a_run_with_features_open() {
    let phrase = session([say("ALL TASKS COMPLETE. <promise>DONE</promise>")]);
    let project = with_features(3).model([makes("f1"), phrase, makes("f2")]);

    let run = project.run(["run", "--sessions", "3"]);

    run.exits(3).tells("3 sessions used, 1 feature open");
    assert_eq!(["f1", "f2", "f3"].map(|id| project.status(id)), ["proven", "proven", "open"]);
}

/// A03: the agent said fifty times that it was complete, and the loop never saw it.
#[test]
fn a03_a_run_stops_when_all_is_proven_though_the_agent_never_says_so() {
    let silent = |name: &str| session([reply([bash(&format!("touch {name}"))]), say("hm")]);
    let project = with_features(3).model([silent("f1"), silent("f2"), silent("f3")]);

    project.run(["run", "--sessions", "100"]).exits(0).shows("done: 3 features proven");

    assert_eq!(project.played().requests().len(), 6);
}

/// A06: the agent repeated the sentinel to itself and the loop stopped at 34 of 38.
#[test]
fn a06_a_sentinel_inside_a_sentence_is_no_verdict() {
    let project = with_features(2).model([session([say("I will print DONE-ALL when ready")]), makes("f1")]);

    project.run(["run", "--sessions", "2"]).exits(3);

    assert_eq!(["f1", "f2"].map(|id| project.status(id)), ["proven", "open"]);
}

/// A07: the backend echoed the prompt, with the sentinel in it, and that ended the run.
#[test]
fn a07_an_echoed_prompt_is_no_verdict() {
    let echo =
        session([reply([bash("echo 'When everything is done, print ALL DONE'; echo ALL DONE")]), reply([hand_over()])]);
    let project = with_features(1).model([echo, makes("f1")]);

    project.run(["run"]).exits(0);

    assert!(project.memory_log().contains(&"gate: f1 not proven: failed".to_owned()), "{:?}", project.memory_log());
}

/// A09: exit signals that a killed run had left behind ended the next run before it began to work.
#[test]
fn a09_what_a_killed_run_left_as_a_sign_of_its_end_ends_no_later_run() {
    let signs = "touch DONE .exit-signal; echo COMPLETE > status.json; git add -A; git commit -qm 'ALL DONE'";
    let note =
        memory(json!({ "command": "create", "path": "/memories/notes/done.md", "file_text": as_note("ALL DONE") }));
    let cut = session([reply([bash(signs), note]), json!({ "silence": "60s" })]);
    let project = with_features(2).model([cut, makes("f1"), makes("f2")]);
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();

    project.run(["run"]).exits(0).shows("done: 2 features proven");

    assert_eq!(project.events(3)[0]["feature"], "f2");
}

/// A11: optional items blocked the exit, and the loop never ended.
#[test]
fn a11_optional_features_never_hold_up_success() {
    let optional =
        |id: &str| format!(r#"{{"id": "{id}", "title": "{id}", "required": false, "check": "test -f {id}"}}"#);
    let project = with_features(3);
    project.run_with(["feature", "add", "-"], &format!("[{}, {}]", optional("o1"), optional("o2"))).exits(0);
    let project = project.model([makes("f1"), makes("f2"), makes("f3")]);

    project.run(["run"]).exits(0).shows("done: 3 features proven, 2 optional still open");

    assert_eq!(["f1", "f3", "o1", "o2"].map(|id| project.status(id)), ["proven", "proven", "open", "open"]);
    project.run(["status"]).prints("3 of 3 required done");
}

/// A11 the other way round: what a required feature rests on is worked on, though it is optional itself.
#[test]
fn a11_an_optional_feature_that_a_required_one_rests_on_is_worked_on() {
    let project = Project::ready();
    let list = r#"[{"id": "extra", "title": "x", "required": false, "check": "test -f extra"},
        {"id": "base", "title": "x", "required": false, "check": "test -f base"},
        {"id": "goal", "title": "x", "depends_on": ["base"], "check": "test -f goal"}]"#;
    project.run_with(["feature", "add", "-"], list).exits(0);
    let project = project.model([makes("base"), makes("goal")]);

    project.run(["run"]).exits(0).shows("1 optional still open");

    assert_eq!(["base", "goal", "extra"].map(|id| project.status(id)), ["proven", "proven", "open"]);
}

/// A21: one task that failed for good made «all complete» unreachable, and the loop planned everything anew.
#[test]
fn a21_a_feature_that_fails_for_good_is_blocked_and_the_others_are_worked_on() {
    let idle = || session([say("I am done")]);
    let project = Project::ready().feature("hard", "test -f hard");
    let project = (1..=3).fold(project, |project, n| project.feature(&format!("f{n}"), &format!("test -f f{n}")));
    let project = project.model([idle(), idle(), idle(), makes("f1"), makes("f2"), makes("f3")]);

    let run = project.run(["run"]);

    // Three sessions that changed nothing: they were all on one feature, and that is no reason to give up the others.
    run.exits(4).tells("hard is blocked: 3 attempts did not prove it").tells("longhaul feature reopen hard");
    let states = ["hard", "f1", "f2", "f3"].map(|id| project.status(id));
    assert_eq!(states, ["blocked", "proven", "proven", "proven"]);
}

/// A25: evidence was shown without the commit it was measured at, and a stale result was read as current.
#[test]
fn a25_a_pass_names_its_commit_and_is_stale_once_the_tree_moved() {
    let project = with_features(1).model([makes("f1")]);
    project.run(["run"]).exits(0);
    let passed = project.git(["rev-parse", "--short=7", "HEAD"]);
    project.run(["status"]).prints(&format!("at {passed}"));
    project.git(["rm", "-q", "f1"]);
    project.git(["commit", "-qm", "breaks it"]);
    let now = project.git(["rev-parse", "--short=7", "HEAD"]);

    let status = project.run(["status", "--exit-code"]);

    status.exits(8).prints(&format!("at {now}")).prints(&format!("at {passed}, not since"));
    assert_eq!(project.status("f1"), "stale");
    project.run(["check", "--all"]).exits(8);
    assert_eq!(project.status("f1"), "regressed");
}

/// A34: no place in the plan where somebody looks before the work goes on.
#[test]
fn a34_a_milestone_for_a_person_pauses_the_run_where_it_is_reached() {
    let look = r#"{"id": "look", "title": "It looks right", "milestone": true, "depends_on": ["f1"],
        "check": {"run": "", "kind": "manual"}}"#;
    let project = with_features(2);
    project.run_with(["feature", "add", "-"], look).exits(0);
    let project = project.model([makes("f1"), makes("f2")]);

    // The second feature could be worked on; it comes after the look all the same.
    let run = project.run(["run"]);
    run.exits(4).tells("the milestone look is reached and waits for a person to look: It looks right");
    run.tells("longhaul accept look --reason TEXT");
    assert_eq!(["f1", "f2", "look"].map(|id| project.status(id)), ["proven", "open", "waiting"]);
    project.run(["run"]).exits(4);

    project.run(["accept", "look", "--reason", "seen on a phone"]).exits(0);
    project.run(["run"]).exits(0).shows("done: 2 features proven, 1 accepted by a person");
}

/// A34: whoever looks at a milestone is told of all else that will stop the run.
#[test]
fn a34_a_milestone_names_what_else_waits_for_a_person() {
    let look = r#"[{"id": "look", "title": "It looks right", "milestone": true, "depends_on": ["f1"],
        "check": {"run": "", "kind": "manual"}}, {"id": "old", "title": "old", "check": "test -f README"},
        {"id": "later", "title": "later", "depends_on": ["look"], "check": "test -f later"}]"#;
    let project = with_features(1);
    project.run_with(["feature", "add", "-"], look).exits(0);

    let run = project.model([makes("f1")]).run(["run"]);

    run.exits(4).tells("the milestone look is reached").tells("old is already green: ").hides("later waits for");
}

/// A34 with a check: it runs when all it looks over are done, and costs no session when it passes.
#[test]
fn a34_a_milestone_with_a_check_is_proven_without_a_session_when_it_passes() {
    let both = r#"{"id": "both", "title": "Both work together", "milestone": true, "depends_on": ["f1", "f2"],
        "priority": 0, "check": "test -f f1 && test -f f2 && test ! -f broken"}"#;
    let project = with_features(2);
    project.run_with(["feature", "add", "-"], both).exits(0);
    let project = project.model([makes("f1"), makes("f2")]);

    project.run(["run"]).exits(0).tells("both is proven without a session");
    assert_eq!(project.played().requests().len(), 4);
    project.run(["feature", "list"]).prints("Both work together (milestone)");
    project.run(["show", "both"]).prints("milestone of   f1, f2");

    // One that fails is worked on like any feature.
    let project = with_features(1);
    let broken = r#"{"id": "m", "title": "m", "milestone": true, "depends_on": ["f1"], "check": "test -f m"}"#;
    project.run_with(["feature", "add", "-"], broken).exits(0);
    let project = project.model([makes("f1"), makes("m")]);
    project.run(["run"]).exits(0).shows("2 features proven");
    assert!(project.played().requests()[2].to_string().contains("its check looks over f1 together"));
}

/// A15: twelve more paid sessions after all features passed.
#[test]
fn a15_a_finished_checklist_starts_no_session() {
    let project = with_features(1).model([makes("f1")]);
    project.run(["run"]).exits(0);
    let before = project.played().requests().len();

    project.run(["run"]).exits(0).shows("done: 1 feature proven");

    assert_eq!(project.played().requests().len(), before);
}

/// A16: a finished feature was picked again and again, from a stale reading.
#[test]
fn a16_a_feature_that_is_closed_between_two_sessions_is_not_picked() {
    let project = with_features(3).model([makes("f1"), makes("f3")]);
    let config = project.home().join(".config/longhaul");
    std::fs::create_dir_all(&config).unwrap();
    // The user's own hook stands for anything that commits between two sessions.
    let hook = "[hooks]\nsession_end = [\"test -f f2 || { touch f2; git add f2; git commit -qm outside; }\"]\n";
    std::fs::write(config.join("config.toml"), hook).unwrap();

    project.run(["run"]).exits(0).tells("f2 is proven without a session");

    assert_eq!([1, 2].map(|number| project.events(number)[0]["feature"].clone()), ["f1", "f3"]);
}

/// A16 for a person who changes the checklist between two runs.
#[test]
fn a16_a_feature_that_a_person_settled_is_not_picked() {
    let project = with_features(2).model([session([say("hm")]), makes("f2")]);
    project.run(["run", "--sessions", "1"]).exits(3);
    project.run(["accept", "f1", "--reason", "seen"]).exits(0);

    project.run(["run"]).exits(0);

    assert_eq!(project.events(2)[0]["feature"], "f2");
}

/// A17: the agent stamped a phase complete whose verification steps it had skipped.
#[test]
fn a17_words_of_success_do_not_outweigh_a_check_that_fails() {
    let liar = session([reply([bash("echo verified end-to-end > log.txt")]), say("verified end-to-end, looks good")]);
    let project = Project::ready().feature("login", "echo the page is missing; exit 1").model([liar]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("the page is missing");

    assert_eq!(project.status("login"), "open");
    assert_eq!(project.stored("login")["passes"], false);
}

/// A18: the service failed after the check had passed, on old code, and the work was recorded as done.
#[test]
fn a18_a_check_that_passes_on_old_code_proves_nothing_and_a_failed_session_is_no_success() {
    let project = Project::ready()
        .feature("old", "test -f README")
        .feature("new", "test -f new")
        .model([session([json!({ "status": 403 })])]);

    project.run(["run"]).exits(5);

    assert_eq!(["old", "new"].map(|id| project.status(id)), ["already green", "open"]);
    assert!(["old", "new"].iter().all(|id| project.stored(id)["passes"] == false));
    assert_eq!(project.stored("new")["attempts"], 0);
    project.run(["status", "--exit-code"]).exits(8);
}

/// A18: what the session did before the service failed counts when the check says so, and only then.
#[test]
fn a18_work_that_passes_is_proven_though_its_session_failed() {
    let project = Project::ready()
        .feature("f", "test -f f")
        .model([session([reply([bash("touch f")]), json!({ "status": 403 })])]);

    project.run(["run"]).exits(5);

    assert_eq!(project.status("f"), "proven");
    assert_eq!(project.stored("f")["evidence"]["red"]["verdict"], "failed");
}

/// A19: progress stayed at nought because the agent never ticked the box.
#[test]
fn a19_features_are_proven_though_the_agent_never_touches_the_checklist() {
    let both = session([reply([bash("touch f1 f2")]), say("hm")]);
    let project = with_features(2).model([both]);

    project.run(["run"]).exits(0).shows("f2 is proven without a session");

    assert_eq!(["f1", "f2"].map(|id| project.status(id)), ["proven", "proven"]);
}
