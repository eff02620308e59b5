//! The record of a session on disk: `sessions/0007/events.jsonl` and the outputs beside it.
//!
//! Decides how events are written and read back; what an event means is left to its readers. A session that
//! cannot be recorded still goes on: the failure is remembered for whoever tells the user.

mod damage;

pub use damage::Damage;
pub use damage::damages;

use std::fs;
use std::fs::DirBuilder;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::Context;
use anyhow::Result;
use serde_json::Map;
use serde_json::Value;

use crate::clock::Clock;
use crate::event::Event;
use crate::event::Sink;
use crate::secrets::Secrets;

const EVENTS: &str = "events.jsonl";
const ARTIFACTS: &str = "artifacts";

/// Why a session ended that a kill or a crash cut off.
pub const CUT_OFF: &str = "interrupted, longhaul itself was stopped";

/// Writes the events of one session, line by line.
pub struct Transcript {
    folder: PathBuf,
    clock: Clock,
    secrets: Secrets,
    state: Mutex<State>,
}

struct State {
    file: File,
    failure: Option<String>,
}

impl Transcript {
    /// Opens the record of `session` below `dir` for appending; `secrets` never reach the disk.
    pub fn open(dir: &Path, session: u32, clock: Clock, secrets: &Secrets) -> Result<Self> {
        let folder = folder(dir, session);
        let artifacts = folder.join(ARTIFACTS);
        let told = || format!("could not make the session's folder `{}`", artifacts.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&artifacts).with_context(told)?;
        let path = folder.join(EVENTS);
        let file = open_events(&path).with_context(|| format!("could not open the record `{}`", path.display()))?;
        Ok(Self { folder, clock, secrets: secrets.clone(), state: Mutex::new(State { file, failure: None }) })
    }

    /// Returns the folder of this session.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder for outputs too large for the context.
    pub fn artifacts(&self) -> PathBuf {
        self.folder.join(ARTIFACTS)
    }

    /// Returns why events were lost, when some were.
    pub fn failure(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }

    fn line(&self, event: &Event) -> Result<Vec<u8>> {
        let value = serde_json::to_value(event).context("could not render an event")?;
        let mut line = serde_json::to_vec(&self.dated(value))?;
        line.push(b'\n');
        Ok(line)
    }

    /// Puts the time behind `type`, so that a line can be told from its beginning.
    fn dated(&self, value: Value) -> Value {
        let Value::Object(fields) = value else { return value };
        let mut dated = Map::new();
        for (key, value) in fields {
            let first = dated.is_empty();
            dated.insert(key, self.secrets.hide_in_json(value));
            if first {
                dated.insert("at".to_owned(), Value::String(self.clock.now().to_string()));
            }
        }
        Value::Object(dated)
    }
}

impl Sink for Transcript {
    fn take(&self, event: &Event) {
        let line = self.line(event);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let written = line.and_then(|line| Ok(state.file.write_all(&line)?));
        if let Err(error) = written
            && state.failure.is_none()
        {
            let path = self.folder.join(EVENTS);
            state.failure = Some(format!("could not write the record `{}`: {error:#}", path.display()));
        }
    }
}

/// Returns the numbers of the recorded sessions below `dir`, in order.
pub fn sessions(dir: &Path) -> Result<Vec<u32>> {
    let told = || format!("could not list the sessions in `{}`", dir.display());
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(told)?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.with_context(told)?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the newest session, when its record has no end.
pub fn unfinished(dir: &Path) -> Result<Option<u32>> {
    let Some(last) = sessions(dir)?.pop() else { return Ok(None) };
    let ended = read(dir, last)?.iter().any(|event| event["type"] == "session_ended");
    Ok((!ended).then_some(last))
}

/// Reads the events of `session`; a line torn by a crash is left out.
pub fn read(dir: &Path, session: u32) -> Result<Vec<Value>> {
    let path = folder(dir, session).join(EVENTS);
    match fs::read(&path) {
        Ok(bytes) => {
            Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("could not read the record `{}`", path.display())),
    }
}

/// Hands each event of `session` to `take`, one at a time: the record of a long session is large.
pub fn each(dir: &Path, session: u32, take: &mut dyn FnMut(&Value)) -> Result<()> {
    let path = folder(dir, session).join(EVENTS);
    let told = || format!("could not read the record `{}`", path.display());
    let mut reader = BufReader::new(File::open(&path).with_context(told)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).with_context(told)? > 0 {
        if let Ok(event) = serde_json::from_slice(&line) {
            take(&event);
        }
        line.clear();
    }
    Ok(())
}

/// Returns the folder of `session` below `dir`.
pub fn folder(dir: &Path, session: u32) -> PathBuf {
    dir.join(format!("{session:04}"))
}

/// Returns the folder for outputs of `session` that are too large for the context.
pub fn artifacts(dir: &Path, session: u32) -> PathBuf {
    folder(dir, session).join(ARTIFACTS)
}

/// Opens the file for appending, on a line of its own: a crash may have torn the last one.
fn open_events(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn clock() -> Clock {
        Clock::fixed(Timestamp::from_second(1_800_000_000).unwrap())
    }

    fn notice(text: &str) -> Event {
        Event::Notice { text: text.to_owned() }
    }

    fn ended(session: u32) -> Event {
        Event::SessionEnded { session, reason: "handed over".to_owned(), outcome: "proven".to_owned() }
    }

    #[test]
    fn an_event_is_one_line_with_type_and_time_first() {
        let dir = tempfile::tempdir().unwrap();
        let transcript = Transcript::open(dir.path(), 7, clock(), &Secrets::default()).unwrap();
        transcript.take(&notice("two\nlines"));

        let text = fs::read_to_string(dir.path().join("0007/events.jsonl")).unwrap();
        assert_eq!(text, "{\"type\":\"notice\",\"at\":\"2027-01-15T08:00:00Z\",\"text\":\"two\\nlines\"}\n");
        assert_eq!(transcript.failure(), None);
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_the_next_event_starts_a_line() {
        let dir = tempfile::tempdir().unwrap();
        Transcript::open(dir.path(), 1, clock(), &Secrets::default()).unwrap().take(&notice("one"));
        let path = dir.path().join("0001/events.jsonl");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"type\":\"not\xff").unwrap();
        assert_eq!(read(dir.path(), 1).unwrap().len(), 1);

        Transcript::open(dir.path(), 1, clock(), &Secrets::default()).unwrap().take(&notice("two"));
        let texts: Vec<Value> = read(dir.path(), 1).unwrap().iter().map(|event| event["text"].clone()).collect();
        assert_eq!(texts, [json!("one"), json!("two")]);
    }

    #[test]
    fn the_newest_session_without_an_end_is_unfinished() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(unfinished(&dir.path().join("absent")).unwrap(), None);
        let open = |session| Transcript::open(dir.path(), session, clock(), &Secrets::default()).unwrap();
        open(1).take(&ended(1));
        assert_eq!(unfinished(dir.path()).unwrap(), None);
        let second = open(2);
        assert_eq!(unfinished(dir.path()).unwrap(), Some(2));
        second.take(&ended(2));
        assert_eq!(unfinished(dir.path()).unwrap(), None);
        assert_eq!(sessions(dir.path()).unwrap(), [1, 2]);
    }

    #[test]
    fn a_secret_never_reaches_the_record() {
        let dir = tempfile::tempdir().unwrap();
        let secret = "sk-\"quoted\"-0123".to_owned();
        let transcript = Transcript::open(dir.path(), 1, clock(), &Secrets::new([secret.clone()])).unwrap();
        let input = json!({"command": format!("echo {secret}"), "nested": [json!({"key": secret}).to_string()]});
        transcript.take(&Event::ToolStarted { turn: 1, id: "t".to_owned(), name: "bash".to_owned(), input });

        let text = fs::read_to_string(dir.path().join("0001/events.jsonl")).unwrap();
        assert!(!text.contains("0123"), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_remembered_and_never_ends_the_session() {
        let dir = tempfile::tempdir().unwrap();
        let transcript = Transcript::open(dir.path(), 1, clock(), &Secrets::default()).unwrap();
        transcript.state.lock().unwrap().file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        transcript.take(&notice("lost"));
        let failure = transcript.failure().unwrap();
        assert!(failure.starts_with("could not write the record `"), "{failure}");
    }
}
