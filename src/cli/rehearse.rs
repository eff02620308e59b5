//! `longhaul rehearse`

use super::Context;
use super::error::Code;
use super::line::Line;
use super::signals;
use crate::config::Environment;
use crate::failure::Failure;
use crate::process::Interrupt;
use crate::provider::Script;
use crate::provider::Server;
use anyhow::Result;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

/// Play a scripted model on loopback: try limits, faults and checks without spending
///
/// Without a command, prints `base_url=…` as its first line and serves until Ctrl-C. With one, such as
/// `longhaul rehearse SCRIPT -- run --sessions 1`, runs that longhaul command against the script and returns its exit code.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Play this script, a TOML file
    #[arg(value_name = "SCRIPT")]
    pub(super) script: PathBuf,

    /// Run this longhaul command against it
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let server = Server::start(read_script(&args.script, context)?)?;
    if args.command.is_empty() {
        return serve(&server, context);
    }
    let program = OsString::from("longhaul");
    let set = context.set.iter().flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]);
    let words = [program].into_iter().chain(set.map(OsString::from)).chain(args.command.iter().cloned());
    let code = super::run(words, pointed_at(&server, &context.environment), &context.output);
    if server.exhausted() {
        let shown = args.script.display();
        context
            .output
            .note(&Line::plain(&format!("the script `{shown}` has ended: a request found no reply left in it")));
    } else if server.unplayed() > 0 {
        let left = match server.unplayed() {
            1 => "1 reply".to_owned(),
            more => format!("{more} replies"),
        };
        context.output.note(&Line::plain(&format!("the script had {left} left")));
    }
    Ok(code)
}

fn read_script(path: &PathBuf, context: &Context) -> Result<Script> {
    let shown = path.display().to_string();
    let refuse = |reason: String| {
        Failure::usage(format!("could not read the script `{shown}`: {reason}"))
            .hint("the README says how to write one")
    };
    let bytes = fs::read(context.environment.directory.join(path)).map_err(|error| refuse(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8".to_owned()))?;
    Ok(Script::parse(&text, &shown).map_err(|error| Failure::usage(format!("{error:#}")))?)
}

/// Serves until a person asks to stop.
fn serve(server: &Server, context: &Context) -> Result<Code> {
    let interrupt = Interrupt::new();
    signals::watch(&interrupt, &context.output)?;
    context.output.data(&format!("base_url={}", server.base_url()));
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(interrupt.wait());
    server.rejected().iter().for_each(|reason| context.output.warn(&format!("refused a request: {reason}")));
    Ok(Code::Done)
}

/// Points the command at the scripted model. The settings are given under longhaul's own names, which win over a config
/// file, and the key is none, so that a rehearsal can neither spend money nor tell a key.
fn pointed_at(server: &Server, environment: &Environment) -> Environment {
    let mut inner = environment.clone();
    let pairs = [
        ("LONGHAUL_PROVIDER_BASE_URL", server.base_url()),
        ("LONGHAUL_PROVIDER_KEY_ENV", "ANTHROPIC_API_KEY".to_owned()),
        ("ANTHROPIC_API_KEY", "no-real-key".to_owned()),
    ];
    inner.variables.extend(pairs.map(|(name, value)| (name.to_owned(), value)));
    inner
}
