//! What happens next: setting up, runs, sessions and the hook that ends each of them.
//!
//! The engine joins the parts; it decides the order of steps and commits each before the next begins. What a check
//! found is the gate's word, what a file holds is memory's, and how a text reads is `prompts`'.

pub mod accept;
pub mod account;
pub mod around;
pub mod astray;
pub mod breaker;
pub mod budget;
pub mod check;
pub mod checkout;
pub mod course;
pub mod custody;
pub mod doctor;
pub mod draft;
pub mod expire;
pub mod extract;
pub mod facts;
pub mod feature;
pub mod fsck;
pub mod hold;
pub mod hook;
pub mod init;
pub mod install;
pub mod inventory;
pub mod limits;
pub mod lock;
pub mod meanwhile;
pub mod mend;
pub mod opening;
pub mod pick;
pub mod prepare;
pub mod preview;
pub mod rank;
pub mod recall;
pub mod recover;
pub mod reminding;
pub mod restore;
pub mod resume;
pub mod review;
pub mod run;
pub mod session;
pub mod settings;
pub mod status;
pub mod stop;
pub mod verify;
pub mod voice;
pub mod workspace;

/// Counts things in words: `1 feature`, `2 features`.
pub fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
