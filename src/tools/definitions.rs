//! What the service is told about each tool.

use serde_json::Value;
use serde_json::json;

use super::edit;
use super::initializer::FEATURES_A_CALL;

/// Returns the tools of both kinds of session.
pub(super) fn shared() -> Vec<Value> {
    vec![
        json!({"type": "memory_20250818", "name": "memory"}),
        json!({"type": "bash_20250124", "name": "bash"}),
        json!({"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": edit::SHOWN}),
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
