//! What was started for a project and lives on, found again by a mark in its environment: commands of a killed longhaul,
//! and those that left their process group.
//!
//! A list of process ids on disk would not do: it lags behind at the very moment of the kill, and the group of a server
//! whose shell is gone could not be told from a stranger's.

use crate::process;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

/// The variable with the mark. Its value is the git folder of the project that the command was started for.
const OWNER: &str = "LONGHAUL_OWNER";

/// Time between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);

/// Time for a `git` to finish by itself: told to end in the middle of a commit, it often leaves its locks behind, and
/// every later commit would fail.
const COMMIT: Duration = Duration::from_secs(2);

/// Marks what is started with this environment as the project's; only for commands that run under the run lock.
pub fn mark(environment: &mut BTreeMap<String, String>, owner: &Path) {
    environment.insert(OWNER.to_owned(), owner.to_string_lossy().into_owned());
}

/// Tells whether this is the environment of a command that was started for a project, whichever it is.
pub fn is_marked(environment: &BTreeMap<String, String>) -> bool {
    environment.contains_key(OWNER)
}

/// Ends what carries the project's mark and returns how many groups that were.
///
/// Whoever asks holds the run lock and needs nothing any more of what it started, so all of it may go.
pub fn end_orphans(owner: &Path) -> usize {
    let orphans = process::groups_with_variable(OWNER, &owner.to_string_lossy());
    let start = Instant::now();
    while process::groups_run(&orphans, "git") && start.elapsed() < COMMIT {
        std::thread::sleep(Duration::from_millis(10));
    }
    process::end_groups(&orphans, GRACE);
    orphans.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Command;
    use crate::process::Interrupt;
    use crate::process::Leftovers;

    fn start(text: &str, owner: &Path) -> i32 {
        let mut env = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        mark(&mut env, owner);
        let command = Command { leftovers: Leftovers::Keep, ..Command::shell(text, Path::new("/"), env) };
        process::run(&command, &Interrupt::new()).group.unwrap()
    }

    #[test]
    fn only_what_carries_the_mark_is_ended() {
        let [ours, theirs] = ["ours", "theirs"].map(|name| tempfile::Builder::new().prefix(name).tempdir().unwrap());
        let (server, other) = (start("sleep 300 &", ours.path()), start("sleep 300 &", theirs.path()));

        assert_eq!(end_orphans(ours.path()), 1);
        assert_eq!([server, other].map(process::group_lives), [false, true]);

        assert_eq!((end_orphans(ours.path()), end_orphans(theirs.path())), (0, 1));
    }

    #[test]
    fn a_git_in_the_middle_of_its_work_may_finish() {
        let owner = tempfile::tempdir().unwrap();
        let (git, done) = (owner.path().join("git"), owner.path().join("done"));
        std::os::unix::fs::symlink("/bin/sh", &git).unwrap();
        let text = format!("{} -c 'sleep 0.3; : > {}' > /dev/null 2>&1 &", git.display(), done.display());
        start(&text, owner.path());

        assert_eq!(end_orphans(owner.path()), 1);

        assert!(done.exists());
    }

    #[test]
    fn a_server_that_left_its_group_is_found_too_and_one_that_forgot_its_environment_with_its_group() {
        let owner = tempfile::tempdir().unwrap();
        let away = "{ setsid sh -c 'echo up; exec sleep 300 >/dev/null' & } | read up";
        start(&format!("{away}; sleep 300 & env -i sleep 300 &"), owner.path());
        assert_eq!(end_orphans(owner.path()), 2);
    }
}
