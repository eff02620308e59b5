//! What the tests share: a project in a temporary folder, a scripted model, and the real binary.

mod chance;
mod child;
mod model;
mod nobody;
mod project;
mod run;
mod skip;

pub(crate) use chance::Chance;
pub(crate) use child::ends;
pub(crate) use child::lives;
pub(crate) use child::signal;
pub(crate) use model::Model;
pub(crate) use model::PATIENCE;
pub(crate) use model::as_note;
pub(crate) use model::bash;
pub(crate) use model::call;
pub(crate) use model::hand_over;
pub(crate) use model::keep_on;
pub(crate) use model::memory;
pub(crate) use model::reply;
pub(crate) use model::request;
pub(crate) use model::say;
pub(crate) use model::server;
pub(crate) use model::session;
pub(crate) use model::session_tool;
pub(crate) use nobody::as_nobody;
pub(crate) use nobody::hand_to_nobody;
pub(crate) use project::KEY;
pub(crate) use project::Project;
pub(crate) use run::Run;
pub(crate) use skip::runs_here;
pub(crate) use skip::skipped;
