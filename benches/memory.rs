//! What a durable memory write costs, beside others that write the same file: in turns, in one go, on a real disk.
//! `cargo bench --bench memory`; the folder is below `target/`, since `/tmp` may be no disk.
//!
//! One write puts 1 KiB of words in the place of a file, one of 1,000 in folders. All but `git` are durable when they return.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and fails by panicking")]

#[path = "memory/past.rs"]
mod past;
#[path = "memory/scale.rs"]
mod scale;

use git2::FileMode;
use git2::Repository;
use git2::Signature;
use git2::build::TreeUpdateBuilder;
use longhaul::clock::Clock;
use longhaul::memory::Author;
use longhaul::memory::Caps;
use longhaul::memory::Change;
use longhaul::memory::Origin;
use longhaul::memory::Place;
use longhaul::memory::Policy;
use longhaul::memory::Store;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

/// Files of the memory, and how many lie in one folder.
const FILES: usize = 1000;
const IN_A_FOLDER: usize = 25;
/// Rounds, of which the first is not counted, and writes of each way in one.
const ROUNDS: usize = 9;
const WRITES: usize = 20;

fn path(number: usize) -> String {
    let number = number % FILES;
    format!("area{}/topic{}/{number}.txt", number / IN_A_FOLDER / 8, number / IN_A_FOLDER)
}

/// A kibibyte of words, another one each time.
fn text(seed: usize) -> String {
    let words = ["lock", "port", "build", "queue", "retry", "page", "token", "index", "north", "seven"];
    let mut text = format!("{seed}");
    let mut state = seed;
    while text.len() < 1024 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(' ');
        text.push_str(words[(state >> 33) % words.len()]);
    }
    text.truncate(1024);
    text
}

/// A way to write; the numbers are those of the file, and of its text.
trait Way {
    fn name(&self) -> &'static str;
    fn write(&mut self, file: usize, seed: usize);
}

/// A temporary file, synced, renamed, and its folder synced.
struct Atomic(PathBuf);

impl Way for Atomic {
    fn name(&self) -> &'static str {
        "a file, written atomically with 2 fsyncs"
    }

    fn write(&mut self, file: usize, seed: usize) {
        let path = self.0.join(path(file));
        let new = path.with_extension("new");
        let mut file = File::create(&new).unwrap();
        file.write_all(text(seed).as_bytes()).unwrap();
        file.sync_all().unwrap();
        fs::rename(&new, &path).unwrap();
        File::open(path.parent().unwrap()).unwrap().sync_all().unwrap();
    }
}

/// Our memory, in this process.
struct Ours(Store);

impl Way for Ours {
    fn name(&self) -> &'static str {
        "longhaul: the same with its commit"
    }

    fn write(&mut self, file: usize, seed: usize) {
        let change = Change::put(path(file), text(seed));
        self.0.write("bench", &[change], &Origin::of(Author::Longhaul)).unwrap();
    }
}

/// Our memory behind the command: a call of the tool, as JSON, one line in and one out.
struct Service {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
    before: Vec<String>,
}

impl Service {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_longhaul"))
            .args(["memory", "apply", "--store"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers, before: (0..FILES).map(text).collect() }
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn call(&mut self, input: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{input}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert!(answer.contains("\"is_error\":false"), "{answer}");
    }
}

impl Drop for Service {
    /// Waits until it has packed what is left: it would do that beside what is measured next, or in a folder that is gone.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Way for Service {
    fn name(&self) -> &'static str {
        "longhaul: a tool call through `memory apply`"
    }

    fn write(&mut self, file: usize, seed: usize) {
        let (old, new) = (self.before[file % FILES].clone(), text(seed));
        let path = format!("/memories/{}", path(file));
        self.call(&json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}));
        self.before[file % FILES] = new;
    }
}

/// libgit2 with its fsync switch: blob, trees, commit and branch, no index.
struct Libgit2(Repository);

impl Way for Libgit2 {
    fn name(&self) -> &'static str {
        "libgit2 with its fsync switch"
    }

    fn write(&mut self, file: usize, seed: usize) {
        let git = &self.0;
        let parent = git.head().ok().map(|head| head.peel_to_commit().unwrap());
        let id = git.blob(text(seed).as_bytes()).unwrap();
        let base = parent.as_ref().unwrap().tree().unwrap();
        let tree = TreeUpdateBuilder::new().upsert(path(file), id, FileMode::Blob).create_updated(git, &base).unwrap();
        let who = Signature::now("bench", "bench@example.org").unwrap();
        let tree = git.find_tree(tree).unwrap();
        git.commit(Some("HEAD"), &who, &who, "bench", &tree, &parent.iter().collect::<Vec<_>>()).unwrap();
    }
}

/// The git that people use, which syncs nothing by default.
struct Git(PathBuf);

impl Way for Git {
    fn name(&self) -> &'static str {
        "`git add -A` and `git commit`, not durable"
    }

    fn write(&mut self, file: usize, seed: usize) {
        fs::write(self.0.join(path(file)), text(seed)).unwrap();
        git(&self.0, &["add", "-A"]);
        git(&self.0, &["commit", "-qm", "bench"]);
    }
}

fn git(folder: &Path, args: &[&str]) {
    let command = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"])
        .args(args)
        .current_dir(folder)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .status();
    assert!(command.unwrap().success());
}

fn files(folder: &Path) {
    for number in 0..FILES {
        let path = folder.join(path(number));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text(number)).unwrap();
    }
}

fn ways(folder: &Path) -> Vec<Box<dyn Way>> {
    let at = |name: &str| apart(folder, name);
    let atomic = at("atomic");
    files(&atomic);
    let ours = at("ours");
    let place = Place::in_project(&ours, &ours.join("git"));
    let caps = Caps { files: 1_000_000, ..Caps::default() };
    let mut store = Store::create(&place, Policy::Project, caps, Clock::system()).unwrap();
    let all: Vec<Change> = (0..FILES).map(|number| Change::put(path(number), text(number))).collect();
    store.write("seed", &all, &Origin::of(Author::Longhaul)).unwrap();
    let service = at("service");
    files(&service.join("memory"));
    let worktree = at("git");
    git(&worktree, &["init", "-q"]);
    files(&worktree);
    git(&worktree, &["add", "-A"]);
    git(&worktree, &["commit", "-qm", "seed"]);
    let libgit2 = at("libgit2");
    git(&worktree, &["clone", "-q", "--bare", ".", libgit2.to_str().unwrap()]);
    vec![
        Box::new(Atomic(atomic)),
        Box::new(Ours(store)),
        Box::new(Service::start(&service)),
        Box::new(Libgit2(Repository::open_bare(libgit2).unwrap())),
        Box::new(Git(worktree)),
    ]
}

/// Refuses a folder in memory, where a sync costs nothing.
fn require_disk(folder: &Path) {
    let kind = rustix::fs::statfs(folder).unwrap().f_type;
    let (tmpfs, ramfs) = (0x0102_1994, 0x8584_58f6);
    let advice = "is no disk: set CARGO_TARGET_DIR to a folder on one";
    assert!(kind != tmpfs && kind != ramfs, "`{}` {advice}", folder.display());
}

/// Returns a new folder, in which each folder of [`apart`] gets a part of the disk of its own where the file system is ext4.
///
/// ext4 looks at each inode that was deleted in the last minutes before it makes a file beside it: a build that ended just
/// now, or the round before this one, would make every write here up to five times as long.
fn spread(target: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir_in(target).unwrap();
    let handle = File::open(folder.path()).unwrap();
    // Elsewhere there is no such flag, and no such look.
    rustix::fs::ioctl_getflags(&handle)
        .and_then(|flags| rustix::fs::ioctl_setflags(&handle, flags | rustix::fs::IFlags::TOPDIR))
        .ok();
    folder
}

/// Makes a folder whose name begins so. By its name ext4 chooses where it lies: none is used twice.
fn apart(folder: &Path, name: &str) -> PathBuf {
    tempfile::Builder::new().prefix(name).tempdir_in(folder).unwrap().keep()
}

/// Writes out what others left, so that who comes next does not wait for it in their place.
fn settle(folder: &Path) {
    rustix::fs::syncfs(File::open(folder).unwrap()).unwrap();
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn main() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    require_disk(target);
    let folder = spread(target);
    // The first memory that is opened turns libgit2's switch on for this process.
    let mut ways = ways(folder.path());
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); ways.len()];
    for round in 0..ROUNDS {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            settle(folder.path());
            for write in 0..WRITES {
                let seed = FILES + round * WRITES + write;
                let start = Instant::now();
                way.write(seed * 37, seed);
                if round > 0 {
                    times.push(start.elapsed());
                }
            }
        }
    }
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    println!(
        "{FILES} files in folders, 1 KiB a write, {} writes each, on `{}`",
        (ROUNDS - 1) * WRITES,
        target.display()
    );
    for (way, median) in ways.iter().zip(&medians) {
        println!("{:<46} {median:>9.0} µs  {:>6.2} times the file", way.name(), median / medians[0]);
    }
    println!("git / longhaul through `apply`: {:.1}", medians[4] / medians[2]);
    println!("longhaul / libgit2 with its switch: {:.2}", medians[1] / medians[3]);
    let history = past::project(target);
    scale::print(target, &history);
    past::print(&history);
}
