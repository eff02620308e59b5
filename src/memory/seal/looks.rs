//! Looks that need not be done again: what they were at lies there as it was. A file cannot be written, nor a name come into
//! a folder, without a change of the time that the file system keeps for itself and that nobody can set.

use crate::clock;
use anyhow::Result;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// A change so shortly after another may have the same time: some file systems count whole seconds.
const TICK: Duration = Duration::from_secs(2);

/// What changes when a file or a folder is written, replaced or touched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stamp {
    inode: (u64, u64),
    size: u64,
    changed: (i64, i64),
}

impl Stamp {
    /// Returns that of a file or a folder; a link, which does not change with what it names, has none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok().filter(|found| found.is_file() || found.is_dir())?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(Self { inode: (found.dev(), found.ino()), size: found.len(), changed })
    }

    /// Tells whether it was last changed so long before `now`, counted from the epoch, that another change shows.
    fn is_settled(&self, now: Duration) -> bool {
        let changed = u64::try_from(self.changed.0).map(|seconds| Duration::new(seconds, self.changed.1 as u32));
        changed.is_ok_and(|changed| changed + TICK < now)
    }
}

/// What was looked at last and found in order, by what the look was for.
#[derive(Default)]
pub(super) struct Looks(RefCell<HashMap<&'static str, BTreeMap<PathBuf, Stamp>>>);

impl Looks {
    /// Tells whether something is in order. `look` finds it out, and returns the files and folders that it rests on if it is;
    /// it is asked only when one of them is not as it was the last time.
    pub(super) fn find<I: IntoIterator<Item = PathBuf>>(
        &self,
        what: &'static str,
        look: impl FnOnce() -> Result<Option<I>>,
    ) -> Result<bool> {
        let is_same = |(path, stamp): (&PathBuf, &Stamp)| Stamp::of(path) == Some(*stamp);
        if self.0.borrow().get(what).is_some_and(|seen| seen.iter().all(is_same)) {
            return Ok(true);
        }
        self.0.borrow_mut().remove(what);
        let now = clock::file_time_now().duration_since(clock::file_time(0)).unwrap_or_default();
        let Some(rests_on) = look()? else { return Ok(false) };
        // What was not changed since before the look was so at the look.
        let settled = |path: PathBuf| Stamp::of(&path).filter(|stamp| stamp.is_settled(now)).map(|stamp| (path, stamp));
        if let Some(seen) = rests_on.into_iter().map(settled).collect() {
            self.0.borrow_mut().insert(what, seen);
        }
        Ok(true)
    }

    /// Lets everything be looked at again.
    pub(super) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use anyhow::Context;

    use super::*;

    const NONE: Option<Vec<PathBuf>> = None;

    /// Counts the looks at a path when it is asked for twice, with something done in between.
    fn looks(path: &Path, between: &dyn Fn()) -> usize {
        let (looks, count) = (Looks::default(), Cell::new(0));
        let look = || {
            count.set(count.get() + 1);
            Ok(Some(vec![path.to_owned()]))
        };
        assert!(looks.find("it", look).unwrap());
        between();
        assert!(looks.find("it", look).unwrap());
        count.get()
    }

    #[test]
    fn only_what_lies_there_long_and_unchanged_is_not_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(looks(&file, &|| {}), 2, "a change in the same tick would not show");
        std::thread::sleep(TICK + Duration::from_millis(100));
        assert_eq!(looks(&file, &|| {}), 1);
        assert_eq!(looks(folder.path(), &|| {}), 1);
        assert_eq!(looks(&link, &|| {}), 2);
        assert_eq!(looks(&folder.path().join("none"), &|| {}), 2);

        let back = fs::metadata(&file).unwrap().modified().unwrap();
        let write = || {
            fs::write(&file, "TEXT").unwrap();
            fs::File::options().write(true).open(&file).unwrap().set_modified(back).unwrap();
        };
        assert_eq!(looks(&file, &write), 2, "its time set back");
        assert_eq!(looks(folder.path(), &|| fs::write(folder.path().join("new"), "").unwrap()), 2);
    }

    #[test]
    fn what_is_not_in_order_is_looked_at_again_and_so_is_what_was_forgotten() {
        let looks = Looks::default();
        assert!(!looks.find("it", || Ok(NONE)).unwrap());
        // The root of the file system has been there for long.
        assert!(looks.find("it", || Ok(Some(vec![PathBuf::from("/")]))).unwrap());
        assert!(looks.find("it", || Ok(NONE)).unwrap());
        looks.forget();
        assert!(!looks.find("it", || Ok(NONE)).unwrap());
        assert!(looks.find("it", || NONE.context("it cannot be read").map(Some)).is_err());
    }
}
