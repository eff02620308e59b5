//! The table of contents of the integration tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

//! The tests of the whole, one binary; this is their table of contents.

/// The contract of the memory tool, case by case.
mod agent_tools;
mod demo;
mod memory_conformance;
mod provider_client;
mod provider_recordings;
mod provider_replay;
mod provider_script;
mod reports;
mod running;
mod setting_up;
mod support;
