//! Which feature a session works on, and why none can be worked on.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;

/// Picks the next required feature whose turn it is and that can be worked on.
pub fn pick<'a>(checklist: &'a Checklist, tree: &str) -> Option<&'a Feature> {
    let workable = |feature: &&Feature| {
        feature.required && matches!(checklist.state(&feature.id, tree), State::Open | State::Regressed)
    };
    checklist.in_turn(tree).into_iter().find(workable)
}

/// Tells whether every required feature is proven or accepted; stale ones are left to the final sweep.
pub fn complete(checklist: &Checklist) -> bool {
    checklist.features().iter().filter(|feature| feature.required).all(Feature::is_done)
}

/// Says of each required feature that is not done why it cannot be worked on, one line each.
pub fn reasons(checklist: &Checklist, tree: &str) -> Vec<String> {
    checklist
        .features()
        .iter()
        .filter(|feature| feature.required)
        .filter_map(|feature| reason(checklist, feature, tree))
        .collect()
}

fn reason(checklist: &Checklist, feature: &Feature, tree: &str) -> Option<String> {
    let id = &feature.id;
    match checklist.state(id, tree) {
        State::Proven | State::Accepted | State::Stale | State::Open | State::Regressed => None,
        State::Blocked => {
            let why = feature.blocked.as_deref().unwrap_or("no reason given");
            Some(format!(
                "{id} is blocked: {why}; `longhaul feature reopen {id}` tries it again, `longhaul accept {id}` vouches for it"
            ))
        }
        State::AlreadyGreen => {
            Some(format!("{id} is already green: its check passed before any work; `longhaul accept {id}` takes it"))
        }
        State::Waiting if feature.needs_person() => {
            Some(format!("{id} waits for a person to look; `longhaul accept {id}` vouches for it"))
        }
        State::Waiting => Some(format!("{id} waits for {}", feature.depends_on.join(", "))),
        State::NoCheck => Some(format!(
            "{id} has no check; `longhaul run` asks an initializer session for one, or remove it and add it again"
        )),
    }
}
