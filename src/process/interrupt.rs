//! The request to stop, from a signal to everything that waits.

use super::group;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Something a running command waits for.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Happening {
    Exited,
    Interrupted,
    /// It printed nothing for too long.
    Silent,
}

/// Where the happenings of one command are told.
pub struct Happenings {
    sender: Sender<Happening>,
    receiver: Receiver<Happening>,
}

impl Default for Happenings {
    fn default() -> Self {
        Self::new()
    }
}

impl Happenings {
    /// Makes a place where nothing has happened yet.
    pub fn new() -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        Self { sender, receiver }
    }

    /// Returns a handle by which one is told.
    pub fn sender(&self) -> Sender<Happening> {
        self.sender.clone()
    }

    /// Waits for the first one, but not longer than `limit`.
    pub fn wait(&self, limit: Duration) -> Option<Happening> {
        self.receiver.recv_timeout(limit).ok()
    }
}

/// A request to stop, shared by all who work for one run.
#[derive(Clone, Debug)]
pub struct Interrupt {
    requested: Arc<tokio::sync::watch::Sender<bool>>,
    /// The living groups, and who waits for each.
    groups: Arc<Mutex<BTreeMap<i32, Sender<Happening>>>>,
    /// Whatever starts now is killed too.
    killing: Arc<AtomicBool>,
    /// A handle for the cleaning up is not stopped by the request.
    listens: bool,
}

impl Default for Interrupt {
    fn default() -> Self {
        Self::new()
    }
}

impl Interrupt {
    /// Makes an interrupt that nobody has requested.
    pub fn new() -> Self {
        let requested = Arc::new(tokio::sync::watch::Sender::new(false));
        Self { requested, groups: Arc::default(), killing: Arc::default(), listens: true }
    }

    /// Returns a handle for work that must be done in spite of the request, such as the session-end hook. It is never
    /// requested; [`Interrupt::kill_groups`] still reaches what it starts.
    pub fn for_cleanup(&self) -> Self {
        Self { requested: Arc::new(tokio::sync::watch::Sender::new(false)), listens: false, ..self.clone() }
    }

    /// Asks everybody to stop.
    pub fn request(&self) {
        self.requested.send_replace(true);
        for waiting in self.groups().values() {
            waiting.send(Happening::Interrupted).ok();
        }
    }

    /// Tells whether somebody asked to stop.
    pub fn requested(&self) -> bool {
        *self.requested.borrow()
    }

    /// Resolves once somebody asked to stop.
    pub async fn wait(&self) {
        // It can only fail when the sender is gone, and we hold it.
        self.requested.subscribe().wait_for(|requested| *requested).await.ok();
    }

    /// Kills every living group at once, without grace, and those that start from now on.
    pub fn kill_groups(&self) {
        self.killing.store(true, Ordering::SeqCst);
        self.groups().keys().for_each(|group| group::kill(*group));
    }

    /// Remembers a group. A request that came while it started is told to it now.
    pub fn register(&self, group: i32, waiting: &Sender<Happening>) {
        let deaf = std::sync::mpsc::channel().0;
        self.groups().insert(group, if self.listens { waiting.clone() } else { deaf });
        if self.killing.load(Ordering::SeqCst) {
            group::kill(group);
        }
        if self.requested() {
            waiting.send(Happening::Interrupted).ok();
        }
    }

    /// Forgets a group that has ended.
    pub fn forget(&self, group: i32) {
        self.groups().remove(&group);
    }

    fn groups(&self) -> MutexGuard<'_, BTreeMap<i32, Sender<Happening>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
