//! The table of contents of the integration tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod agent_tools;
mod demo;
mod provider_client;
mod provider_recordings;
mod provider_replay;
mod provider_script;
mod reports;
mod running;
mod setting_up;
mod support;
