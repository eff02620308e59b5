//! Moments that nobody chose, and that are the same in each run.

/// Chooses by the same numbers each time.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
