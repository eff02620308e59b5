//! Takes all objects away that no ref leads to, and what could lead to them again.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use anyhow::Result;
use git2::Oid;

use crate::memory::fsck::refs::Refs;
use crate::memory::purge::gone;
use crate::memory::purge::refs;
use crate::memory::recovery;
use crate::memory::repository::Repository;

/// Records of where something was, which nobody needs to read the memory.
const TRACES: [&str; 5] = ["logs", "ORIG_HEAD", "FETCH_HEAD", "objects/info/commit-graph", "objects/info/packs"];

/// Packs all that some ref leads to, and removes the rest.
pub(super) fn unreachable(repository: &Repository, head: Option<Oid>) -> Result<()> {
    let kept = pack(repository, head)?;
    unpack_refs(repository)?;
    recovery::sync_all(repository)?;
    let folder = repository.git.path();
    let remove = || {
        for trace in TRACES {
            gone(remove_whole(&folder.join(trace)))?;
        }
        gone(remove_whole(&folder.join("objects/info/commit-graphs")))?;
        remove_others(&repository.objects(), |name| name == "info" || name == "pack")?;
        let kept = kept.map(|name| format!("pack-{name}."));
        remove_others(&repository.objects().join("pack"), |name| {
            kept.as_ref().is_some_and(|kept| name.starts_with(kept))
        })
    };
    remove().with_context(|| format!("could not remove old objects from `{}`", folder.display()))
}

/// Packs what is in use; returns the name of the pack, if there is anything.
fn pack(repository: &Repository, head: Option<Oid>) -> Result<Option<String>> {
    let doing = "could not pack the memory's objects";
    let mut walk = repository.git.revwalk().context(doing)?;
    for commit in refs::commits(repository, head)? {
        walk.push(commit).context(doing)?;
    }
    let mut builder = repository.git.packbuilder().context(doing)?;
    builder.insert_walk(&mut walk).context(doing)?;
    if builder.object_count() == 0 {
        return Ok(None);
    }
    builder.write(&repository.objects().join("pack"), 0o444).context(doing)?;
    let name = builder.name().context(doing)?.map(str::to_owned);
    name.context(doing).map(Some)
}

/// Gives each ref a file of its own: a packed one may still tell where it was before.
fn unpack_refs(repository: &Repository) -> Result<()> {
    let packed = repository.git.path().join("packed-refs");
    if !packed.exists() {
        return Ok(());
    }
    for (name, target) in Refs::read(repository.git.path())?.good {
        repository.git.reference(&name, target, true, "purged")?;
    }
    fs::remove_file(&packed).with_context(|| format!("could not remove `{}`", packed.display()))
}

fn remove_others(folder: &Path, stays: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !stays(&entry.file_name().to_string_lossy()) {
            gone(remove_whole(&entry.path()))?;
        }
    }
    Ok(())
}

fn remove_whole(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}
