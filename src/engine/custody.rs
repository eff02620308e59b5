//! The settings of a run in custody: a session may rewrite the files they were read from, and that must change nothing.
//!
//! The shared file that a run began with is kept beside the memory while a session is on. It is let go at the session's
//! end only when the committed file is still that one; else it holds, also for later runs, until a person looked at the
//! new one and trusts it. A killed session is covered by the same: nobody lets go.

use crate::engine::workspace::Workspace;
use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use serde::Serialize;
use std::fs;
use std::io::ErrorKind;
use std::io::Write;
use std::path::Path;

/// The file with the settings a team shares, at the project's root.
pub const SHARED: &str = "longhaul.toml";

/// Where the kept version lies, beside the memory.
const KEPT: &str = "settings.json";

/// A version of the shared file that holds though another one lies there.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Kept {
    /// None: there was no such file.
    pub text: Option<String>,
}

/// Returns the kept version, if one was not let go. `state` is the folder with the memory.
pub fn kept(state: &Path) -> Result<Option<Kept>> {
    let path = state.join(KEPT);
    let context = || format!("could not read the settings kept in `{}`", path.display());
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).with_context(context)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(context),
    }
}

/// Lets the kept version go: from now on the file as it lies there holds.
pub fn let_go(state: &Path) -> Result<()> {
    let path = state.join(KEPT);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

/// Keeps the version that holds, before a session can write another one.
pub(in crate::engine) fn keep(ws: &Workspace) -> Result<()> {
    let state = &ws.memory.place().state;
    let kept = Kept { text: ws.settings.read.shared.clone() };
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(state)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        file.as_file().sync_all()?;
        file.persist(state.join(KEPT))?;
        Ok::<(), anyhow::Error>(())
    };
    write().with_context(|| format!("could not keep the settings in `{}`", state.display()))
}

/// Compares the files with what was read from them, after a session; returns what became of them, in sentences.
pub(in crate::engine) fn changed(ws: &Workspace) -> Result<Vec<String>> {
    let read = &ws.settings.read;
    let mut told = Vec::new();
    if same_text(committed(ws)?.as_deref(), read.shared.as_deref()) {
        let_go(&ws.memory.place().state)?;
    } else {
        told.push(format!(
            "`{SHARED}` is not the version this run works with any more; that one holds until you look at the new one \
             with `longhaul trust`"
        ));
    }
    for (path, text) in read.own.iter().filter(|(path, text)| fs::read_to_string(path).ok() != *text) {
        let what = if text.is_some() { "changed" } else { "appeared" };
        let path = path.display();
        told.push(format!("your own `{path}` {what} while the run was on; look at it before the next run uses it"));
    }
    Ok(told)
}

/// Returns the shared file as committed; what lies there otherwise stops the next run anyway.
fn committed(ws: &Workspace) -> Result<Option<String>> {
    let bytes = ws.project.blob_at(&ws.head()?.commit, SHARED)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Tells whether two texts are one but for the line ends, which git may change at checkout.
pub fn same_text(one: Option<&str>, other: Option<&str>) -> bool {
    let unix = |text: Option<&str>| text.map(|text| text.replace("\r\n", "\n"));
    unix(one) == unix(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_make_no_other_text_and_a_missing_file_is_no_empty_one() {
        assert!(same_text(Some("a\r\nb\n"), Some("a\nb\n")));
        assert!(same_text(None, None));
        assert!(!same_text(Some(""), None));
    }

    #[test]
    fn nothing_is_kept_where_nothing_was() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(kept(state.path()).unwrap(), None);
        let_go(state.path()).unwrap();
        fs::write(state.path().join(KEPT), "{\"text\": null}").unwrap();
        assert_eq!(kept(state.path()).unwrap(), Some(Kept { text: None }));
        let_go(state.path()).unwrap();
        assert_eq!(kept(state.path()).unwrap(), None);
        fs::write(state.path().join(KEPT), "{").unwrap();
        assert!(kept(state.path()).is_err());
    }
}
