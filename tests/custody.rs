//! The custody of processes: what commands may do to the machine, the network, the key and the supervisor, and that all of
//! them end. Every protection has a twin here: the same attempt with the protection off, which succeeds.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

#[path = "promises/custody/exhaustion.rs"]
mod exhaustion;
#[path = "promises/custody/forging.rs"]
mod forging;
#[path = "promises/custody/held.rs"]
mod held;
#[path = "promises/custody/matrix.rs"]
mod matrix;
#[path = "promises/custody/network.rs"]
mod network;
#[path = "promises/custody/output.rs"]
mod output;
#[path = "promises/custody/place.rs"]
mod place;
#[path = "promises/custody/repositories.rs"]
mod repositories;
#[path = "promises/custody/secrets.rs"]
mod secrets;
#[path = "promises/custody/terminal.rs"]
mod terminal;
#[path = "promises/custody/tools.rs"]
mod tools;
#[path = "promises/custody/unprivileged.rs"]
mod unprivileged;
