//! The first run of the init script, which may install what the project needs: it has the network where the session's own
//! commands do not, in a sandbox that ends with it.

use crate::engine::workspace::Workspace;
use crate::project;
use crate::sandbox::Git;
use crate::tools;
use crate::tools::Artifacts;
use crate::tools::Limits;
use crate::tools::Phase;
use anyhow::Context;
use anyhow::Result;
use sha2::Digest;
use sha2::Sha256;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Of a larger file it is the size that counts.
const LARGE: u64 = 64 << 20;

/// Runs the script's install phase unless that was done for this script and these lock files. Returns what there is to
/// tell of a run that failed; it is tried again the next time.
pub fn install(ws: &Workspace, script: &str, limits: &Limits, artifacts: &Artifacts) -> Result<Option<String>> {
    let (known, now) = (record(ws), digest(ws, script));
    if fs::read_to_string(&known).is_ok_and(|done| done == now) {
        return Ok(None);
    }
    let sandbox = ws.sandbox(Git::Writable, ws.settings.sandbox.setup(), &[], &[])?;
    let (root, limits) = (ws.project.root(), (ws.settings.init_timeout, limits));
    let run = tools::run_init(&sandbox, root, script, Phase::Install, &ws.inner_environment(), limits);
    sandbox.end();
    if run.is_well() {
        // Not before it has ended well: one that was cut off has to run again.
        fs::write(&known, now).with_context(|| format!("could not write `{}`", known.display()))?;
        return Ok(None);
    }
    Ok(Some(format!("installing: {}", run.told(artifacts)?)))
}

fn record(ws: &Workspace) -> PathBuf {
    ws.memory.place().state.join("installed")
}

/// Returns what a change of would make installing necessary again.
fn digest(ws: &Workspace, script: &str) -> String {
    let root = ws.project.root();
    let mut hash = Sha256::new();
    let locks = project::lock_files(root);
    for name in std::iter::once(script).chain(locks.iter().map(|lock| lock.name)) {
        hash.update(name);
        hash.update([0]);
        hash.update(project::content_beneath(root, Path::new(name), LARGE).unwrap_or_default());
        hash.update([0]);
    }
    format!("{:x}", hash.finalize())
}
