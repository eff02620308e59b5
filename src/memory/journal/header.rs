//! The two headers: the newer whole one counts, and says where the branch was at the checkpoint.

use std::fs::File;
use std::io;

use git2::Oid;

use crate::memory::journal::BLOCK;
use crate::memory::journal::Identity;
use crate::memory::journal::read_whole;
use crate::memory::journal::record::ID;
use crate::memory::journal::record::digest;
use crate::memory::journal::record::id;
use crate::memory::journal::record::number;
use crate::memory::journal::record::zero;

const MAGIC: &[u8; 16] = b"longhaul journal";
const VERSION: u32 = 1;
/// Bytes of a header; each has a block of its own, so that no write touches both.
const HEADER: usize = 16 + 4 + 16 + 8 + ID + 32;

/// What the journal begins with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Header {
    pub(super) generation: u64,
    /// Where the branch was at the checkpoint.
    pub(super) head: Option<Oid>,
}

impl Header {
    /// Returns the bytes that say it.
    pub(super) fn block(&self, identity: &Identity) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..16].copy_from_slice(MAGIC);
        block[16..20].copy_from_slice(&VERSION.to_le_bytes());
        block[20..36].copy_from_slice(identity);
        block[36..44].copy_from_slice(&self.generation.to_le_bytes());
        block[44..64].copy_from_slice(self.head.unwrap_or(zero()).as_bytes());
        let digest = digest(&block[..64], b"");
        block[64..96].copy_from_slice(&digest);
        block
    }

    fn read(block: &[u8; HEADER], identity: &Identity) -> Option<Self> {
        let is_ours = &block[..16] == MAGIC && block[16..20] == VERSION.to_le_bytes() && &block[20..36] == identity;
        if !is_ours || digest(&block[..64], b"") != block[64..96] {
            return None;
        }
        Some(Self { generation: number(&block[36..44]), head: id(&block[44..64]) })
    }
}

/// Tells whether there is something in the place of a header that is none.
pub(super) fn is_damaged(file: &File, generation: u64, identity: &Identity) -> io::Result<bool> {
    let mut block = [0; HEADER];
    let is_there = read_whole(file, &mut block, slot(generation) as u64)?;
    Ok(is_there && block != [0; HEADER] && Header::read(&block, identity).is_none())
}

/// Returns the newer of the two that is whole, if one is.
pub(super) fn newest(file: &File, identity: &Identity) -> io::Result<Option<Header>> {
    let mut newest: Option<Header> = None;
    let mut both = [0; BLOCK + HEADER];
    if !read_whole(file, &mut both, 0)? {
        return Ok(None);
    }
    for at in [0, BLOCK] {
        let header = both[at..].first_chunk().and_then(|block| Header::read(block, identity));
        newest = newest.into_iter().chain(header).max_by_key(|header| header.generation);
    }
    Ok(newest)
}

/// Where the header of a generation lies.
pub(super) fn slot(generation: u64) -> usize {
    if generation % 2 == 1 { 0 } else { BLOCK }
}
