//! Setting up: the memory repository, its seeds, an imported checklist, a specification, the initializer session.
//!
//! Every step adds what is missing and overwrites nothing, so an `init` that was cut off is finished by the next one.

use crate::checklist::Checklist;
use crate::checklist::Imported;
use crate::checklist::Report;
use crate::checklist::read_import;
use crate::clock::Clock;
use crate::engine::commands::feature;
use crate::engine::counted;
use crate::engine::session::mend;
use crate::engine::settings::Settings;
use crate::engine::workspace;
use crate::engine::workspace::Workspace;
use crate::engine::workspace::lock::RunLock;
use crate::event::Sink;
use crate::failure::Failure;
use crate::memory::Author;
use crate::memory::Change;
use crate::memory::Filter;
use crate::memory::MemoryPath;
use crate::memory::Origin;
use crate::memory::Place;
use crate::memory::Policy;
use crate::memory::SPEC;
use crate::memory::Store;
use crate::process::Interrupt;
use crate::project;
use crate::project::LockFile;
use crate::project::Project;
use crate::prompts;
use crate::sandbox::Git;
use crate::sandbox::Level;
use crate::tools;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::path::PathBuf;

/// What `init` is asked to take in.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub spec: Option<PathBuf>,
    pub from: Option<PathBuf>,
}

/// What `init` did.
#[derive(Debug, Default)]
pub struct Done {
    pub root: PathBuf,
    pub memory: PathBuf,
    /// The seeds that were missing and are there now, by what they are.
    pub seeded: Vec<String>,
    /// The specification was taken in.
    pub spec: bool,
    /// The checklist was taken in, with what the importer has to say.
    pub imported: Option<Report>,
    /// What was asked for and left alone, because memory already holds something there.
    pub kept: Vec<String>,
    /// Lock files at the project's root: what they name has to be installed before a check can run elsewhere.
    pub lock_files: Vec<LockFile>,
}

impl Done {
    /// Tells whether everything was there already.
    pub fn changed_nothing(&self) -> bool {
        self.seeded.is_empty() && !self.spec && self.imported.is_none()
    }
}

/// What was read before anything was written, so that bad input leaves no half-made memory.
struct Read {
    spec: Option<String>,
    import: Option<Imported>,
}

/// Makes the memory of the project around `dir`, or completes it, and returns the opened workspace.
pub fn init<'a>(
    dir: &Path,
    sources: &Sources,
    settings: &'a Settings,
    clock: Clock,
    sink: &'a dyn Sink,
    interrupt: &'a Interrupt,
) -> Result<(Workspace<'a>, Done)> {
    let read = read(sources)?;
    let mut project = Project::discover(dir, settings.outer.clone())?;
    project.require_comparable()?;
    let place = Place::in_project(project.root(), project.common_dir());
    // What is in there is the user's own, whatever the umask says.
    DirBuilder::new().recursive(true).mode(0o700).create(&place.state).with_context(|| {
        format!(
            "could not make `{}`; longhaul keeps its memory there, so the folder must be writable",
            place.state.display()
        )
    })?;
    let lock = RunLock::take(&place.state.join("run.lock"))?;
    if settings.sandbox.level == Level::Bubblewrap {
        project.hold_git(&settings.sandbox, Git::Writable)?;
    }
    project.exclude(".longhaul/")?;
    project.exclude(&format!("{}*", tools::TORN))?;
    let mut done = Done {
        root: project.root().to_owned(),
        memory: place.repository.clone(),
        lock_files: project::lock_files(project.root()),
        ..Done::default()
    };
    let mut memory = if Store::exists(&place) {
        Store::open(&place, Policy::Project, settings.caps, clock)?
    } else {
        workspace::require_no_sessions(&place)?;
        Store::create(&place, Policy::Project, settings.caps, clock)?
    };
    memory.screen(settings.screen.clone());
    let mut ws = Workspace::of(project, memory, lock, settings, clock, sink, interrupt);
    ws.end_orphans();
    ws.memory.take_in_branch(&|_| {})?;
    ws.memory.recovered().into_iter().for_each(|text| ws.warn(text));
    mend::before_work(&ws)?;
    seed(&mut ws, &mut done)?;
    take_spec(&mut ws, read.spec, &mut done)?;
    take_checklist(&mut ws, read.import, &mut done)?;
    Ok((ws, done))
}

fn read(sources: &Sources) -> Result<Read> {
    let spec = sources.spec.as_deref().map(read_spec).transpose()?;
    let import = match &sources.from {
        None => None,
        Some(path) => {
            let bytes = read_bytes(path, "the checklist")?;
            let refused = |problem: String| {
                Failure::usage(format!("the checklist `{}` cannot be taken in: {problem}", path.display()))
                    .hint("correct the file and run the same command again; nothing was changed")
            };
            let imported = read_import(&bytes).map_err(|problem| refused(format!("{problem:#}")))?;
            Checklist::empty().add(&imported.features, "user").map_err(|problem| refused(format!("{problem:#}")))?;
            Some(imported)
        }
    };
    Ok(Read { spec, import })
}

/// Reads a specification; an empty one would leave the initializer to guess.
fn read_spec(path: &Path) -> Result<String> {
    let text = read_text(path, "the specification")?;
    if text.trim().is_empty() {
        let told = format!("the specification `{}` is empty", path.display());
        return Err(Failure::usage(told)
            .hint("write down what is to be built, then run the same command again")
            .into());
    }
    Ok(text)
}

/// Reads a file a person named; what is wrong with it is their business, so each fault is a usage failure.
fn read_bytes(path: &Path, what: &str) -> Result<Vec<u8>> {
    Ok(fs::read(path).map_err(|error| {
        Failure::usage(format!("could not read {what} `{}`: {error}", path.display())).hint("check the path")
    })?)
}

fn read_text(path: &Path, what: &str) -> Result<String> {
    String::from_utf8(read_bytes(path, what)?).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Failure::usage(format!("{what} `{}` is not UTF-8: the byte at offset {offset} is no text", path.display()))
            .hint("save it as UTF-8, for example with `iconv -t UTF-8`")
            .into()
    })
}

fn seed(ws: &mut Workspace, done: &mut Done) -> Result<()> {
    let name = ws.project.root().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    for seed in prompts::seeds(&name)? {
        let filter = Filter { path: Some(MemoryPath::relative(seed.path)?), limit: Some(1), ..Filter::default() };
        // One that was removed on purpose stays away.
        if ws.memory.read(seed.path)?.is_some() || !ws.memory.history(&filter)?.is_empty() {
            continue;
        }
        let change = Change::put(seed.path, seed.text);
        ws.memory.write(&format!("init: {}", seed.what), &[change], &Origin::of(Author::Longhaul))?;
        done.seeded.push(seed.what.to_owned());
    }
    Ok(())
}

fn take_spec(ws: &mut Workspace, spec: Option<String>, done: &mut Done) -> Result<()> {
    let Some(text) = spec else { return Ok(()) };
    if let Some(there) = ws.memory.read(SPEC)? {
        if there != text.as_bytes() {
            done.kept.push(
                "another specification is in memory already; `longhaul memory delete spec.md` makes room for this one"
                    .to_owned(),
            );
        }
        return Ok(());
    }
    ws.refuse_secret("the specification", &text)?;
    let change = Change::put(SPEC, text);
    ws.memory.write("init: specification", &[change], &Origin::of(Author::Longhaul))?;
    done.spec = true;
    Ok(())
}

fn take_checklist(ws: &mut Workspace, import: Option<Imported>, done: &mut Done) -> Result<()> {
    let Some(imported) = import else { return Ok(()) };
    if !ws.checklist()?.features().is_empty() {
        done.kept.push(
            "the checklist in memory, which has features already: the file was read and not taken in; \
             `longhaul feature add` adds further ones"
                .to_owned(),
        );
        return Ok(());
    }
    ws.refuse_secret("the checklist", &imported.features.to_string())?;
    let mut checklist = Checklist::empty();
    let ids = checklist.add(&imported.features, "user")?;
    feature::save_approved(ws, checklist, &ids, &format!("checklist: import {}", counted(ids.len(), "feature")))?;
    done.imported = Some(imported.report);
    Ok(())
}
