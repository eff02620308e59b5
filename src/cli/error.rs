//! The one table of what a failure means to the caller: heading, exit code, and the way out when the error names none.

use super::output::Output;
use crate::failure::Failure;
use crate::failure::Kind;
use anyhow::Error;
use std::process::ExitCode;

/// Exit codes; scripts rely on them, so none ever changes its meaning.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Code {
    /// Every required feature is proven or accepted, or the command did what it was asked.
    Done = 0,
    /// An error on our side or the machine's.
    Failed = 1,
    /// Usage or configuration error.
    Usage = 2,
    /// A budget is used up with features open.
    Limit = 3,
    /// Nothing can be worked on.
    Stuck = 4,
    /// The model service stayed unavailable or refused.
    Provider = 5,
    /// Another longhaul holds this project.
    Busy = 6,
    /// Something was changed behind longhaul's back that it does not repair by itself.
    Integrity = 7,
    /// A check that was asked for did not pass.
    Unproven = 8,
    /// Interrupted; memory is committed.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// What one kind of failure looks like from outside.
struct Row {
    heading: &'static str,
    code: Code,
    hint: Option<&'static str>,
}

/// The table.
fn row(kind: Kind) -> Row {
    let (heading, code, hint) = match kind {
        Kind::Failed => ("error", Code::Failed, None),
        Kind::Usage => ("usage", Code::Usage, None),
        Kind::Limit => ("stopped", Code::Limit, Some("`longhaul run` goes on from here")),
        Kind::Stuck => ("stuck", Code::Stuck, Some("`longhaul status` shows what waits for you")),
        Kind::Provider => ("provider", Code::Provider, Some("nothing is lost; `longhaul run` goes on from here")),
        Kind::Busy => ("busy", Code::Busy, Some("wait for the other longhaul to end, or interrupt it")),
        Kind::Integrity => ("integrity", Code::Integrity, Some("`longhaul log` shows what is committed")),
        Kind::Interrupted => ("interrupted", Code::Interrupted, Some("`longhaul run` goes on from here")),
    };
    Row { heading, code, hint }
}

/// Tells a failure with its causes, and returns its exit code.
pub(super) fn tell(error: &Error, output: &Output) -> Code {
    let failure = error.downcast_ref::<Failure>();
    let row = row(failure.map_or(Kind::Failed, |failure| failure.kind));
    let hint = failure.and_then(|failure| failure.hint.as_deref()).or(row.hint).or_else(|| of_the_machine(error));
    output.failure(row.heading, &with_causes(error), hint);
    row.code
}

/// The reasons of the machine's, as the system words them, each with the way out. Libraries hand on no more than the words.
const OF_THE_MACHINE: [(&str, &str); 5] = [
    ("No space left on device", "make room on the disk and do it again; what was answered before is kept"),
    ("quota exceeded", "make room on the disk and do it again; what was answered before is kept"),
    ("Read-only file system", "make the disk writable and do it again; what was answered before is kept"),
    ("Too many open files", "raise the limit of open files (`ulimit -n`), or end what holds them open"),
    ("Input/output error", "the disk fails: look into the system's log, and copy away what can still be read"),
];

/// Returns the way out where the machine is the cause.
fn of_the_machine(error: &Error) -> Option<&'static str> {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    let is_said = |reason: &str| causes.iter().any(|cause| cause.contains(reason));
    OF_THE_MACHINE.iter().find(|(reason, _)| is_said(reason)).map(|(_, way_out)| *way_out)
}

/// Returns the exit code of a failure.
pub(super) fn code(error: &Error) -> Code {
    row(error.downcast_ref::<Failure>().map_or(Kind::Failed, |failure| failure.kind)).code
}

/// Joins an error with its causes; one that its parent already quotes is not said twice.
pub(super) fn with_causes(error: &Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::capture::Captured;
    use anyhow::Context;
    use anyhow::anyhow;
    use std::io;

    fn told(error: &Error) -> (Code, String) {
        let captured = Captured::default();
        let code = tell(error, &captured.output(None));
        assert_eq!(captured.data.text(), "");
        (code, captured.rest.text())
    }

    #[test]
    fn the_codes_are_those_scripts_rely_on() {
        let kinds = [
            (Kind::Failed, 1),
            (Kind::Usage, 2),
            (Kind::Limit, 3),
            (Kind::Stuck, 4),
            (Kind::Provider, 5),
            (Kind::Busy, 6),
            (Kind::Integrity, 7),
            (Kind::Interrupted, 130),
        ];
        for (kind, expected) in kinds {
            assert_eq!(row(kind).code as u8, expected, "{kind:?}");
        }
        // No failure: the command did what it was asked, and tells what it found.
        assert_eq!((Code::Done as u8, Code::Unproven as u8), (0, 8));
    }

    #[test]
    fn a_failure_keeps_kind_and_hint_below_added_context() {
        let failure = Failure::new(Kind::Busy, "held by process 7").hint("wait for it");
        let error = Err::<(), _>(failure).context("could not take the lock").context("run").unwrap_err();
        let expected = "busy: run: could not take the lock: held by process 7\nhint: wait for it\n";
        assert_eq!(told(&error), (Code::Busy, expected.to_owned()));
    }

    #[test]
    fn an_unmarked_error_is_a_plain_failure_with_its_causes() {
        let error = anyhow!("disk on fire").context("could not write `x`");
        assert_eq!(told(&error), (Code::Failed, "error: could not write `x`: disk on fire\n".to_owned()));
        let quoting = anyhow!("no such file").context("could not read `x`: no such file");
        assert_eq!(told(&quoting).1, "error: could not read `x`: no such file\n");
    }

    #[test]
    fn what_the_machine_refuses_has_a_way_out() {
        let told_of =
            |code: i32| told(&Error::from(io::Error::from_raw_os_error(code)).context("could not write `x`")).1;
        for (code, way_out) in [(28, "make room"), (30, "make the disk writable"), (24, "raise"), (5, "the disk fails")]
        {
            assert!(told_of(code).contains(&format!("\nhint: {way_out}")), "{}", told_of(code));
        }
        assert!(!told_of(2).contains("hint: "), "its twin, which is not the machine's: {}", told_of(2));
    }

    #[test]
    fn a_kind_has_a_way_out_of_its_own() {
        let error = Failure::new(Kind::Limit, "20.00 USD are spent").into();
        let expected = "stopped: 20.00 USD are spent\nhint: `longhaul run` goes on from here\n";
        assert_eq!(told(&error), (Code::Limit, expected.to_owned()));
    }
}
