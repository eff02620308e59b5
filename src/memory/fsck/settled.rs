//! A verdict of one state, though others write, pack and purge meanwhile: what seems damaged is looked at again.

use std::io;

use anyhow::Result;

use crate::memory::Place;
use crate::memory::fsck::Checkup;
use crate::memory::fsck::Fault;
use crate::memory::fsck::Look;
use crate::memory::recovery;
use crate::memory::repository::lock::WriteLock;

/// So often it is looked, until all that seems damaged was so the time before. What git moves meanwhile is never twice the same.
const LOOKS: usize = 6;

/// Looks without a lock, since most memories are sound; what seems damaged is looked at again while nobody writes.
pub(super) fn look(place: &Place, notice: &dyn Fn(&str)) -> Result<Checkup> {
    if let Ok(first) = Look::at(place)
        && let first = first.checkup()
        && first.faults.is_empty()
    {
        return Ok(first);
    }
    let _lock = lock(place, notice)?;
    look_twice(place)
}

/// Looks until the faults are those of the look before; to be called under the write lock, which git does not know.
pub(super) fn look_twice(place: &Place) -> Result<Checkup> {
    settle(|| Ok(Look::at(place)?.checkup()))
}

/// Takes the write lock; none on a disk that cannot be written, where nobody writes.
fn lock(place: &Place, notice: &dyn Fn(&str)) -> Result<Option<WriteLock>> {
    match WriteLock::take(&place.state, notice) {
        Err(error) if recovery::is_of_the_disk(&error) => Ok(None),
        lock => lock.map(Some),
    }
}

fn settle(mut look: impl FnMut() -> Result<Checkup>) -> Result<Checkup> {
    let mut before: Option<Checkup> = None;
    for _ in 1..LOOKS {
        match look() {
            Ok(now) if now.faults.iter().all(|fault| was_there(before.as_ref(), fault)) => return Ok(now),
            Ok(now) => before = Some(now),
            Err(error) if has_moved(&error) => before = None,
            Err(error) => return Err(error),
        }
    }
    let mut last = look()?;
    last.faults.retain(|fault| before.is_none() || was_there(before.as_ref(), fault));
    Ok(last)
}

fn was_there(before: Option<&Checkup>, fault: &Fault) -> bool {
    before.is_some_and(|before| before.faults.contains(fault))
}

/// Tells whether something went away while it was looked at.
fn has_moved(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| error.kind() == io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkup(faults: &[&str]) -> Checkup {
        let fault = |what: &&str| Fault { what: (*what).to_owned(), mended: false };
        Checkup { faults: faults.iter().map(fault).collect(), ..Checkup::default() }
    }

    /// Settles over these looks, and returns the faults and how often it was looked.
    fn settled(looks: &[&[&str]]) -> (Vec<String>, usize) {
        let mut looked = 0;
        let found = settle(|| {
            looked += 1;
            Ok(checkup(looks[(looked - 1).min(looks.len() - 1)]))
        });
        (found.unwrap().faults.into_iter().map(|fault| fault.what).collect(), looked)
    }

    #[test]
    fn only_what_is_damaged_twice_in_a_row_is_damaged() {
        assert_eq!(settled(&[&[]]), (vec![], 1));
        assert_eq!(settled(&[&["a"]]), (vec!["a".to_owned()], 2));
        assert_eq!(settled(&[&["a"], &["b"], &[]]), (vec![], 3));
        assert_eq!(settled(&[&["a", "b"], &["b", "c"], &["b"]]), (vec!["b".to_owned()], 3));
        let moving: [&[&str]; 6] = [&["1", "x"], &["2", "x"], &["3", "x"], &["4", "x"], &["5", "x"], &["6", "x"]];
        assert_eq!(settled(&moving), (vec!["x".to_owned()], LOOKS));
    }

    #[test]
    fn what_went_away_is_looked_for_again_and_what_cannot_be_read_is_an_error() {
        let fails = |kind: io::ErrorKind| {
            let mut looked = 0;
            let found = settle(|| {
                looked += 1;
                if looked == 1 { Err(io::Error::from(kind).into()) } else { Ok(checkup(&[])) }
            });
            (found.is_ok(), looked)
        };
        assert_eq!(fails(io::ErrorKind::NotFound), (true, 2));
        assert_eq!(fails(io::ErrorKind::PermissionDenied), (false, 1));
    }
}
