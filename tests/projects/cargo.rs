//! A Cargo workspace: tests of a crate, a program, and a second crate that the agent adds.

use crate::fixture;
use crate::fixture::Held;

const IDS: [&str; 4] = ["write", "read", "program", "whole"];

fn goes_through(held: Held) {
    let project = fixture::project("cargo", held);
    fixture::commit(&project);
    fixture::import("cargo", &project).prints("4 red, to be worked on: write, read, program, whole");

    let project = fixture::work_through("cargo", project, &IDS);

    for path in ["HEAD:Cargo.toml", "HEAD:Cargo.lock"] {
        assert!(project.git(["show", path]).contains("roman-cli"));
    }
}

#[test]
fn a_cargo_workspace_is_proven_in_bubblewrap() {
    goes_through(Held::Bubblewrap);
}

#[test]
fn a_cargo_workspace_is_proven_in_plain_mode() {
    goes_through(Held::Plain);
}
