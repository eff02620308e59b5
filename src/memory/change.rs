//! A change to one file of memory.

/// One file to write, or without bytes to remove.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// Relative to the memory's root, such as `notes/db.md`.
    pub path: String,
    pub bytes: Option<Vec<u8>>,
}

impl Change {
    /// Makes a change that writes a file.
    pub fn put(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: Some(bytes.into()) }
    }

    /// Makes a change that removes a file.
    pub fn remove(path: impl Into<String>) -> Self {
        Self { path: path.into(), bytes: None }
    }
}
