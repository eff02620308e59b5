//! What installing made, kept once for each state of the files that steer it and copied into every later checkout, so that
//! no check can change it for the next.

use super::copy::copy;
use super::copy::copy_each;
use crate::gate::soft;
use crate::gate::words;
use crate::project::Elsewhere;
use crate::project::Entry;
use crate::project::Kept;
use crate::project::Project;
use crate::project::is_lock_file;
use anyhow::Context;
use anyhow::Result;
use sha2::Digest;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::iter;
use std::path::Path;

/// What was made, and the tree it was made from, in a kept folder.
const FILES: &str = "files";
const TREE: &str = "tree";

/// The kept files of one state.
pub(in crate::gate) struct Prepared(Kept);

/// For which commits it will do what installing made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Reuse {
    /// For all with the same lock files, and the same files otherwise that steer installing.
    #[default]
    Alike,
    /// For those with the very same files: what a script loads in turn is not known.
    Same,
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
    /// Finds the place for this text that installs and what steers it among these entries. What it makes may hold the path
    /// of the tree, `at`, as its commands see it.
    pub(in crate::gate) fn of(state: &Path, entries: &[Entry], prepare: &str, at: &Path) -> Self {
        let mut hash = Sha256::new();
        hash.update(format!("{prepare}\0{}", at.display()));
        let named = named_in(prepare, entries);
        let steers = |entry: &&Entry| {
            let path = entry.path.to_string_lossy();
            is_lock_file(&path) || soft::steers_installing(&path) || named.contains(entry)
        };
        for entry in entries.iter().filter(steers) {
            hash.update(format!("\0{}\0{}", entry.path.display(), entry.id));
        }
        let digest = format!("{:x}", hash.finalize());
        Self(Kept::new(&state.join("prepared"), &digest[..32]))
    }

    /// Returns the tree from which was made what is kept for this state.
    pub(in crate::gate) fn made_from(&self) -> Option<String> {
        fs::read_to_string(self.0.folder().join(TREE)).ok()
    }

    /// Keeps what lies in the checkout of `tree` and is not tracked.
    pub(in crate::gate) fn keep(
        &self,
        tree: &str,
        project: &Project,
        place: &Elsewhere,
        environment: &BTreeMap<String, String>,
    ) -> Result<()> {
        let unknown = project.unknown_in(place)?;
        self.0.fill(|half| {
            let files = half.join(FILES);
            fs::create_dir_all(&files)?;
            fs::write(half.join(TREE), tree)?;
            for path in unknown {
                let to = files.join(path.parent().unwrap_or(Path::new("")));
                fs::create_dir_all(&to).with_context(|| format!("could not make `{}`", to.display()))?;
                copy_each(&[place.folder.join(path)], &to, environment)?;
            }
            Ok(())
        })
    }

    /// Copies what was kept into a checkout.
    pub(in crate::gate) fn lay(&self, tree: &Path, environment: &BTreeMap<String, String>) -> Result<()> {
        copy(&self.0.folder().join(FILES), tree, &[], environment)
    }
}
