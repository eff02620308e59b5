//! Tests that need what a machine may not have.

use std::io::Write;
use std::process::Command;

/// Tells whether a program runs here. If not, the caller returns: its test is skipped, and that is said.
///
/// With `LONGHAUL_TEST_NO_SKIP=1` it fails instead, so that a run which should see everything cannot miss a test.
#[track_caller]
pub(crate) fn runs_here(program: &str) -> bool {
    let asks = if program == "go" { "version" } else { "--version" };
    let found = Command::new(program).arg(asks).output().is_ok_and(|output| output.status.success());
    if !found {
        skipped(&format!("`{program}` does not run here"));
    }
    found
}

/// Says why a test does not run here; with `LONGHAUL_TEST_NO_SKIP=1` that is a failure.
#[track_caller]
pub(crate) fn skipped(reason: &str) {
    assert!(std::env::var_os("LONGHAUL_TEST_NO_SKIP").is_none_or(|set| set != "1"), "skipped: {reason}");
    // Written to the stream itself: what is printed by macro is only shown for tests that fail.
    writeln!(std::io::stderr(), "skipped: {reason}").ok();
}
