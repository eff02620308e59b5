//! What is known of one session: its number, what it started from, what it used.

pub mod around;
pub mod astray;
pub mod course;
pub mod expire;
pub mod extract;
pub mod hold;
pub mod hook;
pub mod init;
pub mod install;
pub mod leftover;
pub mod mend;
pub mod nudges;
pub mod opening;
pub mod rank;
pub mod recall;
pub mod refusal;
pub mod reminding;
pub mod resumed;

use crate::engine::budget::spent::Spent;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::gate::Reuse;
use crate::project::Marks;
use crate::project::Standing;
use crate::transcript;
use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

/// The file in a session's folder that names what was untracked when it began.
const UNTRACKED: &str = "untracked.json";
/// The file beside it that says where the project stood.
const BEGAN: &str = "began.json";

/// What is known of a session from its start on.
#[derive(Clone, Debug)]
pub struct Session {
    pub number: u32,
    /// The feature it works on; none for an initializer.
    pub feature: Option<String>,
    /// The project's commit when it began.
    pub started_at: String,
    /// Its branch then.
    pub branch: Option<String>,
    /// All branches there were then; one that is not among them is the session's own.
    pub branches: Vec<String>,
    /// Where the rest of the repository stood then.
    pub standing: Standing,
    /// Untracked files that were there before it; those it leaves alone are the user's.
    pub untracked: Marks,
    pub artifacts: PathBuf,
    pub used: Spent,
    pub began: Instant,
}

/// Where the project stood when a session began.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Began {
    pub commit: String,
    pub branch: Option<String>,
    /// All branches there were.
    pub branches: Vec<String>,
    #[serde(default)]
    pub standing: Standing,
}

impl Session {
    /// Returns the occasion of its checks.
    pub fn occasion(&self) -> Occasion {
        Occasion {
            session: Some(self.number),
            outputs: self.artifacts.clone(),
            left_out: Vec::new(),
            reuse: Reuse::Alike,
        }
    }

    /// Says what it used, for the progress log.
    pub fn cost_line(&self) -> String {
        let Spent { turns, usage, cost, .. } = &self.used;
        let cost = cost.map_or_else(|| "cost unknown".to_owned(), |cost| format!("{cost:.2} USD"));
        let minutes = self.began.elapsed().as_secs_f64() / 60.0;
        format!("used: {turns} turns, {} tokens, {cost}, {minutes:.1} min", usage.total())
    }
}

/// Returns the number of the next session: one above every session that memory or a record knows of.
pub fn next_number(ws: &Workspace) -> Result<u32> {
    let recorded = transcript::sessions(&ws.sessions())?.into_iter().max().unwrap_or(0);
    Ok(recorded.max(ws.memory.last_session()?) + 1)
}

/// Writes down which untracked files are the user's; as a whole, since half a list would give the rest away.
pub fn write_untracked(folder: &Path, marks: &Marks) -> Result<()> {
    write(&folder.join(UNTRACKED), marks)
}

/// Writes down where the project stands, for whoever goes on with the session.
pub fn write_began(folder: &Path, began: &Began) -> Result<()> {
    write(&folder.join(BEGAN), began)
}

fn write<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
        file.write_all(&serde_json::to_vec(value)?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok::<(), anyhow::Error>(())
    };
    write().with_context(|| format!("could not write `{}`", path.display()))
}

/// Reads which untracked files lay in the project before the session; none when it was cut off before it knew.
pub fn read_untracked(sessions: &Path, number: u32) -> Option<Marks> {
    read(&transcript::folder(sessions, number).join(UNTRACKED))
}

/// Reads where the project stood before the session; none when it was cut off before it knew.
pub fn read_began(sessions: &Path, number: u32) -> Option<Began> {
    read(&transcript::folder(sessions, number).join(BEGAN))
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok())
}
