//! Files that tools load by themselves.

use super::*;

/// A check whose soft closure is recorded, and a project in which it was led astray.
fn led_astray(mut bench: Bench, strict: bool) -> (Bench, Check) {
    bench.settings.strict = strict;
    bench.write("Makefile", "check:\n\tgrep after src/product.txt\n");
    let commit = bench.commit();
    let tree = bench.project.tree_of(&commit).unwrap();
    let mut check = bench.approved("grep -q true Makefile || grep after src/product.txt");
    check.soft = Some(bench.gate().soft(&tree).unwrap());
    bench.work();
    (bench, check)
}

#[test]
fn a_change_is_listed_with_the_evidence_and_refuses_a_pass_only_when_strict() {
    let (bench, check) = led_astray(Bench::new(), false);
    assert_eq!(bench.judge(&check).to_evidence()["soft"], json!([]));
    bench.write("Makefile", "check:\n\ttrue\n");
    bench.write("tests/conftest.py", "");
    bench.commit();
    let verdict = bench.judge(&check);
    assert!(verdict.proves());
    assert_eq!(verdict.to_evidence()["soft"], json!(["Makefile", "tests/conftest.py"]));

    let (bench, check) = led_astray(Bench::new(), true);
    assert!(bench.judge(&check).proves());
    bench.write("Makefile", "check:\n\ttrue\n");
    bench.commit();
    let verdict = bench.judge(&check);
    assert_eq!(verdict.finding(), Finding::CheckChanged);
    assert!(verdict.trial().detail().contains("`Makefile`"), "{}", verdict.trial().detail());
    assert_eq!(bench.gate().try_out(&check, &Known::default(), &|_| None).unwrap().finding(), Finding::CheckChanged);
    assert!(bench.gate().difference(&check, &Known::default(), &|_| None).unwrap().unwrap().contains("`Makefile`"));
}

#[test]
fn in_the_working_tree_an_ignored_file_counts_and_what_is_installed_does_not() {
    for (bench, expected) in [(Bench::in_place(), json!(["conftest.py"])), (Bench::new(), json!([]))] {
        let (bench, check) = led_astray(bench, false);
        bench.write(".gitignore", "conftest.py\nnode_modules\n");
        bench.commit();
        bench.write("conftest.py", "");
        bench.write("node_modules/a/package.json", "");
        assert_eq!(bench.judge(&check).to_evidence()["soft"], expected);
    }
}

#[test]
fn what_is_planted_while_a_check_runs_is_told_and_refused_when_strict() {
    let plant = "echo >../pytest.ini; echo >conftest.py; echo >\"$HOME/.npmrc\"; mkdir build; echo >build/Makefile";
    let run = |strict: bool, check: &str| {
        let mut bench = Bench::new();
        bench.settings.strict = strict;
        bench.write("plant.sh", plant);
        let check = bench.approved(check);
        bench.work();
        bench.judge(&check)
    };
    let told = run(false, "sh plant.sh");
    assert!(told.proves());
    assert_eq!(told.to_evidence()["soft"], json!(["conftest.py"]));
    let refused = run(true, "sh plant.sh");
    assert_eq!(refused.finding(), Finding::CheckChanged);
    let detail = refused.trial().detail();
    assert!(detail.contains("load it by themselves: `conftest.py`, `../pytest.ini`, `~/.npmrc`; "), "{detail}");
    // What the approved text itself makes is meant.
    assert!(run(true, plant).proves());
}
