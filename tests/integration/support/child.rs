//! What tests do to a longhaul that is running.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Sends a signal, `INT` for instance.
#[track_caller]
pub(crate) fn signal(child: &Child, name: &str) {
    signal_to(&child.id().to_string(), name);
}

/// Sends a signal to a process by number; the shell's own `kill`, since the program of that name is not on every machine.
#[track_caller]
pub(crate) fn signal_to(process: &str, name: &str) {
    let text = format!("kill -s {name} {}", process.trim());
    let sent = Command::new("sh").args(["-c", &text]).status().expect("a shell");
    assert!(sent.success(), "{text}");
}

/// Tells whether a process of this number runs; one that waits to be collected does not.
pub(crate) fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(process.trim()).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

/// Tells whether a process has ended, or does in a moment: a killed one takes some time to go.
pub(crate) fn ends(process: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(5);
    while lives(process) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    !lives(process)
}
