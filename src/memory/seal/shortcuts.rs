//! The files by which git, and `log`, read the history and its objects faster than from these themselves. One that is forged
//! hides commits from all of them, so only those stay of which longhaul wrote down that its own git made them.

use std::fs;
use std::io;
use std::iter;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use sha2::Sha256;

use crate::memory::Place;
use crate::memory::aside;
use crate::memory::repository::exchange;
use crate::memory::repository::upkeep::Right;
use crate::memory::seal::layout;
use crate::memory::seal::layout::Foreign;

/// The file in which they are written down.
pub(in crate::memory) const RECORD: &str = "commit-graph.json";
const GRAPH: &str = "objects/info/commit-graph";
const GRAPHS: &str = "objects/info/commit-graphs";
/// Of objects in several packs; longhaul never has one made.
const PACKS: [&str; 2] = ["objects/pack/multi-pack-index", "objects/pack/multi-pack-index.d"];

/// What is written down of one file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Known {
    name: String,
    digest: String,
    stamp: Stamp,
}

/// What changes when a file is written, replaced or touched.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self { inode: found.ino(), size: found.len(), changed: (found.ctime(), found.ctime_nsec()) })
    }
}

/// Finds those that longhaul's git did not make. A person's may have: it is told, and is no attack.
pub(in crate::memory) fn look(place: &Place) -> Vec<Foreign> {
    look_if_known(place).unwrap_or_default()
}

/// Does the same; none where it is not known yet whose they are.
pub(super) fn look_if_known(place: &Place) -> Option<Vec<Foreign>> {
    if foreign(place).is_empty() {
        return Some(Vec::new());
    }
    // Who packs writes down at the end what it made.
    let Ok(right) = Right::if_free(&place.state) else { return Some(foreign(place)) };
    right.map(|_right| foreign(place))
}

/// Returns the files and folders that are as they were as long as [`look`] finds nothing new.
pub(super) fn rests_on(repository: &Path) -> impl Iterator<Item = PathBuf> {
    let named = PACKS.iter().chain(&[GRAPH, GRAPHS]).flat_map(|name| layout::with_folder(repository, name));
    let graphs = iter::once_with(|| graphs(repository)).flatten().map(|name| repository.join(name));
    named.chain(graphs)
}

/// Tells whether git's lists of commits, if there are any, are longhaul's.
pub(in crate::memory) fn are_ours(repository: &Path, state: &Path) -> bool {
    let found = graphs(repository);
    found.is_empty() || is_known(repository, &found, &known(state))
}

/// Tells whether there is no list of commits.
pub(in crate::memory) fn are_missing(repository: &Path) -> bool {
    graphs(repository).is_empty()
}

/// Sets aside what others made, so that git does not build on it; to be called with the right to pack.
pub(in crate::memory) fn clear(repository: &Path, state: &Path) -> Result<()> {
    let names = if are_ours(repository, state) { [].as_slice() } else { [GRAPH, GRAPHS].as_slice() };
    for name in names {
        let path = repository.join(name);
        let kept = aside::keep(&path, &format!("memory.git/{name}"), &state.join("found"));
        kept.with_context(|| format!("could not set `{}` aside", path.display()))?;
    }
    Ok(())
}

/// Writes down longhaul's anew where they are other files with the same bytes, so that the next look is quick.
pub(in crate::memory) fn renew(place: &Place) {
    let Place { repository, state, .. } = place;
    let known = known(state);
    let found = graphs(repository);
    let is_as_noted = |name: &String| {
        let stamp = Stamp::of(&repository.join(name)).ok();
        known.iter().any(|known| known.name == *name && Some(known.stamp) == stamp)
    };
    if !found.iter().all(is_as_noted)
        && let Ok(Some(_right)) = Right::if_free(state)
        && is_known(repository, &found, &known)
    {
        // Else it takes longer, and no more.
        let _ = note(repository, state);
    }
}

/// Writes down those that are there now as longhaul's; to be called with the right to pack.
pub(in crate::memory) fn note(repository: &Path, state: &Path) -> io::Result<()> {
    let known = known(state);
    let mut all = Vec::new();
    for name in graphs(repository) {
        let path = repository.join(&name);
        let stamp = Stamp::of(&path)?;
        let as_before = known.iter().find(|known| known.name == name && known.stamp == stamp);
        let digest = as_before.map_or_else(|| digest(&path), |known| Ok(known.digest.clone()))?;
        all.push(Known { name, digest, stamp });
    }
    let text = serde_json::to_vec(&all)?;
    exchange::put(&state.join(RECORD), &text)
}

fn foreign(place: &Place) -> Vec<Foreign> {
    let Place { repository, state, .. } = place;
    let is_there = |name: &&&str| fs::symlink_metadata(repository.join(name)).is_ok();
    let of_packs = PACKS.iter().filter(is_there);
    let others = if are_ours(repository, state) { [].as_slice() } else { [GRAPH, GRAPHS].as_slice() };
    let why = "git reads the memory by it, and longhaul did not make it; git makes it again";
    let foreign = |name: &&str| Foreign { name: (*name).to_owned(), why: why.to_owned(), innocent: true };
    of_packs.chain(others.iter().filter(is_there)).map(foreign).collect()
}

fn is_known(repository: &Path, found: &[String], known: &[Known]) -> bool {
    found.iter().all(|name| {
        let path = repository.join(name);
        known.iter().filter(|known| known.name == *name).any(|known| {
            Stamp::of(&path).is_ok_and(|stamp| stamp == known.stamp)
                || digest(&path).is_ok_and(|digest| digest == known.digest)
        })
    })
}

fn known(state: &Path) -> Vec<Known> {
    let bytes = fs::read(state.join(RECORD)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Returns the lists of commits that are there.
fn graphs(repository: &Path) -> Vec<String> {
    let one = fs::symlink_metadata(repository.join(GRAPH)).is_ok().then(|| GRAPH.to_owned());
    let names = fs::read_dir(repository.join(GRAPHS)).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // Half-written ones git does not read.
    let read = names.filter(|name| name == "commit-graph-chain" || name.ends_with(".graph"));
    one.into_iter().chain(read.map(|name| format!("{GRAPHS}/{name}"))).collect()
}

fn digest(path: &Path) -> io::Result<String> {
    let digest = Sha256::digest(fs::read(path)?);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::fsck;
    use crate::memory::fsck::Repair;
    use crate::memory::history::Filter;
    use crate::memory::repository::new_repository;
    use crate::memory::rules::path::MemoryPath;

    /// Lets git list the commits, in one file or in several, as if longhaul had it done.
    fn listed(split: &[&str]) -> Memory {
        let memory = Memory::project(&[("a", "1"), ("a", "2"), ("b", "1"), ("a", "3")]);
        memory.git(&[&["commit-graph", "write", "--reachable", "--changed-paths"], split].concat());
        note(&memory.place.repository, &memory.place.state).unwrap();
        memory
    }

    /// Says in git's list that the newest commit has no parent, with the digest that git wants.
    fn forge(memory: &Memory) {
        let tree = git2::Oid::from_str(memory.git(&["rev-parse", "main^{tree}"]).trim()).unwrap();
        for name in graphs(&memory.place.repository).iter().filter(|name| !name.ends_with("chain")) {
            let path = memory.place.repository.join(name);
            let mut bytes = fs::read(&path).unwrap();
            let at = bytes.windows(20).position(|found| found == tree.as_bytes()).unwrap() + 20;
            bytes[at..at + 4].copy_from_slice(&0x7000_0000_u32.to_be_bytes());
            let end = bytes.len() - 20;
            fs::write(memory.outside("graph"), &bytes[..end]).unwrap();
            let told = std::process::Command::new("sha1sum").arg(memory.outside("graph")).output().unwrap().stdout;
            let digest = git2::Oid::from_str(std::str::from_utf8(&told[..40]).unwrap()).unwrap();
            bytes[end..].copy_from_slice(digest.as_bytes());
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
        }
    }

    fn count(memory: &Memory) -> usize {
        memory.git(&["log", "--oneline"]).lines().count()
    }

    #[test]
    fn a_forged_list_of_commits_is_seen_set_aside_and_told() {
        for split in [&[][..], &["--split"]] {
            let memory = listed(split);
            assert!(look(&memory.place).is_empty() && count(&memory) == 4);
            forge(&memory);
            assert_eq!(count(&memory), 1, "its twin: git believes it");

            let path = Some(MemoryPath::relative("a").unwrap());
            let found = memory.store.history(&Filter { path, ..Filter::default() }).unwrap();
            assert_eq!(found.len(), 3, "who reads does not believe it");
            let seen = fsck::fsck(&memory.place, Repair::No, &|_| {}).unwrap();
            assert!(seen.faults[0].what.contains("commit-graph"), "{seen:?}");
            assert!(fsck::fsck(&memory.place, Repair::Yes, &|_| {}).unwrap().is_sound());
            assert_eq!(count(&memory), 4);

            let mut memory = listed(split);
            forge(&memory);
            let told = memory.open_again().recovered();
            assert!(told.len() == 1 && told[0].contains("commit-graph"), "{told:?}");
            assert_eq!(count(&memory), 4);
            memory.store = memory.open_again();
            assert_eq!(memory.store.recovered(), [""; 0]);
        }
    }

    #[test]
    fn while_the_memory_is_open_a_list_of_others_goes_before_the_next_write_and_is_no_attack() {
        let mut memory = listed(&[]);
        forge(&memory);
        fs::write(memory.place.repository.join(PACKS[0]), "x").unwrap();
        memory.write("b", "2");
        assert_eq!(count(&memory), 5);
        assert!(!memory.inspect().tampered());
        assert!(!memory.place.repository.join(PACKS[0]).exists());
    }

    #[test]
    fn a_copied_list_is_known_by_its_bytes_and_written_down_anew() {
        let memory = listed(&["--split"]);
        for name in graphs(&memory.place.repository) {
            let path = memory.place.repository.join(name);
            let bytes = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        let before = fs::read(memory.place.state.join(RECORD)).unwrap();
        assert_eq!(memory.open_again().recovered(), [""; 0]);
        assert_ne!(fs::read(memory.place.state.join(RECORD)).unwrap(), before);
        assert_eq!(graphs(&memory.place.repository).len(), 2);
    }

    #[test]
    fn a_git_gc_makes_no_list_also_where_the_settings_are_old() {
        let memory = listed(&[]);
        fs::remove_file(memory.place.repository.join(GRAPH)).unwrap();
        fs::write(memory.place.repository.join("config"), new_repository::OLD_CONFIG).unwrap();
        assert_eq!(memory.open_again().recovered(), [""; 0]);
        memory.git(&["gc", "--quiet"]);
        assert!(are_missing(&memory.place.repository));
    }
}
