//! What a project's `longhaul.toml` may change: only what makes longhaul stricter, or spend less.
//!
//! The file comes with the code, so whoever wrote the code wrote it. Any other value there waits until the user trusts
//! that exact content; meanwhile it is told, because a person may rely on it.

use super::setting::Setting;
use super::setting::Source;
use super::trust::Trust;
use crate::failure::Failure;
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
pub(super) fn judge(wanted: &Setting, held: &Setting, overridden: bool, trust: Trust) -> Ruling {
    // A value that changes nothing needs nobody's trust.
    if trust == Trust::Given || wanted.given.to_string() == held.given.to_string() {
        return Ruling::Counts;
    }
    let narrower = match narrowing(&wanted.key) {
        Narrowing::Any => Some(true),
        Narrowing::Never => Some(false),
        Narrowing::Only(value) => Some(wanted.given.to_string() == value),
        Narrowing::Lower => compare(wanted, held, |amount| amount),
        Narrowing::LowerOfLimit => compare(wanted, held, |amount| if amount == 0.0 { f64::INFINITY } else { amount }),
    };
    match narrower {
        // A value of the wrong type is told when it is read.
        None | Some(true) => Ruling::Counts,
        Some(false) if overridden => Ruling::DoesNotCount(None),
        Some(false) => Ruling::DoesNotCount(Some(note(wanted, held, trust))),
    }
}

/// Says why a value waits, and what to do.
fn note(wanted: &Setting, held: &Setting, trust: Trust) -> String {
    let Setting { key, given, source } = wanted;
    let reason = match narrowing(key) {
        Narrowing::Only(value) => format!("only `{value}` counts there without your trust"),
        Narrowing::Lower | Narrowing::LowerOfLimit if held.source == Source::Default => {
            format!("it is looser than the default `{}`", held.given)
        }
        Narrowing::Lower | Narrowing::LowerOfLimit => {
            return format!("`{key}` is `{given}` in {source}; your own `{}` is tighter and stays", held.given);
        }
        Narrowing::Never | Narrowing::Any => "it needs your trust".to_owned(),
    };
    let way_out = match trust {
        Trust::ForAnother => "the file is not as you trusted it: look at it again with `longhaul trust`",
        _ => "look at it with `longhaul trust`",
    };
    format!("`{key}` does not count in {source}: {reason}; {way_out}")
}

/// Makes the refusal of what only the user can give.
pub(super) fn untrusted(key: &str, path: &Path, line: usize, reason: &str) -> Failure {
    Failure::usage(format!("`{key}` does not count in `{}`, line {line}: {reason}", path.display()))
        .hint("set it in your own config.toml instead")
}

/// Says what a person should know before a project's value of this setting counts; none for what harms little.
pub fn risk(key: &str) -> Option<&'static str> {
    Some(match key {
        "hooks.session_start" | "hooks.session_end" => "runs as you, outside the sandbox",
        "provider.base_url" => "gets your key, and everything the agent reads and writes",
        "provider.key_env" => "names the variable whose value is sent as the key",
        "sandbox.mode" => "decides what holds the agent's commands",
        "sandbox.network" => "decides who reaches the network",
        "sandbox.read" => "lets the agent's commands read more of your files",
        "sandbox.pass_env" => "hands variables of yours to the agent's commands",
        "gate.prepare" => "runs a command before checks",
        _ => return None,
    })
}

fn narrowing(key: &str) -> Narrowing {
    match key {
        "agent.model" => Narrowing::Any,
        "gate.strict" | "run.final_sweep" => Narrowing::Only("true"),
        "gate.review" => Narrowing::Only("\"ask\""),
        key if key.starts_with("budget.") => Narrowing::LowerOfLimit,
        "run.attempts" | "run.breaker" | "agent.max_tokens" | "provider.outage_budget" => Narrowing::Lower,
        "memory.file_bytes" | "memory.files" | "memory.view_chars" => Narrowing::Lower,
        "memory.path_bytes" | "memory.path_depth" | "memory.index_lines" | "memory.index_bytes" => Narrowing::Lower,
        "recall.notes" | "recall.extract_turns" | "recall.extract_tokens" => Narrowing::Lower,
        "recall.extract" => Narrowing::Only("false"),
        // Not `run.sweep_budget`, `gate.timeout` nor `gate.idle`: a lower one checks less, which is looser.
        _ => Narrowing::Never,
    }
}

fn compare(wanted: &Setting, held: &Setting, weigh: fn(f64) -> f64) -> Option<bool> {
    Some(weigh(wanted.magnitude()?) <= weigh(held.magnitude()?))
}
