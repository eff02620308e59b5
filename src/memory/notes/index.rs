//! `MEMORY.md`, the index of the notes: a line each, newest first, made from their front matter in the commit that
//! changes a note.
//!
//! The file is its own record: a change moves one line and reads no other note, so that it costs the same in a large
//! memory. Its lines are also the manifest from which notes are recalled.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use anyhow::Result;
use jiff::civil::Date;

use crate::memory::change::Change;
use crate::memory::notes::note::Front;
use crate::memory::notes::note::NOTES;
use crate::memory::notes::note::NoteKind;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::path;
use crate::memory::store::Store;

/// The index.
pub const INDEX: &str = "MEMORY.md";

/// Longest line, in characters; only a long path makes one longer.
const LINE: usize = 150;

/// The index, as it is read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Index {
    /// What stands above the notes.
    pub head: String,
    /// Newest first.
    pub notes: Vec<Listed>,
    /// Files in the notes' folder that are not listed, since they have no front matter or an unknown type.
    pub unlisted: usize,
}

/// A line of the index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listed {
    /// Inside memory, such as `notes/db.md`.
    pub path: String,
    pub name: String,
    pub kind: NoteKind,
    /// When the note was written last, in UTC.
    pub written: Date,
    pub description: String,
}

impl Listed {
    fn of(path: &str, front: Front, written: Date) -> Option<Self> {
        let Front { name, description, kind } = front;
        (!matches!(kind, NoteKind::Unknown(_))).then(|| Self {
            path: path.to_owned(),
            name: one_line(&name).replace(['[', ']'], ""),
            kind,
            written,
            description: one_line(&description),
        })
    }

    /// Renders the line, cut to its length.
    #[must_use]
    pub fn line(&self) -> String {
        let Self { path, name, kind, written, description } = self;
        let line = format!("- [{name}]({path}) · {kind} · {written} · {description}");
        if line.chars().count() <= LINE {
            return line;
        }
        let fixed = line.chars().count() - description.chars().count();
        let room = LINE.saturating_sub(fixed + 1);
        let cut: String = description.chars().take(room).collect();
        format!("- [{name}]({path}) · {kind} · {written} · {}…", cut.trim_end())
    }

    fn read(line: &str) -> Option<Self> {
        let (name, rest) = line.strip_prefix("- [")?.split_once("](")?;
        let (path, rest) = rest.split_once(") · ")?;
        let (kind, rest) = rest.split_once(" · ")?;
        let (written, description) = rest.split_once(" · ")?;
        if !is_note(path) {
            return None;
        }
        Some(Self {
            path: path.to_owned(),
            name: name.to_owned(),
            kind: NoteKind::of(kind),
            written: written.parse().ok()?,
            description: description.to_owned(),
        })
    }
}

impl Index {
    fn read(text: &str) -> Self {
        let mut index = Self::default();
        for line in text.lines() {
            match Listed::read(line) {
                Some(listed) => index.notes.push(listed),
                None => index.head.push_str(&format!("{line}\n")),
            }
        }
        index
    }

    fn render(&self) -> String {
        let lines: String = self.notes.iter().map(|note| format!("{}\n", note.line())).collect();
        match (self.head.trim_end(), lines.as_str()) {
            ("", lines) => lines.to_owned(),
            (head, "") => format!("{head}\n"),
            (head, lines) => format!("{head}\n\n{lines}"),
        }
    }
}

impl Store {
    /// Reads the index.
    pub fn index(&self) -> Result<Index> {
        let snapshot = self.snapshot()?;
        let mut index = Index::read(&text(&snapshot)?);
        index.unlisted = snapshot.files_at(NOTES)?.len().saturating_sub(index.notes.len());
        Ok(index)
    }
}

/// Says which of these notes is not listed though it is written, since its type is none.
pub(in crate::memory) fn unlisted(changes: &[Change]) -> Option<String> {
    let notes = changes.iter().filter(|change| is_note(&change.path)).filter_map(|change| change.bytes.as_ref());
    let kinds = notes.filter_map(|bytes| Front::read(bytes).ok()).map(|front| front.kind);
    kinds.into_iter().find_map(|kind| match kind {
        NoteKind::Unknown(kind) => {
            Some(format!("It is not listed: its type `{kind}` is none of user, feedback, project and reference."))
        }
        _ => None,
    })
}

/// Tells whether a file at this path is a note.
pub(in crate::memory) fn is_note(path: &str) -> bool {
    path != NOTES && path::is_at_or_below(path, NOTES)
}

/// Adds to changes of notes the change of the index that belongs to them.
pub(in crate::memory) fn follow(snapshot: &Snapshot<'_>, changes: &[Change], today: Date) -> Result<Vec<Change>> {
    let mut all = changes.to_vec();
    if !changes.iter().any(|change| is_note(&change.path)) || changes.iter().any(|change| change.path == INDEX) {
        return Ok(all);
    }
    let old = text(snapshot)?;
    let mut index = Index::read(&old);
    let changed: BTreeSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    let before = written_before(snapshot, changes, &index)?;
    let mut notes: Vec<Listed> = Vec::new();
    for Change { path, bytes } in changes.iter().filter(|change| is_note(&change.path)) {
        let Some(bytes) = bytes else { continue };
        let written = before.get(bytes).copied().unwrap_or(today);
        notes.extend(Front::read(bytes).ok().and_then(|front| Listed::of(path, front, written)));
    }
    index.notes.retain(|note| !changed.contains(note.path.as_str()));
    index.notes.splice(0..0, notes);
    let new = index.render();
    if new != old {
        all.push(Change::put(INDEX, new));
    }
    Ok(all)
}

/// Returns when the notes that these changes take away were written, by their bytes: one that comes back with the same
/// bytes only got another name.
fn written_before(snapshot: &Snapshot<'_>, changes: &[Change], index: &Index) -> Result<BTreeMap<Vec<u8>, Date>> {
    let gone: BTreeSet<&str> =
        changes.iter().filter(|change| change.bytes.is_none()).map(|c| c.path.as_str()).collect();
    let mut written = BTreeMap::new();
    for note in index.notes.iter().filter(|note| gone.contains(note.path.as_str())) {
        written.extend(snapshot.read(&note.path)?.map(|bytes| (bytes, note.written)));
    }
    Ok(written)
}

fn text(snapshot: &Snapshot<'_>) -> Result<String> {
    let bytes = snapshot.read(INDEX)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::memory::fixture::Memory;

    fn seeded() -> Memory {
        Memory::project(&[("MEMORY.md", "# Memory\n\nWords.\n")])
    }

    fn note(name: &str, kind: &str) -> String {
        format!("---\nname: {name}\ndescription: about {name}\ntype: {kind}\n---\n{name}\n")
    }

    #[test]
    fn each_change_of_a_note_changes_its_line_in_the_same_commit() {
        let mut memory = seeded();
        assert!(!memory.create("notes/db.md", &note("db", "project")).is_error);
        assert!(!memory.create("notes/ui/color.md", &note("color", "user")).is_error);
        assert_eq!(
            memory.committed("MEMORY.md").unwrap(),
            "# Memory\n\nWords.\n\n- [color](notes/ui/color.md) · user · 2027-01-15 · about color\n\
             - [db](notes/db.md) · project · 2027-01-15 · about db\n"
        );
        assert_eq!(memory.shown("MEMORY.md"), memory.committed("MEMORY.md"), "the view follows");
        assert_eq!(memory.git(&["log", "-1", "--format=%s", "--stat=200"]).matches(" | ").count(), 2);

        let edit = json!({"command": "str_replace", "path": "/memories/notes/db.md", "old_str": "about db", "new_str": "port"});
        assert!(!memory.run(&edit).is_error);
        let rename = json!({"command": "rename", "old_path": "/memories/notes/ui", "new_path": "/memories/notes/look"});
        assert!(!memory.run(&rename).is_error);
        let index = memory.store.index().unwrap();
        let lines: Vec<String> = index.notes.iter().map(Listed::line).collect();
        assert_eq!(
            lines,
            [
                "- [color](notes/look/color.md) · user · 2027-01-15 · about color",
                "- [db](notes/db.md) · project · 2027-01-15 · port",
            ]
        );

        assert!(!memory.run(&json!({"command": "delete", "path": "/memories/notes"})).is_error);
        assert_eq!(memory.committed("MEMORY.md").unwrap(), "# Memory\n\nWords.\n");
    }

    #[test]
    fn a_renamed_note_keeps_its_age() {
        let mut memory = seeded();
        let line = "- [db](notes/db.md) · project · 2026-03-01 · about db";
        let files = [("notes/db.md", note("db", "project")), ("MEMORY.md", format!("# Memory\n\n{line}\n"))];
        let changes = files.map(|(path, text)| Change::put(path, text));
        memory.store.write("seed", &changes, &crate::memory::Origin::of(crate::memory::Author::Longhaul)).unwrap();
        let rename =
            json!({"command": "rename", "old_path": "/memories/notes/db.md", "new_path": "/memories/notes/d.md"});
        assert!(!memory.run(&rename).is_error);
        assert_eq!(
            memory.committed("MEMORY.md").unwrap(),
            "# Memory\n\n- [db](notes/d.md) · project · 2026-03-01 · about db\n"
        );
    }

    #[test]
    fn what_a_person_adds_by_hand_is_listed_too_and_what_is_no_note_is_counted() {
        let mut memory = seeded();
        memory.edit("notes/a.md", &note("a", "feedback"));
        memory.edit("notes/b.md", "no front matter");
        memory.edit("notes/c.md", &note("c", "idea"));
        memory.inspect();
        let index = memory.store.index().unwrap();
        assert_eq!((index.notes.len(), index.unlisted), (1, 2));
        assert_eq!(index.notes[0].kind, NoteKind::Feedback);
        assert_eq!(memory.subjects()[0], "memory: adopt 3 files", "one commit takes them in with the index");
        assert!(memory.inspect().is_empty());
    }

    #[test]
    fn a_note_of_an_unknown_type_is_written_and_the_agent_is_told_that_nobody_will_see_it() {
        let mut memory = seeded();
        let told = memory.create("notes/a.md", &note("a", "idea")).as_text();
        let expected = "It is not listed: its type `idea` is none of user, feedback, project and reference.";
        assert_eq!(told, format!("File created successfully at: /memories/notes/a.md\n{expected}"));
        assert!(!memory.create("notes/b.md", &note("b", "user")).as_text().contains("not listed"), "its twin");
    }

    #[test]
    fn an_index_that_was_changed_beside_a_new_note_is_put_back_with_the_note_in_it() {
        let mut memory = seeded();
        memory.edit("notes/a.md", &note("a", "user"));
        memory.edit("MEMORY.md", "# Memory\n\nWords.\nmine\n");
        assert_eq!(memory.inspect().restored, ["MEMORY.md"]);
        assert!(memory.shown("MEMORY.md").unwrap().contains("about a"));
        assert!(memory.inspect().is_empty(), "nobody touched it since");
    }

    #[test]
    fn a_memory_without_a_projects_rules_has_no_index() {
        let mut memory = Memory::free(&[]);
        assert!(!memory.create("notes/a", "no front matter").is_error);
        assert_eq!(memory.committed("MEMORY.md"), None);
    }

    #[test]
    fn a_line_reads_back_and_is_cut_to_its_length() {
        let front = Front {
            name: "a [b]\nc".to_owned(),
            description: format!("x · y) · z {}", "é".repeat(200)),
            kind: NoteKind::Project,
        };
        let listed = Listed::of("notes/a b.md", front, "2027-01-15".parse().unwrap()).unwrap();
        let line = listed.line();
        assert_eq!(line.chars().count(), LINE);
        assert!(line.ends_with("é…"), "{line}");
        let read = Listed::read(&line).unwrap();
        assert_eq!((read.path.as_str(), read.name.as_str(), read.line()), ("notes/a b.md", "a b c", line));
        for other in ["- [progress.md](progress.md): the log", "- [a](notes/a) · user · soon · x", "# Memory", ""] {
            assert_eq!(Listed::read(other), None, "{other}");
        }
    }

    #[test]
    fn a_kill_between_commit_and_view_loses_no_line() {
        let mut memory = seeded();
        let old = memory.store.head().unwrap().unwrap();
        memory.create("notes/a.md", &note("a", "project"));
        std::fs::write(memory.at("MEMORY.md"), "# Memory\n\nWords.\n").unwrap();
        memory.store.remember_shown(&old).unwrap();
        assert!(!memory.inspect().tampered(), "a view that lags is no edit");
        assert_eq!(memory.shown("MEMORY.md"), memory.committed("MEMORY.md"));
    }
}
