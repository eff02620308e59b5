//! What is used between two writings of the account, kept on disk all the same: a kill loses a second of the time, and nothing
//! of what the service told of a reply under way.
//!
//! A thread writes down how long ago the account was written, by the number of that writing, and what a reply has used since.
//! A number that does not fit says nothing, so nothing is counted twice. None of it waits for the disk: a kill leaves it there.

use crate::engine::budget::spent::Spent;
use crate::message::Usage;
use serde::Deserialize;
use serde::Serialize;

use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// The file in the folder of longhaul's own state.
const FILE: &str = "spent.since";

const EVERY: Duration = Duration::from_secs(1);

/// Bytes of a beat, more than it can need: one width, so that a beat replaces the one before in one go.
const WIDTH: usize = 320;

/// What is on disk.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Beat {
    /// The number of the writing that it follows.
    number: u64,
    millis: u64,
    used: Option<Used>,
}

/// What a reply under way has used, and its cost where that is known.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Used {
    usage: Usage,
    cost: Option<f64>,
}

/// The newest writing of the account, and what came after it.
#[derive(Debug)]
struct Newest {
    number: u64,
    at: Instant,
    used: Option<Used>,
}

impl Newest {
    fn of(number: u64) -> Self {
        Self { number, at: Instant::now(), used: None }
    }
}

/// Beats until it is dropped.
#[derive(Debug)]
pub(super) struct Pulse {
    file: Arc<File>,
    newest: Arc<Mutex<Newest>>,
    _stop: Sender<()>,
}

impl Pulse {
    /// Starts to count from this writing on.
    pub(super) fn start(state: &Path, number: u64) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path(state))?;
        let (file, newest) = (Arc::new(file), Arc::new(Mutex::new(Newest::of(number))));
        let (stop, stopped) = mpsc::channel::<()>();
        let (written, seen) = (Arc::clone(&file), Arc::clone(&newest));
        thread::Builder::new().name("pulse".to_owned()).spawn(move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // A beat that cannot be written is as one that was missed.
                let _ = beat(&written, &seen);
            }
        })?;
        Ok(Self { file, newest, _stop: stop })
    }

    /// Counts from this writing on.
    pub(super) fn saved(&self, number: u64) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Newest::of(number);
    }

    /// Writes down at once what a reply has used so far.
    pub(super) fn under_way(&self, usage: &Usage, cost: Option<f64>) {
        let used = Some(Used { usage: *usage, cost });
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).used = used;
        let _ = beat(&self.file, &self.newest);
    }
}

fn beat(file: &File, newest: &Mutex<Newest>) -> io::Result<()> {
    let newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
    let millis = u64::try_from(newest.at.elapsed().as_millis()).unwrap_or(u64::MAX);
    let beat = serde_json::to_string(&Beat { number: newest.number, millis, used: newest.used })?;
    // Under the lock, so that an older beat does not come after a newer one.
    file.write_all_at(format!("{beat:<WIDTH$}\n").as_bytes(), 0)
}

/// Returns what was used from this writing to the newest beat.
pub(super) fn since(state: &Path, number: u64) -> Spent {
    let text = fs::read(path(state)).unwrap_or_default();
    let beat = serde_json::from_slice::<Beat>(&text).ok().filter(|beat| beat.number == number);
    let mut spent = Spent::default();
    if let Some(Beat { millis, used, .. }) = beat {
        spent.time = Duration::from_millis(millis);
        if let Some(Used { usage, cost }) = used {
            spent.add(&usage, cost);
        }
    }
    spent
}

/// Forgets the newest beat, where writings are numbered anew.
pub(super) fn forget(state: &Path) {
    let _ = fs::remove_file(path(state));
}

fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_belongs_to_the_writing_it_follows() {
        let folder = tempfile::tempdir().unwrap();
        let time = |number| since(folder.path(), number).time.as_secs();
        assert_eq!(since(folder.path(), 3), Spent::default());
        let file = File::create(path(folder.path())).unwrap();
        let ago = Instant::now().checked_sub(Duration::from_secs(7)).unwrap();
        beat(&file, &Mutex::new(Newest { at: ago, ..Newest::of(3) })).unwrap();
        assert_eq!((time(3), time(4)), (7, 0), "the account has it by now");
        beat(&file, &Mutex::new(Newest::of(4))).unwrap();
        assert_eq!((since(folder.path(), 3), time(4)), (Spent::default(), 0));
        forget(folder.path());
        assert_eq!(since(folder.path(), 4), Spent::default());
    }

    #[test]
    fn a_beat_has_one_width_whatever_it_tells() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(path(folder.path())).unwrap();
        let most = Usage { input: u64::MAX, output: u64::MAX, cache_write: u64::MAX, cache_read: u64::MAX };
        let largest = Used { usage: most, cost: Some(-1.234_567_890_123_456_7e-300) };
        for used in [Some(largest), None] {
            beat(&file, &Mutex::new(Newest { used, ..Newest::of(u64::MAX) })).unwrap();
            assert_eq!(file.metadata().unwrap().len(), WIDTH as u64 + 1);
        }
    }

    #[test]
    fn what_a_reply_under_way_has_used_is_there_at_once_until_the_next_writing() {
        let folder = tempfile::tempdir().unwrap();
        let pulse = Pulse::start(folder.path(), 3).unwrap();
        let usage = Usage { input: 100_000, ..Usage::default() };
        for cost in [Some(0.5), None] {
            pulse.under_way(&usage, cost);
            let spent = since(folder.path(), 3);
            assert_eq!((spent.usage, spent.cost, spent.turns), (usage, cost, 0));
        }
        pulse.saved(4);
        assert_eq!(since(folder.path(), 4).usage, Usage::default());
    }
}
