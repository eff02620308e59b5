//! Opens files of a tree that an agent has written, and nothing outside of it, whatever links lie on the way. Only regular
//! files are opened: a pipe would be waited for, a device might never end.

use super::blob_id;
use super::file_id;
use anyhow::Result;
use rustix::fs::CWD;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::fs::ResolveFlags;
use rustix::io::Errno;
use std::fs;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::path::PathBuf;

/// How often a file is opened while others rename theirs.
const TRIES: usize = 1000;

/// Opens a regular file below `root`, links inside of it followed; none where there is no such file, where it lies outside,
/// and where it cannot be read.
pub fn open_beneath(root: &Path, path: &Path) -> std::io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, root, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let open = || rustix::fs::openat2(&folder, path, flags, Mode::empty(), within);
    // While anything on the machine is renamed the kernel may not be sure where a path leads, and wants to be asked again.
    let tries = (0..TRIES).map(|_| open()).find(|opened| !matches!(opened, Err(Errno::AGAIN)));
    let opened = match tries.unwrap_or(Err(Errno::AGAIN)) {
        Ok(opened) => File::from(opened),
        Err(Errno::NOSYS) => return open_by_name(root, path),
        Err(
            Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP | Errno::ACCESS | Errno::NXIO | Errno::NAMETOOLONG,
        ) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(Some(opened).filter(is_regular))
}

/// Reads a file that [`open_beneath`] opens; none also where it has more than `most` bytes.
pub fn read_beneath(root: &Path, path: &Path, most: u64) -> std::io::Result<Option<Vec<u8>>> {
    let Some(file) = open_beneath(root, path)?.filter(|file| is_at_most(file, most)) else { return Ok(None) };
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Returns what tells the content of a file below `root` from another: git's id of a file that [`open_beneath`] opens and
/// that has at most `most` bytes, the size of a larger one, and where a link leads to that leads out; none for the rest.
pub fn content_beneath(root: &Path, path: &Path, most: u64) -> Option<String> {
    match open_beneath(root, path).ok()? {
        Some(file) if is_at_most(&file, most) => open_id(&file).ok(),
        Some(file) => Some(format!("{} bytes", file.metadata().ok()?.len())),
        None => Some(blob_id(fs::read_link(root.join(path)).ok()?.as_os_str().as_bytes())),
    }
}

/// Returns the id git would give an open file, which is read piece by piece.
pub fn open_id(file: &File) -> Result<String> {
    file_id(&PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd())))
}

fn is_at_most(file: &File, most: u64) -> bool {
    file.metadata().is_ok_and(|found| found.len() <= most)
}

fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.is_file())
}

/// The same on a kernel that cannot hold a path below a folder.
fn open_by_name(root: &Path, path: &Path) -> std::io::Result<Option<File>> {
    let (root, Ok(real)) = (root.canonicalize()?, root.join(path).canonicalize()) else { return Ok(None) };
    if !real.starts_with(&root) || !real.is_file() {
        return Ok(None);
    }
    Ok(File::open(real).ok().filter(is_regular))
}

/// Tells whether a path leads to a pipe or a device. Nobody reads a lock, and `/dev/null` ends at once.
pub(super) fn never_ends(path: &Path) -> bool {
    let is_lock = path.extension().is_some_and(|extension| extension == "lock");
    let Some(kind) = fs::metadata(path).ok().filter(|_| !is_lock).map(|found| found.file_type()) else { return false };
    let is_empty = || path.canonicalize().is_ok_and(|path| path == Path::new("/dev/null"));
    kind.is_fifo() || kind.is_block_device() || (kind.is_char_device() && !is_empty())
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

        let pipe = root.join("tests/pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink("pipe", root.join("tests/to-pipe")).unwrap();

        let read = |path: &str| read_beneath(&root, path.as_ref(), 10).unwrap();
        let by_name = |path: &str| open_by_name(&root, path.as_ref()).unwrap().is_some();
        assert_eq!((read("tests/a"), read("tests/inside")), (Some(b"a".to_vec()), Some(b"a".to_vec())));
        let outside = ["tests/outside", "tests/absolute", "tests/environment", "up/secret"];
        for path in outside.into_iter().chain(["loop", "tests", "none", "tests/pipe", "tests/to-pipe"]) {
            assert_eq!(read(path), None, "{path}");
            assert!(!by_name(path), "{path}");
        }
        assert!(by_name("tests/inside"));
        std::fs::write(root.join("tests/a"), "eleven byte").unwrap();
        assert_eq!(read("tests/a"), None, "it is larger than asked for");
    }

    #[test]
    fn renames_elsewhere_are_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/file"), "text").unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        std::fs::create_dir(&one).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::rename(&one, &two).and_then(|()| std::fs::rename(&two, &one)).unwrap();
                }
            });
            // `..` is where the kernel has to be sure.
            let read = || read_beneath(&root, "a/b/../file".as_ref(), 10);
            let wrong = (0..5000).map(|_| read()).find(|read| !matches!(read, Ok(Some(text)) if text == b"text"));
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(wrong.is_none(), "{wrong:?}");
        });
    }

    #[test]
    fn what_tells_a_content_from_another_reads_no_pipe_and_nothing_outside() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("a"), "a").unwrap();
        std::fs::write(root.join("large"), "eleven byte").unwrap();
        symlink("../outside", root.join("link")).unwrap();
        rustix::fs::mknodat(CWD, root.join("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();

        let content = |path: &str| content_beneath(&root, path.as_ref(), 10);
        assert_eq!((content("a"), content("link")), (Some(blob_id(b"a")), Some(blob_id(b"../outside"))));
        assert_eq!((content("large").as_deref(), content("pipe")), (Some("11 bytes"), None));
    }
}
