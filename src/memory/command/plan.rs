//! What a command would change, worked out on a snapshot; nothing is written here.

use anyhow::Result;

use crate::memory::change::Change;
use crate::memory::command::Command;
use crate::memory::command::Line;
use crate::memory::command::Target;
use crate::memory::command::edit;
use crate::memory::command::edit::NotUnique;
use crate::memory::command::listing;
use crate::memory::command::page;
use crate::memory::repository::contents::Entry;
use crate::memory::repository::snapshot::Snapshot;
use crate::memory::rules::path;
use crate::message::ToolResult;

/// What a command comes to.
pub(in crate::memory) enum Outcome {
    /// An answer without a change: a view, or what is wrong with the call.
    Answer(ToolResult),
    Write(Plan),
}

/// A change that is possible; whether it is allowed is for the guard.
pub(in crate::memory) struct Plan {
    pub(in crate::memory) subject: String,
    pub(in crate::memory) changes: Vec<Change>,
    /// What the model is told once the change is durable.
    pub(in crate::memory) answer: String,
    pub(in crate::memory) kind: Kind,
}

/// Tells new content from content that only gets another name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::memory) enum Kind {
    Written,
    Moved,
}

/// Works out a command.
pub(in crate::memory) fn plan(snapshot: &Snapshot<'_>, command: &Command, view_chars: usize) -> Result<Outcome> {
    match command {
        Command::View { at, range } => match snapshot.entry(at.clean())? {
            Some(Entry::Folder(_)) => listing::show(at, snapshot, view_chars).map(Outcome::Answer),
            Some(Entry::File(blob)) => {
                Ok(Outcome::Answer(page::show(at, &snapshot.bytes(&blob)?, range.as_ref(), view_chars)))
            }
            None => refuse(format!("The path {at} does not exist. Please provide a valid path.")),
        },
        Command::Create { at, text } => create(snapshot, at, text),
        Command::StrReplace { at, old, new } => replace(snapshot, at, (old, new), view_chars),
        Command::Insert { at, line, text } => insert(snapshot, at, line, text),
        Command::Delete { at } => delete(snapshot, at),
        Command::Rename { from, to } => rename(snapshot, from, to),
    }
}

fn create(snapshot: &Snapshot<'_>, at: &Target, text: &str) -> Result<Outcome> {
    if snapshot.entry(at.clean())?.is_some() {
        return refuse(format!("Error: File {at} already exists"));
    }
    if at.path.names_folder() {
        return refuse(format!("Error: {at} ends with a slash; a file to create needs a name"));
    }
    if let Some(file) = snapshot.file_above(at.clean())? {
        return refuse(format!("Error: Cannot create {at}: {} is a file", path::shown(file)));
    }
    write(
        format!("memory: create {}", at.clean()),
        vec![Change::put(at.clean(), text)],
        format!("File created successfully at: {at}"),
    )
}

fn replace(snapshot: &Snapshot<'_>, at: &Target, (old, new): (&str, &str), view_chars: usize) -> Result<Outcome> {
    let Some(bytes) = snapshot.read(at.clean())? else {
        return refuse(format!("Error: The path {at} does not exist. Please provide a valid path."));
    };
    let Ok(text) = std::str::from_utf8(&bytes) else { return not_text(at) };
    let replaced = match edit::replace(text, old, new) {
        Ok(replaced) => replaced,
        Err(NotUnique::Absent) => {
            return refuse(format!("No replacement was performed, old_str `{old}` did not appear verbatim in {at}."));
        }
        Err(NotUnique::Several(lines)) => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            return refuse(format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. \
                 Please ensure it is unique",
                lines.join(", ")
            ));
        }
    };
    let snippet = page::number(&page::lines(&replaced.text), replaced.first, replaced.last, view_chars);
    let answer = format!(
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
    );
    write(format!("memory: edit {}", at.clean()), vec![Change::put(at.clean(), replaced.text)], answer)
}

fn insert(snapshot: &Snapshot<'_>, at: &Target, line: &Line, text: &str) -> Result<Outcome> {
    let Some(bytes) = snapshot.read(at.clean())? else { return absent(at) };
    let Ok(old) = std::str::from_utf8(&bytes) else { return not_text(at) };
    let all = edit::count(old);
    match usize::try_from(line.number) {
        Ok(after) if after <= all => write(
            format!("memory: insert into {}", at.clean()),
            vec![Change::put(at.clean(), edit::insert(old, after, text))],
            format!("The file {at} has been edited."),
        ),
        _ => refuse(format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: \
             [0, {all}]"
        )),
    }
}

fn delete(snapshot: &Snapshot<'_>, at: &Target) -> Result<Outcome> {
    if at.path.is_root() {
        return refuse("Error: Cannot delete the /memories directory itself".to_owned());
    }
    if snapshot.entry(at.clean())?.is_none() {
        return absent(at);
    }
    let changes = snapshot.files_at(at.clean())?.into_keys().map(Change::remove).collect();
    write(format!("memory: delete {}", at.clean()), changes, format!("Successfully deleted {at}"))
}

fn rename(snapshot: &Snapshot<'_>, from: &Target, to: &Target) -> Result<Outcome> {
    if from.path.is_root() {
        return refuse("Error: Cannot rename the /memories directory itself".to_owned());
    }
    let Some(source) = snapshot.entry(from.clean())? else { return absent(from) };
    if snapshot.entry(to.clean())?.is_some() {
        return refuse(format!("Error: The destination {to} already exists"));
    }
    if path::is_below(to.clean(), from.clean()) {
        return refuse(format!("Error: Cannot move {from} into itself: {to}"));
    }
    if let Some(file) = snapshot.file_above(to.clean())? {
        return refuse(format!("Error: Cannot rename to {to}: {} is a file", path::shown(file)));
    }
    if to.path.names_folder() && matches!(source, Entry::File(_)) {
        return refuse(format!("Error: {to} ends with a slash, but {from} is a file"));
    }
    let mut changes = Vec::new();
    for (file, blob) in snapshot.files_at(from.clean())? {
        let moved = format!("{}{}", to.clean(), &file[from.clean().len()..]);
        changes.push(Change::put(moved, snapshot.bytes(&blob)?));
        changes.push(Change::remove(file));
    }
    Ok(Outcome::Write(Plan {
        subject: format!("memory: rename {} to {}", from.clean(), to.clean()),
        changes,
        answer: format!("Successfully renamed {from} to {to}"),
        kind: Kind::Moved,
    }))
}

fn absent(at: &Target) -> Result<Outcome> {
    refuse(format!("Error: The path {at} does not exist"))
}

fn not_text(at: &Target) -> Result<Outcome> {
    refuse(format!("Error: The file {at} is not UTF-8 text; it can be renamed or deleted, not edited"))
}

fn refuse(text: String) -> Result<Outcome> {
    Ok(Outcome::Answer(ToolResult::error(text)))
}

fn write(subject: String, changes: Vec<Change>, answer: String) -> Result<Outcome> {
    Ok(Outcome::Write(Plan { subject, changes, answer, kind: Kind::Written }))
}
