//! longhaul drives a coding agent through a project too long for one context window.
//!
//! # The map
//!
//! Data flows one way, from what was typed to what lies on disk. A module may name those its arrows lead to, and the
//! ground; `tests/architecture.rs` fails on any other:
//!
//! ```text
//! main ─► cli ─► config              (cli starts what the engine does, and shows what any part below holds)
//!          └► engine ─► prompts · driver ─► provider, tools · gate · checklist · memory · project · transcript
//!                       tools ─► memory, checklist (read), gate (run)   gate ─► project, sandbox   checklist ─► gate::{Check, Verdict}
//!          ground, knows nobody above: message · event · failure · process · sandbox · secrets · clock · clip
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
//! | [`message`] [`event`] [`failure`] [`process`] [`sandbox`] [`secrets`] [`clock`] [`clip`] | the ground everybody stands on |
//!
//! # Where to make a change
//!
//! - a subcommand: one file in `cli/`, one variant of `cli::Command`, one arm in `cli::dispatch`
//! - a tool: one file in `tools/`, its description in `tools/definitions.rs`, one arm in `Toolbox::dispatch`
//! - a text the model reads: one file in `templates/prompts/`, one struct in `prompts`
//! - a file memory starts with: one file in `templates/memory/`, one row in `prompts/seeds.rs`; who may write it:
//!   `memory/rules/guard.rs`, how much: `memory/rules/caps.rs`
//! - a rule about when a feature is proven: `Gate::judge`; a new kind of result: `gate::Finding`
//! - which files of a check are pinned: `gate/named.rs`; what a text does with a file that it names:
//!   `gate/executed/roles.rs`; what tools load by themselves: `gate/soft/table.rs`
//! - what a person hears of a check when it is approved: `engine/verify/pin.rs`
//! - which feature comes next, and why none can: `engine/pick.rs`
//! - a step after every session: `engine/session/hook.rs`
//! - what a commit says of a feature, and so its history: `engine/facts.rs`, how it is shown in `cli/show.rs`
//! - when a run gives up though features are left: `engine/run/breaker.rs`; when two failures are equal: `gate/failure.rs`
//! - a form of checklist to import: one file in `checklist/import/`
//! - an event: `event.rs`, how a person hears of it in `cli/narration.rs`, how it is read back in `cli/past.rs`
//! - what `doctor` looks at: `engine/commands/doctor/`; which package holds a program: `engine/commands/doctor/programs.rs`
//! - an exit code: `failure::Kind`, and its row in `cli/error.rs`
//! - a form of secret: a row in `secrets/rules.rs`
//! - a setting: `config/default.toml`, its field and reader in `config/mod.rs`, whether a project may give it in
//!   `config/narrow.rs`, and `cli/settings.rs`, which hands it to its part

pub mod checklist;
pub mod cli;
pub mod clip;
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
pub mod secrets;
pub mod tools;
pub mod transcript;
