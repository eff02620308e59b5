//! The time, taken from one place so that tests can fix it.

use jiff::Timestamp;

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
}

/// Spells a duration as settings do: `8h`, `1h30m`, `0.5s`.
pub fn spell(duration: std::time::Duration) -> String {
    let whole = duration.as_secs();
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    let part = |value: u64, unit: &str| if value > 0 { format!("{value}{unit}") } else { String::new() };
    match (whole, duration.subsec_millis()) {
        (0, millis) => format!("{}s", f64::from(millis) / 1000.0),
        (1..60, millis) if millis > 0 => format!("{:.1}s", duration.as_secs_f64()),
        _ => part(hours, "h") + &part(minutes, "m") + &part(seconds, "s"),
    }
}
