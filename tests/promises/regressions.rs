//! What worked stays watched: a later session breaks a feature that was proven, and the same session is told.

use crate::stage::FEATURE;
use crate::stage::Mode;
use crate::stage::Stage;
use crate::stage::folder;
use crate::stage::read;
use crate::support::runs_here;
use serde_json::json;

/// The feature of the session that breaks the other.
const LATER: &str = "later";

/// One way to break what worked.
struct Break {
    name: &'static str,
    project: &'static str,
    /// What the later session does beside its own work.
    does: &'static str,
    /// What the check of the broken feature finds.
    finds: &'static str,
}

const fn shell(name: &'static str, does: &'static str, finds: &'static str) -> Break {
    Break { name, project: "greeter", does, finds }
}

const fn python(name: &'static str, does: &'static str) -> Break {
    Break { name, project: "adder", does, finds: "failed" }
}

const BREAKS: [Break; 20] = [
    shell("changes_a_text_that_both_use", "echo hello=Servus > lib/words.sh", "failed"),
    shell("never_ends", "sed -i '1i while :; do sleep 1; done' greet.sh", "timed out"),
    shell("kills_who_calls_it", "sed -i '1i kill -9 $PPID' greet.sh", "signalled"),
    shell("calls_what_is_not_there", "echo 'exec greeter-of-tomorrow \"$@\"' > greet.sh", "not runnable"),
    python("changes_what_a_function_takes", "sed -i 's/def add(numbers)/def add(*numbers)/' adder.py"),
    shell("deletes_a_file_that_both_use", "git rm -q lib/words.sh", "failed"),
    shell("renames_a_folder", "git mv lib library", "failed"),
    shell("leaves_half_a_sentence", "echo 'if true' >> greet.sh", "failed"),
    shell("ends_lines_as_windows_does", "sed -i 's/$/\\r/' greet.sh", "failed"),
    shell("empties_the_program", ": > greet.sh", "failed"),
    shell("makes_the_program_a_link_to_nowhere", "ln -sf nowhere greet.sh", "failed"),
    shell("makes_the_program_a_folder", "rm greet.sh; mkdir greet.sh; touch greet.sh/main", "failed"),
    shell("asks_a_question", "sed -i '1i read answer || exit 1' greet.sh", "failed"),
    shell("needs_a_variable", "sed -i '1i : \"${GREETER_HOME:?}\"' greet.sh", "failed"),
    shell("speaks_to_the_other_stream", "sed -i '1i exec >&2' greet.sh", "failed"),
    shell("leaves_a_line_to_debug", "sed -i '1i echo \"called with $*\"' greet.sh", "failed"),
    shell(
        "takes_back_the_work",
        "git checkout -q $(git rev-list --max-parents=0 HEAD) -- greet.sh; touch quiet",
        "failed",
    ),
    python("needs_a_module_that_is_not_there", "sed -i '1i import adders_of_tomorrow' adder.py"),
    python("moves_the_module", "mkdir sums; git mv adder.py sums/adder.py"),
    python("rounds_in_another_way", "sed -i 's/sum(numbers)/float(sum(numbers)) + 0.5/' adder.py"),
];

/// Lets one session prove the feature, and the next do its own work and this.
fn play(project: &str, does: &str) -> Stage {
    let place = folder("projects").join(project);
    let stage = Stage::of(std::slice::from_ref(&place), Mode::Plain, &["gate.timeout=2s".to_owned()]);
    let check = if project == "greeter" {
        "loud=$(sh greet.sh --loud Ada) && test \"$loud\" = 'HELLO, ADA!'"
    } else {
        "python3 -m unittest tests/test_adder.py"
    };
    stage.add(&json!(check));
    stage.project.run(["feature", "add", "--id", LATER, "--title", LATER, "--check", "test -e quiet"]).exits(0);

    stage.work(&[&read(&place.join("honest.sh")), &format!("touch quiet\n{does}")]);
    stage
}

/// Expects that the session which broke it is the one in which it shows.
fn is_caught(broken: &Break) {
    if !runs_here(if broken.project == "adder" { "python3" } else { "bash" }) {
        return;
    }
    let stage = play(broken.project, broken.does);

    let project = &stage.project;
    assert_eq!(project.status(LATER), "proven", "{}", broken.name);
    assert_eq!(project.status(FEATURE), "regressed", "{}", broken.name);
    let feature = project.stored(FEATURE);
    assert_eq!(feature["last_verdict"]["verdict"], broken.finds, "{}\n{feature:#}", broken.name);
    let trailer = "--format=%(trailers:key=Session,valueonly)";
    assert_eq!(project.memory_git(["log", "--grep=^gate: regress works", trailer]).trim(), "2", "{}", broken.name);
}

#[test]
fn a_text_that_both_use() {
    is_caught(&BREAKS[0]);
}

#[test]
fn a_program_that_never_ends() {
    is_caught(&BREAKS[1]);
}

#[test]
fn a_program_that_kills_who_calls_it() {
    is_caught(&BREAKS[2]);
}

#[test]
fn a_program_that_is_not_there() {
    is_caught(&BREAKS[3]);
}

#[test]
fn a_function_that_takes_something_else() {
    is_caught(&BREAKS[4]);
}

#[test]
#[ignore = "all seeded regressions; half a minute"]
fn all() {
    BREAKS.iter().for_each(is_caught);
}

/// The twin: a later session that breaks nothing is told nothing.
#[test]
fn a_session_that_breaks_nothing_regresses_nothing() {
    let stage = play("greeter", "echo hello=Hello > lib/words.sh");

    assert_eq!([FEATURE, LATER].map(|id| stage.project.status(id)), ["proven", "proven"]);
    assert_eq!(stage.project.memory_git(["log", "--grep=^gate: regress"]), "");
}
