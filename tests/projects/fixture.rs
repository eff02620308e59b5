//! A project of the folder `fixtures/`, and its way through longhaul.

use crate::support::Project;
use crate::support::Run;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// How its commands are held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Held {
    Bubblewrap,
    Plain,
}

/// Returns the folder of a fixture: a project, its checklist, and the agent that works on it.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects/fixtures").join(name)
}

/// Copies the fixture's project into a new repository. Its commands have the real home, because the tools live there.
pub(crate) fn project(name: &str, held: Held) -> Project {
    let project = Project::unborn();
    copy(&folder(name).join("project"), &project.root());
    let home = std::env::var("HOME").unwrap();
    let own = project.home().join(".config").display().to_string();
    let project =
        project.variable("HOME", &home).variable("XDG_CONFIG_HOME", &own).variable("GIT_CONFIG_GLOBAL", "/dev/null");
    if held == Held::Bubblewrap { project.sandboxed() } else { project }
}

/// Commits what lies there, and trusts the settings it brings along.
pub(crate) fn commit(project: &Project) {
    project.git(["add", "-A"]);
    project.git(["commit", "--quiet", "-m", "as it was found"]);
    if project.root().join("longhaul.toml").exists() {
        project.run(["trust", "--yes"]).exits(0);
    }
}

/// Names `init.sh` as the script that installs and starts what the checks need.
pub(crate) fn name_init_script(project: &Project) {
    project.run(["init"]).exits(0);
    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
}

/// Takes in the fixture's checklist.
pub(crate) fn import(name: &str, project: &Project) -> Run {
    let list = folder(name).join("features.json");
    let init = project.run(["init", "--from", list.to_str().unwrap()]);
    init.exits(0);
    init
}

/// Lets the scripted agent of a fixture work until everything is proven, and looks at all of it once more.
pub(crate) fn work_through(name: &str, project: Project, ids: &[&str]) -> Project {
    let project = project.model(agent(name));
    let run = project.run(["run"]);
    run.exits(0).prints("done: ");
    assert_eq!(project.played().rejected(), Vec::<String>::new(), "{}", run.whole());
    project.run(["check", "--all"]).exits(0);
    for id in ids {
        assert_eq!(project.status(id), "proven", "{id}");
    }
    assert_eq!(project.git(["status", "--porcelain"]), "");
    project
}

/// Returns the sessions of a fixture's agent.
pub(crate) fn agent(name: &str) -> Vec<Value> {
    let script = fs::read_to_string(folder(name).join("script.toml")).unwrap();
    let script: Value = toml::from_str(&script).unwrap();
    script["session"].as_array().unwrap().clone()
}

/// Says that a test, or a part of it, is skipped for want of what no machine must have, such as a package registry.
pub(crate) fn lacking(what: &str) {
    // Written to the stream itself: what is printed by macro is only shown for tests that fail.
    writeln!(std::io::stderr(), "skipped: {what}").ok();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}
