//! What was last shown where: for each view, the commit it was brought up to.
//!
//! A view is shown in one go under the write lock, so one commit a view says it all. When the record is older than
//! the truth (a kill between the two) the files that lag are found by the commits in between.
//!
//! The file has a line for each time, of which a view's last one counts. It is only appended, and made short again when
//! it has grown.

use std::collections::BTreeMap;
use std::fs;
use std::fs::OpenOptions;
use std::io;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use serde::Serialize;

/// Bytes after which it is made short again.
const LONG: u64 = 64 * 1024;

/// The record, as it was last read.
pub(in crate::memory) struct Projection {
    path: PathBuf,
    /// Which file was read, and how much of it.
    read: (u64, u64),
    views: BTreeMap<String, String>,
}

#[derive(Deserialize, Serialize)]
struct Shown {
    view: String,
    commit: String,
}

impl Projection {
    /// Takes the record of the memory with this state.
    pub(in crate::memory) fn of(state: &Path) -> Self {
        Self { path: state.join("view.json"), read: (0, 0), views: BTreeMap::new() }
    }

    /// Returns the commit that this view was last brought up to; none when that is not known.
    pub(in crate::memory) fn last(&mut self, view: &Path) -> Option<String> {
        self.refresh();
        self.views.get(&*key(view)).cloned()
    }

    /// Returns a commit that some view was brought up to; it was the newest once.
    pub(in crate::memory) fn any(&mut self) -> Result<Option<String>> {
        self.read_again().with_context(|| format!("could not read `{}`", self.path.display()))?;
        Ok(self.views.values().next().cloned())
    }

    /// Returns all paths at which a view was shown. Something else may lie there now.
    pub(in crate::memory) fn views(&mut self) -> Result<Vec<PathBuf>> {
        self.read_again().with_context(|| format!("could not read `{}`", self.path.display()))?;
        Ok(self.views.keys().map(PathBuf::from).collect())
    }

    /// Remembers that this view shows the commit; to be called under the write lock.
    pub(in crate::memory) fn remember(&mut self, view: &Path, commit: &str) -> Result<()> {
        self.refresh();
        self.views.insert(key(view), commit.to_owned());
        let shown = Shown { view: key(view), commit: commit.to_owned() };
        let written = if self.read.1 > LONG { self.shorten() } else { self.append(&shown) };
        written.with_context(|| format!("could not write `{}`", self.path.display()))
    }

    /// A line begins with its line feed, so that half a line left by a power cut spoils no other.
    fn append(&mut self, shown: &Shown) -> io::Result<()> {
        let line = format!("\n{}", serde_json::to_string(shown)?);
        let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?;
        file.write_all(line.as_bytes())?;
        match self.read {
            (0, _) => self.read = stamp(&file.metadata()?),
            (_, length) => self.read.1 = length + line.len() as u64,
        }
        Ok(())
    }

    fn shorten(&mut self) -> io::Result<()> {
        // Linked worktrees come and go; what is gone is shown anew if it comes back.
        self.views.retain(|view, _| Path::new(view).exists());
        let lines = self.views.iter().map(|(view, commit)| {
            let shown = Shown { view: view.clone(), commit: commit.clone() };
            Ok(format!("\n{}", serde_json::to_string(&shown)?))
        });
        let text: String = lines.collect::<io::Result<_>>()?;
        // One name will do: the caller holds the write lock, and a killed process's half is written over.
        let new = self.path.with_extension("json.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&new, &self.path)?;
        self.read = stamp(&file.metadata()?);
        Ok(())
    }

    /// Reads it again when it is no longer what was read. One that is missing, damaged or unreadable says nothing, which
    /// is safe for who asks what a view shows: it is compared in full.
    fn refresh(&mut self) {
        if self.read_again().is_err() {
            (self.read, self.views) = ((0, 0), BTreeMap::new());
        }
    }

    fn read_again(&mut self) -> io::Result<()> {
        let now = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                (self.read, self.views) = ((0, 0), BTreeMap::new());
                return Ok(());
            }
            found => stamp(&found?),
        };
        if now == self.read {
            return Ok(());
        }
        let text = fs::read(&self.path)?;
        let lines = text.split(|byte| *byte == b'\n');
        let shown = lines.filter_map(|line| serde_json::from_slice::<Shown>(line).ok());
        self.views = shown.map(|shown| (shown.view, shown.commit)).collect();
        self.read = (now.0, text.len() as u64);
        Ok(())
    }
}

fn stamp(file: &fs::Metadata) -> (u64, u64) {
    (file.ino(), file.len())
}

fn key(view: &Path) -> String {
    view.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_has_its_own_commit_also_for_other_processes() {
        let state = tempfile::tempdir().unwrap();
        let (one, other) = (Path::new("/one"), Path::new("/other"));
        let (mut ours, mut theirs) = (Projection::of(state.path()), Projection::of(state.path()));
        assert_eq!((ours.last(one), ours.any().unwrap()), (None, None));
        for commit in ["1111", "2222"] {
            ours.remember(one, commit).unwrap();
            theirs.remember(other, "3333").unwrap();
            assert_eq!(theirs.last(one).as_deref(), Some(commit));
        }
        assert_eq!(ours.last(other).as_deref(), Some("3333"));
    }

    #[test]
    fn it_stays_short_and_forgets_views_that_are_gone() {
        let state = tempfile::tempdir().unwrap();
        let mut ours = Projection::of(state.path());
        let mut theirs = Projection::of(state.path());
        ours.remember(Path::new("/gone"), "0000").unwrap();
        for number in 0..3000 {
            ours.remember(state.path(), &format!("{number:040}")).unwrap();
        }
        assert!(fs::metadata(state.path().join("view.json")).unwrap().len() < LONG + 200);
        for record in [&mut ours, &mut theirs, &mut Projection::of(state.path())] {
            assert_eq!(record.last(state.path()), Some(format!("{:040}", 2999)));
            assert_eq!(record.last(Path::new("/gone")), None);
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_no_view() {
        let state = tempfile::tempdir().unwrap();
        let mut ours = Projection::of(state.path());
        assert!(ours.views().unwrap().is_empty() && ours.any().unwrap().is_none(), "its twin");
        fs::create_dir(state.path().join("view.json")).unwrap();
        assert!(ours.views().is_err() && ours.any().is_err());
        assert_eq!(ours.last(Path::new("/x")), None);
    }

    #[test]
    fn a_damaged_record_says_nothing_and_half_a_line_spoils_no_other() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("view.json");
        let view = Path::new("/x");
        fs::write(&file, "\0\0").unwrap();
        let mut ours = Projection::of(state.path());
        assert_eq!(ours.last(view), None);
        fs::write(&file, "\n{\"view\":\"/x\",\"commit\":\"1111\"}\n{\"view\":\"/x\",\"com").unwrap();
        assert_eq!(ours.last(view).as_deref(), Some("1111"));
        ours.remember(view, "2222").unwrap();
        assert_eq!(Projection::of(state.path()).last(view).as_deref(), Some("2222"));
        fs::remove_file(&file).unwrap();
        assert_eq!(ours.last(view), None);
    }
}
