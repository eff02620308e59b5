//! Which memory it is: a journal goes with one memory only.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::hash::Hasher;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use anyhow::Result;

use crate::memory::journal::Identity;
use crate::memory::repository::exchange;

/// The file in the repository that tells one memory from another.
pub(in crate::memory) const IDENTITY: &str = "longhaul-id";

/// Reads the memory's identity; none when it has none, or one that is damaged.
pub(in crate::memory) fn known(repository: &Path) -> Result<Option<Identity>> {
    let path = repository.join(IDENTITY);
    // A link, or a folder, nobody of us put there.
    if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Ok(None);
    }
    match fs::read(&path) {
        Ok(bytes) => Ok(parse(&String::from_utf8_lossy(&bytes))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // It may be whole, and to take it for none would part the memory from its journal.
        Err(error) => Err(error).with_context(|| format!("could not read `{}`", path.display())),
    }
}

/// Reads the memory's identity, or gives it one.
pub(in crate::memory) fn known_or_new(repository: &Path) -> Result<Identity> {
    if let Some(identity) = known(repository)? {
        return Ok(identity);
    }
    let identity = drawn();
    set(repository, &identity)?;
    Ok(identity)
}

/// Writes down which memory it is.
pub(in crate::memory) fn set(repository: &Path, identity: &Identity) -> Result<()> {
    let path = repository.join(IDENTITY);
    let text: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    exchange::put(&path, format!("{text}\n").as_bytes())
        .with_context(|| format!("could not write `{}`", path.display()))
}

fn drawn() -> Identity {
    let half = || RandomState::new().build_hasher().finish().to_le_bytes();
    let mut identity = Identity::default();
    identity[..8].copy_from_slice(&half());
    identity[8..].copy_from_slice(&half());
    identity
}

fn parse(text: &str) -> Option<Identity> {
    let text = text.trim();
    let digits = |at: usize| text.get(2 * at..2 * at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Vec<u8> = (0..16).map_while(digits).collect();
    bytes.try_into().ok().filter(|_| text.len() == 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;

    #[test]
    fn whatever_lies_in_the_place_of_the_identity_stops_nobody() {
        let plant: [fn(&Path); 4] = [
            |path| fs::write(path, "x").unwrap(),
            |path| fs::write(path, b"\xff").unwrap(),
            |path| std::os::unix::fs::symlink(path, path).unwrap(),
            |_| {},
        ];
        for (number, plant) in plant.iter().enumerate() {
            let mut memory = Memory::project(&[]);
            memory.write("notes/a.md", "text 1\n");
            let path = memory.place.repository.join(IDENTITY);
            fs::remove_file(&path).unwrap();
            plant(&path);
            let store = memory.open_again();
            assert_eq!(store.read("notes/a.md").unwrap().as_deref(), Some(&b"text 1\n"[..]), "{number}");
        }
    }
}
