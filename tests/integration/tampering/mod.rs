//! Attempts of the agent's shell to get a feature marked that does not work, or to lose what memory holds.

mod memory;
mod project;

use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;

/// A session that runs one command and hands over.
fn does(command: &str) -> Value {
    session([reply([bash(command)]), reply([hand_over()])])
}
