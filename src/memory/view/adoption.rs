//! What is done about each difference between the view and the newest commit.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Result;

use crate::memory::change::Change;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::guard;
use crate::memory::rules::guard::Policy;
use crate::memory::rules::screen::Screen;
use crate::memory::view::View;
use crate::memory::view::aside;
use crate::memory::view::compare::Difference;

/// What a look at the view found and did. Paths are relative to the memory's root.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Findings {
    /// Edits taken in, as a commit by `external`.
    pub adopted: Vec<String>,
    /// Protected files put back, or taken away again; the found bytes are in `set_aside`.
    pub restored: Vec<String>,
    /// Files that were missing or lagged, shown anew.
    pub projected: Vec<String>,
    /// What was moved out of the view, and where it is kept.
    pub set_aside: Vec<(String, PathBuf)>,
    /// What was left lying there and not taken in, and why.
    pub refused: Vec<(String, String)>,
    /// The refs that keep what the branch was moved to by something else; it was put back.
    pub moved: Vec<String>,
    /// What something else did to the memory's repository and its journal, in sentences; it was undone.
    pub undone: Vec<String>,
}

impl Findings {
    /// Tells whether a protected file, or the branch itself, was changed behind longhaul's back.
    pub fn tampered(&self) -> bool {
        !self.restored.is_empty() || !self.moved.is_empty() || !self.undone.is_empty()
    }

    /// Tells whether nothing was found.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(in crate::memory) fn extend(&mut self, other: Self) {
        self.adopted.extend(other.adopted);
        self.restored.extend(other.restored);
        self.projected.extend(other.projected);
        self.set_aside.extend(other.set_aside);
        self.refused.extend(other.refused);
        self.moved.extend(other.moved);
        self.undone.extend(other.undone);
    }
}

/// Says that the branch was put back, and where what was found there is kept.
pub fn moved(kept: &str) -> String {
    format!("something else moved the memory's branch; it was put back, and what was found is kept: {kept}")
}

/// What is left to do once the found things are safe.
#[derive(Default)]
pub(super) struct Todo {
    /// Edits to commit.
    pub(super) adopt: Vec<Change>,
    /// Files to show as the commit has them.
    pub(super) show: Vec<String>,
    /// Files to take out of the view.
    pub(super) hide: Vec<String>,
}

/// Sorts the differences; moves aside what may not stay, and changes nothing else.
pub(super) fn sort(
    differences: BTreeMap<String, Difference>,
    (view, snapshot): (&View<'_>, &Snapshot<'_>),
    (policy, screen): (Policy, &Screen),
    keep_in: &Path,
    findings: &mut Findings,
) -> Result<Todo> {
    let mut todo = Todo::default();
    for (path, difference) in differences {
        let is_merged = matches!(difference, Difference::Merged(_));
        match difference {
            Difference::Missing | Difference::Lags => {
                findings.projected.push(path.clone());
                todo.show.push(path);
            }
            Difference::Leftover => todo.hide.push(path),
            Difference::Ignored(why) => findings.refused.push((path, why)),
            Difference::Edited(bytes) | Difference::Merged(bytes) | Difference::Added(bytes)
                if may_adopt(policy, snapshot, &path, &bytes)? =>
            {
                let old = snapshot.read(&path)?.unwrap_or_default();
                match screen.added(&old, &bytes).or_else(|| screen.added(b"", path.as_bytes())) {
                    None => {
                        findings.adopted.push(path.clone());
                        todo.show.extend(is_merged.then(|| path.clone()));
                        todo.adopt.push(Change::put(path, bytes));
                    }
                    Some(why) => {
                        findings.refused.push((path.clone(), why));
                        move_aside(&path, (view, snapshot), keep_in, (findings, &mut todo))?;
                    }
                }
            }
            Difference::Overtaken(why) => {
                findings.refused.push((path.clone(), why));
                move_aside(&path, (view, snapshot), keep_in, (findings, &mut todo))?;
            }
            Difference::Edited(_) | Difference::Merged(_) | Difference::Added(_) | Difference::InTheWay => {
                if guard::is_guarded(policy, &path) {
                    findings.restored.push(path.clone());
                }
                move_aside(&path, (view, snapshot), keep_in, (findings, &mut todo))?;
            }
        }
    }
    Ok(todo)
}

/// Takes what was found out of the view, and lets what is committed be shown in its place.
fn move_aside(
    path: &str,
    (view, snapshot): (&View<'_>, &Snapshot<'_>),
    keep_in: &Path,
    (findings, todo): (&mut Findings, &mut Todo),
) -> Result<()> {
    findings.set_aside.push((path.to_owned(), aside::keep(view, path, keep_in)?));
    todo.show.extend(snapshot.files_at(path)?.into_keys());
    Ok(())
}

fn may_adopt(policy: Policy, snapshot: &Snapshot<'_>, path: &str, found: &[u8]) -> Result<bool> {
    if guard::is_protected(policy, path) {
        return Ok(false);
    }
    let old = snapshot.read(path)?.unwrap_or_default();
    Ok(guard::may_replace(policy, path, &old, found))
}

/// Returns the subject and the body of the commit that takes edits in.
pub(super) fn message(adopt: &[Change]) -> (String, String) {
    match adopt {
        [one] => (format!("memory: adopt {}", one.path), String::new()),
        several => {
            let lines: Vec<String> = several.iter().map(|change| format!("- {}", change.path)).collect();
            (format!("memory: adopt {} files", several.len()), lines.join("\n"))
        }
    }
}
