//! Notes and their index: what their front matter says, which are listed, when each was last read.

pub(super) mod index;
pub(super) mod note;
mod reads;
