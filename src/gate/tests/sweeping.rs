//! Running the checks of done features again.

use super::*;

#[test]
fn a_sweep_looks_first_at_what_was_touched_and_then_at_the_oldest() {
    let candidate = |feature: &str, at: &str, pin: &str| Candidate {
        feature: feature.to_owned(),
        check: Check { pins: BTreeMap::from([(pin.to_owned(), None)]), ..Check::command("true") },
        known: Known::default(),
        at: at.to_owned(),
    };
    let own = candidate("own", "2026-04", "./checks/d");
    let mut loading = candidate("loading", "2026-05", "e");
    loading.check.soft = Some(BTreeMap::from([("Makefile".to_owned(), "1".to_owned())]));
    let mut candidates = vec![candidate("new", "2026-03", "a"), candidate("old", "2026-01", "b"), own, loading];
    candidates.push(candidate("touched", "2026-02", "c"));
    let ordered = order(candidates, &["c", "checks/d", "Makefile"].map(str::to_owned));
    assert_eq!(
        ordered.iter().map(|candidate| candidate.feature.as_str()).collect::<Vec<_>>(),
        ["touched", "own", "loading", "old", "new"]
    );
}

#[test]
fn a_sweep_stops_at_its_budget_and_says_what_is_left() {
    let bench = Bench::new();
    let candidate = |feature: &str, run: &str| {
        let check = bench.approved(run);
        let known = Known { red: Some(bench.red_of(&check)), ..Known::default() };
        Candidate { feature: feature.to_owned(), check, known, at: String::new() }
    };
    let candidates = vec![candidate("a", "true"), candidate("b", "false")];
    bench.work();
    let mut told = Vec::new();
    let swept = bench
        .gate()
        .sweep(candidates.clone(), None, &|_| None, &mut |step| {
            told.extend(match step {
                Step::Begins(_) => None,
                Step::Ended(verdict) => Some(verdict.finding()),
            });
        })
        .unwrap();
    assert_eq!((told, swept.left), (vec![Finding::Passed, Finding::Failed], vec![]));
    let swept = bench.gate().sweep(candidates, Some(Duration::ZERO), &|_| None, &mut |_| {}).unwrap();
    assert_eq!(swept.left, ["a", "b"].map(|id| (id.to_owned(), Finding::OutOfTime)));
}
