//! What was used, kept on disk as it is used: a run that was killed goes on counting where it was, and a feature's
//! count lasts over runs.

use crate::engine::budget::pulse;
use crate::engine::budget::pulse::Pulse;
use crate::engine::budget::records;
use crate::engine::budget::records::Told;
use crate::engine::budget::spent::Spent;
use crate::engine::counted;
use crate::message::Usage;
use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// The file in the folder of longhaul's own state.
const FILE: &str = "spent.json";

/// The count of a run and of each feature.
#[derive(Debug, Default)]
pub struct Account {
    /// None: kept nowhere.
    path: Option<PathBuf>,
    book: Book,
    /// Keeps the time since the book was written.
    pulse: Option<Pulse>,
    /// That it was damaged, in words.
    rebuilt: Option<String>,
    /// Why it could not be written, the first time.
    failure: Option<String>,
}

/// What is on disk. One without its later fields was not written here.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Book {
    /// The run that is on, or that was killed.
    run: Option<Spent>,
    features: BTreeMap<String, Spent>,
    /// The session that is on, or that was killed.
    session: Option<Working>,
    /// How often it was written.
    saves: u64,
}

/// The session that time is counted for.
#[derive(Debug, Default, Deserialize, Serialize)]
struct Working {
    feature: Option<String>,
    time: Duration,
}

impl Book {
    /// Counts what was used after it was written, before the kill.
    fn add(&mut self, since: &Spent) {
        let Some(run) = &mut self.run else { return };
        run.join(since);
        let Some(session) = &mut self.session else { return };
        session.time += since.time;
        if let Some(id) = &session.feature {
            self.features.entry(id.clone()).or_default().join(since);
        }
    }
}

impl Account {
    /// Opens the account in this folder. A run that was killed is still in it, and goes on. One that is empty or damaged is
    /// added up from the records below `sessions`.
    pub fn open(state: &Path, sessions: &Path) -> Result<Self> {
        let path = state.join(FILE);
        let (mut book, rebuilt) = match fs::read(&path) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(book) => (book, None),
                Err(_) => rebuilt(&path, sessions).map(|(book, told)| (book, Some(told)))?,
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Book::default(), None),
            Err(error) => return Err(error).with_context(|| format!("could not read `{}`", path.display())),
        };
        if book.saves == 0 {
            pulse::forget(state);
        }
        book.add(&pulse::since(state, book.saves));
        Ok(Self { path: Some(path), book, pulse: None, rebuilt, failure: None })
    }

    /// Says that it was damaged and what it was made from again, once.
    pub fn rebuilt(&mut self) -> Option<String> {
        self.rebuilt.take()
    }

    /// Makes an account that is kept nowhere.
    #[cfg(test)]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Returns what a killed run had used.
    pub fn carried_over(&self) -> Option<&Spent> {
        self.book.run.as_ref().filter(|spent| spent.sessions > 0 || spent.time >= Duration::from_secs(1))
    }

    /// Begins to count time for a session too.
    pub(in crate::engine) fn begin_session(&mut self, feature: Option<&str>) {
        self.book.session = Some(Working { feature: feature.map(str::to_owned), time: Duration::ZERO });
    }

    /// Says how long the session has lasted.
    pub(in crate::engine) fn session_lasts(&mut self, time: Duration) {
        if let Some(session) = &mut self.book.session {
            session.time = time;
        }
    }

    /// Counts time for the run alone.
    pub(in crate::engine) fn end_session(&mut self) {
        self.book.session = None;
    }

    /// Returns how long the session had lasted that was killed.
    pub(in crate::engine) fn session_time(&self) -> Duration {
        self.book.session.as_ref().map_or(Duration::ZERO, |session| session.time)
    }

    /// Returns what the run has used.
    pub fn run(&self) -> Spent {
        self.book.run.unwrap_or_default()
    }

    /// Returns what was used on a feature.
    pub fn feature(&self, id: &str) -> Spent {
        self.book.features.get(id).copied().unwrap_or_default()
    }

    pub(in crate::engine) fn run_mut(&mut self) -> &mut Spent {
        self.book.run.get_or_insert_with(Spent::default)
    }

    pub(in crate::engine) fn feature_mut(&mut self, id: &str) -> &mut Spent {
        self.book.features.entry(id.to_owned()).or_default()
    }

    /// Keeps what a reply has used so far, until the account is written the next time.
    pub(in crate::engine) fn under_way(&self, usage: &Usage, cost: Option<f64>) {
        if let Some(pulse) = &self.pulse {
            pulse.under_way(usage, cost);
        }
    }

    /// Writes it down, as a whole and synced.
    pub fn save(&mut self) {
        let Some(path) = &self.path else { return };
        self.book.saves += 1;
        let written = write(path, &self.book).and_then(|()| self.keep_time());
        if let Err(error) = written
            && self.failure.is_none()
        {
            self.failure = Some(format!("what was spent could not be kept: {error:#}"));
        }
    }

    /// Keeps the time from now on.
    fn keep_time(&mut self) -> Result<()> {
        match (&self.pulse, self.path.as_deref().and_then(Path::parent)) {
            (Some(pulse), _) => pulse.saved(self.book.saves),
            (None, Some(state)) => {
                let pulse = Pulse::start(state, self.book.saves).context("could not count time on the way")?;
                self.pulse = Some(pulse);
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Leaves the run's count to the next one. Says why something could not be written, if so.
    pub fn leave(&mut self) -> Option<String> {
        self.save();
        self.pulse = None;
        self.failure.take()
    }

    /// Ends the run's count. Says why something could not be written, if so.
    pub fn close(&mut self) -> Option<String> {
        (self.book.run, self.book.session) = (None, None);
        self.save();
        self.pulse = None;
        self.failure.take()
    }
}

/// Makes the book from the records of the sessions; says so.
fn rebuilt(path: &Path, sessions: &Path) -> Result<(Book, String)> {
    let Told { sessions, features, run } =
        records::add_up(sessions).with_context(|| format!("`{}` is damaged", path.display()))?;
    let told = format!(
        "`{}` was empty or damaged: what was used is added up again from the records of {}",
        path.display(),
        counted(sessions, "session")
    );
    Ok((Book { run, features, ..Book::default() }, told))
}

fn write(path: &Path, book: &Book) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(book)?)?;
        file.as_file().sync_data()?;
        file.persist(path)?;
        Ok::<(), anyhow::Error>(())
    };
    write().with_context(|| format!("could not write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript;
    use serde_json::json;

    fn spend(account: &mut Account, cost: Option<f64>) {
        let usage = Usage { input: 10, ..Usage::default() };
        account.run_mut().add(&usage, cost);
        account.run_mut().sessions += 1;
        account.feature_mut("login").add(&usage, cost);
        account.save();
    }

    #[test]
    fn a_killed_run_goes_on_counting_and_an_ended_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut account = Account::open(folder.path(), folder.path()).unwrap();
        assert!(account.carried_over().is_none());
        spend(&mut account, Some(0.5));
        drop(account);

        let mut again = Account::open(folder.path(), folder.path()).unwrap();
        assert_eq!(again.carried_over().unwrap().cost, Some(0.5));
        spend(&mut again, Some(0.25));
        assert_eq!((again.run().cost, again.run().usage.total()), (Some(0.75), 20));
        assert_eq!(again.close(), None);

        let after = Account::open(folder.path(), folder.path()).unwrap();
        assert!(after.carried_over().is_none());
        assert_eq!((after.run().cost, after.feature("login").cost), (Some(0.0), Some(0.75)));
    }

    #[test]
    fn time_that_passed_before_a_kill_is_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut account = Account::open(folder.path(), folder.path()).unwrap();
        account.run_mut().time = Duration::from_secs(1);
        account.begin_session(Some("login"));
        account.session_lasts(Duration::from_millis(500));
        account.save();
        std::thread::sleep(Duration::from_millis(1500));
        // No goodbye: a killed run leaves the file as it is.
        std::mem::forget(account);

        let mut again = Account::open(folder.path(), folder.path()).unwrap();
        let passed = again.run().time - Duration::from_secs(1);
        assert!(passed >= Duration::from_millis(900), "{passed:?}");
        assert_eq!((again.feature("login").time, again.session_time()), (passed, passed + Duration::from_millis(500)));
        again.save();
        let after = Account::open(folder.path(), folder.path()).unwrap();
        assert_eq!(after.run().time, passed + Duration::from_secs(1), "it is in the account by now");
    }

    #[test]
    fn one_unknown_cost_makes_the_sum_unknown() {
        let mut account = Account::in_memory();
        spend(&mut account, Some(0.5));
        spend(&mut account, None);
        spend(&mut account, Some(0.5));
        assert_eq!(account.run().cost, None);
    }

    #[test]
    fn an_account_that_is_empty_or_damaged_is_added_up_from_the_records() {
        let folder = tempfile::tempdir().unwrap();
        let (state, sessions) = (folder.path(), folder.path().join("sessions"));
        let record = |number: u32, feature: &str, totals: [u64; 2], ended: bool| {
            let at = |second: u32| format!("2026-01-01T10:00:{second:02}Z");
            let reply = json!({"usage": {"input_tokens": 10}});
            let mut events = vec![json!({"type": "session_started", "feature": feature, "at": at(0)})];
            for (second, total) in totals.into_iter().enumerate() {
                let second = u32::try_from(second).unwrap() + 1;
                events.push(json!({"type": "replied", "message": reply, "cost": 0.5, "at": at(second)}));
                events.push(json!({"type": "spent", "tokens": total, "at": at(second)}));
            }
            events.extend(ended.then(|| json!({"type": "session_ended", "at": at(2)})));
            let text: String = events.iter().map(|event| format!("{event}\n")).collect();
            let folder = transcript::folder(&sessions, number);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("events.jsonl"), text).unwrap();
        };
        record(1, "a", [500, 510], true);
        record(2, "a", [10, 20], true);
        record(3, "b", [30, 40], false);
        for damaged in ["", "{", "\0\0\0\0", "{}", "[]", "null", "{\"a\":1}", "{\"run\":null,\"features\":{}}"] {
            fs::write(state.join(FILE), damaged).unwrap();
            let mut account = Account::open(state, &sessions).unwrap();
            let told = account.rebuilt().unwrap();
            assert!(told.ends_with("added up again from the records of 3 sessions"), "{told}");
            let run = account.run();
            assert_eq!((run.sessions, run.turns, run.usage.total(), run.cost), (2, 4, 40, Some(2.0)));
            assert_eq!(run.time, Duration::from_secs(4));
            let (a, b) = (account.feature("a"), account.feature("b"));
            assert_eq!((a.sessions, a.usage.total(), b.sessions, b.usage.total()), (2, 40, 1, 20));
        }

        // A run whose newest session ended has ended, as far as the records tell.
        record(3, "b", [30, 40], true);
        let account = Account::open(state, &sessions).unwrap();
        assert_eq!((account.carried_over(), account.feature("b").sessions), (None, 1));
        fs::remove_file(state.join(FILE)).unwrap();
        assert_eq!(Account::open(state, &sessions).unwrap().feature("b").sessions, 0, "without a file it counts anew");
    }

    #[test]
    fn an_account_that_cannot_be_written_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut account = Account::open(&folder.path().join("absent"), folder.path()).unwrap();
        spend(&mut account, None);
        assert!(account.close().unwrap().starts_with("what was spent could not be kept: could not write"));
    }
}
