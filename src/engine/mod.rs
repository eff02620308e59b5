//! What happens next: setting up, runs, sessions and the hook that ends each of them.
//!
//! The engine joins the parts; it decides the order of steps and commits each before the next begins. What a check
//! found is the gate's word, what a file holds is memory's, and how a text reads is `prompts`'.
//!
//! ```text
//! commands     what a person asks for beside a run
//! run ─► prepare ─► session ─► verify      a run prepares the project, holds sessions, and each ends in a verdict
//! workspace    a project with its memory, opened for one of these
//! budget       what a run, a session and a feature may use, and have used
//! facts        what a commit of memory says of a feature, and how it is read back
//! ```

pub mod budget;
pub mod commands;
pub mod custody;
pub mod facts;
pub mod pick;
pub mod prepare;
pub mod run;
pub mod session;
pub mod settings;
pub mod verify;
pub mod workspace;

/// Counts things in words: `1 feature`, `2 features`.
pub fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
