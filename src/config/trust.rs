//! Whom the user trusts: for each project the exact text of its settings, by digest, in a file of the user's own.

use super::file::File;
use crate::failure::Failure;
use anyhow::Context;
use anyhow::Result;
use rustix::fs::FlockOperation;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

/// What stands at the head of the file.
const HEAD: &str =
    "# Written by `longhaul trust`. Each entry lets the settings of one project count, with exactly this content.\n\n";

/// How far a project's settings are trusted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Trust {
    /// Nobody vouched for them: only what narrows counts.
    #[default]
    None,
    /// Somebody vouched for another content than this.
    ForAnother,
    /// Somebody vouched for exactly this content.
    Given,
}

/// The file with what the user trusts.
#[derive(Clone, Debug)]
pub struct Trusted {
    path: PathBuf,
    entries: Entries,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    #[serde(default)]
    projects: BTreeMap<String, Entry>,
}

/// What one project is trusted with.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// SHA-256 of `longhaul.toml`, in hex.
    pub settings: String,
    /// When it was given.
    pub at: String,
}

impl Trusted {
    /// Reads the file; where there is none, nobody is trusted.
    pub fn read(path: &Path) -> Result<Self> {
        let Some(file) = File::read(path)? else {
            return Ok(Self { path: path.to_owned(), entries: Entries::default() });
        };
        let entries = toml::from_str(&file.text).map_err(|error| {
            let message = error.message().replace('\n', ", ");
            Failure::usage(format!("could not read what you trust in `{}`: {message}", path.display()))
                .hint("remove the file; then no project is trusted until you run `longhaul trust` there")
        })?;
        Ok(Self { path: path.to_owned(), entries })
    }

    /// Tells how far this text is trusted as the settings of the project at `root`.
    pub fn judge(&self, root: &Path, text: &str) -> Trust {
        match self.entries.projects.get(&key(root)) {
            None => Trust::None,
            Some(entry) if entry.settings == digest(text) => Trust::Given,
            Some(_) => Trust::ForAnother,
        }
    }

    /// Returns all entries by project.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.projects.iter().map(|(root, entry)| (root.as_str(), entry))
    }

    /// Trusts this text as the settings of the project at `root`.
    pub fn give(path: &Path, root: &Path, text: &str, at: &str) -> Result<()> {
        let entry = Entry { settings: digest(text), at: at.to_owned() };
        Self::change(path, |projects| projects.insert(key(root), entry).is_some()).map(drop)
    }

    /// Takes the trust in a project back; tells whether there was any.
    pub fn revoke(path: &Path, root: &Path) -> Result<bool> {
        Self::change(path, |projects| projects.remove(&key(root)).is_some())
    }

    /// Changes the file under a lock, so that two commands at once lose nothing of each other's.
    fn change(path: &Path, change: impl FnOnce(&mut BTreeMap<String, Entry>) -> bool) -> Result<bool> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let context = || format!("could not write what you trust to `{}`", path.display());
        fs::create_dir_all(folder).with_context(context)?;
        let lock = fs::File::open(folder).with_context(context)?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).with_context(context)?;
        let mut trusted = Self::read(path)?;
        let was_there = change(&mut trusted.entries.projects);
        trusted.write(folder).with_context(context)?;
        lock.sync_all().with_context(context)?;
        Ok(was_there)
    }

    /// Writes beside the file and renames, so that a kill leaves the old or the new one; a temporary file is 0600.
    fn write(&self, folder: &Path) -> Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(HEAD.as_bytes())?;
        file.write_all(toml::to_string(&self.entries)?.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

/// Names a project by its path, links resolved, so that a project moved or copied has to be trusted anew.
fn key(root: &Path) -> String {
    root.canonicalize().unwrap_or_else(|_| root.to_owned()).to_string_lossy().into_owned()
}

fn digest(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn trust_is_for_one_project_and_one_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config/trust.toml");
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        assert_eq!(Trusted::read(&path).unwrap().judge(&a, "x"), Trust::None);

        Trusted::give(&path, &a, "x", "now").unwrap();
        let trusted = Trusted::read(&path).unwrap();
        assert_eq!(
            [trusted.judge(&a, "x"), trusted.judge(&a, "x\n"), trusted.judge(&b, "x")],
            [Trust::Given, Trust::ForAnother, Trust::None]
        );
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        Trusted::give(&path, &b, "y", "now").unwrap();
        assert!(Trusted::revoke(&path, &a).unwrap());
        assert!(!Trusted::revoke(&path, &a).unwrap());
        let trusted = Trusted::read(&path).unwrap();
        assert_eq!([trusted.judge(&a, "x"), trusted.judge(&b, "y")], [Trust::None, Trust::Given]);
        assert_eq!(trusted.entries().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_read_trusts_nobody_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trust.toml");
        fs::write(&path, "[projects.\"/a\"]\nsettings = 1\n").unwrap();
        let refused = Trusted::read(&path).unwrap_err().to_string();
        assert!(refused.starts_with("could not read what you trust in `"), "{refused}");
        assert!(Trusted::give(&path, Path::new("/a"), "x", "now").is_err(), "nothing is written over it");
    }

    #[test]
    fn two_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trust.toml");
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (path, root) = (&path, folder.path().join(n.to_string()));
                scope.spawn(move || Trusted::give(path, &root, "x", "now").unwrap());
            }
        });
        assert_eq!(Trusted::read(&path).unwrap().entries().count(), 8);
    }
}
