//! The table of contents of the integration tests.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod provider_client;
mod provider_recordings;
mod provider_replay;
mod provider_script;
