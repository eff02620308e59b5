//! Which sandbox a setting means on this machine. What was asked for is had, or refused; it is never less in silence.

use super::probe;
use super::probe::Bubblewrap;
use super::probe::Lacking;
use crate::failure::Failure;
use crate::failure::Kind;
use std::collections::BTreeMap;

/// What a person asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Bubblewrap where it can be had, else plain mode.
    Auto,
    /// Bubblewrap or nothing.
    Bubblewrap,
    /// Plain mode.
    Off,
}

/// What is to be had.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Choice {
    Bubblewrap(Bubblewrap),
    Plain(WhyPlain),
}

/// Why it is plain mode.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum WhyPlain {
    AskedFor,
    /// Nothing better can be had.
    Lacking(Lacking),
}

/// Chooses the sandbox; `outer` is the environment longhaul itself runs in.
///
/// # Errors
/// A failure of the machine's when bubblewrap was asked for and cannot be had.
pub fn choose(mode: Mode, outer: &BTreeMap<String, String>) -> Result<Choice, Failure> {
    if mode == Mode::Off {
        return Ok(Choice::Plain(WhyPlain::AskedFor));
    }
    match (probe::bubblewrap(outer), mode) {
        (Ok(found), _) => Ok(Choice::Bubblewrap(found)),
        (Err(lacking), Mode::Bubblewrap) => Err(refused(&lacking)),
        (Err(lacking), _) => Ok(Choice::Plain(WhyPlain::Lacking(lacking))),
    }
}

impl Choice {
    /// Says what a person must know at the start of a run; nothing when they got what they asked for.
    pub fn told(&self) -> Option<String> {
        match self {
            Self::Plain(WhyPlain::Lacking(Lacking { reason, .. })) => Some(format!(
                "plain mode: bubblewrap cannot be had ({reason}), so the agent's commands run as you and with your \
                 network; `longhaul doctor` says what to do"
            )),
            _ => None,
        }
    }
}

fn refused(lacking: &Lacking) -> Failure {
    let Lacking { reason, way_out } = lacking;
    Failure::new(Kind::Failed, format!("`sandbox.mode` is `bubblewrap`, which cannot be had here: {reason}"))
        .hint(format!("{way_out}; `longhaul doctor` tells whether it works then"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chooses where the PATH has no `bwrap`.
    fn without(mode: Mode) -> Result<Choice, Failure> {
        let empty = tempfile::tempdir().unwrap();
        choose(mode, &BTreeMap::from([("PATH".to_owned(), empty.path().display().to_string())]))
    }

    #[test]
    fn less_than_was_asked_for_is_refused_or_told() {
        let refused = without(Mode::Bubblewrap).unwrap_err();
        assert_eq!(refused.kind, Kind::Failed);
        let expected = "`sandbox.mode` is `bubblewrap`, which cannot be had here: there is no `bwrap` on the PATH";
        assert_eq!(refused.message, expected);
        let hint = refused.hint.unwrap();
        assert!(hint.contains("install bubblewrap") && hint.contains("longhaul doctor"), "{hint}");

        let told = without(Mode::Auto).unwrap().told().unwrap();
        assert!(told.starts_with("plain mode: bubblewrap cannot be had (there is no `bwrap` on the PATH)"), "{told}");
    }

    #[test]
    fn what_was_asked_for_is_not_told() {
        let plain = without(Mode::Off).unwrap();
        assert_eq!((plain.told(), plain), (None, Choice::Plain(WhyPlain::AskedFor)));
        let found = Bubblewrap { program: "/usr/bin/bwrap".into(), version: "bubblewrap 0.8.0".to_owned() };
        assert_eq!(Choice::Bubblewrap(found).told(), None);
    }
}
