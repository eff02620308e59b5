//! A real agent's run, step by step, under `longhaul run` (`tests/corpus/trajectories/`).

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The file with the fault, which the agent repairs.
const FAULTY: &str = "tests/missing_colon.py";

/// What else the recorded listings name; the texts are ours, the names are theirs.
const OTHER_FILES: [(&str, &str); 9] = [
    (".gitignore", "__pycache__/\n"),
    ("Dockerfile", "FROM scratch\n"),
    ("README.md", "# A repository for one recorded run\n"),
    ("build_and_push_docker.sh", "exit 0\n"),
    ("problem_statements/colon.md", "`tests/missing_colon.py` ends with a SyntaxError.\n"),
    ("pyproject.toml", "[project]\nname = \"played\"\nversion = \"0\"\n"),
    ("src/played.py", "ANSWER = 42\n"),
    ("tests/existing_lint_error.py", "import os\n"),
    ("tests/filetoread.txt", "some words\n"),
];

/// A step as it was recorded.
struct Step {
    thought: String,
    command: String,
    observation: String,
    code: i64,
}

fn recorded() -> Vec<Step> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/trajectories/mini-swe-agent-test-repo.steps.json");
    let recording: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let step = |step: &Value| Step {
        thought: text(&step["thought"]),
        command: text(&step["arguments"]["command"]),
        observation: text(&step["observation"]),
        // The recorder ended with its last command, and kept no code of it.
        code: step.get("returncode").map_or(0, |code| code.as_i64().unwrap()),
    };
    recording["steps"].as_array().unwrap().iter().map(step).collect()
}

/// A repository like the one the agent saw; its faulty file is what the recorded `cat` shows of it.
fn repository(steps: &[Step]) -> Project {
    let shown = steps.iter().find(|step| step.command == format!("cat {FAULTY}")).unwrap();
    let project = Project::unborn();
    for (path, text) in OTHER_FILES {
        project.write(path, text);
    }
    project.write("tests/test_tribonaccy.py", "assert True\n");
    project.write(FAULTY, &format!("{}\n", shown.observation));
    fs::set_permissions(project.root().join(FAULTY), fs::Permissions::from_mode(0o755)).unwrap();
    project.git(["add", "-A"]);
    project.git(["commit", "--quiet", "-m", "first"]);
    project
}

/// The words of a text of which the machine decides nothing: of a listing the names, of a traceback the error.
fn certain(command: &str, text: &str) -> Vec<String> {
    // The recorder kept the end of some outputs without its line end.
    let mut lines = text.trim_end().lines().map(str::to_owned);
    match command {
        listing if listing.starts_with("ls -la") => {
            lines.skip(1).filter_map(|line| line.split_whitespace().last().map(str::to_owned)).collect()
        }
        _ if text.starts_with("Traceback") => lines.next_back().into_iter().collect(),
        _ => lines.collect(),
    }
}

#[test]
fn a_real_agents_run_plays_to_the_end_and_its_repair_is_proven() {
    if !runs_here("python3") {
        return;
    }
    let steps = recorded();
    let replies = steps.iter().map(|step| json!({ "text": step.thought, "tools": [bash(&step.command)] }));
    let project = repository(&steps).model([session(replies.chain([reply([hand_over()])]))]);
    project.run(["init"]).exits(0);
    // The file lies among the tests, but here it is the product: no pin.
    let feature = json!({
        "id": "division",
        "title": "The script divides and prints",
        "check": {
            "run": "test \"$(python3 tests/missing_colon.py)\" = 8.2",
            "closure": [format!("!{FAULTY}")],
        },
    });
    project.run_with(["feature", "add", "-"], &feature.to_string()).exits(0);

    project.run(["run"]).exits(0).shows("done: 1 feature proven");

    assert_eq!(project.played().rejected(), Vec::<String>::new());
    for (number, step) in steps.iter().enumerate() {
        let seen = project.played().results_in(number + 2);
        let (output, exit) = seen.rsplit_once("[exit code ").unwrap_or_else(|| panic!("no exit code in {seen}"));
        let mut output = certain(&step.command, output);
        // Our own folder in the listing; and the line by which that agent said that it was done, which its recorder took out.
        output.retain(|line| line != ".longhaul" && line != "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT");
        assert_eq!(output, certain(&step.command, &step.observation), "step {number}: {}", step.command);
        assert_eq!(exit, format!("{}]", step.code), "step {number}: {}", step.command);
    }

    // The agent only staged its work; longhaul committed it, and proved that commit.
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1)\nfirst");
    assert_eq!(project.git(["show", "--format=", "--name-only", "HEAD"]), FAULTY);
    assert_eq!(project.status("division"), "proven");
    assert_eq!(project.stored("division")["evidence"]["commit"], project.git(["rev-parse", "HEAD"]));
    assert_eq!(project.memory_log()[..2], ["progress: session 1", "gate: prove division"]);

    let events = project.events(1);
    let of_type = |name: &str| events.iter().filter(|event| event["type"] == name).collect::<Vec<_>>();
    let ran: Vec<&str> =
        of_type("tool_started").iter().filter_map(|event| event["input"]["command"].as_str()).collect();
    assert_eq!(ran, steps.iter().map(|step| step.command.as_str()).collect::<Vec<_>>());
    assert_eq!(of_type("tool_ended").len(), steps.len() + 1);
    let committed: Vec<&Value> = of_type("committed").iter().map(|event| &event["subject"]).collect();
    assert!(committed.contains(&&json!("wip(session 1)")), "{committed:?}");
}
