//! What is kept of an approved file, and how a file that lies there now compares with it.

use std::fmt::Display;
use std::fmt::Formatter;

/// How a file lies there, as far as it decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    Plain,
    Executable,
    Link,
    /// A pipe, a socket or a device, which no commit holds; it has no id.
    Special,
}

/// One file of a closure as it lies there now.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pinned {
    /// As in `Check::pins`.
    pub path: String,
    /// Git's id of the bytes; none when there is no such file.
    pub id: Option<String>,
    pub mode: Mode,
    /// None where they are too many to be shown, or to be kept as pinned.
    pub bytes: Option<Vec<u8>>,
}

impl Pinned {
    /// Returns what `Check::pins` keeps of it.
    pub fn pin(&self) -> Option<String> {
        // Memory's files are always laid out as executables.
        let of_memory = self.path.starts_with("checks/");
        self.id.as_ref().map(|id| if of_memory { id.clone() } else { Pin { id, mode: Some(self.mode) }.to_string() })
    }
}

/// A pin taken apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pin<'a> {
    pub id: &'a str,
    /// None in pins made before modes were pinned, which allow any.
    pub mode: Option<Mode>,
}

impl<'a> Pin<'a> {
    /// Reads a pin; one without a mode is an id alone.
    pub fn read(pin: &'a str) -> Self {
        match pin.split_once(' ') {
            Some(("100644", id)) => Self { id, mode: Some(Mode::Plain) },
            Some(("100755", id)) => Self { id, mode: Some(Mode::Executable) },
            Some(("120000", id)) => Self { id, mode: Some(Mode::Link) },
            _ => Self { id: pin, mode: None },
        }
    }

    /// Tells whether the file is what was pinned.
    pub fn fits(&self, file: &Pinned) -> bool {
        file.id.as_deref() == Some(self.id) && self.mode.is_none_or(|mode| mode == file.mode)
    }
}

impl Display for Pin<'_> {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        match self.mode {
            Some(Mode::Plain) => write!(formatter, "100644 {}", self.id),
            Some(Mode::Executable) => write!(formatter, "100755 {}", self.id),
            Some(Mode::Link) => write!(formatter, "120000 {}", self.id),
            // A special file has no id, and so no pin.
            Some(Mode::Special) | None => formatter.write_str(self.id),
        }
    }
}
