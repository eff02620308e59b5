//! The journal: one file that has each commit whole before its parts are on disk.
//!
//! A commit counts once its record is here and synced; that is the only sync of a write. The files of its objects, the branch
//! and the view follow unsynced, and are made again from here when a power cut took them (`recovery`). A checkpoint syncs
//! them all and begins anew. The newest record also says where the branch has to be.
//!
//! Two headers of one block each, of which the newer whole one counts, then records without gaps. All numbers are
//! little-endian. The file grows by steps of zeros, so that an append seldom changes more than bytes.

mod header;
mod record;

pub(super) use record::Record;

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use git2::Oid;

use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::journal::header::Header;
use crate::memory::journal::record::PREFIX;
use crate::memory::journal::record::number;
use crate::memory::journal::record::numbers;

const BLOCK: usize = 4096;
/// Where the records begin.
const FIRST: u64 = 2 * BLOCK as u64;
/// The file grows by this, and no further than that.
const STEP: u64 = 256 * 1024;
const MOST: u64 = 16 * 1024 * 1024;

/// Tells one memory from another.
pub(super) type Identity = [u8; 16];

/// What became of an append.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Appended {
    Yes,
    /// There is no room: a checkpoint has to be made first.
    Full,
    /// There never is room for it.
    TooLarge,
}

/// What lies in the place of a journal.
pub(super) enum Found {
    Journal(Journal),
    Nothing,
    /// It belongs to another memory, or is damaged.
    Foreign,
}

/// An open journal. Only who holds the write lock may append, or make a checkpoint.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// The system's code for why it can only be read.
    refused: Option<i32>,
    identity: Identity,
    header: Header,
    /// Where the next record goes, and its number.
    end: u64,
    number: u64,
    /// Bytes that the file has.
    size: u64,
    head: Option<Oid>,
    /// Where the newest record begins, and what it begins with.
    last: Option<(u64, [u8; PREFIX])>,
    /// Whether the other header is damaged, which may have been the newer one.
    doubtful: bool,
}

impl Journal {
    /// Returns its file.
    pub(super) fn path(state: &Path) -> PathBuf {
        state.join("journal")
    }

    /// Makes a journal for a memory whose branch is at `head`, and whose files are synced.
    pub(super) fn create(state: &Path, identity: Identity, head: Option<Oid>) -> Result<Self> {
        let path = Self::path(state);
        let make = || {
            let new = state.join("journal.new");
            let header = Header { generation: 1, head };
            let mut bytes = vec![0; (FIRST + STEP) as usize];
            bytes[header::slot(1)..][..BLOCK].copy_from_slice(&header.block(&identity));
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all_at(&bytes, 0)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            File::open(state)?.sync_all()?;
            Ok::<_, io::Error>(Self {
                file,
                refused: None,
                identity,
                header,
                end: FIRST,
                number: 0,
                size: FIRST + STEP,
                head,
                last: None,
                doubtful: false,
            })
        };
        make().with_context(|| format!("could not make the journal `{}`", path.display()))
    }

    /// Opens what lies there, and reads where it ends.
    pub(super) fn open(state: &Path, identity: &Identity) -> Result<Found> {
        let path = Self::path(state);
        let doing = || format!("could not read the journal `{}`", path.display());
        // A link, or a folder, nobody of us put there.
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Ok(Found::Foreign);
        }
        let (file, refused) = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            // On a disk that cannot be written it is read all the same.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) =>
            {
                (File::open(&path).with_context(doing)?, error.raw_os_error())
            }
            file => (file.with_context(doing)?, None),
        };
        let size = file.metadata().with_context(doing)?.len();
        // One that was cut has lost the newer header, it may be: the older one would bring back what was long ago.
        let header = if size < FIRST { None } else { header::newest(&file, identity).with_context(doing)? };
        let Some(header) = header else { return Ok(Found::Foreign) };
        let doubtful = header::is_damaged(&file, header.generation + 1, identity).with_context(doing)?;
        let mut journal = Self {
            file,
            refused,
            identity: *identity,
            header,
            end: FIRST,
            number: 0,
            size,
            head: header.head,
            last: None,
            doubtful,
        };
        journal.read_on(&mut |_| Ok(()))?;
        Ok(Found::Journal(journal))
    }

    /// Returns where the branch has to be.
    pub(super) fn head(&self) -> Option<Oid> {
        self.head
    }

    /// Returns the memory that it belongs to.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns where the newest record begins.
    #[cfg(test)]
    pub(super) fn begin_of_last(&self) -> Option<u64> {
        self.last.map(|(at, _)| at)
    }

    /// Returns where the header that counts lies.
    #[cfg(test)]
    pub(super) fn newest_slot(&self) -> usize {
        header::slot(self.header.generation)
    }

    /// Tells whether its file lies where it was opened, and holds what was read from it and written to it.
    pub(super) fn is_intact(&self, state: &Path) -> Result<bool> {
        let identity = |found: &fs::Metadata| (found.dev(), found.ino());
        let look = || {
            let there = match fs::symlink_metadata(Self::path(state)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                there => there?,
            };
            let is_there = there.is_file() && identity(&self.file.metadata()?) == identity(&there);
            let is_last_there = match self.last {
                None => true,
                Some((at, begun)) => {
                    let mut found = [0; PREFIX];
                    read_whole(&self.file, &mut found, at)? && found == begun
                }
            };
            Ok(is_there && is_last_there && header::newest(&self.file, &self.identity)? == Some(self.header))
        };
        look().map_err(|error: io::Error| anyhow::Error::new(error).context("could not look at the memory's journal"))
    }

    /// Tells how many commits there are since the checkpoint.
    pub(super) fn commits(&self) -> u64 {
        self.number
    }

    /// Hands each commit since the checkpoint to `take`, oldest first.
    pub(super) fn each(&mut self, take: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        self.begin();
        self.read_on(take)
    }

    /// Tells whether commits may be missing from it: a header is damaged, or what follows the last whole record is more
    /// than the rest of an append that a kill or a power cut ended.
    pub(super) fn is_doubtful(&self) -> Result<bool> {
        Ok(self.doubtful || self.is_begun()? || !self.behind()?.is_empty())
    }

    /// Tells whether a header is damaged.
    pub(super) fn has_damaged_header(&self) -> bool {
        self.doubtful
    }

    /// Tells whether a record of ours was begun where the last whole one ends.
    fn is_begun(&self) -> Result<bool> {
        let mut prefix = [0; 24];
        let whole = read_whole(&self.file, &mut prefix, self.end).context("could not read the journal")?;
        Ok(whole && numbers(&prefix) == Some((self.header.generation, self.number + 1)))
    }

    /// Returns the whole records that lie behind a damaged one, oldest first; none come after the rest of an append.
    pub(super) fn behind(&self) -> Result<Vec<Record>> {
        let mut bytes = vec![0; self.file.metadata().context("could not read the journal")?.len() as usize];
        let read = read_whole(&self.file, &mut bytes, 0).context("could not read the journal")?;
        let newer = if self.doubtful { 1 } else { 0 };
        let (mut found, mut number) = (BTreeMap::new(), self.number);
        let mut at = self.end as usize;
        while let Some(prefix) = bytes.get(at..at + PREFIX).filter(|_| read) {
            let length = record::number(&prefix[..8]) as usize;
            // A record's length is below this, so that most places are passed by a glance.
            let record = (prefix[4..8] == [0; 4] && length > 0)
                .then(|| numbers(prefix))
                .flatten()
                .filter(|(generation, _)| {
                    (self.header.generation..=self.header.generation + newer).contains(generation)
                })
                .filter(|(generation, of)| *generation > self.header.generation || *of > number)
                .and_then(|place| Some((place, Record::whole(prefix, bytes.get(at + PREFIX..)?.get(..length)?)?)));
            at += match record {
                Some((place, record)) => {
                    number = place.1;
                    found.insert(place, record);
                    PREFIX + length
                }
                None => 1,
            };
        }
        Ok(found.into_values().collect())
    }

    /// Takes in what other processes have written since.
    pub(super) fn refresh(&mut self) -> Result<()> {
        let newest = header::newest(&self.file, &self.identity).context("could not read the journal")?;
        if let Some(newest) = newest.filter(|newest| newest.generation > self.header.generation) {
            (self.header, self.doubtful) = (newest, false);
            self.begin();
        }
        self.read_on(&mut |_| Ok(()))
    }

    /// Adds a commit; it is on disk when this returns.
    pub(super) fn append(&mut self, record: &Record) -> Result<Appended> {
        let bytes = record.encode(self.header.generation, self.number + 1);
        let end = self.end + bytes.len() as u64;
        if end > MOST {
            return Ok(if FIRST + bytes.len() as u64 > MOST { Appended::TooLarge } else { Appended::Full });
        }
        let grown = end.div_ceil(STEP) * STEP;
        let write = || {
            if grown > self.size {
                // Another process may have made it larger meanwhile: what lies there are its records.
                let size = self.file.metadata()?.len();
                self.writable()?.write_all_at(&vec![0; grown.saturating_sub(size) as usize], size)?;
            }
            self.writable()?.write_all_at(&bytes, self.end)?;
            self.file.sync_data()
        };
        if let Err(error) = write() {
            // It did not happen, so it must not be found either.
            let _ = self.file.write_all_at(&[0; PREFIX], self.end);
            let _ = self.file.sync_data();
            return Err(unwritten(error));
        }
        self.last = bytes.first_chunk().map(|begun| (self.end, *begun));
        (self.end, self.size, self.number) = (end, self.size.max(grown), self.number + 1);
        self.head = Some(record.new);
        Ok(Appended::Yes)
    }

    /// Begins anew with the branch at `head`; to be called when all files of the memory are synced.
    pub(super) fn restart(&mut self, head: Option<Oid>) -> Result<()> {
        // Records of the generation that a damaged header had may still lie there. It goes into the same place.
        let step = if self.doubtful { 3 } else { 1 };
        let header = Header { generation: self.header.generation + step, head };
        let at = header::slot(header.generation) as u64;
        let write = || {
            self.writable()?.write_all_at(&header.block(&self.identity), at)?;
            self.file.sync_data()
        };
        write().context("could not begin the journal anew")?;
        (self.header, self.doubtful) = (header, false);
        self.begin();
        Ok(())
    }

    /// Overwrites what the records before the checkpoint left in the file.
    pub(super) fn wipe(&mut self) -> Result<()> {
        let wipe = || {
            let size = self.file.metadata()?.len();
            for at in (self.end..size).step_by(STEP as usize) {
                self.writable()?.write_all_at(&vec![0; STEP.min(size - at) as usize], at)?;
            }
            self.file.sync_data()
        };
        wipe().context("could not wipe the journal")
    }

    fn writable(&self) -> io::Result<&File> {
        self.refused.map_or(Ok(&self.file), |code| Err(io::Error::from_raw_os_error(code)))
    }

    fn begin(&mut self) {
        (self.end, self.number, self.head, self.last) = (FIRST, 0, self.header.head, None);
    }

    fn read_on(&mut self, take: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        while let Some((record, begun, length)) = self.record().context("could not read the journal")? {
            self.last = Some((self.end, begun));
            self.end += length as u64;
            self.number += 1;
            self.head = Some(record.new);
            take(record)?;
        }
        Ok(())
    }

    /// Reads the record at the end as known; none when there is no whole one that follows.
    fn record(&self) -> io::Result<Option<(Record, [u8; PREFIX], usize)>> {
        let mut prefix = [0; PREFIX];
        if !read_whole(&self.file, &mut prefix, self.end)? {
            return Ok(None);
        }
        let length = number(&prefix[..8]);
        let follows = number(&prefix[8..16]) == self.header.generation && number(&prefix[16..24]) == self.number + 1;
        if !follows || length > MOST {
            return Ok(None);
        }
        let mut body = vec![0; length as usize];
        if !read_whole(&self.file, &mut body, self.end + PREFIX as u64)? {
            return Ok(None);
        }
        Ok(Record::whole(&prefix, &body).map(|record| (record, prefix, PREFIX + body.len())))
    }
}

/// Says why a commit could not be written, and the way out.
fn unwritten(error: io::Error) -> anyhow::Error {
    if error.kind() == io::ErrorKind::FileTooLarge {
        let hint =
            "the shell, or the service that starts longhaul, limits the size of files: raise it, `ulimit -f` shows it";
        return Failure::new(Kind::Failed, format!("could not write the journal: {error}")).hint(hint).into();
    }
    anyhow::Error::new(error).context("could not write the journal; is the disk full, or read-only?")
}

/// Reads exactly so many bytes; false where the file ends before.
fn read_whole(file: &File, bytes: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(bytes, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

#[cfg(test)]
mod tests;
