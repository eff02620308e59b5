//! One session, from what is laid out before the first turn to the end of its hook.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::driver;
use crate::driver::Driver;
use crate::driver::Ending;
use crate::engine::budget::Budget;
use crate::engine::budget::spent::Spent;
use crate::engine::counted;
use crate::engine::custody;
use crate::engine::facts::Fact;
use crate::engine::session;
use crate::engine::session::Began;
use crate::engine::session::Session;
use crate::engine::session::around;
use crate::engine::session::hook;
use crate::engine::session::hook::Report;
use crate::engine::session::init;
use crate::engine::session::nudges;
use crate::engine::session::opening;
use crate::engine::session::recall;
use crate::engine::session::recall::Question;
use crate::engine::session::reminding::Reminding;
use crate::engine::session::resumed::Cut;
use crate::engine::session::resumed::Resumed;
use crate::engine::verify::pin;
use crate::engine::verify::sweep;
use crate::engine::workspace::Workspace;
use crate::engine::workspace::named;
use crate::event::Event;
use crate::gate::Gate;
use crate::gate::Reuse;
use crate::memory::INIT;
use crate::prompts;
use crate::prompts::Recalled;
use crate::provider::Client;
use crate::provider::ModelSetting;
use crate::sandbox::Git;
use crate::sandbox::Sandbox;
use crate::sandbox::Ways;
use crate::tools;
use crate::tools::Artifacts;
use crate::tools::Kind;
use crate::tools::Phase;
use crate::tools::Toolbox;
use crate::tools::Tools;
use crate::tools::Workplace;
use crate::transcript::Transcript;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

/// A session that has ended, hook included.
#[derive(Debug)]
pub struct Held {
    pub ending: Ending,
    pub report: Report,
    /// The project's trees before and after; the same when nothing but the blanks at line ends differ.
    pub trees: [String; 2],
}

/// Holds one session on `id`, or an initializer session, from its first prompt to the end of its hook.
pub fn hold(ws: &mut Workspace, client: &Client, budget: &mut Budget, id: Option<&str>) -> Result<Held> {
    let number = session::next_number(ws)?;
    let record = Transcript::open(&ws.sessions(), number, ws.clock, &ws.settings.secrets)?;
    let (folder, artifacts) = (record.folder().to_owned(), record.artifacts());
    ws.voice.begin(record);
    let held =
        begin(ws, budget, number, id, &folder, artifacts).and_then(|session| finish(ws, client, budget, session, None));
    close_record(ws, number);
    held
}

/// Holds the rest of a session that was cut off, under its own number.
pub fn go_on(ws: &mut Workspace, client: &Client, budget: &mut Budget, resumed: Resumed) -> Result<Held> {
    let Resumed { session, cut } = resumed;
    let number = session.number;
    ws.voice.begin(Transcript::open(&ws.sessions(), number, ws.clock, &ws.settings.secrets)?);
    budget.resume_session(session.feature.as_deref(), session.used);
    let held = custody::keep(ws).and_then(|()| announce(ws, &session, cut.past.next_turn()));
    let held = held.and_then(|()| finish(ws, client, budget, session, Some(cut)));
    close_record(ws, number);
    held
}

fn close_record(ws: &Workspace, number: u32) {
    if let Some(reason) = ws.voice.end() {
        ws.warn(format!("the record of session {number} has gaps: {reason}"));
    }
}

fn announce(ws: &mut Workspace, session: &Session, turn: u32) -> Result<()> {
    let id = session.feature.as_deref();
    let title = id.map(|id| ws.checklist().and_then(|list| Ok(list.find(id)?.title.clone()))).transpose()?;
    ws.tell(&Event::SessionStarted {
        session: session.number,
        kind: if id.is_some() { "work" } else { "initializer" }.to_owned(),
        feature: session.feature.clone(),
        title,
        model: ws.settings.model.clone(),
        branch: session.branch.clone(),
        turn,
    });
    Ok(())
}

/// Writes down what the session starts from, before anything can change it.
fn begin(
    ws: &mut Workspace,
    budget: &mut Budget,
    number: u32,
    id: Option<&str>,
    folder: &Path,
    artifacts: PathBuf,
) -> Result<Session> {
    budget.begin_session(id);
    let head = ws.head()?;
    let untracked = ws.project.untracked_marks()?;
    session::write_untracked(folder, &untracked)?;
    let began = Began {
        commit: head.commit,
        branch: head.branch,
        branches: ws.project.branches()?,
        standing: ws.project.standing()?,
    };
    session::write_began(folder, &began)?;
    let Began { commit, branch, branches, standing } = began;
    custody::keep(ws)?;
    ws.memory.count_day()?;
    let session = Session {
        number,
        feature: id.map(str::to_owned),
        started_at: commit,
        branch,
        branches,
        standing,
        untracked,
        artifacts,
        used: Spent::default(),
        began: Instant::now(),
    };
    announce(ws, &session, 0)?;
    Ok(session)
}

/// Plays the session and runs its hook, whatever the turns came to.
fn finish(
    ws: &mut Workspace,
    client: &Client,
    budget: &mut Budget,
    mut session: Session,
    cut: Option<Cut>,
) -> Result<Held> {
    let tree = ws.project.tree_of(&session.started_at).or_else(|_| ws.tree())?;
    around::before_session(ws, budget, &session);
    let (ending, tampered) = play(ws, client, budget, &session, cut)?;
    session.used = budget.end_session();
    if ending == Ending::Vanished {
        end(ws, session.number, &ending.to_string(), "");
        return Ok(Held { ending, report: Report::default(), trees: [tree.clone(), tree] });
    }
    let found = ws.inspect(Some(session.number), &session.artifacts)?;
    if session.feature.is_none() {
        freeze_drafts(ws, session.number)?;
    }
    let report = hook::run(ws, (client, budget), &session, &ending, tampered || found.tampered())?;
    if session.feature.is_none() && ending != Ending::Interrupted {
        sweep::baselines(ws, &session.occasion())?;
    }
    let outcome = report.outcome.as_ref().map_or(String::new(), |outcome| outcome.verdict.finding().to_string());
    end(ws, session.number, &report.reason, &outcome);
    let after = ws.head()?.tree;
    let after = if ws.project.differ_in_blanks_only(&tree, &after)? { tree.clone() } else { after };
    Ok(Held { ending, report, trees: [tree, after] })
}

fn end(ws: &Workspace, number: u32, reason: &str, outcome: &str) {
    ws.tell(&Event::SessionEnded { session: number, reason: reason.to_owned(), outcome: outcome.to_owned() });
}

/// Lays out the tools, runs the init script and then the turns; everything the session started is ended here.
fn play(
    ws: &mut Workspace,
    client: &Client,
    budget: &mut Budget,
    session: &Session,
    cut: Option<Cut>,
) -> Result<(Ending, bool)> {
    let desk = ws.project.scratch_folder(&ws.settings.gate.scratch, "session")?;
    let commands = ws.settings.sandbox.commands();
    let sandbox = ws.sandbox(Git::Writable, commands, &[&session.artifacts], &[desk.path()])?;
    let (ways, script) = (ws.ways(), ws.init_script()?);
    let artifacts = Artifacts::new(&session.artifacts, &ws.settings.secrets);
    let deadline = budget.time_left().map(|left| Instant::now() + left);
    let limits = tools::Limits { deadline, ..ws.settings.tool_limits.clone() };
    let at = (session.number, &limits, &artifacts);
    let init_result = script.as_deref().map(|script| init::start(ws, &sandbox, script, at)).transpose()?;
    ws.reopen(&ways);
    let (first, seen) = first(ws, (client, budget), session, cut, init_result)?;
    let settings = asking(ws, deadline)?;
    let checklist = ws.checklist()?;
    let feature = session.feature.as_deref().map(|id| checklist.find(id)).transpose()?;
    let (files, environment, head_tree) = (ws.check_files()?, ws.inner_environment(), ws.tree()?);
    // A session of days writes more than is well kept loose.
    ws.memory.pack_on_the_way(ws.path(), ws.interrupt);
    let place = Workplace {
        root: ws.project.root().to_owned(),
        origin: ws.origin(Some(session.number), session.feature.as_deref()),
        memory: &mut ws.memory,
        sandbox: &sandbox,
        desk: desk.path().to_owned(),
        ways: ways.clone(),
        environment,
        artifacts,
        limits,
        head_tree,
        init_script: script,
        declared: ws.settings.tools,
    };
    let gate = Gate {
        project: &ws.project,
        settings: &ws.settings.gate,
        interrupt: ws.interrupt,
        files,
        init_script: place.init_script.as_deref().map(|script| tools::init_command(script, Phase::Start)),
        install_script: place.init_script.as_deref().map(|script| tools::init_command(script, Phase::Install)),
        init_path: place.init_script.clone(),
        reuse: Reuse::Alike,
        artifacts: session.artifacts.clone(),
        left_out: Vec::new(),
        before: session.untracked.clone(),
        session: Some(session.number),
        deadline,
        clock: ws.clock,
    };
    let kind = match feature {
        Some(feature) => Kind::Work { feature: feature.clone(), gate },
        None => Kind::Initializer { init_text: prompts::init_text },
    };
    let question = feature.map(opening::question);
    let toolbox = Toolbox::new(place, kind)?;
    let mut tools =
        Reminding { toolbox, recall: &ws.settings.recall, clock: ws.clock, sink: &ws.voice, question, seen };
    let driver = Driver { client, settings: &settings, sink: &ws.voice, interrupt: ws.interrupt };
    let ending = first.turns(&driver, &mut tools, budget);
    let tampered = tools.toolbox.tampered();
    drop(tools);
    close(ws, sandbox, &ways);
    Ok((ending?, tampered))
}

/// Ends what the session started: nothing of it may change files, or answer, while its check runs.
fn close(ws: &Workspace, sandbox: Sandbox, ways: &Ways) {
    let survivors = sandbox.end();
    drop(sandbox);
    ws.reopen(ways);
    if !survivors.is_empty() {
        ws.notice(format!("ended with the session: {}", named(&survivors)));
    }
}

/// What the turns begin with.
enum First {
    Opening(driver::Opening),
    /// A conversation that was cut off, and what is told of that.
    Past(Box<driver::Past>, String),
}

impl First {
    fn turns(self, driver: &Driver, tools: &mut dyn Tools, budget: &mut Budget) -> Result<Ending> {
        match self {
            Self::Opening(opening) => driver::drive(driver, tools, &opening, budget),
            Self::Past(past, told) => driver::go_on(driver, tools, *past, &told, budget),
        }
    }
}

/// Gathers what the turns begin with, and the paths of the notes that the agent has seen then.
fn first(
    ws: &mut Workspace,
    (client, budget): (&Client, &mut Budget),
    session: &Session,
    cut: Option<Cut>,
    init_result: Option<String>,
) -> Result<(First, BTreeSet<String>)> {
    if let Some(Cut { past, seen }) = cut {
        return Ok((First::Past(Box::new(past), prompts::Continued { init_result }.render()?), seen));
    }
    let recalled = recall(ws, client, budget, session)?;
    let seen = recalled.iter().map(|note| note.path.clone()).collect();
    Ok((First::Opening(opening::open(ws, session, init_result, recalled)?), seen))
}

/// Says how the model is asked.
fn asking(ws: &Workspace, deadline: Option<Instant>) -> Result<driver::Settings> {
    Ok(driver::Settings {
        model: ws.settings.model.clone(),
        model_setting: ModelSetting::Model,
        max_tokens: ws.settings.max_tokens,
        window: ws.settings.window,
        clear_at: ws.settings.clear_at,
        deadline,
        texts: nudges::texts(ws.settings.max_tokens)?,
    })
}

/// Recalls notes for a session on a feature; an initializer has none to work on.
fn recall(ws: &mut Workspace, client: &Client, budget: &mut Budget, session: &Session) -> Result<Vec<Recalled>> {
    let Some(id) = &session.feature else { return Ok(Vec::new()) };
    let text = opening::question(ws.checklist()?.find(id)?);
    let recalled = recall::recall(ws, Some((client, budget)), &Question { text: &text, seen: &BTreeSet::new() })?;
    ws.memory.mark_used(recalled.iter().map(|note| note.path.as_str()))?;
    Ok(recalled)
}

/// Turns the drafts of an initializer session into features, and pins every check that it gave.
fn freeze_drafts(ws: &mut Workspace, number: u32) -> Result<()> {
    let mut checklist = ws.checklist()?;
    let drafts = checklist.freeze()?;
    let given = |feature: &&Feature| {
        let by_initializer = feature.check.as_ref().is_some_and(|check| check.approved_by == "initializer");
        by_initializer && feature.baseline.is_none()
    };
    let to_pin: Vec<String> = checklist.features().iter().filter(given).map(|feature| feature.id.clone()).collect();
    if drafts.is_empty() && to_pin.is_empty() {
        return Ok(());
    }
    let pinned = pin::pin(ws, &mut checklist, &to_pin)?;
    let origin = ws.origin(Some(number), None);
    let unpinned = drafts.iter().filter(|id| !to_pin.contains(id));
    let told: Vec<Fact> = to_pin.iter().chain(unpinned).map(|id| Fact::approval(&checklist, id)).collect();
    let subject = format!("checklist: freeze {}", counted(drafts.len(), "feature"));
    ws.save_told(&checklist, &subject, &told, pinned, &origin)
}

/// Says what an initializer still has to leave behind.
pub fn missing_after_initializer(ws: &Workspace, checklist: &Checklist) -> Result<Vec<String>> {
    let settled = prompts::needs_no_init(&ws.text(INIT)?);
    Ok(tools::missing(checklist, ws.project.root(), ws.init_script()?.as_deref(), settled))
}
