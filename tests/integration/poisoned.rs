//! The user's git settings and environment are full of traps: memory has the same trees as without them.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use crate::support::skipped;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Settings that sign, convert, run and refuse.
const SETTINGS: &str = "[commit]\n\tgpgsign = true\n[tag]\n\tgpgsign = true\n[gpg]\n\tprogram = TRAP\n[core]\n\tautocrlf = true\n\
    \teol = crlf\n\tsafecrlf = true\n\thooksPath = HOOKS\n\tfsmonitor = TRAP\n\tattributesFile = ATTRIBUTES\n[init]\n\ttemplateDir = TEMPLATE\n\
    \tdefaultBranch = elsewhere\n\tdefaultObjectFormat = sha256\n[safe]\n\tbareRepository = explicit\n[filter \"trap\"]\n\tclean = TRAP\n\tsmudge = TRAP\n\trequired = true\n\
    [user]\n\tuseConfigOnly = true\n";

/// Makes a home with these settings, both as git and as XDG read them; whatever of it runs leaves the file `sprung`.
fn poison(home: &Path) {
    poison_with(home, SETTINGS);
}

fn poison_with(home: &Path, settings: &str) {
    let trap = home.join("trap");
    let text = format!("#!/bin/sh\ntouch '{}'\nexit 1\n", home.join("sprung").display());
    for name in
        ["trap", "hooks/pre-commit", "hooks/reference-transaction", "hooks/post-commit", "template/hooks/post-commit"]
    {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(home.join("attributes"), "* filter=trap text eol=crlf\n").unwrap();
    let place = |name: &str| home.join(name).display().to_string();
    let settings = settings
        .replace("TRAP", &trap.display().to_string())
        .replace("HOOKS", &place("hooks"))
        .replace("ATTRIBUTES", &place("attributes"))
        .replace("TEMPLATE", &place("template"));
    for path in [".gitconfig", ".config/git/config", "system"] {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &settings).unwrap();
    }
}

/// Variables that point git elsewhere, set for a command.
fn misled(command: &mut Command, home: &Path) {
    let elsewhere = home.join("elsewhere");
    for name in [
        "GIT_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_COMMON_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_CEILING_DIRECTORIES",
    ] {
        command.env(name, elsewhere.join(name));
    }
    command.env("GIT_CONFIG_SYSTEM", home.join("system")).env_remove("GIT_CONFIG_NOSYSTEM");
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        command.env_remove(name);
    }
    command.env("XDG_CONFIG_HOME", home.join(".config")).env("GIT_DEFAULT_HASH", "sha256");
}

/// Calls of the memory tool of every kind, with texts that a conversion would change.
fn calls() -> String {
    let mut calls = Vec::new();
    for number in 0..20 {
        let path = format!("/memories/docs/{}/{number}", number % 3);
        calls.push(
            json!({"command": "create", "path": path, "file_text": format!("unix\nwindows\r\n{number}\n\u{e9}")}),
        );
    }
    calls.push(json!({"command": "str_replace", "path": "/memories/docs/0/0", "old_str": "unix", "new_str": "u"}));
    calls.push(json!({"command": "insert", "path": "/memories/docs/1/1", "insert_line": 1, "insert_text": "x\r\n"}));
    calls.push(json!({"command": "rename", "old_path": "/memories/docs/2", "new_path": "/memories/docs/two"}));
    calls.push(json!({"command": "delete", "path": "/memories/docs/0/3"}));
    calls.push(json!({"command": "view", "path": "/memories/docs/0/0"}));
    calls.iter().map(|call| format!("{call}\n")).collect()
}

/// Applies the calls to a memory in a folder; returns the answers, and the trees of all commits.
fn applied(home: &Path, store: &Path, mislead: bool) -> (String, Vec<String>) {
    let input = home.join("calls");
    fs::write(&input, calls()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
    command.args(["memory", "apply", "--store"]).arg(store).current_dir(home).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home).stdin(fs::File::open(input).unwrap());
    if mislead {
        misled(&mut command, home);
    }
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
    (String::from_utf8(output.stdout).unwrap(), trees(&store.join("memory.git")))
}

/// Returns the trees of all commits, read with clean settings.
fn trees(repository: &Path) -> Vec<String> {
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(repository).args(["log", "--reverse", "--format=%T %an %cn %G?", "main"]);
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    git.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    git.envs([("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "safe.directory"), ("GIT_CONFIG_VALUE_0", "*")]);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// T41, and E13 for a program that fails.
#[test]
fn a_recorded_list_of_calls_makes_the_same_trees() {
    let (clean, poisoned) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let wanted = applied(clean.path(), &clean.path().join("store"), false);
    assert_eq!(wanted.1.len(), 24);
    poison(poisoned.path());

    let found = applied(poisoned.path(), &poisoned.path().join("store"), true);

    assert_eq!(found, wanted);
    assert!(!poisoned.path().join("sprung").exists() && !poisoned.path().join("elsewhere").exists());
}

#[test]
fn git_itself_falls_into_the_traps() {
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(args).current_dir(folder.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        git.env("HOME", folder.path()).env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap().status.success()
    };
    assert!(git(&["init", "-q", "repo"]) && git(&["init", "-q", "--bare", "bare"]));
    let commit = ["-C", "repo", "-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "x", "--allow-empty"];
    assert!(git(&commit) && git(&["-C", "bare", "rev-parse"]));

    poison(folder.path());

    assert!(!git(&commit) && !git(&["-C", "bare", "rev-parse"]));
    assert!(folder.path().join("sprung").exists());
}

/// T41.
#[test]
fn a_memory_of_another_owner_is_worked_on_all_the_same() {
    if !rustix::process::getuid().is_root() {
        return skipped("only root can give files to another");
    }
    let (clean, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let wanted = applied(clean.path(), &clean.path().join("store"), false);
    let store = other.path().join("store");
    fs::create_dir(&store).unwrap();
    applied(other.path(), &store, false);
    assert!(Command::new("chown").args(["-R", "12345:12345"]).arg(&store).status().unwrap().success());
    poison(other.path());
    let again = applied(other.path(), &store, true);
    assert_eq!(again.1[..24], wanted.1[..]);
    let git = Command::new("git").arg("-C").arg(store.join("memory.git")).arg("log").env("HOME", other.path()).output();
    assert!(!git.unwrap().status.success(), "its twin: git refuses");
}

/// Plays a project from init to its proof, and returns the trees of its memory.
fn played(poisoned: bool) -> Vec<String> {
    let note = memory(json!({"command": "create", "path": "/memories/docs/a", "file_text": "unix\nwindows\r\n"}));
    let project = Project::new().model([session([reply([note, bash("touch a")]), reply([hand_over()])])]);
    let run = |args: &[&str]| {
        let mut command = project.command(args);
        if poisoned {
            // What of the user's own filters fails, fails in the project, as it would without longhaul.
            poison_with(&project.home(), &SETTINGS.replace("attributesFile", "other"));
            command.env("GIT_CONFIG_SYSTEM", project.home().join("system")).env_remove("GIT_CONFIG_NOSYSTEM");
            command.env("XDG_CONFIG_HOME", project.home().join(".config"));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["init"]);
    run(&["feature", "add", "--id", "a", "--title", "a", "--check", "test -f a"]);
    run(&["run"]);
    let state = project.state().join("memory.git");
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(&state).args(["rev-parse", "main:docs", "main:init.md"]);
    let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    assert!(output.status.success());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let count = trees(&state).len().to_string();
    told.lines().map(str::to_owned).chain([count]).collect()
}

#[test]
fn a_whole_run_has_the_same_memory() {
    assert_eq!(played(true), played(false));
}
