//! The approved files of a check while it runs: what it starts must not change one and put it back.
//!
//! In bubblewrap they are held: it cannot. In both modes what the system keeps of each is compared, which no program can
//! set back.

use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::checkout::is_of_project;
use crate::gate::closure;
use crate::gate::written::Written;
use crate::project::path_of;
use anyhow::Context;
use anyhow::Result;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// Each is a mount of its own, and more would make the start of a sandbox slow.
const MOST: usize = 100;

/// What holds for the approved files of one check.
#[derive(Default)]
pub(in crate::gate) struct Held {
    /// Files of the project that can be mounted over themselves, by their paths below its root.
    pub files: Vec<PathBuf>,
    /// Files of the project that nothing may touch.
    watched: Vec<PathBuf>,
    /// The same of memory, below its `checks/`.
    pub of_memory: Vec<PathBuf>,
}

impl Held {
    /// Looks at the files of the check as they lie in `folder`. `init` is the script that is its setup.
    pub(in crate::gate) fn of(check: &Check, files: &CheckFiles, init: Option<&str>, folder: &Path) -> Self {
        let texts = closure::texts(check, files);
        let written = Written::by(texts.iter().map(String::as_str));
        let of_setup = Written::by(init.filter(|_| check.setup.as_deref() == Some("init")));
        let pinned = check.pins.iter().filter(|(path, pin)| pin.is_some() && is_of_project(path));
        let watched: Vec<&String> = pinned.map(|(path, _)| path).filter(|path| !written.holds(path)).collect();
        let is_file = |path: &PathBuf| folder.join(path).symlink_metadata().is_ok_and(|found| found.is_file());
        let held = watched.iter().filter(|path| !of_setup.holds(path)).map(|path| path_of(path)).filter(is_file);
        let memory = files.0.iter().filter(|(name, _)| !written.holds(&format!("checks/{name}")));
        Self {
            files: held.take(MOST).collect(),
            watched: watched.into_iter().map(|path| path_of(path)).collect(),
            of_memory: memory.map(|(name, _)| path_of(name)).collect(),
        }
    }

    /// Remembers the project's files as they are now in `folder`.
    pub(in crate::gate) fn marks(&self, folder: &Path) -> Marks {
        Marks::of(folder, &self.watched)
    }

    /// Says what to do about a held file that could not be written, as this output tells.
    pub(in crate::gate) fn told_of_writing(&self, said: &str) -> Option<String> {
        let path = named_last(said, &self.files)?.to_string_lossy();
        let way_out = where_it_has_to(&path);
        Some(format!("`{path}` decides, so it cannot be written while the check runs; {way_out}"))
    }
}

/// Returns the file that the first line about a read-only file names, last where it names several: the others are who says it.
/// Whoever says it may be in the file's folder.
fn named_last<'a>(said: &str, files: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let mut lines = said.lines().filter(|line| line.contains("Read-only file system") || line.contains("EROFS"));
    let end = |line: &str, name: &OsStr| {
        let name = name.to_string_lossy();
        line.rfind(&*name).map(|at| at + name.len())
    };
    let named = |line: &str, path: &PathBuf| {
        let by_name = end(line, path.file_name()?)?;
        Some((by_name, end(line, path.as_os_str()) == Some(by_name)))
    };
    let last = |line: &str| {
        let files = files.iter().filter_map(|path| Some((named(line, path)?, path)));
        files.max_by_key(|(at, _)| *at).map(|(_, path)| path)
    };
    lines.find_map(last)
}

/// Says what a person does about a check that writes one of its own files.
pub(in crate::gate) fn where_it_has_to(path: &str) -> String {
    format!(
        "where the check has to write it, its text has to say so: `touch {path}` is enough; or unpin it by `\"!{path}\"` in its \
         `closure`"
    )
}

impl CheckFiles {
    /// Writes the files below `folder`, readable and executable.
    pub(in crate::gate) fn lay(&self, folder: &Path) -> Result<()> {
        for (name, bytes) in &self.0 {
            let path = folder.join(name);
            let context = || format!("could not lay out the check file `{name}`");
            fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(context)?;
            fs::write(&path, bytes).with_context(context)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).with_context(context)?;
        }
        Ok(())
    }

    /// Returns the file that is not the one that was laid out.
    pub(in crate::gate) fn first_changed(&self, folder: &Path) -> Option<String> {
        let differs = |(name, bytes): &&(String, Vec<u8>)| fs::read(folder.join(name)).ok().as_ref() != Some(bytes);
        self.0.iter().find(differs).map(|(name, _)| name.clone())
    }
}

/// Files and the folders on the way to them, as they were at one time.
pub(in crate::gate) struct Marks(BTreeMap<PathBuf, (PathBuf, Option<Mark>)>);

impl Marks {
    /// Remembers these files below `folder`, and the folders between.
    pub(in crate::gate) fn of(folder: &Path, files: &[PathBuf]) -> Self {
        let ways = files.iter().flat_map(|file| file.ancestors().map(move |part| (part, file)));
        let marked = ways.filter(|(part, _)| !part.as_os_str().is_empty());
        Self(marked.map(|(part, file)| (folder.join(part), (file.clone(), Mark::of(&folder.join(part))))).collect())
    }

    /// Returns the file that is not the one it was, or was written, moved or replaced on the way.
    pub(in crate::gate) fn touched(&self) -> Option<String> {
        let is_other = |(path, (_, mark)): &(&PathBuf, &(PathBuf, Option<Mark>))| match (mark, Mark::of(path)) {
            (Some(before), Some(now)) => before.differs(&now),
            (before, now) => before.is_some() != now.is_some(),
        };
        self.0.iter().find(is_other).map(|(_, (file, _))| file.to_string_lossy().into_owned())
    }
}

/// What the system keeps of a file or a folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Mark {
    is_folder: bool,
    which: (u64, u64),
    written: (i64, i64),
    changed: (i64, i64),
}

impl Mark {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        Some(Self {
            is_folder: found.is_dir(),
            which: (found.dev(), found.ino()),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }

    /// A folder changes with each file that comes or goes in it; where none did, it was moved.
    fn differs(&self, now: &Self) -> bool {
        let may_change = self.is_folder && self.written != now.written;
        self.is_folder != now.is_folder || self.which != now.which || self.changed != now.changed && !may_change
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_file_that_was_put_back_and_a_folder_that_was_moved_show_and_what_comes_beside_does_not() {
        let tricks = [
            ("cp -p t/a k; echo x >t/a; cp -p k t/a", true),
            ("cp -p t/a k; mv k t/a", true),
            ("mv t/a k; mv k t/a", true),
            ("mv t k; mkdir t; rm -r t; mv k t", true),
            ("cp -rp t k; rm -r t; mv k t", true),
            ("mkdir t/__pycache__; echo x >t/__pycache__/a; echo x >t/b; cat t/a", false),
            ("rm t/c; mv t/d/e t/f", false),
        ];
        for (text, expected) in tricks {
            let folder = tempfile::tempdir().unwrap();
            let shell = |text: &str| {
                let mut command = std::process::Command::new("sh");
                assert!(command.args(["-ec", text]).current_dir(folder.path()).status().unwrap().success(), "{text}");
            };
            shell("mkdir -p t/d; echo a >t/a; echo c >t/c; echo e >t/d/e");
            let marks = Marks::of(folder.path(), &["t/a".into()]);
            // The clock of files ticks in steps.
            std::thread::sleep(Duration::from_millis(20));
            shell(text);
            assert_eq!(marks.touched(), expected.then(|| "t/a".to_owned()), "{text}");
        }
    }

    #[test]
    fn what_the_check_itself_writes_is_not_held() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.sh", "b.sh", "c.sh"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let pins = ["a.sh", "b.sh", "c.sh", "gone.sh"].map(|name| (name.to_owned(), Some(String::new())));
        let check = Check {
            pins: pins.into(),
            setup: Some("init".to_owned()),
            ..Check::command("chmod +x a.sh && ./a.sh && sh b.sh")
        };
        let of = |init| Held::of(&check, &CheckFiles::default(), init, folder.path());
        assert_eq!(of(None).files, ["b.sh", "c.sh"].map(PathBuf::from));
        let held = of(Some("chmod +x b.sh"));
        assert_eq!(held.files, ["c.sh"].map(PathBuf::from));
        assert_eq!(held.watched, ["b.sh", "c.sh", "gone.sh"].map(PathBuf::from), "an agent may change the init script");
    }

    #[test]
    fn of_a_line_about_a_read_only_file_the_file_is_found() {
        let files = ["tests/a.sh", "tests/b/state.txt", "tests/state.txt"].map(PathBuf::from);
        for (said, expected) in [
            ("tests/a.sh: 1: cannot create state.txt: Read-only file system", "tests/state.txt"),
            ("tests/a.sh: 1: cannot create tests/b/state.txt: Read-only file system", "tests/b/state.txt"),
            ("x\nOSError: [Errno 30] Read-only file system: '/p/tests/state.txt'", "tests/state.txt"),
            ("Error: EROFS: read-only file system, open '/p/tests/b/state.txt'", "tests/b/state.txt"),
        ] {
            assert_eq!(named_last(said, &files), Some(&PathBuf::from(expected)), "{said}");
        }
        assert_eq!(named_last("tests/a.sh: state.txt is wrong\ntouch: /etc/x: Read-only file system", &files), None);
    }
}
