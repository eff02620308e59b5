//! A project as a folder of `projects/` describes it, with a memory, one feature, and an agent that plays a script.

use crate::support::Project;
use crate::support::Run;
use serde::Deserialize;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// The one feature of every play.
pub(crate) const FEATURE: &str = "works";

/// Where the agent's commands and the checks run.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    Plain,
    Bubblewrap,
}

/// The modes in which honest work is played.
pub(crate) const MODES: &[Mode] = &[Mode::Plain, Mode::Bubblewrap];

impl Mode {
    fn setting(self) -> &'static str {
        match self {
            Self::Plain => "sandbox.mode=off",
            Self::Bubblewrap => "sandbox.mode=bubblewrap",
        }
    }
}

/// A folder of `tests/promises/`.
pub(crate) fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/promises").join(path)
}

/// The project of one play.
pub(crate) struct Stage {
    pub(crate) project: Project,
    settings: Vec<String>,
}

impl Stage {
    /// Makes a project by the shell texts of `start.sh` in these folders, commits it and seeds its memory.
    pub(crate) fn of(starts: &[PathBuf], mode: Mode, settings: &[String]) -> Self {
        let project = Project::unborn();
        let near = |name: &str| project.root().with_file_name(name).display().to_string();
        let (scratch, bin) = (near("tmp"), format!("{}/.local/bin", near("home")));
        fs::create_dir_all(&scratch).expect("a folder");
        let own = Path::new(env!("CARGO_BIN_EXE_longhaul")).parent().expect("a folder").display().to_string();
        let path = format!("{bin}:{own}:{}", std::env::var("PATH").expect("a PATH"));
        let project = project.variable("TMPDIR", &scratch).variable("PATH", &path);
        link_tools(&project.home());
        let settings = [vec![mode.setting().to_owned()], settings.to_vec()].concat();
        let stage = Self { project, settings };
        for start in starts.iter().map(|folder| folder.join("start.sh")).filter(|start| start.exists()) {
            stage.shell(&read(&start));
        }
        stage.shell("git add -A && git commit -qm start");
        stage.project.run(["init"]).exits(0);
        stage
    }

    /// Runs a text in the project, as a person would.
    pub(crate) fn shell(&self, text: &str) {
        let mut command = Command::new("bash");
        command.args(["-euc", text]).current_dir(self.project.root()).env_clear().envs(self.project.environment());
        let output = command.output().expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}\n{said}");
    }

    /// Puts a check script into memory.
    pub(crate) fn lay_check(&self, name: &str, text: &str) {
        self.project.run_with(["memory", "create", &format!("checks/{name}"), "-"], text).exits(0);
    }

    /// Adds the feature with this check.
    pub(crate) fn add(&self, check: &Value) {
        let feature = json!([{ "id": FEATURE, "title": "The program does what it is for", "check": check }]);
        let sets = self.sets();
        let words = ["feature", "add", "-"].into_iter().map(str::to_owned).chain(sets);
        self.project.run_with(words, &feature.to_string()).exits(0);
    }

    /// Lets the scripted model play a script through one run.
    pub(crate) fn play(&self, script: &Path, sessions: usize) -> Run {
        let words = ["rehearse", &script.display().to_string(), "--", "run", "--sessions", &sessions.to_string()];
        self.project.run(words.into_iter().map(str::to_owned).chain(self.sets()))
    }

    /// Lets an agent run these texts in its shell, one session each, and hand over.
    pub(crate) fn work(&self, texts: &[&str]) -> Run {
        let script = self.project.root().with_file_name("script.toml");
        let sessions: Vec<String> = texts.iter().map(|text| session(text)).collect();
        fs::write(&script, sessions.join("\n")).expect("a file");
        self.play(&script, texts.len())
    }

    fn sets(&self) -> impl Iterator<Item = String> {
        self.settings.clone().into_iter().flat_map(|setting| ["--set".to_owned(), setting])
    }
}

/// Gives the person of a play what `cargo` needs of the home of who runs the tests.
fn link_tools(home: &Path) {
    let outer = std::env::var("HOME").map(PathBuf::from).unwrap_or_default();
    for tool in [".cargo", ".rustup"].iter().filter(|tool| outer.join(tool).is_dir()) {
        std::os::unix::fs::symlink(outer.join(tool), home.join(tool)).expect("a link");
    }
}

fn session(text: &str) -> String {
    let text = toml::Value::String(text.to_owned());
    format!(
        "[[session]]\n[[session.reply]]\ntools = [{{ name = \"bash\", input = {{ command = {text} }} }}]\n\
         [[session.reply]]\ntools = [{{ name = \"hand_over\", input = {{ done = \"it\", remaining = \"nothing\", next = \"nothing\" }} }}]\n"
    )
}

/// Reads a file of the tests.
pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("could not read {}: {error}", path.display()))
}
