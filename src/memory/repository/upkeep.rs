//! Keeps the repository quick to read for git as well: what lies loose goes into few packs, and git gets its list of which
//! commit touched which path. It is done between sessions, and beside a long row of writes; no write waits for it.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use rustix::fs::FlockOperation;
use rustix::io::FdFlags;

use crate::memory::Place;
use crate::memory::store::Store;
use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Interrupt;

/// Loose objects from which on they are packed.
const MANY: usize = 2000;
/// Their names are spread evenly, so that one of the 256 folders tells for all.
const ONE: &str = "17";
const FOLDERS: usize = 256;
/// Packing takes about 0.2 ms an object, and on a busy disk ten times as long.
const LIMIT: Duration = Duration::from_secs(3600);
/// How long it may stay silent when somebody waits for it.
const SILENT: Duration = Duration::from_secs(1);

impl Store {
    /// Packs what lies loose when that has become much, and waits for it; `path` is where git is looked for. To be called
    /// by who holds the run lock. Others may read and write meanwhile. An interrupt ends it; the next one does it all.
    pub fn keep_up(&self, path: &str, interrupt: &Interrupt) -> Result<()> {
        let mut packing = Packing::of(self, path, interrupt);
        if packing.is_due() {
            // With all on disk nothing has to be written again from the journal, which would make it loose once more.
            self.checkpoint()?;
            packing.begin()?;
        }
        packing.wait(&self.notice)
    }
}

/// Packs what lies loose while its owner goes on, once at a time.
pub(in crate::memory) struct Packing {
    git: Git,
    state: PathBuf,
    /// Hears how the packing that is at work ended.
    at_work: Option<Receiver<Result<()>>>,
    has_failed: bool,
}

impl Packing {
    pub(in crate::memory) fn of(store: &Store, path: &str, interrupt: &Interrupt) -> Self {
        let Place { repository, state, .. } = &store.place;
        let git = Git { repository: repository.clone(), path: path.to_owned(), interrupt: interrupt.clone() };
        Self { git, state: state.clone(), at_work: None, has_failed: false }
    }

    /// Begins to pack if there is much to pack and nothing at work. One that failed is told, and the last.
    pub(in crate::memory) fn go_on(&mut self, notice: &dyn Fn(&str)) {
        if let Some(ended) = self.at_work.as_ref().and_then(|at_work| at_work.try_recv().ok()) {
            self.at_work = None;
            self.tell(ended, notice);
        }
        if self.at_work.is_none() && !self.has_failed && self.is_due() {
            let begun = self.begin();
            self.tell(begun, notice);
        }
    }

    /// Waits until all that is much is packed.
    pub(in crate::memory) fn end(mut self, notice: &dyn Fn(&str)) {
        let waited = self.wait(notice);
        self.tell(waited, notice);
        // What was written beside the last one may be much again.
        self.go_on(notice);
        let waited = self.wait(notice);
        self.tell(waited, notice);
    }

    fn tell(&mut self, ended: Result<()>, notice: &dyn Fn(&str)) {
        if let Err(error) = ended {
            self.has_failed = true;
            notice(&not_packed(&error));
        }
    }

    fn is_due(&self) -> bool {
        self.git.loose() >= MANY
    }

    /// Begins, unless another process is packing.
    fn begin(&mut self) -> Result<()> {
        let Some(right) = Right::if_free(&self.state)? else { return Ok(()) };
        let (git, (sender, receiver)) = (self.git.clone(), mpsc::channel());
        thread::spawn(move || {
            let packed = git.pack();
            std::mem::drop(right);
            sender.send(packed)
        });
        self.at_work = Some(receiver);
        Ok(())
    }

    /// Waits for the packing that is at work, and says so after a second.
    fn wait(&mut self, notice: &dyn Fn(&str)) -> Result<()> {
        let Some(at_work) = self.at_work.take() else { return Ok(()) };
        let loose = self.git.loose();
        at_work.recv_timeout(SILENT).or_else(|_| {
            notice(&format!("packing the memory: about {loose} objects"));
            at_work.recv().context("the packing broke off")
        })?
    }
}

/// Says that the memory is not packed, why, and what that means.
pub fn not_packed(error: &anyhow::Error) -> String {
    format!("the memory is not packed, so that git reads it more slowly: {error:#}")
}

/// The right to pack, or to take old objects away for good: what one moves the other must not miss.
pub(in crate::memory) struct Right {
    _file: File,
}

impl Right {
    /// Waits for the right; a wait of more than a second is told to `notice`.
    pub(in crate::memory) fn take(state: &Path, notice: &dyn Fn(&str)) -> Result<Self> {
        if let Some(right) = Self::if_free(state)? {
            return Ok(right);
        }
        thread::sleep(SILENT);
        notice("waiting for another process that is packing the memory");
        let file = Self::file(state)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .context("could not wait for the memory to be packed")?;
        Ok(Self { _file: file })
    }

    fn if_free(state: &Path) -> Result<Option<Self>> {
        let file = Self::file(state)?;
        Ok(rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok().map(|()| Self { _file: file }))
    }

    /// Opens the file that is locked. The git we start has it too, so that the right lasts until that has ended, also when
    /// we are killed.
    fn file(state: &Path) -> Result<File> {
        let path = state.join("pack.lock");
        let open = || {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
            Ok::<File, std::io::Error>(file)
        };
        open().with_context(|| format!("could not open `{}`", path.display()))
    }
}

/// Runs git on the repository, without the settings of anybody and without what a setting there could start.
#[derive(Clone)]
struct Git {
    repository: PathBuf,
    path: String,
    interrupt: Interrupt,
}

impl Git {
    /// Tells about how many objects lie loose.
    fn loose(&self) -> usize {
        fs::read_dir(self.repository.join("objects").join(ONE)).map_or(0, Iterator::count) * FOLDERS
    }

    fn pack(&self) -> Result<()> {
        // Each pack has at least twice the objects of the next, so that there are few and most are never rewritten.
        self.run(&["repack", "-d", "-l", "-q", "--geometric=2", "--no-write-bitmap-index"])?;
        self.run(&["commit-graph", "write", "--reachable", "--changed-paths", "--split", "--no-progress"])
    }

    fn run(&self, args: &[&str]) -> Result<()> {
        let place = &self.repository;
        let settings = [
            ("GIT_DIR", place.to_string_lossy().into_owned()),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_NO_LAZY_FETCH", "1".to_owned()),
            ("GIT_ALLOW_PROTOCOL", "none".to_owned()),
            ("LC_ALL", "C".to_owned()),
            ("PATH", self.path.clone()),
        ];
        let environment: BTreeMap<_, _> = settings.map(|(name, value)| (name.to_owned(), value)).into();
        // What replaces loose objects has to be on disk before they go.
        let fixed = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsync=committed", "-c", "core.fsyncMethod=fsync"];
        let all: Vec<&str> = fixed.iter().chain(args).copied().collect();
        let finished = process::run(&Command::new("git", &all, place, environment).limit(LIMIT), &self.interrupt);
        let what = args.first().unwrap_or(&"");
        match finished.exit {
            Exit::Code(0) | Exit::Interrupted => Ok(()),
            Exit::TimedOut => bail!(
                "`git {what}` was ended after an hour; `git --git-dir='{}' repack -d --geometric=2` by hand has no limit",
                place.display()
            ),
            exit => {
                let said = finished.output.last_lines(3);
                bail!("`git {what}` failed in `{}` ({exit}): {}", place.display(), said.trim())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixture::Memory;
    use crate::memory::history::trailers::Author;
    use crate::memory::history::trailers::Origin;
    use crate::memory::repository::loose::Loose;
    use crate::memory::repository::object::Object;

    fn path() -> String {
        std::env::var("PATH").unwrap()
    }

    fn count(memory: &Memory, what: &str) -> usize {
        let told = memory.git(&["count-objects", "-v"]);
        told.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(": ")?.parse().ok()).unwrap()
    }

    #[test]
    fn what_is_loose_goes_into_few_packs_and_nothing_else_changes() {
        let mut memory = Memory::project(&[("notes/a", "first")]);
        let old = memory.open_again();
        for round in 0..12 {
            for number in 0..5 {
                memory.write(&format!("docs/{number}"), &format!("{round} {number}"));
            }
            memory.store.checkpoint().unwrap();
            Packing::of(&memory.store, &path(), &Interrupt::new()).git.pack().unwrap();
            assert_eq!(count(&memory, "count"), 0);
        }
        assert!(count(&memory, "packs") <= 6, "{}", count(&memory, "packs"));
        assert_eq!(memory.subjects().len(), 61);
        assert_eq!(memory.git(&["fsck", "--strict"]), "");
        assert_eq!(memory.git(&["commit-graph", "verify", "--no-progress"]), "");
        for store in [&old, &memory.store, &memory.open_again()] {
            assert_eq!(store.read("notes/a").unwrap().as_deref(), Some(&b"first"[..]));
            assert_eq!(store.read("docs/4").unwrap().as_deref(), Some(&b"11 4"[..]));
        }
        memory.write("docs/0", "after");
        assert!(memory.inspect().is_empty());
    }

    #[test]
    fn a_few_loose_objects_are_left_and_many_are_packed() {
        let memory = Memory::project(&[("a", "x")]);
        memory.store.keep_up("/nowhere", &Interrupt::new()).unwrap();
        litter(&memory);
        let without = memory.store.keep_up("/nowhere", &Interrupt::new()).unwrap_err().to_string();
        assert!(without.contains("`git repack` failed"), "{without}");
        memory.store.keep_up(&path(), &Interrupt::new()).unwrap();
        assert_eq!(count(&memory, "count"), 0);
    }

    /// Lays down loose objects of which `is_due` thinks that there are many.
    fn litter(memory: &Memory) {
        let objects = memory.place.repository.join("objects");
        let all =
            (0..).map(|number: u32| Object::new(git2::ObjectType::Blob, number.to_string().into_bytes()).unwrap());
        for object in all.filter(|object| object.id.to_string().starts_with(ONE)).take(MANY / FOLDERS + 1) {
            Loose(&objects).write(&object).unwrap();
        }
    }

    fn apply(memory: &mut Memory, path: &str) -> Vec<String> {
        let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let heard = told.clone();
        memory.store.on_notice(move |text| heard.lock().unwrap().push(text.to_owned()));
        let line = |number| format!(r#"{{"command":"create","path":"/memories/{number}","file_text":"x"}}"#);
        let lines: Vec<String> = (0..200).map(line).collect();
        let origin = Origin::of(Author::External);
        crate::memory::apply(&mut memory.store, lines.join("\n").as_bytes(), |_| Ok(()), &origin, path).unwrap();
        let told = told.lock().unwrap();
        told.iter().filter(|text| !text.starts_with("packing the memory: about ")).cloned().collect()
    }

    #[test]
    fn a_long_row_of_writes_is_packed_on_the_way() {
        let mut memory = Memory::free(&[]);
        litter(&memory);
        assert_eq!(apply(&mut memory, &path()), Vec::<String>::new());
        assert!(count(&memory, "in-pack") > MANY / FOLDERS, "it was packed");
        assert_eq!(memory.subjects().len(), 200);
        assert!(!memory.git(&["fsck", "--strict"]).contains("missing"));
        assert_eq!(memory.store.read("7").unwrap().as_deref(), Some(&b"x"[..]));
    }

    #[test]
    fn a_packing_that_fails_is_told_once_and_each_write_counts_all_the_same() {
        let mut memory = Memory::free(&[]);
        litter(&memory);
        let told = apply(&mut memory, "/nowhere");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("the memory is not packed, so that git reads it more slowly: `git repack` failed"));
        assert_eq!((memory.subjects().len(), count(&memory, "in-pack")), (200, 0));
    }

    #[test]
    fn who_packs_keeps_a_purge_away_until_its_git_has_ended() {
        let memory = Memory::project(&[("a", "x")]);
        let state = &memory.place.state;
        let right = Right::if_free(state).unwrap().unwrap();
        let mut git = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        std::mem::drop(right);
        assert!(Right::if_free(state).unwrap().is_none(), "the git of one that was killed still packs");
        litter(&memory);
        memory.store.keep_up("/nowhere", &Interrupt::new()).unwrap();
        git.kill().and_then(|()| git.wait()).unwrap();
        assert!(Right::if_free(state).unwrap().is_some());
    }
}
