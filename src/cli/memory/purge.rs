//! `longhaul memory purge`

use crate::checklist::Checklist;
use crate::cli::Context;
use crate::cli::error::Code;
use crate::cli::line::Line;
use crate::cli::trust;
use crate::failure::Failure;
use crate::memory::Purged;
use crate::memory::Purging;
use crate::memory::Store;
use crate::memory::Unfinished;
use crate::secrets::NotAlone;
use crate::secrets::Sought;
use crate::secrets::Why;
use anyhow::Result;
use std::io::IsTerminal;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

/// Files that are named; the others are counted.
const NAMED: usize = 10;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The text to remove, of 6 bytes at least; `-` takes it from standard input, where no shell keeps it
    #[arg(long = "match", value_name = "TEXT", required = true, allow_hyphen_values = true)]
    pub(super) texts: Vec<String>,
    /// Only tell where it is
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(super) yes: bool,
}

/// Removes the texts from a memory; paths of files are told from the folder `around`.
pub(super) fn run(args: &Args, store: &mut Store, around: &Path, context: &Context) -> Result<Code> {
    let Sought { values, not_alone } = sought(args, context)?;
    for text in of_lines(&not_alone, args.texts.len()) {
        context.output.warn(&text);
    }
    if !args.yes || args.dry_run {
        let found = store.purge(&values, &readable, Purging::Look)?;
        tell(&found, Purging::Look, &not_alone, around, context);
        let nothing = found.is_nothing() && store.unfinished_purge() == Unfinished::No;
        if nothing || args.dry_run {
            return Ok(Code::Done);
        }
        if !agreed(context)? {
            context.output.note(&Line::plain("nothing was removed"));
            return Ok(Code::Done);
        }
    }
    let purged = store.purge(&values, &readable, Purging::Remove)?;
    tell(&purged, Purging::Remove, &not_alone, around, context);
    context.output.note(&Line::plain(
        "not touched: your project's own files and commits, copies and backups; a key that was seen is best made anew",
    ));
    if purged.paths.iter().any(|path| path.starts_with("checks/")) {
        context
            .output
            .warn("a check had it: look at it with `longhaul show`, and `longhaul accept` takes it as it is now");
    }
    Ok(Code::Done)
}

/// A checklist that can be read has to stay one.
fn readable(bytes: &[u8]) -> Result<(), String> {
    Checklist::read(bytes).map(drop).map_err(|problem| problem.to_string())
}

fn sought(args: &Args, context: &Context) -> Result<Sought> {
    let mut texts = Vec::new();
    for text in &args.texts {
        texts.push(match text.as_str() {
            "-" => from_stdin(context)?,
            text => text.to_owned(),
        });
    }
    Sought::of(&texts).map_err(|why| Failure::usage(format!("the text cannot be looked for: {why}")).into())
}

/// Says which lines are looked for within their text only.
fn of_lines(not_alone: &[NotAlone], texts: usize) -> Vec<String> {
    let reasons = [
        (Why::Short, "being shorter than 6 bytes", "look for what stays of them by a longer text around it"),
        (Why::Frame, "saying only that a key begins or ends", "they are no secret"),
    ];
    let of = |why: Why| {
        let lines = not_alone.iter().filter(move |line| line.why == why);
        lines.map(|line| match texts {
            1 => format!("line {}", line.line),
            _ => format!("line {} of text {}", line.line, line.text),
        })
    };
    let told = |(why, reason, then): (Why, &str, &str)| {
        let lines: Vec<String> = of(why).collect();
        let named = named(lines.into_iter());
        (!named.is_empty())
            .then(|| format!("looked for within the whole text only, and not by themselves, {reason}: {named}; {then}"))
    };
    reasons.into_iter().filter_map(told).collect()
}

fn from_stdin(context: &Context) -> Result<String> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        context.output.note(&Line::plain("write the text to remove, then press Return and Ctrl-D:"));
    }
    let mut text = String::new();
    let read = stdin.read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("could not read the text on standard input: {error}")))?;
    Ok(text)
}

fn agreed(context: &Context) -> Result<bool> {
    let unasked = Failure::usage("nothing was removed: there is no terminal to ask on")
        .hint("look at what was found, then run it again with `--yes`");
    trust::ask("remove it for good, and give these commits new ids?", unasked, context)
}

fn tell(purged: &Purged, purging: Purging, not_alone: &[NotAlone], around: &Path, context: &Context) {
    let Purged { paths, versions, messages, commits, looked_at, files, left } = purged;
    let data = |text: String| context.output.data(&text);
    let short = |paths: Vec<&PathBuf>| {
        let shown = paths.into_iter().map(|path| path.strip_prefix(around).unwrap_or(path).display().to_string());
        named(shown.collect::<Vec<_>>().into_iter())
    };
    if !left.is_empty() {
        context.output.warn(&format!(
            "it stays where longhaul or git needs a name, a key, a number or a setting as it is: {}; look there by hand",
            short(left.iter().collect())
        ));
    }
    if purged.is_nothing() {
        let where_looked = format!("{looked_at} commits, and the files beside them, were looked at");
        let has_short = not_alone.iter().any(|line| line.why == Why::Short);
        return data(match (has_short, left.is_empty()) {
            (_, false) => format!("it is nowhere else: {where_looked}"),
            (false, true) => format!("it is nowhere: {where_looked}"),
            (true, true) => {
                format!("the whole text and its longer lines are nowhere, its short ones may be: {where_looked}")
            }
        });
    }
    let (found, ids) = match purging {
        Purging::Look => ("it is in", "would get"),
        Purging::Remove => ("removed from", "got"),
    };
    if !paths.is_empty() {
        data(format!("{found} {versions} version(s) of files: {}", named(paths.iter().cloned())));
    }
    if *messages > 0 {
        data(format!("{found} {messages} commit text(s)"));
    }
    if !files.is_empty() {
        data(format!("{found} {} file(s) beside the history: {}", files.len(), short(files.iter().collect())));
    }
    data(format!("{commits} of {looked_at} commits {ids} new ids"));
}

fn named(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let named = all.take(NAMED).collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}
