//! `longhaul doctor`

use super::Context;
use super::error::Code;
use super::line::Line;
use super::line::Tone;
use super::sandbox::Commands;
use super::settings::settle;
use crate::config::Config;
use crate::config::Sources;
use crate::engine::commands::doctor;
use crate::engine::commands::doctor::Finding;
use crate::engine::commands::doctor::Machine;
use crate::engine::commands::doctor::Status;
use crate::engine::settings::Read;
use crate::engine::settings::Settings;
use crate::engine::workspace::Access;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::memory::Place;
use crate::memory::Store;
use crate::process::Interrupt;
use crate::project::Project;
use crate::sandbox::Mode;
use anyhow::Result;
use serde_json::json;

/// Say what this machine can do, and what is missing
///
/// Looks at git, shells, sandbox, settings and the project around the working directory, and whether the programs are
/// there that its checks start. It changes nothing and starts nothing of the project's. Ends with 1 when something is
/// missing that was asked for.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let (config, read, mut findings) = settings(context)?;
    let settings = settle(&config, read, context, Commands::None)?;
    // A program that lies in the project is not the machine's.
    let variables = &context.environment.outside();
    let path = settings.gate.environment.get("PATH").map_or("", String::as_str);
    let machine = Machine::new(variables, path, mode(&config), config.shown("sandbox.network"));
    let mut all = doctor::machine(&machine);
    all.append(&mut findings);
    all.extend([key(&settings), price(&settings)]);
    all.extend(around(context, &settings, &machine)?);
    match args.json {
        true => context.output.json(&json!({ "findings": all })),
        false => all.iter().flat_map(lines).for_each(|line| context.output.data_line(&line)),
    }
    verdict(&all)
}

/// Reads the settings; those that cannot be read are a finding, and the defaults stand in for them.
fn settings(context: &Context) -> Result<(Config, Read, Vec<Finding>)> {
    const TOPIC: &str = "settings";
    match context.quiet_config(&[]) {
        Ok((config, read)) => {
            // A note says itself what to do.
            let waiting = |note: &String| Finding { way_out: None, ..Finding::warning(TOPIC, note, "") };
            let mut findings: Vec<Finding> = config.notes.iter().map(waiting).collect();
            if findings.is_empty() {
                findings.push(Finding::ok(TOPIC, "all of them count"));
            }
            Ok((config, read, findings))
        }
        Err(error) => Ok((Config::load(&Sources::default())?, Read::default(), vec![Finding::failed(TOPIC, &error)])),
    }
}

fn mode(config: &Config) -> Mode {
    match config.shown("sandbox.mode") {
        "bubblewrap" => Mode::Bubblewrap,
        "off" => Mode::Off,
        _ => Mode::Auto,
    }
}

/// Says whether the key is there; never what it is.
fn key(settings: &Settings) -> Finding {
    let name = &settings.missing_key;
    match settings.provider {
        Some(_) => Finding::ok("key", format!("`{name}` is set")),
        None => Finding::warning(
            "key",
            format!("`{name}` is not set, so no session can be held"),
            format!("set `{name}` to your key, or name another variable in `provider.key_env`"),
        ),
    }
}

fn price(settings: &Settings) -> Finding {
    let model = &settings.model;
    match settings.prices.model {
        Some(_) => Finding::ok("price", format!("known for the model `{model}`")),
        None => Finding::warning(
            "price",
            format!("not known for the model `{model}`: a limit in US dollars cannot bind, tokens do"),
            format!("put `[prices.\"{model}\"]` into your config.toml"),
        ),
    }
}

/// Looks at the project around the working directory, if there is one.
fn around(context: &Context, settings: &Settings, machine: &Machine<'_>) -> Result<Vec<Finding>> {
    let directory = &context.environment.directory;
    let mut project = match Project::find(directory, settings.outer.clone()) {
        Ok(Some(project)) => project,
        Ok(None) => {
            let text = format!("none here: `{}` is not inside a git repository", directory.display());
            return Ok(vec![Finding::ok("project", text)]);
        }
        Err(error) => return failed("project")(error),
    };
    let interrupt = Interrupt::new();
    if !Store::exists(&Place::in_project(project.root(), project.common_dir())) {
        return doctor::project(&mut project, None, settings, machine).or_else(failed("project"));
    }
    let opened = Workspace::open(directory, Access::Look, settings, context.clock, &*context.output, &interrupt);
    match opened {
        Ok(mut ws) => doctor::project(&mut project, Some(&mut ws), settings, machine).or_else(failed("project")),
        Err(error) => failed("memory")(error),
    }
}

/// Makes a finding of an error.
fn failed(topic: &'static str) -> impl FnOnce(anyhow::Error) -> Result<Vec<Finding>> {
    move |error| Ok(vec![Finding::failed(topic, &error)])
}

/// Shows a finding; the word for how it stands says it without colour.
fn lines(finding: &Finding) -> Vec<Line> {
    let (word, tone) = match finding.status {
        Status::Ok => ("ok", Tone::Good),
        Status::Warning => ("warning", Tone::Careful),
        Status::Missing => ("missing", Tone::Bad),
    };
    let first = Line::new(tone, word).column(9).add(Tone::Strong, finding.topic).column(20);
    let way_out = finding.way_out.iter().filter(|text| !text.is_empty());
    let way_out = way_out.map(|text| Line::plain("").column(20).add(Tone::Dim, "→ ").add(Tone::Plain, text));
    [first.add(Tone::Plain, &finding.text)].into_iter().chain(way_out).collect()
}

fn verdict(findings: &[Finding]) -> Result<Code> {
    let missing = findings.iter().filter(|finding| finding.status == Status::Missing);
    let texts: Vec<String> = missing.map(|finding| format!("{}: {}", finding.topic, finding.text)).collect();
    if texts.is_empty() {
        return Ok(Code::Done);
    }
    let text = format!("something is missing:\n{}", texts.join("\n"));
    Err(Failure::new(Kind::Failed, text).hint("the lines marked `missing` say what to do").into())
}
