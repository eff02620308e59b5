//! The session-end hook: always runs, also after a crash of the agent.
//!
//! Each step is committed before the next begins, so a kill between two of them loses neither: the next run finds the
//! session unfinished, and `recover` does what is missing.

use crate::checklist;
use crate::driver::Ending;
use crate::engine::budget::Budget;
use crate::engine::counted;
use crate::engine::custody;
use crate::engine::facts::Fact;
use crate::engine::pick;
use crate::engine::session::Session;
use crate::engine::session::around;
use crate::engine::session::astray;
use crate::engine::session::expire;
use crate::engine::session::extract;
use crate::engine::session::leftover;
use crate::engine::session::mend;
use crate::engine::session::refusal;
use crate::engine::verify;
use crate::engine::verify::Outcome;
use crate::engine::verify::sweep;
use crate::engine::verify::sweep::Swept;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::memory;
use crate::memory::Change;
use crate::memory::Filter;
use crate::memory::MemoryPath;
use crate::memory::PROGRESS;
use crate::project::Leftover;
use crate::provider::Client;
use anyhow::Context;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;

/// Attempts in a row that fail in the same way, after which another one would be a waste.
const EQUAL: u32 = 3;

/// What goes into the progress log: longhaul's facts, and the agent's own words.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub facts: Vec<String>,
    pub words: String,
}

/// What the hook did and found.
#[derive(Debug, Default)]
pub struct Report {
    pub outcome: Option<Outcome>,
    pub swept: Swept,
    /// What became of the branch when the session left it or rewrote it, and of the settings' files, in sentences.
    pub moved: Vec<String>,
    /// Why the session ended, one sentence.
    pub reason: String,
}

/// Runs every step for a session that has just ended.
pub fn run(
    ws: &mut Workspace,
    (client, budget): (&Client, &mut Budget),
    session: &Session,
    ending: &Ending,
    tampered: bool,
) -> Result<Report> {
    let mut report = Report { reason: ending.to_string(), ..Report::default() };
    report.moved = mend::after_session(ws, session)?;
    let leftover = leftover::of_session(ws, session)?;
    report.moved.extend(astray::keep(ws, session)?);
    report.moved.extend(custody::changed(ws)?);
    report.moved.iter().for_each(|text| ws.warn(text));
    step(ws, "leftover changes committed");
    // A person who interrupts wants to stop now: the next run starts with this check.
    if !matches!(ending, Ending::Interrupted) {
        let at = Occasion {
            left_out: leftover.left_out.iter().map(|(path, _)| path.clone()).collect(),
            ..session.occasion()
        };
        (report.outcome, report.swept) =
            ws.grant(verify::LEAST, |ws| run_checks(ws, session, ending, tampered, &at))?;
        if !report.swept.regressed.is_empty() {
            ws.warn(format!("regressed: {}; a check that passed fails now", report.swept.regressed.join(", ")));
        }
        step(ws, "sweep recorded");
    }
    let entry = entry(ws, session, ending, tampered, &leftover, &report)?;
    append_progress(ws, session.number, &entry)?;
    step(ws, "progress written");
    extract::extract(ws, client, budget, session, ending)?;
    expire::expire(ws, session.number)?;
    ws.memory.checkpoint()?;
    keep_up(ws, ending);
    around::after_session(ws, budget, &outcome_json(session, &report));
    Ok(report)
}

/// Packs the memory from time to time. Nothing depends on it, so that a failure is only told.
fn keep_up(ws: &mut Workspace, ending: &Ending) {
    if !matches!(ending, Ending::Interrupted)
        && let Err(error) = ws.memory.keep_up(ws.path(), ws.interrupt)
    {
        ws.warn(memory::not_packed(&error));
    }
}

fn step(ws: &Workspace, name: &str) {
    ws.tell(&Event::HookStep { step: name.to_owned() });
}

/// Runs the session's check, and those of what is done already.
fn run_checks(
    ws: &mut Workspace,
    session: &Session,
    ending: &Ending,
    tampered: bool,
    at: &Occasion,
) -> Result<(Option<Outcome>, Swept)> {
    let outcome = run_check(ws, session, ending, tampered, at)?;
    step(ws, "check recorded");
    let touched = ws.project.changed_paths(&session.started_at, &ws.head()?.commit).unwrap_or_default();
    Ok((outcome, sweep::sweep(ws, &touched, Some(ws.settings.sweep_budget), at)?))
}

/// Runs the session's check. A session that changed protected files by hand proves nothing, whatever the check says.
fn run_check(
    ws: &mut Workspace,
    session: &Session,
    ending: &Ending,
    tampered: bool,
    at: &Occasion,
) -> Result<Option<Outcome>> {
    let Some(id) = &session.feature else { return Ok(None) };
    if let Ending::HandedOver(hand_over) = ending
        && let Some(problem) = &hand_over.check_problem
    {
        wait_for_person(ws, session, id, problem)?;
        return Ok(None);
    }
    if tampered {
        ws.warn(format!(
            "session {} changed files or the history of memory that are longhaul's: they were put back, and it proves \
             nothing; {id} stays as it was\n\
             files that were found are kept in {}, commits below `refs/longhaul/found/` of the memory",
            session.number,
            session.artifacts.display()
        ));
        count_attempt(ws, session, id)?;
        return Ok(None);
    }
    let attempt = refusal::attempt(ws, session, ending)?;
    let outcome = verify::verify(ws, id, attempt, at)?;
    if !outcome.verdict.proves() {
        refusal::note(ws, session, id, ending, attempt)?;
    }
    let feature = ws.checklist()?.find(id)?.clone();
    if !feature.unapproved.is_empty() {
        ws.warn(pick::unapproved(&feature));
    } else if !outcome.verdict.proves() {
        block_if_tried_enough(ws, session, id)?;
    }
    Ok(Some(outcome))
}

fn count_attempt(ws: &mut Workspace, session: &Session, id: &str) -> Result<()> {
    let mut checklist = ws.checklist()?;
    checklist.count_attempt(id)?;
    let origin = ws.origin(Some(session.number), Some(id));
    let told = [Fact::of("attempt", id, json!({"reason": "the session changed protected files"}))];
    let subject = format!("gate: {id} not proven: the session changed protected files");
    ws.save_told(&checklist, &subject, &told, vec![], &origin)?;
    block_if_tried_enough(ws, session, id)
}

fn wait_for_person(ws: &mut Workspace, session: &Session, id: &str, problem: &str) -> Result<()> {
    let mut checklist = ws.checklist()?;
    checklist.doubt(id, problem)?;
    let origin = ws.origin(Some(session.number), Some(id));
    ws.warn(format!("{id} waits for a person: the agent says that its check is wrong: {problem}"));
    let told = [Fact::of("doubt", id, json!({"problem": problem}))];
    ws.save_told(&checklist, &format!("checklist: {id} waits for a person"), &told, vec![], &origin)
}

fn block_if_tried_enough(ws: &mut Workspace, session: &Session, id: &str) -> Result<()> {
    let mut checklist = ws.checklist()?;
    let feature = checklist.find(id)?;
    let (attempts, equal) = (feature.attempts, feature.equal_failures());
    if feature.passes || feature.blocked.is_some() || (attempts < ws.settings.attempts && equal < EQUAL) {
        return Ok(());
    }
    let why = if attempts < ws.settings.attempts {
        format!("{equal} attempts in a row failed in the same way")
    } else {
        format!("{} did not prove it", counted(attempts as usize, "attempt"))
    };
    let refused =
        feature.refused.as_ref().map(|reason| format!("; in the newest the model refused to go on: {reason}"));
    let why = why + &refused.unwrap_or_default();
    checklist.block(id, &why)?;
    let origin = ws.origin(Some(session.number), Some(id));
    let attempts = counted(attempts as usize, "attempt");
    ws.warn(format!("{id} is blocked after {attempts}; `longhaul show {id}` tells why"));
    let told = [Fact::of("block", id, json!({"reason": why}))];
    ws.save_told(&checklist, &format!("checklist: block {id} after {attempts}"), &told, vec![], &origin)
}

/// Gathers the facts of the session, and after them the agent's own words.
fn entry(
    ws: &mut Workspace,
    session: &Session,
    ending: &Ending,
    tampered: bool,
    leftover: &Leftover,
    report: &Report,
) -> Result<Entry> {
    let mut facts = Vec::new();
    let id = session.feature.as_deref();
    match (&report.outcome, id) {
        (Some(outcome), Some(id)) => {
            let seconds = outcome.verdict.trial().duration().as_secs_f64();
            facts.push(format!(
                "feature: {id}, {} (check {} in {seconds:.1} s)",
                outcome.state,
                outcome.verdict.finding()
            ));
        }
        (None, Some(id)) if tampered => {
            facts.push(format!("feature: {id}, nothing proven: protected files were changed by shell and put back"));
        }
        (None, Some(id)) if doubts(ending) => {
            facts.push(format!("feature: {id}, waiting for a person to look at its check"));
        }
        (None, Some(id)) => facts.push(format!("feature: {id}, check not run")),
        (_, None) => facts.push(initializer_fact(ws)?),
    }
    for id in &report.swept.regressed {
        facts.push(format!("regressed: {id}"));
    }
    if !report.swept.out_of_time.is_empty() {
        facts.push(format!("not looked at again, out of time: {}", report.swept.out_of_time.join(", ")));
    }
    let commits = ws.project.commits_since(&session.started_at)?;
    let short: Vec<&str> = commits.iter().take(10).map(|id| &id[..7]).collect();
    let more =
        if commits.len() > short.len() { format!(" and {} more", commits.len() - short.len()) } else { String::new() };
    facts.push(match short.as_slice() {
        [] => "project commits: none".to_owned(),
        short => format!("project commits: {}{more}", short.join(" ")),
    });
    facts.extend(leftover::facts(leftover));
    facts.extend(report.moved.iter().cloned());
    let after = if ws.settings.recall.extract.is_some() { "; notes taken after this are not in it" } else { "" };
    facts.push(format!("{}{after}", session.cost_line()));
    facts.push(format!("ended: {ending}"));
    Ok(Entry { facts, words: words(ending) })
}

/// Says what an initializer has made so far.
fn initializer_fact(ws: &mut Workspace) -> Result<String> {
    let checklist = ws.checklist()?;
    let with_check = checklist.features().iter().filter(|feature| feature.check.is_some()).count();
    let script = ws.init_script()?.map_or_else(|| "no init script".to_owned(), |path| format!("init script {path}"));
    let features = counted(checklist.features().len(), "feature");
    Ok(format!("initializer: {features}, {with_check} with a check, {script}"))
}

/// Tells whether the agent says that the check is wrong.
fn doubts(ending: &Ending) -> bool {
    matches!(ending, Ending::HandedOver(hand_over) if hand_over.check_problem.is_some())
}

/// Joins what the agent said when it handed over; claims, and shown as such.
fn words(ending: &Ending) -> String {
    let Ending::HandedOver(hand_over) = ending else { return String::new() };
    let problem = hand_over.check_problem.clone().unwrap_or_default();
    let parts = [
        ("done", &hand_over.done),
        ("remaining", &hand_over.remaining),
        ("next", &hand_over.next),
        ("wrong with the check", &problem),
    ];
    let said = parts.iter().filter(|(_, text)| !text.trim().is_empty());
    said.map(|(name, text)| format!("{name}: {}", text.trim())).collect::<Vec<_>>().join("\n")
}

/// Appends an entry to the progress log, once: a second call for the same session does nothing.
pub fn append_progress(ws: &mut Workspace, number: u32, entry: &Entry) -> Result<()> {
    let subject = format!("progress: session {number}");
    let filter = Filter { path: Some(MemoryPath::relative(PROGRESS)?), session: Some(number), ..Filter::default() };
    let written =
        ws.memory.history(&filter)?.iter().any(|commit| commit.subject == subject && commit.author == "longhaul");
    if written {
        return Ok(());
    }
    let at = ws.clock.now().strftime("%Y-%m-%d %H:%M UTC").to_string();
    let entry = checklist::progress_entry(number, &at, &entry.facts, &entry.words);
    let entry = ws.memory.without_secrets(&entry);
    let log = checklist::append_progress(&ws.text(PROGRESS)?, &entry);
    let changes = match checklist::rotate_progress(&log) {
        None => vec![Change::put(PROGRESS, log)],
        Some(rotated) => vec![Change::put(PROGRESS, rotated.rest), Change::put(rotated.path, rotated.older)],
    };
    let origin = ws.origin(Some(number), None);
    let id = ws.memory.write(&subject, &changes, &origin).context("could not write the progress entry")?;
    ws.tell(&Event::Committed { place: "memory".to_owned(), id, subject });
    Ok(())
}

fn outcome_json(session: &Session, report: &Report) -> Value {
    json!({
        "session": session.number,
        "feature": session.feature,
        "proven": report.outcome.as_ref().is_some_and(|outcome| outcome.verdict.proves()),
        "finding": report.outcome.as_ref().map(|outcome| outcome.verdict.finding().to_string()),
        "regressed": report.swept.regressed,
        "reason": report.reason,
    })
}
