//! Decides whether a check proves a feature.
//!
//! A pass counts only when the check and the files it depends on are those that were approved, what was tested is
//! committed and the same afterwards, the command exited with 0 by itself in time, and the same check is known not to
//! have passed on an earlier tree. Only this module makes a [`Verdict`]; what follows from one is decided above.

mod beside;
mod brought;
mod changed;
mod check;
mod checkout;
mod closure;
mod difference;
mod each;
mod empty;
mod executed;
mod failure;
mod fewer;
mod finding;
mod folders;
mod from_git;
mod given;
mod gone;
mod guessed;
mod held;
mod install;
mod judge;
mod look_back;
mod named;
mod names;
mod no_file;
mod pin;
mod required;
mod shell;
mod soft;
mod stage;
mod starts;
mod sweep;
mod trial;
mod unrunnable;
mod verdict;
mod walk;
mod words;
mod written;

pub use brought::is_tests_by_name;
pub use check::Check;
pub use check::Kind;
pub use check::Problem;
pub use check::Rules;
pub use checkout::Checkout;
pub use checkout::Place;
pub use checkout::Reuse;
pub use checkout::Site;
pub use checkout::outside;
pub use checkout::site;
pub use closure::Reading;
pub use closure::closure;
pub use closure::deciding_task;
pub use closure::runs_silent_doctest;
pub use closure::runs_what_it_finds;
pub use closure::unpinned_patterns;
pub use closure::unpinned_script;
pub use closure::unpinned_source;
pub use closure::untold_expectations;
pub use closure::unwritten_test;
pub use each::harmless_before;
pub use each::sourced;
pub use each::takes_the_list;
pub use each::unseen_in;
pub use executed::Ended;
pub use executed::Skips;
pub use fewer::is_fewer;
pub use finding::Finding;
pub use given::may_be_product_beside;
pub use judge::Known;
pub use pin::Mode;
pub use pin::Pin;
pub use pin::Pinned;
pub use soft::Soft;
pub use starts::unpinned_started;
pub use sweep::Candidate;
pub use sweep::Step;
pub use sweep::Swept;
pub use sweep::order;
pub use trial::first_line;
pub use unrunnable::unknown_command;
pub use unrunnable::unrunnable;
pub use verdict::Red;
pub use verdict::Trial;
pub use verdict::Verdict;

use crate::clock::Clock;
use crate::process::Interrupt;
use crate::project::Marks;
use crate::project::Project;
use crate::sandbox;
use crate::secrets::Scanner;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

/// How checks are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limit of a check that has none of its own.
    pub timeout: Duration,
    /// How long a check may print nothing; with none its limit alone holds.
    pub idle: Option<Duration>,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// Bytes of output kept of the head, and of the tail.
    pub keep: usize,
    /// Made by [`crate::sandbox::environment`]; home, temporary folder, time zone and check files are added.
    pub environment: BTreeMap<String, String>,
    /// What holds the commands of checks.
    pub sandbox: sandbox::Settings,
    /// Where private folders are made; outside the project.
    pub scratch: PathBuf,
    /// The home in which the tools live that a private home links to.
    pub tool_home: Option<PathBuf>,
    /// Where checks run.
    pub checkout: Checkout,
    /// Text for `sh` that installs what a clean checkout needs; empty: none.
    pub prepare: String,
    /// Refuses a pass when the soft closure changed.
    pub strict: bool,
    /// Further patterns of what tools load by themselves.
    pub soft_closure: Vec<String>,
    /// Finds what no output keeps.
    pub secrets: Scanner,
}

/// The files of memory's `checks/`, by name below it.
#[derive(Clone, Debug, Default)]
pub struct CheckFiles(Vec<(String, Vec<u8>)>);

impl CheckFiles {
    /// Takes the files as committed in memory.
    pub fn new(files: Vec<(String, Vec<u8>)>) -> Self {
        Self(files)
    }

    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes.as_slice())
    }

    /// Returns the files that a name means: itself, or those below the folder of that name. Of a pattern only the
    /// folders before its first wildcard are looked at.
    fn below(&self, name: &str) -> Vec<String> {
        let name = &words::fixed_part(name);
        let within =
            |known: &str| name.is_empty() || known.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'));
        let found: Vec<String> = self.0.iter().map(|(known, _)| known).filter(|known| within(known)).cloned().collect();
        if found.is_empty() && !name.is_empty() { vec![name.clone()] } else { found }
    }
}

/// Runs checks for one session.
pub struct Gate<'a> {
    pub project: &'a Project,
    pub settings: &'a Settings,
    pub interrupt: &'a Interrupt,
    /// As at memory's HEAD.
    pub files: CheckFiles,
    /// Path of the project's init script.
    pub init_path: Option<String>,
    /// Text for `sh` that the setup `init` stands for.
    pub init_script: Option<String>,
    /// Text for `sh` by which the same script installs what the project needs.
    pub install_script: Option<String>,
    /// For which commits it will do what was installed before.
    pub reuse: Reuse,
    /// Folder for head and tail of outputs, by digest.
    pub artifacts: PathBuf,
    /// Files that a session made and that are in no commit: a pass could rest on them.
    pub left_out: Vec<String>,
    /// Untracked files that the session found and that stay out of its commits as long as they are as they were.
    pub before: Marks,
    pub session: Option<u32>,
    /// Nothing that it starts runs on after this moment, at which a budget of time is used up.
    pub deadline: Option<Instant>,
    pub clock: Clock,
}

#[cfg(test)]
mod tests;
