//! A feature as a text file that a person edits; what cannot be taken over is kept.

use crate::checklist::Edit;
use crate::checklist::Edited;
use crate::checklist::parse_json;
use crate::engine::commands::feature;
use crate::engine::commands::feature::Added;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use anyhow::Context;
use anyhow::Result;
use serde_json::Value;
use sha2::Digest;
use sha2::Sha256;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Lets `editor` change a file with what a person may change of the feature, and takes the result over.
///
/// # Errors
/// A usage failure when it is no feature; nothing was changed then, and the next edit begins with the same text.
pub fn edit(ws: &mut Workspace, id: &str, editor: impl FnOnce(&Path) -> Result<()>) -> Result<(Added, Edited)> {
    let shown = format!("{:#}\n", ws.checklist()?.editable(id)?);
    let file = file_of(ws, id);
    if file.exists() {
        ws.notice(format!("going on with the text kept in `{}`; delete it to start afresh", file.display()));
    } else {
        write(&file, &shown)?;
    }
    let edited = editor(&file).and_then(|()| take(ws, id, &file));
    let text = fs::read_to_string(&file).unwrap_or_default();
    // An unchanged text is nothing to keep, nor is one that was taken over.
    if edited.is_ok() || text == shown || text.trim().is_empty() {
        fs::remove_file(&file).with_context(|| format!("could not remove `{}`", file.display()))?;
        return edited;
    }
    edited.map_err(|problem| match problem.downcast::<Failure>() {
        Ok(failure) => {
            let hint = format!("your text is kept in `{}`; the same command opens it again", file.display());
            failure.hint(hint).into()
        }
        Err(problem) => problem,
    })
}

/// Reads what the editor left and makes the change.
fn take(ws: &mut Workspace, id: &str, file: &Path) -> Result<(Added, Edited)> {
    let text = fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("nothing was changed: could not read `{}`: {error}", file.display()))
    })?;
    if text.trim().is_empty() {
        return Err(Failure::usage("the text is empty, so nothing was changed").into());
    }
    let whole: Value =
        parse_json(&text).map_err(|error| Failure::usage(format!("nothing was changed: it is no JSON: {error}")))?;
    feature::edit(ws, id, &Edit::Whole(whole))
}

/// An id may hold what a file's name cannot.
fn file_of(ws: &Workspace, id: &str) -> PathBuf {
    let digest = format!("{:x}", Sha256::digest(id));
    ws.outputs().join(format!("edit-{}.json", &digest[..16]))
}

fn write(file: &Path, text: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(file, text))
        .with_context(|| format!("could not write `{}`", file.display()))
}
