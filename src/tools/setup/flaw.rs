//! What in the text of an init script is often why it fails.

use std::fs;
use std::path::Path;

/// A reason that its text tells, and its exit code does not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Flaw {
    /// The system looks for an interpreter whose name ends with a CR.
    LineEnds,
    /// It reads what nobody types.
    Asks,
}

impl Flaw {
    /// Looks for one in a script; none where it cannot be read.
    pub(super) fn of(script: &Path) -> Option<Self> {
        let text = fs::read(script).ok()?;
        let text = String::from_utf8_lossy(&text);
        match () {
            () if text.split('\n').next().is_some_and(|line| line.ends_with('\r')) => Some(Self::LineEnds),
            () if text.lines().any(asks) => Some(Self::Asks),
            () => None,
        }
    }

    /// Says what it is, and the way out.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::LineEnds => {
                "its lines end with CR and LF, and the first one names what runs it: save it with LF alone"
            }
            Self::Asks => "it asks for input, and gets none: let it take what it needs from the environment",
        }
    }
}

/// Tells whether a line asks a person, and takes nothing from a file or a pipe.
fn asks(line: &str) -> bool {
    let line = line.trim();
    let is_fed = line.contains(['<', '|']) || line.starts_with("while ");
    let reads = line.split([';', '&', ' ']).any(|word| word == "read");
    !line.starts_with('#') && (reads && !is_fed || line.contains("input("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_is_fed_with_nobody_is_asked_for() {
        for line in
            ["read name", "  echo 'Port?'; read -r port", "read -p 'Go on? ' answer && echo", "name = input('x')"]
        {
            assert!(asks(line), "{line}");
        }
        for line in
            ["# read the manual", "while read line; do", "read x < file", "ls | while read f", "already", "./read.sh"]
        {
            assert!(!asks(line), "{line}");
        }
    }
}
