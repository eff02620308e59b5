//! `longhaul trust`

use super::Context;
use super::context::require_committed_settings;
use super::error::Code;
use super::line::Line;
use super::line::Tone;
use super::project_settings::SharedSettings;
use crate::config::Config;
use crate::config::File;
use crate::config::Sources;
use crate::config::Trust;
use crate::config::Trusted;
use crate::config::risk;
use crate::engine::custody;
use crate::engine::custody::SHARED;
use crate::engine::workspace::lock::RunLock;
use crate::failure::Failure;
use crate::memory::Place;
use crate::project::Project;
use crate::sandbox;
use anyhow::Result;
use std::io::BufRead;
use std::io::IsTerminal;
use std::path::Path;
use std::path::PathBuf;

/// Let the settings count that this project brings along
///
/// Without it only those count that narrow what longhaul may do or spend. Shows what will change, warnings first, and
/// asks. The trust is for exactly this content of `longhaul.toml`: when it changes, it waits again.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Trust it without being asked
    #[arg(long)]
    yes: bool,

    /// List the projects you trust
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    list: bool,

    /// Take the trust in this project back
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Code> {
    let file = trust_file(context)?;
    if args.list {
        return list(&file, context);
    }
    if sandbox::is_marked(&context.environment.variables) {
        return Err(Failure::usage("a command that longhaul itself started cannot trust settings")
            .hint("run `longhaul trust` in a shell of your own, when no session is on")
            .into());
    }
    let project = Project::discover(&context.environment.directory, context.environment.variables.clone())?;
    let _lock = lock(&project)?;
    if args.revoke {
        let told = match Trusted::revoke(&file, project.root())? {
            true => "the trust is taken back",
            false => "this project was not trusted",
        };
        context.output.data(told);
        return Ok(Code::Done);
    }
    require_committed_settings(&project)?;
    match waiting(context)? {
        Waiting::Nothing(told) => context.output.data(told),
        Waiting::For(shared, lines) => {
            lines.iter().for_each(|line| context.output.data_line(line));
            if !args.yes && !agreed(context)? {
                context.output.data("nothing changed");
                return Ok(Code::Done);
            }
            give(&file, &shared, context)?;
        }
    }
    Ok(Code::Done)
}

fn trust_file(context: &Context) -> Result<PathBuf> {
    context.environment.trust_file().ok_or_else(|| {
        Failure::usage("there is no place for what you trust: neither `HOME` nor `XDG_CONFIG_HOME` is set")
            .hint("set one of them")
            .into()
    })
}

/// Takes the run lock, so that no session can call this. Where there is no memory yet, no run can be on.
fn lock(project: &Project) -> Result<Option<RunLock>> {
    let state = Place::in_project(project.root(), project.common_dir()).state;
    state.is_dir().then(|| RunLock::take(&state.join("run.lock"))).transpose()
}

/// What there is to decide.
enum Waiting {
    Nothing(&'static str),
    /// These settings, described in these lines.
    For(SharedSettings, Vec<Line>),
}

fn waiting(context: &Context) -> Result<Waiting> {
    let Some(shared) = SharedSettings::find(&context.environment)? else {
        return Ok(Waiting::Nothing("there is no project here"));
    };
    if shared.trust == Trust::Given {
        return Ok(Waiting::Nothing("`longhaul.toml` is trusted already, with exactly this content"));
    }
    let (project, trust) = shared.holding();
    let now = load(context, project, trust)?;
    let then = load(context, shared.there.clone(), Trust::Given)?;
    let lines = described(&now, &then);
    if shared.replaced().is_none() && lines.is_empty() {
        return Ok(Waiting::Nothing(match shared.there {
            Some(_) => "everything in `longhaul.toml` counts without your trust",
            None => "there is no `longhaul.toml` here, so nothing waits for your trust",
        }));
    }
    let head = match (&shared.there, lines.is_empty()) {
        (Some(_), false) => "with your trust `longhaul.toml` changes these settings:",
        (Some(_), true) => "`longhaul.toml` was changed, but none of its settings:",
        (None, _) => "`longhaul.toml` is gone; with your trust these settings change:",
    };
    let file = Line::plain(&format!("{}: {head}", shared.root.display()));
    Ok(Waiting::For(shared, [file].into_iter().chain(lines).collect()))
}

/// Loads settings from the files alone, because what is given for this one run decides nothing about the next.
fn load(context: &Context, project: Option<File>, trust: Trust) -> Result<Config> {
    Config::load(&Sources { user: context.user_settings()?, project, trust, ..Sources::default() })
}

/// Describes each setting that changes, those first that a person should look at.
fn described(now: &Config, then: &Config) -> Vec<Line> {
    let (warned, rest): (Vec<&str>, Vec<&str>) = now.differing(then).partition(|key| risk(key).is_some());
    let describe = |key: &str| {
        let line = Line::plain("  ").add(Tone::Strong, key);
        let line = line.add(Tone::Plain, &format!(" = {}, now {}", then.given(key), now.given(key)));
        match risk(key) {
            Some(risk) => {
                line.add(Tone::Plain, "; ").add(Tone::Careful, "warning").add(Tone::Plain, &format!(": {risk}"))
            }
            None => line,
        }
    };
    warned.into_iter().chain(rest).map(describe).collect()
}

fn agreed(context: &Context) -> Result<bool> {
    let unasked = Failure::usage("nothing was trusted: there is no terminal to ask on")
        .hint("look at the settings above, then `longhaul trust --yes`");
    ask("trust this content?", unasked, context)
}

/// Asks on the terminal; where there is none, that is the failure `unasked`.
pub(super) fn ask(question: &str, unasked: Failure, context: &Context) -> Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(unasked.into());
    }
    context.output.note(&Line::plain(&format!("{question} [y/N]")));
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Trusts the file as it lies there, which then holds in place of any version before.
fn give(file: &Path, shared: &SharedSettings, context: &Context) -> Result<()> {
    if let Some(there) = &shared.there {
        Trusted::give(file, &shared.root, &there.text, &context.clock.now().to_string())?;
    }
    custody::let_go(&shared.state)?;
    context.output.data("trusted, with exactly this content; `longhaul trust --revoke` takes it back");
    Ok(())
}

fn list(file: &Path, context: &Context) -> Result<Code> {
    let trusted = Trusted::read(file)?;
    for (root, entry) in trusted.entries() {
        let there = File::read(&Path::new(root).join(SHARED));
        let state = match there.as_ref().map(Option::as_ref) {
            Ok(Some(file)) if trusted.judge(Path::new(root), &file.text) == Trust::Given => "as it lies there",
            Ok(Some(_)) => "another version lies there, which waits",
            _ => "no `longhaul.toml` lies there",
        };
        context.output.data_line(&Line::plain(&format!("{root}, since {}: {state}", entry.at)));
    }
    if trusted.entries().next().is_none() {
        context.output.data("you trust no project's settings");
    }
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert!(["y\n", "Yes\n", " YES "].iter().all(|answer| is_yes(answer)));
        assert!(["", "\n", "n\n", "yep\n"].iter().all(|answer| !is_yes(answer)));
    }

    #[test]
    fn what_runs_something_comes_first_and_warns() {
        let text = "[budget]\nusd = 50\n[hooks]\nsession_end = [\"a\\nb\"]\n";
        let project = Some(File { path: PathBuf::from(SHARED), text: text.to_owned() });
        let load = |trust| Config::load(&Sources { project: project.clone(), trust, ..Sources::default() }).unwrap();
        let lines = described(&load(Trust::None), &load(Trust::Given));
        let lines: Vec<String> = lines.iter().map(|line| line.render(false)).collect();
        assert_eq!(
            lines,
            [
                r#"  hooks.session_end = ["""\na\nb"""], now []; warning: runs as you, outside the sandbox"#,
                "  budget.usd = 50, now 20.0",
            ]
        );
    }
}
