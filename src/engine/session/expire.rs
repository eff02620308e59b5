//! Removes notes that nobody uses any more; history keeps them.

use crate::engine::counted;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::memory::Author;
use crate::memory::Change;
use crate::memory::Listed;
use crate::memory::Origin;
use anyhow::Result;

/// Removes what nobody used for the time that `memory.expire_unused` says; nothing where it says nothing.
pub fn expire(ws: &mut Workspace, session: u32) -> Result<()> {
    let Some(days) = ws.settings.expire_unused else { return Ok(()) };
    let origin = ws.origin(Some(session), None);
    let unused = remove(ws, days, &origin)?;
    if !unused.is_empty() {
        let days = counted(days as usize, "day");
        ws.notice(format!("notes that nobody used for {days} with sessions are removed: {}", names(&unused)));
    }
    Ok(())
}

/// Removes what nobody used for so many days with sessions because a person asks for it; returns what that was.
pub fn prune(ws: &mut Workspace, days: u32) -> Result<Vec<Listed>> {
    remove(ws, days, &Origin::of(Author::External))
}

fn remove(ws: &mut Workspace, days: u32, origin: &Origin) -> Result<Vec<Listed>> {
    let unused = ws.memory.unused_for(days)?;
    if unused.is_empty() {
        return Ok(unused);
    }
    let (notes, days) = (counted(unused.len(), "note"), counted(days as usize, "day"));
    let subject = format!("memory: expire {notes} unused for {days}");
    let changes: Vec<Change> = unused.iter().map(|note| Change::remove(&note.path)).collect();
    let body: String = unused.iter().map(|note| format!("{}\n", note.line())).collect();
    let id = ws.memory.write_told(&subject, &body, &changes, origin)?;
    ws.tell(&Event::Committed { place: "memory".to_owned(), id, subject });
    Ok(unused)
}

fn names(notes: &[Listed]) -> String {
    notes.iter().map(|note| note.path.as_str()).collect::<Vec<_>>().join(", ")
}
