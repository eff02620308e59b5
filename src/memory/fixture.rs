//! A memory for tests: a real repository and view in a folder of its own, with a fixed clock.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use jiff::Timestamp;
use serde_json::Value;
use serde_json::json;

use crate::clock::Clock;
use crate::memory::Place;
use crate::memory::change::Change;
use crate::memory::history::Filter;
use crate::memory::history::trailers::Author;
use crate::memory::history::trailers::Origin;
use crate::memory::rules::caps::Caps;
use crate::memory::rules::guard::Policy;
use crate::memory::store::Store;
use crate::memory::view::adoption::Findings;
use crate::message::ToolResult;

pub(super) struct Memory {
    folder: tempfile::TempDir,
    pub(super) place: Place,
    pub(super) store: Store,
}

impl Memory {
    /// Makes a project's memory with these files.
    pub(super) fn project(files: &[(&str, &str)]) -> Self {
        Self::new(Policy::Project, Caps::default(), files)
    }

    /// Makes a memory without rules with these files.
    pub(super) fn free(files: &[(&str, &str)]) -> Self {
        Self::new(Policy::Free, Caps::default(), files)
    }

    pub(super) fn new(policy: Policy, caps: Caps, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir(&root).unwrap();
        let place = Place::in_project(&root, &folder.path().join("git"));
        let store = Store::create(&place, policy, caps, clock()).unwrap();
        let mut memory = Self { folder, place, store };
        for (path, text) in files {
            memory.write(path, text);
        }
        memory
    }

    /// Opens the same memory once more, as another process would.
    pub(super) fn open_again(&self) -> Store {
        Store::open(&self.place, self.store.policy, self.store.caps, clock()).unwrap()
    }

    /// Writes a file as longhaul does.
    pub(super) fn write(&mut self, path: &str, text: &str) -> String {
        let subject = format!("memory: seed {path}");
        self.store.write(&subject, &[Change::put(path, text)], &Origin::of(Author::Longhaul)).unwrap()
    }

    /// Runs a call as the agent.
    pub(super) fn run(&mut self, input: &Value) -> ToolResult {
        self.store.run(input, &Origin::of(Author::Agent)).unwrap()
    }

    /// Lets the agent create a file.
    pub(super) fn create(&mut self, path: &str, text: &str) -> ToolResult {
        self.run(&json!({"command": "create", "path": format!("/memories/{path}"), "file_text": text}))
    }

    pub(super) fn inspect(&mut self) -> Findings {
        let keep_in = self.kept();
        self.store.inspect(&Origin::of(Author::Longhaul), &keep_in).unwrap()
    }

    /// Returns the folder in which found things are kept.
    pub(super) fn kept(&self) -> PathBuf {
        self.folder.path().join("kept")
    }

    /// Returns a path outside of the project.
    pub(super) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a file's path in the view.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.place.view.join(path)
    }

    /// Changes a file in the view, as an editor would.
    pub(super) fn edit(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    /// Returns a file's text in the view.
    pub(super) fn shown(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    /// Returns a file's text in the newest commit.
    pub(super) fn committed(&self, path: &str) -> Option<String> {
        self.store.read(path).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// Returns the subjects of all commits, newest first.
    pub(super) fn subjects(&self) -> Vec<String> {
        self.store.history(&Filter::default()).unwrap().into_iter().map(|entry| entry.subject).collect()
    }

    /// Runs the git program on the repository.
    pub(super) fn git(&self, args: &[&str]) -> String {
        git(&self.place.repository, args)
    }
}

/// Runs the git program on a repository, away from the machine's settings.
pub(super) fn git(repository: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {errors}");
    format!("{}{errors}", String::from_utf8_lossy(&output.stdout))
}

pub(super) fn clock() -> Clock {
    Clock::fixed(Timestamp::from_second(1_800_000_000).unwrap())
}
