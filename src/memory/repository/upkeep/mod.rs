//! Keeps the repository quick to read for git as well: what lies loose goes into few packs, and git gets its list of which
//! commit touched which path. It is done between sessions, and beside a long row of writes; no write waits for it.

mod git;
mod right;

pub(in crate::memory) use right::Right;

use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use anyhow::Result;

use crate::memory::Place;
use crate::memory::repository::upkeep::git::Git;
use crate::memory::store::Store;
use crate::process;
use crate::process::Interrupt;

/// Loose objects from which on they are packed.
const MANY: usize = 2000;
/// Calls after which it is looked again whether there are as many.
const OFTEN: u64 = 64;
/// How long it may stay silent when somebody waits for it.
const SILENT: Duration = Duration::from_secs(1);

impl Store {
    /// From now on packs what lies loose whenever that has become much, beside the writes; `path` is where git is looked
    /// for. An interrupt ends it, and [`Store::keep_up`].
    pub fn pack_on_the_way(&self, path: &str, interrupt: &Interrupt) {
        self.packing.borrow_mut().get_or_insert_with(|| Packing::of(self, path, interrupt));
    }

    /// Lets the packing begin, if it is time; to be called between two writes.
    pub(in crate::memory) fn pack_meanwhile(&mut self) -> Result<()> {
        let packing = self.packing.get_mut().as_mut();
        match packing.and_then(|packing| packing.go_on(&self.notice)) {
            Some(Ended) => self.repository.forget_packs(),
            None => Ok(()),
        }
    }

    /// Packs what lies loose when that has become much, and waits for it; `path` is where git is looked for. To be called
    /// by who holds the run lock. Others may read and write meanwhile. An interrupt ends it; the next one does it all.
    pub fn keep_up(&mut self, path: &str, interrupt: &Interrupt) -> Result<()> {
        let on_the_way = self.packing.take();
        let mut packing = on_the_way.unwrap_or_else(|| Packing::of(self, path, interrupt));
        packing.wait(&self.notice)?;
        if packing.is_due() || packing.git.lacks_list() {
            // With all on disk nothing has to be written again from the journal, which would make it loose once more.
            self.checkpoint()?;
            packing.begin(Priority::Usual)?;
        }
        packing.wait(&self.notice)?;
        self.repository.forget_packs()
    }

    /// Waits until all that is much is packed. Nothing depends on it, so that a failure is only told.
    pub(in crate::memory) fn end_packing(&self) {
        if let Some(packing) = self.packing.take() {
            packing.end(&self.notice);
        }
    }
}

/// Whether a packing gives way to all others, or somebody waits for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Priority {
    Low,
    Usual,
}

/// A packing ended, so that packs are gone.
struct Ended;

/// Packs what lies loose while its owner goes on, once at a time.
pub(in crate::memory) struct Packing {
    git: Git,
    state: PathBuf,
    /// Calls so far.
    calls: u64,
    /// Hears how the packing that is at work ended.
    at_work: Option<Receiver<Result<()>>>,
    /// Loose objects from which on it is time; after one that failed twice as many as there were.
    due: usize,
}

impl Packing {
    fn of(store: &Store, path: &str, interrupt: &Interrupt) -> Self {
        let Place { repository, state, .. } = &store.place;
        let (repository, state) = (repository.clone(), state.clone());
        let git = Git { repository, state: state.clone(), path: path.to_owned(), interrupt: interrupt.clone() };
        Self { git, state, calls: 0, at_work: None, due: MANY }
    }

    /// Looks from time to time whether one has ended, and whether there is much to pack.
    fn go_on(&mut self, notice: &dyn Fn(&str)) -> Option<Ended> {
        self.calls += 1;
        self.calls.is_multiple_of(OFTEN).then(|| self.begin_if_due(Priority::Low, notice)).flatten()
    }

    /// Begins to pack if there is much to pack and nothing at work. One that failed is told.
    fn begin_if_due(&mut self, priority: Priority, notice: &dyn Fn(&str)) -> Option<Ended> {
        let heard = self.at_work.as_ref().and_then(|at_work| at_work.try_recv().ok());
        let ended = heard.map(|ended| {
            self.at_work = None;
            self.tell(ended, notice);
            Ended
        });
        if self.at_work.is_none() && self.is_due() {
            let begun = self.begin(priority);
            self.tell(begun, notice);
        }
        ended
    }

    fn end(mut self, notice: &dyn Fn(&str)) {
        let waited = self.wait(notice);
        self.tell(waited, notice);
        // What was written beside the last one may be much again.
        self.begin_if_due(Priority::Usual, notice);
        let waited = self.wait(notice);
        self.tell(waited, notice);
    }

    fn tell(&mut self, ended: Result<()>, notice: &dyn Fn(&str)) {
        if let Err(error) = ended {
            self.due = self.git.loose().max(MANY) * 2;
            notice(&not_packed(&error));
        }
    }

    fn is_due(&self) -> bool {
        self.git.loose() >= self.due
    }

    /// Begins, unless another process is packing.
    fn begin(&mut self, priority: Priority) -> Result<()> {
        let Some(right) = Right::if_free(&self.state)? else { return Ok(()) };
        let (git, (sender, receiver)) = (self.git.clone(), mpsc::channel());
        thread::spawn(move || {
            if priority == Priority::Low {
                process::give_way();
            }
            let packed = git.pack(&right);
            std::mem::drop(right);
            sender.send(packed)
        });
        self.at_work = Some(receiver);
        Ok(())
    }

    /// Waits for the packing that is at work, and says so after a second.
    fn wait(&mut self, notice: &dyn Fn(&str)) -> Result<()> {
        let Some(at_work) = self.at_work.take() else { return Ok(()) };
        let loose = self.git.loose();
        at_work.recv_timeout(SILENT).or_else(|_| {
            notice(&format!("packing the memory: about {loose} objects"));
            at_work.recv().context("the packing broke off")
        })?
    }
}

/// Says that the memory is not packed, why, and what that means.
pub fn not_packed(error: &anyhow::Error) -> String {
    format!("the memory is not packed, so that git reads it more slowly: {error:#}")
}

#[cfg(test)]
mod tests;
