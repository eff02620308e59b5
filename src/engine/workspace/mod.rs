//! A project with its memory, opened for one command.

mod found;
pub mod lock;
pub mod voice;

pub use found::described;
pub(in crate::engine) use found::named;

use crate::checklist::Checklist;
use crate::checklist::ParseProblem;
use crate::clock::Clock;
use crate::engine::facts;
use crate::engine::facts::Fact;
use crate::engine::settings::Settings;
use crate::engine::workspace::lock::RunLock;
use crate::engine::workspace::voice::Voice;
use crate::event::Event;
use crate::event::Sink;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::gate;
use crate::gate::CheckFiles;
use crate::gate::Gate;
use crate::gate::Reuse;
use crate::memory;
use crate::memory::Author;
use crate::memory::CHECKLIST;
use crate::memory::Change;
use crate::memory::Findings;
use crate::memory::INIT;
use crate::memory::Origin;
use crate::memory::PINNED;
use crate::memory::Place;
use crate::memory::Policy;
use crate::memory::Store;
use crate::memory::Unfinished;
use crate::process::Interrupt;
use crate::project::Head;
use crate::project::Identity;
use crate::project::Marks;
use crate::project::Project;
use crate::prompts;
use crate::sandbox;
use crate::sandbox::Git;
use crate::sandbox::Level;
use crate::sandbox::Network;
use crate::sandbox::Room;
use crate::sandbox::Sandbox;
use crate::sandbox::Ways;
use crate::tools;
use crate::tools::Phase;
use crate::transcript;
use anyhow::Context;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

/// What a command works with. The lock, where there is one, is held as long as this lives.
pub struct Workspace<'a> {
    pub project: Project,
    pub memory: Store,
    pub settings: &'a Settings,
    pub voice: Voice<'a>,
    pub interrupt: &'a Interrupt,
    pub clock: Clock,
    /// The moment at which the run's budget of time is used up: no check goes on after it.
    pub deadline: Option<Instant>,
    _lock: Option<RunLock>,
}

/// For which session a check runs, and where its outputs go.
#[derive(Clone, Debug)]
pub struct Occasion {
    pub session: Option<u32>,
    pub outputs: PathBuf,
    /// Files that the session made and that are in no commit; a pass may rest on them.
    pub left_out: Vec<String>,
    /// For which commits it will do what was installed before.
    pub reuse: Reuse,
}

impl Occasion {
    /// Returns the occasion of a check that belongs to no session.
    pub fn outside(ws: &Workspace) -> Self {
        Self { session: None, outputs: ws.outputs(), left_out: Vec::new(), reuse: Reuse::Alike }
    }

    /// Returns the occasion of the sweep after which nothing is open any more: nothing older may help.
    pub fn last(ws: &Workspace) -> Self {
        Self { reuse: Reuse::Same, ..Self::outside(ws) }
    }
}

/// Whether a command only looks, or changes something and so takes the run lock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    Look,
    /// It writes into memory, between two writes of a run if one is on. What a session may not change waits for its end.
    Write,
    Change,
    /// It changes something, and runs commands.
    Work,
}

impl<'a> Workspace<'a> {
    /// Opens the project around `dir` whose memory `init` has made.
    pub fn open(
        dir: &Path,
        access: Access,
        settings: &'a Settings,
        clock: Clock,
        sink: &'a dyn Sink,
        interrupt: &'a Interrupt,
    ) -> Result<Self> {
        let mut project = Project::discover(dir, settings.outer.clone())?;
        project.withhold(&settings.secrets);
        let place = Place::in_project(project.root(), project.common_dir());
        if !Store::exists(&place) {
            require_no_sessions(&place)?;
            return Err(Failure::usage(format!("`{}` has no longhaul memory yet", project.root().display()))
                .hint("run `longhaul init` there first")
                .into());
        }
        match access {
            // Checks would fail one after the other there.
            Access::Work => drop(gate::outside(&settings.gate.scratch, project.root())?),
            // Who works sets aside what is in the way.
            _ => project.require_readable()?,
        }
        let run_lock = place.state.join("run.lock");
        let (lock, apart) = match access {
            Access::Look => (None, None),
            Access::Write => (None, RunLock::keep_out(&run_lock)?),
            Access::Change | Access::Work => (Some(RunLock::take(&run_lock)?), None),
        };
        let mut links = Vec::new();
        if access == Access::Work && settings.sandbox.level == Level::Bubblewrap {
            links = project.set_aside_links(&place.state.join("outputs"))?;
            project.hold_git(&settings.sandbox, Git::Writable)?;
        }
        let mut memory = Store::open(&place, Policy::Project, settings.caps, clock)?;
        memory.screen(settings.screen.clone());
        let mut ws =
            Self { project, memory, settings, voice: Voice::new(sink), interrupt, clock, deadline: None, _lock: lock };
        links.into_iter().for_each(|text| ws.warn(text));
        if ws._lock.is_some() || apart.is_some() {
            ws.end_orphans();
            let voice = &ws.voice;
            ws.memory.take_in_branch(&|text| voice.take(&Event::Warning { text: text.to_owned() }))?;
        }
        drop(apart);
        if access == Access::Write {
            ws.memory.on_protected(move || Ok(Box::new(RunLock::keep_out_or_fail(&run_lock)?)));
        }
        ws.memory.recovered().into_iter().for_each(|text| ws.warn(text));
        if access == Access::Look {
            ws.memory.strayed()?.into_iter().for_each(|text| ws.warn(text));
        }
        for misnamed in memory::misnamed(&place) {
            let (found, back) = (misnamed.found.display(), misnamed.way_back());
            ws.warn(format!(
                "a purge gave something of longhaul's own another name, `{found}`; this takes it back: `{back}`"
            ));
        }
        match ws.memory.unfinished_purge() {
            Unfinished::No => {}
            Unfinished::AtWork => ws.warn(
                "a `longhaul memory purge` is running: until it has ended, its text may still be shown, and then commits \
                 have other ids",
            ),
            Unfinished::Killed => ws.warn(
                "a `longhaul memory purge` was ended before it had removed all: run it again with the same text; with any \
                 other of 6 bytes it ends too, and leaves the text where it had not come to yet",
            ),
        }
        Ok(ws)
    }

    /// Ends the commands that a killed longhaul left running, before they write over what comes now, and removes its
    /// temporary folders.
    pub(in crate::engine) fn end_orphans(&self) {
        let survivors = sandbox::end_orphans(self.project.common_dir());
        if !survivors.is_empty() {
            let named = named(&survivors);
            self.warn(format!("commands of a longhaul that was killed were still running, and were ended: {named}"));
        }
        self.project.remove_left(&self.settings.gate.scratch);
    }

    /// Wraps the parts that `init` has just made.
    pub(in crate::engine) fn of(
        project: Project,
        memory: Store,
        lock: RunLock,
        settings: &'a Settings,
        clock: Clock,
        sink: &'a dyn Sink,
        interrupt: &'a Interrupt,
    ) -> Self {
        Self { project, memory, settings, voice: Voice::new(sink), interrupt, clock, deadline: None, _lock: Some(lock) }
    }

    /// Does what has so much time at least, however little is left of the run's.
    pub fn grant<T>(&mut self, least: Duration, work: impl FnOnce(&mut Self) -> T) -> T {
        let until = self.deadline;
        self.deadline = until.map(|until| until.max(Instant::now() + least));
        let done = work(self);
        self.deadline = until;
        done
    }

    /// Returns the folder of the sessions' records.
    pub fn sessions(&self) -> PathBuf {
        self.memory.place().state.join("sessions")
    }

    /// Returns the folder for outputs of checks that ran outside a session.
    pub fn outputs(&self) -> PathBuf {
        self.memory.place().state.join("outputs")
    }

    /// Notes the folders that have to be entered whatever a command does.
    pub fn ways(&self) -> Ways {
        let (root, git) = (self.project.root(), self.project.common_dir());
        let Place { state, repository, view, .. } = self.memory.place();
        let inside = ["objects", "refs", "refs/heads", "logs", "info"].map(|name| git.join(name));
        let view = view.parent().into_iter().chain([view.as_path()]).map(Path::to_owned);
        let all = [root, git, state, repository].map(Path::to_owned).into_iter().chain([self.sessions()]);
        Ways::of(all.chain(inside).chain(view))
    }

    /// Opens them again and says so.
    pub fn reopen(&self, ways: &Ways) {
        for folder in ways.reopen() {
            self.warn(format!("`{}` could not be entered any more; it was opened again for you", folder.display()));
        }
    }

    /// Tells an event to the person and to the session's record.
    pub fn tell(&self, event: &Event) {
        self.voice.take(event);
    }

    /// Tells something that needs no action.
    pub fn notice(&self, text: impl Into<String>) {
        self.tell(&Event::Notice { text: text.into() });
    }

    /// Tells something a person should look at.
    pub fn warn(&self, text: impl Into<String>) {
        self.tell(&Event::Warning { text: text.into() });
    }

    /// Returns where programs are looked for.
    pub fn path(&self) -> &'a str {
        self.settings.inner.get("PATH").map_or("", String::as_str)
    }

    /// Returns the environment of the agent's commands, marked as this project's.
    pub fn inner_environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.settings.inner.clone();
        sandbox::mark(&mut environment, self.project.common_dir());
        if self.settings.sandbox.level == Level::Bubblewrap {
            // The user's own git settings are not there.
            let Identity { name, mail } = self.project.identity();
            let root = self.project.root().to_string_lossy().into_owned();
            let settings = [("user.name", name), ("user.email", mail), ("safe.directory", root)];
            environment.insert("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
            for (number, (key, value)) in settings.into_iter().enumerate() {
                environment.insert(format!("GIT_CONFIG_KEY_{number}"), key.to_owned());
                environment.insert(format!("GIT_CONFIG_VALUE_{number}"), value);
            }
        }
        environment
    }

    /// Opens a sandbox that shows the working tree, and beside it `shown` read-only and `writable`.
    pub fn sandbox(&self, git: Git, network: Network, shown: &[&Path], writable: &[&Path]) -> Result<Sandbox> {
        let owned = |folders: &[&Path]| folders.iter().map(|folder| folder.to_path_buf()).collect();
        let room = Room {
            root: self.project.root().to_owned(),
            folder: self.project.root().to_owned(),
            common_dir: self.project.common_dir().to_owned(),
            git,
            shown: owned(shown),
            writable: owned(writable),
            objects: None,
            held: Vec::new(),
            network,
        };
        Sandbox::open(&self.settings.sandbox, room, self.interrupt)
    }

    /// Returns the project's HEAD, where there must be one.
    pub fn head(&self) -> Result<Head> {
        self.project.head()?.context("the project has no commit yet")
    }

    /// Returns the tree at the project's HEAD; empty before the first commit.
    pub fn tree(&self) -> Result<String> {
        Ok(self.project.head()?.map(|head| head.tree).unwrap_or_default())
    }

    /// Reads the committed checklist.
    ///
    /// One of zero bytes is taken back from the newest commit that holds a good one; any other fault is a usage error,
    /// because writing over what cannot be read would lose it.
    pub fn checklist(&mut self) -> Result<Checklist> {
        let (checklist, recovered) = self.committed_checklist()?;
        if recovered {
            self.save(&checklist, "checklist: recover the last good version", vec![], &Origin::of(Author::Longhaul))?;
        }
        Ok(checklist)
    }

    /// Reads the checklist and writes nothing; also tells whether it had to be taken back from an earlier commit.
    pub fn committed_checklist(&self) -> Result<(Checklist, bool)> {
        let bytes = self.memory.read(CHECKLIST)?.unwrap_or_default();
        if !bytes.trim_ascii().is_empty() {
            return Ok((Checklist::read(&bytes).map_err(|problem| unreadable(&problem))?, false));
        }
        let good = |bytes: &[u8]| Checklist::read(bytes).is_ok();
        let Some((commit, bytes)) = self.memory.newest_version(CHECKLIST, &good)? else {
            return Ok((Checklist::empty(), false));
        };
        self.warn(format!("the checklist was empty; taken back from the memory commit {}", &commit[..7]));
        Ok((Checklist::read(&bytes).map_err(|problem| unreadable(&problem))?, true))
    }

    /// Commits the checklist, with `others` in the same commit; does nothing when nothing differs.
    pub fn save(&mut self, checklist: &Checklist, subject: &str, others: Vec<Change>, origin: &Origin) -> Result<()> {
        self.save_told(checklist, subject, &[], others, origin)
    }

    /// Commits the checklist as [`Workspace::save`] does, with what the commit says of features.
    pub fn save_told(
        &mut self,
        checklist: &Checklist,
        subject: &str,
        told: &[Fact],
        others: Vec<Change>,
        origin: &Origin,
    ) -> Result<()> {
        let text = checklist.render();
        let same = self.memory.read(CHECKLIST)?.is_some_and(|bytes| bytes == text.as_bytes());
        let mut changes = others;
        if !same {
            changes.push(Change::put(CHECKLIST, text));
        }
        if changes.is_empty() {
            return Ok(());
        }
        let origin = facts::concerning(told, origin);
        let id = self.memory.write_told(subject, &facts::body(told), &changes, &origin)?;
        self.tell(&Event::Committed { place: "memory".to_owned(), id, subject: subject.to_owned() });
        Ok(())
    }

    /// Refuses what a person gives when it has what looks like a secret; `what` names it.
    pub fn refuse_secret(&self, what: &str, text: &str) -> Result<()> {
        let Some(told) = self.memory.secret_in(text) else { return Ok(()) };
        Err(Failure::usage(format!("{what} is not taken in: {told}"))
            .hint("write where it is kept, and leave it out; if it is none, `--set memory.secrets=allow` lets it pass")
            .into())
    }

    /// Returns who writes when longhaul does, for the trailers of a commit.
    pub fn origin(&self, session: Option<u32>, feature: Option<&str>) -> Origin {
        let project_commit = self.project.head().ok().flatten().map(|head| head.commit);
        Origin { session, feature: feature.map(str::to_owned), project_commit, ..Origin::of(Author::Longhaul) }
    }

    /// Makes the gate for the committed checks of now.
    pub fn gate(&self, at: &Occasion) -> Result<Gate<'_>> {
        let script = self.init_script()?;
        let init = |phase| script.as_deref().map(|script| tools::init_command(script, phase));
        Ok(Gate {
            project: &self.project,
            settings: &self.settings.gate,
            interrupt: self.interrupt,
            files: self.check_files()?,
            init_script: init(Phase::Start),
            install_script: init(Phase::Install),
            init_path: script.clone(),
            reuse: at.reuse,
            artifacts: at.outputs.clone(),
            left_out: at.left_out.clone(),
            before: Marks::new(),
            session: at.session,
            deadline: self.deadline,
            clock: self.clock,
        })
    }

    /// Reads the check files of memory's HEAD, without the pinned bytes.
    pub fn check_files(&self) -> Result<CheckFiles> {
        let files = self.memory.read_all("checks/")?;
        let named =
            files.into_iter().filter_map(|(path, bytes)| Some((path.strip_prefix("checks/")?.to_owned(), bytes)));
        Ok(CheckFiles::new(named.filter(|(name, _)| !name.starts_with("pinned/")).collect()))
    }

    /// Returns the bytes behind a pinned id.
    pub fn pinned(&self, id: &str) -> Option<Vec<u8>> {
        self.memory.read(&format!("{PINNED}{id}")).ok().flatten()
    }

    /// Reads a file of memory as text; empty when there is none.
    pub fn text(&self, path: &str) -> Result<String> {
        Ok(self.memory.read(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default())
    }

    /// Returns the path of the init script that memory names, relative to the project.
    pub fn init_script(&self) -> Result<Option<String>> {
        Ok(prompts::init_path(&self.text(INIT)?))
    }

    /// Compares the view with HEAD: people's edits are adopted, protected files put back; all of it is told.
    pub fn inspect(&mut self, session: Option<u32>, keep_in: &Path) -> Result<Findings> {
        let origin = Origin { session, ..Origin::of(Author::External) };
        let findings = self.memory.inspect(&origin, keep_in)?;
        self.tell_findings(&findings);
        Ok(findings)
    }
}

fn unreadable(problem: &ParseProblem) -> Failure {
    Failure::usage(format!("the checklist `/memories/{CHECKLIST}` cannot be read: {problem}"))
        .hint("nothing was written over it; see its versions with `longhaul log features.json -p`")
}

/// Refuses to take a memory that is gone for one that never was.
pub(in crate::engine) fn require_no_sessions(place: &Place) -> Result<()> {
    if let Some(misnamed) = memory::misnamed(place).into_iter().find(|misnamed| misnamed.own == place.repository) {
        let text =
            format!("the memory is there under another name, `{}`: a purge gave it that", misnamed.found.display());
        let hint = format!("`{}`, then `longhaul memory fsck --repair`", misnamed.way_back());
        return Err(Failure::new(Kind::Integrity, text).hint(hint).into());
    }
    if transcript::sessions(&place.state.join("sessions"))?.is_empty() {
        return Ok(());
    }
    let gone = format!("the memory `{}` is gone, though sessions were held", place.repository.display());
    let hint = format!("bring it back from a backup; to start over for good, remove `{}`", place.state.display());
    Err(Failure::new(Kind::Integrity, gone).hint(hint).into())
}
