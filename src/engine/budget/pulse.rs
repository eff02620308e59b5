//! Time that passes without anything to count, kept on disk all the same: a kill in a long command loses a second of it.
//!
//! A thread writes down how long ago the account was written, by the number of that writing. A number that does not fit says
//! nothing, so no time is counted twice.

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

/// Beats until it is dropped.
#[derive(Debug)]
pub(super) struct Pulse {
    /// The newest writing of the account, and when it was.
    newest: Arc<Mutex<(u64, Instant)>>,
    _stop: Sender<()>,
}

impl Pulse {
    /// Starts to count from this writing on.
    pub(super) fn start(state: &Path, number: u64) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path(state))?;
        let newest = Arc::new(Mutex::new((number, Instant::now())));
        let (stop, stopped) = mpsc::channel::<()>();
        let seen = Arc::clone(&newest);
        thread::Builder::new().name("pulse".to_owned()).spawn(move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // A beat that cannot be written is as one that was missed.
                let _ = beat(&file, &seen);
            }
        })?;
        Ok(Self { newest, _stop: stop })
    }

    /// Counts from this writing on.
    pub(super) fn saved(&self, number: u64) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = (number, Instant::now());
    }
}

fn beat(file: &File, newest: &Mutex<(u64, Instant)>) -> io::Result<()> {
    let (number, at) = *newest.lock().unwrap_or_else(PoisonError::into_inner);
    // Of one width, so that a beat replaces the one before in one go.
    file.write_all_at(format!("{number:020} {:020}\n", at.elapsed().as_millis()).as_bytes(), 0)
}

/// Returns how long after this writing the newest beat was.
pub(super) fn since(state: &Path, number: u64) -> Duration {
    let text = fs::read_to_string(path(state)).unwrap_or_default();
    let mut words = text.split_whitespace().map(str::parse::<u64>);
    match (words.next(), words.next()) {
        (Some(Ok(of)), Some(Ok(millis))) if of == number => Duration::from_millis(millis),
        _ => Duration::ZERO,
    }
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
        assert_eq!(since(folder.path(), 3), Duration::ZERO);
        let file = File::create(path(folder.path())).unwrap();
        let ago = Instant::now().checked_sub(Duration::from_secs(7)).unwrap();
        beat(&file, &Mutex::new((3, ago))).unwrap();
        assert_eq!(since(folder.path(), 3).as_secs(), 7);
        assert_eq!(since(folder.path(), 4), Duration::ZERO, "the account has it by now");
        beat(&file, &Mutex::new((4, Instant::now()))).unwrap();
        assert_eq!((since(folder.path(), 3), since(folder.path(), 4).as_secs()), (Duration::ZERO, 0));
        forget(folder.path());
        assert_eq!(since(folder.path(), 4), Duration::ZERO);
    }
}
