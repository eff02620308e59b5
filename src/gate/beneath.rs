//! Reads files of a tree that an agent has written, and nothing outside of it, whatever links lie on the way.

use rustix::fs::CWD;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::ResolveFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Returns the bytes of a regular file below `root`, links inside of it followed; none where there is no such file, where
/// it lies outside, and where it cannot be read.
pub(in crate::gate) fn read(root: &Path, path: &str) -> std::io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let opened = match rustix::fs::openat2(&folder, path, flags, Mode::empty(), within) {
        Ok(opened) => opened,
        Err(Errno::NOSYS) => return read_by_name(root, path),
        Err(
            Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP | Errno::ACCESS | Errno::NXIO | Errno::NAMETOOLONG,
        ) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    read_file(File::from(opened))
}

/// The same on a kernel that cannot hold a path below a folder.
fn read_by_name(root: &Path, path: &str) -> std::io::Result<Option<Vec<u8>>> {
    let (root, Ok(real)) = (root.canonicalize()?, root.join(path).canonicalize()) else { return Ok(None) };
    if !real.starts_with(&root) || !real.is_file() {
        return Ok(None);
    }
    File::open(real).map_or(Ok(None), read_file)
}

fn read_file(mut file: File) -> std::io::Result<Option<Vec<u8>>> {
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_lies_in_the_tree_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        std::fs::create_dir_all(root.join("tests")).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("tests/a"), "a").unwrap();
        symlink("a", root.join("tests/inside")).unwrap();
        symlink("../../secret", root.join("tests/outside")).unwrap();
        symlink(folder.path().join("secret"), root.join("tests/absolute")).unwrap();
        symlink("/proc/self/environ", root.join("tests/environment")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();

        let read = |path| super::read(&root, path).unwrap();
        assert_eq!((read("tests/a"), read("tests/inside")), (Some(b"a".to_vec()), Some(b"a".to_vec())));
        for path in ["tests/outside", "tests/absolute", "tests/environment", "up/secret", "loop", "tests", "none"] {
            assert_eq!(read(path), None, "{path}");
            assert_eq!(read_by_name(&root, path).unwrap(), None, "{path}");
        }
        assert_eq!(read_by_name(&root, "tests/inside").unwrap(), Some(b"a".to_vec()));
    }
}
