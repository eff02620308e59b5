//! What a clean checkout cannot hold as it is in the commit, or does not lay out: it is said.

use super::*;

#[test]
fn submodules_come_along_where_they_were_fetched_and_are_missed_aloud_where_not() {
    let bench = Bench::new();
    let other = bench.folder.path().join("other");
    let make = format!(
        "init -q {0} && echo text > {0}/file && git -C {0} add -A && git -C {0} -c user.name=t -c user.email=t@localhost commit -qm other",
        other.display()
    );
    bench.git(&make);
    bench.git(&format!("-c protocol.file.allow=always submodule --quiet add {} sub", other.display()));
    let check = bench.approved("cat sub/file");
    bench.commit();
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
    fs::remove_dir_all(bench.root().join("sub")).unwrap();
    fs::create_dir(bench.root().join("sub")).unwrap();
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::Failed);
    let disclosed = verdict.to_last_verdict()["disclosed"].to_string();
    assert!(disclosed.contains("`sub` is not there: its commit was not fetched"), "{disclosed}");
}

#[test]
fn pointers_of_large_files_and_what_a_filter_wrote_are_disclosed() {
    let bench = Bench::new();
    bench.write("large.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    bench.write("crlf.txt", "a\n");
    bench.write(".gitattributes", "crlf.txt text eol=crlf\n");
    let check = bench.approved("true");
    bench.work();
    let disclosed = bench.judge(&check).to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("LFS pointers instead of the files: `large.bin`"), "{disclosed}");
    assert!(disclosed.contains("written by a filter of git's: `crlf.txt`"), "{disclosed}");
}

#[test]
fn links_that_lead_out_of_the_commit_are_disclosed() {
    let bench = Bench::new();
    let check = bench.approved("true");
    for (name, target) in
        [("inside", "src/product.txt"), ("src/up", "../src"), ("out", "src/../../x"), ("far", "/etc/hosts")]
    {
        std::os::unix::fs::symlink(target, bench.root().join(name)).unwrap();
    }
    bench.work();
    let disclosed = bench.judge(&check).to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("links to files in no commit: `far`, `out`\""), "{disclosed}");
}

#[test]
fn a_link_out_of_the_commit_that_came_after_approval_is_not_there() {
    let bench = Bench::new();
    let outside = bench.folder.path().join("answer");
    fs::write(&outside, "").unwrap();
    let link = |name: &str| std::os::unix::fs::symlink(&outside, bench.root().join(name)).unwrap();
    link("old");
    let approved = bench.commit();
    let (needs_old, needs_new) = (bench.approved("test -e old"), bench.approved("test -e new"));
    link("new");
    bench.work();
    let judge = |check: &Check, since: &str| {
        bench.judge_knowing(check, &Known { since: Some(since.to_owned()), ..bench.known(check) })
    };

    let verdict = judge(&needs_new, &approved);
    assert_eq!(verdict.finding(), Finding::Failed);
    let detail = verdict.trial().detail();
    assert!(detail.contains("so they are not in the tested tree; commit the file itself: `new`"), "{detail}");
    let verdict = judge(&needs_old, &approved);
    assert!(verdict.proves(), "a link that was there before and one that nothing needs: {verdict:?}");
    let disclosed = verdict.to_evidence()["disclosed"].to_string();
    assert!(disclosed.contains("links to files in no commit: `old`"), "{disclosed}");
    assert!(disclosed.contains("came after the check was approved: `new`"), "{disclosed}");
    assert_eq!(judge(&needs_old, &"1".repeat(40)).finding(), Finding::Failed, "that commit is gone");
    // The twin: approved with the link in it.
    let head = bench.project.head().unwrap().unwrap().commit;
    assert_eq!(judge(&needs_new, &head).finding(), Finding::Passed);
}

#[test]
fn a_filter_writes_what_is_tested_if_it_was_there_at_approval_and_not_if_it_came_later_or_changed() {
    let bench = Bench::new();
    bench.write(".gitattributes", "made.txt filter=z\n");
    bench.write("made.txt", "stored\n");
    bench.commit();
    let approved = || {
        let tree = bench.project.head().unwrap().unwrap().tree;
        let soft = Some(bench.gate().soft(&tree).unwrap());
        Check { soft, ..bench.approved("grep -q shown made.txt") }
    };
    let before = approved();
    bench.git("config filter.z.smudge sed\\ s/stored/shown/");
    bench.git("config filter.z.clean cat");
    let after = approved();
    bench.work();

    let verdict = bench.judge(&before);
    assert_eq!(verdict.finding(), Finding::Failed, "{verdict:?}");
    let detail = verdict.trial().detail();
    assert!(detail.contains("`longhaul accept FEATURE` approves them: `filter.z.smudge`"), "{detail}");
    let difference = |check| bench.gate().difference(check, &bench.known(check), &|_| None).unwrap();
    assert!(difference(&before).unwrap().contains("git's filters changed since: `filter.z.smudge`"));

    // The twin: approved with the filter.
    assert!(bench.judge(&after).proves());
    assert_eq!(difference(&after), None);
    bench.git("config filter.z.smudge cat");
    assert_eq!(bench.judge(&after).finding(), Finding::Failed);
}
