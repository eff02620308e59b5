//! What `gate.prepare` made, kept once for each state of the lock files and copied into every later checkout, so that no
//! check can change it for the next.

use super::copy::copy;
use super::copy::copy_each;
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

/// The kept files of one state of the lock files.
pub(in crate::gate) struct Prepared(Kept);

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
        Self(Kept::new(&state.join("prepared"), &digest[..32]))
    }

    /// Tells whether something was kept for this state.
    pub(in crate::gate) fn is_kept(&self) -> bool {
        self.0.is_there()
    }

    /// Keeps what lies in the checkout and is not tracked.
    pub(in crate::gate) fn keep(
        &self,
        project: &Project,
        place: &Elsewhere,
        environment: &BTreeMap<String, String>,
    ) -> Result<()> {
        let unknown = project.unknown_in(place)?;
        self.0.fill(|half| {
            for path in unknown {
                let to = half.join(path.parent().unwrap_or(Path::new("")));
                fs::create_dir_all(&to).with_context(|| format!("could not make `{}`", to.display()))?;
                copy_each(&[place.folder.join(path)], &to, environment)?;
            }
            Ok(())
        })
    }

    /// Copies what was kept into a checkout.
    pub(in crate::gate) fn lay(&self, tree: &Path, environment: &BTreeMap<String, String>) -> Result<()> {
        copy(self.0.folder(), tree, &[], environment)
    }
}
