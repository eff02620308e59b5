//! What was found in the view or left running, in words.

use crate::engine::workspace::Workspace;
use crate::memory;
use crate::memory::Findings;
use crate::process::Survivor;
use crate::project::listed;

/// Processes that are named; the others are counted.
const NAMED: usize = 10;

impl Workspace<'_> {
    /// Tells what was found in the view, and what was done about it.
    pub fn tell_findings(&self, findings: &Findings) {
        match findings.adopted.as_slice() {
            [] => {}
            [path] => self.notice(format!("`{path}` was edited in the view; the edit is committed")),
            all => self.notice(format!(
                "{} files were edited in the view; the edits are committed: {}",
                all.len(),
                listed(all)
            )),
        }
        described(findings).into_iter().for_each(|line| self.warn(line));
    }
}

/// Names the processes that outlived their commands.
pub(in crate::engine) fn named(survivors: &[Survivor]) -> String {
    let named = survivors.iter().take(NAMED).map(Survivor::to_string).collect::<Vec<_>>().join(", ");
    match survivors.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Says for a person what was found in the view.
pub fn described(findings: &Findings) -> Vec<String> {
    let mut lines: Vec<String> = findings.undone.clone();
    for kept in &findings.moved {
        lines.push(memory::moved(kept));
    }
    for path in &findings.restored {
        lines.push(format!("`{path}` is protected and was changed in the view; it was put back"));
    }
    lines.extend(few(&findings.set_aside, "found in the view and set aside", |(path, kept)| {
        format!("what was found at `{path}` is kept as `{}`", kept.display())
    }));
    lines.extend(few(&findings.refused, "in the view not taken in", |(path, why)| {
        format!("`{path}` in the view was not taken in: {why}")
    }));
    lines
}

/// Says something of each, if they are few; of many more than that, how many there are.
fn few<T>(all: &[T], what: &str, line: impl Fn(&T) -> String) -> Vec<String> {
    let mut lines: Vec<String> = all.iter().take(NAMED).map(line).collect();
    if all.len() > NAMED {
        lines.push(format!("{} more files {what}", all.len() - NAMED));
    }
    lines
}
