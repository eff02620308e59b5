//! What a purge of an earlier version gave another name, though longhaul needs it under its own.

use std::fs;
use std::path::PathBuf;

use crate::memory::Place;
use crate::memory::purge::words::STATE;
use crate::secrets::HIDDEN;

/// Something of longhaul's own under a name that it does not look for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Misnamed {
    pub found: PathBuf,
    /// Its own name, where nothing lies now.
    pub own: PathBuf,
}

impl Misnamed {
    /// Returns the command that takes it back.
    pub fn way_back(&self) -> String {
        format!("mv '{}' '{}'", self.found.display(), self.own.display())
    }
}

/// Finds what was renamed so beside the memory; the memory itself comes first.
pub fn misnamed(place: &Place) -> Vec<Misnamed> {
    let Ok(entries) = fs::read_dir(&place.state) else { return Vec::new() };
    let mut all = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some((before, after)) = name.split_once(HIDDEN) else { continue };
        let fits = |own: &&str| {
            let rest = own.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            rest.is_some_and(|rest| !rest.is_empty())
        };
        // Of a name that is gone as a whole only the memory can be known.
        let is_like = |own: &&str| match *own == "memory.git" {
            true => entry.path().join("objects").is_dir(),
            false => !before.is_empty() || !after.is_empty(),
        };
        let is_free = |own: &&str| place.state.join(own).symlink_metadata().is_err();
        let own = STATE.iter().copied().find(|own| fits(own) && is_like(own) && is_free(own));
        all.extend(own.map(|own| Misnamed { found: entry.path(), own: place.state.join(own) }));
    }
    all.sort_by_key(|misnamed| misnamed.own != place.repository);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;

    #[test]
    fn what_an_earlier_purge_renamed_is_found_with_its_own_name() {
        let memory = Memory::project(&[("a", "x")]);
        let Place { state, repository, .. } = &memory.place;
        assert_eq!(misnamed(&memory.place), [], "its twin: all is in its place");
        for (found, own) in [("[secret left out]s", "sessions"), ("m[secret left out]git", "memory.git")] {
            fs::create_dir_all(state.join(own)).unwrap();
            fs::rename(state.join(own), state.join(found)).unwrap();
        }
        fs::write(state.join("[secret left out]"), "whose it was is not known").unwrap();

        let found = misnamed(&memory.place);

        let names: Vec<_> = found.iter().map(|misnamed| misnamed.own.clone()).collect();
        assert_eq!(names[..], [repository.clone(), state.join("sessions")]);
        assert!(found[0].way_back().ends_with("memory.git'"), "{}", found[0].way_back());
    }
}
