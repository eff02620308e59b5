//! A Node app whose checks need its server up, and one with packages from npm.

use crate::fixture;
use crate::fixture::Held;
use crate::support::runs_here;
use std::fs;
use std::net::TcpListener;
use std::process::Command;

const IDS: [&str; 3] = ["entries", "page", "unit"];

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn answers(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

fn goes_through(held: Held) {
    if !runs_here("node") || !runs_here("npm") {
        return;
    }
    let project = fixture::project("node", held);
    // In plain mode the server takes a port of the machine.
    let package = project.read("package.json").replace("4173", &free_port().to_string());
    project.write("package.json", &package);
    fixture::commit(&project);
    fixture::name_init_script(&project);
    fixture::import("node", &project).prints("3 red, to be worked on: entries, page, unit");
    let mut ids = IDS.to_vec();
    if answers("chromium", &["--version"]) {
        let list = fs::read_to_string(fixture::folder("node").join("browser.json")).unwrap();
        project.run_with(["feature", "add", "-"], &list).exits(0);
        ids.push("browser");
    } else {
        fixture::lacking("no browser looks at the page: `chromium` does not run here");
    }

    let project = fixture::work_through("node", project, &ids);

    assert!(project.git(["show", "HEAD:package.json"]).contains("node --test test/"));
}

#[test]
fn a_node_app_with_a_server_is_proven_in_bubblewrap() {
    goes_through(Held::Bubblewrap);
}

#[test]
fn a_node_app_with_a_server_is_proven_in_plain_mode() {
    goes_through(Held::Plain);
}

fn is_prepared(held: Held) {
    if !runs_here("node") || !runs_here("npm") {
        return;
    }
    if !answers("npm", &["view", "is-number@7.0.0", "version"]) {
        fixture::lacking("no package is installed: npm does not reach its registry");
        return;
    }
    let project = fixture::project("npm", held);
    fixture::commit(&project);
    fixture::import("npm", &project).prints("2 red, to be worked on: sum, version");

    let project = fixture::work_through("npm", project, &["sum", "version"]);

    // Prepared once for each state of the lock file, in a checkout: nothing is installed in the working tree.
    assert!(!project.root().join("node_modules").exists());
    assert_eq!(fs::read_dir(project.state().join("prepared")).unwrap().count(), 2);
}

#[test]
fn a_package_from_npm_is_there_for_the_checks_in_bubblewrap() {
    is_prepared(Held::Bubblewrap);
}

#[test]
fn a_package_from_npm_is_there_for_the_checks_in_plain_mode() {
    is_prepared(Held::Plain);
}
