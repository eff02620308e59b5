//! Faults at system calls, laid by `strace`: the process is killed in front of one, or one is answered with an error.

use crate::support::skipped;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A fault at some call of a name.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) call: String,
    /// The how-manieth, as `strace` takes it: `3`, or `3+` from there on.
    pub(super) when: String,
    /// `signal=KILL`, or `error=ENOSPC`.
    pub(super) does: String,
}

/// Calls that leave the disk as it is, as those that failed did and files opened to read: a kill in front of one leaves what
/// a kill in front of the next other leaves. A name that is not here counts as one that changes something.
const ONLY_LOOK: &[&str] = &[
    "access",
    "close",
    "execve",
    "fadvise64",
    "fcntl",
    "flock",
    "fstat",
    "fstatfs",
    "getcwd",
    "getdents64",
    "ioctl",
    "lseek",
    "mmap",
    "newfstatat",
    "poll",
    "pread64",
    "read",
    "readlink",
    "readlinkat",
    "statfs",
    "statx",
];

/// Tells whether faults can be laid here, and says it where they cannot.
pub(super) fn runs_traced() -> bool {
    let tried = Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output();
    let reason = match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("`strace` does not run here: {error}"),
    };
    skipped(&reason);
    false
}

/// Returns the command that runs another with a fault laid.
pub(super) fn with(fault: &Fault, command: &Command) -> Command {
    let Fault { call, when, does } = fault;
    traced(command, &[&format!("trace={call}"), &format!("inject={call}:{does}:when={when}")], Path::new("/dev/null"))
}

/// Returns the command that runs another and writes down its calls of these names.
pub(super) fn traced(command: &Command, rules: &[&str], into: &Path) -> Command {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-s", "256", "-o"]).arg(into);
    traced.args(rules.iter().flat_map(|rule| ["-e", rule]));
    traced.arg(command.get_program()).args(command.get_args());
    traced.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    traced
}

/// Where a call was made: its name, and which of that name it was.
pub(super) type Point = (String, usize);

/// Which calls faults are laid at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Which {
    /// Those that changed something.
    Changing,
    All,
}

/// Returns the calls that were written down, from the first on that names `folder`.
pub(super) fn points(calls: &Path, folder: &Path, which: Which) -> Vec<Point> {
    let (mut made, mut is_ours, mut points) = (BTreeMap::<String, usize>::new(), false, Vec::new());
    let folder = folder.display().to_string();
    for line in fs::read_to_string(calls).unwrap().lines() {
        let Some((name, _)) = line.split_once('(') else { continue };
        let name = name.rsplit(' ').next().unwrap_or(name);
        is_ours |= name != "execve" && line.contains(&folder);
        let number = made.entry(name.to_owned()).or_default();
        *number += 1;
        if is_ours && (which == Which::All || changes(name, line)) {
            points.push((name.to_owned(), *number));
        }
    }
    points
}

/// Tells whether a call may have changed what is on the disk.
fn changes(name: &str, line: &str) -> bool {
    let looks = ONLY_LOOK.contains(&name) || name == "openat" && line.contains("O_RDONLY") || line.contains(") = -1 E");
    !looks
}
