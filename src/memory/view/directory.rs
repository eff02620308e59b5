//! Folders by handle: every step names one component, and no step follows a link.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::fs::CWD;
use rustix::fs::FileType;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::memory::repository::exchange;
use crate::memory::repository::owner;

const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const PRIVATE_FOLDER: Mode = Mode::RWXU;

/// An open folder.
pub(in crate::memory) struct Directory {
    fd: OwnedFd,
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::memory) enum Kind {
    File {
        size: u64,
        /// Whether the file has another name (a hard link), which may lie outside of the view.
        shared: bool,
    },
    Folder,
    Link,
    /// A pipe, a socket, a device.
    Special,
}

impl Directory {
    /// Opens a folder that the caller trusts; links on the way are followed.
    pub(in crate::memory) fn open_trusted(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { fd })
    }

    /// Opens the folder of this name.
    pub(in crate::memory) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())? })
    }

    /// Opens the folder of this name; none when something else lies there, or nothing.
    pub(super) fn enter_if_folder(&self, name: &OsStr) -> io::Result<Option<Self>> {
        match self.enter(name) {
            Err(error) if is_no_folder(&error) => Ok(None),
            entered => entered.map(Some),
        }
    }

    /// Opens the folder of this name, made for its owner alone when there is none.
    pub(super) fn enter_or_make(&self, name: &OsStr) -> io::Result<Self> {
        match self.enter(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            entered => return entered,
        }
        match rustix::fs::mkdirat(&self.fd, name, PRIVATE_FOLDER) {
            Ok(()) => {
                let made = self.enter(name)?;
                owner::as_around(&made.fd, &self.fd)?;
                Ok(made)
            }
            Err(Errno::EXIST) => self.enter(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what the name stands for.
    pub(in crate::memory) fn kind(&self, name: &OsStr) -> io::Result<Option<Kind>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(kind(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns all names, sorted by bytes.
    pub(in crate::memory) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens the plain file of this name to read.
    pub(super) fn open_file(&self, name: &OsStr) -> io::Result<File> {
        // Without waiting: a pipe put in the file's place must not hold us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        match kind(&rustix::fs::fstat(&fd)?) {
            Kind::File { .. } => Ok(File::from(fd)),
            _ => Err(io::Error::other("not a plain file")),
        }
    }

    /// Returns the bytes of the plain file of this name.
    pub(in crate::memory) fn read_file(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes a new file for its owner alone; fails when the name is taken.
    pub(super) fn create_file(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, PRIVATE_FILE)?;
        // Whatever the umask took away.
        rustix::fs::fchmod(&fd, PRIVATE_FILE)?;
        owner::as_around(&fd, &self.fd)?;
        File::from(fd).write_all(bytes)
    }

    /// Puts a file in the place of another in another folder, as a whole.
    pub(super) fn replace(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        exchange::replace((&self.fd, name), (&to.fd, new))
    }

    /// Returns who may do what with the file of this name.
    pub(in crate::memory) fn mode(&self, name: &OsStr) -> io::Result<Mode> {
        Ok(Mode::from_raw_mode(rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode))
    }

    /// Makes a new file with this mode; it is on disk when this returns.
    pub(in crate::memory) fn create_synced(&self, name: &OsStr, bytes: &[u8], mode: Mode) -> io::Result<()> {
        self.create_file(name, bytes)?;
        let file = self.open_file(name)?;
        rustix::fs::fchmod(&file, mode)?;
        file.sync_all()
    }

    /// Moves a name to another folder, in place of a file of that name.
    pub(in crate::memory) fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, name, &to.fd, new)?)
    }

    /// Returns where a link points to.
    pub(super) fn link_target(&self, name: &OsStr) -> io::Result<OsString> {
        let target = rustix::fs::readlinkat(&self.fd, name, Vec::new())?;
        Ok(OsStr::from_bytes(target.to_bytes()).to_owned())
    }

    /// Removes anything but a folder.
    pub(in crate::memory) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }
}

/// Tells whether an error says that something else than a folder lies there, or nothing at all.
pub(in crate::memory) fn is_no_folder(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].iter().any(|errno| code == Some(errno.raw_os_error()))
}

fn kind(stat: &rustix::fs::Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            Kind::File { size: u64::try_from(stat.st_size).unwrap_or(0), shared: stat.st_nlink > 1 }
        }
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}
