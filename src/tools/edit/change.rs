//! Changes files: the whole file or nothing is replaced, and its line ends and mode stay.

use std::fs;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::path::Target;
use super::view::numbered;
use super::view::text;
use crate::clip;
use crate::message::ToolResult;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// How a file's name begins before it has its place; none of them belongs into a commit.
pub const TORN: &str = ".longhaul-edit-";

/// Lines shown before and after a change.
const AROUND: usize = 4;
/// Characters of the shown part; a change is not the place to read a file.
const SHOWN: usize = 4_000;

/// Makes a file, or replaces it as a whole.
pub(super) fn create(target: &Target, content: &str) -> Result<ToolResult, ToolError> {
    let shown = &target.shown;
    let before = fs::metadata(&target.real).ok();
    if before.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return Err(tell(format!("`{shown}` is there and is no file: choose another path")));
    }
    let could_not = |error: std::io::Error| tell(format!("`{shown}` cannot be written: {error}"));
    if let Some(folder) = target.real.parent() {
        fs::create_dir_all(folder).map_err(could_not)?;
    }
    write(target, content)?;
    let verb = if before.is_some() { "replaced" } else { "created" };
    Ok(ToolResult::text(format!("{verb} `{shown}`, {} lines", content.lines().count())))
}

/// Replaces the one place where `old` stands.
pub(super) fn replace(target: &Target, old: &str, new: &str) -> Result<ToolResult, ToolError> {
    let shown = &target.shown;
    if old.is_empty() {
        return Err(tell("`old_str` is empty: give the text to replace, or use `insert`"));
    }
    let content = read(target)?;
    let (old, new) = (like(&content, old), like(&content, new));
    let places: Vec<usize> = content.match_indices(&old).map(|(at, _)| at).collect();
    match places[..] {
        [] => Err(tell(format!(
            "no replacement was made: `old_str` does not stand in `{shown}` exactly as given; view the file and \
             copy the text"
        ))),
        [at] => {
            write(target, &[&content[..at], &new, &content[at + old.len()..]].concat())?;
            let first = line_of(&content, at);
            Ok(edited(target, first, first + new.lines().count().max(1) - 1))
        }
        _ => {
            let lines: Vec<String> = places.iter().map(|at| line_of(&content, *at).to_string()).collect();
            let lines = clip::head(&lines.join(", "), 200);
            Err(tell(format!(
                "no replacement was made: `old_str` stands in `{shown}` {} times, in lines {lines}; give more \
                 of the text around it",
                places.len()
            )))
        }
    }
}

/// Puts `inserted` behind line `line`, 0 for the beginning.
pub(super) fn insert(target: &Target, line: i64, inserted: &str) -> Result<ToolResult, ToolError> {
    let content = read(target)?;
    let count = content.lines().count();
    let behind = usize::try_from(line).ok().filter(|line| *line <= count);
    let Some(behind) = behind else {
        return Err(tell(format!(
            "`insert_line` is {line}: it must be from 0 to {count}, the number of lines in `{}`",
            target.shown
        )));
    };
    let end = if content.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = content.split_inclusive('\n').map(str::to_owned).collect();
    if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
        last.push_str(end);
    }
    let mut inserted = like(&content, inserted);
    if !inserted.ends_with('\n') {
        inserted.push_str(end);
    }
    let last = behind + inserted.lines().count();
    lines.insert(behind, inserted);
    write(target, &lines.concat())?;
    Ok(edited(target, behind + 1, last))
}

/// Gives `given` the line ends of a file that has only CRLF, which the model cannot see.
fn like(content: &str, given: &str) -> String {
    let ends = content.matches('\n').count();
    let crlf = ends > 0 && content.matches("\r\n").count() == ends;
    if crlf && !given.contains('\r') { given.replace('\n', "\r\n") } else { given.to_owned() }
}

fn line_of(content: &str, at: usize) -> usize {
    content[..at].matches('\n').count() + 1
}

/// Shows the changed lines with some around them.
fn edited(target: &Target, first: usize, last: usize) -> ToolResult {
    let content = fs::read_to_string(&target.real).unwrap_or_default();
    let from = first.saturating_sub(AROUND).max(1);
    let part = numbered(content.lines().skip(from - 1).take(last + AROUND + 1 - from), from).concat();
    let part = clip::ends(&part, SHOWN).unwrap_or(part);
    ToolResult::text(format!("edited `{}`; it now reads:\n{part}", target.shown))
}

fn read(target: &Target) -> Result<String, ToolError> {
    let shown = &target.shown;
    let metadata =
        fs::metadata(&target.real).map_err(|_| tell(format!("`{shown}` does not exist: make it with `create`")))?;
    if !metadata.is_file() {
        return Err(tell(format!("`{shown}` is no file: name a file in it")));
    }
    text(shown, fs::read(&target.real).map_err(|error| tell(format!("`{shown}` cannot be read: {error}")))?)
}

/// Writes beside and renames, so that a kill leaves the old file or the new one.
fn write(target: &Target, content: &str) -> Result<(), ToolError> {
    let could_not = |error: std::io::Error| tell(format!("`{}` cannot be written: {error}", target.shown));
    let mode = fs::metadata(&target.real).map_or(0o666, |metadata| metadata.permissions().mode() & 0o7777);
    if mode & 0o222 == 0 {
        return Err(tell(format!("`{}` is read-only: change its mode with `bash` if it may be written", target.shown)));
    }
    let temporary = |folder: &Path| {
        tempfile::Builder::new().prefix(TORN).permissions(Permissions::from_mode(mode)).tempfile_in(folder)
    };
    // A file torn off by a kill must not end up in a commit; git does not see this folder. In a sandbox it is read-only.
    let beside = target.real.parent().unwrap_or(Path::new("/"));
    let mut file = temporary(&target.root.join(".longhaul")).or_else(|_| temporary(beside)).map_err(could_not)?;
    file.write_all(content.as_bytes()).map_err(could_not)?;
    if target.real.exists() {
        // The file's own mode, also where the umask took bits away.
        fs::set_permissions(file.path(), Permissions::from_mode(mode)).map_err(could_not)?;
    }
    match file.persist(&target.real) {
        Ok(_) => Ok(()),
        // A folder mounted from elsewhere takes no rename.
        Err(_) => fs::write(&target.real, content).map_err(could_not),
    }
}
