//! `run`: sessions, limits, faults, interrupts, and what each leaves behind.

use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;

mod approved;
mod around;
mod attempts;
mod broken;
mod built;
mod checks;
mod context;
mod deadlines;
mod faults;
mod git_elsewhere;
mod honest;
mod initializer;
mod limits;
mod loaded;
mod misplaced;
mod odd_files;
mod opening;
mod others;
mod packing;
mod places;
mod repository;
mod shut;
mod stopping;
mod wedged;

/// A session that makes the file `name`, which is what most checks here look for, and hands over.
pub(crate) fn makes(name: &str) -> Value {
    session([reply([bash(&format!("touch {name}"))]), reply([hand_over()])])
}
