//! The init script, run before a session and by the `setup` tool.

mod flaw;

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
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
use crate::tools::setup::flaw::Flaw;

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
    let run = run_init(sandbox, root, script, Phase::Start, environment, (limits.init, limits));
    let text = format!("{}{}", run.told(artifacts)?, network_told(sandbox, &run.finished));
    Ok(if run.is_well() { ToolResult::text(text) } else { ToolResult::error(text) })
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

/// Runs the init script `script` of the project at `root`, within `limit` and what `limits` leave; what it starts stays alive
/// in `sandbox`.
pub fn run_init(
    sandbox: &Sandbox,
    root: &Path,
    script: &str,
    phase: Phase,
    environment: &BTreeMap<String, String>,
    (limit, limits): (Duration, &Limits),
) -> InitRun {
    let command = Command::shell(&init_command(script, phase), root, environment.clone());
    let mut command = command.limit(limits.within(limit));
    command.leftovers = Leftovers::Keep;
    // As it was when it was run.
    let (runner, flaw) = (Runner::of(&root.join(script)), Flaw::of(&root.join(script)));
    let finished = sandbox.run(&command);
    let cut = finished.exit == Exit::TimedOut && limits.is_over();
    InitRun { script: script.to_owned(), runner, flaw, finished, end: if cut { End::OfTime } else { End::ItsOwn } }
}

/// What runs the init script.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Runner {
    /// Its own first line, or `sh` where there is none.
    Itself,
    /// `sh`, whatever its first line says, since nobody made it executable.
    Shell,
}

impl Runner {
    fn of(script: &Path) -> Self {
        let file = script.metadata().ok().filter(Metadata::is_file);
        match file.is_some_and(|file| file.permissions().mode() & 0o111 == 0) {
            true => Self::Shell,
            false => Self::Itself,
        }
    }
}

/// What ended a run of the init script.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// It did so itself, or its limit did.
    ItsOwn,
    /// A budget of time was used up.
    OfTime,
}

/// One run of the init script.
pub struct InitRun {
    script: String,
    runner: Runner,
    flaw: Option<Flaw>,
    finished: Finished,
    end: End,
}

impl InitRun {
    /// Tells whether it ended well.
    pub fn is_well(&self) -> bool {
        self.finished.exit == Exit::Code(0)
    }

    /// Says how it ended, with what it printed; all of a long output is kept as an artifact.
    pub fn told(&self, artifacts: &Artifacts) -> Result<String> {
        let seconds = self.finished.duration.as_secs_f64();
        let how = match (&self.finished.exit, self.end) {
            (Exit::Code(0), _) => format!("ended well after {seconds:.1} s"),
            (Exit::Code(code), _) => format!("failed with exit code {code} after {seconds:.1} s"),
            (Exit::Signal(signal), _) => format!("was ended by signal {signal} after {seconds:.1} s"),
            (Exit::TimedOut, End::OfTime) => {
                format!("was stopped after {seconds:.1} s, since a budget of time was used up")
            }
            (Exit::TimedOut, End::ItsOwn) => format!(
                "was stopped by its limit, after {seconds:.1} s; it must end by itself, servers in the background"
            ),
            (Exit::Silent | Exit::Interrupted, _) => format!("was stopped: {}", self.finished.exit),
            (Exit::NotStarted(reason), _) => format!("could not start: {reason}"),
        };
        let output = artifacts.show_output(&self.finished.output, SHOWN)?.joined();
        let output = output.trim_end_matches('\n');
        let output = if output.is_empty() { "it printed nothing".to_owned() } else { format!("it printed:\n{output}") };
        let odd = self.odd().map_or_else(String::new, |odd| format!("{odd}; "));
        Ok(format!("the init script `{}` {how}; {odd}{output}", self.script))
    }

    /// Says how it ended in few words, for `init.md`.
    pub fn ended(&self) -> String {
        let seconds = self.finished.duration.as_secs_f64();
        match self.end {
            End::OfTime => format!("cut by a budget of time after {seconds:.1} s"),
            End::ItsOwn => format!("{} after {seconds:.1} s", self.finished.exit),
        }
    }

    /// Says what about the script may be why it does not do what it is for, and how to mend that.
    pub fn odd(&self) -> Option<String> {
        let name = quoted(&self.script);
        let not_executable = (self.runner == Runner::Shell).then(|| {
            format!(
                "it is not executable, so `sh` runs it, whatever its first line says: `chmod +x {name}`, then \
                 `git update-index --chmod=+x {name}` and a commit"
            )
        });
        // With such lines some scripts still run.
        let flaw = self.flaw.filter(|flaw| *flaw == Flaw::Asks || !self.is_well());
        let odd: Vec<String> = not_executable.into_iter().chain(flaw.map(|flaw| flaw.told().to_owned())).collect();
        (!odd.is_empty()).then(|| odd.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use crate::secrets::Secrets;
    use std::fs;

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
        let told = setup(&project, &sandbox, 20.0).as_text();
        assert!(told.ends_with(&expected) && told.contains("; it is not executable, so `sh` runs it"), "{told}");
        assert!(
            told.contains(
                "`chmod +x 'init.sh'`, then `git update-index --chmod=+x 'init.sh'` and a commit; it printed"
            )
        );
        fs::set_permissions(project.path().join("init.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let told = setup(&project, &sandbox, 20.0).as_text();
        assert!(told.ends_with(&expected) && !told.contains("not executable"), "{told}");
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
    fn what_is_often_why_it_fails_is_told() {
        let sandbox = Sandbox::plain(Path::new("/nowhere"), &Interrupt::new());
        let told = |script: &str| {
            let project = project(script);
            fs::set_permissions(project.path().join("init.sh"), fs::Permissions::from_mode(0o755)).unwrap();
            setup(&project, &sandbox, 20.0).as_text()
        };
        let asked = told("#!/bin/sh\nset -e\nread -r name\necho \"$name\"\n");
        assert!(asked.contains("; it asks for input, and gets none: "), "{asked}");
        let ends = told("#!/bin/sh\r\necho up\r\n");
        assert!(ends.contains("; its lines end with CR and LF, "), "{ends}");
        let well = told("#!/bin/sh\nprintf 'Port: '; read port\nexit 0\n");
        assert!(well.contains("ended well") && well.contains("; it asks for input, and gets none: "), "{well}");
        for other in ["#!/bin/sh\nexit 3\n", "#!/bin/sh\nread -r name </etc/hostname\n"] {
            let told = told(other);
            assert!(!told.contains("it asks for input") && !told.contains("its lines end"), "{told}");
        }
    }

    #[test]
    fn a_script_that_never_ends_is_stopped() {
        let project = project("echo up; sleep 300\n");
        let sandbox = Sandbox::plain(Path::new("/nowhere"), &Interrupt::new());
        let result = setup(&project, &sandbox, 0.2);
        let told = result.as_text();
        assert!(result.is_error && told.contains("servers in the background; "), "{told}");
        assert!(told.ends_with("; it printed:\nup"), "{told}");
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
