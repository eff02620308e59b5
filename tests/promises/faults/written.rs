//! A memory with some files, calls that change it, and what it must be like after some of them.

use super::strace;
use super::strace::Fault;
use super::strace::Point;
use super::strace::Which;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// The files of a memory and their texts.
pub(super) type Files = BTreeMap<String, String>;

/// A call of the memory tool.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Create(&'static str, String),
    Edit(&'static str, &'static str, &'static str),
    Delete(&'static str),
    Rename(&'static str, &'static str),
}

impl Call {
    fn line(&self) -> String {
        let at = |path: &str| format!("/memories/{path}");
        let input = match self {
            Self::Create(path, text) => json!({"command": "create", "path": at(path), "file_text": text}),
            Self::Edit(path, old, new) => {
                json!({"command": "str_replace", "path": at(path), "old_str": old, "new_str": new})
            }
            Self::Delete(path) => json!({"command": "delete", "path": at(path)}),
            Self::Rename(old, new) => json!({"command": "rename", "old_path": at(old), "new_path": at(new)}),
        };
        format!("{input}\n")
    }

    fn apply(&self, files: &mut Files) {
        match self {
            Self::Create(path, text) => drop(files.insert((*path).to_owned(), text.clone())),
            Self::Edit(path, old, new) => {
                let text = files[*path].replacen(old, new, 1);
                files.insert((*path).to_owned(), text);
            }
            Self::Delete(path) => drop(files.remove(*path)),
            Self::Rename(old, new) => {
                let text = files.remove(*old).unwrap();
                files.insert((*new).to_owned(), text);
            }
        }
    }
}

/// What a service told until it ended.
#[derive(Debug)]
pub(super) struct Told {
    /// Each answer's text, or the error in it.
    pub(super) answers: Vec<Result<String, String>>,
    pub(super) stderr: String,
    pub(super) was_killed: bool,
    pub(super) code: Option<i32>,
}

impl Told {
    /// Counts the writes that were acknowledged.
    pub(super) fn acknowledged(&self) -> usize {
        self.answers.iter().take_while(|answer| answer.is_ok()).count()
    }

    pub(super) fn refused(&self) -> Option<&str> {
        self.answers.iter().find_map(|answer| answer.as_ref().err()).map(String::as_str)
    }
}

/// A memory that is put back to its beginning before each fault.
pub(super) struct Written {
    folder: tempfile::TempDir,
    begun: Files,
}

impl Written {
    /// Makes a memory by these calls.
    pub(super) fn by(calls: &[Call]) -> Self {
        let mut written = Self { folder: tempfile::tempdir().unwrap(), begun: Files::new() };
        let told = written.play(calls, None);
        assert_eq!(told.acknowledged(), calls.len(), "{told:?}");
        written.begun = written.states(calls).pop().unwrap();
        written.keep();
        written
    }

    /// Lets `change` be done to the beginning.
    pub(super) fn changed(self, change: impl FnOnce(&Path)) -> Self {
        change(&self.store());
        self.keep();
        self
    }

    fn keep(&self) {
        let kept = self.folder.path().join("kept");
        fs::remove_dir_all(&kept).ok();
        copy(&self.store(), &kept);
    }

    pub(super) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Puts it back to its beginning.
    pub(super) fn begin(&self) {
        fs::remove_dir_all(self.store()).unwrap();
        copy(&self.folder.path().join("kept"), &self.store());
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
        command.args(["memory", name, "--store"]).arg(self.store()).env("HOME", self.folder.path());
        command
    }

    /// Has a service answer these calls, with a fault or without.
    pub(super) fn play(&self, calls: &[Call], fault: Option<&Fault>) -> Told {
        let command = self.command("apply");
        self.answer(calls, fault.map_or(command, |fault| strace::with(fault, &self.command("apply"))))
    }

    /// Returns the system calls that a service makes while it answers these calls.
    pub(super) fn points(&self, calls: &[Call], which: Which) -> Vec<Point> {
        let trace = self.play_traced(calls, "trace=%file,%desc");
        strace::points(&trace, &self.store(), which)
    }

    /// Has a service answer these calls, and writes down which system calls it makes.
    pub(super) fn play_traced(&self, calls: &[Call], rule: &str) -> PathBuf {
        let into = self.folder.path().join("trace");
        self.begin();
        let told = self.answer(calls, strace::traced(&self.command("apply"), &[rule], &into));
        assert_eq!(told.acknowledged(), calls.len(), "{told:?}");
        into
    }

    fn answer(&self, calls: &[Call], mut service: Command) -> Told {
        let lines = self.folder.path().join("lines");
        fs::write(&lines, calls.iter().map(Call::line).collect::<String>()).unwrap();
        let output = service.stdin(File::open(lines).unwrap()).output().unwrap();
        let answers = String::from_utf8_lossy(&output.stdout).lines().filter_map(read_answer).collect();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Told { answers, stderr, was_killed: output.status.signal() == Some(9), code: output.status.code() }
    }

    /// Returns what the memory holds after none of the calls, after one, after two.
    pub(super) fn states(&self, calls: &[Call]) -> Vec<Files> {
        let mut states = vec![self.begun.clone()];
        for call in calls {
            let mut next = states.last().unwrap().clone();
            call.apply(&mut next);
            states.push(next);
        }
        states
    }

    /// Says what is lost, wrong or left over when nothing is done about a fault but to write on. The memory must hold one of
    /// these states.
    pub(super) fn faults(&self, expected: &[Files]) -> Vec<String> {
        let next = Call::Create("next/after.md", "written on\n".to_owned());
        let told = self.play(std::slice::from_ref(&next), None);
        let mut faults = Vec::new();
        if told.acknowledged() != 1 || told.code != Some(0) {
            faults.push(format!("the next write is not done: {told:?}"));
        }
        let mut expected = expected.to_vec();
        expected.iter_mut().for_each(|files| next.apply(files));
        let (committed, shown) = (self.committed(), self.shown());
        if !expected.iter().any(|files| committed == ids(files)) {
            faults.push(format!("memory holds {:?} and not what was answered", committed.keys()));
        }
        if committed != ids(&shown) {
            faults.push(format!("the view shows {:?}, memory holds {:?}", shown.keys(), committed.keys()));
        }
        let found = self.git(&["fsck", "--strict", "--no-dangling"]);
        faults.extend((!found.is_empty()).then(|| format!("git fsck: {found}")));
        let own = self.command("fsck").output().unwrap();
        if !own.status.success() {
            faults.push(format!("longhaul memory fsck: {}", String::from_utf8_lossy(&own.stdout)));
        }
        let adopted = self.git(&["log", "--grep=^memory: adopt", "--format=%s %b"]);
        faults.extend((!adopted.is_empty()).then(|| format!("nobody edited the view: {adopted}")));
        faults.extend(self.strangers().into_iter().map(|name| format!("left over: {name}")));
        if !faults.is_empty() {
            faults.push(told.stderr);
        }
        faults
    }

    fn git(&self, args: &[&str]) -> String {
        let repository = self.store().join("memory.git");
        let output = Command::new("git").arg("--git-dir").arg(repository).args(args).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Returns the files of the newest commit and the ids of their bytes.
    fn committed(&self) -> BTreeMap<String, String> {
        let rows = self.git(&["ls-tree", "-r", "--format=%(objectname) %(path)", "main"]);
        let rows = rows.lines().filter_map(|row| row.split_once(' '));
        rows.map(|(id, path)| (path.to_owned(), id.to_owned())).collect()
    }

    fn shown(&self) -> Files {
        let view = self.store().join("memory");
        let read = |path: String| {
            let text = fs::read_to_string(view.join(&path)).unwrap();
            (path, text)
        };
        files_below(&view).into_iter().map(read).collect()
    }

    /// Returns the files beside the view that no memory has: halves, locks, what was set aside.
    pub(super) fn strangers(&self) -> Vec<String> {
        let own = [
            "HEAD",
            "config",
            "objects/main.spare",
            "longhaul-id",
            "refs/heads/main",
            "logs/refs/heads/main",
            "longhaul/journal",
            "longhaul/write.lock",
            "longhaul/view.json",
            "longhaul/events.jsonl",
        ];
        let is_own = |name: &str| match name.strip_prefix("memory.git/") {
            Some(name) => own.contains(&name) || is_object(name),
            None => name.starts_with("memory/"),
        };
        files_below(&self.store()).into_iter().filter(|name| !is_own(name)).collect()
    }
}

fn is_object(name: &str) -> bool {
    name.strip_prefix("objects/").is_some_and(|name| {
        name.len() == 41
            && name.as_bytes()[2] == b'/'
            && name.bytes().all(|byte| byte == b'/' || byte.is_ascii_hexdigit())
    })
}

fn ids(files: &Files) -> BTreeMap<String, String> {
    let id = |text: &String| git2::Oid::hash_object(git2::ObjectType::Blob, text.as_bytes()).unwrap().to_string();
    files.iter().map(|(path, text)| (path.clone(), id(text))).collect()
}

fn read_answer(line: &str) -> Option<Result<String, String>> {
    let answer: Value = serde_json::from_str(line).ok()?;
    let text = answer["content"].as_str()?.to_owned();
    Some(if answer["is_error"] == true { Err(text) } else { Ok(text) })
}

/// Lists all that lies below a folder, folders left out.
pub(super) fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        for entry in fs::read_dir(folder.join(&below)).into_iter().flatten().flatten() {
            let path = below.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => waiting.push(path),
                false => found.push(path.display().to_string()),
            }
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            true => copy(&from, &to),
            false => drop(fs::copy(from, to).unwrap()),
        }
    }
}
