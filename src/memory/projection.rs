//! What was last shown where: for each view, the commit it was brought up to.
//!
//! A view is shown in one go under the write lock, so one commit a view says it all. When the record is older than
//! the truth (a kill between the two) the files that lag are found by the commits in between.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use serde::Serialize;

#[derive(Default, Deserialize, Serialize)]
struct Record {
    version: u32,
    views: BTreeMap<String, String>,
}

/// Returns the commit that this view was last brought up to; none when that is not known.
pub(super) fn last(state: &Path, view: &Path) -> Option<String> {
    read(state).views.remove(&key(view))
}

/// Returns a commit that some view was brought up to; it was the newest once.
pub(super) fn any(state: &Path) -> Option<String> {
    read(state).views.into_values().next()
}

/// Remembers that this view shows the commit; to be called under the write lock.
pub(super) fn remember(state: &Path, view: &Path, commit: &str) -> Result<()> {
    let mut record = read(state);
    record.version = 1;
    record.views.insert(key(view), commit.to_owned());
    // Linked worktrees come and go; what is gone is shown anew if it comes back.
    record.views.retain(|path, _| Path::new(path).exists());
    let path = state.join("view.json");
    let doing = || format!("could not write `{}`", path.display());
    let text = serde_json::to_vec(&record).with_context(doing)?;
    // One name will do: the caller holds the write lock, and a killed process's half is written over.
    let new = state.join("view.json.new");
    fs::write(&new, text).with_context(doing)?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o600)).with_context(doing)?;
    fs::rename(&new, &path).with_context(doing)?;
    Ok(())
}

/// A record that is missing or damaged says nothing, which is always safe.
fn read(state: &Path) -> Record {
    let bytes = fs::read(state.join("view.json")).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn key(view: &Path) -> String {
    view.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_has_its_own_commit() {
        let state = tempfile::tempdir().unwrap();
        let (one, other) = (state.path().join("one"), state.path().join("other"));
        fs::create_dir(&one).unwrap();
        fs::create_dir(&other).unwrap();
        remember(state.path(), &one, "1111").unwrap();
        remember(state.path(), &other, "2222").unwrap();

        assert_eq!(last(state.path(), &one).as_deref(), Some("1111"));
        assert_eq!(last(state.path(), &other).as_deref(), Some("2222"));

        fs::remove_dir(&one).unwrap();
        remember(state.path(), &other, "3333").unwrap();
        assert_eq!(last(state.path(), &one), None);
    }

    #[test]
    fn a_damaged_record_says_nothing() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("view.json"), "\0\0").unwrap();
        assert_eq!(last(state.path(), Path::new("/x")), None);
    }
}
