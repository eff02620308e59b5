//! A run: sessions until every required feature is proven, or a reason to stop.

pub mod breaker;
pub mod initializer;
pub mod meanwhile;
pub mod pause;
pub mod resume;
pub mod review;
pub mod stop;

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::clock::deadline;
use crate::clock::duration;
use crate::driver::Ending;
use crate::engine::budget::Budget;
use crate::engine::budget::End;
use crate::engine::budget::account::Account;
use crate::engine::budget::spent::Spent;
use crate::engine::counted;
use crate::engine::pick;
use crate::engine::prepare;
use crate::engine::prepare::Dirty;
use crate::engine::run::breaker::Breaker;
use crate::engine::run::breaker::Cause;
use crate::engine::run::resume::Start;
use crate::engine::run::review::Checks;
use crate::engine::run::stop::Stop;
use crate::engine::session::hold;
use crate::engine::session::hold::Held;
use crate::engine::session::resumed::Resumed;
use crate::engine::verify;
use crate::engine::verify::Before;
use crate::engine::verify::checkout;
use crate::engine::verify::sweep;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::gate::Finding;
use crate::gate::Reuse;
use crate::gate::Verdict;
use crate::provider::Client;
use crate::sandbox::Level;
use crate::sandbox::Reach;
use crate::transcript;
use anyhow::Result;
use std::mem;
use std::rc::Rc;
use std::time::Duration;

/// Runs sessions; returns the line that says what was reached.
///
/// # Errors
/// A failure whose kind says why the run stopped with features open; everything up to there is committed.
pub fn run(ws: &mut Workspace, dirty: Dirty, start: Start) -> Result<String> {
    let client = ready(ws)?;
    let mut resumed = resume::prepare(ws, dirty, start)?;
    let mut budget = begin(ws)?;
    let mut so_far = SoFar { branch: ws.head()?.branch, branches: ws.project.branches()?, client, ..SoFar::default() };
    loop {
        let step = match resumed.take() {
            Some(resumed) => go_on(ws, &mut budget, &mut so_far, resumed),
            None => next(ws, &mut budget, &mut so_far),
        };
        let Some(stop) = step.transpose() else { continue };
        if let Some(lost) = budget.end(end(&stop)) {
            ws.warn(lost);
        }
        return match or_replaced(ws, stop)? {
            Stop::Done(text) => Ok(text),
            Stop::For(failure) => Err(failure.into()),
        };
    }
}

/// Makes the client before a session that was cut off is closed: what is missing for that must not cost the way back to it.
fn ready(ws: &Workspace) -> Result<Option<Rc<Client>>> {
    match transcript::unfinished(&ws.sessions())? {
        Some(_) if !pick::complete(&ws.committed_checklist()?.0) => Ok(Some(new_client(ws)?)),
        _ => Ok(None),
    }
}

fn end(stop: &Result<Stop>) -> End {
    match stop {
        Ok(Stop::Done(_)) => End::Settled,
        Ok(Stop::For(failure)) if failure.kind == Kind::Limit => End::Settled,
        _ => End::Stopped,
    }
}

/// Says of a failure that a session took the git folder away, where it did: then nothing of ours can be written.
fn or_replaced<T>(ws: &Workspace, result: Result<T>) -> Result<T> {
    result.or_else(|error| {
        ws.project.require_same_pointer()?;
        Err(error)
    })
}

/// Starts the count of what sessions use.
fn begin(ws: &mut Workspace) -> Result<Budget> {
    let mut account = Account::open(&ws.project.common_dir().join("longhaul"), &ws.sessions())?;
    if let Some(told) = account.rebuilt() {
        ws.warn(told);
    }
    let carried = account.carried_over().map(carried_over);
    let mut budget = Budget::start(ws.settings.limits, ws.settings.prices, account);
    ws.deadline = budget.end_of_run();
    let limits = [budget.describe(), held_by(ws)?].into_iter().chain(carried).collect();
    ws.tell(&Event::RunStarted { limits });
    Ok(budget)
}

/// Says what a run that was killed had used, since this one goes on with its count.
fn carried_over(spent: &Spent) -> String {
    let cost = spent.cost.map_or_else(|| "cost unknown".to_owned(), |cost| format!("{cost:.2} USD"));
    let sessions = counted(spent.sessions as usize, "session");
    let time = duration::spell(Duration::from_secs(spent.time.as_secs()));
    format!("goes on with what the killed run had used: {sessions}, {} tokens, {cost}, {time}", spent.usage.total())
}

/// Says what holds commands and checks in this run.
fn held_by(ws: &Workspace) -> Result<String> {
    let sandbox = &ws.settings.sandbox;
    let network = match (sandbox.level, sandbox.reach) {
        (Level::Plain, _) | (_, Reach::Everybody) => "with the network",
        (_, Reach::Setup) => "no network but for installing",
        (_, Reach::Nobody) => "no network",
    };
    let checkout = checkout::checkout(ws, &ws.committed_checklist()?.0)?;
    Ok(format!("sandbox: {}, {network} · checks run {checkout}", sandbox.level))
}

/// Does the next thing: a check, a sweep, a session, or the end.
fn next(ws: &mut Workspace, budget: &mut Budget, so_far: &mut SoFar) -> Result<Option<Stop>> {
    if ws.interrupt.requested() {
        return Ok(Some(Stop::For(stop::interrupted())));
    }
    // Within the run's time.
    if !mem::replace(&mut so_far.baselined, true) {
        sweep::baselines(ws, &Occasion::outside(ws))?;
    }
    let checklist = ws.checklist()?;
    let tree = ws.head()?.tree;
    require_branch(ws, so_far)?;
    if initializer::due(ws, &checklist, so_far.initialized)? {
        return initialize(ws, budget, so_far);
    }
    if checklist.features().is_empty() {
        let failure = Failure::usage("the checklist is empty, so there is nothing to work on")
            .hint("add features with `longhaul feature add`, or start over with `longhaul init --spec SPEC.md`");
        return Ok(Some(Stop::For(failure)));
    }
    if pick::complete(&checklist) {
        return finish(ws, budget, &checklist, &tree);
    }
    if let Some(milestone) = pick::reached(&checklist, &tree) {
        let others = pick::reasons_beside(&checklist, &tree, &milestone.id);
        return Ok(Some(stop::pause_at(milestone, &others)));
    }
    let workable = pick::workable(&checklist, &tree);
    let (paid, spent): (Vec<&Feature>, Vec<&Feature>) =
        workable.into_iter().partition(|feature| budget.feature_exhausted(&feature.id).is_none());
    if let ([], [first, ..]) = (paid.as_slice(), spent.as_slice()) {
        return Ok(budget.feature_exhausted(&first.id).map(|limit| stop::features_exhausted(&limit, &spent)));
    }
    let Some(feature) = paid.first() else {
        let proven = meanwhile::proven(ws, &checklist)?;
        if proven {
            so_far.breaker.proven();
        }
        if proven || meanwhile::lost(ws, &checklist, &tree)? {
            return Ok(None);
        }
        // Some may not have been looked at.
        let over = if deadline::is_over(ws.deadline) { stop::sessions_exhausted(ws, budget)? } else { None };
        return Ok(Some(over.unwrap_or_else(|| stop::stuck(&checklist, &tree))));
    };
    let id = feature.id.clone();
    if deadline::is_over(ws.deadline) {
        return stop::sessions_exhausted(ws, budget);
    }
    match meanwhile::look(ws, feature)? {
        Before::Open => return work(ws, budget, so_far, &id),
        Before::Proven => so_far.breaker.proven(),
        Before::AlreadyGreen => {}
    }
    Ok(None)
}

/// Refuses to go on where a session has left the run's branch for one that it did not make itself.
fn require_branch(ws: &Workspace, so_far: &SoFar) -> Result<()> {
    prepare::require_branch(ws)?;
    let (Some(before), Some(now)) = (&so_far.branch, ws.head()?.branch) else { return Ok(()) };
    if *before == now || !so_far.branches.contains(&now) {
        return Ok(());
    }
    let hint = format!(
        "`git switch {before}`, take what you want of `{now}`, then run again; or run again to work on `{now}`"
    );
    Err(Failure::new(Kind::Stuck, format!("the run began on `{before}`, and a session left it for `{now}`"))
        .hint(hint)
        .into())
}

/// Holds one initializer session and returns what it still has to leave behind.
pub fn hold_initializer(ws: &mut Workspace) -> Result<Vec<String>> {
    prepare::prepare(ws, Dirty::Refuse)?;
    let mut budget = begin(ws)?;
    let baselined = sweep::baselines(ws, &Occasion::outside(ws));
    let held = baselined.and_then(|()| initialize(ws, &mut budget, &mut SoFar::default()));
    if let Some(lost) = budget.end(End::Stopped) {
        ws.warn(lost);
    }
    match or_replaced(ws, held)? {
        Some(Stop::For(failure)) => Err(failure.into()),
        _ if ws.interrupt.requested() => Err(stop::interrupted().into()),
        _ => {
            let checklist = ws.checklist()?;
            hold::missing_after_initializer(ws, &checklist)
        }
    }
}

/// Everything is proven or accepted; the last word is a sweep at the final commit.
fn finish(ws: &mut Workspace, budget: &mut Budget, checklist: &Checklist, tree: &str) -> Result<Option<Stop>> {
    if !ws.settings.final_sweep {
        let text = "every required feature was proven or accepted; the final sweep was left out";
        let hint = "run without `--no-final-sweep` to look at all of them at the final commit";
        return Ok(Some(Failure::new(Kind::Limit, text).hint(hint).into()));
    }
    if sweep::due(ws, checklist, tree, Reuse::Same).is_empty() {
        return Ok(Some(stop::done(checklist, tree)));
    }
    ws.notice("final sweep: every check once more at the final commit");
    let swept = ws.grant(verify::LEAST, |ws| sweep::sweep(ws, &[], None, &Occasion::last(ws)))?;
    meanwhile::warn_of_regressed(ws, &swept);
    if let Some(limit) = Some(&swept.out_of_time).filter(|left| !left.is_empty()).and_then(|_| budget.run_exhausted()) {
        let text = format!("{limit} before the final sweep had looked at: {}", swept.out_of_time.join(", "));
        return Ok(Some(Failure::new(Kind::Limit, text).into()));
    }
    // Else the same sweep would be due again, for ever.
    if swept.passed.is_empty() && swept.regressed.is_empty() && !ws.interrupt.requested() {
        let (why, hint) = match swept.uninstalled.as_slice() {
            [] => ("files are in no commit", "`git status` shows them; was it a check that made them?"),
            _ => (
                "what a clean checkout needs could not be installed",
                "mend what installs it (`gate.prepare`), then run again",
            ),
        };
        let text = format!("could not look once more at {}: {why}", swept.left.join(", "));
        return Ok(Some(Failure::new(Kind::Stuck, text).hint(hint).into()));
    }
    Ok(None)
}

/// Holds an initializer session, or says why it cannot be.
fn initialize(ws: &mut Workspace, budget: &mut Budget, so_far: &mut SoFar) -> Result<Option<Stop>> {
    if let Some(stop) = stop::sessions_exhausted(ws, budget)? {
        return Ok(Some(stop));
    }
    let client = client(ws, so_far)?;
    let before = ws.checklist()?;
    let held = hold::hold(ws, &client, budget, None)?;
    initialized(ws, budget, so_far, &before, &held)
}

/// Says what follows from an initializer session; `before` is the checklist it found.
fn initialized(
    ws: &mut Workspace,
    budget: &mut Budget,
    so_far: &mut SoFar,
    before: &Checklist,
    held: &Held,
) -> Result<Option<Stop>> {
    so_far.initialized = true;
    let checklist = ws.checklist()?;
    let missing = hold::missing_after_initializer(ws, &checklist)?;
    let tree_changed = so_far.breaker.is_new(&held.trees);
    so_far.breaker.note(breaker::Session {
        progress: missing.is_empty() || checklist.features().len() > before.features().len(),
        tree_changed,
        free: held.ending.is_free() || matches!(held.ending, Ending::Refused(_)),
        ..breaker::Session::default()
    });
    let anew = Checks::of(&checklist) != Checks::of(before);
    if anew {
        let table = review::table(&checklist, &ws.tree()?);
        ws.notice(format!("the checks that decide from now on:\n{}", table.join("\n")));
    }
    if let Some(stop) = stop::after(&held.ending, &so_far.breaker, ws, budget, None)? {
        return Ok(Some(stop));
    }
    if !missing.is_empty() {
        ws.warn(format!("the initializer is not finished: {}", missing.join("; ")));
    }
    // Whoever runs again has looked; an unfinished initializer that added nothing has nothing to show.
    Ok((ws.settings.review && anew).then(|| {
        let hint = "`longhaul show FEATURE` has the whole of one, `longhaul feature edit FEATURE` changes it; then \
                    `longhaul run` goes on";
        Failure::new(Kind::Stuck, "the checklist is ready for review").hint(hint).into()
    }))
}

/// Holds a session on one feature.
fn work(ws: &mut Workspace, budget: &mut Budget, so_far: &mut SoFar, id: &str) -> Result<Option<Stop>> {
    if let Some(stop) = stop::sessions_exhausted(ws, budget)? {
        return Ok(Some(stop));
    }
    let client = client(ws, so_far)?;
    pause::wait_out(ws, &client);
    if ws.interrupt.requested() {
        return Ok(None);
    }
    let held = hold::hold(ws, &client, budget, Some(id))?;
    worked(ws, budget, so_far, id, &held)
}

/// Says what follows from a session on a feature.
fn worked(ws: &mut Workspace, budget: &mut Budget, so_far: &mut SoFar, id: &str, held: &Held) -> Result<Option<Stop>> {
    let verdict = held.report.outcome.as_ref().map(|outcome| &outcome.verdict);
    let tree_changed = so_far.breaker.is_new(&held.trees);
    so_far.breaker.note(breaker::Session {
        feature: Some(id.to_owned()),
        progress: verdict.is_some_and(Verdict::proves),
        tree_changed,
        free: held.ending.is_free() || matches!(held.ending, Ending::Refused(_)),
        failure: verdict.and_then(failed),
    });
    let away = matches!(held.ending, Ending::Away(_)) && so_far.breaker.cut_short(ws.settings.breaker).is_none();
    if away && so_far.client.as_ref().is_some_and(|client| pause::is_due(ws, client)) {
        return Ok(None);
    }
    stop::after(&held.ending, &so_far.breaker, ws, budget, Some(id))
}

/// Holds the rest of a session that was cut off; it counts already.
fn go_on(ws: &mut Workspace, budget: &mut Budget, so_far: &mut SoFar, resumed: Resumed) -> Result<Option<Stop>> {
    let (client, before, id) = (client(ws, so_far)?, ws.checklist()?, resumed.session.feature.clone());
    let held = hold::go_on(ws, &client, budget, resumed)?;
    match id {
        Some(id) => worked(ws, budget, so_far, &id, &held),
        None => initialized(ws, budget, so_far, &before, &held),
    }
}

/// Returns how a check failed, unless nothing tells its failure from others.
fn failed(verdict: &Verdict) -> Option<breaker::Failed> {
    let digest = verdict.failure()?;
    let said = Some(verdict.trial().last_lines(1)).filter(|line| !line.trim().is_empty());
    let said = said.unwrap_or_else(|| verdict.trial().sentence());
    let said = match verdict.finding() {
        Finding::CheckChanged => {
            format!("{said}; `longhaul accept {}` approves that, or take it back", verdict.feature())
        }
        _ => said,
    };
    let cause = match verdict.could_not_run() {
        _ if verdict.trial().is_uninstalled() => Cause::Install,
        true => Cause::Around,
        false => Cause::Feature,
    };
    Some(breaker::Failed { digest, cause, said })
}

/// Returns the run's client of the model service, or says which variable holds the key. One for all sessions, since it
/// remembers what the service does not take.
fn client(ws: &Workspace, so_far: &mut SoFar) -> Result<Rc<Client>> {
    if let Some(client) = &so_far.client {
        return Ok(client.clone());
    }
    Ok(so_far.client.insert(new_client(ws)?).clone())
}

fn new_client(ws: &Workspace) -> Result<Rc<Client>> {
    let Some(settings) = &ws.settings.provider else {
        return Err(stop::missing_key(&ws.settings.missing_key).into());
    };
    Ok(Rc::new(Client::new(settings.clone())?))
}

/// What this run has done so far, as far as it decides what comes next.
#[derive(Debug, Default)]
struct SoFar {
    /// The branch it began on, and all there were then.
    branch: Option<String>,
    branches: Vec<String>,
    breaker: Breaker,
    client: Option<Rc<Client>>,
    /// An initializer session was held; what it left open does not hold up the features that can be worked on.
    initialized: bool,
    /// The checks that came without a baseline were run once.
    baselined: bool,
}
