//! One child from its start to its end: its group, its limit, what happens to those it leaves behind.

use super::Command;
use super::Exit;
use super::Happening;
use super::Happenings;
use super::Interrupt;
use super::Leftovers;
use super::children;
use super::group;
use std::fs::File;
use std::io::PipeWriter;
use std::io::Seek;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::process::ExitStatus;
use std::process::Stdio;
use std::time::Duration;

/// How long processes left behind may finish by themselves before they are ended.
const COURTESY: Duration = Duration::from_millis(100);

/// What a command reads and writes.
pub struct Streams {
    /// With none it reads the end at once.
    pub input: Option<File>,
    pub output: PipeWriter,
    pub errors: PipeWriter,
}

/// How a command ended, and what it left.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ended {
    pub exit: Exit,
    /// The group that still lives, when leftovers are kept and there are any.
    pub group: Option<i32>,
}

/// Starts a command and sees to it until it has ended, of itself or not.
pub fn attend(command: &Command, streams: Streams, happenings: &Happenings, interrupt: &Interrupt) -> Ended {
    if interrupt.requested() {
        return Ended { exit: Exit::Interrupted, group: None };
    }
    let mut child = match start(command, streams) {
        Ok(child) => child,
        Err(reason) => return Ended { exit: Exit::NotStarted(reason), group: None },
    };
    let group = child.id().cast_signed();
    interrupt.register(group, &happenings.sender());
    children::tell_exit(group, happenings.sender());

    let happening = happenings.wait(command.limit);
    let must_end = match happening {
        Some(Happening::Exited) => command.leftovers == Leftovers::End && !group::wait_until_gone(&[group], COURTESY),
        _ => true,
    };
    if must_end {
        group::end_groups(&[group], command.grace);
    }
    // The exit is collected only now: until then the child's number cannot belong to a stranger's group.
    let status = children::collect(&mut child);
    let exit = match happening {
        Some(Happening::Exited) => status.map_or_else(|error| Exit::NotStarted(error.to_string()), exit_of),
        Some(Happening::Interrupted) => Exit::Interrupted,
        Some(Happening::Silent) => Exit::Silent,
        None => Exit::TimedOut,
    };
    let left = command.leftovers == Leftovers::Keep && group::lives(group);
    if !left {
        interrupt.forget(group);
    }
    Ended { exit, group: left.then_some(group) }
}

fn start(command: &Command, streams: Streams) -> Result<Child, String> {
    let name = command.program.display();
    if !command.dir.is_dir() {
        return Err(format!("could not start `{name}` in `{}`: no such directory", command.dir.display()));
    }
    spawn(command, streams).map_err(|error| format!("could not start `{name}`: {error}"))
}

/// Spawns; our own ends of the pipes are closed on return, else they would never end.
pub(super) fn spawn(command: &Command, streams: Streams) -> std::io::Result<Child> {
    children::spawn(
        std::process::Command::new(&command.program)
            .args(&command.args)
            .current_dir(&command.dir)
            .env_clear()
            .envs(&command.env)
            .stdin(streams.input.map_or_else(Stdio::null, Stdio::from))
            .stdout(streams.output)
            .stderr(streams.errors)
            .process_group(0),
    )
}

/// Lays out standard input before anybody reads it. From a pipe a child would take a part for the whole, should we be
/// killed meanwhile: `git add` with a list that ends too early adds what was to stay out.
pub(super) fn whole_input(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

pub(super) fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::NotStarted("the system told neither exit code nor signal".to_owned()),
    }
}
