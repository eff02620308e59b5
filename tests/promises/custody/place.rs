//! A project in a temporary folder and the sandboxes that show it, driven through the library.

use longhaul::process;
use longhaul::process::Command;
use longhaul::process::Exit;
use longhaul::process::Finished;
use longhaul::process::Interrupt;
use longhaul::process::Leftovers;
use longhaul::sandbox;
use longhaul::sandbox::Git;
use longhaul::sandbox::Level;
use longhaul::sandbox::Network;
use longhaul::sandbox::Reach;
use longhaul::sandbox::Room;
use longhaul::sandbox::Sandbox;
use longhaul::sandbox::Settings;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tempfile::TempDir;

/// Longer than any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Tells an attacker of ours that it is where it may attack.
pub(crate) const INSIDE: &str = "CUSTODY_INSIDE";

/// Held by each test of plain mode: there, what a process has adopted belongs to all of its threads.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(process::adopt_orphans);
    guard
}

/// Says why a test does not run here; with `LONGHAUL_TEST_NO_SKIP=1` that is a failure.
pub(crate) fn skipped(reason: &str) {
    assert!(std::env::var_os("LONGHAUL_TEST_NO_SKIP").is_none_or(|set| set != "1"), "skipped: {reason}");
    writeln!(std::io::stderr(), "skipped: {reason}").ok();
}

/// A project with a home beside it.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) room: Room,
}

impl Place {
    /// Makes a project held by bubblewrap; none where there is no bubblewrap, which is said.
    pub(crate) fn held() -> Option<Self> {
        Self::held_in(tempfile::tempdir().unwrap(), "project")
    }

    /// The same in this folder, under this name.
    pub(crate) fn held_in(folder: TempDir, name: &str) -> Option<Self> {
        let outer = BTreeMap::from([("PATH".to_owned(), path())]);
        let bwrap = match sandbox::bubblewrap(&outer) {
            Ok(tried) => tried.program,
            Err(lacking) => {
                skipped(&format!("bubblewrap cannot be had: {lacking}"));
                return None;
            }
        };
        let settings = Settings { level: Level::Bubblewrap, bwrap, ..Settings::plain() };
        Some(Self::new(folder, name, settings))
    }

    /// Makes a project in plain mode.
    pub(crate) fn plain() -> Self {
        Self::new(tempfile::tempdir().unwrap(), "project", Settings::plain())
    }

    fn new(folder: TempDir, name: &str, settings: Settings) -> Self {
        let (root, home) = (folder.path().join(name), folder.path().join("home"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&root).unwrap();
        if !root.join(".git").exists() {
            git(&root, &["init", "--quiet", "--initial-branch=main"]);
            git(&root, &["commit", "--quiet", "--allow-empty", "-m", "first"]);
        }
        let common_dir = root.join(".git").canonicalize().unwrap();
        let settings = Settings {
            reach: Reach::Nobody,
            supervisor: vec![env!("CARGO_BIN_EXE_longhaul").into(), "supervise".into()],
            cgroups: sandbox::cgroups().ok(),
            home: Some(home),
            path: path(),
            ..settings
        };
        let room = Room {
            root: root.clone(),
            folder: root.clone(),
            common_dir,
            git: Git::Writable,
            shown: vec![own_program().parent().unwrap().to_owned()],
            writable: Vec::new(),
            objects: None,
            held: Vec::new(),
            network: Network::Off,
        };
        Self { folder, root, settings, room }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Lets this test of the binary be process 1 instead of the program.
    pub(crate) fn supervised_by(mut self, test: &str) -> Self {
        self.settings.supervisor = std::iter::once(own_program().into()).chain(arguments(test)).collect();
        self
    }

    pub(crate) fn online(mut self) -> Self {
        self.room.network = Network::On;
        self
    }

    pub(crate) fn open(&self) -> Sandbox {
        Sandbox::open(&self.settings, self.room.clone(), &Interrupt::new()).unwrap()
    }

    /// Makes a command as the agent's tool would.
    pub(crate) fn command(&self, text: &str) -> Command {
        let mut env = BTreeMap::from([("PATH".to_owned(), path()), (INSIDE.to_owned(), "1".to_owned())]);
        let identity =
            [("AUTHOR_NAME", "Ada"), ("AUTHOR_EMAIL", "a@x"), ("COMMITTER_NAME", "Ada"), ("COMMITTER_EMAIL", "a@x")];
        env.extend(identity.map(|(name, value)| (format!("GIT_{name}"), value.to_owned())));
        sandbox::mark(&mut env, &self.room.common_dir);
        Command { leftovers: Leftovers::Keep, ..Command::shell(text, &self.root, env) }.limit(LONG)
    }

    /// Runs a command in a sandbox of its own and returns how it ended and what it printed.
    pub(crate) fn run(&self, text: &str) -> (Exit, String) {
        ended(&self.open().run(&self.command(text)))
    }
}

pub(crate) fn ended(finished: &Finished) -> (Exit, String) {
    (finished.exit.clone(), finished.output.text().trim().to_owned())
}

pub(crate) fn path() -> String {
    std::env::var("PATH").unwrap()
}

/// Returns a word that stands in no other command line, and that `sleep` takes for a long time.
pub(crate) fn token() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("300.{:07}{:05}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Lists the processes of the whole machine whose command line holds a word.
pub(crate) fn living(word: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().map(|process| process.path());
    let told = |process: PathBuf| {
        let line = String::from_utf8_lossy(&fs::read(process.join("cmdline")).ok()?).replace('\0', " ");
        line.contains(word).then(|| format!("{}: {line}", process.display()))
    };
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    processes.filter(|process| *process != own).filter_map(told).collect()
}

/// Waits until no such process is left, for as long as the system needs to bury what was killed.
pub(crate) fn survivors(word: &str) -> Vec<String> {
    for _ in 0..50 {
        if living(word).is_empty() {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    living(word)
}

/// Runs git outside.
#[track_caller]
pub(crate) fn git(root: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"];
    outside(root, &[&["git"], &identity[..], args].concat())
}

/// Runs a program outside, by the library: whoever adopts orphans collects the children of others too.
#[track_caller]
pub(crate) fn outside(dir: &Path, words: &[&str]) -> String {
    let env = BTreeMap::from([("PATH".to_owned(), path())]);
    let finished = process::run(&Command::new(words[0], &words[1..], dir, env), &Interrupt::new());
    assert_eq!(finished.exit, Exit::Code(0), "{words:?}: {}", finished.output.text());
    finished.output.text().trim().to_owned()
}

/// Returns the process id in what [`living`] tells.
pub(crate) fn number(told: &str) -> String {
    told.split(['/', ':']).nth(2).unwrap().to_owned()
}

/// Kills processes of this machine.
pub(crate) fn kill(numbers: &[String]) {
    outside(Path::new("/"), &["sh", "-c", &format!("kill -9 {} || :", numbers.join(" "))]);
}

/// Returns this very test program.
pub(crate) fn own_program() -> PathBuf {
    std::env::current_exe().unwrap()
}

fn arguments(test: &str) -> [OsString; 4] {
    [test, "--exact", "--ignored", "--nocapture"].map(OsString::from)
}

/// Returns shell text that runs one ignored test of this binary, as an attacker inside.
pub(crate) fn attacker(test: &str) -> String {
    format!("'{}' {test} --exact --ignored --nocapture", own_program().display())
}

/// Tells whether this process was started as an attacker.
pub(crate) fn is_attacker() -> bool {
    std::env::var_os(INSIDE).is_some()
}
