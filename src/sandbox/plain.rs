//! Plain mode: each command in a process group of its own, and all that live on ended together.

use crate::process;
use crate::process::Command;
use crate::process::Finished;
use crate::process::Interrupt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

/// Time between TERM and KILL for what still lives at the end.
const GRACE: Duration = Duration::from_secs(2);

/// The commands of one session, or of one run of a check. Dropped, it ends what they left alive.
pub struct Plain {
    interrupt: Interrupt,
    alive: Mutex<Vec<i32>>,
}

impl Plain {
    /// Opens a sandbox in which nothing runs yet.
    pub fn new(interrupt: Interrupt) -> Self {
        Self { interrupt, alive: Mutex::default() }
    }

    /// Runs a command and remembers the group it left alive, if it may.
    pub fn run(&self, command: &Command) -> Finished {
        let finished = process::run(command, &self.interrupt);
        if let Some(group) = finished.group {
            self.alive.lock().unwrap_or_else(PoisonError::into_inner).push(group);
        }
        finished
    }

    /// Ends everything left alive and returns how many groups that were.
    pub fn end(&self) -> usize {
        let alive = std::mem::take(&mut *self.alive.lock().unwrap_or_else(PoisonError::into_inner));
        let living = alive.iter().filter(|group| process::group_lives(**group)).count();
        process::end_groups(&alive, GRACE);
        alive.iter().for_each(|group| self.interrupt.forget(*group));
        living
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Leftovers;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn background(text: &str) -> Command {
        let env = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        Command { leftovers: Leftovers::Keep, ..Command::shell(text, Path::new("/"), env) }
    }

    #[test]
    fn a_server_lives_until_the_sandbox_ends() {
        let sandbox = Plain::new(Interrupt::new());
        let group = sandbox.run(&background("sleep 300 & echo up")).group.unwrap();
        assert!(process::group_lives(group));
        assert_eq!(sandbox.end(), 1);
        assert!(!process::group_lives(group));
        assert_eq!(sandbox.end(), 0);
    }

    #[test]
    fn a_dropped_sandbox_leaves_nothing_alive() {
        let sandbox = Plain::new(Interrupt::new());
        let group = sandbox.run(&background("sleep 300 &")).group.unwrap();
        drop(sandbox);
        assert!(!process::group_lives(group));
    }

    #[test]
    fn a_second_interrupt_reaches_what_was_left_alive() {
        let interrupt = Interrupt::new();
        let sandbox = Plain::new(interrupt.clone());
        let group = sandbox.run(&background("trap '' TERM; (while :; do sleep 300; done) & echo up")).group.unwrap();
        interrupt.kill_groups();
        process::end_groups(&[group], Duration::from_secs(60));
        assert!(!process::group_lives(group));
    }
}
