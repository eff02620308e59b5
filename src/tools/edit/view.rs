//! Shows a file with line numbers, an image, or a folder.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::SHOWN;
use super::image;
use super::path::Target;
use crate::clip;
use crate::message::ToolResult;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// Longer files are read in parts by commands.
const LARGEST_FILE: u64 = 50_000_000;
const LEVELS: usize = 2;

/// Shows what lies at `target`.
pub(super) fn view(target: &Target, range: Option<&Value>) -> Result<ToolResult, ToolError> {
    let shown = &target.shown;
    let metadata = fs::metadata(&target.real)
        .map_err(|_| tell(format!("`{shown}` does not exist: look with `view` on its folder")))?;
    if metadata.is_dir() {
        if range.is_some() {
            return Err(tell(format!("`view_range` is for files, and `{shown}` is a folder: leave it out")));
        }
        return Ok(ToolResult::text(folder(target)));
    }
    if !metadata.is_file() {
        return Err(tell(format!("`{shown}` is neither a file nor a folder: this tool leaves it alone")));
    }
    if metadata.len() > LARGEST_FILE {
        return Err(tell(format!("`{shown}` has {} bytes: read parts of it with `bash`", metadata.len())));
    }
    let bytes = fs::read(&target.real).map_err(|error| tell(format!("`{shown}` cannot be read: {error}")))?;
    match image::kind(&bytes) {
        Some(kind) => image::show(shown, kind, &bytes),
        None => Ok(ToolResult::text(lines(&text(shown, bytes)?, shown, range)?)),
    }
}

/// Returns the text of a file, or says that it has none.
pub(super) fn text(shown: &str, bytes: Vec<u8>) -> Result<String, ToolError> {
    let binary = || tell(format!("`{shown}` is binary or not UTF-8: use `bash` for it"));
    let text = String::from_utf8(bytes).map_err(|_| binary())?;
    if text.contains('\0') { Err(binary()) } else { Ok(text) }
}

/// Renders lines with their numbers, counted from `first`.
pub(super) fn numbered<'a>(lines: impl Iterator<Item = &'a str>, first: usize) -> Vec<String> {
    lines.enumerate().map(|(at, line)| format!("{:>6}\t{line}\n", first + at)).collect()
}

fn lines(text: &str, shown: &str, range: Option<&Value>) -> Result<String, ToolError> {
    let count = text.lines().count();
    if count == 0 {
        return Ok(format!("`{shown}` is empty"));
    }
    let (first, last) = range.map_or(Ok((1, count)), |range| bounds(range, count))?;
    let rendered = numbered(text.lines().skip(first - 1).take(last + 1 - first), first);
    let whole = count_that_fit(&rendered, SHOWN - 200);
    let mut page = rendered[..whole].concat();
    if whole == 0 {
        page = clip::head(&rendered[0], SHOWN - 200);
        page.push_str("\n[the line is longer than a view; read it with `bash`]\n");
    } else if whole < rendered.len() {
        let next = first + whole;
        page.push_str(&format!("[lines {next} to {last} left out; the file has {count} lines: use `view_range`]\n"));
    }
    Ok(page)
}

/// Counts the lines from the first one that fit into `room` characters.
fn count_that_fit(lines: &[String], mut room: usize) -> usize {
    lines
        .iter()
        .take_while(|line| {
            let length = line.chars().count();
            let fits = length <= room;
            room = room.saturating_sub(length);
            fits
        })
        .count()
}

fn bounds(range: &Value, count: usize) -> Result<(usize, usize), ToolError> {
    let wrong = || {
        tell(format!(
            "`view_range` is {range}: it must be [first, last] with 1 <= first <= last, first at most {count}, \
             or -1 as last"
        ))
    };
    let numbers: Vec<i64> = range.as_array().ok_or_else(wrong)?.iter().filter_map(Value::as_i64).collect();
    let [first, last] = numbers[..] else { return Err(wrong()) };
    let first = usize::try_from(first).ok().filter(|first| (1..=count).contains(first)).ok_or_else(wrong)?;
    let last = if last == -1 { count } else { usize::try_from(last).map_err(|_| wrong())?.min(count) };
    if last < first { Err(wrong()) } else { Ok((first, last)) }
}

fn folder(target: &Target) -> String {
    let mut listed = Vec::new();
    list(&target.real, "", LEVELS, &mut listed);
    let heading =
        format!("files in `{}`, {LEVELS} levels deep, hidden ones and node_modules left out:\n", target.shown);
    let text = heading + &listed.concat();
    if text.chars().count() <= SHOWN {
        text
    } else {
        clip::head(&text, SHOWN - 100) + "\n[left out: the rest; view a folder below]\n"
    }
}

fn list(folder: &Path, prefix: &str, levels: usize, listed: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> =
        entries.flatten().map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry)).collect();
    entries.retain(|(name, _)| !name.starts_with('.') && name != "node_modules");
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, entry) in entries {
        // The entry's own type: a link to a folder is shown and not entered.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        listed.push(format!("{prefix}{name}{}\n", if is_folder { "/" } else { "" }));
        if is_folder && levels > 1 {
            list(&entry.path(), &format!("{prefix}{name}/"), levels - 1, listed);
        }
    }
}
