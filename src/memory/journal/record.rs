//! A record: what tells it from what lies around it, and one commit with all its objects. Its bytes are these: the length of
//! the body, the generation, its number, a digest of all, and the body.

use git2::ObjectType;
use git2::Oid;
use sha2::Digest;
use sha2::Sha256;

use crate::memory::repository::object::Object;

/// Bytes before the body of a record: its length, the generation, its number and the digest.
pub(super) const PREFIX: usize = 8 + 8 + 8 + 32;
pub(super) const ID: usize = 20;

/// One commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::memory) struct Record {
    pub(in crate::memory) old: Option<Oid>,
    pub(in crate::memory) new: Oid,
    pub(in crate::memory) objects: Vec<Object>,
}

impl Record {
    /// Returns its bytes, as those of the record with this number in this generation.
    pub(super) fn encode(&self, generation: u64, number: u64) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(self.old.unwrap_or(zero()).as_bytes());
        body.extend(self.new.as_bytes());
        for object in &self.objects {
            body.push(kind_code(object.kind));
            body.extend((object.bytes.len() as u32).to_le_bytes());
            body.extend(&object.bytes);
        }
        let mut bytes = Vec::with_capacity(PREFIX + body.len());
        for number in [body.len() as u64, generation, number] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(digest(&bytes, &body));
        bytes.extend(body);
        bytes
    }

    /// Reads a record whose digest is that of its bytes.
    pub(super) fn whole(prefix: &[u8], body: &[u8]) -> Option<Self> {
        (digest(&prefix[..24], body) == prefix[24..]).then(|| Self::decode(body)).flatten()
    }

    fn decode(body: &[u8]) -> Option<Self> {
        let (ids, mut rest) = body.split_at_checked(2 * ID)?;
        let mut objects = Vec::new();
        while let Some((kind, after)) = rest.split_first() {
            let (length, after) = after.split_at_checked(4)?;
            let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
            let (bytes, after) = after.split_at_checked(length)?;
            objects.push(Object::new(kind_of(*kind)?, bytes.to_vec()).ok()?);
            rest = after;
        }
        Some(Self { old: id(&ids[..ID]), new: id(&ids[ID..])?, objects })
    }
}

/// Returns the generation and the number that the beginning of a record names.
pub(super) fn numbers(prefix: &[u8]) -> Option<(u64, u64)> {
    Some((number(prefix.get(8..16)?), number(prefix.get(16..24)?)))
}

pub(super) fn digest(first: &[u8], second: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(first).chain_update(second).finalize().into()
}

pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub(super) fn zero() -> Oid {
    Oid::ZERO_SHA1
}

pub(super) fn id(bytes: &[u8]) -> Option<Oid> {
    Oid::from_bytes(bytes).ok().filter(|id| !id.is_zero())
}

fn kind_code(kind: ObjectType) -> u8 {
    match kind {
        ObjectType::Commit => 1,
        ObjectType::Tree => 2,
        _ => 3,
    }
}

fn kind_of(code: u8) -> Option<ObjectType> {
    match code {
        1 => Some(ObjectType::Commit),
        2 => Some(ObjectType::Tree),
        3 => Some(ObjectType::Blob),
        _ => None,
    }
}
