//! How a check is run, and what its end means.

use super::*;

#[test]
fn no_key_and_no_outer_home_is_in_the_environment() {
    let mut bench = Bench::new();
    let check = bench.approved(
        "env; test -z \"$ANTHROPIC_API_KEY\" && test \"$TZ\" = UTC && test -d \"$HOME\" && test -d \"$TMPDIR\"",
    );
    bench.work();
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{}", verdict.trial().last_lines(50));
    let home =
        verdict.trial().output().unwrap().text().lines().find(|line| line.starts_with("HOME=")).unwrap().to_owned();
    assert!(home.contains("/longhaul-") && home.contains("-check-"), "{home}");
    // The twin: with the outer environment as it is, the key would be seen.
    bench.settings.environment.insert("ANTHROPIC_API_KEY".to_owned(), "sk-secret".to_owned());
    assert_eq!(bench.finding(&check), Finding::Failed);
}

#[test]
fn an_exit_code_decides_and_words_do_not() {
    let bench = Bench::new();
    let cases = [
        ("echo PASSED; exit 1", Finding::Failed),
        ("no-such-command", Finding::NotRunnable),
        ("./src/product.txt", Finding::NotRunnable),
        ("kill -9 $$", Finding::Signalled),
        ("false\ntrue", Finding::Failed),
        ("false; true", Finding::Passed),
        ("cat; echo no input", Finding::Passed),
        ("sleep 300 & echo ok", Finding::Passed),
    ];
    let checks = cases.map(|(text, finding)| (bench.approved(text), finding));
    bench.work();
    for (check, finding) in checks {
        assert_eq!(bench.finding(&check), finding, "{}", check.run);
    }
}

#[test]
fn a_check_that_exits_0_after_its_limit_has_not_passed() {
    let bench = Bench::new();
    let run = "trap 'exit 0' TERM; while :; do sleep 0.1; done";
    let late = bench.approve(Check { timeout: Some(Duration::from_millis(300)), ..Check::command(run) });
    bench.work();
    assert_eq!(bench.finding(&late), Finding::TimedOut);
}

#[test]
fn what_the_time_ends_is_out_of_time_and_no_failure() {
    let mut bench = Bench::new();
    let setup = |setup: &str| Check { setup: Some(setup.to_owned()), ..Check::command("true") };
    let ready = Check { ready: Some("false".to_owned()), ..Check::command("true") };
    let slow = [Check::command("sleep 300"), setup("sleep 300"), ready].map(|check| bench.approve(check));
    let known = bench.approved("true");
    bench.work();
    for check in &slow {
        bench.deadline = Some(Instant::now() + Duration::from_secs(2));
        let start = Instant::now();
        let verdict = bench.judge(check);
        assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
        assert_eq!(verdict.finding(), Finding::OutOfTime, "{}", verdict.trial().sentence());
        assert!(verdict.trial().sentence().contains("a budget of time was used up"), "{}", verdict.trial().sentence());
        assert_eq!((verdict.failure(), verdict.is_red()), (None, false));
    }
    // What waits is ended a pause before the moment, which may still be to come.
    bench.deadline = Some(Instant::now());
    assert_eq!(bench.finding(&known), Finding::OutOfTime, "the time is over before it begins");
    let candidate = Candidate { feature: "a".into(), check: known.clone(), known: bench.known(&known), at: "1".into() };
    let swept = bench.gate().sweep(vec![candidate], None, &|_| None, &mut |_| {}).unwrap();
    assert_eq!(swept.left, [("a".to_owned(), Finding::OutOfTime)]);
    // The twins: without that moment they come to their own ends.
    bench.deadline = None;
    bench.settings.timeout = Duration::from_secs(1);
    assert_eq!(
        slow.each_ref().map(|check| bench.finding(check)),
        [Finding::TimedOut, Finding::NotReady, Finding::NotReady]
    );
    assert_eq!(bench.finding(&known), Finding::Passed);
}

#[test]
fn an_expected_text_can_refuse_and_not_make_a_pass() {
    let bench = Bench::new();
    let expect = |run: &str| bench.approve(Check { expect: Some("3 tests".to_owned()), ..Check::command(run) });
    let (nothing, enough, failed) = (expect("echo 0 tests"), expect("echo 3 tests"), expect("echo 3 tests; exit 1"));
    bench.work();
    assert_eq!(bench.finding(&enough), Finding::Passed);
    assert_eq!(bench.finding(&failed), Finding::Failed);
    assert_eq!(bench.judge(&nothing).trial().detail(), "exit code 0, but the output does not hold `3 tests`");
}

#[test]
fn every_run_must_pass() {
    let bench = Bench::new();
    let flaky = "test ! -e \"$TMPDIR/ran\" && touch \"$TMPDIR/ran\"";
    let once = bench.approved(flaky);
    let thrice = bench.approve(Check { runs: 3, ..Check::command(flaky) });
    bench.work();
    assert_eq!(bench.finding(&once), Finding::Passed);
    assert_eq!(bench.finding(&thrice), Finding::Failed);
}

#[test]
fn servers_of_the_setup_live_as_long_as_the_check() {
    let mut bench = Bench::new();
    bench.init_script = Some("sleep 300 & echo $! > \"$HOME/server\"".to_owned());
    let check = Check {
        setup: Some("init".to_owned()),
        ready: Some("test -e \"$HOME/server\"".to_owned()),
        ..Check::command("cat $HOME/server; kill -0 $(cat $HOME/server)")
    };
    let check = bench.approve(check);
    bench.work();
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
    let server = verdict.trial().last_lines(1).parse().unwrap();
    assert!(!crate::process::group_lives(server));
    let state = fs::read_to_string(format!("/proc/{server}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "the server is still there: {state}");
}

#[test]
fn what_does_not_get_ready_is_told_apart_from_a_failure() {
    let mut bench = Bench::new();
    let short = |check: Check| bench.approve(Check { timeout: Some(Duration::from_millis(300)), ..check });
    let never = short(Check { ready: Some("false".to_owned()), ..Check::command("true") });
    let broken = short(Check { setup: Some("exit 3".to_owned()), ..Check::command("true") });
    let unknown = short(Check { setup: Some("init".to_owned()), ..Check::command("true") });
    bench.work();
    let detail = bench.judge(&never).trial().detail().to_owned();
    assert!(
        detail.contains("s, the check's limit; it has no `setup` that would start it: `false`: exit code 1"),
        "{detail}"
    );
    assert_eq!(bench.judge(&broken).trial().detail(), "the check's setup `exit 3` failed: exit code 3");
    let untried = bench.judge(&unknown);
    let expected = "the check's setup is `init`, but no init script is known: name one in memory's `init.md`";
    assert_eq!((untried.trial().detail(), untried.is_red()), (expected, false));
    assert_eq!(bench.finding(&unknown), Finding::NotReady);
    bench.init_script = Some("true".to_owned());
    assert_eq!(bench.finding(&unknown), Finding::Passed);
}

#[test]
fn an_interrupted_run_decides_nothing() {
    let bench = Bench::new();
    let check = bench.approved("true");
    bench.work();
    bench.interrupt.request();
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::Interrupted);
    assert!(!verdict.finding().is_red() && !verdict.proves());
}

#[test]
fn nothing_of_a_run_is_left_behind() {
    let bench = Bench::new();
    let check = bench.approved("touch $HOME/a $TMPDIR/b");
    bench.work();
    bench.judge(&check);
    let left = fs::read_dir(bench.folder.path()).unwrap().flatten().map(|entry| entry.file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with("longhaul-")));
}

#[test]
fn a_trial_runs_on_what_a_commit_of_now_would_hold() {
    for mut bench in [Bench::new(), Bench::in_place()] {
        let check = bench.approved("grep after src/product.txt && ! test -e mine");
        bench.settings.checkout = Checkout::Clean;
        bench.write("mine", "");
        let before = bench.project.untracked_marks().unwrap();
        bench.write("src/product.txt", "after\n");
        bench.write("src/new.txt", "new\n");
        let index = fs::read(bench.root().join(".git/index")).unwrap();
        let mut gate = bench.gate();
        let finding = |gate: &Gate| gate.try_out(&check, &Known::default(), &|_| None).unwrap().finding();
        gate.before = before;
        assert_eq!(finding(&gate), Finding::Passed);
        gate.before = Marks::new();
        assert_eq!(finding(&gate), Finding::Failed, "an untracked file that would be committed is there");
        assert_eq!(fs::read(bench.root().join(".git/index")).unwrap(), index);
        assert_eq!(bench.finding(&check), Finding::Failed, "nothing is committed yet");
    }
}

#[test]
fn what_holds_nothing_is_empty_and_no_baseline() {
    let mut bench = Bench::new();
    bench.files = CheckFiles::new(vec![("a.sh".to_owned(), b"# to do\n".to_vec())]);
    let (command, script) = (bench.approved("# to do\n"), bench.approved("sh $LONGHAUL_CHECKS/a.sh"));
    bench.work();
    assert_eq!([bench.finding(&command), bench.finding(&script)], [Finding::Empty; 2]);
    assert!(!Finding::Empty.is_red() && !Finding::Empty.is_green());
}

#[test]
fn a_runner_that_ran_nothing_does_not_pass_and_its_exit_code_still_counts() {
    let bench = Bench::new();
    bench.write("bin/pytest", "#!/bin/sh\necho \"$1 in 0.00s\"\nexit $2\n");
    bench.git("update-index --add --chmod=+x bin/pytest");
    let pytest = |says: &str, code: u8| bench.approved(&format!("PATH=$PWD/bin:$PATH pytest '{says}' {code}"));
    let (none, some) = (pytest("2 skipped", 0), pytest("1 passed, 2 skipped", 0));
    let failed = pytest("1 passed", 1);
    // The same words, of a product and before what tests it.
    let product = bench.approved("sh bin/pytest '2 skipped' 0");
    let behind = bench.approved("PATH=$PWD/bin:$PATH pytest '2 skipped' 0 && sh bin/pytest list 0");
    bench.git("config core.fileMode false");
    bench.work();
    let verdict = bench.judge(&none);
    assert_eq!(verdict.finding(), Finding::NothingExecuted);
    assert_eq!(verdict.trial().detail(), "exit code 0, but pytest ran no test that must pass");
    assert!(Finding::NothingExecuted.is_red(), "a test may be written yet");
    assert_eq!([bench.finding(&some), bench.finding(&failed)], [Finding::Passed, Finding::Failed]);
    assert_eq!([bench.finding(&product), bench.finding(&behind)], [Finding::Passed, Finding::Passed]);
}

#[test]
fn an_expected_text_is_found_in_what_is_not_kept() {
    let bench = Bench::new();
    let run = "head -c 5000 /dev/zero; echo '3 tests'; head -c 5000 /dev/zero";
    let expect = |text: &str| bench.approve(Check { expect: Some(text.to_owned()), ..Check::command(run) });
    let (there, missing) = (expect("3 tests"), expect("4 tests"));
    bench.work();
    let verdict = bench.judge(&there);
    assert!(verdict.proves() && verdict.trial().output().unwrap().left_out() > 5000);
    assert_eq!(bench.finding(&missing), Finding::Failed);
}

#[test]
fn a_failure_inside_a_pipeline_is_seen() {
    let bench = Bench::new();
    let cases = [
        ("false | true", Finding::Failed),
        ("true | true || false", Finding::Passed),
        ("false | cat\ntrue", Finding::Failed),
        ("echo 'a|b' | grep -c b", Finding::Passed),
        ("printf '%s' \"$(echo 'a\\nb' | wc -l)\" | grep -q 2", Finding::Passed),
    ];
    let checks = cases.map(|(text, finding)| (bench.approved(text), finding));
    let broken = bench.approved("yes | head -n 1");
    bench.work();
    for (check, finding) in checks {
        assert_eq!(bench.finding(&check), finding, "{}", check.run);
    }
    let detail = bench.judge(&broken).trial().detail().to_owned();
    assert!(detail.contains("exit code 141") && detail.contains("read to the end"), "{detail}");
}

#[test]
fn rules_that_came_later_do_not_turn_what_was_approved_before() {
    let bench = Bench::new();
    for text in ["false; true", "false && true\ntrue", "! true\ntrue"] {
        let before = bench.approved(text);
        let now = Check { rules: Rules::Now, ..before.clone() };
        bench.work();
        assert_eq!([&before, &now].map(|check| bench.finding(check)), [Finding::Passed, Finding::Failed], "{text}");
    }
}

#[test]
fn a_check_that_flipped_on_one_tree_needs_three_passes() {
    let bench = Bench::new();
    let count = bench.folder.path().join("count");
    let run = |passes: u32| format!("echo x >> {0}; test $(wc -l < {0}) -le {passes}", count.display());
    let (twice, always) = (bench.approved(&run(2)), bench.approved("true"));
    bench.work();
    let tree = bench.project.head().unwrap().unwrap().tree;
    let known =
        |check: &Check, flaky, results| Known { red: Some(bench.red_of(check)), flaky, results, ..Known::default() };

    let verdict = bench.judge_knowing(&always, &known(&always, false, vec![(tree.clone(), false)]));
    assert!(verdict.proves() && verdict.flipped());
    assert_eq!(verdict.to_evidence()["runs"], 3);
    let verdict = bench.judge_knowing(&always, &known(&always, false, vec![(tree.clone(), true)]));
    assert!(verdict.proves() && !verdict.flipped());
    let verdict = bench.judge_knowing(&twice, &known(&twice, true, vec![]));
    assert!(verdict.finding() == Finding::Failed && verdict.flipped(), "{verdict:?}");
    // The twin: not known as flaky, two passes are more than enough.
    fs::remove_file(&count).unwrap();
    assert_eq!(bench.finding(&twice), Finding::Passed);
}
