//! What a project's `longhaul.toml` may change: only what makes longhaul stricter, or spend less.
//!
//! The file comes with the code, so whoever wrote the code wrote it. A looser value there is an error unless the user
//! gave a value of their own, which then stands.

use super::setting::Setting;
use super::setting::Source;
use crate::failure::Failure;
use anyhow::Result;
use std::path::Path;

/// Which values of a setting count from a project's file.
#[derive(Clone, Copy)]
enum Narrowing {
    /// None.
    Never,
    /// Each; the model is the team's choice.
    Any,
    /// This one, as TOML writes it.
    Only(&'static str),
    /// A lower one.
    Lower,
    /// A lower one, where 0 stands for no limit at all.
    LowerOfLimit,
}

/// What becomes of a value in a project's file.
#[derive(Debug)]
pub(super) enum Ruling {
    Counts,
    /// It is left out, which a note may tell.
    DoesNotCount(Option<String>),
}

/// Decides whether the project's value counts against the one held so far; `overridden`: the user gives one for this run.
pub(super) fn judge(wanted: &Setting, held: &Setting, overridden: bool) -> Result<Ruling> {
    let narrower = match narrowing(&wanted.key) {
        Narrowing::Any => return Ok(Ruling::Counts),
        Narrowing::Never => return Err(refuse(wanted, "it needs your trust")),
        Narrowing::Only(value) if wanted.given.to_string() == value => return Ok(Ruling::Counts),
        Narrowing::Only(value) => return Err(refuse(wanted, &format!("only `{value}` counts there"))),
        Narrowing::Lower => compare(wanted, held, |amount| amount),
        Narrowing::LowerOfLimit => compare(wanted, held, |amount| if amount == 0.0 { f64::INFINITY } else { amount }),
    };
    match narrower {
        // A value of the wrong type is told when it is read.
        None | Some(true) => Ok(Ruling::Counts),
        Some(false) if overridden => Ok(Ruling::DoesNotCount(None)),
        Some(false) if held.source == Source::Default => {
            Err(refuse(wanted, &format!("it is looser than the default `{}`", held.given)))
        }
        Some(false) => Ok(Ruling::DoesNotCount(Some(format!(
            "`{}` is `{}` in {}; your own `{}` is tighter and stays",
            wanted.key, wanted.given, wanted.source, held.given
        )))),
    }
}

/// Makes the refusal of a setting that only the user can give.
pub(super) fn untrusted(key: &str, path: &Path, line: usize, reason: &str) -> Failure {
    Failure::usage(format!("`{key}` does not count in `{}`, line {line}: {reason}", path.display()))
        .hint("set it in your own config.toml instead")
}

fn narrowing(key: &str) -> Narrowing {
    match key {
        "agent.model" => Narrowing::Any,
        "gate.strict" | "run.final_sweep" => Narrowing::Only("true"),
        "gate.review" => Narrowing::Only("\"ask\""),
        "budget.usd" | "budget.time" | "budget.sessions" | "budget.turns_per_session" | "budget.tokens" => {
            Narrowing::LowerOfLimit
        }
        "run.attempts" | "run.breaker" | "agent.max_tokens" | "provider.outage_budget" => Narrowing::Lower,
        "memory.file_bytes" | "memory.files" | "memory.view_chars" => Narrowing::Lower,
        // Not `run.sweep_budget` nor `gate.timeout`: a lower one checks less, which is looser.
        _ => Narrowing::Never,
    }
}

fn compare(wanted: &Setting, held: &Setting, weigh: fn(f64) -> f64) -> Option<bool> {
    Some(weigh(wanted.magnitude()?) <= weigh(held.magnitude()?))
}

fn refuse(wanted: &Setting, reason: &str) -> anyhow::Error {
    match &wanted.source {
        Source::Project { file, line } => untrusted(&wanted.key, file, *line, reason).into(),
        other => anyhow::anyhow!("`{}` from {other} was judged as the project's", wanted.key),
    }
}
