//! Process groups: whether one lives, and how it is ended.

use rustix::process::Pid;
use rustix::process::Signal;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

const POLL: Duration = Duration::from_millis(10);

/// How long the system may take to end a killed group; one stuck in the kernel is left to it.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Ends the groups: TERM, at most `grace`, then KILL without a condition, since a polite leader may leave a stubborn
/// child behind.
pub fn end_groups(groups: &[i32], grace: Duration) {
    let living: Vec<i32> = groups.iter().copied().filter(|group| lives(*group)).collect();
    if living.is_empty() {
        return;
    }
    living.iter().for_each(|group| signal(*group, Signal::TERM));
    wait_until_gone(&living, grace);
    living.iter().for_each(|group| signal(*group, Signal::KILL));
    wait_until_gone(&living, AFTER_KILL);
}

/// Kills a group at once.
pub(super) fn kill(group: i32) {
    signal(group, Signal::KILL);
}

/// Tells whether the group holds a process that is more than a name waiting to be collected.
pub fn lives(group: i32) -> bool {
    let known = Pid::from_raw(group).is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok());
    known && has_running_member(group).unwrap_or(true)
}

#[cfg(test)]
pub(super) fn process_lives(process: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/stat"))
        .ok()
        .and_then(|stat| state_and_group(&stat))
        .is_some_and(|(state, _)| !is_dead(state))
}

fn signal(group: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(group) {
        // The group may have ended by itself in between.
        rustix::process::kill_process_group(pid, signal).ok();
    }
}

fn wait_until_gone(groups: &[i32], limit: Duration) {
    let start = Instant::now();
    while groups.iter().any(|group| lives(*group)) && start.elapsed() < limit {
        std::thread::sleep(POLL.min(limit));
    }
}

/// Lists the groups, but for our own, in which a process was started with this variable. Processes of others are passed
/// over; where there is no `/proc` the list is empty.
pub fn with_variable(name: &str, value: &str) -> Vec<i32> {
    let entry = format!("{name}={value}");
    let own = rustix::process::getpgrp().as_raw_nonzero().get();
    let has_it = |process: &PathBuf| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    };
    let mut groups: Vec<i32> =
        running().filter(|(process, group)| *group != own && has_it(process)).map(|(_, group)| group).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// Tells whether a process of this name runs in one of the groups.
pub fn run(groups: &[i32], program: &str) -> bool {
    let named =
        |process: &PathBuf| std::fs::read_to_string(process.join("comm")).is_ok_and(|name| name.trim_end() == program);
    running().any(|(process, group)| groups.contains(&group) && named(&process))
}

/// Looks for a running member. `None` where there is no `/proc`.
fn has_running_member(group: i32) -> Option<bool> {
    let mut seen_any = false;
    let found = running().inspect(|_| seen_any = true).any(|(_, of)| of == group);
    seen_any.then_some(found)
}

/// Lists the processes that are no zombies: the folder of each in `/proc`, and its group. Orphans stay zombies for ever
/// where nobody collects them, as in many containers, and would look alive.
fn running() -> impl Iterator<Item = (PathBuf, i32)> {
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|process| {
        let (state, group) = state_and_group(&std::fs::read_to_string(process.path().join("stat")).ok()?)?;
        (!is_dead(state)).then(|| (process.path(), group))
    })
}

/// Takes state and group out of a `stat` line; the name before them may hold blanks and brackets.
fn state_and_group(stat: &str) -> Option<(char, i32)> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let group = fields.nth(1)?.parse().ok()?;
    Some((state, group))
}

fn is_dead(state: char) -> bool {
    matches!(state, 'Z' | 'X' | 'x')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_confuse_the_reading() {
        assert_eq!(state_and_group("12 (a) b (c)) S 1 345 345 0 -1"), Some(('S', 345)));
        assert_eq!(state_and_group("rubbish"), None);
    }

    #[test]
    fn an_unknown_group_is_not_alive() {
        assert!(!lives(0));
        assert!(!lives(i32::MAX));
        end_groups(&[i32::MAX], Duration::from_secs(60));
    }
}
