//! cli
pub mod line;
pub mod narration;
pub mod output;
pub mod visible;
