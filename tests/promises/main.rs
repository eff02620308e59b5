//! The promises, played from end to end: cheats get nothing marked, honest work is accepted, what was answered is not lost,
//! and what worked stays watched.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod cheats;
mod durable;
mod faults;
mod full;
mod honest;
mod regressions;
mod stage;
#[expect(dead_code, unused_imports, reason = "shared with the integration tests, which use the rest of it")]
#[path = "../integration/support/mod.rs"]
mod support;
mod trusting;
