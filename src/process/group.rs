//! Process groups: whether one lives, and how it is ended.

use super::survivors;
use rustix::process::Pid;
use rustix::process::Signal;
use std::time::Duration;
use std::time::Instant;

pub(super) const POLL: Duration = Duration::from_millis(10);

/// How long the system may take to end a killed group; one stuck in the kernel is left to it.
pub(super) const AFTER_KILL: Duration = Duration::from_secs(2);

/// Ends the groups: TERM, at most `grace`, then KILL without a condition, since a polite leader may leave a stubborn
/// child behind.
pub fn end_groups(groups: &[i32], grace: Duration) {
    let living: Vec<i32> = groups.iter().copied().filter(|group| lives(*group)).collect();
    if living.is_empty() {
        return;
    }
    // One that is stopped hears nothing before it goes on.
    living.iter().for_each(|group| [Signal::TERM, Signal::CONT].iter().for_each(|told| signal(*group, *told)));
    wait_until_gone(&living, grace);
    living.iter().for_each(|group| signal(*group, Signal::KILL));
    wait_until_gone(&living, AFTER_KILL);
}

/// Kills a group at once.
pub(super) fn kill(group: i32) {
    signal(group, Signal::KILL);
}

/// Kills everybody but this process, as process 1 of a namespace can: all at once, so that what breeds faster than it is
/// found one by one is ended too. Any other process would reach beyond its own children, and does nothing here.
pub fn kill_all_others() {
    if rustix::process::getpid() == Pid::INIT {
        // The "group" of process 1 is how the system spells everybody.
        rustix::process::kill_process_group(Pid::INIT, Signal::KILL).ok();
        let start = Instant::now();
        while !survivors::others().is_empty() && start.elapsed() < AFTER_KILL {
            std::thread::sleep(POLL);
        }
    }
}

/// Tells whether the group holds a process that is more than a name waiting to be collected.
pub fn lives(group: i32) -> bool {
    let known = Pid::from_raw(group).is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok());
    known && survivors::group_has_member(group).unwrap_or(true)
}

#[cfg(test)]
pub(super) fn process_lives(process: i32) -> bool {
    super::table::running().any(|running| running.id == process)
}

fn signal(group: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(group) {
        // The group may have ended by itself in between.
        rustix::process::kill_process_group(pid, signal).ok();
    }
}

/// Waits until none of the groups lives, but not longer than `limit`; tells whether it came to that.
pub(super) fn wait_until_gone(groups: &[i32], limit: Duration) -> bool {
    let start = Instant::now();
    while groups.iter().any(|group| lives(*group)) {
        if start.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(POLL.min(limit));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_group_is_not_alive() {
        assert!(!lives(0));
        assert!(!lives(i32::MAX));
        end_groups(&[i32::MAX], Duration::from_secs(60));
    }
}
