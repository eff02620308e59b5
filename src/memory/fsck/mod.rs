//! The memory looked at as a whole, and mended where that can be: `longhaul memory fsck`.
//!
//! It stands on its own feet: the journal, every object, the refs and git's records are read by hand, so that no damage
//! can stop the look. To mend is to look, to put back what can be had from the journal, from the view or from the records of
//! sessions, and to look again; what is still missing then is named.

mod inventory;
mod mend;
mod reach;
pub(super) mod refs;
mod settled;
mod sources;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Result;
use git2::ObjectType;
use git2::Oid;
use serde_json::Value;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::Place;
use crate::memory::fsck::inventory::Inventory;
use crate::memory::fsck::reach::Missing;
use crate::memory::fsck::reach::Walk;
use crate::memory::fsck::refs::Line;
use crate::memory::fsck::refs::Refs;
use crate::memory::journal;
use crate::memory::journal::Identity;
use crate::memory::journal::Journal;

use crate::memory::recovery;
use crate::memory::recovery::identity;
use crate::memory::repository::branch::BRANCH;
use crate::memory::repository::lock::WriteLock;
use crate::memory::seal::layout;
use crate::memory::seal::layout::Foreign;
use crate::memory::seal::shortcuts;

/// Whether damage is only named, or mended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Repair {
    No,
    Yes,
}

/// What a look at the whole memory found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Checkup {
    pub faults: Vec<Fault>,
    /// What is worth a word and hurts nothing.
    pub notes: Vec<String>,
    /// Commits that can be reached.
    pub commits: usize,
    /// Objects that are there as a whole.
    pub objects: usize,
    /// Sessions of which longhaul wrote something into the memory; their records are looked at by who knows these.
    pub sessions: BTreeSet<u32>,
}

/// Something that is damaged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    pub what: String,
    pub mended: bool,
}

impl Checkup {
    /// Tells whether nothing is damaged any more.
    pub fn is_sound(&self) -> bool {
        self.faults.iter().all(|fault| fault.mended)
    }
}

/// Looks at the whole memory, and mends it if that is asked for. Needs no memory that can be opened.
/// `notice` hears of a long wait for another process.
pub fn fsck(place: &Place, repair: Repair, notice: &dyn Fn(&str)) -> Result<Checkup> {
    if place.repository.symlink_metadata().is_err() && !Journal::path(&place.state).exists() {
        let none = format!("there is no memory at `{}`", place.repository.display());
        let hint = "`longhaul init` makes one in a project; `--store` wants the folder that holds `memory.git`";
        return Err(Failure::usage(none).hint(hint).into());
    }
    if !place.repository.join("objects").is_dir() {
        let gone = format!("the memory at `{}` is gone", place.repository.display());
        let hint = "bring it back, for example from a backup; `.longhaul/memory` still shows what was in it last";
        return Err(Failure::new(Kind::Integrity, gone).hint(hint).into());
    }
    if repair == Repair::No {
        return settled::look(place, notice);
    }
    let moved = recovery::make_way(place)?;
    moved.iter().for_each(|text| notice(text));
    let _lock = WriteLock::take(&place.state, notice)?;
    let before = settled::look_twice(place)?;
    if before.faults.is_empty() && before.notes.is_empty() {
        return Ok(before);
    }
    let (after, lost) = mend::mend(place)?;
    let mut after = after.checkup();
    after.notes.extend(lost);
    let unmended = std::mem::take(&mut after.faults);
    let is_left = |fault: &Fault| unmended.iter().any(|left| left.what == fault.what);
    let mended = before.faults.into_iter().filter(|fault| !is_left(fault)).map(|fault| Fault { mended: true, ..fault });
    after.faults = mended.chain(unmended.iter().cloned()).collect();
    Ok(after)
}

/// Tells whether a repository has a commit with all its files and all that came before.
pub(super) fn holds(repository: &Path, head: Option<Oid>) -> Result<bool> {
    let inventory = Inventory::take(&repository.join("objects"))?;
    let mut walk = Walk::of(&inventory);
    head.into_iter().for_each(|head| walk.from(head));
    inventory.require_read()?;
    Ok(walk.missing.is_empty())
}

/// Everything there is to say about a memory.
struct Look<'p> {
    place: &'p Place,
    foreign: Vec<Foreign>,
    identity: Option<Identity>,
    journal: State,
    /// Whether the journal is damaged, and the branch is known to be further on.
    is_overtaken: bool,
    inventory: Inventory,
    refs: Refs,
    /// Git's own record of the branch.
    record: Vec<Line>,
    /// Where git's record of the branch says that it was, though no such commit is there.
    unrecorded: Vec<Oid>,
    missing: Vec<(Oid, Missing)>,
    commits: usize,
    sessions: BTreeSet<u32>,
    view: Shown,
}

/// What lies in the place of the journal.
enum State {
    Whole(Box<Journal>),
    Nothing,
    Foreign,
}

/// What the record of the views says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shown {
    Well,
    Damaged,
}

impl<'p> Look<'p> {
    fn at(place: &'p Place) -> Result<Self> {
        // What names objects comes before these: who writes meanwhile only adds some.
        let identity = identity::known(&place.repository)?;
        let journal = match identity.map(|identity| Journal::open(&place.state, &identity)).transpose()? {
            Some(journal::Found::Journal(journal)) => State::Whole(Box::new(journal)),
            Some(journal::Found::Foreign) => State::Foreign,
            Some(journal::Found::Nothing) => State::Nothing,
            None if Journal::path(&place.state).exists() => State::Foreign,
            None => State::Nothing,
        };
        let (refs, record) = (Refs::read(&place.repository)?, refs::record(&place.repository)?);
        let inventory = Inventory::take(&place.repository.join("objects"))?;
        let mut look = Self {
            place,
            foreign: layout::look(&place.repository).into_iter().chain(shortcuts::look(place)).collect(),
            identity,
            journal,
            is_overtaken: false,
            inventory,
            refs,
            record,
            unrecorded: Vec::new(),
            missing: Vec::new(),
            commits: 0,
            sessions: BTreeSet::new(),
            view: shown(&place.state),
        };
        look.is_overtaken = look.overtakes()?;
        look.walk();
        look.inventory.require_read()?;
        Ok(look)
    }

    fn walk(&mut self) {
        let mut walk = Walk::of(&self.inventory);
        self.head().into_iter().for_each(|head| walk.from(head));
        let (commits, sessions) = (walk.commits, walk.sessions.clone());
        self.refs.good.values().for_each(|id| walk.from(*id));
        for id in self.record.iter().flat_map(|line| line.ids.iter().copied()) {
            match self.inventory.has(id) {
                true => walk.from(id),
                false if walk.missing.contains_key(&id) || self.unrecorded.contains(&id) => {}
                false => self.unrecorded.push(id),
            }
        }
        (self.commits, self.sessions, self.missing) = (commits, sessions, walk.missing.into_iter().collect());
    }

    fn overtakes(&mut self) -> Result<bool> {
        let (State::Whole(journal), Some(branch)) = (&mut self.journal, self.refs.branch()) else { return Ok(false) };
        let head = journal.head();
        if head == Some(branch) || !self.inventory.has(branch) || !journal.is_doubtful()? {
            return Ok(false);
        }
        let mut lags = false;
        journal.each(&mut |record| {
            lags |= record.old == Some(branch);
            Ok(())
        })?;
        let is_there = head.filter(|head| self.inventory.has(*head));
        Ok(!lags && is_there.is_none_or(|head| reach::descends(&self.inventory, branch, head)))
    }

    /// Returns where the branch has to be.
    fn head(&self) -> Option<Oid> {
        match &self.journal {
            State::Whole(journal) if !self.is_overtaken => journal.head(),
            _ => self.refs.branch(),
        }
    }

    fn checkup(&self) -> Checkup {
        let mut faults = Vec::new();
        faults.extend(
            self.foreign.iter().map(|foreign| format!("`{}` in the repository: {}", foreign.name, foreign.why)),
        );
        faults.extend(self.of_journal());
        faults.extend(self.of_refs());
        for id in &self.inventory.damaged {
            faults.push(format!("the file of the object {id} is damaged"));
        }
        for pack in &self.inventory.packs {
            let what = if pack.index.is_some() { "index of the pack" } else { "pack" };
            let name = pack.path.file_name().unwrap_or_default().to_string_lossy();
            faults.push(format!("the {what} `{name}` is damaged or missing"));
        }
        // Files first: they are what a person wrote.
        let rank = |kind: ObjectType| {
            [ObjectType::Blob, ObjectType::Tree].iter().position(|first| *first == kind).unwrap_or(2)
        };
        let mut missing: Vec<_> = self.missing.iter().collect();
        missing.sort_by_key(|(_, missing)| (rank(missing.kind), missing.path.clone()));
        faults.extend(missing.into_iter().map(|(id, missing)| missing.told(*id)));
        faults.extend(
            self.unrecorded.iter().map(|id| format!("git's record of the branch names {id}, which is not there")),
        );
        Checkup {
            faults: faults.into_iter().map(|what| Fault { what, mended: false }).collect(),
            notes: self.notes(),
            commits: self.commits,
            objects: self.inventory.len(),
            sessions: self.sessions.clone(),
        }
    }

    fn of_journal(&self) -> Option<String> {
        let text = match &self.journal {
            State::Foreign => "the journal is damaged, or that of another memory",
            State::Whole(_) if self.is_overtaken => "the journal is damaged, and lacks commits that the branch has",
            State::Whole(journal) if journal.has_damaged_header() => "a header of the journal is damaged",
            State::Whole(_) | State::Nothing => return None,
        };
        Some(text.to_owned())
    }

    fn of_refs(&self) -> Vec<String> {
        let mut faults: Vec<String> =
            self.refs.nonsense.iter().map(|name| format!("`{name}` names no commit")).collect();
        let (head, branch) = (self.head(), self.refs.branch());
        let is_told = self.refs.nonsense.iter().any(|name| name == BRANCH);
        match (head, branch) {
            (Some(head), Some(branch)) if head != branch => {
                faults.push(format!("the branch `main` is at {branch}, and its journal says {head}"));
            }
            (_, None) if !is_told && (head.is_some() || !self.record.is_empty()) => {
                faults.push("the branch `main` is gone".to_owned());
            }
            _ => {}
        }
        faults
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if matches!(self.journal, State::Nothing) && self.refs.branch().is_some() {
            notes.push("there is no journal; the next command begins one".to_owned());
        }
        notes.extend(self.refs.locks.iter().map(|path| format!("a lock was left: `{}`", path.display())));
        notes
            .extend(self.inventory.halves.iter().map(|name| format!("a half-written file was left: `objects/{name}`")));
        notes.extend(
            self.inventory.in_use.iter().map(|name| format!("a git at work is writing `objects/{name}`, it seems")),
        );
        if self.view == Shown::Damaged {
            notes.push("the record of what the view shows is damaged; the view is compared in full".to_owned());
        }
        notes
    }
}

fn shown(state: &Path) -> Shown {
    let bytes = fs::read(state.join("view.json")).unwrap_or_default();
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).peekable();
    let is_whole = |line: &[u8]| serde_json::from_slice::<Value>(line).is_ok();
    // Half a line is what a power cut leaves; it spoils no other.
    match lines.peek().is_some() && !lines.any(is_whole) {
        true => Shown::Damaged,
        false => Shown::Well,
    }
}
