//! A program of the user's that has the terminal while longhaul waits, such as an editor.

use super::Exit;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

/// Runs text for `sh`, with `file` as its argument, on the terminal that longhaul has, and waits for its end.
pub fn run_on_terminal(text: &str, file: &Path, folder: &Path, environment: &BTreeMap<String, String>) -> Exit {
    let with_file = format!("{text} \"$@\"");
    let arguments = [OsStr::new("-c"), OsStr::new(&with_file), OsStr::new(text), file.as_os_str()];
    let status = Command::new("sh").args(arguments).current_dir(folder).env_clear().envs(environment).status();
    match status {
        Err(error) => Exit::NotStarted(error.to_string()),
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        },
    }
}
