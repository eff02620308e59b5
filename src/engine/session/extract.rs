//! Notes after a session: a second agent, with the memory tool alone, writes what a later session must know.
//!
//! It has its own model and its own budget. Whatever goes wrong with the service here, the session has ended as it has.

use crate::driver;
use crate::driver::Driver;
use crate::driver::Ending;
use crate::driver::Meter;
use crate::driver::Opening;
use crate::driver::Texts;
use crate::engine::budget::Budget;
use crate::engine::budget::spent::Spent;
use crate::engine::counted;
use crate::engine::session::Session;
use crate::engine::session::course::Course;
use crate::engine::session::nudges;
use crate::engine::session::opening;
use crate::engine::settings::Extract;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::event::Sink;
use crate::memory::Filter;
use crate::memory::MemoryPath;
use crate::memory::NOTES;
use crate::message::Usage;
use crate::prompts::Extraction;
use crate::provider::Client;
use crate::tools::Artifacts;
use crate::tools::Notebook;
use anyhow::Result;
use jiff::SignedDuration;
use jiff::Timestamp;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

/// Sessions with fewer calls have found nothing out.
const FEWEST_CALLS: u32 = 8;
/// Notes are worth no longer wait for a service that is away.
const PATIENCE: Duration = Duration::from_secs(300);
/// The file that says when notes were written last.
const NEWEST: &str = "extracted";

/// Has notes of this session written, or tells why not.
pub fn extract(
    ws: &mut Workspace,
    client: &Client,
    budget: &mut Budget,
    session: &Session,
    ending: &Ending,
) -> Result<()> {
    let Some(how) = &ws.settings.recall.extract else { return Ok(()) };
    let course = Course::of(&ws.sessions(), session.number)?;
    match skipped(ws, how, budget, session, ending, &course)? {
        Some(reason) => ws.tell(&Event::ExtractionSkipped { reason }),
        None => {
            let written = fs::write(newest(ws), ws.clock.now().to_string());
            written.unwrap_or_else(|error| ws.warn(format!("`{}` was not written: {error}", newest(ws).display())));
            write(ws, client, budget, how, (session, ending, &course))?;
        }
    }
    Ok(())
}

/// Says why nobody is asked for notes.
fn skipped(
    ws: &Workspace,
    how: &Extract,
    budget: &mut Budget,
    session: &Session,
    ending: &Ending,
    course: &Course,
) -> Result<Option<String>> {
    if ws.interrupt.requested() || *ending == Ending::Interrupted {
        return Ok(Some("the session was interrupted".to_owned()));
    }
    if matches!(ending, Ending::Provider(_) | Ending::Away(_)) {
        return Ok(Some("the model service failed".to_owned()));
    }
    if course.calls() < FEWEST_CALLS {
        return Ok(Some(format!("the session was short, {}", counted(course.calls() as usize, "call"))));
    }
    let of_notes = Filter {
        path: Some(MemoryPath::relative(NOTES)?),
        session: Some(session.number),
        limit: Some(1),
        ..Filter::default()
    };
    if !ws.memory.history(&of_notes)?.is_empty() {
        return Ok(Some("the agent took some itself".to_owned()));
    }
    if pauses(ws, how.pause) {
        return Ok(Some("some were taken after a session just before; see `recall.extract_pause`".to_owned()));
    }
    Ok(budget.run_exhausted())
}

/// Tells whether notes were written too short a time ago.
fn pauses(ws: &Workspace, pause: Duration) -> bool {
    let then = fs::read_to_string(newest(ws)).ok().and_then(|text| text.trim().parse::<Timestamp>().ok());
    let passed = then.map(|then| ws.clock.now().duration_since(then));
    // A clock that went back is no reason to wait.
    passed.is_some_and(|passed| passed >= SignedDuration::ZERO && passed.unsigned_abs() < pause)
}

fn newest(ws: &Workspace) -> PathBuf {
    ws.memory.place().state.join(NEWEST)
}

fn write(
    ws: &mut Workspace,
    client: &Client,
    budget: &mut Budget,
    how: &Extract,
    (session, ending, course): (&Session, &Ending, &Course),
) -> Result<()> {
    let opening = open(ws, how, session, ending, course)?;
    let patience = budget.time_left().map_or(PATIENCE, |left| left.min(PATIENCE));
    let settings = driver::Settings {
        model: how.model.clone(),
        model_setting: how.model_setting,
        max_tokens: ws.settings.max_tokens,
        // It ends by its budget long before the window is full.
        window: 0,
        clear_at: ws.settings.clear_at,
        deadline: Some(Instant::now() + patience),
        // Who has no more to note may end without a word.
        texts: Texts { empty: String::new(), ..nudges::texts(ws.settings.max_tokens)? },
    };
    let origin = ws.origin(Some(session.number), session.feature.as_deref());
    let artifacts = Artifacts::new(&session.artifacts, &ws.settings.secrets);
    let mut notebook = Notebook::new(&mut ws.memory, origin, artifacts, ws.settings.tools);
    let feature = session.feature.as_deref();
    let mut purse = Purse { budget, how, feature, sink: &ws.voice, used: Spent::default() };
    let driver = Driver { client, settings: &settings, sink: &Unheard, interrupt: ws.interrupt };
    let ended = driver::drive(&driver, &mut notebook, &opening, &mut purse)?;
    let notes = notebook.changed().iter().cloned().collect();
    if let Ending::Provider(failure) = &ended {
        ws.warn(format!("writing notes after the session was cut short: {failure}"));
    }
    let Spent { turns, usage, cost, .. } = purse.used;
    let ended = if ended == Ending::Stopped { String::new() } else { ended.to_string() };
    ws.tell(&Event::Extracted { model: how.model.clone(), turns, tokens: usage.total(), cost, notes, ended });
    Ok(())
}

fn open(ws: &mut Workspace, how: &Extract, session: &Session, ending: &Ending, course: &Course) -> Result<Opening> {
    let checklist = ws.checklist()?;
    let feature = session.feature.as_deref().map(|id| checklist.find(id)).transpose()?;
    let extraction = Extraction {
        notes: NOTES.to_owned(),
        turns: how.turns,
        feature: feature.map(opening::question),
        ended: ending.to_string(),
        happened: course.text(),
        index: opening::index(ws)?,
    };
    Ok(Opening { system: extraction.rules()?, first: extraction.render()? })
}

/// The budget of one extraction, beside that of the run.
struct Purse<'a> {
    budget: &'a mut Budget,
    how: &'a Extract,
    feature: Option<&'a str>,
    sink: &'a dyn Sink,
    used: Spent,
}

impl Meter for Purse<'_> {
    fn exhausted(&mut self) -> Option<String> {
        if self.used.turns >= self.how.turns {
            return Some(format!("its limit of {} is reached", counted(self.how.turns as usize, "turn")));
        }
        self.used_up()
    }

    fn used_up(&mut self) -> Option<String> {
        let tokens = (self.used.usage.total() >= self.how.tokens).then_some(self.how.tokens);
        let tokens = tokens.map(|tokens| format!("its limit of {tokens} tokens is reached"));
        tokens.or_else(|| self.budget.run_exhausted())
    }

    fn turn(&mut self) {
        self.used.turns += 1;
    }

    fn under_way(&mut self, usage: &Usage) -> Option<f64> {
        self.budget.extract_under_way(usage)
    }

    fn spend(&mut self, usage: &Usage) -> Option<f64> {
        let cost = self.budget.spend_extract(self.feature, usage);
        self.used.add(usage, cost);
        // At once, since a kill may come before the end; the driver's own words are not heard.
        self.sink.take(&Event::Used { by: "notes".to_owned(), model: self.how.model.clone(), usage: *usage, cost });
        self.sink.take(&self.budget.spent());
        cost
    }

    fn spent(&self) -> Event {
        self.budget.spent()
    }
}

/// The session's record is the agent's conversation; this one is told by what came of it.
struct Unheard;

impl Sink for Unheard {
    fn take(&self, _event: &Event) {}
}
