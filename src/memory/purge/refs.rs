//! The commits that something leads to. What libgit2 lists leaves out each ref that cannot be read, and all that only that
//! one leads to would be taken for nobody's.

use std::collections::BTreeSet;

use anyhow::Context;
use anyhow::Result;
use git2::ObjectType;
use git2::Oid;

use crate::memory::fsck::refs::Refs;
use crate::memory::repository::Repository;

/// Returns the newest commit, and those that refs name.
pub(super) fn commits(repository: &Repository, head: Option<Oid>) -> Result<BTreeSet<Oid>> {
    let mut commits: BTreeSet<Oid> = head.into_iter().collect();
    for (name, id) in Refs::read(repository.git.path())?.good {
        let found = repository.git.find_object(id, None);
        let found = found.with_context(|| format!("could not read what the memory's ref `{name}` names: {id}"))?;
        // One may name a file or a folder, by a tag too.
        commits.extend(found.peel(ObjectType::Commit).ok().map(|commit| commit.id()));
    }
    Ok(commits)
}
