//! What `gate.prepare` made, kept once for each state of the lock files and copied into every later checkout, so that no
//! check can change it for the next.

use super::copy::copy;
use super::copy::copy_each;
use super::private::remove;
use crate::gate::words;
use crate::project::Elsewhere;
use crate::project::Entry;
use crate::project::Project;
use crate::project::is_lock_file;
use anyhow::Context;
use anyhow::Result;
use sha2::Digest;
use sha2::Sha256;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

/// Older states that are kept: going back to the commit before is common.
const KEPT: usize = 2;

/// The kept files of one state of the lock files.
pub(in crate::gate) struct Prepared {
    folder: PathBuf,
}

/// Returns the files of a tree that a text names.
pub(in crate::gate) fn named_in<'a>(text: &str, entries: &'a [Entry]) -> Vec<&'a Entry> {
    let words = words::words(&words::spelled_out(text));
    let entered = words.windows(2).filter(|pair| pair[0] == "cd").map(|pair| pair[1].as_str());
    let bases: Vec<&str> = iter::once(".").chain(entered).collect();
    let named: BTreeSet<String> =
        bases.iter().flat_map(|base| words.iter().filter_map(|word| words::project_path(word, base, "/"))).collect();
    entries.iter().filter(|entry| named.contains(entry.path.to_string_lossy().as_ref())).collect()
}

impl Prepared {
    /// Finds the place for the lock files among these entries and this text of `prepare`. What it makes may hold the path
    /// of the tree, `at`, as its commands see it.
    pub(in crate::gate) fn of(state: &Path, entries: &[Entry], prepare: &str, at: &Path) -> Self {
        let mut hash = Sha256::new();
        hash.update(format!("{prepare}\0{}", at.display()));
        for entry in entries.iter().filter(|entry| is_lock_file(&entry.path.to_string_lossy())) {
            hash.update(format!("\0{}\0{}", entry.path.display(), entry.id));
        }
        let digest = format!("{:x}", hash.finalize());
        Self { folder: state.join("prepared").join(&digest[..32]) }
    }

    /// Tells whether something was kept for this state.
    pub(in crate::gate) fn is_kept(&self) -> bool {
        self.folder.is_dir()
    }

    /// Keeps what lies in the checkout and is not tracked.
    pub(in crate::gate) fn keep(
        &self,
        project: &Project,
        place: &Elsewhere,
        environment: &BTreeMap<String, String>,
    ) -> Result<()> {
        let context = || format!("could not keep what was prepared in `{}`", self.folder.display());
        let all = self.folder.parent().unwrap_or(&self.folder);
        fs::create_dir_all(all).with_context(context)?;
        let half = tempfile::Builder::new().prefix("half-").tempdir_in(all).with_context(context)?;
        for path in project.unknown_in(place)? {
            let to = half.path().join(path.parent().unwrap_or(Path::new("")));
            fs::create_dir_all(&to).with_context(context)?;
            copy_each(&[place.folder.join(path)], &to, environment)?;
        }
        fs::rename(half.keep(), &self.folder).with_context(context)?;
        self.prune(all)
    }

    /// Copies what was kept into a checkout.
    pub(in crate::gate) fn lay(&self, tree: &Path, environment: &BTreeMap<String, String>) -> Result<()> {
        copy(&self.folder, tree, &[], environment)
    }

    /// Removes all but the newest states, and what a kill left half done.
    fn prune(&self, all: &Path) -> Result<()> {
        let context = || format!("could not remove old files in `{}`", all.display());
        let mut others = Vec::new();
        for entry in fs::read_dir(all).with_context(context)? {
            let entry = entry.with_context(context)?;
            if entry.path() != self.folder {
                let half = entry.file_name().to_string_lossy().starts_with("half-");
                others.push((half, Reverse(entry.metadata().with_context(context)?.ctime()), entry.path()));
            }
        }
        others.sort();
        let good = others.iter().filter(|(half, ..)| !half).skip(KEPT - 1);
        for (.., path) in good.chain(others.iter().filter(|(half, ..)| *half)) {
            remove(path).with_context(context)?;
        }
        Ok(())
    }
}
