//! The time, taken from one place so that tests can fix it.

pub mod deadline;
pub mod duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use std::time::Duration;
use std::time::SystemTime;

/// Tells the wall-clock time; order and limits never depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    fixed: Option<Timestamp>,
}

impl Clock {
    /// Follows the machine's clock.
    pub fn system() -> Self {
        Self { fixed: None }
    }

    /// Always tells the same time.
    pub fn fixed(at: Timestamp) -> Self {
        Self { fixed: Some(at) }
    }

    /// Tells the time, in UTC, cut to whole seconds as git keeps it.
    pub fn now(&self) -> Timestamp {
        let now = self.fixed.unwrap_or_else(Timestamp::now);
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }
    /// Tells the day, in UTC.
    pub fn today(&self) -> Date {
        Offset::UTC.to_datetime(self.now()).date()
    }
}

/// Returns a time for a file, so many seconds after the epoch.
pub fn file_time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Returns the time that a file written now has.
pub fn file_time_now() -> SystemTime {
    SystemTime::now()
}
