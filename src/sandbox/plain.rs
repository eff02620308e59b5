//! Plain mode: each command in a process group of its own, and all that live on ended together.

use super::environment::OWNER;
use crate::process;
use crate::process::Command;
use crate::process::Finished;
use crate::process::Interrupt;
use crate::process::Survivor;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Time between TERM and KILL for what still lives at the end.
const GRACE: Duration = Duration::from_secs(2);

/// The commands of one session, or of one run of a check. Dropped, it ends what they left alive.
pub struct Plain {
    /// The project's git folder, with which its commands are marked.
    owner: PathBuf,
    interrupt: Interrupt,
    groups: Mutex<Vec<i32>>,
    /// A command ran since all were ended; to look for what it left takes time.
    ran: AtomicBool,
    /// Orphans that were ours before: of the user's own hooks.
    before: BTreeSet<i32>,
}

impl Plain {
    /// Opens a sandbox in which nothing runs yet.
    pub(super) fn new(owner: PathBuf, interrupt: Interrupt) -> Self {
        let before = process::adopted().into_iter().collect();
        Self { owner, interrupt, groups: Mutex::default(), ran: AtomicBool::new(false), before }
    }

    pub(super) fn run(&self, command: &Command) -> Finished {
        self.ran.store(true, Ordering::Relaxed);
        let finished = process::run(command, &self.interrupt);
        if let Some(group) = finished.group {
            self.groups.lock().unwrap_or_else(PoisonError::into_inner).push(group);
        }
        finished
    }

    /// Ends what is known by its mark, or by having become ours when its parent ended, else by its group.
    pub(super) fn end(&self) -> Vec<Survivor> {
        if !self.ran.swap(false, Ordering::Relaxed) {
            return Vec::new();
        }
        let groups = std::mem::take(&mut *self.groups.lock().unwrap_or_else(PoisonError::into_inner));
        let find = || {
            // Where orphans come to us they are told by that: the number of a group that ended may be a stranger's by now.
            let mut found = if process::adopts() { Vec::new() } else { process::members(&groups) };
            found.extend(marked(&self.owner));
            found.extend(process::adopted().into_iter().filter(|orphan| !self.before.contains(orphan)));
            found
        };
        let survivors = process::end_all(&find, GRACE);
        groups.iter().for_each(|group| self.interrupt.forget(*group));
        survivors
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends what carries the project's mark: commands of a killed longhaul. Returns what that was.
///
/// A list of process ids on disk would not do: it lags behind at the very moment of the kill, and the group of a server
/// whose shell is gone could not be told from a stranger's. Whoever asks holds the run lock and needs nothing any more of
/// what it started, so all of it may go.
pub fn end_orphans(owner: &Path) -> Vec<Survivor> {
    process::end_all(&|| marked(owner), GRACE)
}

fn marked(owner: &Path) -> Vec<i32> {
    process::with_variable(OWNER, &owner.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Leftovers;
    use crate::sandbox::mark;
    use std::collections::BTreeMap;
    use tempfile::TempDir;

    fn background(text: &str, owner: &Path) -> Command {
        let mut env = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        mark(&mut env, owner);
        Command { leftovers: Leftovers::Keep, ..Command::shell(text, Path::new("/"), env) }
    }

    fn start(text: &str, owner: &Path) -> i32 {
        process::run(&background(text, owner), &Interrupt::new()).group.unwrap()
    }

    fn sandbox() -> (TempDir, Plain) {
        let owner = tempfile::tempdir().unwrap();
        let sandbox = Plain::new(owner.path().to_owned(), Interrupt::new());
        (owner, sandbox)
    }

    #[test]
    fn a_server_lives_until_the_sandbox_ends() {
        let (owner, sandbox) = sandbox();
        let group = sandbox.run(&background("sleep 300 & echo up", owner.path())).group.unwrap();
        assert!(process::group_lives(group));
        assert_eq!(sandbox.end().iter().map(|survivor| survivor.command.as_str()).collect::<Vec<_>>(), ["sleep 300"]);
        assert!(!process::group_lives(group));
        assert_eq!(sandbox.end(), []);
    }

    #[test]
    fn a_dropped_sandbox_leaves_nothing_alive() {
        let (owner, sandbox) = sandbox();
        let group = sandbox.run(&background("sleep 300 &", owner.path())).group.unwrap();
        drop(sandbox);
        assert!(!process::group_lives(group));
    }

    #[test]
    fn a_second_interrupt_reaches_what_was_left_alive() {
        let owner = tempfile::tempdir().unwrap();
        let interrupt = Interrupt::new();
        let sandbox = Plain::new(owner.path().to_owned(), interrupt.clone());
        let stubborn = "trap '' TERM; (while :; do sleep 300; done) & echo up";
        let group = sandbox.run(&background(stubborn, owner.path())).group.unwrap();
        interrupt.kill_groups();
        process::end_groups(&[group], Duration::from_secs(60));
        assert!(!process::group_lives(group));
    }

    #[test]
    fn only_what_carries_the_mark_is_ended() {
        let [ours, theirs] = ["ours", "theirs"].map(|name| tempfile::Builder::new().prefix(name).tempdir().unwrap());
        let (server, other) = (start("sleep 300 &", ours.path()), start("sleep 300 &", theirs.path()));

        assert_eq!(end_orphans(ours.path()).len(), 1);
        assert_eq!([server, other].map(process::group_lives), [false, true]);

        assert_eq!((end_orphans(ours.path()).len(), end_orphans(theirs.path()).len()), (0, 1));
    }

    #[test]
    fn a_git_in_the_middle_of_its_work_may_finish() {
        let owner = tempfile::tempdir().unwrap();
        let (git, done) = (owner.path().join("git"), owner.path().join("done"));
        std::os::unix::fs::symlink("/bin/sh", &git).unwrap();
        let text = format!("{} -c 'sleep 0.3; : > {}' > /dev/null 2>&1 &", git.display(), done.display());
        start(&text, owner.path());

        end_orphans(owner.path());

        assert!(done.exists());
    }

    #[test]
    fn a_server_that_left_its_group_is_found_too_and_one_that_forgot_its_environment_with_its_group() {
        let owner = tempfile::tempdir().unwrap();
        let away = "{ setsid sh -c 'echo up; exec sleep 300 >/dev/null' & } | read up";
        start(&format!("{away}; sleep 300 & env -i sleep 300 &"), owner.path());
        assert_eq!(end_orphans(owner.path()).len(), 3);
    }
}
