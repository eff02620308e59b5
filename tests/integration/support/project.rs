//! A user's project in a temporary folder, with a home of its own.

use super::Model;
use super::Run;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use tempfile::TempDir;

pub(crate) const KEY: &str = "canary-key-7f3a9c";

/// A git repository, a home folder and an environment that knows nothing of the machine.
pub(crate) struct Project {
    folder: TempDir,
    model: Option<Model>,
    variables: Vec<(String, String)>,
}

impl Project {
    /// Makes a repository without commits.
    pub(crate) fn unborn() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let project = Self { folder, model: None, variables: Vec::new() };
        for dir in [project.root(), project.home()] {
            fs::create_dir_all(dir).expect("a folder");
        }
        project.git(["init", "--quiet", "--initial-branch=main"]);
        project
    }

    /// Makes a repository with one commit.
    pub(crate) fn new() -> Self {
        let project = Self::unborn();
        project.write("README", "a project\n");
        project.git(["add", "-A"]);
        project.git(["commit", "--quiet", "-m", "first"]);
        project
    }

    /// Makes a repository with a seeded memory.
    pub(crate) fn ready() -> Self {
        let project = Self::new();
        project.run(["init"]).exits(0);
        project
    }

    /// Makes the same with a submodule at `lib`.
    pub(crate) fn with_submodule() -> Self {
        let project = Self::new();
        let library = project.home().join("library");
        let library = library.to_str().expect("a path that is text");
        project.git(["init", "-q", library]);
        project.git(["-C", library, "commit", "-q", "--allow-empty", "-m", "library"]);
        project.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib"]);
        project.git(["commit", "-qm", "submodule"]);
        project.run(["init"]).exits(0);
        project
    }

    /// Adds a feature whose check is this shell text.
    pub(crate) fn feature(self, id: &str, check: &str) -> Self {
        self.run(["feature", "add", "--id", id, "--title", id, "--check", check]).exits(0);
        self
    }

    /// Lets a scripted model answer from now on.
    pub(crate) fn model(self, sessions: impl IntoIterator<Item = Value>) -> Self {
        self.model_beside(sessions, [])
    }

    /// The same, with what it says beside the sessions.
    pub(crate) fn model_beside(
        mut self,
        sessions: impl IntoIterator<Item = Value>,
        side: impl IntoIterator<Item = Value>,
    ) -> Self {
        self.model = Some(Model::plays(sessions, side));
        self
    }

    /// Sets a variable for every later command.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Holds every later command by bubblewrap.
    pub(crate) fn sandboxed(self) -> Self {
        self.variable("LONGHAUL_SANDBOX_MODE", "bubblewrap")
    }

    /// Runs checks in the working tree, so that they find what lies beside the project.
    pub(crate) fn in_place(self) -> Self {
        self.variable("LONGHAUL_GATE_CHECKOUT", "in-place")
    }

    #[track_caller]
    pub(crate) fn played(&self) -> &Model {
        self.model.as_ref().expect("a model was started")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root().join(".git/longhaul")
    }

    pub(crate) fn view(&self) -> PathBuf {
        self.root().join(".longhaul/memory")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_else(|error| panic!("could not read {path}: {error}"))
    }

    /// Runs `longhaul` and waits for it.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.run_with(args, "")
    }

    /// Runs `longhaul` with this text on its standard input.
    pub(crate) fn run_with<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>, stdin: &str) -> Run {
        let mut command = self.command(args);
        let context = format!("{command:?}\nfiles: {:?}", names(&self.root()));
        command.stdin(Stdio::piped());
        let mut child = command.spawn().expect("longhaul starts");
        let mut input = child.stdin.take().expect("a pipe");
        let text = stdin.to_owned();
        let feeder = std::thread::spawn(move || std::io::Write::write_all(&mut input, text.as_bytes()).ok());
        let output = child.wait_with_output().expect("longhaul ends");
        feeder.join().expect("the feeder ends");
        Run::of(output, context)
    }

    /// Starts `longhaul` and leaves it running.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Child {
        self.command(args).stdin(Stdio::null()).spawn().expect("longhaul starts")
    }

    /// Prepares a run of `longhaul`, for what the others do not cover.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
        command.args(args).current_dir(self.root()).env_clear().envs(self.environment());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Everything a command in the project sees of the world.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut variables = vec![
            pair("PATH", &std::env::var("PATH").expect("a PATH")),
            pair("HOME", &self.home().display().to_string()),
            pair("GIT_CONFIG_NOSYSTEM", "1"),
            // What these tests look at from outside would be out of the commands' reach.
            pair("LONGHAUL_SANDBOX_MODE", "off"),
            pair("GIT_AUTHOR_NAME", "Ada"),
            pair("GIT_AUTHOR_EMAIL", "ada@example.org"),
            pair("GIT_COMMITTER_NAME", "Ada"),
            pair("GIT_COMMITTER_EMAIL", "ada@example.org"),
        ];
        if let Some(model) = &self.model {
            variables.push(pair("ANTHROPIC_BASE_URL", &model.base_url()));
            variables.push(pair("ANTHROPIC_API_KEY", KEY));
        }
        variables.extend(self.variables.iter().cloned());
        variables
    }

    /// Runs git in the project and returns what it printed, trimmed.
    #[track_caller]
    pub(crate) fn git<const N: usize>(&self, args: [&str; N]) -> String {
        self.run_git(&args)
    }

    /// Runs git on the memory repository.
    #[track_caller]
    pub(crate) fn memory_git<const N: usize>(&self, args: [&str; N]) -> String {
        let repository = format!("--git-dir={}", self.state().join("memory.git").display());
        self.run_git(&[&[repository.as_str()], &args[..]].concat())
    }

    #[track_caller]
    fn run_git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.root()).env_clear().envs(self.environment());
        let output = command.output().expect("git runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command:?}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Subjects of the memory's commits, newest first.
    pub(crate) fn memory_log(&self) -> Vec<String> {
        self.memory_git(["log", "--format=%s"]).lines().map(str::to_owned).collect()
    }

    /// The committed checklist.
    pub(crate) fn checklist(&self) -> Value {
        serde_json::from_str(&self.memory_git(["show", "HEAD:features.json"])).expect("the checklist is JSON")
    }

    /// One feature of the committed checklist.
    #[track_caller]
    pub(crate) fn stored(&self, id: &str) -> Value {
        let checklist = self.checklist();
        let features = checklist["features"].as_array().cloned().unwrap_or_default();
        features
            .into_iter()
            .find(|feature| feature["id"] == id)
            .unwrap_or_else(|| panic!("no feature {id} in {checklist}"))
    }

    /// The state that `status` shows for a feature.
    #[track_caller]
    pub(crate) fn status(&self, id: &str) -> String {
        let run = self.run(["status", "--json"]);
        run.exits(0);
        let report: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{}", run.whole()));
        let features = report["features"].as_array().cloned().unwrap_or_default();
        let feature = features.into_iter().find(|feature| feature["id"] == id);
        feature
            .map(|feature| feature["state"].as_str().unwrap_or_default().to_owned())
            .unwrap_or_else(|| panic!("no {id}\n{}", run.whole()))
    }

    /// The events of a session, in order.
    pub(crate) fn events(&self, session: u32) -> Vec<Value> {
        let path = self.state().join(format!("sessions/{session:04}/events.jsonl"));
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("could not read {}: {error}", path.display()));
        text.lines().map(|line| serde_json::from_str(line).expect("an event is JSON")).collect()
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
