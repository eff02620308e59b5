//! The command itself, end to end: the real binary, real git, and the scripted model behind its loopback server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod agent_tools;
mod canary;
mod command_line;
mod demo;
mod diagnosis;
mod editing;
mod extraction;
mod kills;
mod memory_conformance;
mod notes;
mod past;
mod poisoned;
mod provider_client;
mod provider_context;
mod provider_recordings;
mod provider_replay;
mod provider_script;
mod purging;
mod reports;
mod running;
mod sandboxed;
mod secrets;
mod setting_up;
mod support;
mod tampering;
mod trajectory;
mod trusting;
