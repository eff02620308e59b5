//! A run: sessions until every required feature is proven, or a reason to stop.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::clock::duration;
use crate::driver::Ending;
use crate::engine::account::Account;
use crate::engine::account::Spent;
use crate::engine::breaker;
use crate::engine::breaker::Breaker;
use crate::engine::budget::Budget;
use crate::engine::checkout;
use crate::engine::counted;
use crate::engine::hold;
use crate::engine::hold::Held;
use crate::engine::pick;
use crate::engine::prepare;
use crate::engine::prepare::Dirty;
use crate::engine::resume;
use crate::engine::resume::Resumed;
use crate::engine::resume::Start;
use crate::engine::review;
use crate::engine::review::Checks;
use crate::engine::verify;
use crate::engine::verify::Before;
use crate::engine::verify::Swept;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::event::Event;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::gate;
use crate::gate::Reuse;
use crate::gate::Verdict;
use crate::memory::SPEC;
use crate::provider::Client;
use crate::sandbox::Level;
use crate::sandbox::Reach;
use anyhow::Result;
use std::rc::Rc;
use std::time::Duration;

/// How a run came to its end.
#[derive(Debug)]
enum Stop {
    /// Every required feature is proven or accepted at the final commit; says how many.
    Done(String),
    /// Features are open; says why.
    For(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::For(failure)
    }
}

/// Runs sessions; returns the line that says what was reached.
///
/// # Errors
/// A failure whose kind says why the run stopped with features open; everything up to there is committed.
pub fn run(ws: &mut Workspace, dirty: Dirty, start: Start) -> Result<String> {
    let mut resumed = resume::prepare(ws, dirty, start)?;
    let mut budget = begin(ws)?;
    let mut so_far = SoFar { branch: ws.head()?.branch, branches: ws.project.branches()?, ..SoFar::default() };
    loop {
        let step = match resumed.take() {
            Some(resumed) => go_on(ws, &mut budget, &mut so_far, resumed),
            None => next(ws, &mut budget, &mut so_far),
        };
        let Some(stop) = step.transpose() else { continue };
        if let Some(lost) = budget.end() {
            ws.warn(lost);
        }
        return match stop? {
            Stop::Done(text) => Ok(text),
            Stop::For(failure) => Err(failure.into()),
        };
    }
}

/// Starts the count of what sessions use.
fn begin(ws: &mut Workspace) -> Result<Budget> {
    let account = Account::open(&ws.project.common_dir().join("longhaul"))?;
    let carried = account.carried_over().map(carried_over);
    let budget = Budget::start(ws.settings.limits, ws.settings.prices, account);
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
        return Ok(Some(Stop::For(interrupted())));
    }
    let checklist = ws.checklist()?;
    let tree = ws.head()?.tree;
    require_branch(ws, so_far)?;
    if initializer_due(ws, &checklist, so_far)? {
        return initialize(ws, budget, so_far);
    }
    if checklist.features().is_empty() {
        let failure = Failure::usage("the checklist is empty, so there is nothing to work on")
            .hint("add features with `longhaul feature add`, or start over with `longhaul init --spec SPEC.md`");
        return Ok(Some(Stop::For(failure)));
    }
    if pick::complete(&checklist) {
        return finish(ws, &checklist, &tree);
    }
    if let Some(milestone) = pick::reached(&checklist, &tree) {
        let others = pick::reasons_beside(&checklist, &tree, &milestone.id);
        return Ok(Some(pause_at(milestone, &others).into()));
    }
    let workable = pick::workable(&checklist, &tree);
    let (paid, spent): (Vec<&Feature>, Vec<&Feature>) =
        workable.into_iter().partition(|feature| budget.feature_exhausted(&feature.id).is_none());
    if let ([], [first, ..]) = (paid.as_slice(), spent.as_slice()) {
        return Ok(budget.feature_exhausted(&first.id).map(|limit| feature_limit(&limit, &spent).into()));
    }
    let Some(feature) = paid.first() else {
        let proven = proven_meanwhile(ws, &checklist)?;
        if proven {
            so_far.breaker.proven();
        }
        return Ok((!proven && !lost_meanwhile(ws, &checklist, &tree)?).then(|| stuck(&checklist, &tree)));
    };
    let id = feature.id.clone();
    match look(ws, feature)? {
        Before::Open => return work(ws, budget, so_far, &id),
        Before::Proven => so_far.breaker.proven(),
        Before::AlreadyGreen => {}
    }
    Ok(None)
}

/// Runs the feature's check where nobody has on this tree.
pub(in crate::engine) fn look(ws: &mut Workspace, feature: &Feature) -> Result<Before> {
    if was_judged(ws, feature)? { Ok(Before::Open) } else { green_now(ws, &feature.id) }
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

/// Says that a person asked to stop.
pub fn interrupted() -> Failure {
    Failure::new(Kind::Interrupted, "everything so far is committed")
}

/// Tells whether an initializer session is due.
pub fn needs_initializer(ws: &Workspace, checklist: &Checklist) -> Result<bool> {
    initializer_due(ws, checklist, &SoFar::default())
}

/// Holds one initializer session and returns what it still has to leave behind.
pub fn hold_initializer(ws: &mut Workspace) -> Result<Vec<String>> {
    prepare::prepare(ws, Dirty::Refuse)?;
    let mut budget = begin(ws)?;
    let held = initialize(ws, &mut budget, &mut SoFar::default());
    if let Some(lost) = budget.end() {
        ws.warn(lost);
    }
    match held? {
        Some(Stop::For(failure)) => Err(failure.into()),
        _ if ws.interrupt.requested() => Err(interrupted().into()),
        _ => {
            let checklist = ws.checklist()?;
            hold::missing_after_initializer(ws, &checklist)
        }
    }
}

/// Tells whether the checklist has to be written, or finished, by an initializer session first.
fn initializer_due(ws: &Workspace, checklist: &Checklist, so_far: &SoFar) -> Result<bool> {
    let features = checklist.features();
    if features.is_empty() {
        return Ok(ws.memory.read(SPEC)?.is_some());
    }
    if features.iter().any(|feature| feature.draft) {
        return Ok(true);
    }
    let needed = checklist.needed();
    let without_check =
        |feature: &Feature| needed.contains(feature.id.as_str()) && feature.check.is_none() && !feature.is_done();
    let given = |feature: &Feature| feature.check.as_ref().is_some_and(|check| check.approved_by == "initializer");
    let unfinished = features.iter().any(without_check)
        || (features.iter().any(given) && !hold::missing_after_initializer(ws, checklist)?.is_empty());
    Ok(unfinished && !so_far.initialized)
}

/// Tells whether this very check was already run on this very tree; nothing runs twice.
fn was_judged(ws: &Workspace, feature: &Feature) -> Result<bool> {
    let head = ws.head()?;
    let at_baseline = feature.red().is_some_and(|red| red.commit == head.commit && !red.unprepared);
    Ok(at_baseline || feature.was_judged_on(&head.tree))
}

/// Runs the feature's check before spending a session on it: other work may have made it pass.
fn green_now(ws: &mut Workspace, id: &str) -> Result<Before> {
    let before = verify::prove_if_green(ws, id, &Occasion::outside(ws))?;
    if before == Before::Proven {
        ws.notice(format!("{id} is proven without a session: its check passes now and did not before"));
    }
    Ok(before)
}

/// Looks once more at features that were set aside before the run gives up: work on others may have made their checks pass.
fn proven_meanwhile(ws: &mut Workspace, checklist: &Checklist) -> Result<bool> {
    let mut any = false;
    let set_aside = |feature: &&Feature| feature.blocked.is_some() || feature.check_problem.is_some();
    for feature in checklist.features().iter().filter(set_aside).filter(|feature| !feature.is_done()) {
        let runs = feature.check.as_ref().is_some_and(|check| check.kind == gate::Kind::Command);
        any |= runs && !was_judged(ws, feature)? && green_now(ws, &feature.id)? == Before::Proven;
    }
    Ok(any)
}

/// Looks once more at what is done or already green before the run gives up; tells whether a check fails now, so that
/// there is work. Nobody is asked to take a feature as already green that is not.
fn lost_meanwhile(ws: &mut Workspace, checklist: &Checklist, tree: &str) -> Result<bool> {
    if verify::due(ws, checklist, tree, Reuse::Alike).is_empty() {
        return Ok(false);
    }
    let swept = verify::sweep(ws, &[], None, &Occasion::outside(ws))?;
    warn_of_regressed(ws, &swept);
    Ok(!swept.regressed.is_empty())
}

fn warn_of_regressed(ws: &Workspace, swept: &Swept) {
    if !swept.regressed.is_empty() {
        ws.warn(format!("regressed: {}; a check that passed fails now", swept.regressed.join(", ")));
    }
}

/// Everything is proven or accepted; the last word is a sweep at the final commit.
fn finish(ws: &mut Workspace, checklist: &Checklist, tree: &str) -> Result<Option<Stop>> {
    if !ws.settings.final_sweep {
        let text = "every required feature was proven or accepted; the final sweep was left out";
        let hint = "run without `--no-final-sweep` to look at all of them at the final commit";
        return Ok(Some(Failure::new(Kind::Limit, text).hint(hint).into()));
    }
    if verify::due(ws, checklist, tree, Reuse::Same).is_empty() {
        return Ok(Some(Stop::Done(done_line(checklist, tree))));
    }
    ws.notice("final sweep: every check once more at the final commit");
    let swept = verify::sweep(ws, &[], None, &Occasion::last(ws))?;
    warn_of_regressed(ws, &swept);
    // Else the same sweep would be due again, for ever.
    if swept.passed.is_empty() && swept.regressed.is_empty() && !ws.interrupt.requested() {
        let text = format!("could not look once more at {}: files are in no commit", swept.left.join(", "));
        let hint = "`git status` shows them; was it a check that made them?";
        return Ok(Some(Failure::new(Kind::Stuck, text).hint(hint).into()));
    }
    Ok(None)
}

fn done_line(checklist: &Checklist, tree: &str) -> String {
    let count = |fits: &dyn Fn(&Feature, State) -> bool| {
        checklist.features().iter().filter(|feature| fits(feature, checklist.state(&feature.id, tree))).count()
    };
    let green = |state| state == State::AlreadyGreen;
    let notes = [
        (count(&|_, state| state == State::Accepted), "accepted by a person"),
        (count(&|feature, state| !feature.required && !state.is_done() && !green(state)), "optional still open"),
        (count(&|feature, state| !feature.required && green(state)), "optional already green"),
    ];
    let proven = counted(count(&|_, state| state == State::Proven), "feature");
    let notes: String =
        notes.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
    format!("{proven} proven{notes}")
}

/// Says that a person has to look before the work goes on, and at what else.
fn pause_at(milestone: &Feature, others: &[String]) -> Failure {
    let (id, title) = (&milestone.id, &milestone.title);
    let done = milestone.depends_on.join(", ");
    let others: String = others.iter().map(|other| format!("\n  {other}")).collect();
    let text =
        format!("the milestone {id} is reached and waits for a person to look: {title}; done are {done}{others}");
    Failure::new(Kind::Stuck, text)
        .hint(format!("`longhaul accept {id} --reason TEXT` vouches for it, then `longhaul run` goes on"))
}

fn stuck(checklist: &Checklist, tree: &str) -> Stop {
    let reasons = pick::reasons(checklist, tree);
    Failure::new(Kind::Stuck, format!("nothing can be worked on:\n  {}", reasons.join("\n  "))).into()
}

/// Holds an initializer session, or says why it cannot be.
fn initialize(ws: &mut Workspace, budget: &mut Budget, so_far: &mut SoFar) -> Result<Option<Stop>> {
    if let Some(stop) = limit(ws, budget)? {
        return Ok(Some(stop));
    }
    let client = client(ws, so_far)?;
    let before = ws.checklist()?;
    let held = hold::hold(ws, &client, budget, None)?;
    initialized(ws, so_far, &before, &held)
}

/// Says what follows from an initializer session; `before` is the checklist it found.
fn initialized(ws: &mut Workspace, so_far: &mut SoFar, before: &Checklist, held: &Held) -> Result<Option<Stop>> {
    so_far.initialized = true;
    let checklist = ws.checklist()?;
    let missing = hold::missing_after_initializer(ws, &checklist)?;
    let tree_changed = so_far.breaker.is_new(&held.trees);
    so_far.breaker.note(breaker::Session {
        progress: missing.is_empty() || checklist.features().len() > before.features().len(),
        tree_changed,
        ..breaker::Session::default()
    });
    let anew = Checks::of(&checklist) != Checks::of(before);
    if anew {
        let table = review::table(&checklist, &ws.tree()?);
        ws.notice(format!("the checks that decide from now on:\n{}", table.join("\n")));
    }
    if let Some(stop) = stop_for(&held.ending, so_far, ws, None)? {
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
    if let Some(stop) = limit(ws, budget)? {
        return Ok(Some(stop));
    }
    let client = client(ws, so_far)?;
    let held = hold::hold(ws, &client, budget, Some(id))?;
    worked(ws, so_far, id, &held)
}

/// Says what follows from a session on a feature.
fn worked(ws: &mut Workspace, so_far: &mut SoFar, id: &str, held: &Held) -> Result<Option<Stop>> {
    let verdict = held.report.outcome.as_ref().map(|outcome| &outcome.verdict);
    let tree_changed = so_far.breaker.is_new(&held.trees);
    so_far.breaker.note(breaker::Session {
        feature: Some(id.to_owned()),
        progress: verdict.is_some_and(Verdict::proves),
        tree_changed,
        failure: verdict.and_then(failed),
    });
    stop_for(&held.ending, so_far, ws, Some(id))
}

/// Holds the rest of a session that was cut off; it counts already.
fn go_on(ws: &mut Workspace, budget: &mut Budget, so_far: &mut SoFar, resumed: Resumed) -> Result<Option<Stop>> {
    let (client, before, id) = (client(ws, so_far)?, ws.checklist()?, resumed.session.feature.clone());
    let held = hold::go_on(ws, &client, budget, resumed)?;
    match id {
        Some(id) => worked(ws, so_far, &id, &held),
        None => initialized(ws, so_far, &before, &held),
    }
}

/// Returns how a check failed, unless nothing tells its failure from others.
fn failed(verdict: &Verdict) -> Option<breaker::Failed> {
    let digest = verdict.failure()?;
    let said = Some(verdict.trial().last_lines(1)).filter(|line| !line.trim().is_empty());
    let said = said.unwrap_or_else(|| verdict.trial().sentence());
    Some(breaker::Failed { digest, could_not_run: verdict.could_not_run(), said })
}

fn limit(ws: &mut Workspace, budget: &mut Budget) -> Result<Option<Stop>> {
    let Some(limit) = budget.sessions_exhausted() else { return Ok(None) };
    let (checklist, tree) = (ws.checklist()?, ws.tree()?);
    let required = checklist.features().iter().filter(|feature| feature.required && !feature.is_done());
    let green = |feature: &&Feature| checklist.state(&feature.id, &tree) == State::AlreadyGreen;
    let (green, open): (Vec<&Feature>, Vec<&Feature>) = required.partition(green);
    let green = if green.is_empty() { String::new() } else { format!(", {} already green", green.len()) };
    let reached = format!("{limit}, {} open{green}", counted(open.len(), "feature"));
    Ok(Some(Failure::new(Kind::Limit, reached).into()))
}

/// Says that all that could be worked on has used up what a feature may use.
fn feature_limit(limit: &str, spent: &[&Feature]) -> Failure {
    let ids: Vec<&str> = spent.iter().map(|feature| feature.id.as_str()).collect();
    Failure::new(Kind::Limit, format!("{limit}: {}", ids.join(", ")))
        .hint("run again with a larger `budget.feature_usd`, `_tokens`, `_time` or `_sessions`")
}

/// Returns the run's client of the model service, or says which variable holds the key. One for all sessions, since it
/// remembers what the service does not take.
fn client(ws: &Workspace, so_far: &mut SoFar) -> Result<Rc<Client>> {
    if let Some(client) = &so_far.client {
        return Ok(client.clone());
    }
    let Some(settings) = &ws.settings.provider else {
        return Err(missing_key(&ws.settings.missing_key).into());
    };
    Ok(so_far.client.insert(Rc::new(Client::new(settings.clone())?)).clone())
}

/// Says that a session needs a key, and what does not.
pub fn missing_key(variable: &str) -> Failure {
    Failure::usage(format!("no key for the model service: the variable `{variable}` is not set"))
        .hint("set it to your key; `longhaul demo` and `longhaul rehearse` need none")
}

/// Says whether this ending of a session on `id` stops the run.
fn stop_for(ending: &Ending, so_far: &SoFar, ws: &mut Workspace, id: Option<&str>) -> Result<Option<Stop>> {
    match ending {
        Ending::Interrupted => return Ok(None),
        Ending::Provider(failure) => {
            return Ok(Some(Failure::new(Kind::Provider, failure.to_string()).into()));
        }
        Ending::Vanished => {
            let root = ws.project.root().display();
            let gone = Failure::new(Kind::Failed, format!("the project folder `{root}` is gone"));
            return Ok(Some(gone.hint("bring it back, then run again").into()));
        }
        _ => {}
    }
    let (checklist, tree) = (ws.checklist()?, ws.tree()?);
    let others = id.is_some() && pick::workable(&checklist, &tree).iter().any(|other| Some(other.id.as_str()) != id);
    Ok(so_far.breaker.tripped(ws.settings.breaker, others).map(|why| {
        Failure::new(Kind::Stuck, why)
            .hint("see `longhaul show FEATURE`; mend what its check needs, or change the feature or its check, then run again")
            .into()
    }))
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
}
