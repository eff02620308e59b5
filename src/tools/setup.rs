//! The init script, run before a session and by the `setup` tool.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::message::ToolResult;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Finished;
use crate::process::Leftovers;
use crate::sandbox::Sandbox;
use crate::tools::artifacts::Artifacts;
use crate::tools::bash::Limits;
use crate::tools::bash::network_told;
use crate::tools::bash::quoted;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// What the init script is run for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// Once, to install what the project needs; the network is there.
    Install,
    /// Before each session, to start what it needs.
    Start,
}

/// Characters of the script's output that are shown.
const SHOWN: usize = 8_000;

/// Answers one call of the tool.
pub(super) fn call(
    sandbox: &Sandbox,
    root: &Path,
    script: Option<&str>,
    environment: &BTreeMap<String, String>,
    limits: &Limits,
    artifacts: &Artifacts,
    input: &Value,
) -> Result<ToolResult, ToolError> {
    Input::new(input, &[])?;
    let script = script.ok_or_else(|| tell("there is no init script: the project starts nothing"))?;
    let finished = run_init(sandbox, root, script, Phase::Start, environment, limits.within(limits.init));
    let text = init_told(script, &finished, limits, artifacts)?;
    let text = format!("{text}{}", network_told(sandbox, &finished));
    let is_error = finished.exit != Exit::Code(0);
    Ok(if is_error { ToolResult::error(text) } else { ToolResult::text(text) })
}

/// Returns the text for `sh` that runs the init script `script`, a path inside the project: its own first line decides
/// what runs it, unless it was not made executable.
pub fn init_command(script: &str, phase: Phase) -> String {
    let script = quoted(&format!("./{script}"));
    let phase = match phase {
        Phase::Install => "install",
        Phase::Start => "start",
    };
    format!("export LONGHAUL_PHASE={phase}; [ -x {script} ] && exec {script}; exec sh {script}")
}

/// Runs the init script `script` of the project at `root`, within `limit`; what it starts stays alive in `sandbox`.
pub fn run_init(
    sandbox: &Sandbox,
    root: &Path,
    script: &str,
    phase: Phase,
    environment: &BTreeMap<String, String>,
    limit: Duration,
) -> Finished {
    let mut command = Command::shell(&init_command(script, phase), root, environment.clone()).limit(limit);
    command.leftovers = Leftovers::Keep;
    sandbox.run(&command)
}

/// Says how the init script ended, with what it printed; all of a long output is kept as an artifact.
pub fn init_told(script: &str, finished: &Finished, limits: &Limits, artifacts: &Artifacts) -> Result<String> {
    let seconds = finished.duration.as_secs_f64();
    let how = match &finished.exit {
        Exit::Code(0) => format!("ended well after {seconds:.1} s"),
        Exit::Code(code) => format!("failed with exit code {code} after {seconds:.1} s"),
        Exit::Signal(signal) => format!("was ended by signal {signal} after {seconds:.1} s"),
        Exit::TimedOut if limits.is_over() => {
            format!("was stopped after {seconds:.1} s, since a budget of time was used up")
        }
        Exit::TimedOut => {
            format!("was stopped by its limit, after {seconds:.1} s; it must end by itself, servers in the background")
        }
        Exit::Silent | Exit::Interrupted => format!("was stopped: {}", finished.exit),
        Exit::NotStarted(reason) => format!("could not start: {reason}"),
    };
    let output = artifacts.show_output(&finished.output, SHOWN)?.joined();
    let output = output.trim_end_matches('\n');
    let output = if output.is_empty() { "it printed nothing".to_owned() } else { format!("it printed:\n{output}") };
    Ok(format!("the init script `{script}` {how}; {output}"))
}

#[cfg(test)]
mod tests {
    use crate::secrets::Secrets;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;
    use tempfile::TempDir;

    use crate::process::Interrupt;

    use super::*;

    fn project(script: &str) -> TempDir {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("init.sh"), script).unwrap();
        project
    }

    fn setup(project: &TempDir, sandbox: &Sandbox, limit: f64) -> ToolResult {
        let environment = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        let limits = Limits { init: Duration::from_secs_f64(limit), ..Limits::default() };
        let artifacts = Artifacts::new(&project.path().join("artifacts"), &Secrets::default());
        call(sandbox, project.path(), Some("init.sh"), &environment, &limits, &artifacts, &json!({})).unwrap()
    }

    #[test]
    fn the_script_runs_whether_it_is_executable_or_not() {
        let project = project("#!/bin/sh\necho \"$LONGHAUL_PHASE in $(pwd -P)\"\n");
        let sandbox = Sandbox::plain(Path::new("/nowhere"), &Interrupt::new());
        let expected = format!("it printed:\nstart in {}", project.path().canonicalize().unwrap().display());
        assert!(setup(&project, &sandbox, 20.0).as_text().ends_with(&expected));
        fs::set_permissions(project.path().join("init.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(setup(&project, &sandbox, 20.0).as_text().ends_with(&expected));
    }

    #[test]
    fn what_it_starts_stays_and_its_failure_is_told() {
        let project = project("sleep 300 >/dev/null 2>&1 &\nexit 3\n");
        let sandbox = Sandbox::plain(Path::new("/nowhere"), &Interrupt::new());
        let result = setup(&project, &sandbox, 20.0);
        assert!(result.is_error && result.as_text().contains("failed with exit code 3 after"), "{result:?}");
        assert_eq!(sandbox.end().len(), 1);
    }

    #[test]
    fn a_script_that_never_ends_is_stopped() {
        let project = project("echo up; sleep 300\n");
        let sandbox = Sandbox::plain(Path::new("/nowhere"), &Interrupt::new());
        let result = setup(&project, &sandbox, 0.2);
        assert!(
            result.is_error && result.as_text().contains("servers in the background; it printed:\nup"),
            "{result:?}"
        );
    }

    #[test]
    fn a_long_output_is_cut_and_kept() {
        let project = project("echo first; seq 1 20000; echo last\n");
        let sandbox = Sandbox::plain(Path::new("/nowhere"), &Interrupt::new());
        let text = setup(&project, &sandbox, 20.0).as_text();
        assert!(text.contains("it printed:\nfirst\n") && text.contains("\nlast\n[the output of 108"), "{text}");
        let kept = fs::read_dir(project.path().join("artifacts")).unwrap().next().unwrap().unwrap();
        assert_eq!(fs::read_to_string(kept.path()).unwrap().lines().count(), 20_002);
    }

    #[test]
    fn a_project_without_a_script_says_so() {
        let sandbox = Sandbox::plain(Path::new("/nowhere"), &Interrupt::new());
        let (root, artifacts) = (Path::new("/"), Artifacts::new(Path::new("/nowhere"), &Secrets::default()));
        let told =
            call(&sandbox, root, None, &BTreeMap::new(), &Limits::default(), &artifacts, &json!({})).unwrap_err();
        assert!(matches!(told, ToolError::TellModel(text) if text.starts_with("there is no init script")));
    }
}
