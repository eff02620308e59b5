//! A Python package with pytest in a virtual environment.

use crate::fixture;
use crate::fixture::Held;
use crate::support::runs_here;
use std::fs;
use std::path::Path;
use std::process::Command;

const IDS: [&str; 4] = ["total", "months", "version", "whole"];

/// Puts pytest and what it needs into the project, so that installing it needs no network.
fn fetch_wheels(root: &Path) -> bool {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "-r", "requirements.txt", "-d", "wheels"]).current_dir(root);
    let output = pip.output().unwrap();
    if !output.status.success() {
        fixture::lacking(&format!(
            "pytest is not to be had from pip: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    output.status.success()
}

fn goes_through(held: Held) {
    if !runs_here("python3") {
        return;
    }
    let project = fixture::project("python", held);
    if !fetch_wheels(&project.root()) {
        return;
    }
    assert!(fs::read_dir(project.root().join("wheels")).unwrap().count() > 1);
    fixture::commit(&project);
    fixture::name_init_script(&project);
    fixture::import("python", &project).prints("4 red, to be worked on: total, months, version, whole");

    let project = fixture::work_through("python", project, &IDS);

    assert!(project.git(["show", "HEAD:pyproject.toml"]).contains("[project.scripts]"));
}

#[test]
fn a_python_package_is_proven_in_bubblewrap() {
    goes_through(Held::Bubblewrap);
}

#[test]
fn a_python_package_is_proven_in_plain_mode() {
    goes_through(Held::Plain);
}
