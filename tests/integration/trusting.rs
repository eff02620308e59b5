//! `longhaul trust`, and what of a project's settings counts without it.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::process::Stdio;

const BINARY: &str = env!("CARGO_BIN_EXE_longhaul");

/// A hook that leaves a file outside of the project, and a looser budget.
const WIDENS: &str = "[budget]\nusd = 50\n[hooks]\nsession_end = [\"touch ../hooked\"]\n";

/// Commits these shared settings.
fn share(project: &Project, settings: &str) {
    project.write("longhaul.toml", settings);
    project.git(["add", "longhaul.toml"]);
    project.git(["commit", "--quiet", "-m", "settings"]);
}

/// A project with a feature, shared settings, and sessions that do nothing.
fn sharing(settings: &str, sessions: usize) -> Project {
    let idle = (0..sessions).map(|_| session([reply([hand_over()])]));
    let project = Project::ready().feature("a", "test -f a").variable("LONGHAUL_RUN_ATTEMPTS", "9").model(idle);
    share(&project, settings);
    project
}

/// Holds one session and tells whether the project's hook ran.
fn hook_runs(project: &Project) -> bool {
    let trace = project.root().join("../hooked");
    std::fs::remove_file(&trace).ok();
    project.run(["run", "--sessions", "1"]).exits(3);
    trace.exists()
}

fn models(project: &Project) -> Vec<String> {
    let model = |request: &Value| request["model"].as_str().unwrap_or_default().to_owned();
    project.played().requests().iter().map(model).collect()
}

#[test]
fn what_widens_waits_until_this_very_content_is_trusted() {
    let project = sharing(WIDENS, 4);
    assert!(!hook_runs(&project), "the project's hook ran without trust");
    let told = "warning: `hooks.session_end` does not count in `longhaul.toml`, line 4: it needs your trust; look at it \
                with `longhaul trust`";
    project.run(["status"]).exits(0).tells(told).tells("`budget.usd` does not count in `longhaul.toml`, line 2");

    let shown = project.run(["trust", "--yes"]);
    shown.exits(0).prints("  hooks.session_end = [\"touch ../hooked\"], now []; warning: runs as you");
    shown.prints("  budget.usd = 50, now 20.0\n").prints("trusted, with exactly this content");
    assert!(shown.stdout.find("hooks.session_end") < shown.stdout.find("budget.usd"), "{}", shown.whole());
    assert!(hook_runs(&project), "the trusted hook did not run");
    project.run(["status"]).exits(0).hides("does not count");
    project.run(["trust"]).exits(0).prints("trusted already");

    share(&project, &format!("{WIDENS}# another content\n"));
    assert!(!hook_runs(&project), "another content than the trusted one counts");
    project.run(["status"]).exits(0).tells("the file is not as you trusted it: look at it again");

    share(&project, WIDENS);
    project.run(["trust", "--revoke"]).exits(0).prints("the trust is taken back");
    assert!(!hook_runs(&project), "the hook ran after its trust was taken back");
    project.run(["trust", "--revoke"]).exits(0).prints("was not trusted");
}

#[test]
fn nothing_is_trusted_unseen() {
    let project = sharing(WIDENS, 0);
    let refused = project.run(["trust"]);
    refused.exits(2).prints("hooks.session_end").tells("no terminal to ask on").tells("longhaul trust --yes");
    project.run(["trust", "--list"]).exits(0).prints("you trust no project's settings");

    project.write("longhaul.toml", "[hooks]\nsession_end = [\"other\"]\n");
    project.run(["trust", "--yes"]).exits(2).tells("`longhaul.toml` is not committed as it lies there");
    share(&project, "[hooks]\nsession_end = \"no list\"\n");
    project.run(["trust", "--yes"]).exits(2).tells("`hooks.session_end` is `\"no list\"` in `longhaul.toml`, line 2");
    project.run(["trust", "--list"]).exits(0).prints("you trust no project's settings");
}

#[test]
fn on_a_terminal_a_person_is_asked() {
    if !runs_here("script") {
        return;
    }
    let project = sharing(WIDENS, 0);
    let answers = |answer: &str| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &format!("{BINARY} trust"), "/dev/null"]).current_dir(project.root());
        command.env_clear().envs(project.environment()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), answer.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };

    let said = answers("\n");
    assert!(said.contains("trust this content? [y/N]") && said.contains("nothing changed"), "{said}");
    project.run(["trust", "--list"]).exits(0).prints("you trust no project's settings");

    let said = answers("y\n");
    assert!(said.contains("trusted, with exactly this content"), "{said}");
    project.run(["trust", "--list"]).exits(0).prints("as it lies there");
}

#[test]
fn what_needs_no_trust_is_not_asked_for() {
    let project = Project::new();
    project.run(["trust"]).exits(0).prints("there is no `longhaul.toml` here");
    share(&project, "[budget]\nusd = 1\n");
    project.run(["trust"]).exits(0).prints("everything in `longhaul.toml` counts without your trust");
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    project.run(["trust"]).exits(2).tells("is not inside a git repository");
}

#[test]
fn the_list_says_what_became_of_each() {
    let project = sharing(WIDENS, 0);
    project.run(["trust", "--yes"]).exits(0);
    let root = project.root().canonicalize().unwrap().display().to_string();
    project.run(["trust", "--list"]).exits(0).prints(&format!("{root}, since 20")).prints(": as it lies there\n");

    share(&project, "[budget]\nusd = 60\n");
    project.run(["trust", "--list"]).exits(0).prints("another version lies there");
    std::fs::remove_file(project.root().join("longhaul.toml")).unwrap();
    project.run(["trust", "--list"]).exits(0).prints("no `longhaul.toml` lies there");
}

#[test]
fn an_agent_cannot_trust_what_it_wrote() {
    let tries = format!(
        "{BINARY} trust --yes; echo \"as it is: $?\"; env -u LONGHAUL_OWNER {BINARY} trust --yes; echo \"unmarked: $?\""
    );
    let project = Project::ready().feature("a", "test -f a").variable("LONGHAUL_SANDBOX_MODE", "off");
    share(&project, WIDENS);
    let project = project.model([session([reply([bash(&tries)]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).exits(3);

    let said = project.played().results_in(2);
    assert!(said.contains("a command that longhaul itself started cannot trust settings"), "{said}");
    assert!(said.contains("as it is: 2\n") && said.contains("unmarked: 6"), "{said}");
    project.run(["trust", "--list"]).exits(0).prints("you trust no project's settings");
    // The same words are enough for a person.
    project.run(["trust", "--yes"]).exits(0).prints("trusted, with exactly this content");
}

/// F07: the agent could edit the settings that guard it.
#[test]
fn f07_settings_that_a_session_commits_wait_even_when_they_narrow() {
    let plant = "printf '[agent]\\nmodel = \"planted\"\\n' > longhaul.toml; git add -A; git commit -qm settings";
    let project = Project::ready()
        .feature("a", "test -f a")
        .variable("LONGHAUL_RUN_ATTEMPTS", "9")
        .model([session([reply([bash(plant)]), reply([hand_over()])]), session([reply([hand_over()])])]);
    share(&project, "[agent]\nmodel = \"chosen\"\n");

    project.run(["run", "--sessions", "1"]).exits(3).tells("`longhaul.toml` is not the version this run works with");
    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains("`longhaul.toml` is not the version"));
    let run = project.run(["run", "--sessions", "1"]);
    run.exits(3).tells("`longhaul.toml` may have been changed by a session, so the version before holds");
    assert_eq!(models(&project), ["chosen", "chosen", "chosen"]);

    project.run(["trust", "--yes"]).exits(0).prints("  agent.model = \"planted\", now \"chosen\"");
    // A third session that changed nothing would block the feature.
    let project = project.model([session([reply([bash("echo more >more"), hand_over()])])]);
    project.run(["run", "--sessions", "1"]).exits(3).hides("may have been changed");
    assert_eq!(models(&project), ["planted"]);
}

/// F07 once more: a guard that is removed guards on.
#[test]
fn f07_settings_that_a_session_removes_hold_until_a_person_agrees() {
    let remove = session([reply([bash("git rm -q longhaul.toml; git commit -qm settings")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([remove]);
    share(&project, "[budget]\nsessions = 1\n");

    project.run(["run"]).exits(3);
    project.run(["status"]).exits(0).tells("may have been changed by a session");
    project.run(["trust", "--yes"]).exits(0).prints("`longhaul.toml` is gone").prints("budget.sessions = 0, now 1");
    project.run(["status"]).exits(0).hides("may have been changed by a session");
}

/// F07 once more: a kill before the hook hides nothing.
#[test]
fn f07_settings_of_a_session_that_was_killed_wait_too() {
    let plant = "printf '[agent]\\nmodel = \"planted\"\\n' > longhaul.toml; git add -A; git commit -qm settings";
    let silent = json!({ "silence": "60s" });
    let project = Project::ready()
        .feature("a", "test -f a")
        .model([session([reply([bash(plant)]), silent]), session([reply([hand_over()])])]);
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();

    project.run(["run", "--sessions", "1"]).exits(3).tells("so the version before holds");

    assert!(models(&project).iter().all(|model| model == "claude-opus-5-5"), "{:?}", models(&project));
    assert!(project.read("longhaul.toml").contains("planted"), "the session's file is left as it is");
}

#[test]
fn what_a_person_changes_between_two_runs_counts_at_once() {
    let project = sharing("[agent]\nmodel = \"one\"\n", 2);
    project.run(["run", "--sessions", "1"]).exits(3);
    share(&project, "[agent]\nmodel = \"two\"\n");
    project.run(["run", "--sessions", "1"]).exits(3).hides("longhaul.toml");
    assert_eq!(models(&project), ["one", "two"]);
}

/// F07 once more: settings outside of the project are told, since in plain mode they cannot be guarded.
#[test]
fn f07_a_session_that_rewrites_the_users_own_settings_is_told() {
    let plant = "mkdir -p ~/.config/longhaul; echo '[budget]' > ~/.config/longhaul/config.toml";
    let project = Project::ready()
        .feature("a", "test -f a")
        .variable("LONGHAUL_SANDBOX_MODE", "off")
        .model([session([reply([bash(plant)]), reply([hand_over()])])]);

    project
        .run(["run", "--sessions", "1"])
        .exits(3)
        .tells("/.config/longhaul/config.toml` appeared while the run was on");

    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains("config.toml` appeared while"));
}
