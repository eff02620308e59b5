//! A harness without protections: it lets the agent work, commits, runs the check where it is, and believes what it sees.

use crate::stage::FEATURE;
use crate::stage::Stage;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

/// By this variable, what the agent left running is found and ended afterwards.
const MARK: &str = "LONGHAUL_TEST_PLAY";

pub(crate) struct Trusting<'a> {
    stage: &'a Stage,
}

impl<'a> Trusting<'a> {
    pub(crate) fn new(stage: &'a Stage) -> Self {
        Self { stage }
    }

    /// Runs what the agent of a script does in its shell, and commits.
    pub(crate) fn lets_work(&self, script: &str) {
        let script: toml::Value = toml::from_str(script).expect("a script");
        for command in commands(&script) {
            self.run("bash", &["-c", &command]);
        }
        self.run("bash", &["-c", "git status; git add -A; git commit -qm wip"]);
    }

    /// Tells whether the check passes, run by a shell with this option.
    pub(crate) fn check_passes(&self, check: &Value, option: &str) -> bool {
        let text = |key: &str| check[key].as_str();
        let run = text("run").or(check.as_str()).unwrap_or_default();
        if let Some(setup) = text("setup") {
            self.run("sh", &[option, setup]);
        }
        let start = Instant::now();
        while text("ready").is_some_and(|ready| !self.run("sh", &[option, ready])) {
            assert!(start.elapsed() < Duration::from_secs(10), "it never gets ready: {check}");
        }
        let dir = text("cwd").unwrap_or(".");
        self.run("sh", &[option, &format!("cd {dir}\n{run}")])
    }

    /// Tells whether a checklist says that the feature is done.
    pub(crate) fn checklist_says_done(&self) -> bool {
        let view = fs::read_to_string(self.stage.project.view().join("features.json")).unwrap_or_default();
        let listed = self.stage.project.stored(FEATURE)["passes"] == true;
        let in_view = serde_json::from_str::<Value>(&view).is_ok_and(|list| list["features"][0]["passes"] == true);
        listed || in_view
    }

    /// Runs a command to its end and tells whether it ended with 0.
    fn run(&self, program: &str, args: &[&str]) -> bool {
        let project = &self.stage.project;
        // What kills its parent kills the shell between, not the test; `timeout` bounds what would hang.
        let mut command = Command::new("setsid");
        command.args(["--wait", "sh", "-c", "timeout 10 \"$@\"; exit $?", "sh", program]).args(args);
        command.current_dir(project.root()).env_clear().envs(project.environment());
        command.env("LONGHAUL_CHECKS", project.view().join("checks")).env(MARK, project.root());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("a command starts").success()
    }
}

impl Drop for Trusting<'_> {
    fn drop(&mut self) {
        let mark = format!("{MARK}={}", self.stage.project.root().display());
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
                let text = format!("kill -9 {}", entry.file_name().display());
                Command::new("sh").args(["-c", &text]).stderr(Stdio::null()).status().ok();
            }
        }
    }
}

/// Returns the shell commands that a script's agent runs, in order.
fn commands(script: &toml::Value) -> Vec<String> {
    let list =
        |value: &toml::Value, key: &str| value.get(key).and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let replies = list(script, "session").into_iter().flat_map(|session| list(&session, "reply"));
    let tools = replies.flat_map(|reply| list(&reply, "tools"));
    tools.filter_map(|tool| Some(tool.get("input")?.get("command")?.as_str()?.to_owned())).collect()
}
