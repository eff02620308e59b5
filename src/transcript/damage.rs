//! What is gone or cannot be read of a session's record. That lines are missing, or say something else than they did, cannot
//! be seen: nothing elsewhere knows them.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fmt::Formatter;
use std::fs;
use std::fs::DirBuilder;
use std::fs::OpenOptions;
use std::io;
use std::io::ErrorKind;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use serde_json::Value;
use serde_json::json;

use crate::clock::Clock;
use crate::transcript::ARTIFACTS;
use crate::transcript::EVENTS;
use crate::transcript::folder;

/// Lines that are named; the others are counted.
const NAMED: usize = 5;
/// What stands before the path of a kept text, and how its name ends.
const POINTER: &str = "is in ";
const TEXT: &str = ".txt";

/// What is written in the place of a kept text that is gone.
const LOST: &[u8] = b"[this text was lost; `longhaul memory fsck --repair` wrote this in its place]\n";

/// Something that is wrong with the record of a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Damage {
    session: u32,
    path: PathBuf,
    what: What,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum What {
    Gone,
    /// These lines, from 1, are no events.
    Lines(Vec<usize>),
    /// All of them, among which are these.
    Artifacts(Vec<PathBuf>),
    Artifact,
}

/// Looks at the record of a session that was held.
pub fn damages(dir: &Path, session: u32) -> Result<Vec<Damage>> {
    let (path, artifacts) = (folder(dir, session).join(EVENTS), folder(dir, session).join(ARTIFACTS));
    let damage = |path: &Path, what| Damage { session, path: path.to_owned(), what };
    let mut all = Vec::new();
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            all.push(damage(&path, What::Gone));
            Vec::new()
        }
        bytes => bytes.with_context(|| format!("could not read the record `{}`", path.display()))?,
    };
    let lines = unreadable(&bytes);
    if !lines.is_empty() {
        all.push(damage(&path, What::Lines(lines)));
    }
    let texts = pointed_to(&bytes, session).into_iter().map(|name| artifacts.join(name));
    match artifacts.is_dir() {
        false => all.push(damage(&artifacts, What::Artifacts(texts.collect()))),
        true => all.extend(texts.filter(|path| !path.exists()).map(|path| damage(&path, What::Artifact))),
    }
    Ok(all)
}

/// Returns the lines that are no events. What a kill left of one, or a power cut of several, is none of these.
fn unreadable(bytes: &[u8]) -> Vec<usize> {
    let is_damaged = |line: &[u8]| {
        let is_left_over = line.iter().all(|byte| *byte == 0);
        !is_left_over && serde_json::from_slice::<Value>(line).is_err_and(|error| !error.is_eof())
    };
    let numbered = bytes.split(|byte| *byte == b'\n').zip(1..);
    numbered.filter(|(line, _)| is_damaged(line)).map(|(_, number)| number).collect()
}

/// Returns the names of the kept texts to which a tool's result points.
fn pointed_to(bytes: &[u8], session: u32) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(bytes);
    let results = text.lines().filter(|line| line.starts_with(r#"{"type":"tool_ended""#));
    let below = format!("/{session:04}/{ARTIFACTS}/");
    let mut names = BTreeSet::new();
    for line in results {
        for (at, _) in line.match_indices(&below) {
            let name: String = line[at + below.len()..].chars().take_while(char::is_ascii_hexdigit).collect();
            let is_whole = name.len() >= 16 && line[at + below.len() + name.len()..].starts_with(TEXT);
            let before = line[..at].rfind(POINTER).map(|start| &line[start + POINTER.len()..at]);
            if is_whole && before.is_some_and(|path| path.starts_with("`/") && !path.contains(['"', '\\'])) {
                names.insert(name + TEXT);
            }
        }
    }
    names
}

impl Damage {
    /// Tells whether nothing is left of the events.
    pub fn is_all(&self) -> bool {
        self.what == What::Gone
    }

    /// Lets what is left be read as a whole, and writes in the place of what is lost that it is. What was found is kept in
    /// `keep_in`.
    pub fn mend(&self, keep_in: &Path, clock: &Clock) -> Result<()> {
        let mend = || match &self.what {
            What::Gone => self.write(&self.path, &[self.event(clock), self.end(clock)].concat()),
            What::Lines(lines) => self.without(lines, keep_in, clock),
            What::Artifacts(texts) => {
                folder_at(&self.path)?;
                texts.iter().try_for_each(|path| self.write(path, LOST))
            }
            What::Artifact => self.write(&self.path, LOST),
        };
        mend().with_context(|| format!("could not mend `{}`", self.path.display()))
    }

    fn without(&self, lines: &[usize], keep_in: &Path, clock: &Clock) -> io::Result<()> {
        let bytes = fs::read(&self.path)?;
        let kept = keep_in.join(format!("session-{:04}-{}.{EVENTS}", self.session, clock.now().as_second()));
        self.write(&kept, &bytes)?;
        let good = bytes.split_inclusive(|byte| *byte == b'\n').zip(1..).filter(|(_, number)| !lines.contains(number));
        let mut text: Vec<u8> = good.flat_map(|(line, _)| line.to_vec()).collect();
        text.extend(self.event(clock));
        let new = self.path.with_extension("new");
        self.write(&new, &text)?;
        fs::rename(new, &self.path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        folder_at(path.parent().unwrap_or(path))?;
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Returns the line that tells later readers.
    fn event(&self, clock: &Clock) -> Vec<u8> {
        let event = json!({"type": "warning", "at": clock.now().to_string(), "text": self.to_string()});
        format!("{event}\n").into_bytes()
    }

    /// Returns the line without which a record is one of a session that a kill ended, which the next run would end.
    fn end(&self, clock: &Clock) -> Vec<u8> {
        let (at, reason) = (clock.now().to_string(), "its record was lost");
        let event =
            json!({"type": "session_ended", "at": at, "session": self.session, "reason": reason, "outcome": "unknown"});
        format!("{event}\n").into_bytes()
    }
}

fn folder_at(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

impl Display for Damage {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { session, path, what } = self;
        let path = path.display();
        match what {
            What::Gone => write!(
                formatter,
                "the record of session {session} is gone (`{path}`): what it said and did is lost, what it wrote into \
                 memory is not"
            ),
            What::Lines(lines) => {
                let named: Vec<String> = lines.iter().take(NAMED).map(usize::to_string).collect();
                let more = lines.len().saturating_sub(NAMED);
                let more = if more == 0 { String::new() } else { format!(" and {more} more") };
                let named = named.join(", ");
                write!(
                    formatter,
                    "the record of session {session} has lines that cannot be read (`{path}`): {named}{more}"
                )
            }
            What::Artifacts(_) => write!(
                formatter,
                "the long outputs of session {session} are gone (`{path}`): of each its two ends are in the record"
            ),
            What::Artifact => write!(
                formatter,
                "a long output of session {session} is gone (`{path}`): its two ends are in the record"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::event::Event;
    use crate::event::Sink;
    use crate::secrets::Secrets;
    use crate::transcript::Transcript;
    use crate::transcript::read;
    use crate::transcript::unfinished;

    fn clock() -> Clock {
        Clock::fixed(Timestamp::from_second(1_800_000_000).unwrap())
    }

    /// A record with an output that was kept, and the file of that.
    fn record() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let transcript = Transcript::open(dir.path(), 7, clock(), &Secrets::default()).unwrap();
        let path = transcript.artifacts().join("0123456789abcdef.txt");
        fs::write(&path, "long").unwrap();
        let content = json!(format!("a…z\n[the whole of 4 bytes is in `{}`; read on]", path.display()));
        transcript.take(&Event::Notice { text: "one".to_owned() });
        let (id, name) = ("t".to_owned(), "bash".to_owned());
        transcript.take(&Event::ToolEnded { turn: 1, id, name, is_error: false, content, seconds: 0.1 });
        transcript.take(&Event::Notice { text: "three".to_owned() });
        (dir, path)
    }

    fn told(dir: &Path) -> Vec<String> {
        damages(dir, 7).unwrap().iter().map(Damage::to_string).collect()
    }

    fn mend(dir: &Path) {
        damages(dir, 7).unwrap().iter().for_each(|damage| damage.mend(&dir.join("found"), &clock()).unwrap());
        assert_eq!(told(dir), Vec::<String>::new(), "the repair holds");
    }

    #[test]
    fn lines_that_are_no_events_are_named_and_taken_out() {
        let (dir, _) = record();
        assert_eq!(told(dir.path()), Vec::<String>::new());
        let path = dir.path().join("0007/events.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen(r#"{"type":"tool_ended""#, r#"garbage{"#, 1)).unwrap();
        assert!(told(dir.path())[0].ends_with(": 2"), "{:?}", told(dir.path()));
        mend(dir.path());
        let texts: Vec<Value> = read(dir.path(), 7).unwrap().iter().map(|event| event["text"].clone()).collect();
        assert_eq!(texts[..2], [json!("one"), json!("three")]);
        assert!(texts[2].as_str().unwrap().contains("lines that cannot be read"));
        assert_eq!(fs::read_dir(dir.path().join("found")).unwrap().count(), 1, "what was found is kept");
    }

    #[test]
    fn what_a_kill_or_a_power_cut_leaves_is_no_damage() {
        let (dir, _) = record();
        let path = dir.path().join("0007/events.jsonl");
        let text = fs::read(&path).unwrap();
        for cut in 1..text.len() {
            fs::write(&path, [&text[..cut], b"\n\0\0\0\n"].concat()).unwrap();
            assert_eq!(told(dir.path()), Vec::<String>::new(), "{cut}");
        }
    }

    #[test]
    fn a_record_that_is_gone_says_so_and_what_is_not_lost() {
        let (dir, _) = record();
        fs::remove_file(dir.path().join("0007/events.jsonl")).unwrap();
        let [gone] = &told(dir.path())[..] else { panic!() };
        assert!(gone.starts_with("the record of session 7 is gone (`") && gone.ends_with("memory is not"), "{gone}");
        mend(dir.path());
        assert_eq!(read(dir.path(), 7).unwrap()[0]["text"], json!(gone));
        assert_eq!(unfinished(dir.path()).unwrap(), None, "no run has to end it");
        fs::remove_dir_all(dir.path().join("0007")).unwrap();
        assert_eq!(told(dir.path()).len(), 2);
        mend(dir.path());
    }

    #[test]
    fn long_outputs_that_are_gone_are_named_one_by_one_or_all() {
        let (dir, path) = record();
        fs::remove_file(&path).unwrap();
        let [gone] = &told(dir.path())[..] else { panic!() };
        assert!(gone.contains("0123456789abcdef.txt"), "{gone}");
        mend(dir.path());
        assert!(fs::read_to_string(&path).unwrap().contains("was lost"));
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        let [gone] = &told(dir.path())[..] else { panic!() };
        assert!(gone.starts_with("the long outputs of session 7 are gone"), "{gone}");
        mend(dir.path());
    }

    #[test]
    fn a_name_that_a_command_printed_points_to_nothing() {
        let (dir, path) = record();
        let line = json!({"type": "tool_ended", "content": format!("no such file: {}", path.display())});
        let line = line.to_string().replace("0123456789abcdef", "fedcba9876543210");
        assert_eq!(pointed_to(line.as_bytes(), 7), BTreeSet::new());
        assert_eq!(told(dir.path()), Vec::<String>::new());
    }
}
