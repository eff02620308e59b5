//! Durable files with history: what the agent sees as `/memories`.
//!
//! The truth is a bare git repository; every write is one commit in it, in the synced journal before it is answered. A
//! plain folder, the view, shows the newest commit to people and to the agent's shell; it can be made anew at any time.
//! Reads come from the repository, so nothing planted in the view is ever followed.
//!
//! This part decides what a path may look like, what the six commands of the memory tool do, who may write what, and
//! when a file found changed in the view counts as an edit. What the files mean is decided elsewhere.
//!
//! A write goes through the folders from left to right, `write.rs` being its course:
//!
//! ```text
//! store ─► command ─► rules, notes ─► journal ─► repository ─► view
//!          history reads what was written · seal watches what others do to it · recovery and fsck mend it
//! ```

mod apply;
mod aside;
mod change;
mod command;
#[cfg(test)]
mod fixture;
mod fsck;
mod history;
mod journal;
mod notes;
mod purge;
mod recovery;
mod repository;
mod restore;
mod rules;
mod seal;
mod store;
mod view;
mod write;

pub use apply::apply;
pub use change::Change;
pub use fsck::Checkup;
pub use fsck::Fault;
pub use fsck::Repair;
pub use fsck::fsck;
pub use history::Entry;
pub use history::Filter;
pub use history::Touch;
pub use history::Touched;
pub use history::Walk;
pub use history::state::State;
pub use history::trailers::Author;
pub use history::trailers::Origin;
pub use history::trailers::ToolUse;
pub use history::trailers::input_digest;
pub use notes::index::INDEX;
pub use notes::index::Index;
pub use notes::index::Listed;
pub use notes::note::NOTES;
pub use notes::note::NoteKind;
pub use purge::Misnamed;
pub use purge::Purged;
pub use purge::Purging;
pub use purge::Readable;
pub use purge::Unfinished;
pub use purge::misnamed;
pub use repository::upkeep::not_packed;
pub use restore::Restoration;
pub use restore::Wanted;
pub use rules::caps::Caps;
pub use rules::guard::CHECKLIST;
pub use rules::guard::INIT;
pub use rules::guard::PINNED;
pub use rules::guard::PROGRESS;
pub use rules::guard::Policy;
pub use rules::guard::SPEC;
pub use rules::guard::waits_for_a_run;
pub use rules::path::MemoryPath;
pub use rules::path::PathError;
pub use rules::screen::Screen;
pub use store::Store;
pub use view::adoption::Findings;
pub use view::adoption::moved;

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
