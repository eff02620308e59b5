//! Real agents' runs, step by step, under `longhaul run` (`tests/corpus/trajectories/`).

mod mini_swe_agent;
mod swe_agent;

use crate::support::Project;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The file with the fault, which three of the agents repair.
const FAULTY: &str = "tests/missing_colon.py";

/// What else the recorded listings name; the texts are ours, the names are theirs.
const OTHER_FILES: [(&str, &str); 10] = [
    (".gitignore", "__pycache__/\n"),
    ("Dockerfile", "FROM scratch\n"),
    ("README.md", "# A repository for one recorded run\n"),
    ("build_and_push_docker.sh", "exit 0\n"),
    ("problem_statements/colon.md", "`tests/missing_colon.py` ends with a SyntaxError.\n"),
    ("pyproject.toml", "[project]\nname = \"played\"\nversion = \"0\"\n"),
    ("src/played.py", "ANSWER = 42\n"),
    ("tests/existing_lint_error.py", "import os\n"),
    ("tests/filetoread.txt", "some words\n"),
    ("tests/test_tribonaccy.py", "assert True\n"),
];

/// A step as it was recorded.
struct Step {
    tool: String,
    arguments: Value,
    thought: String,
    observation: String,
    /// The exit code, where it was kept.
    code: Option<i64>,
}

impl Step {
    /// Returns an argument that is a text; none is an empty one.
    fn text(&self, name: &str) -> &str {
        self.arguments[name].as_str().unwrap_or_default()
    }
}

fn recorded(name: &str) -> Vec<Step> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/corpus/trajectories/{name}.steps.json"));
    let recording: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().replace('\r', "");
    let step = |step: &Value| Step {
        tool: text(&step["tool"]),
        arguments: step["arguments"].clone(),
        thought: text(&step["thought"]),
        observation: text(&step["observation"]),
        code: step["returncode"].as_i64(),
    };
    recording["steps"].as_array().unwrap().iter().map(step).collect()
}

/// A repository like the one the agents saw; its faulty file is what they were shown of it.
fn with_missing_colon(shown: &str) -> Project {
    let project = Project::unborn();
    for (path, text) in OTHER_FILES {
        project.write(path, text);
    }
    project.write(FAULTY, &format!("{shown}\n"));
    fs::set_permissions(project.root().join(FAULTY), fs::Permissions::from_mode(0o755)).unwrap();
    project.git(["add", "-A"]);
    project.git(["commit", "--quiet", "-m", "first"]);
    project
}
