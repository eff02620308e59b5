//! Tracked files that a build makes, in a tree that is written somewhere: with all times alike, `make` takes them for newer
//! than their source.

use super::Entry;
use super::EntryKind;
use crate::clock;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

/// Seconds after the epoch at which all of them were made: before any checkout, and a time that tools take for one.
const MADE_AT: u64 = 1_000_000_000;

/// Ends of names of what compilers make.
const ENDS: [&str; 6] = [".o", ".a", ".so", ".obj", ".class", ".pyc"];

/// What programs, libraries, archives of objects and classes begin with.
const BEGINS: [&[u8]; 3] = [b"\x7fELF", ARCHIVE, b"\xca\xfe\xba\xbe"];
const ARCHIVE: &[u8; 4] = b"!<ar";

/// Gives what a build makes among these files a time before all others. Tells whether there was any.
pub(super) fn age(folder: &Path, entries: &[Entry]) -> io::Result<bool> {
    let mut aged = false;
    for entry in entries.iter().filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable)) {
        let path = folder.join(&entry.path);
        if is_built(&path) {
            File::open(&path)?.set_modified(clock::file_time(MADE_AT))?;
            aged = true;
        }
    }
    Ok(aged)
}

/// Gives a file the time of now, as any other has.
pub fn freshen(path: &Path) -> io::Result<()> {
    File::open(path)?.set_modified(clock::file_time_now())
}

/// Tells whether a regular file looks like what a compiler makes.
pub fn is_built(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file && (is_named_built(path) || begin(path).is_some_and(|begin| BEGINS.contains(&begin.as_slice())))
}

/// Tells whether a file named like an object begins like one: other archives end with `.a` too, and a Wavefront model, which
/// is text, with `.obj`. One too short to tell goes by its name.
pub(super) fn is_object_by_bytes(path: &Path) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let is_text = |begin: &[u8; 4]| begin.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let is_archive = begin(path).is_some_and(|begin| begin == *ARCHIVE);
    let may_be_an_object = path.extension().is_some_and(|end| end != "a") && !begin(path).as_ref().is_some_and(is_text);
    is_file && (is_archive || may_be_an_object)
}

fn begin(path: &Path) -> Option<[u8; 4]> {
    let mut begin = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).ok().map(|()| begin)
}

fn is_named_built(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compilers_make_is_known_by_its_name_or_its_begin() {
        let folder = tempfile::tempdir().unwrap();
        let is = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            is_built(&folder.path().join(name))
        };
        assert!(is("a.o", b"") && is("libx.a", b"!<arch>\n") && is("app", b"\x7fELF\x02") && is("A.class", b""));
        assert!(!is("a.c", b"int a;") && !is("app.sh", b"#!/bin/sh\n") && !is("o", b"") && !is("a.out.txt", b"x"));
    }
}
