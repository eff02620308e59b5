//! Secrets in texts: those that longhaul holds, in each spelling, and what looks like one.
//!
//! Decides what counts as a secret. Whether a text that has one is refused, shortened or kept is for its owner.

mod assigned;
mod known;
mod rules;
#[cfg(test)]
pub(crate) mod seeds;

use std::ops::Range;

pub use assigned::names_one;
pub use known::HIDDEN;
pub use known::NotAlone;
pub use known::Secrets;
pub use known::Sought;
pub use known::Why;

/// A secret in a text. It is never told itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// The name of the rule that knows it.
    pub rule: &'static str,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its bytes in the text.
    pub bytes: Range<usize>,
}

/// Looks for secrets.
#[derive(Clone, Debug)]
pub struct Scanner {
    known: Secrets,
    by_form: bool,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new(Secrets::default())
    }
}

impl Scanner {
    /// Makes one that knows these values too, besides what looks like a secret by its form.
    pub fn new(known: Secrets) -> Self {
        Self { known, by_form: true }
    }

    /// Makes one that looks for these values and for nothing else.
    pub fn of_known(known: Secrets) -> Self {
        Self { known, by_form: false }
    }

    /// Returns the secrets in a text, in order; one that lies in another is left out.
    pub fn scan(&self, text: &[u8]) -> Vec<Found> {
        let mut all: Vec<(Range<usize>, &'static str)> = self.known.find(text).map(|at| (at, "known-secret")).collect();
        if self.by_form {
            all.extend(rules::find(text));
            all.extend(assigned::find(text).map(|at| (at, "assigned-secret")));
        }
        all.sort_by_key(|(at, _)| (at.start, std::cmp::Reverse(at.end)));
        let mut found: Vec<Found> = Vec::new();
        let (mut line, mut counted) = (1, 0);
        for (bytes, rule) in all {
            if found.last().is_some_and(|last| bytes.start < last.bytes.end) {
                continue;
            }
            line += text[counted..bytes.start].iter().filter(|byte| **byte == b'\n').count();
            counted = bytes.start;
            found.push(Found { rule, line, bytes });
        }
        found
    }

    /// Puts the name of its rule in the place of each secret.
    pub fn redact(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redact_in(text.as_bytes())).into_owned()
    }

    /// Does the same in what may be no text.
    pub fn redact_in(&self, bytes: &[u8]) -> Vec<u8> {
        let (mut redacted, mut end) = (Vec::new(), 0);
        for found in self.scan(bytes) {
            redacted.extend(&bytes[end..found.bytes.start]);
            redacted.extend(format!("[{} left out]", found.rule).bytes());
            end = found.bytes.end;
        }
        redacted.extend(&bytes[end..]);
        redacted
    }
}
