//! The features of a project, and what is known about each.
//!
//! `features.json` is kept as the JSON it is: unknown fields, the order of keys and the spelling of numbers survive every
//! rewrite. A feature is marked by a verdict of the gate alone; which one is worked on next is decided above.

mod add;
mod brought_back;
mod edit;
mod feature;
mod file;
mod import;
mod json;
mod needed;
mod order;
mod past;
mod progress;
mod record;

pub use edit::Edit;
pub use edit::Edited;
pub use feature::Baseline;
pub use feature::Feature;
pub use feature::State;
pub use file::Checklist;
pub use import::Form;
pub use import::Imported;
pub use import::Report;
pub use import::read as read_import;
pub use json::ParseProblem;
pub use json::parse as parse_json;
pub use order::Place;
pub use progress::Rotated;
pub use progress::append as append_progress;
pub use progress::entry as progress_entry;
pub use progress::newest as newest_progress;
pub use progress::rotate as rotate_progress;
pub use record::Accepted;
