//! Reasons to stop a run, in the words in which they are told.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::clock::deadline;
use crate::driver::Ending;
use crate::engine::budget::Budget;
use crate::engine::counted;
use crate::engine::pick;
use crate::engine::run::breaker::Breaker;
use crate::engine::workspace::Workspace;
use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Result;

/// How a run came to its end.
#[derive(Debug)]
pub enum Stop {
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

/// Says that every required feature is proven or accepted at the final commit.
pub fn done(checklist: &Checklist, tree: &str) -> Stop {
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
    Stop::Done(format!("{proven} proven{notes}"))
}

/// Says that a person has to look before the work goes on, and at what else.
pub fn pause_at(milestone: &Feature, others: &[String]) -> Stop {
    let (id, title) = (&milestone.id, &milestone.title);
    let done = milestone.depends_on.join(", ");
    let others: String = others.iter().map(|other| format!("\n  {other}")).collect();
    let text =
        format!("the milestone {id} is reached and waits for a person to look: {title}; done are {done}{others}");
    Failure::new(Kind::Stuck, text)
        .hint(format!("`longhaul accept {id} --reason TEXT` vouches for it, then `longhaul run` goes on"))
        .into()
}

/// Says that nothing can be worked on, and why.
pub fn stuck(checklist: &Checklist, tree: &str) -> Stop {
    let reasons = pick::reasons(checklist, tree);
    Failure::new(Kind::Stuck, format!("nothing can be worked on:\n  {}", reasons.join("\n  "))).into()
}

/// Says that the run may hold no further session, if so.
pub fn sessions_exhausted(ws: &mut Workspace, budget: &mut Budget) -> Result<Option<Stop>> {
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
pub fn features_exhausted(limit: &str, spent: &[&Feature]) -> Stop {
    let ids: Vec<&str> = spent.iter().map(|feature| feature.id.as_str()).collect();
    Failure::new(Kind::Limit, format!("{limit}: {}", ids.join(", ")))
        .hint("run again with a larger `budget.feature_usd`, `_tokens`, `_time` or `_sessions`")
        .into()
}

/// Says whether this ending of a session on `id` stops the run; `breaker` has taken note of it.
pub fn after(
    ending: &Ending,
    breaker: &Breaker,
    ws: &mut Workspace,
    budget: &mut Budget,
    id: Option<&str>,
) -> Result<Option<Stop>> {
    match ending {
        // What comes next says which limit of the run it is.
        Ending::Limit(_) if budget.run_exhausted().is_some() => return Ok(None),
        Ending::Interrupted => return Ok(None),
        Ending::Provider(failure) => {
            return Ok(Some(Failure::new(Kind::Provider, failure.to_string()).into()));
        }
        Ending::Away(reason) => {
            let hint = "run again when it is back, or with a larger limit";
            return Ok(Some(Failure::new(Kind::Limit, reason).hint(hint).into()));
        }
        Ending::NoRoom(reason) => {
            let failure = Failure::usage(format!("a session cannot begin: {reason}"));
            let hint = "`agent.window` is to be what the model takes; `longhaul prompt session` shows what a session \
                        begins with, make that shorter";
            return Ok(Some(failure.hint(hint).into()));
        }
        Ending::Vanished => {
            let root = ws.project.root().display();
            let gone = Failure::new(Kind::Failed, format!("the project folder `{root}` is gone"));
            return Ok(Some(gone.hint("bring it back, then run again").into()));
        }
        _ => {}
    }
    // Its check may have been cut, and what comes next says so.
    if deadline::is_over(ws.deadline) {
        return Ok(None);
    }
    if let Some(why) = breaker.cut_short(ws.settings.breaker) {
        return Ok(Some(cut_short(&why, ending)));
    }
    let (checklist, tree) = (ws.checklist()?, ws.tree()?);
    let others = id.is_some() && pick::workable(&checklist, &tree).iter().any(|other| Some(other.id.as_str()) != id);
    Ok(breaker.tripped(ws.settings.breaker, others).map(|why| {
        if let Ending::Refused(_) = ending {
            return cut_short(&why, ending);
        }
        Failure::new(Kind::Stuck, why)
            .hint("see `longhaul show FEATURE`; mend what its check needs, or change the feature or its check, then run again")
            .into()
    }))
}

/// Says that sessions are cut short before they can do anything, the newest by this ending.
fn cut_short(why: &str, ending: &Ending) -> Stop {
    let (kind, hint) = match ending {
        Ending::Limit(_) => (
            Kind::Limit,
            "run again with a larger `budget.turns_per_session`, `budget.session_usd`, `_tokens` or `_time`",
        ),
        Ending::Refused(_) => (
            Kind::Stuck,
            "`longhaul prompt session FEATURE` shows what it was asked, `longhaul feature edit FEATURE` changes the words, \
             `agent.model` names another model; then run again",
        ),
        Ending::Unclear(_) => (
            Kind::Provider,
            "see that `[provider] base_url` and `[agent] model` are right; `longhaul show --session N` has the replies",
        ),
        _ => (
            Kind::Stuck,
            "`longhaul show --session N` tells what filled it; a smaller feature may help, or a larger `agent.window` if \
             the model has it",
        ),
    };
    Failure::new(kind, format!("{why}, the last: {ending}")).hint(hint).into()
}

/// Says that a person asked to stop.
pub fn interrupted() -> Failure {
    Failure::new(Kind::Interrupted, "everything so far is committed")
}

/// Says that a session needs a key, and what does not.
pub fn missing_key(variable: &str) -> Failure {
    Failure::usage(format!("no key for the model service: the variable `{variable}` is not set"))
        .hint("set it to your key; `longhaul demo` and `longhaul rehearse` need none")
}
