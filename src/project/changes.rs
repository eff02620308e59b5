//! What differs between HEAD, the index and the working tree.

use super::Project;
use anyhow::Result;

/// Paths that differ from HEAD, relative to the root, in git's order. Ignored files are not among them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// Changed, deleted or staged.
    pub tracked: Vec<String>,
    pub untracked: Vec<String>,
}

impl Changes {
    /// Tells whether git knows of no difference at all.
    pub fn is_empty(&self) -> bool {
        self.tracked.is_empty() && self.untracked.is_empty()
    }
}

impl Project {
    /// Compares the working tree with HEAD.
    pub fn changes(&self) -> Result<Changes> {
        let listing = self.git(
            &["--no-optional-locks", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"],
            None,
        )?;
        Ok(parse(&listing))
    }
}

/// Reads `XY path NUL …`; `??` is an untracked path.
fn parse(listing: &[u8]) -> Changes {
    let mut changes = Changes::default();
    for entry in listing.split(|byte| *byte == 0).filter(|entry| entry.len() > 3) {
        let path = String::from_utf8_lossy(&entry[3..]).into_owned();
        if entry.starts_with(b"??") {
            changes.untracked.push(path);
        } else {
            changes.tracked.push(path);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_split_into_tracked_and_untracked_paths() {
        let changes = parse(b" M src/a b.rs\0A  new\nline.rs\0?? notes.txt\0");

        assert_eq!(changes.tracked, ["src/a b.rs", "new\nline.rs"]);
        assert_eq!(changes.untracked, ["notes.txt"]);
        assert!(parse(b"").is_empty());
    }
}
