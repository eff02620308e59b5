//! One run of a check: private folders, setup, the wait until ready, the command itself, and the end of all it started.

mod planted;

use crate::clock::deadline;
use crate::clock::duration;
use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::Finding;
use crate::gate::Rules;
use crate::gate::Settings;
use crate::gate::closure::texts;
use crate::gate::executed;
use crate::gate::executed::Deciding;
use crate::gate::held::Held;
use crate::gate::held::Marks;
use crate::gate::held::where_it_has_to;
use crate::gate::shell::Shell;
use crate::gate::stage::host_environment;
use crate::gate::verdict::Trial;
use crate::gate::verdict::Unprepared;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Finished;
use crate::process::Interrupt;
use crate::process::Leftovers;
use crate::process::Survivor;
use crate::project::Project;
use crate::sandbox;
use crate::sandbox::Git;
use crate::sandbox::Level;
use crate::sandbox::Network;
use crate::sandbox::Room;
use crate::sandbox::Sandbox;
use crate::sandbox::network_wanted;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;
use tempfile::TempDir;

/// Time between two questions whether the check's servers are up.
const READY_PAUSE: Duration = Duration::from_millis(100);

/// One question alone must not use up the time; a server may be up while a first answer hangs.
const READY_LIMIT: Duration = Duration::from_secs(5);

/// Exit codes by which a shell says that it could not execute or find a command.
const NOT_RUNNABLE: [i32; 2] = [126, 127];

/// By which a shell says that a part of a pipeline wrote to one that had gone.
const BROKEN_PIPE: i32 = 141;

const READER_GONE: &str = "a command wrote to the next one in its pipeline after that had ended, as `head` does, and \
    `grep -q` at the first match; every part of a pipeline must pass: let the next one read to the end, as `sed -n 1p` and \
    `grep … > /dev/null` do";

/// The folder of the check files inside a run's own.
const CHECKS: &str = "checks";

/// Why a check did not come to its end by itself.
pub(in crate::gate) const NO_TIME: &str = "a budget of time was used up before it had ended";

/// Longest time that installing what a project needs may take.
const PREPARE_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Whether a command installs what the project needs, or uses what is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Install,
    Check,
}

/// What a run needs from the gate.
pub(in crate::gate) struct Surroundings<'a> {
    /// The tree that is tested; a folder of the disk, which may be another than the project's.
    pub folder: &'a Path,
    /// The git folder of such a tree.
    pub git_dir: Option<PathBuf>,
    /// The objects that this names.
    pub objects: Option<PathBuf>,
    pub project: &'a Project,
    pub settings: &'a Settings,
    pub interrupt: &'a Interrupt,
    pub files: &'a CheckFiles,
    pub init_script: Option<&'a str>,
    /// Path of that script.
    pub init_path: Option<&'a str>,
    /// Nothing runs on after this moment.
    pub deadline: Option<Instant>,
}

/// Runs the check, until it passed `runs` times. Nothing it started is alive afterwards, and nothing of its folders.
pub(in crate::gate) fn run(check: &Check, runs: u32, around: &Surroundings) -> Result<Trial> {
    let start = Instant::now();
    let limit = check.timeout.unwrap_or(around.settings.timeout);
    let held = Held::of(check, around.files, around.init_script, around.folder);
    let run = Run::open(around, limit, Phase::Check, check.network, held)?;
    let mut trial = match run.get_ready(check)? {
        Some(refused) => refused,
        None => run.repeat(check, runs)?,
    };
    run.tell_wanted_network(&mut trial, "`\"network\": true` in the check gives it one");
    run.tell_hidden_program(&mut trial);
    run.tell_held_file(&mut trial);
    run.tell_cut(&mut trial);
    let survivors = run.sandbox.end();
    // What a setup started was meant to stay until now.
    if check.setup.is_none() && !survivors.is_empty() {
        let named: Vec<String> = survivors.iter().map(Survivor::to_string).collect();
        trial.add(&format!("left running by the check, and ended: {}", named.join(", ")));
    }
    trial.duration = start.elapsed();
    Ok(trial)
}

/// Installs what the project needs by this text for `sh`; returns a result only when that failed, as `failed` says.
pub(in crate::gate) fn prepare(text: &str, failed: &str, around: &Surroundings) -> Result<Option<Trial>> {
    let run = Run::open(around, PREPARE_LIMIT, Phase::Install, true, Held::default())?;
    let (finished, _) = run.shell((text, Rules::First), ".", None, PREPARE_LIMIT, Leftovers::End)?;
    run.sandbox.end();
    let duration = finished.duration;
    let is_red = finished.exit != Exit::Code(0);
    Ok(is_red.then(|| {
        let mut trial = Trial { duration, unprepared: Some(Unprepared::Install), ..not_ready(finished, failed) };
        run.tell_wanted_network(&mut trial, "`sandbox.network` must not be `off` for it");
        run.tell_hidden_program(&mut trial);
        run.tell_cut(&mut trial);
        trial
    }))
}

struct Run<'a> {
    around: &'a Surroundings<'a>,
    limit: Duration,
    phase: Phase,
    sandbox: Sandbox,
    folder: TempDir,
    held: Held,
}

impl<'a> Run<'a> {
    /// Opens the sandbox in which everything of one run happens: the only place where the gate does so.
    fn open(
        around: &'a Surroundings<'a>,
        limit: Duration,
        phase: Phase,
        wants_network: bool,
        held: Held,
    ) -> Result<Self> {
        let (settings, scratch) = (&around.settings.sandbox, &around.settings.scratch);
        let folder = around.project.scratch_folder(scratch, "check")?;
        lay_folders(folder.path(), around)?;
        let room = Room {
            root: around.project.root().to_owned(),
            folder: around.folder.to_owned(),
            common_dir: around.project.common_dir().to_owned(),
            git: Git::ReadOnly,
            shown: vec![folder.path().join(CHECKS)],
            writable: around.git_dir.iter().cloned().collect(),
            objects: around.objects.clone(),
            held: held.files.clone(),
            network: if wants_network { settings.setup() } else { settings.commands() },
        };
        let sandbox = Sandbox::open(settings, room, around.interrupt)?;
        Ok(Self { around, limit, phase, sandbox, folder, held })
    }

    /// Says of a result that it seems to be for want of the network, which its commands do not have.
    fn tell_wanted_network(&self, trial: &mut Trial, way_out: &str) {
        let said = trial.output.as_ref().is_some_and(|output| network_wanted(&output.text()));
        if said && trial.finding != Finding::Passed && self.sandbox.network() == Network::Off {
            trial.add(&format!("it seems to want the network, which it does not have here: {way_out}"));
        }
    }

    /// Says of a program that was not found that the sandbox does not show it.
    fn tell_hidden_program(&self, trial: &mut Trial) {
        let not_found = matches!(&trial.exit, Some(Exit::Code(code)) if NOT_RUNNABLE.contains(code));
        if self.sandbox.level() == Level::Plain || !not_found {
            return;
        }
        let said = trial.output.as_ref().map(|output| output.text()).unwrap_or_default();
        if let Some(hidden) = sandbox::hidden_in(&self.around.settings.sandbox, &said) {
            trial.add(&format!("the program {}: {}", hidden.reason(), hidden.way_out()));
        }
    }

    /// Says of a file that the check could not write that it is held.
    fn tell_held_file(&self, trial: &mut Trial) {
        let said = trial.output.as_ref().map(|output| output.text()).unwrap_or_default();
        let told = self.held.told_of_writing(&said).filter(|_| trial.finding != Finding::Passed);
        if let Some(told) = told.filter(|_| self.sandbox.level() == Level::Bubblewrap) {
            trial.add(&told);
        }
    }

    /// Says of what the time ended, and not a limit of its own, that it did.
    fn tell_cut(&self, trial: &mut Trial) {
        let by_limit = trial.exit == Some(Exit::TimedOut) || trial.finding == Finding::NotReady;
        // The last question whether it is up comes a pause before the end.
        let end = self.around.deadline.and_then(|deadline| deadline.checked_sub(READY_PAUSE));
        if by_limit && deadline::is_over(end) {
            (trial.finding, trial.unprepared, trial.limit) = (Finding::OutOfTime, None, None);
            trial.detail = NO_TIME.to_owned();
        }
    }

    /// Returns where commands find the tree.
    fn tree(&self) -> &Path {
        match self.sandbox.level() {
            Level::Bubblewrap => self.around.project.root(),
            Level::Plain => self.around.folder,
        }
    }

    /// Returns the private home and the private folder for temporary files, as commands see them.
    fn private(&self) -> [PathBuf; 2] {
        match self.sandbox.level() {
            // There they are empty in themselves.
            Level::Bubblewrap => {
                let tmp = PathBuf::from("/tmp");
                [self.around.settings.sandbox.home.clone().unwrap_or_else(|| tmp.clone()), tmp]
            }
            Level::Plain => ["home", "tmp"].map(|name| self.folder.path().join(name)),
        }
    }

    /// Returns the folder of the check files for the next command. Where it could be written, that is a fresh one, which
    /// no command before can have changed.
    fn checks(&self) -> Result<PathBuf> {
        if self.sandbox.level() == Level::Bubblewrap {
            return Ok(self.folder.path().join(CHECKS));
        }
        let checks = tempfile::Builder::new().prefix("checks-").tempdir_in(self.folder.path());
        let checks = checks.context("could not make the folder of the check files")?.keep();
        self.around.files.lay(&checks)?;
        Ok(checks)
    }

    /// Runs the setup and waits until ready; returns a result only when that failed.
    fn get_ready(&self, check: &Check) -> Result<Option<Trial>> {
        let setup = match (check.setup.as_deref(), self.around.init_script) {
            (Some("init"), None) => {
                let detail = "the check's setup is `init`, but no init script is known: name one in memory's `init.md`";
                return Ok(Some(Trial::refused(Finding::NotReady, detail)));
            }
            (Some("init"), Some(script)) => Some((script, ".")),
            (setup, _) => setup.map(|setup| (setup, check.cwd.as_str())),
        };
        if let Some((setup, folder)) = setup {
            let name = check.setup.as_deref().map_or("", first_line);
            let (finished, _) = self.shell((setup, Rules::First), folder, None, self.limit, Leftovers::Keep)?;
            if finished.exit != Exit::Code(0) {
                let failed = not_ready(finished, &format!("the check's setup `{name}` failed"));
                return Ok(Some(Trial { unprepared: Some(Unprepared::Setup), ..failed }));
            }
        }
        check.ready.as_deref().map_or(Ok(None), |ready| self.wait_until(ready, check))
    }

    fn wait_until(&self, ready: &str, check: &Check) -> Result<Option<Trial>> {
        let (start, limit) = (Instant::now(), deadline::within(self.around.deadline, self.limit));
        loop {
            let left = limit.saturating_sub(start.elapsed()).min(READY_LIMIT);
            let (finished, _) = self.shell((ready, Rules::First), &check.cwd, None, left, Leftovers::End)?;
            match finished.exit {
                Exit::Code(0) => return Ok(None),
                Exit::Code(_) | Exit::TimedOut if start.elapsed() + READY_PAUSE < limit => {
                    std::thread::sleep(READY_PAUSE);
                }
                _ => return Ok(Some(not_ready(finished, &never_came(ready, check, self.limit)))),
            }
        }
    }

    /// Runs the command as often as it must pass; the first run that does not pass decides.
    fn repeat(&self, check: &Check, runs: u32) -> Result<Trial> {
        let (mut passes, expect) = (0, check.expect.as_deref());
        let deciding = Deciding::of(check, self.around.files, self.around.folder, self.around.project.root());
        let chooses = check.rules == Rules::Now && !executed::choices(&texts(check, self.around.files)).is_empty();
        let (marks, before) = (self.held.marks(self.around.folder), self.survey()?);
        loop {
            let (finished, tampered) =
                self.shell((&check.run, check.rules), &check.cwd, expect, self.limit, Leftovers::End)?;
            let mut trial = judged(finished, expect, &deciding);
            let said = trial.output.as_ref().filter(|_| chooses).map(|output| output.text());
            trial.chose_none = said.is_some_and(|said| executed::found_none(trial.finding, &said));
            trial.limit = Some(self.limit).filter(|_| trial.exit == Some(Exit::TimedOut));
            if let (Some(Exit::Silent), Some(idle)) = (&trial.exit, self.around.settings.idle) {
                trial.detail = format!("it printed nothing for {}, the limit in `gate.idle`", duration::spell(idle));
            }
            if let (Finding::Passed, Some(name)) = (trial.finding, tampered) {
                trial.finding = Finding::CheckChanged;
                trial.detail = format!("`$LONGHAUL_CHECKS/{name}` was changed while the check ran");
            }
            if let (Finding::Passed, Some(path)) = (trial.finding, marks.touched()) {
                trial.finding = Finding::TreeMoved;
                let way_out = where_it_has_to(&path);
                trial.detail =
                    format!("`{path}`, which decides, was written, moved or replaced while the check ran; {way_out}");
            }
            trial.flipped = passes > 0 && trial.finding != Finding::Passed && trial.finding.is_result();
            passes += u32::from(trial.finding == Finding::Passed);
            trial.runs = passes;
            if passes >= runs || trial.finding != Finding::Passed {
                self.tell_planted(&mut trial, &before, check)?;
                return Ok(trial);
            }
        }
    }

    /// Runs one text; returns too the file among the check files that is changed afterwards.
    fn shell(
        &self,
        (text, rules): (&str, Rules),
        folder: &str,
        needle: Option<&str>,
        limit: Duration,
        leftovers: Leftovers,
    ) -> Result<(Finished, Option<String>)> {
        let checks = self.checks()?;
        let mut env = self.around.settings.environment.clone();
        let [home, tmp] = self.private();
        for (name, folder) in [("HOME", &home), ("TMPDIR", &tmp), ("LONGHAUL_CHECKS", &checks)] {
            env.insert(name.to_owned(), folder.to_string_lossy().into_owned());
        }
        env.insert("TZ".to_owned(), "UTC".to_owned());
        // Compiled files that somebody committed would differ after every run.
        env.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
        sandbox::mark(&mut env, self.around.project.common_dir());
        if self.phase == Phase::Install {
            env.insert("LONGHAUL_PHASE".to_owned(), "install".to_owned());
        }
        let shell = Shell::of(text, rules, &host_environment(self.around.settings, self.around.project));
        let command = Command {
            args: shell.args.iter().map(Into::into).collect(),
            limit: deadline::within(self.around.deadline, limit),
            idle: self.around.settings.idle,
            grace: self.around.settings.grace,
            keep: self.around.settings.keep,
            leftovers,
            needle: needle.map(str::to_owned),
            ..Command::new(shell.program, &[], &self.tree().join(folder), env)
        };
        let marks = Marks::of(&checks, &self.held.of_memory);
        let finished = self.sandbox.run(&command);
        Ok((finished, self.around.files.first_changed(&checks).or_else(|| marks.touched())))
    }
}

/// Lays out the home, the temporary folder and the check files of one run.
fn lay_folders(folder: &Path, around: &Surroundings) -> Result<()> {
    let context = || format!("could not make the check's folders in `{}`", folder.display());
    let checks = folder.join(CHECKS);
    fs::create_dir(&checks).with_context(context)?;
    around.files.lay(&checks)?;
    sandbox::lay_home(&folder.join("home"), around.settings.tool_home.as_deref()).with_context(context)?;
    fs::create_dir(folder.join("tmp")).with_context(context)
}

/// Reads the result from how the child ended; the output can only refuse.
fn judged(finished: Finished, expect: Option<&str>, deciding: &Deciding) -> Trial {
    let (mut finding, mut detail) = match &finished.exit {
        Exit::Code(0) => (Finding::Passed, String::new()),
        Exit::Code(code) if NOT_RUNNABLE.contains(code) => {
            (Finding::NotRunnable, format!("exit code {code}: a command was not found or cannot be executed"))
        }
        Exit::Code(BROKEN_PIPE) => (Finding::Failed, format!("exit code {BROKEN_PIPE}: {READER_GONE}")),
        Exit::Code(_) => (Finding::Failed, String::new()),
        Exit::Signal(_) => (Finding::Signalled, String::new()),
        Exit::TimedOut => (Finding::TimedOut, String::new()),
        Exit::Silent => (Finding::TimedOut, "it printed nothing for too long".to_owned()),
        Exit::Interrupted => (Finding::Interrupted, String::new()),
        Exit::NotStarted(reason) => (Finding::NotRunnable, reason.clone()),
    };
    if let (Finding::Passed, Some(expect)) = (finding, expect.filter(|_| !finished.output.found)) {
        (finding, detail) = (Finding::Failed, format!("exit code 0, but the output does not hold `{expect}`"));
    }
    if let (Finding::Passed, Some(reason)) = (finding, deciding.nothing(&finished.output.text())) {
        (finding, detail) = (Finding::NothingExecuted, format!("exit code 0, but {reason}"));
    }
    if let (Finding::Passed, Some(reason)) = (finding, deciding.unfinished(&finished.output)) {
        (finding, detail) = (Finding::Failed, format!("exit code 0, but {reason}"));
    }
    let skips = deciding.skips(&finished.output.text());
    let count = deciding.ended(&finished.output);
    Trial { skips, ended: count, ..ended(finished, finding, detail) }
}

/// Shortens a text for `sh` to what names it.
pub fn first_line(text: &str) -> &str {
    let line = text.trim().lines().next().unwrap_or_default();
    line.char_indices().nth(120).map_or(line, |(end, _)| &line[..end])
}

/// Says what was waited for in vain, and who has to bring it.
fn never_came(ready: &str, check: &Check, limit: Duration) -> String {
    let way_out = match check.setup {
        Some(_) => "its `setup` has to start it and leave it running",
        None => "it has no `setup` that would start it",
    };
    let limit = duration::spell(limit);
    format!("what `ready` asks for did not come within {limit}, the check's limit; {way_out}: `{}`", first_line(ready))
}

fn not_ready(finished: Finished, detail: &str) -> Trial {
    let detail = format!("{detail}: {}", finished.exit);
    match finished.exit {
        Exit::Interrupted => ended(finished, Finding::Interrupted, String::new()),
        _ => ended(finished, Finding::NotReady, detail),
    }
}

fn ended(finished: Finished, finding: Finding, detail: String) -> Trial {
    Trial { exit: Some(finished.exit), output: Some(finished.output), ..Trial::refused(finding, detail) }
}
