//! What the agent may be told on the way.

use crate::driver::FUTILE;
use crate::driver::LARGER;
use crate::driver::REPEATED;
use crate::driver::Texts;
use crate::prompts::Nudges;
use anyhow::Result;

/// Renders the texts; `max_tokens` is what one reply may have.
pub fn texts(max_tokens: u32) -> Result<Texts> {
    let nudges = Nudges { max_tokens, larger: LARGER, repeated: REPEATED, futile: FUTILE };
    Ok(Texts {
        almost_full: nudges.almost_full()?,
        cut_off: nudges.cut_off()?,
        empty: nudges.empty()?,
        repeated: nudges.repeated()?,
    })
}
