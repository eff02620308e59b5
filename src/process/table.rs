//! The processes of this machine, as `/proc` tells of them; none where there is no `/proc`.

use std::fs;
use std::path::PathBuf;

/// One process at the moment it was looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Process {
    pub id: i32,
    pub parent: i32,
    pub group: i32,
    state: char,
    /// The name of its program, cut at 15 bytes.
    pub name: String,
}

impl Process {
    /// Tells whether it is but a name that waits to be collected. Orphans stay so for ever where nobody collects them, as
    /// in many containers.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Returns its folder in `/proc`.
    pub(super) fn folder(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.id))
    }

    /// Tells whether it was started with this variable. Processes of others do not tell.
    pub(super) fn has_variable(&self, entry: &str) -> bool {
        let environment = fs::read(self.folder().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == entry.as_bytes())
    }

    /// Takes a `stat` line apart; the name may hold blanks and brackets.
    fn parse(stat: &str) -> Option<Self> {
        let (id, rest) = stat.split_once(" (")?;
        let (name, fields) = rest.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Self { id: id.parse().ok()?, parent, group, state, name: name.to_owned() })
    }
}

/// Lists all processes, the dead ones too.
pub(super) fn processes() -> impl Iterator<Item = Process> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        entry.file_name().to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))?;
        Process::parse(&String::from_utf8_lossy(&fs::read(entry.path().join("stat")).ok()?))
    })
}

/// Lists the processes that do something.
pub(super) fn running() -> impl Iterator<Item = Process> {
    processes().filter(|process| !process.is_dead())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_confuse_the_reading() {
        let process = Process { id: 12, parent: 1, group: 345, state: 'S', name: "a) b (c)".to_owned() };
        assert_eq!(Process::parse("12 (a) b (c)) S 1 345 345 0 -1"), Some(process));
        assert_eq!(Process::parse("rubbish"), None);
    }
}
