//! The approved version of a check decides, whatever the tree holds in its place.

use super::*;
use std::os::unix::fs::PermissionsExt;

/// Both places in which a check can run.
fn benches() -> [Bench; 2] {
    [Bench::new(), Bench::in_place()]
}

/// A check that looks for the work and lies in the project.
fn with_test(bench: &Bench) -> Check {
    bench.write("tests/login.sh", "grep -q after src/product.txt\n");
    bench.commit();
    bench.approved("sh tests/login.sh")
}

#[test]
fn a_test_file_made_toothless_does_not_decide_and_honest_work_on_it_is_no_reason_to_refuse() {
    for bench in benches() {
        let check = with_test(&bench);
        bench.write("tests/login.sh", "exit 0\n");
        bench.write("src/other.txt", "no work\n");
        bench.commit();
        assert_eq!(bench.finding(&check), Finding::Failed);
        bench.write("tests/login.sh", "# nothing\n");
        bench.commit();
        assert_eq!(bench.finding(&check), Finding::Failed, "what is empty is not the approved version");
        bench.write("tests/login.sh", "exit 0\n");
        bench.commit();
        let verdict = bench.judge(&check);
        assert_eq!(verdict.finding(), Finding::Failed);
        let expected = "the approved version of the check decided; the tree's differs:\n`tests/login.sh` is not what was \
            approved\n--- approved\n+++ now\n@@ -1 +1 @@\n-grep -q after src/product.txt\n+exit 0";
        assert_eq!(verdict.trial().detail(), expected);

        bench.work();
        let verdict = bench.judge(&check);
        assert!(verdict.proves(), "{verdict:?}");
        assert_eq!(verdict.to_evidence()["overlaid"], json!(["tests/login.sh"]));
        assert_eq!(fs::read_to_string(bench.root().join("tests/login.sh")).unwrap(), "exit 0\n");

        // The twin: pinned as it is now, the toothless test passes without any work.
        let toothless = bench.approved("sh tests/login.sh");
        bench.write("src/product.txt", "before\n");
        bench.commit();
        assert_eq!(bench.finding(&toothless), Finding::Passed);
    }
}

#[test]
fn a_file_absent_at_approval_is_absent_when_the_check_runs() {
    for bench in benches() {
        let check = bench.approved("! sh tests/login.sh 2> /dev/null");
        assert_eq!(check.pins, BTreeMap::from([("tests/login.sh".to_owned(), None)]));
        bench.write("tests/login.sh", "exit 0\n");
        bench.work();
        assert!(bench.judge(&check).proves());
        // The twin: with the file in its place the check fails.
        assert_eq!(bench.finding(&bench.approved("! sh tests/login.sh 2> /dev/null")), Finding::Failed);
    }
}

#[test]
fn a_file_planted_in_a_pinned_folder_is_not_there_also_when_git_ignores_it() {
    for bench in benches() {
        bench.write("tests/a.py", "");
        let check = bench.approved("test \"$(ls tests)\" = a.py");
        bench.write("tests/conftest.py", "planted");
        bench.work();
        let verdict = bench.judge(&check);
        assert!(verdict.proves(), "{verdict:?}");
        let detail = verdict.trial().detail();
        assert!(detail.contains("`tests/conftest.py` is new beside the files that were approved"), "{detail}");
        bench.write(".gitignore", "conftest.py\n");
        bench.git("rm -q --cached tests/conftest.py");
        bench.commit();
        assert!(bench.judge(&check).proves());
        assert!(bench.root().join("tests/conftest.py").exists());
    }
}

#[test]
fn an_execute_bit_is_pinned_and_old_pins_without_one_can_be_read() {
    // F08 of the reports: the bit of a failing hook was taken away.
    for bench in benches() {
        bench.write("tests/login.sh", "#!/bin/sh\nexit 1\n");
        let script = bench.root().join("tests/login.sh");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        bench.commit();
        let check = bench.approved("test ! -x tests/login.sh || tests/login.sh");
        let mut old = check.clone();
        let id = check.pins["tests/login.sh"].clone().unwrap();
        assert!(id.starts_with("100755 "), "{id}");
        old.pins.insert("tests/login.sh".to_owned(), Some(id["100755 ".len()..].to_owned()));
        fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
        bench.work();
        let verdict = bench.judge(&check);
        assert_eq!(verdict.finding(), Finding::Failed);
        assert!(verdict.trial().detail().contains("it is not executable now"), "{}", verdict.trial().detail());
        // The twin: a pin without a mode lets the bit go.
        assert_eq!(bench.finding(&old), Finding::Passed);
    }
}

#[test]
fn a_folder_that_became_a_link_gives_way_and_what_it_leads_to_is_left_alone() {
    for bench in benches() {
        let check = with_test(&bench);
        bench.write("elsewhere/login.sh", "exit 0\n");
        fs::remove_dir_all(bench.root().join("tests")).unwrap();
        std::os::unix::fs::symlink("elsewhere", bench.root().join("tests")).unwrap();
        bench.commit();
        assert_eq!(bench.finding(&check), Finding::Failed);
        bench.work();
        assert_eq!(bench.finding(&check), Finding::Passed);
        assert_eq!(fs::read_to_string(bench.root().join("elsewhere/login.sh")).unwrap(), "exit 0\n");
    }
}

#[test]
fn what_python_compiled_beside_a_pinned_file_is_not_loaded() {
    let bench = Bench::new();
    bench.write("tests/a.py", "pass\n");
    bench.commit();
    let check = bench.approved("ls tests/a.py && ! test -e tests/__pycache__");
    bench.write("tests/__pycache__/a.pyc", "committed");
    bench.work();
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
    // The twin: what is beside no pinned file stays.
    let check = bench.approved("test -e tests/__pycache__");
    bench.commit();
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
}

#[test]
fn pinned_bytes_that_memory_lacks_leave_the_check_changed() {
    for bench in benches() {
        let check = with_test(&bench);
        bench.write("tests/login.sh", "exit 0\n");
        bench.work();
        bench.pinned.borrow_mut().clear();
        let verdict = bench.judge(&check);
        assert_eq!(verdict.finding(), Finding::CheckChanged);
        assert!(verdict.trial().detail().contains("memory cannot give the approved `tests/login.sh`"), "{verdict:?}");
    }
}

#[test]
fn a_check_that_names_the_project_by_its_path_is_not_led_past_the_approved_files() {
    let bench = Bench::new();
    bench.write("tests/login.sh", "grep -q after src/product.txt\n");
    bench.commit();
    let check = bench.approved(&format!("sh {}/tests/login.sh", bench.root().display()));
    bench.work();
    let evidence = bench.judge(&check).to_evidence();
    assert_eq!(evidence["checkout"], "in-place");
    assert_eq!(evidence["disclosed"], json!(["not in a clean checkout: the check names the project by its own path"]));
    bench.write("tests/login.sh", "exit 0\n");
    bench.commit();
    assert_eq!(bench.finding(&check), Finding::CheckChanged);
}

#[test]
fn evidence_says_in_what_form_a_check_is_kept() {
    let mut bench = Bench::new();
    bench.files = CheckFiles::new(vec![("a.sh".to_owned(), b"true\n".to_vec())]);
    bench.write("tests/a.sh", "true\n");
    bench.commit();
    let form = |run: &str| bench.judge(&bench.approved(run)).to_evidence()["form"].clone();
    assert_eq!(form("true"), "the command");
    assert_eq!(form("sh $LONGHAUL_CHECKS/a.sh"), "files of memory");
    assert_eq!(form("sh tests/a.sh"), "files of the project");
}

#[test]
fn line_ends_that_a_checkout_writes_anew_do_not_decide_and_are_told_as_such() {
    let bench = Bench::new();
    bench.write("tests/a.sh", "grep -q after src/product.txt\n");
    bench.commit();
    let check = bench.approved("sh tests/a.sh");
    bench.work();
    bench.git("config core.autocrlf true");
    let verdict = bench.judge(&check);
    assert!(verdict.proves(), "{verdict:?}");
    assert!(verdict.trial().detail().contains("`tests/a.sh` has other line ends than were approved"), "{verdict:?}");
    bench.git("config core.autocrlf false");
    assert_eq!(bench.judge(&check).trial().detail(), "");
}
