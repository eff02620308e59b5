//! An earlier state of the memory brought back by a person.

use crate::checklist::Checklist;
use crate::failure::Failure;
use crate::memory::CHECKLIST;
use crate::memory::Change;
use crate::memory::Restoration;
use crate::memory::Store;
use crate::memory::Touched;
use crate::memory::Wanted;
use anyhow::Result;

/// Whether it is done, or only shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum How {
    Done,
    Shown,
}

/// What came back, or would.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The commit that has the state.
    pub from: String,
    /// The commit that brought it back; none when nothing differs, or it is only shown.
    pub commit: Option<String>,
    pub touched: Vec<Touched>,
    /// Files that differ and stay as they are.
    pub kept: Vec<String>,
    /// What is to be known of the checklist.
    pub checklist: Option<String>,
}

/// Brings a state back as a new commit.
pub fn restore(memory: &mut Store, wanted: &Wanted, how: How) -> Result<Restored> {
    let mut found = memory.restoration(wanted)?;
    let checklist = put_checklist_together(memory, wanted, &mut found)?;
    let touched = memory.restored(&found)?;
    let differs = !found.changes.is_empty() && how == How::Done;
    let commit = differs.then(|| memory.restore(&found)).transpose()?;
    Ok(Restored { from: found.from, commit, touched, kept: found.kept, checklist })
}

/// Adds the checklist of then with what is known now, and the pinned files that it names.
fn put_checklist_together(memory: &Store, wanted: &Wanted, found: &mut Restoration) -> Result<Option<String>> {
    let Some(then) = found.checklist.take() else { return Ok(None) };
    let problem = |problem| Failure::usage(format!("the checklist of that commit cannot be read: {problem}"));
    let then = Checklist::read(&then).map_err(problem)?;
    // One that cannot be read now is what a person wants to be rid of; nothing is known from it.
    let now = memory.read(CHECKLIST)?.unwrap_or_default();
    let back = then.brought_back(&Checklist::read(&now).unwrap_or_else(|_| Checklist::empty()))?.render();
    if back.as_bytes() == now {
        return Ok(None);
    }
    found.changes.push(Change::put(CHECKLIST, back));
    if !matches!(wanted, Wanted::All(_)) {
        found.changes.extend(memory.pinned_of(&found.from)?);
    }
    Ok(Some("a feature is done there only if it is done now; else its check has to pass again".to_owned()))
}
