//! The tools of an initializer session: features, their checks, the init script.
//!
//! Everything is written by longhaul in the agent's name, and stays a draft until the session has ended.

use std::path::Path;

use serde_json::Value;
use serde_json::json;

use crate::checklist::Checklist;
use crate::gate::Check;
use crate::memory::Author;
use crate::memory::Change;
use crate::memory::Origin;
use crate::memory::Store;
use crate::message::ToolResult;
use crate::tools::CHECKLIST;
use crate::tools::edit;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;
use crate::tools::read_checklist;

/// Features one call may add: few enough that a mistake costs little.
pub const FEATURES_A_CALL: usize = 25;

const INIT: &str = "init.md";
const APPROVED_BY: &str = "initializer";
/// What the initializer says of a feature; the rest is longhaul's to write.
const FEATURE_FIELDS: [&str; 9] =
    ["id", "title", "description", "category", "steps", "priority", "required", "depends_on", "check"];
/// Fields of a check that say who approved it and what its files were then.
const NOT_GIVEN: [&str; 2] = ["approved_by", "pins"];

/// Words the reference to the init script: path, what it starts, how to know that it is up.
pub type InitText = fn(&str, &str, &str) -> anyhow::Result<String>;

/// Adds features as drafts, all of them or none.
pub(super) fn add_features(store: &mut Store, origin: &Origin, input: &Value) -> Result<ToolResult, ToolError> {
    let features = Input::new(input, &["features"])?.list("features")?;
    if features.is_empty() || features.len() > FEATURES_A_CALL {
        let count = features.len();
        return Err(tell(format!(
            "`features` holds {count}: give 1 to {FEATURES_A_CALL}, and the rest in further calls"
        )));
    }
    let drafts =
        features.iter().enumerate().map(|(at, feature)| draft(at, feature)).collect::<Result<Vec<Value>, _>>()?;
    let mut checklist = read_checklist(store)?;
    let added = checklist
        .add(&Value::Array(drafts), APPROVED_BY)
        .map_err(|problem| tell(format!("nothing was added: {problem}")))?;
    let count = added.len();
    let word = if count == 1 { "feature" } else { "features" };
    save(store, origin, &checklist, &format!("checklist: add {count} {word} (draft)"))?;
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
    let origin = Origin { author: Author::Longhaul, ..origin.clone() };
    let change = Change { path, bytes: Some(with_last_newline(text).into_bytes()) };
    store.write(&format!("checklist: {verb} check file {name}"), &[change], &origin)?;
    Ok(ToolResult::text(format!("kept; as a feature's check, use exactly this text:\nsh \"$LONGHAUL_CHECKS/{name}\"")))
}

/// Gives a check to a feature that has none, or to a draft.
pub(super) fn set_check(store: &mut Store, origin: &Origin, input: &Value) -> Result<ToolResult, ToolError> {
    let input = Input::new(input, &["id", "check"])?;
    let id = input.words("id")?;
    let given = input
        .given("check")
        .ok_or_else(|| tell("`check` is missing: give the text of a command, or an object with `run`"))?;
    let check = read_check(given, "`check`")?;
    let mut checklist = read_checklist(store)?;
    let feature =
        checklist.get(id).ok_or_else(|| tell(format!("`id` is `{id}`: no feature has it; `checklist` shows them")))?;
    if feature.check.is_some() && !feature.draft {
        return Err(tell(format!("`{id}` has a check, and it is frozen: only a person can change it")));
    }
    checklist.set_check(id, &check, APPROVED_BY).map_err(|problem| tell(format!("nothing was changed: {problem}")))?;
    save(store, origin, &checklist, &format!("checklist: set the check of {id} (draft)"))?;
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
    let text = worded(&path, input.words("starts")?, input.words("ready")?)?;
    let origin = Origin { author: Author::Longhaul, ..origin.clone() };
    let change = Change { path: INIT.to_owned(), bytes: Some(text.into_bytes()) };
    store.write(&format!("init: script {path}"), &[change], &origin)?;
    Ok((ToolResult::text(format!("`{path}` is the init script; try it with `setup`")), path))
}

/// Says what an initializer still has to leave behind.
pub fn missing(checklist: &Checklist, root: &Path, script: Option<&str>) -> Vec<String> {
    let mut missing = Vec::new();
    let features = checklist.features();
    if !features.iter().any(|feature| feature.check.is_some()) {
        missing.push("no feature has a check yet".to_owned());
    }
    let without = features.iter().filter(|feature| feature.required && feature.check.is_none());
    let without: Vec<&str> = without.map(|feature| feature.id.as_str()).collect();
    if !without.is_empty() && without.len() < features.len() {
        missing.push(format!("required features without a check: {}", without.join(", ")));
    }
    match script {
        None => missing.push("no init script is named; write one and call `set_init`".to_owned()),
        Some(path) if !root.join(path).is_file() => missing.push(format!("the init script `{path}` does not exist")),
        Some(_) => {}
    }
    missing
}

fn draft(at: usize, feature: &Value) -> Result<Value, ToolError> {
    let of = |text: String| tell(format!("nothing was added: feature {} of the call: {text}", at + 1));
    let fields = feature.as_object().ok_or_else(|| of("it is no object".to_owned()))?;
    if let Some(unknown) = fields.keys().find(|key| !FEATURE_FIELDS.contains(&key.as_str())) {
        return Err(of(format!("`{unknown}` is not for you to set; known are {}", FEATURE_FIELDS.join(", "))));
    }
    let mut draft = fields.clone();
    if let Some(check) = fields.get("check").filter(|check| !check.is_null()) {
        read_check(check, &format!("nothing was added: feature {} of the call: `check`", at + 1))?;
    }
    draft.insert("draft".to_owned(), json!(true));
    Ok(Value::Object(draft))
}

/// Refuses a check that cannot be run, and one that says of itself who approved it.
fn read_check(value: &Value, place: &str) -> Result<Check, ToolError> {
    let told = |field: Option<&str>, reason: &str| match field {
        Some(field) => tell(format!("{place}, field `{field}`: {reason}")),
        None => tell(format!("{place}: {reason}")),
    };
    if let Some(field) = NOT_GIVEN.into_iter().find(|field| value.get(field).is_some()) {
        return Err(told(Some(field), "longhaul writes it; leave it out"));
    }
    if let Some(problem) = Check::unknown_key(value) {
        return Err(told(problem.field.as_deref(), &problem.reason));
    }
    Check::read(value).map_err(|problem| told(problem.field.as_deref(), &problem.reason))
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

fn save(store: &mut Store, origin: &Origin, checklist: &Checklist, subject: &str) -> Result<(), ToolError> {
    let origin = Origin { author: Author::Longhaul, ..origin.clone() };
    let change = Change { path: CHECKLIST.to_owned(), bytes: Some(checklist.render().into_bytes()) };
    store.write(subject, &[change], &origin)?;
    Ok(())
}

fn with_last_newline(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
