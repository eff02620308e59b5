//! One run of a check: private folders, setup, the wait until ready, the command itself, and the end of all it started.

use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::Finding;
use crate::gate::Settings;
use crate::gate::check::Kind;
use crate::gate::verdict::Trial;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Finished;
use crate::process::Interrupt;
use crate::process::Leftovers;
use crate::sandbox;
use crate::sandbox::Sandbox;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;
use tempfile::TempDir;

/// Time between two questions whether the check's servers are up.
const READY_PAUSE: Duration = Duration::from_millis(100);

/// One question alone must not use up the time; a server may be up while a first answer hangs.
const READY_LIMIT: Duration = Duration::from_secs(5);

/// Exit codes by which a shell says that it could not execute or find a command.
const NOT_RUNNABLE: [i32; 2] = [126, 127];

/// What a run needs from the gate.
pub(in crate::gate) struct Surroundings<'a> {
    pub root: &'a Path,
    /// The project's git folder, by which what a kill leaves running is found again.
    pub owner: &'a Path,
    pub settings: &'a Settings,
    pub interrupt: &'a Interrupt,
    pub files: &'a CheckFiles,
    pub init_script: Option<&'a str>,
}

/// Runs the check on the tree as it lies there. Nothing it started is alive afterwards, and nothing of its folders.
pub(in crate::gate) fn run(check: &Check, around: &Surroundings) -> Result<Trial> {
    if check.kind == Kind::Manual {
        return Ok(Trial::refused(Finding::NotRunnable, "a manual check is for a person: use `longhaul accept`"));
    }
    let start = Instant::now();
    let folder = tempfile::Builder::new().prefix("longhaul-check-").tempdir_in(&around.settings.scratch);
    let folder =
        folder.with_context(|| format!("could not make a folder in `{}`", around.settings.scratch.display()))?;
    let run = Run { check, around, sandbox: Sandbox::plain(around.owner, around.interrupt), folder };
    run.lay_home()?;
    let mut trial = match run.get_ready()? {
        Some(refused) => refused,
        None => run.repeat()?,
    };
    run.sandbox.end();
    trial.duration = start.elapsed();
    Ok(trial)
}

struct Run<'a> {
    check: &'a Check,
    around: &'a Surroundings<'a>,
    sandbox: Sandbox,
    folder: TempDir,
}

impl Run<'_> {
    fn limit(&self) -> Duration {
        self.check.timeout.unwrap_or(self.around.settings.timeout)
    }

    fn lay_home(&self) -> Result<()> {
        let context = || format!("could not make the check's folders in `{}`", self.folder.path().display());
        sandbox::lay_home(&self.folder.path().join("home"), self.around.settings.tool_home.as_deref())
            .with_context(context)?;
        fs::create_dir(self.folder.path().join("tmp")).with_context(context)
    }

    /// Runs the setup and waits until ready; returns a result only when that failed.
    fn get_ready(&self) -> Result<Option<Trial>> {
        let setup = match (self.check.setup.as_deref(), self.around.init_script) {
            (Some("init"), None) => {
                let detail = "the check's setup is `init`, but no init script is known";
                return Ok(Some(Trial::refused(Finding::NotReady, detail)));
            }
            (Some("init"), Some(script)) => Some((script, ".")),
            (setup, _) => setup.map(|setup| (setup, self.check.cwd.as_str())),
        };
        if let Some((setup, folder)) = setup {
            let (finished, _) = self.shell(setup, folder, self.limit(), Leftovers::Keep)?;
            if finished.exit != Exit::Code(0) {
                return Ok(Some(not_ready(finished, "the check's setup failed")));
            }
        }
        self.check.ready.as_deref().map_or(Ok(None), |ready| self.wait_until(ready))
    }

    fn wait_until(&self, ready: &str) -> Result<Option<Trial>> {
        let start = Instant::now();
        loop {
            let left = self.limit().saturating_sub(start.elapsed());
            let (finished, _) = self.shell(ready, &self.check.cwd, left.min(READY_LIMIT), Leftovers::End)?;
            match finished.exit {
                Exit::Code(0) => return Ok(None),
                Exit::Code(_) | Exit::TimedOut if start.elapsed() < self.limit() => std::thread::sleep(READY_PAUSE),
                _ => return Ok(Some(not_ready(finished, "what `ready` waits for did not come in time"))),
            }
        }
    }

    /// Runs the command as often as it must pass; the first run that does not pass decides.
    fn repeat(&self) -> Result<Trial> {
        let mut passes = 0;
        loop {
            let (finished, tampered) = self.shell(&self.check.run, &self.check.cwd, self.limit(), Leftovers::End)?;
            let mut trial = judged(finished, self.check.expect.as_deref());
            if let (Finding::Passed, Some(name)) = (trial.finding, tampered) {
                trial.finding = Finding::CheckChanged;
                trial.detail = format!("`$LONGHAUL_CHECKS/{name}` was changed while the check ran");
            }
            passes += u32::from(trial.finding == Finding::Passed);
            trial.runs = passes;
            if passes == self.check.runs || trial.finding != Finding::Passed {
                return Ok(trial);
            }
        }
    }

    /// Runs one text, with a fresh copy of the check files that no command before it can have changed. Returns too the
    /// file among them that is changed afterwards.
    fn shell(
        &self,
        text: &str,
        folder: &str,
        limit: Duration,
        leftovers: Leftovers,
    ) -> Result<(Finished, Option<String>)> {
        let checks = tempfile::Builder::new().prefix("checks-").tempdir_in(self.folder.path());
        let checks = checks.context("could not make the folder of the check files")?.keep();
        self.around.files.lay(&checks)?;
        let mut env = self.around.settings.environment.clone();
        let private = |name: &str| self.folder.path().join(name).to_string_lossy().into_owned();
        env.insert("HOME".to_owned(), private("home"));
        env.insert("TMPDIR".to_owned(), private("tmp"));
        env.insert("TZ".to_owned(), "UTC".to_owned());
        env.insert("LONGHAUL_CHECKS".to_owned(), checks.to_string_lossy().into_owned());
        sandbox::mark(&mut env, self.around.owner);
        // Of several lines each must pass, as in every other place where people write such texts.
        let options = if text.trim().contains('\n') { "-ec" } else { "-c" };
        let command = Command {
            limit,
            idle: self.around.settings.idle,
            grace: self.around.settings.grace,
            keep: self.around.settings.keep,
            leftovers,
            ..Command::new("sh", &[options, text], &self.around.root.join(folder), env)
        };
        let finished = self.sandbox.run(&command);
        Ok((finished, self.around.files.first_changed(&checks)))
    }
}

/// Reads the result from how the child ended; the output can only refuse.
fn judged(finished: Finished, expect: Option<&str>) -> Trial {
    let (mut finding, mut detail) = match &finished.exit {
        Exit::Code(0) => (Finding::Passed, String::new()),
        Exit::Code(code) if NOT_RUNNABLE.contains(code) => {
            (Finding::NotRunnable, format!("exit code {code}: a command was not found or cannot be executed"))
        }
        Exit::Code(_) => (Finding::Failed, String::new()),
        Exit::Signal(_) => (Finding::Signalled, String::new()),
        Exit::TimedOut => (Finding::TimedOut, String::new()),
        Exit::Silent => (Finding::TimedOut, "it printed nothing for too long".to_owned()),
        Exit::Interrupted => (Finding::Interrupted, String::new()),
        Exit::NotStarted(reason) => (Finding::NotRunnable, reason.clone()),
    };
    if let (Finding::Passed, Some(expect)) = (finding, expect.filter(|expect| !finished.output.text().contains(expect)))
    {
        let kept = match finished.output.left_out() {
            0 => "the output".to_owned(),
            left_out => format!("head and tail of the output, without the {left_out} bytes between them,"),
        };
        (finding, detail) = (Finding::Failed, format!("exit code 0, but {kept} does not hold `{expect}`"));
    }
    ended(finished, finding, detail)
}

fn not_ready(finished: Finished, detail: &str) -> Trial {
    match finished.exit {
        Exit::Interrupted => ended(finished, Finding::Interrupted, String::new()),
        _ => ended(finished, Finding::NotReady, detail.to_owned()),
    }
}

fn ended(finished: Finished, finding: Finding, detail: String) -> Trial {
    Trial { exit: Some(finished.exit), output: Some(finished.output), ..Trial::refused(finding, detail) }
}

impl CheckFiles {
    /// Writes the files below `folder`, readable and executable.
    fn lay(&self, folder: &Path) -> Result<()> {
        for (name, bytes) in &self.0 {
            let path = folder.join(name);
            let context = || format!("could not lay out the check file `{name}`");
            fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(context)?;
            fs::write(&path, bytes).with_context(context)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).with_context(context)?;
        }
        Ok(())
    }

    fn first_changed(&self, folder: &Path) -> Option<String> {
        let differs = |(name, bytes): &&(String, Vec<u8>)| fs::read(folder.join(name)).ok().as_ref() != Some(bytes);
        self.0.iter().find(differs).map(|(name, _)| name.clone())
    }
}
