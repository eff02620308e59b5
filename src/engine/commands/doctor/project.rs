//! One project: its repository, its memory, the lock, the init script, the checks.

use super::Finding;
use super::Machine;
use super::checks;
use crate::engine::settings::Settings;
use crate::engine::workspace::Workspace;
use crate::engine::workspace::lock;
use crate::engine::workspace::lock::Held;
use crate::gate;
use crate::project::Project;
use crate::project::listed;
use crate::sandbox;
use crate::sandbox::Git;
use anyhow::Result;
use std::path::Path;

/// Where overrides of the prompts would lie.
const TEMPLATES: &str = ".longhaul/templates";

/// Looks at the repository, and at what memory holds when there is one.
pub fn project(
    project: &mut Project,
    ws: Option<&mut Workspace>,
    settings: &Settings,
    machine: &Machine<'_>,
) -> Result<Vec<Finding>> {
    project.require_comparable()?;
    project.limit_git(super::GIT_LIMIT);
    // What is inside the project can have settings that make git run programs.
    if let Some(held) = machine.held(&settings.sandbox) {
        project.hold_git(&held, Git::ReadOnly)?;
    }
    let project = &*project;
    let looks = [("project", branch(project)), ("tree", clean(project)), ("checkout", checkout(project, settings))];
    let scratch = gate::outside(&settings.gate.scratch, project.root()).err();
    let mut findings: Vec<Finding> =
        looks.into_iter().map(|(topic, found)| found.unwrap_or_else(|error| Finding::failed(topic, &error))).collect();
    findings.extend(scratch.map(|failure| Finding::failed("checkout", &failure.into())));
    findings.extend(templates(project.root()));
    if machine.confines() {
        findings.extend(sandbox::left_out(&settings.sandbox).iter().map(|folder| left_out(folder)));
    }
    let Some(ws) = ws else {
        let text = "this project has none yet";
        findings.push(Finding::warning("memory", text, "`longhaul init` makes it"));
        return Ok(findings);
    };
    findings.push(Finding::ok("memory", ws.memory.place().repository.display().to_string()));
    findings.push(run_lock(&ws.memory.place().state.join("run.lock")));
    findings.extend(checks::init_script(ws, machine)?);
    findings.extend(checks::checks(ws, machine)?);
    Ok(findings)
}

fn branch(project: &Project) -> Result<Finding> {
    let root = project.root().display();
    Ok(match project.head()? {
        None => Finding::ok("project", format!("{root}, no commit yet")),
        Some(head) => match head.branch {
            Some(branch) => Finding::ok("project", format!("{root}, branch {branch} at {}", &head.commit[..7])),
            None => Finding::warning(
                "project",
                format!("{root}, detached at {}; `run` needs a branch", &head.commit[..7]),
                "`git switch -c NAME` makes a branch here",
            ),
        },
    })
}

fn clean(project: &Project) -> Result<Finding> {
    let changes = project.changes()?;
    Ok(match (changes.tracked.as_slice(), changes.untracked.len()) {
        ([], 0) => Finding::ok("tree", "clean"),
        ([], untracked) => Finding::ok("tree", format!("clean, beside {untracked} untracked files, which stay out")),
        (tracked, _) => Finding::warning(
            "tree",
            format!("uncommitted changes: {}", listed(tracked)),
            "commit or stash them before `longhaul run`",
        ),
    })
}

fn left_out(folder: &Path) -> Finding {
    let folder = folder.display();
    let text = format!("`{folder}` is on your PATH, but others can write into it, so the sandbox does not show it");
    Finding::warning("tools", text, format!("`chmod o-w {folder}`, or add it to `sandbox.read`"))
}

/// Says where checks run, and why.
fn checkout(project: &Project, settings: &Settings) -> Result<Finding> {
    let gate::Site { place, why, .. } =
        gate::site(project, settings.gate.checkout, &settings.gate.prepare, None, None)?;
    Ok(Finding::ok("checkout", format!("{place}: {why}")))
}

/// Overrides would be ignored in silence.
fn templates(root: &Path) -> Option<Finding> {
    let any = root.join(TEMPLATES).read_dir().is_ok_and(|mut entries| entries.next().is_some());
    any.then(|| {
        let text = format!("`{TEMPLATES}` has files; this version does not read them");
        Finding::warning("templates", text, "remove them, or wait for a later version")
    })
}

fn run_lock(path: &Path) -> Finding {
    match lock::look(path) {
        Held::Free => Finding::ok("lock", "free: no longhaul works here now"),
        Held::By(holder) => {
            let holder = holder.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
            let text = format!("held by {holder}: a longhaul works here now");
            Finding::warning("lock", text, "wait for it to end, or interrupt it")
        }
        Held::Unknown(reason) => {
            let text = format!("`{}` cannot be looked at: {reason}", path.display());
            Finding::warning("lock", text, "check owner and permissions")
        }
    }
}
