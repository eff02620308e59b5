//! Git's objects as bytes: their ids, their form in a file of their own, and the texts of trees and commits.
//!
//! Made here rather than by libgit2, because they must be known as a whole before one of them is on disk
//! (git's documentation: `gitformat-loose`, `gitformat-pack`).

use std::io;
use std::io::Read;
use std::io::Write;

use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use git2::ObjectType;
use git2::Oid;

/// Shorter objects are stored as they are: a file takes a whole block of the disk in any case.
const WORTH_PACKING: usize = 4096;

/// An object that is not written yet, or was read back whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::memory) struct Object {
    pub(in crate::memory) id: Oid,
    pub(in crate::memory) kind: ObjectType,
    pub(in crate::memory) bytes: Vec<u8>,
}

impl Object {
    /// Makes an object of these bytes.
    pub(in crate::memory) fn new(kind: ObjectType, bytes: Vec<u8>) -> Result<Self> {
        let id = Oid::hash_object(kind, &bytes).context("could not hash an object of the memory")?;
        Ok(Self { id, kind, bytes })
    }

    /// Returns the bytes of the file that holds it.
    pub(super) fn packed(&self) -> io::Result<Vec<u8>> {
        let mut text = format!("{} {}\0", self.kind.str(), self.bytes.len()).into_bytes();
        text.extend_from_slice(&self.bytes);
        if self.bytes.len() < WORTH_PACKING {
            return Ok(stored(&text));
        }
        let mut encoder = ZlibEncoder::new(Vec::with_capacity(text.len() / 2), Compression::fast());
        encoder.write_all(&text)?;
        encoder.finish()
    }

    /// Reads an object back from the bytes of its file; fails unless they are whole and have this id.
    pub(super) fn unpack(id: Oid, packed: &[u8]) -> Result<Self> {
        let mut text = Vec::new();
        ZlibDecoder::new(packed).read_to_end(&mut text).context("its bytes do not unpack")?;
        let end = text.iter().position(|byte| *byte == 0).context("it has no header")?;
        let header = std::str::from_utf8(&text[..end]).context("its header is no text")?;
        let (kind, size) = header.split_once(' ').context("its header has no size")?;
        let kind = ObjectType::from_str(kind).context("its header names no kind")?;
        let (size, bytes) = (size.to_owned(), text[end + 1..].to_vec());
        if size.parse() != Ok(bytes.len()) {
            bail!("it has {} bytes, and its header says {size}", bytes.len());
        }
        let object = Self::new(kind, bytes)?;
        if object.id != id {
            bail!("its bytes are those of {}", object.id);
        }
        Ok(object)
    }
}

/// Returns a text of less than 64 KiB in zlib's form, stored as it is (RFC 1950, and RFC 1951 §3.2.4).
///
/// A compressor would clear some 300 KiB of tables first: a tenth of the time that a small write takes of the processor.
fn stored(text: &[u8]) -> Vec<u8> {
    let length = u16::try_from(text.len()).expect("the texts that are stored are short");
    let mut packed = Vec::with_capacity(text.len() + 11);
    packed.extend([0x78, 0x01]);
    // The last block, and the only one.
    packed.push(1);
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend_from_slice(text);
    packed.extend(adler2::adler32_slice(text).to_be_bytes());
    packed
}

/// Who made a commit, when, and with which text.
pub(in crate::memory) struct Signed<'a> {
    pub(in crate::memory) author: &'a str,
    pub(in crate::memory) committer: &'a str,
    pub(in crate::memory) seconds: i64,
    pub(in crate::memory) message: &'a str,
}

/// Makes a commit. Times are in UTC.
pub(in crate::memory) fn commit(tree: Oid, parent: Option<Oid>, signed: &Signed<'_>) -> Result<Object> {
    let person = |name: &str| format!("{name} <{name}@longhaul.invalid> {} +0000", signed.seconds);
    let parent = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
    let (author, committer) = (person(signed.author), person(signed.committer));
    let text = format!("tree {tree}\n{parent}author {author}\ncommitter {committer}\n\n{}", signed.message);
    Object::new(ObjectType::Commit, text.into_bytes())
}

/// What a commit is made of.
pub(in crate::memory) struct Parts {
    pub(in crate::memory) tree: Oid,
    pub(in crate::memory) parents: Vec<Oid>,
}

/// Reads what a commit is made of; none when it is no commit.
pub(in crate::memory) fn parts_of_commit(object: &Object) -> Option<Parts> {
    let text = Some(&object.bytes).filter(|_| object.kind == ObjectType::Commit)?;
    let mut lines = text.split(|byte| *byte == b'\n').map(|line| std::str::from_utf8(line).unwrap_or_default());
    let tree = Oid::from_str(lines.next()?.strip_prefix("tree ")?).ok()?;
    let parents = lines.map_while(|line| Oid::from_str(line.strip_prefix("parent ")?).ok());
    Some(Parts { tree, parents: parents.collect() })
}

/// Returns what a tag names; none when it is no tag.
pub(in crate::memory) fn named_by_tag(object: &Object) -> Option<Oid> {
    let text = Some(&object.bytes).filter(|_| object.kind == ObjectType::Tag)?;
    let line = text.split(|byte| *byte == b'\n').next()?;
    Oid::from_str(std::str::from_utf8(line).ok()?.strip_prefix("object ")?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_reads_back_from_its_file_and_nothing_else_does() {
        for size in [0, 10, WORTH_PACKING - 1, WORTH_PACKING, 100_000] {
            let object = Object::new(ObjectType::Blob, vec![b'x'; size]).unwrap();
            let packed = object.packed().unwrap();
            assert_eq!(Object::unpack(object.id, &packed).unwrap(), object);
            for damaged in
                [&packed[..packed.len() / 2], &packed[..0], &packed[..packed.len() - 1], &[b"x", &packed[..]].concat()]
            {
                assert!(Object::unpack(object.id, damaged).is_err(), "{size}");
            }
            let other = Object::new(ObjectType::Blob, b"other".to_vec()).unwrap();
            let refused = Object::unpack(other.id, &packed).unwrap_err().to_string();
            assert_eq!(refused, format!("its bytes are those of {}", object.id));
        }
    }

    #[test]
    fn a_size_or_a_kind_that_is_not_so_is_refused() {
        for header in ["blob 4", "blob 2", "blob", "stone 3", "blob x"] {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(format!("{header}\0abc").as_bytes()).unwrap();
            let id = Oid::hash_object(ObjectType::Blob, b"abc").unwrap();
            assert!(Object::unpack(id, &encoder.finish().unwrap()).is_err(), "{header}");
        }
    }
}
