//! Objects in files of their own, below `objects/`. They are not synced here: the journal has them too.

use std::fs;
use std::io;
use std::io::ErrorKind;
use std::path::Path;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use anyhow::Context;
use anyhow::Result;
use git2::Oid;

use crate::memory::repository::object::Object;
use crate::memory::repository::owner;

/// How the names of half-written files begin, as those of libgit2 do.
pub(in crate::memory) const HALF: &str = "tmp_object_";

/// How often a folder is made again that git removed while it was empty.
const TRIES: usize = 50;

/// The folder `objects` of a repository.
pub(in crate::memory) struct Loose<'r>(pub(in crate::memory) &'r Path);

impl Loose<'_> {
    /// Writes an object, unless a file of its name is there.
    pub(in crate::memory) fn write(&self, object: &Object) -> Result<()> {
        let path = self.path(object.id);
        if path.exists() {
            return Ok(());
        }
        self.put(&path, object).with_context(|| format!("could not write `{}`", path.display()))
    }

    /// Returns an object; none when it has no file. A file whose bytes are not whole is `InvalidData`.
    pub(in crate::memory) fn read(&self, id: Oid) -> io::Result<Option<Object>> {
        match fs::read(self.path(id)) {
            Ok(packed) => Object::unpack(id, &packed).map(Some).map_err(|_| ErrorKind::InvalidData.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Tells whether the file of an object has its bytes whole; none when there is no such file. One that cannot be read
    /// may be whole: it is an error.
    pub(in crate::memory) fn is_whole(&self, id: Oid) -> io::Result<Option<bool>> {
        match fs::read(self.path(id)) {
            Ok(packed) => Ok(Some(Object::unpack(id, &packed).is_ok())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::IsADirectory | ErrorKind::NotADirectory) => Ok(Some(false)),
            Err(error) => Err(error),
        }
    }

    /// Writes an object in the place of a file that is not whole; tells whether there was one.
    pub(in crate::memory) fn mend(&self, object: &Object) -> Result<bool> {
        // To write it over what cannot be read does no harm: these are its bytes.
        let there = self.is_whole(object.id).unwrap_or(Some(false));
        if there == Some(true) {
            return Ok(false);
        }
        let path = self.path(object.id);
        if there == Some(false) && path.is_dir() {
            fs::remove_dir_all(&path).with_context(|| format!("could not remove `{}`", path.display()))?;
        }
        self.put(&path, object).with_context(|| format!("could not write `{}`", path.display()))?;
        Ok(there == Some(false))
    }

    fn put(&self, path: &Path, object: &Object) -> io::Result<()> {
        // Who writes without our lock may write the same object at the same time.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Asked once: the system is, each time.
        static PROCESS: LazyLock<u32> = LazyLock::new(std::process::id);
        let half = self.0.join(format!("{HALF}{}_{number}", *PROCESS));
        let packed = object.packed()?;
        let write = || fs::write(&half, &packed);
        let again = |tried: io::Result<()>| match tried {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if !half.exists() {
                    write()?;
                }
                // Nothing stands between the folder and its file: whoever removes it has to be quick.
                let folder = path.parent().unwrap_or(self.0);
                fs::create_dir_all(folder)?;
                fs::rename(&half, path)?;
                owner::of_folder(folder, self.0)
            }
            tried => tried,
        };
        let first = write().and_then(|()| fs::rename(&half, path));
        // Git takes empty folders away, and half-written files when told to, as often as somebody calls it.
        (0..TRIES).fold(first, |tried, _| again(tried)).inspect_err(|_| {
            // The first error is the one to tell.
            let _ = fs::remove_file(&half);
        })
    }

    /// Returns the file that an object has.
    pub(in crate::memory) fn path(&self, id: Oid) -> PathBuf {
        let name = id.to_string();
        self.0.join(&name[..2]).join(&name[2..])
    }
}

#[cfg(test)]
mod tests {
    use git2::ObjectType;

    use super::*;

    #[test]
    fn who_takes_away_empty_folders_meanwhile_stops_no_write() {
        let folder = tempfile::tempdir().unwrap();
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    for entry in fs::read_dir(folder.path()).unwrap().flatten() {
                        let _ = fs::remove_dir(entry.path());
                    }
                }
            });
            for number in 0..2000 {
                let object = Object::new(ObjectType::Blob, format!("{number}").into_bytes()).unwrap();
                let written = Loose(folder.path()).write(&object);
                is_done.store(written.is_err(), Ordering::Relaxed);
                written.unwrap();
                // As git's prune does with an object that it has packed.
                fs::remove_file(Loose(folder.path()).path(object.id)).unwrap();
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn what_is_damaged_is_written_anew_and_what_is_whole_stays() {
        let folder = tempfile::tempdir().unwrap();
        let loose = Loose(folder.path());
        let object = Object::new(ObjectType::Blob, vec![b'x'; 10_000]).unwrap();
        assert_eq!(loose.is_whole(object.id).unwrap(), None);
        loose.write(&object).unwrap();
        assert_eq!(loose.is_whole(object.id).unwrap(), Some(true));
        assert!(!loose.mend(&object).unwrap());

        let path = loose.path(object.id);
        for damage in [&b""[..], b"garbage", &fs::read(&path).unwrap()[..20]] {
            fs::write(&path, damage).unwrap();
            loose.write(&object).unwrap();
            assert_eq!(
                loose.is_whole(object.id).unwrap(),
                Some(false),
                "its twin: a file that is there is taken as it is"
            );
            assert!(loose.mend(&object).unwrap());
            assert_eq!(loose.is_whole(object.id).unwrap(), Some(true));
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(loose.mend(&object).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half-written is left");
    }
}
