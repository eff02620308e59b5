//! Tells events to the person who watches and, while a session lasts, to its record.

use crate::event::Event;
use crate::event::Sink;
use crate::transcript::Transcript;
use std::cell::RefCell;

/// Where the engine's events go.
pub struct Voice<'a> {
    person: &'a dyn Sink,
    record: RefCell<Option<Transcript>>,
}

impl<'a> Voice<'a> {
    /// Tells the person only, until a session begins.
    pub fn new(person: &'a dyn Sink) -> Self {
        Self { person, record: RefCell::new(None) }
    }

    /// Tells a session's record too, from now on.
    pub fn begin(&self, record: Transcript) {
        self.record.replace(Some(record));
    }

    /// Closes the record; says why it has gaps, when it has some.
    pub fn end(&self) -> Option<String> {
        self.record.take().and_then(|record| record.failure())
    }
}

impl Sink for Voice<'_> {
    fn take(&self, event: &Event) {
        if let Some(record) = self.record.borrow().as_ref() {
            record.take(event);
        }
        self.person.take(event);
    }
}
