//! Memory outlives kills and power cuts: what was answered is there afterwards, and git finds nothing wrong.

use crate::support::Chance;
use serde_json::json;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::ChildStdin;
use std::process::Command;
use std::process::Stdio;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Files that are changed over and over, each of several pages.
const CHANGING: usize = 7;

/// A memory that a service of ours writes into: file after file, and a few again and again.
struct Written {
    folder: PathBuf,
    asked: usize,
    answered: BTreeSet<String>,
    /// The newest version that was answered of each changing file.
    versions: BTreeMap<String, usize>,
    /// The commit up to which history was looked through; none before the first look.
    looked: Option<String>,
}

impl Written {
    fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), asked: 0, answered: BTreeSet::new(), versions: BTreeMap::new(), looked: None }
    }

    fn memory(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
        command.arg("memory").args(args).arg("--store").arg(&self.folder).env("HOME", &self.folder);
        command
    }

    /// Writes for so long, then lets `end` do to the service what it does. Counts what was answered before.
    fn write_until(&mut self, time: Duration, end: impl FnOnce(&mut Child)) {
        let mut service = self.memory(&["apply"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (calls, answers) = (service.stdin.take().unwrap(), BufReader::new(service.stdout.take().unwrap()));
        let (told, hear) = mpsc::channel();
        let first = self.asked;
        let there = self.there();
        let versions = (0..CHANGING).map(|file| there.get(&changing(file)).copied()).collect();
        let writer = thread::spawn(move || ask(calls, first, versions));
        let reader = thread::spawn(move || {
            for line in answers.lines().map_while(Result::ok).filter(|line| line.contains("\"is_error\":false")) {
                told.send(line).unwrap();
            }
        });
        // The machine may be slow to start it.
        let early = hear.recv_timeout(Duration::from_secs(20));
        thread::sleep(time);
        end(&mut service);
        service.wait().unwrap();
        reader.join().unwrap();
        self.asked = writer.join().unwrap();
        for line in early.into_iter().chain(hear.iter()) {
            let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
            let (path, version) = answer["tool_use_id"].as_str().unwrap().split_once(' ').unwrap();
            match version.parse() {
                Ok(version) => drop(self.versions.insert(path.to_owned(), version)),
                Err(_) => drop(self.answered.insert(path.to_owned())),
            }
        }
    }

    /// Returns the version that each changing file has. One question for all: thousands of kills ask it.
    fn there(&self) -> BTreeMap<String, usize> {
        let (_, found) = git(&self.folder, &["grep", "^version ", "main", "--", "changing"]);
        let version = |line: &str| {
            let (path, version) = line.strip_prefix("main:")?.split_once(":version ")?;
            Some((path.to_owned(), version.parse().ok()?))
        };
        found.lines().filter_map(version).collect()
    }

    /// Says what is lost or broken, after the next command has put in order what there is to.
    fn faults(&mut self) -> Vec<String> {
        let view = self.memory(&["view", "/memories"]).output().unwrap();
        let mut faults = Vec::new();
        if !view.status.success() {
            faults.push(format!("the memory does not open: {}", String::from_utf8_lossy(&view.stderr)));
        }
        let there: BTreeSet<String> =
            git(&self.folder, &["ls-tree", "-r", "--name-only", "main"]).1.lines().map(str::to_owned).collect();
        faults.extend(self.answered.difference(&there).map(|path| format!("{path} was answered and is lost")));
        let now = self.there();
        let older = self.versions.iter().filter(|(path, version)| now.get(*path) < Some(*version));
        faults.extend(older.map(|(path, version)| format!("version {version} of {path} was answered and is lost")));
        let head = git(&self.folder, &["rev-parse", "main"]).1.trim().to_owned();
        let new = self.looked.as_ref().map_or_else(|| head.clone(), |looked| format!("{looked}..{head}"));
        let taken = git(&self.folder, &["log", "--grep=^memory: adopt", "--format=%s %b", &new]).1;
        self.looked = Some(head);
        faults.extend(taken.lines().map(|line| format!("nobody edited the view, and this was taken in: {line}")));
        faults
    }

    /// Says what git finds wrong.
    fn fsck(&self) -> Vec<String> {
        let (fine, said) = git(&self.folder, &["fsck", "--strict", "--no-dangling"]);
        if fine && said.is_empty() { Vec::new() } else { vec![format!("git fsck: {said}")] }
    }
}

/// Sends calls until nobody reads them; returns how many files were named.
fn ask(mut calls: ChildStdin, first: usize, mut versions: Vec<Option<usize>>) -> usize {
    for number in first.. {
        let file = number % CHANGING;
        let path = format!("{}/{}/{number}.md", number % 5, number % 31);
        let new = call(
            &format!("{path} new"),
            &json!({"command": "create", "path": format!("/memories/{path}"), "file_text": format!("text {number}\n").repeat(40)}),
        );
        let change = change(file, &mut versions[file]);
        if writeln!(calls, "{new}\n{change}").is_err() {
            return number + 1;
        }
    }
    first
}

fn changing(file: usize) -> String {
    format!("changing/{file}.md")
}

/// Makes the next version of a changing file.
fn change(file: usize, version: &mut Option<usize>) -> String {
    let (path, next) = (changing(file), version.map_or(0, |version| version + 1));
    let at = format!("/memories/{path}");
    let input = match version {
        None => {
            let text = format!("version 0\n{}", "a line of a file that has several pages\n".repeat(300));
            json!({"command": "create", "path": at, "file_text": text})
        }
        Some(version) => {
            let (old, new) = (format!("version {version}\n"), format!("version {next}\n"));
            json!({"command": "str_replace", "path": at, "old_str": old, "new_str": new})
        }
    };
    *version = Some(next);
    call(&format!("{path} {next}"), &input)
}

/// Writes a call on a line; its id says what its answer means.
fn call(id: &str, input: &serde_json::Value) -> String {
    json!({"type": "tool_use", "id": id, "name": "memory", "input": input}).to_string()
}

fn git(folder: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new("git").arg("--git-dir").arg(folder.join("memory.git")).args(args).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// Kills so often what writes into one memory, at moments drawn from this seed.
fn kill_at_moments(kills: usize, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (mut written, mut chance) = (Written::at(folder.path()), Chance(seed));
    for kill in 1..=kills {
        written.write_until(Duration::from_millis(chance.below(40)), |service| service.kill().unwrap());
        assert_eq!(written.faults(), Vec::<String>::new(), "kill {kill}, seed {seed:#x}");
        if kill % 50 == 0 || kill == kills {
            assert_eq!(written.fsck(), Vec::<String>::new(), "kill {kill}, seed {seed:#x}");
        }
    }
    assert!(written.answered.len() > kills, "{} answers", written.answered.len());
}

/// T35.
#[test]
fn what_was_answered_outlives_a_hundred_kills() {
    kill_at_moments(100, 0x5eed_0001);
}

/// In memories of [`IN_ONE`] kills, [`AT_ONCE`] beside each other: in one that grows to the end, git looks longer at each kill.
#[test]
#[ignore = "takes an hour"]
fn what_was_answered_outlives_ten_thousand_kills() {
    const KILLS: usize = 10_000;
    const IN_ONE: usize = 500;
    const AT_ONCE: usize = 2;
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let memory = next.fetch_add(1, Ordering::Relaxed);
                    if memory >= KILLS / IN_ONE {
                        return;
                    }
                    kill_at_moments(IN_ONE, 0x5eed_0100 + memory as u64);
                    writeln!(std::io::stderr(), "memory {memory} outlived {IN_ONE} kills").ok();
                }
            });
        }
    });
}

/// Writes through several services beside each other, each its own files; returns the paths that were answered.
fn write_side_by_side(written: &Written, services: usize, files: usize) -> BTreeSet<String> {
    let write = |service: usize| {
        let apply = &mut written.memory(&["apply"]);
        let mut child = apply.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut calls, mut answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut chance = Chance(0x5eed_0200 + service as u64);
        let mut answered = Vec::new();
        for file in 0..files {
            let path = format!("{service}/{file}.md");
            // Nothing that packs: the journal has to grow by many steps.
            let text: String = (0..1000).map(|_| format!("{:x}\n", chance.below(u64::MAX))).collect();
            let input = json!({"command": "create", "path": format!("/memories/{path}"), "file_text": text});
            writeln!(calls, "{}", call(&path, &input)).unwrap();
            let mut answer = String::new();
            answers.read_line(&mut answer).unwrap();
            assert!(answer.contains("\"is_error\":false"), "{answer}");
            answered.push(path);
        }
        drop(calls);
        assert!(child.wait().unwrap().success());
        answered
    };
    thread::scope(|scope| {
        let services: Vec<_> = (0..services).map(|service| scope.spawn(move || write(service))).collect();
        services.into_iter().flat_map(|service| service.join().unwrap()).collect()
    })
}

#[test]
fn what_several_processes_write_side_by_side_is_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut written = Written::at(folder.path());
    written.answered = write_side_by_side(&written, 3, 60);
    assert_eq!(written.answered.len(), 180);
    let own = written.memory(&["fsck"]).output().unwrap();
    assert!(own.status.success(), "{}", String::from_utf8_lossy(&[own.stdout, own.stderr].concat()));
    let (_, found) = git(folder.path(), &["for-each-ref", "refs/longhaul/found"]);
    assert_eq!(found, "", "nothing went past the branch");
    assert_eq!((written.faults(), written.fsck()), (vec![], vec![]));
}

/// A disk in a file, of which everything unsynced can be taken away at once.
struct Disk {
    folder: tempfile::TempDir,
    mounted: bool,
}

impl Disk {
    /// Makes one; none where this cannot be had.
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let made = "truncate -s 2G disk && mkfs.ext4 -q -F -N 400000 disk && mkdir mnt";
        let made = Command::new("sh").args(["-c", made]).current_dir(folder.path()).output().unwrap();
        if !made.status.success() {
            note_skip(&format!("no disk can be made here: {}", String::from_utf8_lossy(&made.stderr).trim()));
            return None;
        }
        let mut disk = Self { folder, mounted: false };
        if !disk.mount() {
            note_skip("a disk in a file cannot be mounted here");
            return None;
        }
        Some(disk)
    }

    fn at(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    fn mount(&mut self) -> bool {
        let disk = self.folder.path().join("disk");
        let mounted = Command::new("mount").args(["-o", "loop"]).arg(disk).arg(self.at()).output().unwrap();
        self.mounted = mounted.status.success();
        self.mounted
    }

    /// Cuts the power: the file system stops at once, and its log is not written out.
    fn cut(&self) {
        let stop = "import fcntl, os, sys; fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, b'\\2\\0\\0\\0')";
        let done = Command::new("python3").args(["-c", stop]).arg(self.at()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn unmount(&mut self) {
        for _ in 0..100 {
            if !self.mounted || Command::new("umount").arg(self.at()).output().unwrap().status.success() {
                self.mounted = false;
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("the disk stays busy");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.at()).output();
    }
}

/// Writes and cuts the power so many times; between cut and look `between` is done. Returns all faults.
fn cut_power(cuts: usize, between: impl Fn(&Path)) -> Option<(Written, Vec<String>)> {
    let mut disk = Disk::new()?;
    let (mut written, mut chance) = (Written::at(&disk.at().join("memory")), Chance(0x5eed_0002));
    fs::create_dir(&written.folder).unwrap();
    let mut faults = Vec::new();
    for cut in 1..=cuts {
        written.write_until(Duration::from_millis(60 + chance.below(400)), |service| {
            disk.cut();
            service.kill().unwrap();
        });
        disk.unmount();
        assert!(disk.mount());
        between(&written.folder);
        let found = [written.faults(), written.fsck()].concat();
        // More would tell the same of each file.
        faults.extend(found.into_iter().take(5).map(|fault| format!("cut {cut}: {fault}")));
        if !faults.is_empty() {
            break;
        }
    }
    Some((written, faults))
}

/// Runs one of the tests below in a place whose mounts nobody else sees: a sandbox elsewhere would keep a disk that was
/// unmounted here. Does nothing where no disk can be mounted.
fn with_own_mounts(test: &str, cuts: usize) {
    if !rustix::process::getuid().is_root() {
        return note_skip("only the superuser can mount a disk and cut its power");
    }
    let own = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(own)
        .args([test, "--exact", "--ignored", "--nocapture"])
        .env(CUTS, cuts.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.starts_with("unshare: ") {
        return note_skip(said.trim());
    }
    assert!(output.status.success(), "{said}");
    if let Some((_, reason)) = said.split_once("skipped: ") {
        note_skip(reason.lines().next().unwrap_or_default());
    }
}

/// Says what is left out; a container with all else that the tests need may have no disks in files.
fn note_skip(reason: &str) {
    writeln!(std::io::stderr(), "skipped: {reason}").ok();
}

/// Says to a test of this file how often it cuts the power.
const CUTS: &str = "LONGHAUL_TEST_POWER_CUTS";

fn cuts() -> usize {
    std::env::var(CUTS).map_or(0, |cuts| cuts.parse().unwrap())
}

#[test]
#[ignore = "runs in a place that a test makes"]
fn cut_and_look() {
    let Some((written, faults)) = cut_power(cuts(), |_| {}) else { return };
    assert_eq!(faults, Vec::<String>::new());
    assert!(written.answered.len() > cuts(), "{} answers", written.answered.len());
}

#[test]
#[ignore = "runs in a place that a test makes"]
fn cut_lose_the_journal_and_look() {
    let without = |folder: &Path| drop(fs::remove_file(folder.join("memory.git/longhaul/journal")));
    let Some((_, faults)) = cut_power(cuts(), without) else { return };
    assert!(!faults.is_empty() || cuts() == 0, "nothing was lost");
}

/// T36, and D02.
#[test]
fn what_was_answered_outlives_ten_power_cuts() {
    with_own_mounts("durable::cut_and_look", 10);
}

#[test]
#[ignore = "takes several minutes"]
fn what_was_answered_outlives_two_hundred_power_cuts() {
    with_own_mounts("durable::cut_and_look", 200);
}

/// The twin: what the journal has is what saves it.
#[test]
fn without_the_journal_a_power_cut_loses_what_was_answered() {
    with_own_mounts("durable::cut_lose_the_journal_and_look", 3);
}
