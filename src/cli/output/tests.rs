//! What reaches the two streams, byte for byte.

use super::capture::Captured;
use super::capture::Written;
use super::*;
use serde_json::json;

fn spent(tokens: u64) -> Event {
    Event::Spent { tokens, cached: None, cost: Some(0.5), nearest: "turns, 1 of 200".into() }
}

#[test]
fn data_and_the_rest_never_mix() {
    let captured = Captured::default();
    let output = captured.output(None);
    output.data("one\ntwo");
    output.data("three\n");
    output.warn("careful");
    output.json(&json!({"a": "\u{202e}"}));
    output.failure("error", "could not open `x`\n+ diff", Some("make `x`"));
    output.data_line(&Line::new(Tone::Good, "done").add(Tone::Plain, ": 1 feature proven"));

    assert_eq!(captured.data.text(), "one\ntwo\nthree\n{\"a\":\"\\u202e\"}\ndone: 1 feature proven\n");
    assert_eq!(captured.rest.text(), "warning: careful\nerror: could not open `x`\n  + diff\nhint: make `x`\n");
}

#[test]
fn the_status_line_is_cleared_before_any_other_line_and_at_the_end() {
    let captured = Captured::default();
    let output = captured.output(Some(80));
    output.take(&spent(10));
    output.data("asked for");
    output.warn("careful");
    output.finish().unwrap();

    let status = "10 tokens · 0.50 USD · nearest limit: turns, 1 of 200";
    let expected = format!("{status}{CLEAR}{status}{CLEAR}warning: careful\n{status}{CLEAR}");
    assert_eq!(captured.rest.text(), expected);
    assert_eq!(captured.data.text(), "asked for\n");
}

#[test]
fn the_status_line_fits_the_terminal_and_is_written_only_when_it_changed() {
    let captured = Captured::default();
    let output = captured.output(Some(12));
    output.take(&spent(10));
    output.take(&spent(10));
    assert_eq!(captured.rest.text(), "10 tokens\n0.50 USD\nnearest li…");
}

/// Terminals wrap a line anew when they become narrower: what was one row is several then.
#[test]
fn a_terminal_that_became_narrower_keeps_nothing_of_the_old_status() {
    let captured = Captured::default();
    let columns = Arc::new(std::sync::atomic::AtomicUsize::new(80));
    let now = Arc::clone(&columns);
    let output = captured.output_of(move || Some(now.load(std::sync::atomic::Ordering::Relaxed)));
    output.take(&spent(10));
    columns.store(30, std::sync::atomic::Ordering::Relaxed);
    output.take(&spent(20));
    // 54 columns are two rows of 30.
    let expected = format!(
        "10 tokens · 0.50 USD · nearest limit: turns, 1 of 200{CLEAR}{CLEAR_ABOVE}\
         20 tokens · 0.50 USD\nnearest limit: turns, 1 of 2…"
    );
    assert_eq!(captured.rest.text(), expected);
}

#[test]
fn a_status_of_two_lines_is_taken_away_whole_and_never_comes_back() {
    let captured = Captured::default();
    let output = captured.output(Some(80));
    let (feature, title) = (Some("login".into()), None);
    let started = Event::SessionStarted {
        session: 3,
        kind: "work".into(),
        feature,
        title,
        model: "m".into(),
        branch: None,
        turn: 0,
    };
    output.take(&started);
    output.take(&spent(10));
    output.finish().unwrap();
    output.take(&spent(20));
    let told = captured.rest.text();
    assert!(told.ends_with(&format!("nearest limit: turns, 1 of 200{CLEAR}{CLEAR_ABOVE}")), "{told:?}");
}

#[test]
fn streamed_events_are_data_and_nothing_is_told_beside_them() {
    let captured = Captured::default();
    let output = captured.output(Some(80));
    output.stream(Clock::fixed("2026-11-29T14:03:00Z".parse().unwrap()));
    output.take(&spent(10));
    output.take(&Event::Notice { text: "a\nb\u{202e}".into() });
    assert_eq!(
        captured.data.text(),
        "{\"type\":\"spent\",\"tokens\":10,\"cached\":null,\"cost\":0.5,\"nearest\":\"turns, 1 of 200\",\"at\":\"2026-11-29T14:03:00Z\"}\n\
         {\"type\":\"notice\",\"text\":\"a\\nb\\u202e\",\"at\":\"2026-11-29T14:03:00Z\"}\n"
    );
    assert_eq!(captured.rest.text(), "");
}

#[test]
fn without_a_terminal_there_is_no_status_line_and_no_escape() {
    let captured = Captured::default();
    let output = captured.output(None);
    output.take(&spent(10));
    output.take(&Event::Notice { text: "\x1b[2Jgone\r".into() });
    output.finish().unwrap();
    assert_eq!(captured.rest.text(), "\\u{1b}[2Jgone\\r\n");
}

#[test]
fn a_reader_that_went_away_is_no_failure_but_a_full_disk_is() {
    let gone = Captured { data: Written::failing(1, ErrorKind::BrokenPipe), ..Captured::default() };
    let output = gone.output(None);
    output.data("first");
    output.data("second");
    output.data("third");
    output.finish().unwrap();
    assert_eq!(gone.data.text(), "first\n");

    let full = Captured { data: Written::failing(0, ErrorKind::StorageFull), ..Captured::default() };
    let output = full.output(None);
    output.data("first");
    assert_eq!(output.finish().unwrap_err().kind(), ErrorKind::StorageFull);
}

#[test]
fn colour_is_only_in_what_longhaul_itself_says() {
    let written = Written::default();
    let channel = |colour| Channel { to: Box::new(written.clone()), colour, paged: false, error: None };
    let output = Output::new(channel(true), channel(true), Box::new(|| None));
    output.data("\x1b[31mfake");
    output.data_line(&Line::new(Tone::Good, "done").add(Tone::Plain, ": all proven"));
    assert_eq!(written.text(), "\\u{1b}[31mfake\n\x1b[32mdone\x1b[0m: all proven\n");
}
