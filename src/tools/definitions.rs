//! What the service is told about each tool.

use serde_json::Value;
use serde_json::json;

use super::edit;
use super::initializer::FEATURES_A_CALL;

/// How the tools are declared that the service has types for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Declared {
    /// By their type: the model was trained with it, and the service adds its schema.
    #[default]
    Typed,
    /// With a schema of our own, for endpoints that do not know the types.
    Custom,
}

/// Returns the tools of both kinds of session.
pub(super) fn shared(declared: Declared) -> Vec<Value> {
    let known = match declared {
        Declared::Typed => vec![
            memory_tool(declared),
            json!({"type": "bash_20250124", "name": "bash"}),
            json!({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": edit::SHOWN}),
        ],
        Declared::Custom => vec![memory_tool(declared), bash(), editor()],
    };
    known.into_iter().chain(own()).collect()
}

/// Returns the memory tool alone.
pub(super) fn memory_tool(declared: Declared) -> Value {
    match declared {
        Declared::Typed => json!({"type": "memory_20250818", "name": "memory"}),
        Declared::Custom => memory(),
    }
}

fn memory() -> Value {
    tool(
        "memory",
        "Reads and writes the files under `/memories`, which survive this session. A path is absolute, such as \
         `/memories/notes/db.md`; `view` of a folder lists it.",
        &json!({
            "command": choice(&["view", "create", "str_replace", "insert", "delete", "rename"]),
            "path": text("For all but `rename`: the file or folder."),
            "view_range": lines(),
            "file_text": text("For `create`: the whole text of the new file."),
            "old_str": text("For `str_replace`: the text to replace; it must be there exactly once."),
            "new_str": text("For `str_replace`: the text in its place."),
            "insert_line": {"type": "integer", "description": "For `insert`: the line after which it goes; 0: at the top."},
            "insert_text": text("For `insert`: the text."),
            "old_path": text("For `rename`: the file or folder."),
            "new_path": text("For `rename`: its new path."),
        }),
        &["command"],
    )
}

fn bash() -> Value {
    tool(
        "bash",
        "Runs a command with bash in a fresh process and answers with its output. The working directory is kept.",
        &json!({
            "command": text("The command."),
            "restart": {"type": "boolean", "description": "True, without a command: ends what runs in the background."},
            "timeout": {"type": "number", "description": "Seconds it may take."},
        }),
        &[],
    )
}

fn editor() -> Value {
    tool(
        "str_replace_based_edit_tool",
        "Views and edits the text files of the project; `view` of a folder lists it, of an image shows it.",
        &json!({
            "command": choice(&["view", "create", "str_replace", "insert"]),
            "path": text("The file or folder, absolute or from the project's root."),
            "view_range": lines(),
            "file_text": text("For `create`: the whole text of the file."),
            "old_str": text("For `str_replace`: the text to replace; it must be there exactly once."),
            "new_str": text("For `str_replace`: the text in its place."),
            "insert_line": {"type": "integer", "description": "For `insert`: the line after which it goes; 0: at the top."},
            "insert_text": text("For `insert`: the text."),
        }),
        &["command", "path"],
    )
}

fn choice(values: &[&str]) -> Value {
    json!({"type": "string", "enum": values})
}

fn lines() -> Value {
    json!({
        "type": "array",
        "items": {"type": "integer"},
        "minItems": 2,
        "maxItems": 2,
        "description": "For `view` of a file: the first and the last line, from 1; -1 is the end.",
    })
}

/// Returns those of longhaul's own.
fn own() -> Vec<Value> {
    vec![
        tool(
            "checklist",
            "Shows the features of the project and their states. `list` gives a page of all, one line each; \
             `next` the open ones; `show` one feature.",
            &json!({
                "action": {"type": "string", "enum": ["list", "next", "show"]},
                "page": {"type": "integer", "description": "For `list`: which page, from 1."},
                "id": text("For `show`: the feature's id."),
            }),
            &["action"],
        ),
        tool(
            "setup",
            "Runs the project's init script again, for example to start servers that were ended. It has a time limit.",
            &json!({}),
            &[],
        ),
        tool(
            "hand_over",
            "Ends the session. longhaul then commits what is left and runs the check. Say in plain words what a \
             later session must know.",
            &json!({
                "done": text("What was done."),
                "remaining": text("What is not done."),
                "next": text("What should come next."),
                "check_problem": text("Only when the feature's check itself is wrong: why. A person then looks at it."),
            }),
            &["done"],
        ),
    ]
}

/// Returns what only a work session has.
pub(super) fn work() -> Vec<Value> {
    vec![tool(
        "check",
        "Runs this session's feature check on the files as they are now and shows what it found. It marks \
         nothing. What runs in the background is ended first.",
        &json!({}),
        &[],
    )]
}

/// Returns what only an initializer session has.
pub(super) fn initializer() -> Vec<Value> {
    vec![
        tool(
            "add_features",
            &format!(
                "Adds 1 to {FEATURES_A_CALL} features to the checklist, all of them or none. Call it as often \
                 as needed, in the order of work."
            ),
            &json!({"features": {"type": "array", "minItems": 1, "maxItems": FEATURES_A_CALL, "items": feature()}}),
            &["features"],
        ),
        tool(
            "add_check_file",
            "Keeps a check's script outside the project, where later sessions cannot change it. Answers with \
             the text to use as the feature's check.",
            &json!({"name": text("A file name such as `login.sh`."), "text": text("The script, for `sh`.")}),
            &["name", "text"],
        ),
        tool(
            "set_check",
            "Gives a check to a feature on the list that has none.",
            &json!({"id": text("The feature's id."), "check": check()}),
            &["id", "check"],
        ),
        tool(
            "set_init",
            "Names the init script. The script must exist in the project.",
            &json!({
                "path": text("Path inside the project, such as `init.sh`."),
                "starts": text("What it installs and starts."),
                "ready": text("How to know that it is up."),
            }),
            &["path", "starts", "ready"],
        ),
    ]
}

fn tool(name: &str, description: &str, properties: &Value, required: &[&str]) -> Value {
    let schema =
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    json!({"name": name, "description": description, "input_schema": schema})
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn feature() -> Value {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {
            "id": text("Lower-case words joined by `-`; made from the title when missing."),
            "title": text("The behaviour, in one sentence."),
            "description": text("What belongs to it and what does not."),
            "category": text("Such as `functional` or `style`."),
            "steps": strings,
            "priority": {"type": "number", "description": "Lower comes first; the order of the list when missing."},
            "required": {"type": "boolean", "description": "False when the project is complete without it. True \
             when missing."},
            "depends_on": strings,
            "milestone": {"type": "boolean", "description": "True for one whose check runs over all it depends on, \
             together; it comes when they are done."},
            "check": check(),
        },
        "required": ["title", "check"],
        "additionalProperties": false,
    })
}

fn check() -> Value {
    json!({
        "description": "The text of a command for `sh`, or an object with it and its limits.",
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {
                    "run": text("The command."),
                    "cwd": text("Folder inside the project; its root when missing."),
                    "timeout": text("Such as `30s` or `5m`."),
                    "setup": text("`init` to run the init script first, or another command."),
                    "ready": text("A command tried until it exits with 0, after the setup."),
                    "runs": {"type": "integer", "minimum": 1, "description": "How many times in a row it must pass."},
                    "closure": {"type": "array", "items": {"type": "string"}, "description": "Patterns of \
                     project files that decide with it, such as `tests/e2e/**`."},
                    "expect": text("Text the output must hold as well."),
                },
                "required": ["run"],
            },
        ],
    })
}
