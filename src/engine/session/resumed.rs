//! A session that was cut off, as the next run goes on with it.

use crate::driver::Past;
use crate::engine::session::Session;
use std::collections::BTreeSet;

/// A session as it was when it was cut off.
pub struct Resumed {
    pub session: Session,
    pub cut: Cut,
}

/// What the agent knew when it was cut off.
pub struct Cut {
    pub past: Past,
    /// Paths of notes it had seen.
    pub seen: BTreeSet<String>,
}
