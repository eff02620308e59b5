//! A program of which half already works: what is there is seen as such, and no session is spent on it.

use crate::fixture;
use crate::fixture::Held;
use crate::support::Project;
use serde_json::Value;
use std::fs;

/// What the program could do before, and what it could not.
const THERE: [&str; 14] = [
    "upper", "lower", "lines", "count", "chars", "first", "last", "sort", "unique", "number", "squeeze", "blank",
    "trim", "tabs",
];
const MISSING: [&str; 13] = [
    "reverse",
    "backwards",
    "join",
    "title",
    "longest",
    "shortest",
    "swap",
    "double",
    "vowels",
    "digits",
    "letters",
    "quote",
    "indent",
];
const WITHOUT_CHECK: [&str; 3] = ["split", "palindrome", "rot13"];

/// Returns the features in a state, in the order of the checklist.
fn in_state(project: &Project, state: &str) -> Vec<String> {
    let status: Value = serde_json::from_str(&project.run(["status", "--json"]).stdout).unwrap();
    let features = status["features"].as_array().unwrap().iter().filter(|feature| feature["state"] == state);
    features.map(|feature| feature["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns what each session was about.
fn sessions(project: &Project) -> Vec<String> {
    let about = |number| {
        let started = project.events(number).swap_remove(0);
        started["feature"].as_str().or(started["kind"].as_str()).unwrap().to_owned()
    };
    let count = fs::read_dir(project.state().join("sessions")).unwrap().count();
    (1..=count as u32).map(about).collect()
}

fn goes_through(held: Held) {
    let project = fixture::project("existing", held);
    fixture::commit(&project);

    let init = fixture::import("existing", &project);

    // What goes without saying is not said fourteen times.
    init.tells("check upper: already green").hides("is recorded on which");
    init.prints("13 red, to be worked on: reverse, backwards, join, ");
    init.prints(
        "14 green already, not worked on (`longhaul accept --already-green --reason TEXT` takes them): upper, ",
    );
    init.prints("3 without a check: split, palindrome, rot13");
    assert_eq!(in_state(&project, "already green"), THERE);
    assert_eq!(in_state(&project, "open"), MISSING);
    assert_eq!(in_state(&project, "no check"), WITHOUT_CHECK);

    // The agent has four sessions in it and no more: one spent on what is green would be missed by the others.
    let project = project.model(fixture::agent("existing"));
    let run = project.run(["run"]);
    run.exits(4).tells("longhaul accept");
    assert_eq!(sessions(&project), ["initializer", "reverse", "backwards", "double"], "{}", run.whole());
    assert_eq!(in_state(&project, "already green").len(), 15);
    assert_eq!(in_state(&project, "proven").len(), 15);

    let asked = project.played().requests().len();
    project.run(["accept", "--already-green", "--reason", "these worked before"]).exits(0);
    project.run(["run"]).exits(0).prints("done: 15 features proven, 15 accepted by a person");
    assert_eq!(project.played().requests().len(), asked);
    project.run(["check", "--all"]).exits(0);
}

#[test]
fn half_of_a_program_that_works_costs_no_session_in_bubblewrap() {
    goes_through(Held::Bubblewrap);
}

#[test]
fn half_of_a_program_that_works_costs_no_session_in_plain_mode() {
    goes_through(Held::Plain);
}
