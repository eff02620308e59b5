//! A program of the user's that has the terminal while longhaul waits, such as an editor.

use super::Exit;
use super::attend::exit_of;
use super::children;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Runs text for `sh`, with `file` as its argument, on the terminal that longhaul has, and waits for its end.
pub fn run_on_terminal(text: &str, file: &Path, folder: &Path, environment: &BTreeMap<String, String>) -> Exit {
    let with_file = format!("{text} \"$@\"");
    let arguments = [OsStr::new("-c"), OsStr::new(&with_file), OsStr::new(text), file.as_os_str()];
    let started = children::spawn(Command::new("sh").args(arguments).current_dir(folder).env_clear().envs(environment));
    let ended = started.and_then(|mut child| children::collect(&mut child));
    ended.map_or_else(|error| Exit::NotStarted(error.to_string()), exit_of)
}
