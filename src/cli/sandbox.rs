//! Settles what holds the commands of this run.

use super::Context;
use crate::config::Config;
use crate::sandbox;
use crate::sandbox::Choice;
use crate::sandbox::Level;
use crate::sandbox::Mode;
use crate::sandbox::Settings;
use anyhow::Result;
use std::path::Path;
use std::path::PathBuf;

/// Whether commands will run, so that what holds them has to be tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Commands {
    WillRun,
    None,
}

/// Tries what the settings ask for.
///
/// # Errors
/// When bubblewrap is asked for and cannot be had: a weaker sandbox than asked for is never taken in silence.
pub(super) fn settle(config: &Config, context: &Context, commands: Commands) -> Result<Settings> {
    let home = context.environment.get("HOME").map(PathBuf::from);
    let mut settings = Settings {
        level: Level::Plain,
        reach: config.sandbox.network,
        bwrap: PathBuf::new(),
        supervisor: vec![context.environment.program.clone().into(), "supervise".into()],
        cgroups: None,
        read: config.sandbox.read.iter().map(|path| at_home(path, home.as_deref())).collect(),
        home,
        path: context.environment.get("PATH").unwrap_or_default().to_owned(),
    };
    if commands == Commands::None {
        return Ok(settings);
    }
    let choice = sandbox::choose(config.sandbox.mode, &context.environment.outside())?;
    choice.told().iter().for_each(|told| context.output.warn(told));
    if let Choice::Bubblewrap(tried) = choice {
        settings.level = Level::Bubblewrap;
        settings.bwrap = tried.program;
        settings.cgroups = sandbox::cgroups().ok();
    }
    Ok(settings)
}

/// Spells out the `~` of a path below the home, which no shell has seen.
fn at_home(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}

/// Says what would hold commands, without trying it.
pub(super) fn foreseen(config: &Config) -> &'static str {
    match config.sandbox.mode {
        Mode::Off => "plain",
        Mode::Auto => "bubblewrap where it works, else plain",
        Mode::Bubblewrap => "bubblewrap",
    }
}
