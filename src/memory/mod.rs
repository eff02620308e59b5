//! Durable files with history: what the agent sees as `/memories`.
//!
//! The truth is a bare git repository; every write is one commit in it, in the synced journal before it is answered. A
//! plain folder, the view, shows the newest commit to people and to the agent's shell; it can be made anew at any time.
//! Reads come from the repository, so nothing planted in the view is ever followed.
//!
//! This part decides what a path may look like, what the six commands of the memory tool do, who may write what, and
//! when a file found changed in the view counts as an edit. What the files mean is decided elsewhere.

mod adoption;
mod apply;
mod aside;
mod branch;
mod change;
mod command;
mod compare;
mod directory;
mod durability;
mod edit;
mod exchange;
#[cfg(test)]
mod fixture;
mod fsck;
mod graph;
mod guard;
mod history;
mod index;
mod inspect;
mod journal;
mod layout;
mod listing;
mod lock;
mod loose;
mod new_repository;
mod note;
mod object;
mod page;
mod patch;
mod path;
mod plan;
mod projection;
mod purge;
#[cfg(test)]
mod races;
mod reads;
mod recovery;
mod repository;
mod restore;
mod screen;
mod seal;
#[cfg(test)]
mod skew;
mod snapshot;
mod state;
mod store;
mod torn;
mod trailers;
mod tree;
mod upkeep;
mod view;
mod watch;
mod write;

pub use adoption::Findings;
pub use apply::apply;
pub use change::Change;
pub use fsck::Checkup;
pub use fsck::Fault;
pub use fsck::Repair;
pub use fsck::fsck;
pub use guard::CHECKLIST;
pub use guard::Caps;
pub use guard::INIT;
pub use guard::PINNED;
pub use guard::PROGRESS;
pub use guard::Policy;
pub use guard::SPEC;
pub use history::Entry;
pub use history::Filter;
pub use history::Touch;
pub use history::Touched;
pub use history::Walk;
pub use index::INDEX;
pub use index::Index;
pub use index::Listed;
pub use note::NOTES;
pub use note::NoteKind;
pub use path::MemoryPath;
pub use path::PathError;
pub use purge::Purged;
pub use purge::Purging;
pub use restore::Restoration;
pub use restore::Wanted;
pub use screen::Screen;
pub use state::State;
pub use store::Store;
pub use trailers::Author;
pub use trailers::Origin;
pub use trailers::ToolUse;
pub use trailers::input_digest;

use std::path::Path;
use std::path::PathBuf;

/// Where a memory lies.
#[derive(Clone, Debug)]
pub struct Place {
    /// The bare repository.
    pub repository: PathBuf,
    /// The plain folder that shows its newest commit.
    pub view: PathBuf,
    /// The folder of `journal`, `write.lock` and `view.json`.
    pub state: PathBuf,
    /// An ancestor of the view; no link is followed below it.
    pub trusted: PathBuf,
}

impl Place {
    /// Returns the place of a project's memory.
    pub fn in_project(root: &Path, git_common_dir: &Path) -> Self {
        let state = git_common_dir.join("longhaul");
        Self {
            repository: state.join("memory.git"),
            view: root.join(".longhaul").join("memory"),
            state,
            trusted: root.to_owned(),
        }
    }

    /// Returns the place of a memory that stands by itself.
    pub fn at(folder: &Path) -> Self {
        let repository = folder.join("memory.git");
        let state = repository.join("longhaul");
        Self { repository, view: folder.join("memory"), state, trusted: folder.to_owned() }
    }
}
