//! `longhaul init`

use super::Context;
use super::error::Code;
use super::output::Output;
use super::sandbox::Commands;
use super::settings::settle;
use super::signals;
use crate::checklist::Report;
use crate::engine;
use crate::engine::commands::init::Done;
use crate::engine::commands::init::Sources;
use crate::process;
use crate::process::Interrupt;
use crate::project::LockFile;
use anyhow::Result;
use std::path::PathBuf;

/// Seed the memory of the project around the working directory
///
/// Run again, it adds what is missing and overwrites nothing. With a specification and a key, the initializer session then
/// turns the specification into a checklist with checks.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Keep this specification in memory and let the initializer work on it
    #[arg(long, value_name = "SPEC.md")]
    pub(super) spec: Option<PathBuf>,

    /// Take the features of this checklist, in longhaul's own form or as a `feature_list.json`
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let (config, read) = context.config(&[])?;
    let settings = settle(&config, read, context, Commands::WillRun)?;
    let interrupt = Interrupt::new();
    signals::watch(&interrupt, &context.output)?;
    process::adopt_orphans();
    context.output.tick();
    let directory = &context.environment.directory;
    let here = |path: &PathBuf| directory.join(path);
    let sources = Sources { spec: args.spec.as_ref().map(here), from: args.from.as_ref().map(here) };
    let output: &Output = &context.output;
    let (mut workspace, done) =
        engine::commands::init::init(directory, &sources, &settings, context.clock, output, &interrupt)?;
    lines(&done).iter().for_each(|line| output.data(line));
    if config.shown("gate.prepare").is_empty() {
        offer(&done.lock_files).iter().for_each(|line| output.data(line));
    }
    let checklist = workspace.checklist()?;
    if done.imported.is_some() {
        engine::commands::inventory::lines(&checklist)
            .iter()
            .for_each(|line| output.data(&format!("import    {line}")));
    }
    if args.spec.is_none() || !engine::run::initializer::due(&workspace, &checklist, false)? {
        output.data(next(&done));
        return Ok(Code::Done);
    }
    if settings.provider.is_none() {
        let variable = &settings.missing_key;
        output.data(&format!(
            "next: set `{variable}` to your key, then `longhaul run` turns the specification into a checklist"
        ));
        return Ok(Code::Done);
    }
    let missing = engine::run::hold_initializer(&mut workspace)?;
    if missing.is_empty() {
        output.data("next: look at `longhaul feature list`, then `longhaul run`");
    } else {
        output.warn(&format!("the initializer is not finished: {}; `longhaul run` continues it", missing.join("; ")));
    }
    Ok(Code::Done)
}

/// Says what was done, a line each.
fn lines(done: &Done) -> Vec<String> {
    let mut lines = vec![format!("project   {}", done.root.display()), format!("memory    {}", done.memory.display())];
    if done.changed_nothing() {
        lines.push("nothing changed: this project has its memory already".to_owned());
    }
    if !done.seeded.is_empty() {
        lines.push(format!("seeded    {}", done.seeded.join(", ")));
    }
    if done.spec {
        lines.push("spec      kept as /memories/spec.md".to_owned());
    }
    lines.extend(done.imported.iter().flat_map(Report::lines).map(|line| format!("import    {line}")));
    lines.extend(done.kept.iter().map(|line| format!("kept      {line}")));
    lines
}

/// Offers what to set for the lock files found. Nothing is written: what a command may run is the user's to decide.
fn offer(lock_files: &[LockFile]) -> Vec<String> {
    if lock_files.is_empty() {
        return Vec::new();
    }
    let names = lock_files.iter().map(|file| format!("`{}`", file.name)).collect::<Vec<_>>().join(", ");
    let prepare = lock_files.iter().map(|file| file.prepare).collect::<Vec<_>>().join(" && ");
    let setting = toml::Value::String(prepare);
    vec![
        format!("found     {names}: checks run in your checkout, with what is installed there"),
        "          to run them in a clean checkout instead, put this into `longhaul.toml`, commit it, and".to_owned(),
        "          `longhaul trust` it; or put it into your own config.toml:".to_owned(),
        String::new(),
        "              [gate]".to_owned(),
        format!("              prepare = {setting}"),
        String::new(),
        "          in the sandbox `prepare` has the network and checks have none; `[sandbox] network = \"on\"` changes that"
            .to_owned(),
        format!(
            "          to let a check prove nothing once the versions differ, add to it: \"closure\": [{}]",
            lock_files.iter().map(|file| format!("\"{}\"", file.name)).collect::<Vec<_>>().join(", ")
        ),
    ]
}

fn next(done: &Done) -> &'static str {
    match &done.imported {
        Some(_) => "next: look at `longhaul status`, then `longhaul run`",
        None if done.changed_nothing() => "next: `longhaul status` shows where things stand",
        None => {
            "next: add features with `longhaul feature add`, or start from a text with `longhaul init --spec SPEC.md`"
        }
    }
}
