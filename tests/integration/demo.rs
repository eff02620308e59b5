//! `longhaul demo`: the whole story, from an empty folder, without a home.

use crate::support::Run;
use std::path::Path;
use std::process::Command;

/// Runs a program with nothing but a `PATH` and a place for temporary files.
fn run(program: &str, args: &[&str], dir: &Path, temporary: &Path) -> Run {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).env_clear().env("TMPDIR", temporary);
    command.env("PATH", std::env::var("PATH").expect("a PATH"));
    let output = command.output().expect("the program starts");
    Run::of(output, format!("{command:?}"))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).expect("a folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

const LONGHAUL: &str = env!("CARGO_BIN_EXE_longhaul");

/// The scenes in the order in which issue and README promise them.
const SCENES: [&str; 12] = [
    "▸ the initializer turns the specification into checks and a checklist",
    "▸ a feature is proven by its check",
    "▸ a false «done»: refused, and the check says why",
    "▸ the checklist attacked with the memory tool: refused",
    "▸ the fault is repaired and the feature proven",
    "▸ the checklist attacked by shell: undone, and the session proves nothing",
    "▸ its code was right, and its check proves it",
    "▸ a longhaul killed in mid-session",
    "▸ the next one goes on from the last committed state",
    "▸ the interrupted feature is finished and proven",
    "▸ a regression, caught by the sweep after the session",
    "▸ the regression is repaired and the feature proven",
];

#[test]
fn the_demo_tells_its_whole_story_and_leaves_nothing_behind() {
    let (empty, temporary) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let demo = run(LONGHAUL, &["demo", "--set", "sandbox.mode=off"], empty.path(), temporary.path());
    demo.exits(0).prints("all 12 scenes were seen").prints("git --git-dir=");
    let told: Vec<&str> = demo.stdout.lines().filter(|line| line.starts_with('▸')).collect();
    assert_eq!(told, SCENES, "{}", demo.whole());
    assert_eq!((names(empty.path()), names(temporary.path())), (vec![], vec![]), "{}", demo.whole());
}

#[test]
fn in_a_sandbox_the_attack_by_shell_is_out_of_reach() {
    let (empty, temporary) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let demo = run(LONGHAUL, &["demo", "--set", "sandbox.mode=bubblewrap"], empty.path(), temporary.path());
    demo.exits(0).prints("all 12 scenes were seen").prints("features.json: Read-only file system");
    let told: Vec<&str> = demo.stdout.lines().filter(|line| line.starts_with('▸')).collect();
    let mut expected = SCENES;
    expected[5] = "▸ the checklist attacked by shell: it cannot be written there";
    assert_eq!(told, expected, "{}", demo.whole());
    assert_eq!((names(empty.path()), names(temporary.path())), (vec![], vec![]), "{}", demo.whole());
}

#[test]
fn the_kept_project_can_be_looked_at_and_reads_as_a_story() {
    let (place, temporary) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    run(LONGHAUL, &["demo", "--keep", "todo"], place.path(), temporary.path()).exits(0);
    let project = place.path().join("todo");
    let longhaul = |args: &[&str]| run(LONGHAUL, args, &project, temporary.path());

    longhaul(&["status", "--exit-code"]).exits(0);
    longhaul(&["log"]).exits(0).prints("gate: prove export").prints("gate: regress add-list");
    longhaul(&["show", "done"]).exits(0).prints("done.sh");
    longhaul(&["show", "--session", "6"]).exits(0);

    let git = |args: &[&str]| {
        run("git", &[&["--git-dir=.git/longhaul/memory.git"], args].concat(), &project, temporary.path())
    };
    git(&["fsck", "--strict"]).exits(0);
    let log = git(&["log", "--reverse", "--format=%s"]);
    let proofs: Vec<&str> = log
        .stdout
        .lines()
        .filter(|line| line.starts_with("gate: prove") || line.starts_with("gate: regress"))
        .collect();
    let expected = [
        "gate: prove add-list",
        "gate: prove done",
        "gate: prove remove",
        "gate: prove search",
        "gate: prove export",
        "gate: regress add-list",
        "gate: prove add-list",
    ];
    assert_eq!(proofs, expected, "{}", log.whole());
    let progress: Vec<&str> = log.stdout.lines().filter(|line| line.starts_with("progress: session")).collect();
    assert_eq!(progress.len(), 9, "{}", log.whole());

    // What git throws away in a clean-up is none of ours.
    let before = git(&["rev-parse", "HEAD"]).stdout;
    run("git", &["clean", "-fdxq"], &project, temporary.path()).exits(0);
    longhaul(&["status", "--exit-code"]).exits(0);
    assert_eq!(git(&["rev-parse", "HEAD"]).stdout, before);
}

#[test]
fn a_folder_that_cannot_be_made_is_refused_with_a_way_out() {
    let (place, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let demo = run(LONGHAUL, &["demo", "--keep", "/proc/x"], place.path(), temporary.path());
    demo.exits(2)
        .tells("could not make the folder `/proc/x`")
        .tells("hint: name a folder in a place where you can write");
}

#[test]
fn a_folder_that_holds_something_is_refused_and_left_as_it_was() {
    let (place, temporary) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    std::fs::write(place.path().join("mine"), "x").expect("a file");
    let demo = run(LONGHAUL, &["demo", "--keep", "."], place.path(), temporary.path());
    demo.exits(2).tells("is not empty").tells("hint: name a folder that does not exist yet");
    assert_eq!((names(place.path()), names(temporary.path())), (vec!["mine".to_owned()], vec![]));
}
