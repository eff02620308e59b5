//! The `bash` tool: each call a fresh process, the working directory kept, the output bounded.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;

use crate::clock::deadline;
use crate::message::ToolResult;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Finished;
use crate::process::LONGEST_ARGUMENT;
use crate::process::Leftovers;
use crate::process::Survivor;
use crate::sandbox::Network;
use crate::sandbox::Sandbox;
use crate::sandbox::network_wanted;
use crate::sandbox::network_wanted_within;
use crate::tools::artifacts::Artifacts;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// Characters of a result left for what is told beside the output: exit, directory, findings in memory.
const ROOM_FOR_NOTES: usize = 4_000;
/// Bytes kept at each end of an output for its file: practically every output whole, and no way to fill the disk.
const KEEP: usize = 4 * 1024 * 1024;

/// Bytes of a command: as one argument of the shell's, behind a trap of ours that holds a path.
const LONGEST: usize = LONGEST_ARGUMENT - 16 * 1024;

/// Bytes of the longest path of a directory.
const LONGEST_PATH: u64 = 64 * 1024;

/// Background processes that are named.
const JOBS: usize = 10;

/// Characters of a result that go into any window: a page of a file or a note, which is cut in a better way.
const LEAST_SHOWN: usize = 17_000;

/// Limits of the agent's commands.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long a command may take.
    pub usual: Duration,
    /// How long it may take when it asks for more.
    pub most: Duration,
    /// How long the init script may take where it starts what a session needs.
    pub init: Duration,
    /// Nothing runs on after this moment, at which a budget of time is used up.
    pub deadline: Option<Instant>,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// Characters of a result.
    pub shown: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        let (usual, most) = (seconds(120), seconds(600));
        Self { usual, most, init: usual, deadline: None, grace: seconds(1), shown: 30_000 }
    }
}

impl Limits {
    /// Returns the characters of a result that may go to a model with a window of so many tokens, 0 being unknown: a tenth of
    /// a small one, since some results have to fit in beside each other.
    pub fn shown_in(window: u64) -> usize {
        let most = Self::default().shown;
        let tenth = usize::try_from(window).unwrap_or(most).saturating_mul(35) / 100;
        if window == 0 { most } else { tenth.clamp(LEAST_SHOWN, most) }
    }

    /// Cuts a limit to what is left of the time.
    pub fn within(&self, limit: Duration) -> Duration {
        deadline::within(self.deadline, limit)
    }

    /// Tells whether the time is used up.
    pub(super) fn is_over(&self) -> bool {
        deadline::is_over(self.deadline)
    }
}

/// Runs the agent's commands.
pub(super) struct Shell<'a> {
    sandbox: &'a Sandbox,
    program: &'static str,
    root: PathBuf,
    dir: PathBuf,
    environment: BTreeMap<String, String>,
    limits: Limits,
    artifacts: Artifacts,
    /// The file into which each command tells its last directory.
    told: PathBuf,
}

impl<'a> Shell<'a> {
    /// Opens a shell that starts at `root` and keeps large outputs as `artifacts`; `desk` is for its own files.
    pub(super) fn new(
        sandbox: &'a Sandbox,
        root: &Path,
        environment: BTreeMap<String, String>,
        limits: Limits,
        artifacts: &Artifacts,
        desk: &Path,
    ) -> Self {
        let program = if has_bash(&environment) { "bash" } else { "sh" };
        let (dir, root, artifacts) = (root.to_owned(), root.to_owned(), artifacts.clone());
        Self { sandbox, program, root, dir, environment, limits, artifacts, told: desk.join("directory") }
    }

    /// Answers one call.
    pub(super) fn call(&mut self, input: &Value) -> Result<ToolResult, ToolError> {
        let input = Input::new(input, &["command", "restart", "timeout"])?;
        let command = input.text_if_given("command")?;
        match (input.flag("restart")?, command) {
            (true, None) => Ok(self.restart()),
            (true, Some(_)) => {
                Err(tell("`restart` and `command` are both given: send `restart` alone, then the command"))
            }
            (false, None) => Err(tell("`command` is missing: give it as a text, or `restart` as true")),
            (false, Some(command)) => {
                let limit = self.limits.within(self.limit(input.number_if_given("timeout")?)?);
                self.run(command, limit)
            }
        }
    }

    /// Ends everything that runs in the background and says how much that was.
    pub(super) fn end_jobs(&mut self) -> Vec<Survivor> {
        self.sandbox.end()
    }

    /// Tells whether what runs in the background is reached by a check, too.
    pub(super) fn is_reached_from_outside(&self) -> bool {
        self.sandbox.network() == Network::On
    }

    fn restart(&mut self) -> ToolResult {
        let ended = self.end_jobs();
        self.dir.clone_from(&self.root);
        ToolResult::text(format!(
            "restarted: {}; the working directory is `{}`",
            jobs_ended(&ended),
            self.root.display()
        ))
    }

    fn limit(&self, asked: Option<f64>) -> Result<Duration, ToolError> {
        let Some(seconds) = asked else { return Ok(self.limits.usual) };
        let most = self.limits.most;
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        if limit.is_zero() || limit > most {
            return Err(tell(format!(
                "`timeout` is {seconds}: it must be above 0 and at most {} seconds; start what takes longer \
                 with `&` and its output sent to a file",
                most.as_secs()
            )));
        }
        Ok(limit)
    }

    fn run(&mut self, text: &str, limit: Duration) -> Result<ToolResult, ToolError> {
        if text.contains('\0') {
            return Err(tell("`command` holds a NUL character: send it without"));
        }
        if text.len() > LONGEST {
            return Err(tell(format!(
                "`command` has {} bytes, and at most {LONGEST} can be run: write what is long into files with \
                 `str_replace_based_edit_tool`, then run a short command on them",
                text.len()
            )));
        }
        let mut notes = Vec::new();
        self.leave_a_folder_that_is_gone(&mut notes);
        let finished = self.sandbox.run(&self.command(text, limit));
        notes.push(exit_told(&finished.exit, limit, self.limits.is_over()));
        notes.extend(network_hint(self.sandbox, &finished));
        self.follow(&mut notes);
        self.leave_a_folder_that_is_gone(&mut notes);
        let output = self.output(&finished, &mut notes)?;
        let is_error = !matches!(finished.exit, Exit::Code(_));
        let joint = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
        let notes: Vec<String> = notes.iter().map(|note| format!("[{note}]")).collect();
        Ok(ToolResult { content: Value::String(format!("{output}{joint}{}", notes.join("\n"))), is_error })
    }

    fn command(&self, text: &str, limit: Duration) -> Command {
        // The trap tells the directory also after `exit`, and the shell's own builtin is meant, whatever the command
        // defines or forbids. A command with a trap of its own stays where it was.
        fs::remove_file(&self.told).ok();
        let tell = format!("command pwd -P >| {} 2>/dev/null || :", quoted(&self.told.to_string_lossy()));
        let text = format!("trap {} EXIT\n{text}", quoted(&tell));
        let mut command = Command::new(self.program, &["-c", &text], &self.dir, self.environment.clone()).limit(limit);
        command.grace = self.limits.grace;
        command.keep = KEEP;
        command.leftovers = Leftovers::Keep;
        command
    }

    /// Takes over the directory the command ended in.
    fn follow(&mut self, notes: &mut Vec<String>) {
        let Some(told) = read_told(&self.told) else { return };
        let dir = PathBuf::from(told.strip_suffix('\n').unwrap_or(&told));
        if told.is_empty() {
            notes.push(format!("the directory the command ended in is gone; back in `{}`", self.dir.display()));
        }
        if dir.is_absolute() && dir != self.dir {
            notes.push(format!("working directory: {}", dir.display()));
            self.dir = dir;
        }
    }

    fn leave_a_folder_that_is_gone(&mut self, notes: &mut Vec<String>) {
        if self.dir != self.root && !self.is_there(&self.dir) {
            notes.push(format!("`{}` is gone; back in `{}`", self.dir.display(), self.root.display()));
            self.dir.clone_from(&self.root);
        }
    }

    /// Tells whether commands find this folder; in a sandbox, folders such as `/tmp` are others than ours.
    fn is_there(&self, dir: &Path) -> bool {
        match self.sandbox.own_program() {
            None => dir.is_dir(),
            Some(_) => {
                let look = Command::new("true", &[], dir, self.environment.clone());
                self.sandbox.run(&look).exit == Exit::Code(0)
            }
        }
    }

    fn output(&self, finished: &Finished, notes: &mut Vec<String>) -> Result<String, ToolError> {
        let output = &finished.output;
        let shown = self.artifacts.show_output(output, self.limits.shown.saturating_sub(ROOM_FOR_NOTES))?;
        if shown.text.contains('\u{fffd}') && std::str::from_utf8(&output.kept()).is_err() {
            notes.push("bytes that are not UTF-8 were replaced".to_owned());
        }
        notes.extend(shown.rest);
        Ok(shown.text)
    }
}

/// Says that a command seems to want the network, which it cannot have here.
fn network_hint(sandbox: &Sandbox, finished: &Finished) -> Option<String> {
    if sandbox.network() != Network::Off {
        return None;
    }
    let said = if finished.exit == Exit::Code(0) { network_wanted_within } else { network_wanted };
    said(&finished.output.text()).then(|| {
        "commands have no network here: `sandbox.network` is for the user to set; what the project needs is installed \
         by its init script when `LONGHAUL_PHASE` is `install`"
            .to_owned()
    })
}

/// Says the same below another text, or nothing.
pub(super) fn network_told(sandbox: &Sandbox, finished: &Finished) -> String {
    network_hint(sandbox, finished).map_or_else(String::new, |hint| format!("\n[{hint}]"))
}

/// Reads what a command told, which may have put anything in the file's place.
fn read_told(path: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut told = String::new();
    file.take(LONGEST_PATH).read_to_string(&mut told).ok()?;
    Some(told)
}

/// Says which background processes were ended.
pub(super) fn jobs_ended(ended: &[Survivor]) -> String {
    match ended {
        [] => "nothing was running in the background".to_owned(),
        ended => {
            let named: Vec<String> = ended.iter().take(JOBS).map(Survivor::to_string).collect();
            let more = ended.len().saturating_sub(JOBS);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("ended in the background: {}{more}", named.join(", "))
        }
    }
}

fn exit_told(exit: &Exit, limit: Duration, is_over: bool) -> String {
    match exit {
        Exit::Code(code) => format!("exit code {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
        Exit::TimedOut if is_over => "stopped, since a budget of time was used up".to_owned(),
        Exit::TimedOut => format!(
            "stopped after its limit of {} s; give `timeout` in seconds if it needs more, or start it with `&` \
             and its output sent to a file",
            limit.as_secs_f64()
        ),
        Exit::Silent | Exit::Interrupted => exit.to_string(),
        Exit::NotStarted(reason) => format!("not started: {reason}"),
    }
}

fn has_bash(environment: &BTreeMap<String, String>) -> bool {
    let path = environment.get("PATH").map(String::as_str).unwrap_or_default();
    path.split(':').any(|folder| Path::new(folder).join("bash").is_file())
}

/// Spells a text as one word of the shell.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
