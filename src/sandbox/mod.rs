//! Where the commands of a session run, what they see, and how all of them end.
//!
//! With bubblewrap a session has namespaces of its own with a supervisor of ours as process 1: what is not the agent's is
//! not there, or cannot be written. In plain mode each command is a process group of the user's own: what it changes is
//! found and undone, not prevented. Which of the two it is, the settings say; nothing falls back in silence.

mod bubblewrap;
mod cgroup;
mod choice;
mod environment;
mod families;
mod homes;
mod network;
mod plain;
mod probe;
mod repository;
mod room;
mod shown;
mod supervisor;
mod ways;
mod wire;

pub use bubblewrap::Bubblewrap;
pub use choice::Choice;
pub use choice::Mode;
pub use choice::WhyPlain;
pub use choice::choose;
pub use environment::environment;
pub use environment::is_marked;
pub use environment::mark;
pub use homes::TOOL_HOMES;
pub use homes::lay_home;
pub use network::wanted as network_wanted;
pub use network::wanted_within as network_wanted_within;
pub use plain::Plain;
pub use plain::end_orphans;
pub use probe::Cgroups;
pub use probe::Lacking;
pub use probe::NEEDED;
pub use probe::Probe;
pub use probe::Tried;
pub use probe::bubblewrap;
pub use probe::cgroups;
pub use probe::probe;
pub use room::Git;
pub use room::OBJECTS_OF_CHECKOUT;
pub use room::Room;
pub use shown::Hidden;
pub use shown::hidden;
pub use shown::hidden_in;
pub use shown::left_out;
pub use supervisor::supervise;
pub use ways::Ways;

use crate::process::Command;
use crate::process::Finished;
use crate::process::Interrupt;
use crate::process::Survivor;
use anyhow::Result;
use std::ffi::OsString;
use std::fmt::Display;
use std::fmt::Formatter;
use std::path::Path;
use std::path::PathBuf;

/// How strong the sandbox was; printed, and stored in every evidence.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Level {
    Bubblewrap,
    Plain,
}

impl Display for Level {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Plain => "plain",
        })
    }
}

/// Whether commands reach beyond their own machine. In plain mode they always do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Network {
    Off,
    On,
}

/// Who has the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    Nobody,
    /// What prepares the project, and a check that says so.
    Setup,
    Everybody,
}

/// What holds for every sandbox of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    pub level: Level,
    pub reach: Reach,
    /// The `bwrap` that was tried.
    pub bwrap: PathBuf,
    /// The command that [`supervise`]s: this program itself with the arguments that make it do so.
    pub supervisor: Vec<OsString>,
    /// Where limits on memory and processes can be had.
    pub cgroups: Option<Cgroups>,
    /// Further folders that can be read.
    pub read: Vec<PathBuf>,
    /// The user's home, of which only the homes of tools are shown.
    pub home: Option<PathBuf>,
    /// The folders in which programs are looked for, as in `PATH`.
    pub path: String,
}

/// A place in which commands run. Dropped, it ends whatever lives in it.
pub enum Sandbox {
    Bubblewrap(Box<Bubblewrap>),
    Plain(Plain),
}

impl Settings {
    /// Makes the settings of plain mode, which needs none.
    pub fn plain() -> Self {
        Self {
            level: Level::Plain,
            reach: Reach::Everybody,
            bwrap: PathBuf::new(),
            supervisor: Vec::new(),
            cgroups: None,
            read: Vec::new(),
            home: None,
            path: String::new(),
        }
    }

    /// Returns the network of the agent's commands.
    pub fn commands(&self) -> Network {
        if self.reach == Reach::Everybody { Network::On } else { Network::Off }
    }

    /// Returns the network of what prepares the project, or of a check that asks for it.
    pub fn setup(&self) -> Network {
        if self.reach == Reach::Nobody { Network::Off } else { Network::On }
    }
}

impl Sandbox {
    /// Opens the sandbox that shows this room; in plain mode the room is what there is.
    ///
    /// # Errors
    /// When bubblewrap does not start; it is never left out instead.
    pub fn open(settings: &Settings, room: Room, interrupt: &Interrupt) -> Result<Self> {
        Ok(match settings.level {
            Level::Bubblewrap => Self::Bubblewrap(Box::new(Bubblewrap::open(settings, &room, interrupt.clone())?)),
            Level::Plain => Self::Plain(Plain::new(room.common_dir, interrupt.clone())),
        })
    }

    /// Makes a sandbox of plain mode for the project with this git folder.
    pub fn plain(owner: &Path, interrupt: &Interrupt) -> Self {
        Self::Plain(Plain::new(owner.to_owned(), interrupt.clone()))
    }

    /// Runs a command to its end; one at a time.
    pub fn run(&self, command: &Command) -> Finished {
        match self {
            Self::Bubblewrap(bubblewrap) => bubblewrap.run(command),
            Self::Plain(plain) => plain.run(command),
        }
    }

    /// Ends everything that commands left alive and says what that was.
    pub fn end(&self) -> Vec<Survivor> {
        match self {
            Self::Bubblewrap(bubblewrap) => bubblewrap.end(),
            Self::Plain(plain) => plain.end(),
        }
    }

    /// Returns how strong it is.
    pub fn level(&self) -> Level {
        match self {
            Self::Bubblewrap(_) => Level::Bubblewrap,
            Self::Plain(_) => Level::Plain,
        }
    }

    /// Returns the network that its commands have; with it on, a server in there is reached from outside too.
    pub fn network(&self) -> Network {
        match self {
            Self::Bubblewrap(bubblewrap) => bubblewrap.network(),
            Self::Plain(_) => Network::On,
        }
    }

    /// Returns the program of ours inside with which `arguments` can be run there; none where we can do it ourselves.
    pub fn own_program(&self) -> Option<&'static str> {
        match self {
            Self::Bubblewrap(_) => Some(room::OWN_PROGRAM),
            Self::Plain(_) => None,
        }
    }
}
