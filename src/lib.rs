//! longhaul drives a coding agent through a project too long for one context window.
//!
//! # The map
//!
//! Data flows one way, from what was typed to what lies on disk. A module may name those below it, never one above or beside it:
//!
//! ```text
//! main ─► cli ─► config
//!          └► engine ─► prompts · driver ─► provider, tools · gate · checklist · memory · project · transcript
//!                       tools ─► memory, checklist (read), gate (run)   gate ─► project, sandbox   checklist ─► gate::{Check, Verdict}
//!          ground, knows nobody: message · event · failure · process · sandbox · clock
//!          ground, knows nobody: message · event · process · sandbox · clock · failure
//! ```
//!
//! | module | decides |
//! |---|---|
//! | [`cli`] | what was typed, what is printed, the exit code |
//! | [`config`] | which value each setting has, and where it came from |
//! | [`engine`] | runs, sessions, the session-end hook: what happens next |
//! | [`prompts`] | the texts the model reads, and the seeds of memory |
//! | [`driver`] | the turns of one session |
//! | [`provider`] | how one request reaches the model service, and the scripted model |
//! | [`tools`] | what each tool call of the agent does |
//! | [`gate`] | whether a check proves a feature |
//! | [`checklist`] | the features and their states |
//! | [`memory`] | durable files with history |
//! | [`project`] | the user's own repository |
//! | [`transcript`] | the record of a session on disk |
//! | [`message`] [`event`] [`failure`] [`process`] [`sandbox`] [`clock`] | the ground everybody stands on |
//!
//! # Where to make a change
//!
//! - a subcommand: one file in `cli/`, one arm in `cli::run`
//! - a tool: one file in `tools/`, one line in `tools::Toolbox`
//! - a template: one file in `templates/`, one struct in `prompts`
//! - a rule about when a feature is proven: `gate/`
//! - a setting: `config/default.toml`, and the settings struct of the part that reads it

pub mod checklist;
pub mod cli;
pub mod clock;
pub mod config;
pub mod driver;
pub mod engine;
pub mod event;
pub mod failure;
pub mod gate;
pub mod memory;
pub mod message;
pub mod process;
pub mod project;
pub mod prompts;
pub mod provider;
pub mod sandbox;
pub mod tools;
pub mod transcript;
