//! Children: own process group, given environment, bounded time and bounded output.
//!
//! Every command longhaul starts goes through [`run`]. It waits on the child's exit and not on the end of its output,
//! since a grandchild may hold the pipe for hours. Who gets which environment is decided above.

mod attend;
mod children;
mod foreground;
mod group;
mod interrupt;
mod lasting;
mod output;
mod own;
mod pager;
mod program;
mod running;
mod survivors;
mod table;

pub use attend::Ended;
pub use attend::Streams;
pub use attend::attend;
pub use children::adopt_orphans;
pub use children::adopts;
pub use foreground::run_on_terminal;
pub use group::end_groups;
pub use group::kill_all_others;
pub use group::lives as group_lives;
pub use interrupt::Happening;
pub use interrupt::Happenings;
pub use interrupt::Interrupt;
pub use lasting::Lasting;
pub use output::Output;
pub use own::give_way;
pub use own::keep_descriptors;
pub use own::keep_to_itself;
pub use pager::Pager;
pub use program::find_program;
pub use program::path_outside;
pub use running::Heard;
pub use running::Running;
pub use survivors::Survivor;
pub use survivors::adopted;
pub use survivors::end_all;
pub use survivors::members;
pub use survivors::others;
pub use survivors::with_variable;
pub use survivors::works_in;

use output::Capture;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::fmt::Formatter;
use std::io::PipeReader;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

/// How long output may still come after the child has exited; longer waits are for processes it left behind.
const PIPE_WAIT: Duration = Duration::from_millis(300);

/// What happens to the rest of the group once the direct child has exited.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Leftovers {
    /// It is ended.
    End,
    /// It lives on, and [`Finished::group`] names it.
    Keep,
}

/// Where the child's errors go.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Errors {
    /// Into the output, in the order they were written.
    Joined,
    /// Into [`Finished::errors`], so that they cannot be taken for data.
    Apart,
}

/// A command to run, with all its limits.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Command {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub dir: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// Bytes for standard input; with none it is closed, so that a reader sees the end at once.
    #[serde(skip)]
    pub stdin: Option<Vec<u8>>,
    pub limit: Duration,
    /// How long it may print nothing; with none the limit alone holds.
    pub idle: Option<Duration>,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// Bytes kept of the head of the output, and of its tail.
    pub keep: usize,
    pub leftovers: Leftovers,
    pub errors: Errors,
    /// A text that is looked for in the whole output, also in what is not kept.
    pub needle: Option<String>,
}

impl Command {
    /// Makes a command of one program with arguments; the limits are those of [`Command::shell`].
    pub fn new(program: &str, args: &[&str], dir: &Path, env: BTreeMap<String, String>) -> Self {
        Self {
            program: program.into(),
            args: args.iter().map(OsString::from).collect(),
            dir: dir.to_owned(),
            env,
            stdin: None,
            limit: Duration::from_secs(120),
            idle: None,
            grace: Duration::from_secs(1),
            keep: 64 * 1024,
            leftovers: Leftovers::End,
            errors: Errors::Joined,
            needle: None,
        }
    }

    /// Makes a command that gives `text` to `sh`: two minutes, 64 KiB kept at each end, nothing left behind.
    pub fn shell(text: &str, dir: &Path, env: BTreeMap<String, String>) -> Self {
        Self::new("sh", &["-c", text], dir, env)
    }

    /// Says which limit of the system's an argument passes, if one does.
    pub fn too_long(&self) -> Option<String> {
        let longest = self.args.iter().map(|argument| argument.len()).max()?;
        (longest > LONGEST_ARGUMENT)
            .then(|| format!("it has an argument of {longest} bytes, and the system takes at most {LONGEST_ARGUMENT}"))
    }

    /// Replaces the time limit.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }
}

/// Bytes that one argument or variable may have; the system starts no program with a longer one.
pub const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

/// How a command ended.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Exit {
    /// The child exited by itself.
    Code(i32),
    /// A signal that was not ours ended the child.
    Signal(i32),
    /// The limit was reached first; what the child did after our signal does not count.
    TimedOut,
    /// It printed nothing for longer than its idle limit.
    Silent,
    /// The session was interrupted first.
    Interrupted,
    /// It never ran; says why.
    NotStarted(String),
}

impl Display for Exit {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "ended by signal {signal}"),
            Self::TimedOut => formatter.write_str("timed out"),
            Self::Silent => formatter.write_str("printed nothing for too long"),
            Self::Interrupted => formatter.write_str("interrupted"),
            Self::NotStarted(reason) => formatter.write_str(reason),
        }
    }
}

/// A command that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    pub exit: Exit,
    pub duration: Duration,
    pub output: Output,
    /// The errors, when they were kept apart.
    pub errors: Output,
    /// The group that still lives, when leftovers are kept and there are any.
    pub group: Option<i32>,
}

/// Runs a command to its end, its limit or an interrupt, whichever comes first.
///
/// Once the interrupt is requested nothing starts any more; work that must still be done takes
/// [`Interrupt::for_cleanup`].
pub fn run(command: &Command, interrupt: &Interrupt) -> Finished {
    observe(command, |streams, happenings| attend(command, streams, happenings, interrupt))
}

/// Gathers what a command prints while `attend` sees to its process, here or elsewhere, and watches its idle limit.
pub fn observe(command: &Command, attend: impl FnOnce(Streams, &Happenings) -> Ended) -> Finished {
    let start = Instant::now();
    let (capture, errors) = (Capture::seeking(command.needle.as_deref(), command.keep), Capture::new(command.keep));
    let happenings = Happenings::new();
    let ended = match open_streams(command, &capture, &errors) {
        Ok(streams) => {
            if let Some(idle) = command.idle {
                watch_idle([capture.clone(), errors.clone()], idle, &happenings);
            }
            attend(streams, &happenings)
        }
        Err(reason) => Ended { exit: Exit::NotStarted(reason), group: None },
    };
    capture.wait_for_end(PIPE_WAIT);
    errors.wait_for_end(PIPE_WAIT);
    let (output, errors) = (capture.take(), errors.take());
    Finished { exit: ended.exit, duration: start.elapsed(), output, errors, group: ended.group }
}

/// Opens what the command reads and writes, and starts to gather.
fn open_streams(command: &Command, capture: &Capture, errors: &Capture) -> Result<Streams, String> {
    let name = command.program.display();
    let no_pipe = |error| format!("could not make a pipe for `{name}`: {error}");
    let (reader, output) = std::io::pipe().map_err(no_pipe)?;
    let (error_reader, error_writer) = match command.errors {
        Errors::Joined => (None, output.try_clone().map_err(no_pipe)?),
        Errors::Apart => std::io::pipe().map(|(reader, writer)| (Some(reader), writer)).map_err(no_pipe)?,
    };
    let input = command.stdin.as_deref().map(attend::whole_input).transpose();
    let input = input.map_err(|error| format!("could not lay out the input of `{name}`: {error}"))?;
    read_output(reader, capture.clone());
    match error_reader {
        Some(reader) => read_output(reader, errors.clone()),
        None => errors.close(),
    }
    Ok(Streams { input, output, errors: error_writer })
}

/// Reads until every holder of the pipe is gone, which may be long after the command was given up.
fn read_output(reader: PipeReader, capture: Capture) {
    std::thread::spawn(move || capture.read(reader));
}

/// Tells when neither stream has brought anything for `idle`.
fn watch_idle(streams: [Capture; 2], idle: Duration, happenings: &Happenings) {
    let sender = happenings.sender();
    std::thread::spawn(move || {
        loop {
            let quiet = streams.iter().map(Capture::quiet).min().unwrap_or_default();
            if quiet >= idle {
                sender.send(Happening::Silent).ok();
                return;
            }
            if streams.iter().all(Capture::ended) {
                return;
            }
            std::thread::sleep(idle - quiet);
        }
    });
}

#[cfg(test)]
mod tests;
