//! What may be written: the form of a path, who may write which file, how much, and what looks like a secret.

pub(super) mod caps;
pub(super) mod guard;
pub(super) mod path;
pub(super) mod screen;
