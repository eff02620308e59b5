//! `longhaul doctor`: what it finds, what it calls missing, and that it only looks.

use crate::support::KEY;
use crate::support::Project;
use crate::support::Run;
use crate::support::bash;
use crate::support::reply;
use crate::support::session;
use crate::support::skipped;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A PATH that holds these programs of the machine and no other, so that a test knows what is missing.
fn only(project: Project, programs: &[&str]) -> Project {
    let folder = project.root().join("../programs");
    fs::create_dir_all(&folder).unwrap();
    let outer = std::env::var("PATH").unwrap();
    for program in programs {
        let found = std::env::split_paths(&outer).map(|folder| folder.join(program)).find(|path| path.exists());
        std::os::unix::fs::symlink(found.unwrap(), folder.join(program)).unwrap();
    }
    let path = folder.canonicalize().unwrap().display().to_string();
    project.variable("PATH", &path)
}

/// Puts a program into that PATH which does nothing.
fn pretend(project: &Project, name: &str) {
    let path = project.root().join("../programs").join(name);
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn findings(run: &Run) -> Vec<Value> {
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{}", run.whole()));
    report["findings"].as_array().cloned().unwrap_or_default()
}

/// Returns the findings on a topic, each as its status and its text.
fn on(run: &Run, topic: &str) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let on_topic = findings(run).into_iter().filter(|finding| finding["topic"] == topic);
    on_topic.map(|finding| (text(&finding, "status"), text(&finding, "text"))).collect()
}

#[test]
fn a_program_that_a_check_starts_and_that_is_missing_is_named_with_its_package() {
    let project = Project::ready()
        .feature("page", "cd . && curl -fs localhost | grep -q ok")
        .feature("list", "curl -fs localhost/list; house-tool");
    let project = only(project, &["git", "sh", "bash", "grep"]);

    let run = project.run(["doctor"]);
    run.exits(1).prints("missing  check      `curl` is not on the PATH that commands get; needed by: check of list, ");
    run.prints("→ install the Debian package `curl`").prints("`house-tool` is not on the PATH");
    run.prints("→ install `house-tool`, or put its folder on the PATH you start longhaul with");
    run.tells("error: something is missing:\n  check: `curl` is not").hides("`grep` is not");

    pretend(&project, "curl");
    pretend(&project, "house-tool");
    let run = project.run(["doctor"]);
    run.exits(0).prints("ok       check      2 checks, every program is there: curl, grep, house-tool\n");
}

#[test]
fn scripts_that_a_check_gives_to_a_shell_are_read_too() {
    let project = Project::ready();
    project.write("tests/e2e.sh", "#!/bin/sh\nset -e\nvisit() { psql -c 'select 1'; }\nvisit\nown-words and more\n");
    project.run(["memory", "create", "checks/a.sh", "node a.js\nsh tests/e2e.sh\n"]).exits(0);
    let project = only(project.feature("a", "sh \"$LONGHAUL_CHECKS/a.sh\""), &["git", "sh"]);

    let run = project.run(["doctor", "--json"]);

    let missing: Vec<String> = on(&run, "check").into_iter().map(|(_, text)| text).collect();
    run.exits(1);
    assert!(missing.iter().any(|text| text.starts_with("`node` is not")), "{missing:?}");
    assert!(missing.iter().any(|text| text.starts_with("`psql` is not")), "{missing:?}");
    assert_eq!(missing.len(), 2, "only well-known programs are looked for in a script: {missing:?}");
    let node = findings(&run).into_iter().find(|finding| finding["text"].to_string().contains("`node`")).unwrap();
    let expected = json!({ "topic": "check", "status": "missing", "way_out": "install the Debian package `nodejs`",
        "text": "`node` is not on the PATH that commands get; needed by: check of a" });
    assert_eq!(node, expected);
}

#[test]
fn the_init_script_is_looked_at() {
    let project = Project::ready();
    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
    let init = |run: &Run| on(run, "init").into_iter().map(|(status, _)| status).collect::<Vec<_>>();
    let look = || project.run(["doctor", "--json"]);
    assert_eq!(init(look().exits(1)), ["missing"]);

    project.write("init.sh", "#!/no/such/shell\nkill -9 $PPID\n");
    assert_eq!(init(look().exits(0)), ["ok"], "`sh` runs what is not executable");
    let path = project.root().join("init.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(init(look().exits(1)), ["ok", "missing"]);
    project.write("init.sh", "echo no first line\n");
    assert_eq!(init(look().exits(1)), ["missing"]);
    project.write("init.sh", "#!/bin/sh\r\necho up\r\n");
    assert_eq!(init(look().exits(1)), ["missing"]);
    project.write("init.sh", "#!/bin/sh\necho up\n");
    assert_eq!(init(look().exits(0)), ["ok"]);
}

#[test]
fn it_works_outside_of_a_project_and_never_shows_the_key() {
    let project = Project::new().variable("ANTHROPIC_API_KEY", KEY);
    fs::remove_dir_all(project.root().join(".git")).unwrap();

    let run = project.run(["doctor"]);

    run.exits(0).prints("ok       git        git version ").prints("ok       project    none here: `").hides(KEY);
    run.prints("ok       key        `ANTHROPIC_API_KEY` is set").prints("ok       price      known for the model");
    project.run(["doctor", "--set", "agent.model=mine"]).prints("warning  price      not known for the model `mine`");
    project.run(["doctor", "--set", "provider.key_env=OTHER"]).exits(0).prints("`OTHER` is not set");
}

#[test]
fn without_bubblewrap_the_level_and_the_way_out_are_told() {
    let project = only(Project::new(), &["git", "sh"]).variable("LONGHAUL_SANDBOX_MODE", "auto");
    let run = project.run(["doctor"]);
    run.exits(0).prints("warning  sandbox    plain mode, so the agent's commands run as you: bubblewrap cannot be had");
    run.prints("there is no `bwrap` on the PATH").prints("→ install bubblewrap").prints("warning  network");
    run.prints("warning  bash       not found; the agent's commands run with `sh`");

    let run = project.run(["doctor", "--set", "sandbox.mode=off"]);
    run.exits(0).prints("plain mode, as `sandbox.mode` says").hides("bwrap");
}

#[test]
fn what_stands_in_the_way_of_a_run_is_told() {
    let project = Project::new();
    project.run(["doctor"]).exits(0).prints("memory     this project has none yet").prints("tree       clean\n");
    project.run(["init"]).exits(0);
    project.write("Cargo.lock", "");
    project.git(["add", "Cargo.lock"]);
    project.git(["commit", "-qm", "lock"]);
    project.write("longhaul.toml", "[hooks]\nsession_start = [\"touch ../hooked\"]\n");
    project.write(".longhaul/templates/session.md", "");
    project.write("README", "changed\n");
    project.git(["checkout", "--quiet", "--detach"]);

    let run = project.run(["doctor"]);

    run.exits(0).prints("warning  settings   `hooks.session_start` does not count in `longhaul.toml`, line 2");
    run.prints("warning  templates  ").prints("warning  tree       uncommitted changes: `README`");
    run.prints("checkout   in-place: `Cargo.lock` is there").prints("`run` needs a branch").prints("lock       free");
    assert_eq!(run.stderr, "");

    project.write("../home/.config/longhaul/config.toml", "[budget]\nusd = \"much\"\n");
    project.run(["doctor"]).exits(1).prints("missing  settings   `budget.usd` is `\"much\"`").prints("tree ");
}

#[test]
fn a_run_that_is_on_is_named_and_not_disturbed() {
    let silent = json!({ "silence": "60s" });
    let project = Project::ready().feature("a", "test -f a").model([session([reply([bash("true")]), silent])]);
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();
    let log = project.memory_log();

    let run = project.run(["doctor"]);

    run.exits(0).prints(&format!("warning  lock       held by process {}: a longhaul works here now", child.id()));
    assert_eq!(project.memory_log(), log);
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_repository_of_another_user_is_no_missing_repository() {
    let project = Project::ready();
    if std::os::unix::fs::chown(project.root(), Some(65534), None).is_err() {
        return skipped("only the superuser can give a folder away");
    }
    let root = project.root().canonicalize().unwrap().display().to_string();
    let (text, way_out) = (
        format!("the git repository `{root}` belongs to another user"),
        format!("`git config --global --add safe.directory '{root}'` trusts it, or run longhaul as its owner"),
    );

    project.run(["doctor"]).exits(1).prints(&format!("missing  project    {text}")).prints(&way_out);
    for command in ["status", "init", "run"] {
        project.run([command]).exits(1).tells(&text).tells(&format!("hint: {way_out}"));
    }

    project.git(["config", "--global", "--add", "safe.directory", &root]);
    project.run(["status"]).exits(0);
    project.run(["doctor"]).exits(0).prints(&format!("ok       project    {root}, branch main"));
}

#[test]
fn a_home_that_cannot_be_read_is_no_missing_repository() {
    let project = Project::new();
    let circle = project.home().join("circle");
    std::os::unix::fs::symlink("circle", &circle).unwrap();
    let circle = circle.display().to_string();

    let run = project.variable("HOME", &circle).run(["doctor"]);

    run.exits(1).prints("missing  project    could not open the git repository around `").hides("none here");
    run.prints(&format!("→ HOME is `{circle}`, which you cannot read: set it to your own home"));
}

#[test]
fn a_git_that_never_ends_is_told_and_not_waited_for() {
    let project = Project::ready();
    project.write("x.bin", "plain\n");
    project.write(".gitattributes", "*.bin filter=far\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "files"]);
    project.git(["config", "filter.far.clean", "sleep 600"]);
    // Changed, so that git asks the filter.
    project.write("x.bin", "other\n");
    for mode in ["off", "auto"] {
        let start = std::time::Instant::now();
        let run = project.run(["doctor", "--set", &format!("sandbox.mode={mode}")]);
        run.exits(1)
            .prints("missing  tree       `git status` failed in")
            .prints("(timed out)")
            .prints("a filter that git runs may not");
        run.prints("ok       checkout   clean");
        assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    }
}
