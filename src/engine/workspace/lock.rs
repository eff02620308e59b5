//! One run a project: the lock that a second one meets. Who only writes into memory holds it for a moment, with others, so
//! that no run begins meanwhile.

use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Context;
use anyhow::Result;
use jiff::Timestamp;
use rustix::fs::FlockOperation;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// A pipe in the lock's place would hold us for ever.
const WITHOUT_WAITING: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// Held while a run, or a command that changes the checklist, works on a project. The kernel frees it when we die.
pub struct RunLock {
    _file: File,
}

/// How long those may take who hold it for a moment.
const MOMENT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

impl RunLock {
    /// Takes the lock, or fails at once as busy when another has it for itself.
    pub fn take(path: &Path) -> Result<Self> {
        let file = open(path)?;
        let start = Instant::now();
        while !lock(&file, path, FlockOperation::NonBlockingLockExclusive)? {
            // What lets others in is held by those who write into memory, for a moment.
            if !lock(&file, path, FlockOperation::NonBlockingLockShared)? || start.elapsed() > MOMENT {
                return Err(busy(&file).into());
            }
            lock(&file, path, FlockOperation::Unlock)?;
            thread::sleep(PAUSE);
        }
        // Its time says since when, for who is told that the project is busy.
        let _ = file.set_len(0).and_then(|()| writeln!(&file, "{}", std::process::id()));
        Ok(Self { _file: file })
    }

    /// Keeps runs from beginning as long as this lives, as others may too; none when one is on.
    pub fn keep_out(path: &Path) -> Result<Option<Self>> {
        let file = open(path)?;
        Ok(lock(&file, path, FlockOperation::NonBlockingLockShared)?.then_some(Self { _file: file }))
    }

    /// Does the same, or fails at once as busy.
    pub fn keep_out_or_fail(path: &Path) -> Result<Self> {
        match Self::keep_out(path)? {
            Some(lock) => Ok(lock),
            None => Err(busy(&open(path)?).into()),
        }
    }
}

fn open(path: &Path) -> Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).custom_flags(WITHOUT_WAITING).open(path);
    let file = file.map_err(|error| {
        let is_file = std::fs::metadata(path).map_or(true, |found| found.is_file());
        Failure::new(Kind::Failed, format!("could not open the lock `{}`: {error}", path.display())).hint(match is_file
        {
            true => "longhaul has to write there: check owner, permissions and free space",
            false => "something else lies there: move it away, and longhaul makes the file anew",
        })
    });
    Ok(file?)
}

/// Tells whether the lock could be taken so.
fn lock(file: &File, path: &Path, how: FlockOperation) -> Result<bool> {
    match rustix::fs::flock(file, how) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("could not lock `{}`", path.display())),
    }
}

/// Says who works on the project, and what can be done meanwhile.
fn busy(file: &File) -> Failure {
    let who = holder(file).map(|process| format!("process {process}"));
    let taken = file.metadata().and_then(|found| found.modified()).ok();
    let taken = taken.and_then(|at| Timestamp::try_from(at).ok());
    let since = taken.map(|at| format!("since {}", at.strftime("%Y-%m-%d %H:%M UTC")));
    let known: Vec<String> = who.into_iter().chain(since).collect();
    let known = if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) };
    Failure::new(Kind::Busy, format!("another longhaul is working on this project{known}")).hint(
        "wait for it to end, or look at it with `longhaul status`; notes can be written meanwhile, \
         with `longhaul memory` or in `.longhaul/memory/notes/`",
    )
}

/// Whether somebody holds the lock.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Held {
    Free,
    /// The process, where the system tells it.
    By(Option<u32>),
    /// It cannot be told, and why.
    Unknown(String),
}

/// Looks who holds the lock, for people: it may be another one the next moment.
pub fn look(path: &Path) -> Held {
    let file = match OpenOptions::new().read(true).custom_flags(WITHOUT_WAITING).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Held::Free,
        Err(error) => return Held::Unknown(error.to_string()),
    };
    // A shared lock for a moment; whoever asks for the other kind right then is told that the project is busy.
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Held::Free,
        Err(Errno::WOULDBLOCK) => Held::By(holder(&file)),
        Err(error) => Held::Unknown(error.to_string()),
    }
}

/// Finds the holder in the system's list of locks, by the file's number.
fn holder(file: &File) -> Option<u32> {
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let fields = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut held = fields.filter(|fields| fields.get(1) == Some(&"FLOCK"));
    held.find(|fields| fields.get(5).is_some_and(|file| file.ends_with(&inode)))?.get(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_its_place_holds_nobody_and_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.lock");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let refused = format!("{:#}", RunLock::take(&path).err().unwrap());
        assert!(refused.starts_with("could not open the lock `"), "{refused}");
        assert_eq!(look(&path), Held::Free);
    }

    #[test]
    fn a_second_run_is_refused_until_the_first_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.lock");

        let first = RunLock::take(&path).unwrap();
        let refused = RunLock::take(&path).err().unwrap();
        assert_eq!(refused.downcast_ref::<Failure>().unwrap().kind, Kind::Busy);

        drop(first);
        RunLock::take(&path).unwrap();
    }

    #[test]
    fn who_is_busy_is_said_with_its_process_and_since_when() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.lock");
        let _lock = RunLock::take(&path).unwrap();
        let told = RunLock::take(&path).err().unwrap().to_string();
        let year = Timestamp::now().strftime("since %Y-").to_string();
        assert!(told.contains(&format!("process {}", std::process::id())) && told.contains(&year), "{told}");
    }

    #[test]
    fn who_keeps_runs_out_lets_others_do_the_same_and_a_run_waits_a_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.lock");
        let held = [(); 2].map(|()| RunLock::keep_out(&path).unwrap().unwrap());
        let start = Instant::now();
        let run = thread::scope(|scope| {
            let run = scope.spawn(|| RunLock::take(&path));
            thread::sleep(Duration::from_millis(200));
            drop(held);
            run.join().unwrap().unwrap()
        });
        assert!(start.elapsed() >= Duration::from_millis(200));
        assert!(RunLock::keep_out(&path).unwrap().is_none());
        let refused = RunLock::keep_out_or_fail(&path).err().unwrap();
        assert_eq!(refused.downcast_ref::<Failure>().unwrap().kind, Kind::Busy);
        drop(run);
        RunLock::keep_out(&path).unwrap().unwrap();
    }

    #[test]
    fn a_look_tells_who_holds_it_and_leaves_it_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.lock");
        assert_eq!(look(&path), Held::Free);
        let lock = RunLock::take(&path).unwrap();
        assert_eq!(look(&path), Held::By(Some(std::process::id())));
        drop(lock);
        assert_eq!(look(&path), Held::Free);
        RunLock::take(&path).unwrap();
    }
}
