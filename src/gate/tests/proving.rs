//! When a pass proves a feature.

use super::*;

#[test]
fn a_pass_on_a_later_tree_proves() {
    let bench = Bench::in_place();
    let check = bench.approved("grep after src/product.txt");
    bench.work();
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");

    let head = bench.project.head().unwrap().unwrap();
    let output = verdict.trial().output().unwrap().digest.clone();
    let path = bench.folder.path().join("artifacts").join(format!("{output}.txt"));
    let mut evidence = verdict.to_evidence();
    evidence["seconds"] = json!(0);
    let expected = json!({
        "commit": head.commit, "tree": head.tree, "check": check.digest(), "exit": 0, "seconds": 0,
        "output": {"digest": output, "bytes": 6, "path": path}, "runs": 1,
        "red": {"commit": bench.red.commit, "verdict": "failed"}, "level": "plain", "checkout": "in-place",
        "form": "the command", "approved_by": "", "overlaid": [], "disclosed": [], "soft": [], "session": 7,
        "at": "2026-11-29T14:03:00Z", "untracked": [], "prepared": null,
    });
    assert_eq!(evidence, expected);
    assert_eq!(fs::read_to_string(path).unwrap(), "after\n");
}

#[test]
fn a_pass_without_a_red_of_the_same_check_is_already_green() {
    let bench = Bench::new();
    let check = bench.approved("true");
    bench.work();
    let judge = |red: Option<&Red>| bench.judge_knowing(&check, &Known { red: red.cloned(), ..Known::default() });
    let of_this = Red { check: check.digest(), ..bench.red.clone() };
    let of_another = Red { check: "another".to_owned(), ..bench.red.clone() };
    assert_eq!(judge(None).finding(), Finding::AlreadyGreen);
    assert_eq!(judge(Some(&of_another)).finding(), Finding::AlreadyGreen);
    assert_eq!(judge(Some(&of_this)).finding(), Finding::Passed);
}

#[test]
fn a_pass_on_the_tree_that_was_red_is_already_green() {
    let bench = Bench::new();
    let check = bench.approved("true");
    assert_eq!(bench.finding(&check), Finding::AlreadyGreen);
    bench.commit();
    assert_eq!(bench.finding(&check), Finding::AlreadyGreen, "an empty commit is no work");
    bench.work();
    assert_eq!(bench.finding(&check), Finding::Passed);
}

#[test]
fn a_red_whose_commit_is_gone_still_counts() {
    let bench = Bench::new();
    let check = bench.approved("true");
    let red = Red {
        commit: "0123456789012345678901234567890123456789".to_owned(),
        check: check.digest(),
        ..bench.red.clone()
    };
    assert!(bench.judge_knowing(&check, &Known { red: Some(red), ..Known::default() }).proves());
}

#[test]
fn a_baseline_that_could_only_not_be_set_up_is_looked_at_again() {
    let mut bench = Bench::new();
    bench.settings.prepare = "exit 1".to_owned();
    let (green, red) = (bench.approved("true"), bench.approved("grep after src/product.txt"));
    let of =
        |check: &Check, unprepared| Known { red: Some(Red { unprepared, ..bench.red_of(check) }), ..Known::default() };
    let verdict = bench.judge_knowing(&green, &Known::default());
    assert_eq!(verdict.to_baseline()["unprepared"], true, "{verdict:?}");
    let known = [of(&green, true), of(&red, true), of(&green, false)];
    bench.settings.prepare = "true".to_owned();
    bench.work();

    let verdict = bench.judge_knowing(&green, &known[0]);
    assert_eq!(verdict.finding(), Finding::AlreadyGreen);
    assert!(verdict.trial().detail().contains("passes on that commit now"), "{}", verdict.trial().detail());
    assert!(bench.judge_knowing(&red, &known[1]).proves(), "it fails there now, too");
    assert!(bench.judge_knowing(&green, &known[2]).proves(), "the twin");
}

#[test]
fn a_server_that_was_not_up_before_the_work_is_a_baseline() {
    let bench = Bench::new();
    let never =
        Check { ready: Some("false".to_owned()), timeout: Some(Duration::from_millis(50)), ..Check::command("true") };
    let verdict = bench.judge_knowing(&never, &Known::default());
    assert_eq!((verdict.finding(), verdict.to_baseline()["unprepared"].is_null()), (Finding::NotReady, true));
}

#[test]
fn what_is_in_no_commit_is_not_judged() {
    let bench = Bench::in_place();
    let check = bench.approved("grep after src/product.txt");
    bench.work();
    bench.write("src/product.txt", "after and more\n");
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::NotCommitted);
    assert_eq!(verdict.trial().sentence(), "not committed: not in any commit: `src/product.txt`");
    bench.commit();
    assert_eq!(bench.finding(&check), Finding::Passed);
}

#[test]
fn a_check_that_changes_tracked_files_does_not_pass() {
    let bench = Bench::in_place();
    let changing = bench.approved("echo more >> src/product.txt");
    let adding = bench.approved("echo more >> src/report.txt");
    bench.work();
    assert_eq!(bench.finding(&adding), Finding::Passed);
    let verdict = bench.judge(&changing);
    assert_eq!(verdict.finding(), Finding::TreeMoved);
    let detail = verdict.trial().detail();
    assert!(
        detail.starts_with("the check changed tracked files: `src/product.txt`; if the build makes them, run it and commit what it makes; else let it write to `$TMPDIR`"),
        "{detail}"
    );
}

#[test]
fn a_check_that_commits_does_not_pass() {
    let bench = Bench::in_place();
    let commit = "git -c user.name=t -c user.email=t@localhost commit -qm x --allow-empty";
    let (committing, looking) = (bench.approved(commit), bench.approved("git log"));
    bench.work();
    assert_eq!(bench.finding(&looking), Finding::Passed);
    assert_eq!(bench.finding(&committing), Finding::TreeMoved);
}

#[test]
fn a_project_without_commits_is_judged_as_not_committed() {
    let bench = Bench::new();
    bench.git("checkout -q --orphan empty");
    assert_eq!(bench.judge(&Check::command("true")).trial().detail(), "the project has no commit yet");
}
