//! Puts a damaged memory in order as far as that can be; nothing that was found is thrown away.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use git2::Oid;

use crate::memory::Place;
use crate::memory::aside;
use crate::memory::fsck::Look;
use crate::memory::fsck::Shown;
use crate::memory::fsck::State;
use crate::memory::fsck::reach;
use crate::memory::fsck::sources::Sources;
use crate::memory::journal::Journal;
use crate::memory::recovery;
use crate::memory::recovery::identity;
use crate::memory::repository::branch;
use crate::memory::repository::branch::BRANCH;
use crate::memory::repository::exchange;
use crate::memory::repository::loose::Loose;
use crate::memory::seal::layout;
use crate::memory::view::projection::Projection;

/// A lost folder may hide others that are lost; so often it is looked again.
const ROUNDS: usize = 40;

/// Mends what can be, and returns how the memory looks then, and what was given up; to be called under the write lock.
pub(super) fn mend(place: &Place) -> Result<(Look<'_>, Option<String>)> {
    let mut look = Look::at(place)?;
    let keep_in = place.state.join("found");
    let journal = match &mut look.journal {
        State::Whole(journal) => Some(journal.as_mut()),
        _ => None,
    };
    let sources = Sources::of(place, journal)?;
    set_aside(&look, &keep_in)?;
    salvage(&look, &keep_in)?;
    for _ in 0..ROUNDS {
        look = Look::at(place)?;
        if put_back(&look, &sources)? == 0 {
            break;
        }
    }
    let lost = mend_branch(&mut look, &keep_in)?;
    mend_record(&Look::at(place)?, &keep_in)?;
    Ok((Look::at(place)?, lost))
}

/// Takes away what is in the way: foreign files, locks and half-written files of killed processes, damaged objects, refs
/// that name nothing.
fn set_aside(look: &Look<'_>, keep_in: &Path) -> Result<()> {
    let repository = &look.place.repository;
    for foreign in &look.foreign {
        layout::set_aside(repository, foreign, keep_in)?;
    }
    // Who is at work with git has a moment to end.
    branch::clear_locks(repository)?;
    for path in look.inventory.halves.iter().map(|name| repository.join("objects").join(name)) {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.with_context(|| format!("could not remove `{}`", path.display()))?;
    }
    let objects = repository.join("objects");
    for id in &look.inventory.damaged {
        keep(&Loose(&objects).path(*id), &format!("objects/{id}"), keep_in)?;
    }
    for name in look.refs.nonsense.iter().filter(|name| *name != BRANCH) {
        keep(&repository.join(name), name, keep_in)?;
    }
    if look.view == Shown::Damaged {
        keep(&look.place.state.join("view.json"), "view.json", keep_in)?;
    }
    if matches!(look.journal, State::Foreign) {
        recovery::set_aside(&look.place.state)?;
    }
    Ok(())
}

/// Gives packs the index they should have, and takes out of damaged ones what is left in them.
fn salvage(look: &Look<'_>, keep_in: &Path) -> Result<()> {
    let objects = look.place.repository.join("objects");
    for pack in &look.inventory.packs {
        let index = pack.path.with_extension("idx");
        let name = |path: &Path| format!("objects/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if let Some(bytes) = &pack.index {
            keep(&index, &name(&index), keep_in)?;
            exchange::put(&index, bytes).with_context(|| format!("could not write `{}`", index.display()))?;
            continue;
        }
        for object in pack.left.iter().filter_map(|id| pack.read(*id)) {
            Loose(&objects).mend(&object)?;
        }
        for kind in ["pack", "idx", "rev", "bitmap", "mtimes"] {
            let path: PathBuf = pack.path.with_extension(kind);
            keep(&path, &name(&path), keep_in)?;
        }
    }
    if !look.inventory.packs.is_empty() {
        // It may list what is gone; git makes it again.
        keep(&objects.join("pack/multi-pack-index"), "objects/multi-pack-index", keep_in)?;
    }
    Ok(())
}

fn keep(path: &Path, name: &str, keep_in: &Path) -> Result<()> {
    let kept = aside::keep(path, &format!("memory.git/{name}"), keep_in);
    kept.map(|_| ()).with_context(|| format!("could not set `{}` aside", path.display()))
}

/// Writes missing objects that can be had; returns how many.
fn put_back(look: &Look<'_>, sources: &Sources) -> Result<usize> {
    let objects = look.place.repository.join("objects");
    let named = look.missing.iter().map(|(id, _)| *id).chain(look.unrecorded.iter().copied());
    let mut written = 0;
    for object in named.filter_map(|id| sources.get(id)) {
        Loose(&objects).mend(&object)?;
        written += 1;
    }
    Ok(written)
}

/// Puts the branch where the journal says, else where it is, else where git's record has it last: the first of these whose
/// folders are there. The journal follows. Says so when newer commits are lost by that.
fn mend_branch(look: &mut Look<'_>, keep_in: &Path) -> Result<Option<String>> {
    let repository = &look.place.repository;
    let recorded = look.record.iter().rev().filter_map(|line| line.ids.last().copied());
    let shown = Projection::of(&look.place.state).any()?.and_then(|id| Oid::from_str(&id).ok());
    let named = look.head().into_iter().chain(look.refs.branch()).chain(recorded).chain(shown);
    let head = named.into_iter().find(|commit| reach::has_folders(&look.inventory, *commit));
    look.inventory.require_read()?;
    let Some(head) = head else { return Ok(None) };
    let lost = look.head().filter(|wanted| *wanted != head);
    let branch = repository.join(BRANCH);
    if look.refs.branch() != Some(head) {
        let found = look.refs.branch().filter(|found| look.inventory.has(*found));
        if let Some(found) = found {
            let kept = repository.join(format!("refs/longhaul/found/{found}"));
            exchange::put(&kept, format!("{found}\n").as_bytes()).context("could not keep what was found at `main`")?;
        }
        keep(&branch, BRANCH, keep_in)?;
        exchange::put(&branch, format!("{head}\n").as_bytes()).context("could not put `main` back")?;
    }
    follow(look, head)?;
    Ok(lost.map(|lost| format!("the commit {lost} is lost; the memory goes on from the one before it, {head}")))
}

/// Lets the journal begin anew where it does not know of the branch.
fn follow(look: &mut Look<'_>, head: Oid) -> Result<()> {
    recovery::sync_folder(&look.place.repository)?;
    match &mut look.journal {
        State::Whole(journal) if journal.head() == Some(head) && !journal.has_damaged_header() => Ok(()),
        State::Whole(journal) => journal.restart(Some(head)),
        State::Foreign | State::Nothing => {
            let identity = match look.identity {
                Some(identity) => identity,
                None => identity::known_or_new(&look.place.repository)?,
            };
            Journal::create(&look.place.state, identity, Some(head)).map(|_| ())
        }
    }
}

/// Takes lines out of git's record of the branch that name what is not there.
fn mend_record(look: &Look<'_>, keep_in: &Path) -> Result<()> {
    if look.unrecorded.is_empty() {
        return Ok(());
    }
    let path = look.place.repository.join("logs").join(BRANCH);
    let good = look.record.iter().filter(|line| {
        let is_there = |id: &Oid| look.inventory.has(*id);
        line.ids.iter().all(is_there)
    });
    let text: String = good.map(|line| format!("{}\n", line.text)).collect();
    keep(&path, &format!("logs/{BRANCH}"), keep_in)?;
    exchange::put(&path, text.as_bytes()).with_context(|| format!("could not write `{}`", path.display()))
}
