//! What of the project is there in a clean checkout, and what a check may change of it.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn what_is_in_no_commit_is_not_there_in_a_clean_checkout() {
    let bench = Bench::new();
    let check = bench.approved("test -e untracked || test -e ignored || grep more src/product.txt");
    bench.write(".gitignore", "ignored\n");
    bench.work();
    for path in ["untracked", "ignored"] {
        bench.write(path, "");
    }
    bench.write("src/product.txt", "after and more\n");
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::Failed);
    let detail = verdict.trial().detail();
    assert_eq!(
        detail,
        "not in the tested commit: not in any commit: `src/product.txt`; git does not track, so a clean checkout does not hold: `ignored`, `untracked`; what the check needs of it and does not make, `git add -f PATH` takes into the commit"
    );
    bench.write("src/product.txt", "after\n");
    // The twin: in the working tree they are there.
    let bench = Bench { settings: Settings { checkout: Checkout::InPlace, ..bench.settings.clone() }, ..bench };
    assert_eq!(bench.finding(&check), Finding::Passed);
    assert_eq!(bench.judge(&check).to_evidence()["untracked"], json!(["untracked"]));
}

#[test]
fn a_clean_checkout_knows_git_and_moves_nobodys_branch() {
    let bench = Bench::new();
    let who = "-c user.name=t -c user.email=t@localhost";
    let commit = format!("git log -1 --format=%s | grep work && echo x > new && git add new && git {who} commit -qm x");
    let check = bench.approved(&commit);
    bench.work();
    let (head, index) = (bench.project.head().unwrap(), fs::read(bench.root().join(".git/index")).unwrap());
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
    assert_eq!(bench.project.head().unwrap(), head);
    assert_eq!(fs::read(bench.root().join(".git/index")).unwrap(), index);
    assert!(!bench.root().join("new").exists());
}

#[test]
fn a_check_that_changes_a_tracked_file_does_not_pass_and_leaves_the_users_tree_alone() {
    let bench = Bench::new();
    let check = bench.approved("touch src/product.txt; echo more >> src/product.txt");
    let touching = bench.approved("touch src/product.txt");
    bench.work();
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::TreeMoved);
    assert_eq!(
        verdict.trial().detail(),
        "the check changed tracked files: `src/product.txt`; if the build makes them, run it and commit what it makes; else let it write to `$TMPDIR`; what it only makes anew each time belongs into `.gitignore`, and out of git with `git rm --cached FILE`, but no test does"
    );
    assert_eq!(fs::read_to_string(bench.root().join("src/product.txt")).unwrap(), "after\n");
    assert_eq!(bench.finding(&touching), Finding::Passed);
}

#[test]
fn the_tree_lies_at_the_same_place_each_time_and_is_gone_afterwards() {
    let bench = Bench::new();
    let check = bench.approved("pwd");
    bench.work();
    let at = || bench.judge(&check).trial().last_lines(1);
    let first = at();
    assert_eq!(at(), first);
    assert!(!Path::new(&first).exists() && !Path::new(&first).starts_with(bench.root()), "{first}");
}

#[test]
fn a_sparse_checkout_leaves_nothing_out_of_a_clean_one() {
    let bench = Bench::new();
    bench.write("far/away", "x\n");
    let check = bench.approved("cat far/away");
    bench.work();
    bench.git("sparse-checkout set near");
    assert!(!bench.root().join("far").exists());
    assert_eq!(bench.finding(&check), Finding::Passed);
}

#[test]
fn a_check_may_make_a_file_executable_by_its_own_text_and_what_it_runs_may_not() {
    let bench = Bench::new();
    bench.write("tool.sh", "chmod +x src/product.txt\n");
    bench.commit();
    let own = bench.approved("chmod +x src/product.txt && test -x src/product.txt");
    let of_what_it_runs = bench.approved("sh tool.sh");
    let more = bench.approved("chmod +x src/product.txt && echo more >> src/product.txt");
    bench.work();
    assert!(bench.judge(&own).proves());
    let mode = fs::metadata(bench.root().join("src/product.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o100, 0, "the user's own file stays as it was");
    let verdict = bench.judge(&of_what_it_runs);
    assert_eq!(verdict.finding(), Finding::TreeMoved);
    let detail = verdict.trial().detail();
    assert!(detail.contains("commit them with that mode: `git update-index --chmod=+x FILE`"), "{detail}");
    assert_eq!(bench.finding(&more), Finding::TreeMoved);
}

#[test]
fn a_test_that_rewrites_its_data_and_puts_it_back_passes_where_the_text_of_the_check_says_so() {
    let bench = Bench::new();
    bench.write("tests/state.txt", "1\n");
    bench.write("tests/a.sh", "cp -p tests/state.txt k; echo 2 >tests/state.txt; cp -p k tests/state.txt; rm k\n");
    bench.commit();
    let silent = bench.approved("sh tests/a.sh && test -f tests/state.txt");
    let saying = bench.approved("touch tests/state.txt; sh tests/a.sh");
    bench.work();
    let verdict = bench.judge(&silent);
    assert_eq!(verdict.finding(), Finding::TreeMoved);
    let detail = verdict.trial().detail();
    assert!(detail.contains("its text has to say so: `touch tests/state.txt` is enough"), "{detail}");
    assert!(bench.judge(&saying).proves());
}

/// A report that a run of the check left behind was committed with the work.
fn with_committed_report(bench: &Bench, program: &str) {
    bench.write("report.xml", "of an earlier run\n");
    bench.write("program.sh", program);
    bench.work();
}

#[test]
fn a_committed_report_that_the_check_makes_anew_refuses_nothing_and_is_left_as_it_was() {
    for bench in [Bench::new(), Bench::in_place()] {
        let check = bench.approved("sh program.sh && grep after src/product.txt");
        with_committed_report(&bench, "date +%N >report.xml; date +%N >>report.xml");
        let verdict = bench.judge(&check);
        assert!(verdict.proves(), "{verdict:?}");
        let disclosed = verdict.to_evidence()["disclosed"].to_string();
        assert!(
            disclosed.contains("where nothing is kept of it: `report.xml`; it belongs into `.gitignore`"),
            "{disclosed}"
        );
        assert_eq!(fs::read_to_string(bench.root().join("report.xml")).unwrap(), "of an earlier run\n");
        assert_eq!(bench.project.uncommitted().unwrap(), [""; 0]);
    }
}

#[test]
fn a_changed_file_that_something_reads_or_that_was_there_before_still_refuses() {
    let anew = "date +%N >report.xml";
    for bench in [Bench::new(), Bench::in_place()] {
        let check = bench.approved("sh program.sh && grep after src/product.txt");
        // It rests on what it wrote, also by way of another name.
        for reading in ["; grep . report.xml", " && mv report.xml x && cp x report.xml && rm x"] {
            with_committed_report(&bench, &format!("{anew}{reading}"));
            assert_eq!(bench.finding(&check), Finding::TreeMoved, "{reading}");
            bench.git("checkout -q -f HEAD");
        }
        // It came before the check was approved.
        with_committed_report(&bench, anew);
        let later = Known { since: Some(bench.commit()), ..bench.known(&check) };
        assert_eq!(bench.judge_knowing(&check, &later).finding(), Finding::TreeMoved);
        bench.git("checkout -q -f HEAD");
        assert!(bench.judge(&check).proves());
    }
}
