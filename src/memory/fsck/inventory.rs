//! Every object that the repository holds, each one unpacked and hashed: in files of their own by our own code, since one
//! that was cut makes libgit2 spin for ever, and in packs by indexing these anew.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::io::ErrorKind;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use anyhow::Result;
use git2::Indexer;
use git2::Odb;
use git2::Oid;
use tempfile::TempDir;

use crate::memory::repository::loose::HALF;
use crate::memory::repository::loose::Loose;
use crate::memory::repository::object::Object;
use crate::memory::repository::spare;

/// How long after its last write a half-written file of git's is left alone.
const AT_WORK: Duration = Duration::from_secs(15 * 60);

/// What lies in the folder `objects`.
pub(super) struct Inventory {
    objects: PathBuf,
    loose: HashSet<Oid>,
    packed: HashSet<Oid>,
    odb: Odb<'static>,
    /// Files whose bytes are not those of the object that they are named after.
    pub(super) damaged: Vec<Oid>,
    pub(super) packs: Vec<DamagedPack>,
    /// Why an object could not be read, if one could not.
    unread: RefCell<Option<io::Error>>,
    /// Files that are no object, such as half-written ones.
    pub(super) halves: Vec<String>,
    /// Those of them that a git which is at work may need.
    pub(super) in_use: Vec<String>,
}

/// A pack that is not whole.
pub(super) struct DamagedPack {
    /// Without the last part of the name.
    pub(super) path: PathBuf,
    /// The index that the pack should have; none when the pack itself is damaged.
    pub(super) index: Option<Vec<u8>>,
    /// Objects that can still be read.
    pub(super) left: Vec<Oid>,
    rescued: Option<Rescued>,
}

/// A copy of a damaged pack that ends as its index says, so that libgit2 reads what is left in it.
struct Rescued {
    odb: Odb<'static>,
    _folder: TempDir,
}

impl Rescued {
    fn from(path: &Path, index: &[u8]) -> Result<Self> {
        let doing = "could not copy a damaged pack of the memory";
        let folder = tempfile::tempdir().context(doing)?;
        let pack = folder.path().join("pack");
        let end = index.len().checked_sub(40).and_then(|at| index.get(at..at + 20)).unwrap_or_default();
        let copy = || {
            fs::create_dir(&pack)?;
            let bytes = or_nothing(fs::read(path.with_extension("pack")))?;
            let name = pack.join(path.file_name().unwrap_or_default());
            fs::write(name.with_extension("pack"), [&bytes, end].concat())?;
            fs::write(name.with_extension("idx"), index)
        };
        copy().context(doing)?;
        let odb = Odb::new().context(doing)?;
        odb.add_disk_alternate(&folder.path().to_string_lossy()).context(doing)?;
        Ok(Self { odb, _folder: folder })
    }

    fn read(&self, id: Oid) -> Option<Object> {
        read(&self.odb, id)
    }
}

impl DamagedPack {
    /// Returns an object that is left in it.
    pub(super) fn read(&self, id: Oid) -> Option<Object> {
        self.rescued.as_ref()?.read(id)
    }
}

fn read(odb: &Odb<'_>, id: Oid) -> Option<Object> {
    let found = odb.read(id).ok()?;
    Some(Object { id, kind: found.kind(), bytes: found.data().to_vec() })
}

impl Inventory {
    /// Reads all objects.
    pub(super) fn take(objects: &Path) -> Result<Self> {
        let odb = Odb::new().context("could not open the memory's objects")?;
        odb.add_disk_alternate(&objects.to_string_lossy()).context("could not open the memory's objects")?;
        let mut inventory = Self {
            objects: objects.to_owned(),
            loose: HashSet::new(),
            packed: HashSet::new(),
            odb,
            damaged: Vec::new(),
            packs: Vec::new(),
            halves: Vec::new(),
            in_use: Vec::new(),
            unread: RefCell::new(None),
        };
        let doing = || format!("could not read `{}`", objects.display());
        for name in names(objects).with_context(doing)? {
            match name.len() {
                2 if Oid::from_str(&format!("{name}{}", "0".repeat(38))).is_ok() => {
                    inventory.take_loose(&name).with_context(doing)?;
                }
                _ if !["info", "pack", spare::FILE].contains(&name.as_str()) => inventory.halves.push(name),
                _ => {}
            }
        }
        inventory.take_packs()?;
        let halves = std::mem::take(&mut inventory.halves);
        (inventory.in_use, inventory.halves) = halves.into_iter().partition(|name| is_in_use(&objects.join(name)));
        Ok(inventory)
    }

    fn take_loose(&mut self, folder: &str) -> io::Result<()> {
        // Git takes away a folder of which it packed all.
        for name in or_nothing(names(&self.objects.join(folder)))? {
            let id = Some(format!("{folder}{name}")).filter(|name| name.len() == 40);
            match id.and_then(|id| Oid::from_str(&id).ok()) {
                None => self.halves.push(format!("{folder}/{name}")),
                Some(id) => match Loose(&self.objects).is_whole(id)? {
                    Some(true) => drop(self.loose.insert(id)),
                    Some(false) => self.damaged.push(id),
                    // It was packed meanwhile.
                    None => {}
                },
            }
        }
        Ok(())
    }

    /// Takes all packs; where git made others of them meanwhile, these.
    fn take_packs(&mut self) -> Result<()> {
        let folder = self.objects.join("pack");
        let mut taken = BTreeSet::new();
        loop {
            let packs = self.list_packs(&folder)?;
            self.packs.retain(|damaged| packs.contains(&damaged.path));
            let new: Vec<_> = packs.difference(&taken).cloned().collect();
            if new.is_empty() {
                return Ok(());
            }
            for pack in new {
                self.take_pack(&pack)?;
                taken.insert(pack);
            }
        }
    }

    /// Returns the packs that are there, without the last part of their names, and notes half-written ones.
    fn list_packs(&mut self, folder: &Path) -> Result<BTreeSet<PathBuf>> {
        let found = or_nothing(names(folder)).with_context(|| format!("could not read `{}`", folder.display()))?;
        self.halves.retain(|half| !half.starts_with("pack/"));
        let mut packs = BTreeSet::new();
        for name in found {
            match name.rsplit_once('.') {
                Some((pack, "pack" | "idx")) if pack.starts_with("pack-") => drop(packs.insert(folder.join(pack))),
                _ if name.starts_with("tmp_") => self.halves.push(format!("pack/{name}")),
                _ => {}
            }
        }
        Ok(packs)
    }

    fn take_pack(&mut self, path: &Path) -> Result<()> {
        let doing = || format!("could not read the pack `{}`", path.display());
        let found = or_nothing(fs::read(path.with_extension("idx"))).with_context(doing)?;
        match indexed_anew(&path.with_extension("pack"))? {
            Some(index) if index == found => self.packed.extend(named(&index)),
            Some(index) => {
                let path = path.to_owned();
                self.packs.push(DamagedPack { path, left: named(&index), index: Some(index), rescued: None });
            }
            None => {
                let rescued = Rescued::from(path, &found)?;
                let listed = named(&found).into_iter();
                let left = listed.filter(|id| rescued.read(*id).is_some()).collect();
                self.packs.push(DamagedPack { path: path.to_owned(), index: None, left, rescued: Some(rescued) });
            }
        }
        Ok(())
    }

    /// Tells whether an object is there as a whole.
    pub(super) fn has(&self, id: Oid) -> bool {
        self.loose.contains(&id) || self.packed.contains(&id)
    }

    /// Returns an object; none when it is not there as a whole.
    pub(super) fn read(&self, id: Oid) -> Option<Object> {
        if self.loose.contains(&id) {
            return match Loose(&self.objects).read(id) {
                Err(error) if error.kind() != ErrorKind::InvalidData => {
                    self.unread.replace(Some(error));
                    None
                }
                // It was packed meanwhile.
                Ok(None) => read(&self.odb, id),
                read => read.ok().flatten(),
            };
        }
        self.packed.contains(&id).then(|| read(&self.odb, id)).flatten()
    }

    /// Fails if an object could not be read: that it is missing would be a false answer.
    pub(super) fn require_read(&self) -> Result<()> {
        let unread = self.unread.take().map_or(Ok(()), Err);
        unread.context("could not read all objects of the memory")
    }

    /// Returns how many objects are there as a whole.
    pub(super) fn len(&self) -> usize {
        self.loose.union(&self.packed).count()
    }
}

/// Takes what is not there for nothing.
fn or_nothing<T: Default>(read: io::Result<T>) -> io::Result<T> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
        read => read,
    }
}

/// Tells whether a file of git's was written to just now. Our own have a name that git does not give.
fn is_in_use(path: &Path) -> bool {
    let is_gits = path.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name.starts_with("tmp_") && !name.starts_with(HALF)
    });
    let age = fs::symlink_metadata(path).and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
    is_gits && age.is_some_and(|age| age < AT_WORK)
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Reads a pack from its first byte to its last and returns the index that it should have; none when it is damaged.
fn indexed_anew(pack: &Path) -> Result<Option<Vec<u8>>> {
    let scratch = tempfile::tempdir().context("could not make a folder to read a pack of the memory in")?;
    let doing = || format!("could not read the pack `{}`", pack.display());
    let mut file = match fs::File::open(pack) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.with_context(doing)?,
    };
    let mut indexer = Indexer::new(None, scratch.path(), 0o600, false).with_context(doing)?;
    let mut bytes = vec![0; 1 << 16];
    loop {
        match file.read(&mut bytes).with_context(doing)? {
            0 => break,
            // What is no pack is refused here, or at its end.
            length if indexer.write_all(&bytes[..length]).is_err() => return Ok(None),
            _ => {}
        }
    }
    let index = indexer.commit().ok().map(|name| scratch.path().join(format!("pack-{name}.idx")));
    index.map(|index| fs::read(index).with_context(doing)).transpose()
}

/// Returns the ids that an index of a pack lists (git's documentation: `gitformat-pack`).
fn named(index: &[u8]) -> Vec<Oid> {
    let listed = || {
        let count = u32::from_be_bytes(index.get(8 + 255 * 4..8 + 256 * 4)?.try_into().ok()?) as usize;
        index.get(8 + 256 * 4..)?.get(..count.checked_mul(20)?)
    };
    let is_known = index.starts_with(b"\xfftOc\0\0\0\x02");
    listed().filter(|_| is_known).unwrap_or_default().chunks(20).filter_map(|id| Oid::from_bytes(id).ok()).collect()
}
