use super::*;
use crate::checklist::State;
use crate::gate::Check;

fn checklist() -> Checklist {
    let mut checklist = Checklist::empty();
    checklist
        .add(&json!([{"id": "a", "title": "A", "check": "true"}, {"id": "b", "title": "B", "check": "true"}]), "me")
        .unwrap();
    checklist
}

fn verdict(checklist: &Checklist, finding: Finding, tree: &str) -> Verdict {
    Verdict::example("a", checklist.get("a").unwrap().check.as_ref().unwrap(), finding, tree)
}

/// Everything but the feature `a`.
fn rest(checklist: &Checklist) -> Value {
    let mut root: Value = serde_json::from_str(&checklist.render()).unwrap();
    root["features"][0] = Value::Null;
    root
}

#[test]
fn a_proof_changes_passes_and_evidence_together_and_nothing_else() {
    let mut checklist = checklist();
    let before = rest(&checklist);
    let proof = verdict(&checklist, Finding::Passed, "now");
    checklist.prove("a", &proof).unwrap();
    let a = checklist.get("a").unwrap();
    assert_eq!((a.passes, a.evidence.clone()), (true, Some(proof.to_evidence())));
    assert_eq!((checklist.state("a", "now"), checklist.state("a", "later")), (State::Proven, State::Stale));
    assert_eq!(rest(&checklist), before);
}

#[test]
fn only_a_proof_of_this_check_of_this_feature_proves() {
    let mut checklist = checklist();
    let unproven = [
        Finding::Failed,
        Finding::TimedOut,
        Finding::Signalled,
        Finding::NotRunnable,
        Finding::NotReady,
        Finding::CheckChanged,
        Finding::TreeMoved,
        Finding::AlreadyGreen,
        Finding::Interrupted,
        Finding::NotCommitted,
    ];
    for finding in unproven {
        let error = checklist.prove("a", &verdict(&checklist, finding, "now")).unwrap_err().to_string();
        assert_eq!(error, format!("the verdict on `a` proves nothing: {finding}"));
    }
    let of_a = verdict(&checklist, Finding::Passed, "now");
    let of_another_check = Verdict::example("a", &Check::command("other"), Finding::Passed, "now");
    assert!(checklist.prove("b", &of_a).is_err());
    assert!(checklist.prove("a", &of_another_check).is_err());
    assert!(!checklist.features().iter().any(|feature| feature.passes));
}

#[test]
fn a_regression_takes_the_pass_back_and_keeps_the_evidence() {
    let mut checklist = checklist();
    let proof = verdict(&checklist, Finding::Passed, "first");
    assert!(checklist.regress("a", &verdict(&checklist, Finding::Failed, "x")).is_err());
    checklist.prove("a", &proof).unwrap();
    for finding in [Finding::Interrupted, Finding::NotCommitted, Finding::Passed] {
        assert!(checklist.regress("a", &verdict(&checklist, finding, "x")).is_err());
    }
    checklist.regress("a", &verdict(&checklist, Finding::Failed, "second")).unwrap();
    let a = checklist.get("a").unwrap();
    assert_eq!((a.passes, a.evidence.clone(), a.regressed.clone()), (false, None, Some(proof.to_evidence())));
    assert_eq!(checklist.state("a", "second"), State::Regressed);
    checklist.prove("a", &verdict(&checklist, Finding::Passed, "third")).unwrap();
    assert_eq!((checklist.state("a", "third"), &checklist.get("a").unwrap().regressed), (State::Proven, &None));
}

#[test]
fn a_passing_recheck_makes_a_stale_feature_proven() {
    let mut checklist = checklist();
    checklist.prove("a", &verdict(&checklist, Finding::Passed, "first")).unwrap();
    assert!(checklist.rechecked("a", &verdict(&checklist, Finding::Failed, "second")).is_err());
    assert_eq!(checklist.state("a", "second"), State::Stale);
    checklist.rechecked("a", &verdict(&checklist, Finding::AlreadyGreen, "second")).unwrap();
    assert_eq!((checklist.state("a", "second"), checklist.state("a", "first")), (State::Proven, State::Proven));
}

#[test]
fn a_result_that_proves_nothing_is_kept_and_counted() {
    let mut checklist = checklist();
    let record = |checklist: &mut Checklist, finding, tree: &str, counts| {
        let verdict = verdict(checklist, finding, tree);
        checklist.record("a", &verdict, counts).unwrap();
        let a = checklist.get("a").unwrap().clone();
        (a.attempts, a.baseline.map(|baseline| format!("{} {}", baseline.verdict, baseline.commit)))
    };
    assert_eq!(record(&mut checklist, Finding::AlreadyGreen, "1", false), (0, None));
    assert_eq!(record(&mut checklist, Finding::Interrupted, "1", true), (0, None));
    let first = Some("failed commit of 2".to_owned());
    assert_eq!(record(&mut checklist, Finding::Failed, "2", true), (1, first.clone()));
    assert_eq!(record(&mut checklist, Finding::TimedOut, "3", true), (2, first.clone()));
    assert_eq!(record(&mut checklist, Finding::CheckChanged, "4", true), (3, first));
    assert_eq!(checklist.get("a").unwrap().last_verdict.as_ref().unwrap()["verdict"], "check changed");
    checklist.reopen("a").unwrap();
    assert_eq!(checklist.get("a").unwrap().attempts, 0);
}

#[test]
fn attempts_that_fail_the_same_way_are_counted() {
    let mut checklist = checklist();
    let record = |checklist: &mut Checklist, finding, counts| {
        let verdict = verdict(checklist, finding, "t");
        checklist.record("a", &verdict, counts).unwrap();
        checklist.get("a").unwrap().equal_failures()
    };
    assert_eq!(record(&mut checklist, Finding::NotReady, true), 1);
    assert_eq!(record(&mut checklist, Finding::NotReady, true), 2);
    assert_eq!(record(&mut checklist, Finding::NotReady, false), 2, "a look by hand is no attempt");
    assert_eq!(record(&mut checklist, Finding::TimedOut, true), 1);
    assert_eq!(record(&mut checklist, Finding::TimedOut, true), 2);
    checklist.reopen("a").unwrap();
    assert_eq!(record(&mut checklist, Finding::TimedOut, true), 1);
    assert_eq!(record(&mut checklist, Finding::NotCommitted, true), 0);
}

#[test]
fn a_check_that_fails_without_a_word_fails_the_same_way_where_nothing_changed() {
    let mut checklist = checklist();
    let mut record = |tree: &str| {
        let verdict = verdict(&checklist, Finding::Failed, tree);
        assert_eq!(verdict.failure(), None);
        checklist.record("a", &verdict, true).unwrap();
        checklist.get("a").unwrap().equal_failures()
    };
    assert_eq!(["t", "t", "t"].map(&mut record), [1, 2, 3]);
    assert_eq!(["u", "v", "v"].map(&mut record), [1, 1, 2]);
}

#[test]
fn a_red_replaces_a_baseline_that_was_green_or_of_another_check() {
    let mut checklist = checklist();
    checklist.set_baseline("a", &verdict(&checklist, Finding::AlreadyGreen, "1")).unwrap();
    assert_eq!(checklist.state("a", "1"), State::AlreadyGreen);
    checklist.record("a", &verdict(&checklist, Finding::Failed, "2"), true).unwrap();
    assert_eq!(checklist.get("a").unwrap().baseline.as_ref().unwrap().commit, "commit of 2");
    assert_eq!(checklist.get("a").unwrap().since(), Some("commit of 1"), "it is still the same check");
    assert_eq!(checklist.state("a", "2"), State::Open);
    checklist.pin("a", &BTreeMap::from([("tests/x".to_owned(), None)])).unwrap();
    checklist.record("a", &verdict(&checklist, Finding::Failed, "3"), true).unwrap();
    assert_eq!(checklist.get("a").unwrap().baseline.as_ref().unwrap().commit, "commit of 3");
    assert_eq!(checklist.get("a").unwrap().since(), Some("commit of 3"), "it is another check");
    assert!(checklist.set_baseline("a", &verdict(&checklist, Finding::NotCommitted, "4")).is_err());
}

#[test]
fn a_red_does_not_replace_what_was_green_before_any_work() {
    for (rules, stands) in [("now", "already green"), ("first", "failed")] {
        let mut checklist = checklist();
        if rules == "now" {
            checklist.pin("a", &BTreeMap::new()).unwrap();
        }
        checklist.set_baseline("a", &verdict(&checklist, Finding::AlreadyGreen, "1")).unwrap();
        checklist.record("a", &verdict(&checklist, Finding::Failed, "2"), false).unwrap();
        assert_eq!(checklist.state("a", "2"), State::Open);
        assert_eq!(checklist.get("a").unwrap().baseline.as_ref().unwrap().verdict, stands, "{rules}");
        assert_eq!(checklist.get("a").unwrap().red().is_some(), rules == "first");
        checklist.record("a", &verdict(&checklist, Finding::AlreadyGreen, "3"), true).unwrap();
        assert_eq!(checklist.state("a", "3"), State::AlreadyGreen);
        // Another check has a past of its own.
        checklist.pin("a", &BTreeMap::from([("tests/x".to_owned(), None)])).unwrap();
        checklist.record("a", &verdict(&checklist, Finding::Failed, "4"), true).unwrap();
        assert_eq!(checklist.get("a").unwrap().red().map(|red| red.commit.as_str()), Some("commit of 4"));
    }
}

#[test]
fn a_word_that_a_failure_took_back_is_asked_for_again_and_a_proof_is_not() {
    let mut checklist = checklist();
    checklist.pin("a", &BTreeMap::new()).unwrap();
    let green = verdict(&checklist, Finding::AlreadyGreen, "1");
    checklist.set_baseline("a", &green).unwrap();
    checklist.accept("a", "seen", Accepted { commit: "c", tree: "1", at: "now" }, Some(&green)).unwrap();
    checklist.regress("a", &verdict(&checklist, Finding::Failed, "2")).unwrap();
    checklist.record("a", &verdict(&checklist, Finding::Failed, "3"), true).unwrap();
    assert_eq!(checklist.state("a", "3"), State::Regressed);
    checklist.record("a", &verdict(&checklist, Finding::AlreadyGreen, "4"), true).unwrap();
    assert_eq!(checklist.state("a", "4"), State::AlreadyGreen);

    let mut proven = self::checklist();
    proven.pin("a", &BTreeMap::new()).unwrap();
    proven.set_baseline("a", &verdict(&proven, Finding::Failed, "0")).unwrap();
    proven.prove("a", &verdict(&proven, Finding::Passed, "1")).unwrap();
    proven.regress("a", &verdict(&proven, Finding::Failed, "2")).unwrap();
    proven.record("a", &verdict(&proven, Finding::Failed, "3"), true).unwrap();
    assert_eq!(proven.get("a").unwrap().red().map(|red| red.commit.as_str()), Some("commit of 0"));
}

#[test]
fn another_check_makes_what_was_known_untrue() {
    let mut checklist = checklist();
    checklist.prove("a", &verdict(&checklist, Finding::Passed, "1")).unwrap();
    assert!(checklist.set_check("a", &json!({"run": "x", "timout": 1}), "me").is_err());
    assert!(checklist.get("a").unwrap().passes);
    checklist.set_check("a", &json!("false"), "me").unwrap();
    let a = checklist.get("a").unwrap();
    assert_eq!((a.passes, &a.evidence, a.check.as_ref().unwrap().run.as_str()), (false, &None, "false"));
}

#[test]
fn a_doubted_check_waits_for_a_person_until_something_is_known() {
    let mut doubted = checklist();
    doubted.doubt("a", "it calls a wrong port").unwrap();
    assert_eq!(doubted.state("a", "1"), State::Waiting);
    let settled: [fn(&mut Checklist); 4] = [
        |list| list.reopen("a").unwrap(),
        |list| list.prove("a", &verdict(list, Finding::Passed, "1")).unwrap(),
        |list| list.accept("a", "seen", Accepted { commit: "c", tree: "1", at: "now" }, None).unwrap(),
        |list| list.set_check("a", &json!("false"), "me").unwrap(),
    ];
    for settle in settled {
        let mut list = doubted.clone();
        settle(&mut list);
        assert_eq!(list.get("a").unwrap().check_problem, None);
    }
}

#[test]
fn a_feature_waits_for_a_file_that_nobody_approved_until_something_is_known() {
    let mut waiting = checklist();
    let without = |list: &Checklist, finding| verdict(list, finding, "2").without("tests/a.sh");
    waiting.record("a", &without(&waiting, Finding::Failed), true).unwrap();
    assert_eq!(waiting.get("a").unwrap().unapproved, ["tests/a.sh"]);
    assert_eq!(waiting.state("a", "2"), State::Waiting);
    let settled: [fn(&mut Checklist); 6] = [
        |list| list.reopen("a").unwrap(),
        |list| list.record("a", &verdict(list, Finding::Failed, "3"), true).unwrap(),
        |list| list.prove("a", &verdict(list, Finding::Passed, "3")).unwrap(),
        |list| list.accept("a", "seen", Accepted { commit: "c", tree: "1", at: "now" }, None).unwrap(),
        |list| list.approve("a", "me").unwrap(),
        |list| list.set_check("a", &json!("false"), "me").unwrap(),
    ];
    for settle in settled {
        let mut list = waiting.clone();
        settle(&mut list);
        assert!(list.get("a").unwrap().unapproved.is_empty());
        assert_ne!(list.state("a", "3"), State::Waiting);
    }
    // What passed without it is not held up by it.
    let mut proven = checklist();
    proven.set_baseline("a", &verdict(&proven, Finding::Failed, "0")).unwrap();
    proven.prove("a", &verdict(&proven, Finding::Passed, "1")).unwrap();
    proven.regress("a", &without(&proven, Finding::Failed)).unwrap();
    proven.record("a", &without(&proven, Finding::Failed), true).unwrap();
    assert_eq!(proven.state("a", "2"), State::Regressed);
    let mut green = checklist();
    green.record("a", &without(&green, Finding::AlreadyGreen), true).unwrap();
    assert_eq!(green.state("a", "2"), State::AlreadyGreen);
}

#[test]
fn a_persons_word_is_no_proof() {
    let mut checklist = checklist();
    let green = verdict(&checklist, Finding::AlreadyGreen, "1");
    checklist.accept("a", "seen", Accepted { commit: "c", tree: "1", at: "now" }, Some(&green)).unwrap();
    let a = checklist.get("a").unwrap();
    assert_eq!((a.passes, checklist.state("a", "2")), (false, State::Accepted));
    assert_eq!(
        a.accepted,
        Some(json!({"reason": "seen", "commit": "c", "tree": "1", "at": "now", "verdict": "already green"}))
    );
    checklist.reopen("a").unwrap();
    assert_eq!(checklist.state("a", "2"), State::Open);
}
