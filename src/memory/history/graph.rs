//! Git's commit-graph, read: the order of commits without reading them, and for each a filter that tells which paths it
//! did not change. `git commit-graph write --changed-paths` makes it; without it, or where it is not as expected, history is
//! walked commit by commit, which takes longer and finds the same.

use std::cmp::Ordering;
use std::fs;
use std::path::Path;

use git2::Oid;

use crate::memory::rules::path;

/// Bytes of an id, and of what the file knows of a commit.
const ID: usize = 20;
const DATA: usize = ID + 16;
/// Where a parent would be, when there is none.
const NO_PARENT: u32 = 0x7000_0000;
/// Marks a second parent that stands for a list of more.
const MORE_PARENTS: u32 = 0x8000_0000;
/// Bytes before the filters: the version of the hash, the hashes of a path and the bits of an entry.
const SETTINGS: usize = 12;

/// What git wrote down of history: one file, or several of which each goes on from those before.
pub(super) struct Graph {
    files: Vec<File>,
}

struct File {
    bytes: Vec<u8>,
    /// Commits in the files before, and in this one.
    before: usize,
    commits: usize,
    /// Where the parts begin.
    fanout: usize,
    ids: usize,
    data: usize,
    filters: Option<Filters>,
}

struct Filters {
    /// Where the ends of the filters, and the filters, begin.
    ends: usize,
    all: usize,
    hashes: u32,
    /// What git hashed before 2.45, which differs where a path is not ASCII.
    signed: bool,
}

/// What the file knows of a commit.
pub(super) struct Known {
    pub(super) tree: Oid,
    pub(super) seconds: i64,
    /// The places of its parents.
    pub(super) parents: Vec<usize>,
}

/// A path and the folders on the way to it, as the filters know them.
pub(super) struct Key {
    hashes: Vec<(u32, u32)>,
    ascii: bool,
}

impl Key {
    pub(super) fn of(path: &str) -> Self {
        let hashes = |path: &str| (murmur3(0x293a_e76f, path.as_bytes()), murmur3(0x7e64_6e2c, path.as_bytes()));
        // The path first: it rules out most.
        let all = [path].into_iter().chain(path::parents(path));
        Self { hashes: all.map(hashes).collect(), ascii: path.is_ascii() }
    }
}

impl Graph {
    /// Reads what a folder of objects has; none when there is nothing of the form that is known here.
    pub(super) fn open(objects: &Path) -> Option<Self> {
        let info = objects.join("info");
        if let Ok(bytes) = fs::read(info.join("commit-graph")) {
            return Self::read([bytes]);
        }
        let folder = info.join("commit-graphs");
        let names = fs::read_to_string(folder.join("commit-graph-chain")).ok()?;
        let files: Option<Vec<_>> =
            names.lines().map(|name| fs::read(folder.join(format!("graph-{name}.graph"))).ok()).collect();
        Self::read(files?)
    }

    fn read(all: impl IntoIterator<Item = Vec<u8>>) -> Option<Self> {
        let mut files: Vec<File> = Vec::new();
        for bytes in all {
            let before = files.last().map_or(0, |file| file.before + file.commits);
            files.push(File::read(bytes, files.len(), before)?);
        }
        Some(Self { files })
    }

    /// Returns the place of a commit.
    pub(super) fn find(&self, id: Oid) -> Option<usize> {
        self.files.iter().rev().find_map(|file| Some(file.before + file.find(id)?))
    }

    /// Returns the id of the commit at a place.
    pub(super) fn id(&self, place: usize) -> Option<Oid> {
        let (file, place) = self.file(place)?;
        Oid::from_bytes(file.id_at(place)?).ok()
    }

    /// Returns what is known of the commit at a place.
    pub(super) fn known(&self, place: usize) -> Option<Known> {
        let (file, place) = self.file(place)?;
        file.known(place)
    }

    /// Tells whether the commit at a place may have changed a path; only a no is certain.
    pub(super) fn may_change(&self, place: usize, key: &Key) -> bool {
        self.file(place).is_none_or(|(file, place)| file.may_change(place, key))
    }

    /// Returns the file that has a commit, and its place there.
    fn file(&self, place: usize) -> Option<(&File, usize)> {
        let file = self.files.iter().rev().find(|file| file.before <= place)?;
        Some((file, place - file.before))
    }
}

impl File {
    fn read(bytes: Vec<u8>, nth: usize, before: usize) -> Option<Self> {
        // The last of these is the number of files that this one goes on from.
        let [b'C', b'G', b'P', b'H', 1, 1, chunks, bases] = *bytes.get(..8)? else { return None };
        let chunk = |name: &[u8; 4]| {
            let mut heads = (0..usize::from(chunks)).map(|number| 8 + number * 12);
            let head = heads.find(|head| bytes.get(*head..head + 4) == Some(name))?;
            let begin = u64::from_be_bytes(bytes.get(head + 4..head + 12)?.try_into().ok()?);
            usize::try_from(begin).ok().filter(|begin| *begin < bytes.len())
        };
        let (fanout, ids, data) = (chunk(b"OIDF")?, chunk(b"OIDL")?, chunk(b"CDAT")?);
        let filters = chunk(b"BIDX").zip(chunk(b"BDAT")).and_then(|(ends, settings)| {
            let version = number(&bytes, settings)?;
            let hashes = number(&bytes, settings + 4)?;
            let known = matches!(version, 1 | 2) && hashes <= 64;
            known.then_some(Filters { ends, all: settings + SETTINGS, hashes, signed: version == 1 })
        });
        let commits = number(&bytes, fanout + 255 * 4)? as usize;
        let goes_on = usize::from(bases) == nth;
        goes_on.then_some(Self { bytes, before, commits, fanout, ids, data, filters })
    }

    fn find(&self, id: Oid) -> Option<usize> {
        let byte = usize::from(id.as_bytes()[0]);
        let end = |byte: usize| number(&self.bytes, self.fanout + byte * 4).map(|end| end as usize);
        let mut low = if byte == 0 { 0 } else { end(byte - 1)? };
        let mut high = end(byte)?.min(self.commits);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.id_at(middle)?.cmp(id.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn id_at(&self, place: usize) -> Option<&[u8]> {
        let at = self.ids + place * ID;
        self.bytes.get(at..at + ID).filter(|_| place < self.commits)
    }

    fn known(&self, place: usize) -> Option<Known> {
        let at = self.data + place * DATA;
        let data = self.bytes.get(at..at + DATA).filter(|_| place < self.commits)?;
        let tree = Oid::from_bytes(&data[..ID]).ok()?;
        let parents = [number(data, ID)?, number(data, ID + 4)?];
        // One of three parents or more is read itself.
        if parents[1] & MORE_PARENTS != 0 {
            return None;
        }
        // Above it are two more bits of the time, and how far the commit is from the first one.
        let seconds = i64::from(number(data, ID + 8)? & 0b11) << 32 | i64::from(number(data, ID + 12)?);
        let parents = parents.into_iter().filter(|parent| *parent != NO_PARENT).map(|parent| parent as usize);
        Some(Known { tree, seconds, parents: parents.collect() })
    }

    fn may_change(&self, place: usize, key: &Key) -> bool {
        let filter = self.filters.as_ref().and_then(|filters| Some((filters, self.filter(filters, place)?)));
        let Some((filters, filter)) = filter.filter(|(filters, filter)| {
            // An empty one was not worked out.
            !filter.is_empty() && (key.ascii || !filters.signed)
        }) else {
            return true;
        };
        let bits = filter.len() as u64 * 8;
        key.hashes.iter().all(|(first, step)| {
            (0..filters.hashes).all(|turn| {
                let bit = u64::from(first.wrapping_add(turn.wrapping_mul(*step))) % bits;
                filter[(bit / 8) as usize] & 1 << (bit % 8) != 0
            })
        })
    }

    fn filter(&self, filters: &Filters, place: usize) -> Option<&[u8]> {
        let end = |place: usize| number(&self.bytes, filters.ends + place * 4).map(|end| end as usize);
        let begin = if place == 0 { 0 } else { end(place - 1)? };
        self.bytes.get(filters.all + begin..filters.all + end(place)?)
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The hash by which the filters know a path.
fn murmur3(seed: u32, bytes: &[u8]) -> u32 {
    const FIRST: u32 = 0xcc9e_2d51;
    const SECOND: u32 = 0x1b87_3593;
    let mix = |word: u32| word.wrapping_mul(FIRST).rotate_left(15).wrapping_mul(SECOND);
    let (words, rest) = bytes.as_chunks::<4>();
    let mut hash = seed;
    for word in words {
        hash = (hash ^ mix(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        hash ^= mix(u32::from_le_bytes(last));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::seal::shortcuts;

    #[test]
    fn the_hash_is_the_one_of_git() {
        // The values of git's own tests.
        assert_eq!(murmur3(0, b""), 0);
        assert_eq!(murmur3(0, b"Hello world!"), 0x627b_0c2c);
        assert_eq!(murmur3(0, b"The quick brown fox jumps over the lazy dog"), 0x2e4f_f723);
    }

    #[test]
    fn the_file_of_git_knows_order_trees_and_what_did_not_change() {
        let mut memory = Memory::project(&[]);
        let write = |memory: &mut Memory, numbers: std::ops::Range<usize>| -> Vec<String> {
            numbers.map(|number| memory.write(&format!("docs/{}/a", number % 7), &number.to_string())).collect()
        };
        let mut commits = write(&mut memory, 0..40);
        memory.git(&["commit-graph", "write", "--reachable", "--changed-paths"]);
        shortcuts::note(&memory.place.repository, &memory.place.state).unwrap();
        knows(&memory, &commits);

        // Each time the rest goes to a file of its own.
        for numbers in [40..50, 50..53] {
            commits.extend(write(&mut memory, numbers));
            memory.git(&["commit-graph", "write", "--reachable", "--changed-paths", "--split=no-merge"]);
            shortcuts::note(&memory.place.repository, &memory.place.state).unwrap();
        }
        assert_eq!(Graph::open(&memory.place.repository.join("objects")).unwrap().files.len(), 3);
        knows(&memory, &commits);
    }

    /// Holds what the graph knows against git and against how the commits were made.
    fn knows(memory: &Memory, commits: &[String]) {
        let graph = Graph::open(&memory.place.repository.join("objects")).unwrap();
        let mut ruled_out = 0;
        for (number, commit) in commits.iter().enumerate() {
            let place = graph.find(Oid::from_str(commit).unwrap()).unwrap();
            let known = graph.known(place).unwrap();
            assert_eq!(known.tree.to_string(), memory.git(&["rev-parse", &format!("{commit}^{{tree}}")]).trim());
            let parents: Vec<_> = known.parents.iter().map(|place| graph.id(*place).unwrap().to_string()).collect();
            assert_eq!(
                parents,
                number.checked_sub(1).map(|before| commits[before].clone()).into_iter().collect::<Vec<_>>()
            );
            assert_eq!(known.seconds, 1_800_000_000);
            for path in [format!("docs/{}/a", number % 7), format!("docs/{}", number % 7), "docs".to_owned()] {
                assert!(graph.may_change(place, &Key::of(&path)), "{number} {path}");
            }
            ruled_out += (0..7).filter(|other| !graph.may_change(place, &Key::of(&format!("docs/{other}/a")))).count();
        }
        assert!(ruled_out > commits.len() * 5, "of 6 each that did not change, {ruled_out} were ruled out");
        assert_eq!(graph.find(Oid::ZERO_SHA1), None);
    }

    #[test]
    fn a_cut_or_garbled_file_is_no_danger() {
        let mut memory = Memory::project(&[("a", "1"), ("b", "2"), ("c/d", "3")]);
        let head = Oid::from_str(&memory.write("a", "2")).unwrap();
        memory.git(&["commit-graph", "write", "--reachable", "--changed-paths"]);
        let bytes = fs::read(memory.place.repository.join("objects/info/commit-graph")).unwrap();
        let walk = |bytes: Vec<u8>| {
            let Some(graph) = Graph::read([bytes]) else { return };
            let places = graph.find(head).into_iter().chain([0, 3, usize::MAX / 64]);
            for place in places {
                graph.known(place);
                graph.id(place);
                graph.may_change(place, &Key::of("a"));
            }
        };
        for cut in 0..bytes.len() {
            walk(bytes[..cut].to_vec());
            let mut garbled = bytes.clone();
            garbled[cut] ^= 0xff;
            walk(garbled);
        }
    }
}
