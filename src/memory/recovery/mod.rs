//! What a killed process or a power cut left is put in order when a memory is opened, under the write lock.
//!
//! The journal goes first, before libgit2 sees anything: an object cut in half makes it spin for ever. Its commits are
//! written again where their files are not whole, and the branch is put where its newest record says.

mod doubt;
pub(super) mod identity;

use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::ErrorKind;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use anyhow::Result;
use git2::Oid;

use crate::clock::Clock;
use crate::memory::Place;
use crate::memory::aside;
use crate::memory::journal;
use crate::memory::journal::Identity;
use crate::memory::journal::Journal;
use crate::memory::repository;
use crate::memory::repository::Repository;
use crate::memory::repository::branch;
use crate::memory::repository::branch::BRANCH;
use crate::memory::repository::branch::From;
use crate::memory::repository::exchange;
use crate::memory::repository::loose::Loose;
use crate::memory::repository::new_repository::CONFIG;
use crate::memory::repository::new_repository::OLD_CONFIG;
use crate::memory::repository::object::Object;
use crate::memory::seal::layout;
use crate::memory::seal::shortcuts;

/// After so many commits since the checkpoint the next one is made when the memory is opened.
const MANY: u64 = 200;

/// A memory that was opened.
pub(super) struct Found {
    pub(super) repository: Repository,
    pub(super) journal: Option<Journal>,
    /// What was found and done, in sentences.
    pub(super) told: Vec<String>,
    pub(super) order: Order,
}

/// Whether what a kill or a power cut left was put in order, or is only seen past.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Order {
    Made,
    Seen,
}

/// Opens a memory to read, while another process writes or the disk cannot be written; changes nothing. What is only in the
/// journal is read from there.
pub(super) fn look(place: &Place) -> Result<Found> {
    let identity = identity::known(&place.repository)?;
    let repository = repository::open(&place.repository)?;
    // Before the journal: who writes meanwhile moves it first.
    let at = branch::at(&repository)?;
    let found = identity.map(|identity| Journal::open(&place.state, &identity)).transpose()?;
    let mut journal = match found {
        Some(journal::Found::Journal(journal)) => Some(journal),
        _ => None,
    };
    let mut told = Vec::new();
    if let Some(journal) = &mut journal {
        let objects = repository.objects();
        let mut unwritten = Vec::new();
        journal.each(&mut |record| {
            let is_missing = |object: &Object| !matches!(Loose(&objects).is_whole(object.id), Ok(Some(true)));
            unwritten.extend(record.objects.into_iter().filter(is_missing));
            Ok(())
        })?;
        if !unwritten.is_empty() {
            repository::lay_over(&repository, &unwritten)?;
        }
    }
    if let Some(doubted) = &mut journal
        && let Some(head) = doubt::newest(&repository, doubted, at)?
        && at == Some(head)
    {
        let text = "the journal of the memory is damaged; what its branch has is shown, and the next command that writes puts it in order";
        told.push(text.to_owned());
        journal = None;
    }
    Ok(Found { repository, journal, told, order: Order::Seen })
}

/// Opens a memory under the write lock and puts it in order; on a disk that cannot take that it is only looked at.
pub(super) fn open_or_look(place: &Place) -> Result<Found> {
    open(place).or_else(|error| {
        if !is_of_the_disk(&error) {
            return Err(error);
        }
        let mut found = look(place)?;
        found
            .told
            .push(format!("the memory can be read and not written, since it cannot be put in order before: {error:#}"));
        Ok(found)
    })
}

/// Tells whether a disk that takes nothing is the cause, and not what lies there.
pub(super) fn is_of_the_disk(error: &anyhow::Error) -> bool {
    use ErrorKind::*;
    let kinds = [StorageFull, QuotaExceeded, ReadOnlyFilesystem, PermissionDenied];
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|error| kinds.contains(&error.kind()))
}

/// Opens a memory and puts it in order; to be called under the write lock.
pub(super) fn open(place: &Place) -> Result<Found> {
    let mut told = tidy(place)?;
    let is_known = identity::known(&place.repository)?.is_some();
    let identity = identity::known_or_new(&place.repository)?;
    let known = match Journal::open(&place.state, &identity)? {
        journal::Found::Journal(mut journal) => {
            let objects = place.repository.join("objects");
            let mended = replay(&mut journal, &objects)?;
            if mended > 0 {
                told.push(format!("{mended} damaged objects of the memory were written again from its journal"));
            }
            Some(journal)
        }
        journal::Found::Foreign => {
            set_aside(&place.state)?;
            told.push("the journal of the memory is damaged or another memory's; it was set aside".to_owned());
            None
        }
        journal::Found::Nothing => {
            if is_known && place.repository.join(BRANCH).exists() {
                told.push("the journal of the memory is gone; it goes on from its branch as it is".to_owned());
            }
            None
        }
    };
    let repository = repository::open(&place.repository)?;
    let journal = match known {
        Some(mut journal) => {
            doubt::settle(&repository, &mut journal, &mut told)?;
            follow(&repository, &mut journal, &mut told)?;
            if journal.commits() > MANY {
                checkpoint(&repository, &mut journal)?;
            }
            journal
        }
        None => begin(place, &repository, identity, &mut told)?,
    };
    write_down(&place.state, &told);
    Ok(Found { repository, journal: Some(journal), told, order: Order::Made })
}

/// Takes away what killed processes left in the way, and what has no place in the repository.
fn tidy(place: &Place) -> Result<Vec<String>> {
    let (repository, objects) = (&place.repository, place.repository.join("objects"));
    let mut told = Vec::new();
    // What is no repository at all, opening it says.
    if !objects.is_dir() {
        return Ok(told);
    }
    let locks = branch::clear_locks(repository)?.len();
    if locks > 0 {
        told.push(format!("locks that killed processes had left in the memory were removed: {locks}"));
    }
    let halves = repository::sweep(&objects)?;
    if halves > 0 {
        told.push(format!("half-written objects of killed processes were removed from the memory: {halves}"));
    }
    for foreign in layout::look(repository).into_iter().chain(shortcuts::look(place)) {
        let kept = layout::set_aside(repository, &foreign, &place.state.join("found"))?;
        told.push(foreign.told(kept.as_deref()));
    }
    bring_settings_up(repository)?;
    // In a copied memory these are other files with the same bytes.
    shortcuts::renew(place);
    Ok(told)
}

/// Gives a memory that an older longhaul made the settings of a new one.
fn bring_settings_up(repository: &Path) -> Result<()> {
    let path = repository.join("config");
    if std::fs::read(&path).is_ok_and(|bytes| bytes == OLD_CONFIG.as_bytes()) {
        exchange::put(&path, CONFIG.as_bytes()).with_context(|| format!("could not write `{}`", path.display()))?;
    }
    Ok(())
}

/// Writes down what was found and done, as the events of sessions are. That it could not be written is no reason to stop.
pub(super) fn write_down(state: &Path, told: &[String]) {
    let now = Clock::system().now().to_string();
    let lines = told.iter().map(|text| {
        let event = serde_json::json!({"at": now, "event": "recovered", "text": text});
        format!("{event}\n")
    });
    let lines: String = lines.collect();
    if !lines.is_empty() {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(state.join("events.jsonl"));
        let _ = file.and_then(|mut file| file.write_all(lines.as_bytes()));
    }
}

/// Takes folders and pipes away that lie where files of ours have to be, and says so.
pub(super) fn make_way(place: &Place) -> Result<Vec<String>> {
    let mut told = Vec::new();
    let own = ["write.lock", "view.json", "pack.lock"].map(|name| place.state.join(name));
    for path in own.into_iter().chain([place.repository.join("packed-refs")]) {
        let kept = aside::make_way(&path, &place.state.join("found"));
        if let Some(kept) = kept.with_context(|| format!("could not set `{}` aside", path.display()))? {
            told.push(format!(
                "no file lay at `{}`, where a file has to be; what lay there is kept as `{}`",
                path.display(),
                kept.display()
            ));
        }
    }
    write_down(&place.state, &told);
    Ok(told)
}

/// Syncs all files of the memory and begins the journal anew.
pub(super) fn checkpoint(repository: &Repository, journal: &mut Journal) -> Result<()> {
    let head = journal.head();
    sync_all(repository)?;
    journal.restart(head)
}

/// Syncs all that was written into the repository.
pub(super) fn sync_all(repository: &Repository) -> Result<()> {
    sync_folder(&repository.objects())
}

/// Syncs the disk on which a folder of the memory lies.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    let sync = || rustix::fs::syncfs(File::open(folder)?).map_err(std::io::Error::from);
    sync().context("could not sync the memory")
}

/// Writes the objects of the journal where their files are missing or not whole; returns how many were damaged.
fn replay(journal: &mut Journal, objects: &Path) -> Result<usize> {
    let mut damaged = 0;
    journal.each(&mut |record| {
        for object in &record.objects {
            damaged += usize::from(Loose(objects).mend(object)?);
        }
        Ok(())
    })?;
    Ok(damaged)
}

/// Puts the branch where the journal says, if it only lags; where something else moved it, the next look sees to that.
fn follow(repository: &Repository, journal: &mut Journal, told: &mut Vec<String>) -> Result<()> {
    let at = branch::at(repository)?;
    let Some(head) = journal.head() else {
        // It was begun when there was no branch, and one was brought back since.
        return match sound(repository, at)? {
            None => Ok(()),
            back => sync_all(repository).and_then(|()| journal.restart(back)),
        };
    };
    if at == Some(head) {
        return Ok(());
    }
    let (mut known, mut last) = (false, None);
    journal.each(&mut |record| {
        known |= record.old == at;
        last = Some(record.old);
        Ok(())
    })?;
    // The branch's file takes turns with the one before it, which after a power cut may hold what it held before the
    // checkpoint: older than all records.
    let lags = || at.is_some_and(|at| repository::descends(repository, head, at));
    if at.is_none() || known || lags() {
        let was_taken = at.is_some_and(|at| branch::was_taken_back(repository, head, at));
        branch::move_branch(repository, From::Anywhere, head, ("recovered", 0))?;
        // One commit behind is what any kill leaves, unless git's record says more.
        if last != Some(at) || was_taken {
            let was = at.map_or_else(|| "unreadable or gone".to_owned(), |at| format!("at `{at}`"));
            told.push(format!("the branch of the memory was {was}; it is at `{head}` again, as the journal says"));
        }
    }
    Ok(())
}

/// Returns a commit if it can be read.
fn sound(repository: &Repository, commit: Option<Oid>) -> Result<Option<Oid>> {
    let Some(commit) = commit else { return Ok(None) };
    Ok(repository::is_sound(repository, commit)?.then_some(commit))
}

/// Makes a journal for a memory that has none, with the branch as it is, or as git's own record says.
fn begin(place: &Place, repository: &Repository, identity: Identity, told: &mut Vec<String>) -> Result<Journal> {
    let head = match sound(repository, branch::at(repository)?)? {
        Some(head) => Some(head),
        None => {
            let logged = branch::newest_logged(repository)?;
            if let Some(logged) = logged {
                branch::move_branch(repository, From::Anywhere, logged, ("recovered", 0))?;
                told.push(format!(
                    "the branch of the memory was unreadable or gone; git's record has it at `{logged}`"
                ));
            }
            logged
        }
    };
    sync_all(repository)?;
    Journal::create(&place.state, identity, head)
}

/// Moves the journal away from where it is looked for.
pub(super) fn set_aside(state: &Path) -> Result<()> {
    let path = Journal::path(state);
    let kept = aside::keep(&path, "journal", &state.join("found"));
    kept.map(|_| ()).with_context(|| format!("could not set `{}` aside", path.display()))
}

#[cfg(test)]
mod tests;
