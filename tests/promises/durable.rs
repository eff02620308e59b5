//! Memory outlives kills and power cuts: what was answered is there afterwards, and git finds nothing wrong.

use crate::support::Chance;
use serde_json::json;
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
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A memory that a service of ours writes into, file after file.
struct Written {
    folder: PathBuf,
    asked: usize,
    answered: BTreeSet<String>,
}

impl Written {
    fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), asked: 0, answered: BTreeSet::new() }
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
        let writer = thread::spawn(move || ask(calls, first));
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
            let (_, path) = line.split_once("/memories/").unwrap();
            self.answered.insert(path.split('"').next().unwrap().to_owned());
        }
    }

    /// Says what is lost or broken, after the next command has put in order what there is to.
    fn faults(&self) -> Vec<String> {
        let view = self.memory(&["view", "/memories"]).output().unwrap();
        let mut faults = Vec::new();
        if !view.status.success() {
            faults.push(format!("the memory does not open: {}", String::from_utf8_lossy(&view.stderr)));
        }
        let there: BTreeSet<String> =
            git(&self.folder, &["ls-tree", "-r", "--name-only", "main"]).1.lines().map(str::to_owned).collect();
        faults.extend(self.answered.difference(&there).map(|path| format!("{path} was answered and is lost")));
        faults
    }

    /// Says what git finds wrong.
    fn fsck(&self) -> Vec<String> {
        let (fine, said) = git(&self.folder, &["fsck", "--strict", "--no-dangling"]);
        if fine && said.is_empty() { Vec::new() } else { vec![format!("git fsck: {said}")] }
    }
}

/// Sends calls until nobody reads them; returns how many files were named.
fn ask(mut calls: ChildStdin, first: usize) -> usize {
    for number in first.. {
        let path = format!("/memories/{}/{}/{number}.md", number % 5, number % 31);
        let call = json!({"command": "create", "path": path, "file_text": format!("text {number}\n").repeat(40)});
        if writeln!(calls, "{call}").is_err() {
            return number + 1;
        }
    }
    first
}

fn git(folder: &Path, args: &[&str]) -> (bool, String) {
    let output = Command::new("git").arg("--git-dir").arg(folder.join("memory.git")).args(args).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn kill_at_moments(kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (mut written, mut chance) = (Written::at(folder.path()), Chance(0x5eed_0001));
    for kill in 1..=kills {
        written.write_until(Duration::from_millis(chance.below(40)), |service| service.kill().unwrap());
        assert_eq!(written.faults(), Vec::<String>::new(), "kill {kill}");
        if kill % 50 == 0 || kill == kills {
            assert_eq!(written.fsck(), Vec::<String>::new(), "kill {kill}");
        }
    }
    assert!(written.answered.len() > kills, "{} answers", written.answered.len());
}

#[test]
fn what_was_answered_outlives_a_hundred_kills() {
    kill_at_moments(100);
}

#[test]
#[ignore = "takes half an hour"]
fn what_was_answered_outlives_ten_thousand_kills() {
    kill_at_moments(10_000);
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
