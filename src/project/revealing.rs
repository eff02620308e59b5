//! Files that hold a value that longhaul keeps secret.

use super::Project;
use super::path_of;
use crate::secrets::Secrets;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::io::Read;

/// Of a larger file the beginning is looked at: new ones of that size are left out anyway.
const LOOKED_AT: u64 = 10 << 20;

impl Project {
    /// Says which values a new file must not bring into a commit of longhaul's.
    pub fn withhold(&mut self, secrets: &Secrets) {
        self.withheld = secrets.clone();
    }

    /// Tells whether a file holds one of these values, as it is or encoded.
    pub(super) fn reveals(&self, path: &str) -> bool {
        self.beginning(path).is_ok_and(|text| self.withheld.find(&text).next().is_some())
    }

    fn beginning(&self, path: &str) -> io::Result<Vec<u8>> {
        // A pipe must not be waited for, and what a link leads to is in no commit.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(self.root.join(path_of(path)), flags, Mode::empty())?);
        let mut text = Vec::new();
        if file.metadata()?.is_file() {
            file.take(LOOKED_AT).read_to_end(&mut text)?;
        }
        Ok(text)
    }
}
