//! Which file of the project a path means, and which ones the editor leaves alone.

use std::fs;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// A path inside the project, links followed. Construction is the only check.
#[derive(Debug)]
pub(super) struct Target {
    /// Where the file really lies.
    pub(super) real: PathBuf,
    /// The path as the model gave it.
    pub(super) shown: String,
    /// The project's folder, links followed.
    pub(super) root: PathBuf,
}

/// Finds the file that `path` means, relative to the project at `root` or absolute inside it.
pub(super) fn resolve(root: &Path, path: &str) -> Result<Target, ToolError> {
    if path.is_empty() || path.contains('\0') {
        return Err(tell("`path` is empty or holds a NUL character: name a file of the project"));
    }
    if path == "/memories" || path.starts_with("/memories/") {
        return Err(tell(format!("`{path}` is in memory: use the `memory` tool for it")));
    }
    let root = root
        .canonicalize()
        .map_err(|error| tell(format!("the project's folder `{}` cannot be read: {error}", root.display())))?;
    let real = real_path(&root.join(path), path)?;
    let Ok(inside) = real.strip_prefix(&root) else {
        return Err(tell(format!("`{path}` is outside the project `{}`: this tool stays inside it", root.display())));
    };
    let names: Vec<String> =
        inside.components().map(|name| name.as_os_str().to_string_lossy().to_lowercase()).collect();
    if names.len() > 1 && names[0] == ".git" && names[1] == "longhaul" {
        return Err(tell(format!("`{path}` is longhaul's own: read it in `bash`, such as with `sed -n '1,80p'`")));
    }
    if names.iter().any(|name| name == ".git") {
        return Err(tell(format!("`{path}` is git's own: change it with git commands in `bash`")));
    }
    if names.first().is_some_and(|name| name == ".longhaul") {
        return Err(tell(format!("`{path}` is longhaul's view of memory: use the `memory` tool on `/memories`")));
    }
    Ok(Target { shown: path.to_owned(), real, root })
}

/// Follows the links of the part that exists; the rest, still to be made, may not lead upwards.
fn real_path(full: &Path, path: &str) -> Result<PathBuf, ToolError> {
    let mut existing = full;
    while fs::symlink_metadata(existing).is_err() {
        let Some(parent) = existing.parent() else { break };
        existing = parent;
    }
    let real = existing.canonicalize().map_err(|error| tell(format!("`{path}` cannot be followed: {error}")))?;
    let rest = full.strip_prefix(existing).unwrap_or(Path::new(""));
    if rest.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(tell(format!("`{path}` leads through a folder that does not exist: give the plain path")));
    }
    Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
}
