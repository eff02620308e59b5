//! The `str_replace_based_edit_tool`: views and edits the project's text files.

mod change;
mod image;
mod inside;
mod path;
mod view;

use std::path::Path;

use serde_json::Value;

use crate::message::ToolResult;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

pub use change::TORN;
pub use inside::answer;
pub(super) use inside::call_in;

/// Characters of a view, as told to the service with the tool.
pub(super) const SHOWN: usize = 16_000;

/// Answers one call on the project at `root`.
fn call(root: &Path, input: &Value) -> Result<ToolResult, ToolError> {
    let known = ["command", "path", "view_range", "file_text", "old_str", "new_str", "insert_line", "insert_text"];
    let input = Input::new(input, &known)?;
    let command = input.text("command")?;
    let target = path::resolve(root, input.text("path")?)?;
    match command {
        "view" => view::view(&target, input.given("view_range")),
        "create" => change::create(&target, input.text("file_text")?),
        "str_replace" => {
            change::replace(&target, input.text("old_str")?, input.text_if_given("new_str")?.unwrap_or_default())
        }
        "insert" => {
            let line = input
                .whole_if_given("insert_line")?
                .ok_or_else(|| tell("`insert_line` is missing: give it as a whole number"))?;
            // Some descriptions of the tool call the field `new_str`.
            let text = match input.text_if_given("insert_text")? {
                Some(text) => text,
                None => input
                    .text_if_given("new_str")?
                    .ok_or_else(|| tell("`insert_text` is missing: give it as a text"))?,
            };
            change::insert(&target, line, text)
        }
        other => Err(tell(format!("unknown `command` `{other}`: it must be view, create, str_replace or insert"))),
    }
}

/// Returns the path inside the project of a script that must exist there.
pub(super) fn script(root: &Path, path: &str) -> Result<String, ToolError> {
    let target = path::resolve(root, path)?;
    if !target.real.is_file() {
        return Err(tell(format!("`{path}` does not exist in the project: write the script first")));
    }
    let inside = target.real.strip_prefix(&target.root).ok().and_then(Path::to_str);
    inside.map(str::to_owned).ok_or_else(|| tell(format!("`{path}` has a name that is not UTF-8: choose another one")))
}

#[cfg(test)]
mod tests;
