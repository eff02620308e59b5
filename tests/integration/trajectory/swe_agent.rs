//! An agent with an editor of its own: what it calls is translated to the tools that longhaul has.
//!
//! Three things cannot be: its editor refuses an edit that breaks the syntax, ours makes it, and the next edit then
//! replaces what that one left; `submit` prints the work as a patch, here it is a commit and the session is handed over;
//! and its machine has a `python` in which the package under work is installed.

use super::FAULTY;
use super::Step;
use super::recorded;
use super::with_missing_colon;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::runs_here;
use crate::support::session;
use serde_json::Value;
use serde_json::json;

/// Its commands for a file have no name in them: the one that was opened last is meant.
#[derive(Default)]
struct Translator {
    open: String,
    /// The lines that were shown last, by number.
    shown: Vec<(usize, String)>,
    /// Our editor made an edit that theirs had refused.
    made: Option<String>,
}

impl Translator {
    fn call(&mut self, step: &Step) -> Value {
        let call = match step.tool.as_str() {
            "bash" => bash(&step.text("command").replace("python ", "PYTHONPATH=src python3 ")),
            "find_file" => finds(step.text("file_name"), step.text("dir")),
            "open" => {
                self.open = step.text("path").to_owned();
                let shown = window(&step.observation);
                edits(
                    json!({"command": "view", "path": self.open, "view_range": [shown[0].0, shown[shown.len() - 1].0]}),
                )
            }
            "create" => {
                self.open = step.text("filename").to_owned();
                edits(json!({"command": "create", "path": self.open, "file_text": "\n"}))
            }
            "insert" => {
                let text = format!("{}\n", step.text("text"));
                edits(json!({"command": "insert", "path": self.open, "insert_line": 1, "insert_text": text}))
            }
            "edit" => self.replace(step.text("search"), step),
            "swe-agent command" => self.of_command(step),
            "submit" => hand_over(),
            other => panic!("`{other}` is translated to nothing"),
        };
        match window(&step.observation) {
            none if none.is_empty() => {}
            shown => self.shown = shown,
        }
        call
    }

    /// Translates a line of its older command language.
    fn of_command(&mut self, step: &Step) -> Value {
        let line = step.text("command").trim_end();
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let as_tool = |tool: &str, arguments: Value| Step {
            tool: tool.to_owned(),
            arguments,
            thought: String::new(),
            observation: step.observation.clone(),
            code: None,
        };
        match name {
            "find_file" => self.call(&as_tool("find_file", json!({"file_name": rest.trim_matches('"')}))),
            "open" => self.call(&as_tool("open", json!({"path": rest}))),
            "submit" => hand_over(),
            "edit" => {
                let (lines, text) = rest.split_once('\n').unwrap();
                let (first, last) = lines.split_once(':').unwrap();
                let range = first.parse().unwrap()..=last.parse::<usize>().unwrap();
                let replaced = self.shown.iter().filter(|(number, _)| range.contains(number));
                let search = replaced.map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n");
                let replace = text.strip_suffix("\nend_of_edit").unwrap();
                self.call(&as_tool("edit", json!({"search": search, "replace": replace})))
            }
            _ => self.call(&as_tool("bash", json!({"command": line}))),
        }
    }

    fn replace(&mut self, search: &str, step: &Step) -> Value {
        let search = self.made.take().unwrap_or_else(|| search.to_owned());
        let replace = step.text("replace");
        self.made = step.observation.contains("have NOT been applied").then(|| replace.to_owned());
        edits(json!({"command": "str_replace", "path": self.open, "old_str": search, "new_str": replace}))
    }
}

fn edits(input: Value) -> Value {
    call("str_replace_based_edit_tool", input)
}

fn finds(name: &str, folder: &str) -> Value {
    bash(&format!("find ./{folder} -name {name} -not -path './.git/*'"))
}

/// Returns the numbered lines of the last window of a file in a text.
fn window(text: &str) -> Vec<(usize, String)> {
    let numbered = |line: &str| {
        let (number, line) = line.split_once(':')?;
        Some((number.parse::<usize>().ok()?, line.to_owned()))
    };
    let newest = text.rfind("[File: ").map_or("", |at| &text[at..]);
    newest.lines().filter_map(numbered).filter(|(number, line)| *number > 0 && !line.starts_with('/')).collect()
}

/// Returns what a command printed, without what its shell added.
fn printed(observation: &str) -> Vec<&str> {
    let own = ["(Open file: ", "(Current directory: ", "bash-$", "Your command ran successfully and did not produce"];
    observation.lines().filter(|line| !line.is_empty() && !own.iter().any(|own| line.starts_with(own))).collect()
}

/// Returns the lines that a patch takes out and puts in.
fn changed(patch: &str) -> Vec<&str> {
    let is_change = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    patch.lines().filter(is_change).collect()
}

/// Tells whether what the agent saw here tells it what it was told there.
fn compare(number: usize, step: &Step, call: &Value, seen: &str) {
    let what = format!("step {number}, {call}: {seen}");
    let input = &call["input"];
    match (call["name"].as_str().unwrap(), input["command"].as_str().unwrap_or_default()) {
        ("hand_over", _) => {}
        ("bash", find) if find.starts_with("find ") => {
            let path = printed(&step.observation)[1].split_once('/').unwrap().1.split_once('/').unwrap().1;
            assert_eq!(seen.lines().next(), Some(format!("./{path}").as_str()), "{what}");
        }
        // There in columns, here one a line.
        ("bash", "ls -F") => {
            let sorted = |text: &str| {
                let mut names: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                names.sort();
                names
            };
            assert_eq!(sorted(seen.rsplit_once("[exit").unwrap().0), sorted(&printed(&step.observation).join(" ")));
        }
        ("bash", _) => {
            let mut expected = printed(&step.observation);
            expected.push("[exit code 0]");
            assert_eq!(seen.lines().collect::<Vec<_>>(), expected, "{what}");
        }
        (_, "view") => {
            let lines = window(&step.observation);
            let lines: Vec<String> = lines.iter().map(|(number, line)| format!("{number:>6}\t{line}")).collect();
            assert_eq!(seen.lines().collect::<Vec<_>>(), lines, "{what}");
        }
        (_, edit) => assert!(["create", "insert", "str_replace"].contains(&edit) && !seen.contains("rror"), "{what}"),
    }
}

/// Plays a recorded run in a project whose one feature is proven by this check; its work is the patch that was submitted.
fn plays(project: Project, name: &str, check: &Value) -> Project {
    let steps = recorded(name);
    let mut translator = Translator::default();
    let calls: Vec<Value> = steps.iter().map(|step| translator.call(step)).collect();
    let replies = steps.iter().zip(&calls).map(|(step, call)| json!({ "text": step.thought, "tools": [call] }));
    let project = project.model([session(replies)]);
    project.run(["init"]).exits(0);
    let feature = json!({"id": "repaired", "title": "It is repaired", "check": check});
    project.run_with(["feature", "add", "-"], &feature.to_string()).exits(0);

    project.run(["run", "--set", "recall.extract=false"]).exits(0).shows("done: 1 feature proven");

    assert_eq!(project.played().rejected(), Vec::<String>::new());
    assert_eq!(project.played().requests().len(), steps.len(), "{name}: each step is one reply");
    for (number, (step, call)) in steps.iter().zip(&calls).enumerate().take(steps.len() - 1) {
        compare(number, step, call, &project.played().results_in(number + 2));
    }
    let ended = project.events(1).iter().filter(|event| event["type"] == "tool_ended").cloned().collect::<Vec<_>>();
    assert!(ended.iter().all(|event| event["is_error"] == false) && ended.len() == steps.len(), "{name}: {ended:?}");
    let patch = project.git(["show", "--format=", "HEAD"]);
    let submitted = changed(&steps[steps.len() - 1].observation);
    assert!(submitted.is_empty() || changed(&patch) == submitted, "{name}: {patch}");
    assert_eq!(project.status("repaired"), "proven");
    project
}

/// The faulty file, as an agent was shown it.
fn faulty(name: &str) -> String {
    let steps = recorded(name);
    let lines = steps.iter().map(|step| window(&step.observation)).find(|lines| !lines.is_empty()).unwrap();
    lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

#[test]
fn runs_in_two_command_languages_repair_the_missing_colon() {
    if !runs_here("python3") {
        return;
    }
    let check = json!({"run": "test \"$(python3 tests/missing_colon.py)\" = 8.2", "closure": [format!("!{FAULTY}")]});
    for name in ["swe-agent-function-calling-simple", "swe-agent-test-repo-i1"] {
        let project = plays(with_missing_colon(&faulty(name)), name, &check);
        let patch = project.git(["show", "--format=", "HEAD"]);
        let repaired = ["-def division(a: float, b: float) -> float", "+def division(a: float, b: float) -> float:"];
        assert_eq!(changed(&patch), repaired, "{name}");
    }
}

/// What comes before the lines of `fields.py` that the agent was shown: so little that they work.
const BEFORE: &str = r#"import datetime as dt
import typing


class Field:
    def serialize(self, attr, obj):
        return self._serialize(obj[attr], attr, obj)


class TimeDelta(Field):
    DAYS, SECONDS, MICROSECONDS, MILLISECONDS = "days", "seconds", "microseconds", "milliseconds"
    MINUTES, HOURS, WEEKS = "minutes", "hours", "weeks"

    def __init__(self, precision="seconds"):
        kwargs = {}
        units = (
            self.DAYS,
            self.SECONDS,
            self.MICROSECONDS,
            self.MILLISECONDS,
"#;

/// A package like the one the agent saw: the names of its files, and of the file under work the lines it was shown, where
/// they were.
fn package(name: &str) -> Project {
    let steps = recorded(name);
    let shown = steps.iter().find(|step| step.tool == "open").map(|step| window(&step.observation)).unwrap();
    let project = Project::unborn();
    let listing = steps.iter().find(|step| step.text("command") == "ls -F").unwrap();
    for entry in printed(&listing.observation).iter().flat_map(|line| line.split_whitespace()) {
        match entry.strip_suffix('/') {
            _ if entry == "reproduce.py" => {}
            Some(folder) => project.write(&format!("{folder}/.keep"), ""),
            None => project.write(entry, ""),
        }
    }
    let blank = "\n".repeat(shown[0].0 - 1 - BEFORE.lines().count());
    let lines: String = shown.iter().map(|(_, line)| format!("{line}\n")).collect();
    project.write("src/marshmallow/fields.py", &format!("{blank}{BEFORE}{lines}"));
    project.write(".gitignore", "__pycache__/\n");
    project.git(["add", "-A"]);
    project.git(["commit", "--quiet", "-m", "first"]);
    project
}

#[test]
fn a_run_whose_first_edit_breaks_the_syntax_repairs_a_rounding_in_marshmallow() {
    if !runs_here("python3") {
        return;
    }
    let program = "from marshmallow.fields import TimeDelta; from datetime import timedelta; \
                   print(TimeDelta(precision=\"milliseconds\").serialize(\"d\", {\"d\": timedelta(milliseconds=345)}))";
    let check = json!({"run": format!("test \"$(PYTHONPATH=src python3 -c '{program}')\" = 345")});
    let name = "swe-agent-marshmallow-1867";

    let project = plays(package(name), name, &check);

    assert!(!project.root().join("reproduce.py").exists());
    assert_eq!(project.git(["show", "--format=", "--name-only", "HEAD"]), "src/marshmallow/fields.py");
}
