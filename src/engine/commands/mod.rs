//! What a person asks for beside a run: one file a command.

pub mod accept;
pub mod check;
pub mod doctor;
pub mod draft;
pub mod feature;
pub mod fsck;
pub mod init;
pub mod inventory;
pub mod preview;
pub mod restore;
pub mod status;
