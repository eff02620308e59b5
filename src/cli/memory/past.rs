//! `longhaul memory diff` and `longhaul memory restore`

use crate::cli::Context;
use crate::cli::error::Code;
use crate::cli::line::Line;
use crate::cli::log;
use crate::cli::output::Output;
use crate::cli::pager;
use crate::engine::commands::restore;
use crate::engine::commands::restore::How;
use crate::engine::commands::restore::Restored;
use crate::failure::Failure;
use crate::memory;
use crate::memory::MemoryPath;
use crate::memory::State;
use crate::memory::Store;
use crate::memory::Touch;
use crate::memory::Wanted;
use anyhow::Result;
use clap::ArgGroup;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Diff {
    /// A commit, or `@7` for what session 7 left; without any, what was changed in the view and is not in memory is shown
    #[arg(value_name = "A")]
    from: Option<String>,
    /// The state to hold against it; the newest one when it is left out
    #[arg(value_name = "B", default_value = "now")]
    to: String,
    /// Show only these files and folders
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<String>,
}

impl Diff {
    pub(super) fn run(&self, memory: &Store, context: &Context) -> Result<Code> {
        let paths: Vec<MemoryPath> = self.paths.iter().map(|path| log::memory_path(path)).collect::<Result<_>>()?;
        let patch = match &self.from {
            None => memory.not_taken_in(&paths)?,
            Some(from) => memory.difference(&State::read(from), &State::read(&self.to), &paths)?,
        };
        if patch.is_empty() {
            context.output.note(&Line::plain("nothing differs"));
        } else if Output::is_on_terminal() {
            pager::page(context);
            patch.lines().map(log::patch_line).for_each(|line| context.output.data_line(&line));
        } else {
            // As git takes it again.
            context.output.data(&patch);
        }
        Ok(Code::Done)
    }
}

#[derive(Debug, clap::Args)]
#[command(override_usage = "longhaul memory restore [OPTIONS] <PATH|--to <COMMIT>|--session <N>>")]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["path", "to", "session"])))]
#[group(skip)]
pub(in crate::cli) struct Restore {
    /// A file or folder, or all when it is left out
    pub(super) path: Option<String>,
    /// Take it as this commit has it, or `@7` as session 7 left it; else as it was before its newest change
    #[arg(long, value_name = "COMMIT", requires = "path", conflicts_with_all = ["to", "session"])]
    from: Option<String>,
    /// Take all as this commit has it
    #[arg(long, value_name = "COMMIT", conflicts_with_all = ["path", "session"])]
    to: Option<String>,
    /// Take it, or all, as this session left it
    #[arg(long, value_name = "N")]
    session: Option<u32>,
    /// Only show what would change
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl Restore {
    /// Returns what it changes, if that is not all and a session may change it too.
    pub(super) fn shared_path(&self) -> Option<MemoryPath> {
        let path = log::memory_path(self.path.as_deref()?).ok()?;
        Some(path).filter(|path| !path.is_root() && !memory::waits_for_a_run(path.as_str()))
    }

    fn wanted(&self) -> Result<Wanted> {
        let path = self.path.as_deref().map(log::memory_path).transpose()?;
        let state = match (&self.from, &self.to, self.session) {
            (Some(commit), ..) | (None, Some(commit), _) => Some(State::read(commit)),
            (None, None, session) => session.map(State::Session),
        };
        match (path, state) {
            (Some(path), Some(state)) if path.is_root() => Ok(Wanted::All(state)),
            (Some(path), Some(state)) => Ok(Wanted::Path(path, state)),
            (None, Some(state)) => Ok(Wanted::All(state)),
            (Some(path), None) if !path.is_root() => Ok(Wanted::Undone(path)),
            _ => Err(Failure::usage("it is not said as of when all is to come back")
                .hint("name a commit with `--to`, or a session with `--session`; `longhaul log` shows them")
                .into()),
        }
    }

    pub(super) fn run(&self, memory: &mut Store, context: &Context) -> Result<Code> {
        let how = if self.dry_run { How::Shown } else { How::Done };
        tell(&restore::restore(memory, &self.wanted()?, how)?, how, context);
        Ok(Code::Done)
    }
}

fn tell(restored: &Restored, how: How, context: &Context) {
    let output = &context.output;
    for touched in &restored.touched {
        let word = match touched.how {
            Touch::Added => "added",
            Touch::Removed => "removed",
            Touch::Changed | Touch::Renamed { .. } => "changed",
        };
        output.data(&format!("{word:<8} {}", touched.path));
    }
    let from = &restored.from[..8];
    match (&restored.commit, restored.touched.is_empty()) {
        (Some(commit), _) => output.data(&format!("as of {from}, by commit {}", &commit[..8])),
        (None, false) => output.data(&format!("would be as of {from}; nothing was changed")),
        (None, true) => output.data(&format!("nothing to restore: it is as in {from}")),
    }
    if !restored.kept.is_empty() {
        output.note(&Line::plain(&format!("left as they are, since they only grow: {}", restored.kept.join(", "))));
    }
    if let Some(text) = &restored.checklist {
        output.note(&Line::plain(&format!("features.json: {text}")));
    }
    if how == How::Done && restored.touched.iter().any(|touched| touched.path.starts_with("checks/")) {
        output
            .note(&Line::plain("a feature whose check changed by this has to be approved: `longhaul accept FEATURE`"));
    }
}
