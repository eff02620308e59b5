//! P12: whatever a command prints, this process stays small, and the size is told.

use crate::place::LONG;
use crate::place::Place;
use crate::place::alone;
use longhaul::process::Command;
use longhaul::process::Exit;
use longhaul::process::Finished;
use std::fs;
use std::time::Duration;

/// The most this process may grow, in bytes.
const GROWTH: u64 = 64 << 20;

const GIB: u64 = 1 << 30;

/// Returns the most memory this process has had so far, and starts to count anew.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// Runs a command that prints much, and returns how much this process grew meanwhile.
fn measured(place: &Place, text: &str) -> (Finished, u64) {
    let sandbox = place.open();
    let command = place.command(text).limit(Duration::from_secs(900));
    peak();
    let before = peak();
    let finished = sandbox.run(&command);
    (finished, peak().saturating_sub(before))
}

fn stays_small(place: &Place, text: &str, size: u64) {
    let (finished, growth) = measured(place, text);
    assert_eq!((&finished.exit, finished.output.size), (&Exit::Code(0), size), "{text}");
    assert!(growth <= GROWTH, "{text}: grew by {} MiB", growth >> 20);
    assert!(finished.output.kept().len() <= 2 * 64 * 1024 + 100, "{text}");
    assert_eq!(finished.output.left_out(), size - 2 * 64 * 1024, "{text}");
}

/// A gigabyte takes seconds, most of them for its hash; ten are behind `--ignored`.
#[test]
fn a_gigabyte_of_output_leaves_this_process_small() {
    let _alone = alone();
    let Some(place) = Place::held() else { return };
    stays_small(&place, &format!("yes | head -c {GIB}"), GIB);
}

#[test]
#[ignore = "takes a minute: 10 GB of output, and one line of 2 GB, in each mode"]
fn ten_gigabytes_of_output_leave_this_process_small() {
    let _alone = alone();
    let places = [Some(Place::plain()), Place::held()];
    for place in places.iter().flatten() {
        stays_small(place, &format!("yes | head -c {}", 10 * GIB), 10 * GIB);
        stays_small(place, &format!("head -c {} /dev/zero | tr '\\0' x", 2 * GIB), 2 * GIB);
        stays_small(place, &format!("head -c {GIB} /dev/zero; head -c 1000 /dev/urandom"), GIB + 1000);
    }
}

/// The twin: one who keeps it all does not stay small. A tenth is enough to see it.
#[test]
fn what_keeps_it_small_is_that_the_middle_is_not_kept() {
    let _alone = alone();
    let place = Place::plain();
    let command = Command { keep: 200 << 20, ..place.command("yes | head -c 104857600") }.limit(LONG);
    peak();
    let before = peak();
    let finished = place.open().run(&command);
    assert_eq!(finished.output.left_out(), 0);
    assert!(peak() - before > GROWTH);
}

/// T28: what is no text arrives as text that says so, whole at the cut where it was whole.
#[test]
fn bytes_that_are_no_text_are_counted_and_replaced() {
    let _alone = alone();
    let places = [Some(Place::plain()), Place::held()];
    for place in places.iter().flatten() {
        let sandbox = place.open();
        let finished = sandbox.run(&place.command(r"printf 'a\0b\377\376c\303\244\342\202'"));
        assert_eq!((finished.output.size, finished.output.text().as_str()), (10, "a\0b\u{fffd}\u{fffd}cä\u{fffd}"));
        let split = Command { keep: 3, ..place.command(r"printf 'xx\303'; sleep 0.05; printf '\244yy'") };
        assert_eq!(sandbox.run(&split).output.text(), "xxäyy");
    }
}
