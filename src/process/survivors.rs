//! What lives on of commands that were thought to have ended: found, described for people, ended.

use super::children;
use super::group::AFTER_KILL;
use super::group::POLL;
use super::table;
use super::table::Process;
use crate::clip;
use rustix::process::Pid;
use rustix::process::Signal;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::fmt::Formatter;
use std::fs;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

/// Time for a `git` to finish by itself: told to end in the middle of a commit, it often leaves its locks behind, and
/// every later commit would fail.
const COMMIT: Duration = Duration::from_secs(2);

/// Characters shown of a command line.
const SHOWN: usize = 100;

/// A process that outlived the command that started it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Survivor {
    pub id: i32,
    /// Its command line, cut short.
    pub command: String,
    /// TCP ports on which it listens.
    pub ports: Vec<u16>,
}

impl Display for Survivor {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        write!(formatter, "`{}` (process {})", self.command, self.id)?;
        match self.ports.as_slice() {
            [] => Ok(()),
            [port] => write!(formatter, " on port {port}"),
            ports => {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                write!(formatter, " on ports {}", ports.join(", "))
            }
        }
    }
}

/// Lists the processes, but for those of our own group, that were started with this variable.
pub fn with_variable(name: &str, value: &str) -> Vec<i32> {
    let entry = format!("{name}={value}");
    let own = rustix::process::getpgrp().as_raw_nonzero().get();
    let marked = table::running().filter(|process| process.group != own && process.has_variable(&entry));
    marked.map(|process| process.id).collect()
}

/// Lists the members of the groups.
pub fn members(groups: &[i32]) -> Vec<i32> {
    table::running().filter(|process| groups.contains(&process.group)).map(|process| process.id).collect()
}

/// Tells whether a program of this name works in one of the folders; where there is no `/proc`, nobody can tell.
pub fn works_in(program: &str, folders: &[&Path]) -> bool {
    let inside = |process: &Process| {
        let at = fs::read_link(process.folder().join("cwd")).unwrap_or_default();
        folders.iter().any(|folder| at.starts_with(folder))
    };
    let mut any = false;
    let mut running = table::running().inspect(|_| any = true);
    let works = running.any(|process| process.name == program && inside(&process));
    drop(running);
    works || !any
}

/// Lists all processes but this one.
pub fn others() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    table::running().filter(|process| process.id != own).map(|process| process.id).collect()
}

/// Lists the processes that descend from us and from no child that somebody waits for: orphans of our commands. None
/// where orphans do not come to us.
pub fn adopted() -> Vec<i32> {
    if !children::adopts() {
        return Vec::new();
    }
    let waited_for = children::known();
    below(rustix::process::getpid().as_raw_nonzero().get(), |child| !waited_for.contains(&child))
}

/// Lists what descends from a process.
pub(super) fn descendants(of: i32) -> Vec<i32> {
    below(of, |_| true)
}

/// Lists what descends from those children of a process that are `wanted`.
fn below(process: i32, wanted: impl Fn(i32) -> bool) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    table::running().for_each(|process| children.entry(process.parent).or_default().push(process.id));
    let mut next = children.remove(&process).unwrap_or_default();
    next.retain(|child| wanted(*child));
    let mut found = Vec::new();
    while let Some(id) = next.pop() {
        next.extend(children.remove(&id).unwrap_or_default());
        found.push(id);
    }
    found
}

/// Waits until none of these processes does anything any more, but not longer than `limit`.
pub(super) fn wait_until_gone(ids: &[i32], limit: Duration) {
    wait(|| !table::running().any(|process| ids.contains(&process.id)), limit);
}

/// Ends processes with all members of their groups: TERM, at most `grace`, then KILL without a condition. `find` is asked
/// again, since what is ended may start others. Returns those that were found first, described.
pub fn end_all(find: &dyn Fn() -> Vec<i32>, grace: Duration) -> Vec<Survivor> {
    let found: BTreeSet<i32> = with_groups(&find());
    if found.is_empty() {
        return Vec::new();
    }
    let described = describe(&found);
    let start = Instant::now();
    while runs(&found, "git") && start.elapsed() < COMMIT {
        std::thread::sleep(POLL);
    }
    // One that is stopped hears nothing before it goes on.
    found.iter().for_each(|id| [Signal::TERM, Signal::CONT].iter().for_each(|told| signal(*id, *told)));
    wait(|| with_groups(&find()).is_empty(), grace);
    wait(
        || {
            let left = with_groups(&find());
            left.iter().for_each(|id| signal(*id, Signal::KILL));
            left.is_empty()
        },
        AFTER_KILL,
    );
    // One that is just ending shows no mark any more, and still has its ports.
    wait_until_gone(&found.into_iter().collect::<Vec<_>>(), AFTER_KILL);
    described
}

/// Adds the other members of the groups; our own group is left alone.
fn with_groups(ids: &[i32]) -> BTreeSet<i32> {
    if ids.is_empty() {
        return BTreeSet::new();
    }
    let own = rustix::process::getpgrp().as_raw_nonzero().get();
    let processes: Vec<Process> = table::running().collect();
    let of = |process: &&Process| ids.contains(&process.id) && process.group != own;
    let groups: BTreeSet<i32> = processes.iter().filter(of).map(|process| process.group).collect();
    let members = processes.iter().filter(|process| groups.contains(&process.group));
    members.map(|process| process.id).chain(ids.iter().copied()).collect()
}

fn runs(ids: &BTreeSet<i32>, program: &str) -> bool {
    table::running().any(|process| ids.contains(&process.id) && process.name == program)
}

fn signal(id: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(id) {
        // It may have ended by itself in between.
        rustix::process::kill_process(pid, signal).ok();
    }
}

fn wait(mut done: impl FnMut() -> bool, limit: Duration) {
    let start = Instant::now();
    while !done() && start.elapsed() < limit {
        std::thread::sleep(POLL.min(limit));
    }
}

fn describe(ids: &BTreeSet<i32>) -> Vec<Survivor> {
    let listening = listening();
    let of = |process: Process| {
        let ports = ports(&process, &listening);
        Survivor { id: process.id, command: command_line(&process), ports }
    };
    table::running().filter(|process| ids.contains(&process.id)).map(of).collect()
}

fn command_line(process: &Process) -> String {
    let bytes = fs::read(process.folder().join("cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy);
    let line = words.collect::<Vec<_>>().join(" ");
    let line = if line.is_empty() { process.name.clone() } else { line };
    clip::head(&line, SHOWN)
}

/// Returns the listening TCP sockets, each by the number of its inode, with its port.
fn listening() -> BTreeMap<String, u16> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let entry = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        (*state == "0A").then(|| ((*inode).to_owned(), port))
    };
    tables.iter().flat_map(|table| table.lines().skip(1)).filter_map(entry).collect()
}

fn ports(process: &Process, listening: &BTreeMap<String, u16>) -> Vec<u16> {
    let descriptors = fs::read_dir(process.folder().join("fd")).into_iter().flatten().flatten();
    let port = |descriptor: fs::DirEntry| {
        let target = fs::read_link(descriptor.path()).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned();
        listening.get(&inode).copied()
    };
    let ports: BTreeSet<u16> = descriptors.filter_map(port).collect();
    ports.into_iter().collect()
}

/// Tells whether a group has a member that does something.
pub(super) fn group_has_member(of: i32) -> Option<bool> {
    let mut seen_any = false;
    let found = table::running().inspect(|_| seen_any = true).any(|process| process.group == of);
    seen_any.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survivor_is_told_with_its_ports() {
        let survivor = |ports: &[u16]| Survivor { id: 7, command: "node server.js".to_owned(), ports: ports.to_vec() };
        assert_eq!(survivor(&[]).to_string(), "`node server.js` (process 7)");
        assert_eq!(survivor(&[3000]).to_string(), "`node server.js` (process 7) on port 3000");
        assert_eq!(survivor(&[80, 443]).to_string(), "`node server.js` (process 7) on ports 80, 443");
    }

    #[test]
    fn a_listening_socket_is_found_by_its_port() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let own = std::process::id().cast_signed();
        let described = describe(&BTreeSet::from([own]));
        assert!(described[0].ports.contains(&port), "{described:?}");
    }

    #[test]
    fn nothing_found_is_nothing_ended() {
        assert_eq!(end_all(&Vec::new, AFTER_KILL), []);
    }
}
