//! The tools of an initializer session: features, their checks, the init script.
//!
//! Everything is written by longhaul in the agent's name, and stays a draft until the session has ended.

use std::path::Path;

use serde_json::Value;

use crate::checklist::Checklist;
use crate::memory::Author;
use crate::memory::CHECKLIST;
use crate::memory::Change;
use crate::memory::INIT;
use crate::memory::Origin;
use crate::memory::Store;
use crate::message::ToolResult;
use crate::tools::edit;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;
use crate::tools::read_checklist;

/// Features one call may add: few enough that a mistake costs little.
pub const FEATURES_A_CALL: usize = 25;

const APPROVED_BY: &str = "initializer";
/// What the initializer says of a feature; the rest is longhaul's to write.
const FEATURE_FIELDS: [&str; 10] =
    ["id", "title", "description", "category", "steps", "priority", "required", "depends_on", "milestone", "check"];
/// Fields of a check that say who approved it and what its files were then.
const NOT_GIVEN: [&str; 2] = ["approved_by", "pins"];

/// Words the reference to the init script: path, what it starts, how to know that it is up. Without a path it says that
/// the project needs none.
pub type InitText = fn(Option<&str>, &str, &str) -> anyhow::Result<String>;

/// Adds features as drafts, all of them or none.
pub(super) fn add_features(store: &mut Store, origin: &Origin, input: &Value) -> Result<ToolResult, ToolError> {
    let features = Input::new(input, &["features"])?.list("features")?;
    if features.is_empty() || features.len() > FEATURES_A_CALL {
        let count = features.len();
        return Err(tell(format!(
            "`features` holds {count}: give 1 to {FEATURES_A_CALL}, and the rest in further calls"
        )));
    }
    features.iter().enumerate().try_for_each(|(at, feature)| refuse_what_is_not_given(at, feature))?;
    let mut checklist = read_checklist(store)?;
    let added = checklist
        .add_drafts(&Value::Array(features.clone()), APPROVED_BY)
        .map_err(|error| tell(format!("nothing was added: {error:#}")))?;
    let count = added.len();
    let word = if count == 1 { "feature" } else { "features" };
    let subject = format!("checklist: add {count} {word} (draft)");
    let origin = &Origin { also: added.clone(), ..origin.clone() };
    write(store, origin, &subject, Change::put(CHECKLIST, checklist.render()))?;
    let total = checklist.features().len();
    Ok(ToolResult::text(format!("added {}; the list has {total} now", added.join(", "))))
}

/// Keeps a check's script where later sessions cannot change it.
pub(super) fn add_check_file(store: &mut Store, origin: &Origin, input: &Value) -> Result<ToolResult, ToolError> {
    let input = Input::new(input, &["name", "text"])?;
    let name = file_name(input.words("name")?)?;
    let text = input.text("text")?;
    if text.trim().is_empty() || text.contains('\0') {
        return Err(tell("`text` is empty or holds a NUL character: give the script"));
    }
    let path = format!("checks/{name}");
    let there = store.read(&path)?.is_some();
    if there && let Some(id) = frozen(&read_checklist(store)?) {
        return Err(tell(format!(
            "`{name}` is there, and the check of `{id}` is frozen and may use it: choose another name"
        )));
    }
    let verb = if there { "change" } else { "add" };
    let subject = format!("checklist: {verb} check file {name}");
    write(store, origin, &subject, Change::put(path, with_last_newline(text)))?;
    Ok(ToolResult::text(format!("kept; as a feature's check, use exactly this text:\nsh \"$LONGHAUL_CHECKS/{name}\"")))
}

/// Gives a check to a feature that has none, or to a draft.
pub(super) fn set_check(store: &mut Store, origin: &Origin, input: &Value) -> Result<ToolResult, ToolError> {
    let input = Input::new(input, &["id", "check"])?;
    let id = input.words("id")?;
    let given = input
        .given("check")
        .ok_or_else(|| tell("`check` is missing: give the text of a command, or an object with `run`"))?;
    refuse_approval(given).map_err(tell)?;
    let mut checklist = read_checklist(store)?;
    let feature =
        checklist.get(id).ok_or_else(|| tell(format!("`id` is `{id}`: no feature has it; `checklist` shows them")))?;
    if feature.check.is_some() && !feature.draft {
        return Err(tell(format!("`{id}` has a check, and it is frozen: only a person can change it")));
    }
    checklist.set_check(id, given, APPROVED_BY).map_err(|error| tell(format!("nothing was changed: {error:#}")))?;
    let subject = format!("checklist: set the check of {id} (draft)");
    let origin = &Origin { also: vec![id.to_owned()], ..origin.clone() };
    write(store, origin, &subject, Change::put(CHECKLIST, checklist.render()))?;
    Ok(ToolResult::text(format!("`{id}` has its check")))
}

/// Names the init script in memory and returns its path inside the project.
pub(super) fn set_init(
    store: &mut Store,
    origin: &Origin,
    root: &Path,
    worded: InitText,
    input: &Value,
) -> Result<(ToolResult, String), ToolError> {
    let input = Input::new(input, &["path", "starts", "ready"])?;
    let path = edit::script(root, input.words("path")?)?;
    let text = worded(Some(&path), input.words("starts")?, input.words("ready")?)?;
    write(store, origin, &format!("init: script {path}"), Change::put(INIT, text))?;
    Ok((ToolResult::text(format!("`{path}` is the init script; try it with `setup`")), path))
}

/// Keeps that the project needs no init script: the initializer was told that one is missing and left it so.
pub(super) fn settle_without_init(store: &mut Store, origin: &Origin, worded: InitText) -> anyhow::Result<()> {
    write(store, origin, "init: no script needed", Change::put(INIT, worded(None, "", "")?))
}

/// Says what an initializer still has to leave behind; `settled` tells that there is to be no init script.
pub fn missing(checklist: &Checklist, root: &Path, script: Option<&str>, settled: bool) -> Vec<String> {
    let mut missing = Vec::new();
    let features = checklist.features();
    if !features.iter().any(|feature| feature.check.is_some()) {
        missing.push("no feature has a check yet".to_owned());
    }
    let needed = checklist.needed();
    let without = features.iter().filter(|feature| needed.contains(feature.id.as_str()) && feature.check.is_none());
    let without: Vec<&str> = without.map(|feature| feature.id.as_str()).collect();
    if !without.is_empty() && without.len() < features.len() {
        missing.push(format!("required features without a check: {}", without.join(", ")));
    }
    match script {
        None if settled => {}
        None => missing.push("no init script is named; write one and call `set_init`".to_owned()),
        Some(path) if !root.join(path).is_file() => missing.push(format!("the init script `{path}` does not exist")),
        Some(_) => {}
    }
    missing
}

/// Refuses what a feature cannot say of itself; the checklist looks at the rest.
fn refuse_what_is_not_given(at: usize, feature: &Value) -> Result<(), ToolError> {
    let told = |text: String| tell(format!("nothing was added: feature {} of the call: {text}", at + 1));
    let fields = feature.as_object().ok_or_else(|| told("it is no object".to_owned()))?;
    if let Some(unknown) = fields.keys().find(|key| !FEATURE_FIELDS.contains(&key.as_str())) {
        return Err(told(format!("`{unknown}` is not for you to set; known are {}", FEATURE_FIELDS.join(", "))));
    }
    fields.get("check").map_or(Ok(()), |check| refuse_approval(check).map_err(told))
}

/// Refuses a check that says of itself who approved it.
fn refuse_approval(check: &Value) -> Result<(), String> {
    match NOT_GIVEN.into_iter().find(|field| check.get(field).is_some()) {
        Some(field) => Err(format!("longhaul writes `{field}` of a check; leave it out")),
        None => Ok(()),
    }
}

fn file_name(name: &str) -> Result<&str, ToolError> {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if !plain || name.starts_with(['.', '-']) || name.len() > 100 || name == "pinned" {
        return Err(tell(format!("`name` is `{name}`: use letters, digits, `.`, `_` and `-`, such as `login.sh`")));
    }
    Ok(name)
}

/// Returns a feature whose check was approved before this session.
fn frozen(checklist: &Checklist) -> Option<String> {
    checklist
        .features()
        .iter()
        .find(|feature| !feature.draft && feature.check.is_some())
        .map(|feature| feature.id.clone())
}

/// Writes what no agent may write itself: longhaul does, in the session of `origin`.
fn write(store: &mut Store, origin: &Origin, subject: &str, change: Change) -> anyhow::Result<()> {
    let origin = Origin { author: Author::Longhaul, ..origin.clone() };
    store.write(subject, &[change], &origin).map(drop)
}

fn with_last_newline(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tools::bench::Bench;
    use crate::tools::bench::call;

    use super::*;
    use crate::tools::Tools;

    fn features(ids: &[&str]) -> Value {
        let feature = |id: &&str| json!({"id": id, "title": format!("It can {id}"), "check": format!("test -f {id}")});
        json!({"features": ids.iter().map(feature).collect::<Vec<Value>>()})
    }

    fn ids(bench: &Bench) -> Vec<String> {
        let checklist = Checklist::parse(&bench.memory("features.json").unwrap()).unwrap();
        checklist.features().iter().map(|feature| feature.id.clone()).collect()
    }

    #[test]
    fn features_are_added_as_drafts_by_longhaul() {
        let mut bench = Bench::new();
        let result = bench.call("add_features", features(&["login", "logout"]));
        assert_eq!(result, ToolResult::text("added login, logout; the list has 2 now"));
        assert_eq!(bench.log(1), ["longhaul: checklist: add 2 features (draft)"]);
        let checklist = Checklist::parse(&bench.memory("features.json").unwrap()).unwrap();
        let login = checklist.get("login").unwrap();
        assert!(login.draft && !login.passes);
        assert_eq!(login.check.as_ref().unwrap().approved_by, "initializer");
        let listed = bench.call("checklist", json!({"action": "list"})).as_text();
        assert_eq!(listed, "2 features, page 1 of 1\nlogin · open · It can login\nlogout · open · It can logout");
    }

    #[test]
    fn one_wrong_feature_leaves_the_list_as_it_was() {
        let mut bench = Bench::new();
        bench.call("add_features", features(&["login"]));
        for (wrong, told) in [
            (
                json!({"id": "b", "title": "B", "check": "true", "passes": true}),
                "feature 2 of the call: `passes` is not for you to set",
            ),
            (
                json!({"id": "b", "title": "B", "check": {"run": "true", "pins": {}}}),
                "longhaul writes `pins` of a check",
            ),
            (
                json!({"id": "b", "title": "B", "check": {"run": "true", "timeout": 5}}),
                "`check.timeout`: expected a time",
            ),
            (json!({"id": "b", "check": "true"}), "needs a `title`"),
            (json!({"id": "login", "title": "B", "check": "true"}), "the id `login` is taken"),
            (json!({"id": "b", "title": "B", "check": "true", "depends_on": ["absent"]}), "absent"),
            (json!("b"), "feature 2 of the call: it is no object"),
        ] {
            let mut call = features(&["a"]);
            call["features"].as_array_mut().unwrap().push(wrong);
            let refused = bench.refused("add_features", call);
            assert!(refused.starts_with("nothing was added: ") && refused.contains(told), "{refused}");
        }
        assert_eq!(ids(&bench), ["login"]);
    }

    #[test]
    fn a_call_adds_at_most_so_many() {
        let mut bench = Bench::new();
        let many: Vec<String> = (0..=FEATURES_A_CALL).map(|at| format!("f{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let told = bench.refused("add_features", features(&many));
        assert_eq!(told, "`features` holds 26: give 1 to 25, and the rest in further calls");
        assert!(bench.refused("add_features", features(&[])).starts_with("`features` holds 0"));
        assert!(!bench.call("add_features", features(&many[1..])).is_error);
    }

    #[test]
    fn a_check_file_answers_with_the_text_to_use() {
        let mut bench = Bench::new();
        let result = bench.call("add_check_file", json!({"name": "login.sh", "text": "test -f login"}));
        assert_eq!(result.as_text().lines().last().unwrap(), "sh \"$LONGHAUL_CHECKS/login.sh\"");
        assert_eq!(bench.memory("checks/login.sh").unwrap(), "test -f login\n");
        assert_eq!(bench.log(1), ["longhaul: checklist: add check file login.sh"]);
        for name in ["../x", "a/b", ".hidden", "pinned", "-n", "", "ä.sh"] {
            assert!(
                bench.refused("add_check_file", json!({"name": name, "text": "x"})).starts_with("`name` is "),
                "{name}"
            );
        }
    }

    #[test]
    fn a_check_file_of_a_frozen_feature_stays() {
        let mut bench = Bench::new();
        let file = |text: &str| json!({"name": "login.sh", "text": text});
        bench.call("add_check_file", file("false"));
        bench.call("add_features", features(&["login"]));
        assert!(!bench.call("add_check_file", file("exit 1")).is_error);
        bench.freeze();
        assert!(bench.refused("add_check_file", file("true")).contains("the check of `login` is frozen"));
        assert!(bench.refused("set_check", json!({"id": "login", "check": "true"})).contains("it is frozen"));
        assert_eq!(bench.memory("checks/login.sh").unwrap(), "exit 1\n");
    }

    #[test]
    fn a_feature_without_a_check_gets_one() {
        let mut bench = Bench::new();
        bench.call("add_features", json!({"features": [{"id": "login", "title": "It can log in"}]}));
        bench.freeze();
        assert!(bench.refused("set_check", json!({"id": "nobody", "check": "true"})).contains("no feature has it"));
        assert!(
            bench
                .refused("set_check", json!({"id": "login", "check": {"run": ""}}))
                .contains("a check needs a command")
        );
        assert!(
            !bench
                .call("set_check", json!({"id": "login", "check": {"run": "test -f login", "timeout": "5s"}}))
                .is_error
        );
        let checklist = Checklist::parse(&bench.memory("features.json").unwrap()).unwrap();
        assert_eq!(checklist.get("login").unwrap().check.as_ref().unwrap().run, "test -f login");
    }

    #[test]
    fn the_init_script_must_exist_and_can_be_tried() {
        let mut bench = Bench::new();
        let named = json!({"path": "./init.sh", "starts": "a server", "ready": "curl localhost"});
        assert!(bench.refused("set_init", named.clone()).contains("write the script first"));
        assert!(
            bench
                .refused("set_init", json!({"path": "/bin/sh", "starts": "x", "ready": "y"}))
                .contains("stays inside it")
        );
        bench.file("init.sh", "echo started\n");
        let mut tools = bench.toolbox();
        tools.call(&call("set_init", named), 1).unwrap();
        let tried = tools.call(&call("setup", json!({})), 2).unwrap();
        assert!(!tried.is_error && tried.as_text().contains("the init script `init.sh` ended well"), "{tried:?}");
        drop(tools);
        assert_eq!(bench.memory("init.md").unwrap(), "init.sh\na server\ncurl localhost\n");
        assert_eq!(bench.log(1), ["longhaul: init: script init.sh"]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let project = tempfile::tempdir().unwrap();
        let mut checklist = Checklist::empty();
        let missing = |checklist: &Checklist, script| missing(checklist, project.path(), script, false);
        assert_eq!(
            missing(&checklist, Some("init.sh")),
            ["no feature has a check yet", "the init script `init.sh` does not exist"]
        );
        checklist
            .add(&json!([{"id": "a", "title": "A", "check": "false"}, {"id": "b", "title": "B"}]), "test")
            .unwrap();
        std::fs::write(project.path().join("init.sh"), "").unwrap();
        assert_eq!(missing(&checklist, Some("init.sh")), ["required features without a check: b"]);
    }
}
