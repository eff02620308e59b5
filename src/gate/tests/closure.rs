//! Which files decide with a check, and what happens when they differ.

use super::*;

#[test]
fn a_check_file_of_memory_is_pinned_and_laid_out() {
    let mut bench = Bench::new();
    let files =
        |login: &str| CheckFiles::new(vec![("login.sh".to_owned(), login.into()), ("other.sh".to_owned(), vec![])]);
    bench.files = files("grep after src/product.txt");
    let check = bench.approved("sh \"$LONGHAUL_CHECKS/login.sh\"");
    assert_eq!(check.pins.keys().collect::<Vec<_>>(), ["checks/login.sh"]);
    bench.work();
    assert_eq!(bench.finding(&check), Finding::Passed);
    bench.files = files("exit 0");
    assert_eq!(bench.finding(&check), Finding::CheckChanged);
}

#[test]
fn a_check_file_that_memory_lacks_makes_the_check_not_runnable() {
    let bench = Bench::new();
    let check = bench.approved("sh $LONGHAUL_CHECKS/login.sh || true");
    bench.work();
    let verdict = bench.judge(&check);
    assert_eq!(
        verdict.trial().sentence(),
        "not runnable: `$LONGHAUL_CHECKS/login.sh` is not among memory's check files"
    );
}

#[test]
fn a_check_file_changed_by_the_setup_or_the_run_does_not_decide() {
    let mut bench = Bench::new();
    bench.files = CheckFiles::new(vec![("a.sh".to_owned(), b"exit 1".to_vec()), ("b.sh".to_owned(), b"true".to_vec())]);
    let overwriting = "rm -f $LONGHAUL_CHECKS/a.sh && echo exit 0 > $LONGHAUL_CHECKS/a.sh";
    let setup = Check { setup: Some(overwriting.to_owned()), ..Check::command("sh $LONGHAUL_CHECKS/a.sh") };
    let setup = bench.approve(setup);
    let run = bench.approved(&format!("{overwriting} && sh $LONGHAUL_CHECKS/a.sh"));
    let honest = bench.approved("sh $LONGHAUL_CHECKS/b.sh");
    bench.work();
    assert_eq!(bench.finding(&setup), Finding::Failed);
    assert_eq!(bench.finding(&run), Finding::CheckChanged);
    assert_eq!(bench.finding(&honest), Finding::Passed);
}

#[test]
fn a_closure_holds_what_the_patterns_say() {
    let bench = Bench::new();
    for path in ["e2e/a.ts", "e2e/tmp/b.ts", "src/main.rs", "checks/x_test.sh", "web/tests/c.py"] {
        bench.write(path, "");
    }
    let check = Check {
        closure: ["e2e", "!e2e/tmp/**", "src/*.rs", "missing.txt"].map(str::to_owned).to_vec(),
        ..Check::command("sh checks/x_test.sh && cd web && pytest tests/*.py src/product.txt")
    };
    let paths: Vec<(String, bool)> =
        bench.gate().closure(&check).unwrap().into_iter().map(|file| (file.path, file.id.is_some())).collect();
    let expected = [
        ("./checks/x_test.sh", true),
        ("e2e/a.ts", true),
        ("missing.txt", false),
        ("src/main.rs", true),
        ("web/checks/x_test.sh", false),
        ("web/tests/c.py", true),
    ];
    assert_eq!(paths, expected.map(|(path, there)| (path.to_owned(), there)));
}

#[test]
fn a_closure_follows_scripts_to_what_they_name() {
    let mut bench = Bench::new();
    bench.write("tests/a.py", "");
    let script = |text: &str| text.as_bytes().to_vec();
    bench.files = CheckFiles::new(vec![
        ("a.sh".to_owned(), script(". \"$LONGHAUL_CHECKS/lib/b.sh\"\npytest tests/a.py")),
        ("lib/b.sh".to_owned(), script(". \"$LONGHAUL_CHECKS/a.sh\"")),
        ("other.sh".to_owned(), script("")),
    ]);
    let paths = |check: &Check| bench.approve(check.clone()).pins.into_keys().collect::<Vec<_>>();
    assert_eq!(paths(&Check::command("sh $LONGHAUL_CHECKS/a.sh")), ["checks/a.sh", "checks/lib/b.sh", "tests/a.py"]);
    assert_eq!(paths(&Check::command("sh $LONGHAUL_CHECKS/lib/*")), ["checks/a.sh", "checks/lib/b.sh", "tests/a.py"]);
    assert_eq!(
        paths(&Check::command("run-all $LONGHAUL_CHECKS")),
        ["checks/a.sh", "checks/lib/b.sh", "checks/other.sh", "tests/a.py"]
    );
}
