//! What of the project is there in a clean checkout, and what a check may change of it.

use super::*;

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
        "not in the tested commit: not in any commit: `src/product.txt`; git does not track, so a clean checkout does not hold: `ignored`, `untracked` (`gate.checkout`)"
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
        "the check changed tracked files: `src/product.txt`; what it writes belongs into `.gitignore`, and out of git with `git rm -r --cached FILE`"
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
