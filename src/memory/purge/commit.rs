//! The parts of a commit of which only some may change.

use crate::memory::history::trailers;
use crate::secrets::Secrets;

/// Changes a name and an address; what stands before, between and behind them, such as the time, stays.
pub(super) fn person(person: &[u8], values: &Secrets) -> Vec<u8> {
    let mut parts = person.splitn(2, |byte| *byte == b'<');
    let name = parts.next().unwrap_or_default();
    let Some(rest) = parts.next() else { return person.to_owned() };
    let end = rest.iter().rposition(|byte| *byte == b'>').unwrap_or(rest.len());
    let (address, time) = rest.split_at(end);
    let named = name.trim_ascii_end();
    [&values.hide_in(named), &name[named.len()..], b"<", &values.hide_in(address), time].concat()
}

/// Leaves the signature out of a commit.
pub(super) fn without_signature(commit: &[u8]) -> Vec<u8> {
    let end = commit.windows(2).position(|two| two == b"\n\n").unwrap_or(commit.len());
    let (head, message) = commit.split_at(end);
    let mut within = false;
    let kept = head.split(|byte| *byte == b'\n').filter(|line| {
        within = line.starts_with(b"gpgsig") || within && line.starts_with(b" ");
        !within
    });
    [kept.collect::<Vec<_>>().join(&b'\n'), message.to_vec()].concat()
}

/// Returns the trailers of a commit that longhaul reads back, of each how many there are.
pub(super) fn read_back(message: &[u8]) -> Vec<(&'static str, usize)> {
    let found = trailers::parse(&String::from_utf8_lossy(message.trim_ascii_start())).trailers;
    let count = |key: &str| found.iter().filter(|(found, _)| found == key).count();
    trailers::KEYS.into_iter().map(|key| (key, count(key))).collect()
}
