//! Copies of folders, with modes, times and links as they are; shared blocks where the file system can.

use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Interrupt;
use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// Longest time one copy may take.
const LIMIT: Duration = Duration::from_secs(600);

/// Copies what is in `from` into `to`, except the entries named in `without`.
pub(in crate::gate) fn copy(
    from: &Path,
    to: &Path,
    without: &[&str],
    environment: &BTreeMap<String, String>,
) -> Result<()> {
    let context = || format!("could not copy `{}`", from.display());
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(from).with_context(context)? {
        let name = entry.with_context(context)?.file_name();
        if !without.iter().any(|without| name == *without) {
            entries.push(from.join(name));
        }
    }
    copy_each(&entries, to, environment)
}

/// Copies files and folders into the folder `to`.
pub(in crate::gate) fn copy_each(entries: &[PathBuf], to: &Path, environment: &BTreeMap<String, String>) -> Result<()> {
    // A command line holds only so much.
    for some in entries.chunks(500) {
        let mut command = Command::new("cp", &["-a"], Path::new("/"), environment.clone());
        // Only GNU's knows it, and shares blocks where the file system can.
        command.args.extend(cfg!(target_os = "linux").then(|| "--reflink=auto".into()));
        command.args.extend(some.iter().chain([&to.to_owned()]).map(OsString::from));
        command.limit = LIMIT;
        let finished = process::run(&command, &Interrupt::new());
        if finished.exit != Exit::Code(0) {
            bail!("could not copy into `{}` ({}): {}", to.display(), finished.exit, finished.output.last_lines(3));
        }
    }
    Ok(())
}
