//! What was typed, what is printed, and the exit code.
//!
//! A subcommand is one file with its arguments and one function. It turns what was typed into what is meant, calls the
//! engine, and prints the answer; it decides nothing about projects, memory or checks.

mod accept;
mod check;
mod completions;
mod context;
mod demo;
mod doctor;
mod error;
mod feature;
mod init;
mod inside;
mod line;
mod log;
mod memory;
mod narration;
mod output;
mod pager;
mod past;
mod project_settings;
mod prompt;
mod rehearse;
mod replay;
mod run;
mod sandbox;
mod settings;
mod show;
mod signals;
mod status;
mod trust;
mod visible;

pub use context::Context;
pub use error::Code;
pub use output::Output;

use crate::clock::Clock;
use crate::config::Environment;
use crate::failure::Failure;
use anyhow::Result;
use clap::Parser;
use clap::Subcommand;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::sync::Arc;

/// Drive a coding agent through a project that is too long for one context window
#[derive(Debug, Parser)]
#[command(name = "longhaul", version, max_term_width = 100, disable_help_subcommand = true)]
struct Arguments {
    /// Give a setting for this one time, such as `budget.usd=5`; may be repeated
    #[arg(long = "set", global = true, display_order = 900, value_name = "SECTION.KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Run(run::Args),
    Status(status::Args),
    Log(log::Args),
    Show(show::Args),
    Check(check::Args),
    Accept(accept::Args),
    #[command(subcommand)]
    Feature(feature::Command),
    Memory(memory::Args),
    Doctor(doctor::Args),
    Trust(trust::Args),
    #[command(subcommand)]
    Prompt(prompt::Command),
    Rehearse(rehearse::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    /// Serve as process 1 of a sandbox; started by longhaul itself
    #[command(hide = true)]
    Supervise,
    /// Answer one call of the editor inside a sandbox; started by longhaul itself
    #[command(hide = true)]
    Edit,
}

/// Does what the arguments ask and tells how it went; returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>, environment: Environment, output: &Arc<Output>) -> Code {
    signals::outlive_full_files();
    let code = match Arguments::try_parse_from(arguments) {
        Ok(Arguments { set, command }) => {
            let context = Context { environment, output: Arc::clone(output), clock: Clock::system(), set };
            dispatch(command, &context).unwrap_or_else(|error| error::tell(&error, output))
        }
        Err(error) => tell_usage(&error, output),
    };
    match output.finish() {
        Err(error) if code == Code::Done => error::tell(&anyhow::Error::new(error).context(UNWRITTEN), output),
        _ => code,
    }
}

const UNWRITTEN: &str = "could not write to standard output";

fn dispatch(command: Command, context: &Context) -> Result<Code> {
    match command {
        Command::Init(args) => init::run(&args, context),
        Command::Run(args) => run::run(&args, context),
        Command::Status(args) => status::run(&args, context),
        Command::Log(args) => log::run(&args, context),
        Command::Show(args) => show::run(&args, context),
        Command::Check(args) => check::run(&args, context),
        Command::Accept(args) => accept::run(&args, context),
        Command::Feature(command) => feature::run(&command, context),
        Command::Memory(args) => memory::run(&args, context),
        Command::Doctor(args) => doctor::run(&args, context),
        Command::Trust(args) => trust::run(&args, context),
        Command::Prompt(command) => prompt::run(&command, context),
        Command::Rehearse(args) => rehearse::run(&args, context),
        Command::Demo(args) => demo::run(&args, context),
        Command::Completions(args) => completions::run(&args, context),
        Command::Supervise => inside::supervise(),
        Command::Edit => inside::edit(context),
    }
}

/// Tells what clap has to say: help and version were asked for, everything else is a wrong command line.
fn tell_usage(error: &clap::Error, output: &Output) -> Code {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output.data(&text);
            Code::Done
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            output.note_block(&text);
            Code::Usage
        }
        _ => {
            output
                .note_block(text.strip_prefix("error").map_or(text.clone(), |rest| format!("usage{rest}")).trim_end());
            Code::Usage
        }
    }
}

/// Takes `section.key=value` apart.
fn setting(text: &str) -> Result<(String, String), Failure> {
    let (key, value) = text.split_once('=').ok_or_else(|| Failure::usage("write it as `section.key=value`"))?;
    Ok((key.trim().to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests;
