//! Where a check runs, by its lock files, and what is installed there before.

use super::*;
use crate::gate::checkout::Prepared;
use crate::gate::checkout::Private;
use crate::gate::checkout::check_out;

#[test]
fn a_lock_file_or_a_setting_decides_where_checks_run() {
    let bench = Bench::new();
    let site = |wanted, prepare: &str| site(&bench.project, wanted, prepare, None, None).unwrap();
    let place = |wanted, prepare| site(wanted, prepare).place;
    assert_eq!(place(Checkout::Auto, ""), Place::Clean);
    bench.write("web/package-lock.json", "{}");
    assert_eq!(place(Checkout::Auto, ""), Place::Clean, "it is not tracked");
    bench.commit();
    let Site { place: found, why, .. } = site(Checkout::Auto, "");
    assert_eq!(found, Place::InPlace);
    let disclosed = bench.judge(&bench.approved("true")).to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("not in a clean checkout: `web/package-lock.json` is there"), "{disclosed}");
    assert!(why.contains("`web/package-lock.json`"), "{why}");
    assert_eq!(place(Checkout::Auto, "npm ci"), Place::Clean);
    assert_eq!(place(Checkout::Clean, ""), Place::Clean);
    assert_eq!(place(Checkout::InPlace, "npm ci"), Place::InPlace);
}

#[test]
fn a_lock_file_of_later_does_not_take_a_check_out_of_its_clean_checkout() {
    let bench = Bench::new();
    let check = bench.approved("test -e answer");
    bench.write(".gitignore", "answer\n");
    bench.write("answer", "");
    bench.write("package-lock.json", "{}");
    bench.work();
    let known = |since: &str| Known { since: Some(since.to_owned()), ..bench.known(&check) };
    let first = bench.red.commit.clone();
    let verdict = bench.judge_knowing(&check, &known(&first));
    assert_eq!(verdict.finding(), Finding::Failed);
    let detail = verdict.trial().detail();
    let way_out = "a person can set `gate.prepare = \"npm ci\"`, or `gate.checkout = \"in-place\"`";
    assert!(detail.contains("`package-lock.json` came after") && detail.contains(way_out), "{detail}");
    assert_eq!(bench.judge_knowing(&check, &known(&"1".repeat(40))).finding(), Finding::Failed, "that commit is gone");
    // The twin: without the record of an earlier commit it passes on what no commit has.
    assert_eq!(bench.finding(&check), Finding::Passed);
    let head = bench.project.head().unwrap().unwrap();
    assert_eq!(
        bench.judge_knowing(&check, &known(&head.commit)).finding(),
        Finding::Passed,
        "approved with a lock file"
    );
}

#[test]
fn the_init_script_installs_what_a_lock_file_of_later_names() {
    let mut bench = Bench::new();
    bench.install_script = Some("exec sh './init.sh'".to_owned());
    let check = bench.approved("grep -x 1 modules/lib");
    bench.write(".gitignore", "modules\n");
    bench.write("yarn.lock", "1\n");
    bench.work();
    let known = Known { since: Some(bench.red.commit.clone()), ..bench.known(&check) };
    let judge = |bench: &Bench| bench.judge_knowing(&check, &known);
    assert!(judge(&bench).trial().detail().contains("nothing installs"), "there is no such script yet");

    bench.write("init.sh", "test $LONGHAUL_PHASE = install || exit 9; mkdir modules; cp yarn.lock modules/lib\n");
    bench.commit();
    let verdict = judge(&bench);
    assert!(verdict.proves(), "{verdict:?}");
    let disclosed = verdict.to_evidence()["disclosed"].to_string();
    assert!(
        disclosed.contains("`yarn.lock` came after the check was approved; the init script installed"),
        "{disclosed}"
    );

    bench.write("yarn.lock", "2\n");
    bench.write("init.sh", "echo no such package; exit 3\n");
    bench.commit();
    let verdict = judge(&bench);
    assert_eq!(verdict.finding(), Finding::NotReady);
    let failed = "the init script, which installs what `yarn.lock` names, failed in a clean checkout: exit code 3";
    assert_eq!((verdict.trial().detail(), verdict.trial().last_lines(1).as_str()), (failed, "no such package"));
}

#[test]
fn prepare_runs_once_for_each_state_of_the_lock_files_and_no_check_changes_what_it_made() {
    let mut bench = Bench::new();
    let count = bench.folder.path().join("count");
    bench.settings.prepare =
        format!("echo once >> {}; mkdir -p web/modules; cp web/yarn.lock web/modules/lib", count.display());
    bench.write(".gitignore", "modules\n");
    bench.write("web/yarn.lock", "1\n");
    bench.commit();
    let check = bench.approved("cat web/modules/lib && echo broken > web/modules/lib");
    bench.work();
    let runs = || fs::read_to_string(&count).unwrap().lines().count();
    for _ in 0..2 {
        let verdict = bench.judge(&check);
        assert_eq!((verdict.finding(), verdict.trial().last_lines(1).as_str()), (Finding::Passed, "1"));
        assert_eq!(runs(), 1);
    }
    for (state, text) in ["2\n", "3\n", "4\n"].iter().enumerate() {
        bench.write("web/yarn.lock", text);
        bench.commit();
        assert_eq!(bench.judge(&check).trial().last_lines(1), text.trim());
        assert_eq!(runs(), state + 2);
    }
    let kept = fs::read_dir(bench.root().join(".git/longhaul/prepared")).unwrap().count();
    assert_eq!(kept, 2, "only the newest states are kept");
}

/// Lets `prepare` run a script that runs another; returns how often it ran.
fn prepared_by_scripts(bench: &mut Bench) -> impl Fn() -> usize + use<> {
    let count = bench.folder.path().join("count");
    bench.settings.prepare = format!("echo once >> {}; sh tools/install.sh", count.display());
    bench.write(".gitignore", "made\n");
    bench.write("tools/install.sh", "mkdir made; sh tools/deep.sh\n");
    bench.write("tools/deep.sh", "touch made/answer\n");
    bench.write("package.json", "{}");
    bench.commit();
    move || fs::read_to_string(&count).unwrap_or_default().lines().count()
}

#[test]
fn prepare_runs_again_when_a_script_it_names_or_what_steers_it_changes() {
    let mut bench = Bench::new();
    let runs = prepared_by_scripts(&mut bench);
    let check = bench.approved("test -e made/answer");
    let mut seen = Vec::new();
    for (path, text) in [
        ("src/product.txt", "after\n"),
        ("src/product.txt", "and after\n"),
        ("package.json", "{\"scripts\": {}}"),
        ("node_modules/a/package.json", "{}"),
        ("tools/install.sh", "mkdir made made/more; sh tools/deep.sh\n"),
        ("tools/deep.sh", "true\n"),
    ] {
        bench.write(path, text);
        bench.commit();
        assert_eq!(bench.finding(&check), Finding::Passed, "{path}");
        seen.push(runs());
    }
    assert_eq!(seen, [1, 1, 2, 2, 3, 3]);
}

#[test]
fn what_the_time_ends_in_the_midst_of_installing_is_not_kept() {
    let mut bench = Bench::new();
    let count = bench.folder.path().join("count");
    bench.settings.prepare = format!("touch made; echo once >> {}; test -e quick || sleep 300", count.display());
    bench.write(".gitignore", "made\n");
    let check = bench.approved("test -e made");
    bench.work();
    bench.deadline = Some(Instant::now() + Duration::from_secs(2));
    let verdict = bench.judge(&check);
    assert_eq!((verdict.finding(), verdict.trial().is_uninstalled()), (Finding::OutOfTime, false));
    bench.deadline = None;
    bench.write("quick", "");
    bench.commit();
    assert_eq!(bench.finding(&check), Finding::Passed);
    assert_eq!(fs::read_to_string(&count).unwrap(), "once\nonce\n");
}

#[test]
fn what_another_commit_made_helps_no_check_of_the_last_sweep() {
    let mut bench = Bench::new();
    let runs = prepared_by_scripts(&mut bench);
    let check = bench.approved("test -e made/answer");
    bench.work();
    assert_eq!((bench.finding(&check), runs()), (Finding::Passed, 1));
    bench.write("tools/deep.sh", "true\n");
    bench.commit();
    let verdict = bench.judge(&check);
    assert_eq!((verdict.finding(), runs()), (Finding::Passed, 1), "the twin");
    assert_ne!(verdict.prepared(), Some(verdict.tree()));

    bench.reuse = Reuse::Same;
    let verdict = bench.judge(&check);
    assert_eq!((verdict.finding(), verdict.prepared(), runs()), (Finding::Failed, Some(verdict.tree()), 2));
    assert_eq!((bench.finding(&check), runs()), (Finding::Failed, 2), "made from this very tree, it is good for all");
}

#[test]
fn a_prepare_that_fails_leaves_the_check_not_ready_and_is_tried_again() {
    let mut bench = Bench::new();
    let check = bench.approved("true");
    bench.work();
    bench.settings.prepare = "echo no such package; exit 3".to_owned();
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::NotReady);
    assert_eq!(
        verdict.trial().detail(),
        "`gate.prepare` failed in a clean checkout: `echo no such package; exit 3`: exit code 3"
    );
    assert_eq!(verdict.trial().last_lines(1), "no such package");
    bench.settings.prepare = "true".to_owned();
    assert_eq!(bench.finding(&check), Finding::Passed);
}

#[test]
fn what_prepare_made_lies_over_no_file_of_the_commit_and_leads_nowhere() {
    let mut bench = Bench::new();
    let outside = bench.folder.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    bench.settings.prepare = format!(
        "mkdir -p made; for f in now later; do echo prepared | tee made/$f; done; ln -s {} linked",
        outside.display()
    );
    bench.write("yarn.lock", "1\n");
    bench.commit();
    let check = bench.approved("cat made/now made/later linked/file 2> /dev/null || true");
    bench.work();
    assert_eq!(bench.judge(&check).trial().last_lines(3), "prepared\nprepared");
    // What was kept for these lock files is from a time when the commit did not hold them.
    bench.write("made/later", "committed\n");
    bench.write("linked/file", "committed\n");
    bench.commit();

    assert_eq!(bench.judge(&check).trial().last_lines(3), "prepared\ncommitted\ncommitted");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);

    // The twin: laid after the commit, what was kept lies over it.
    let tree = bench.project.head().unwrap().unwrap().tree;
    let mut private = Private::open(bench.folder.path(), bench.root()).unwrap();
    let at = private.tree();
    let site = site(&bench.project, Checkout::Clean, "", Some(&tree), None).unwrap();
    check_out(&bench.project, &tree, &site, &mut private, &at).unwrap();
    let entries = bench.project.entries(&tree).unwrap();
    let state = bench.project.common_dir().join("longhaul");
    let prepared = Prepared::of(&state, &entries, &bench.settings.prepare, &private.tree());
    assert!(prepared.made_from().is_some());
    fs::remove_dir_all(private.tree().join("linked")).unwrap();
    prepared.lay(&private.tree(), &bench.gate().host_environment()).unwrap();
    assert_eq!(fs::read_to_string(private.tree().join("made/later")).unwrap(), "prepared\n");
}
