//! The init script before the first turn: what it came to is told to the agent, noted in `init.md`, and told to the person where
//! something is wrong with it.

use crate::engine::session::install;
use crate::engine::workspace::Workspace;
use crate::memory::Change;
use crate::memory::INIT;
use crate::prompts;
use crate::sandbox::Sandbox;
use crate::tools;
use crate::tools::Artifacts;
use crate::tools::InitRun;
use crate::tools::Phase;
use anyhow::Result;

/// Runs the init script before the first turn and says how it went; its servers live as long as the session.
pub fn start(
    ws: &mut Workspace,
    sandbox: &Sandbox,
    script: &str,
    (number, limits, artifacts): (u32, &tools::Limits, &Artifacts),
) -> Result<String> {
    let installing = install::install(ws, script, limits, artifacts)?;
    let (environment, root) = (ws.inner_environment(), ws.project.root());
    let run = tools::run_init(sandbox, root, script, Phase::Start, &environment, (limits.init, limits));
    let told = run.told(artifacts)?;
    let noted = note_run(ws, number, &run)?;
    let failed = (!run.is_well()).then_some(&told);
    for failed in installing.iter().chain(failed) {
        ws.warn(in_few_lines(failed));
    }
    // Once, until it was otherwise.
    if let Some(odd) = run.odd().filter(|odd| run.is_well() && !noted.contains(odd.as_str())) {
        ws.warn(format!("the init script `{script}`: {odd}"));
    }
    Ok(installing.into_iter().chain([told]).collect::<Vec<_>>().join("\n"))
}

/// Leaves out the middle of a text that is long to read.
fn in_few_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines.as_slice() {
        [first, .., a, b, c, d] if lines.len() > 6 => [first, &"…", a, b, c, d].map(|line| *line).join("\n"),
        all => all.join("\n"),
    }
}

/// Notes in `init.md` how long the init script took and how it ended; returns what stood there before.
fn note_run(ws: &mut Workspace, number: u32, run: &InitRun) -> Result<String> {
    let (before, ended) = (ws.text(INIT)?, run.ended());
    let odd = run.odd().map_or_else(String::new, |odd| format!("; {odd}"));
    let text = prompts::with_last_run(&before, &format!("{ended}, session {number}{odd}"));
    let origin = ws.origin(Some(number), None);
    ws.memory.write(&format!("init: {ended}"), &[Change::put(INIT, text)], &origin)?;
    Ok(before)
}
