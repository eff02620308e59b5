//! `longhaul memory fsck`

use crate::cli::Context;
use crate::cli::error::Code;
use crate::cli::line::Line;
use crate::cli::sandbox::Commands;
use crate::cli::settings::settle;
use crate::engine;
use crate::engine::counted;
use crate::memory;
use crate::memory::Checkup;
use crate::memory::Fault;
use crate::memory::Place;
use crate::memory::Repair;
use anyhow::Result;
use std::path::Path;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Mend what can be mended
    #[arg(long)]
    repair: bool,
}

/// Looks at all of a memory. It is not opened for that, and of the project no more is asked than where it is.
pub(super) fn run(args: &Args, store: Option<&Path>, context: &Context) -> Result<Code> {
    let repair = if args.repair { Repair::Yes } else { Repair::No };
    let notice = |text: &str| context.output.warn(text);
    let checkup = match store {
        Some(folder) => {
            let folder = context.environment.directory.join(folder);
            super::refuse_a_projects(&folder)?;
            memory::fsck(&Place::at(&folder), repair, &notice)?
        }
        None => {
            let (config, read) = context.config(&[])?;
            let settings = settle(&config, read, context, Commands::None)?;
            engine::commands::fsck::fsck(&context.environment.directory, &settings, repair, &notice)?
        }
    };
    context.output.data(&told(&checkup));
    if !checkup.is_sound() && !args.repair {
        context.output.note(&Line::plain("`longhaul memory fsck --repair` mends what can be mended"));
    }
    Ok(if checkup.is_sound() { Code::Done } else { Code::Integrity })
}

/// Says what was found, line by line, and the verdict last.
fn told(checkup: &Checkup) -> String {
    let Checkup { faults, notes, commits, objects, .. } = checkup;
    let notes = notes.iter().map(|note| format!("note: {note}"));
    let word = |fault: &Fault| if fault.mended { "mended" } else { "damaged" };
    let faults_told = faults.iter().map(|fault| format!("{}: {}", word(fault), fault.what));
    let left = faults.iter().filter(|fault| !fault.mended).count();
    let verdict = match left {
        0 => format!("the memory is sound: {} in {}", counted(*objects, "object"), counted(*commits, "commit")),
        left => format!("the memory is damaged: {}", counted(left, "fault")),
    };
    notes.chain(faults_told).chain([verdict]).collect::<Vec<_>>().join("\n")
}
