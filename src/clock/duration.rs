//! Durations as people write them: `15m`, `0.5s`, `1h30m`.

use std::time::Duration;

/// Units, longest first, with their seconds.
const UNITS: [(&str, f64); 5] = [("d", 86400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001)];

/// A hundred years; longer ones are a slip of the finger, and sums with them must not overflow.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86400);

/// Reads one or more numbers with a unit each; `0` and `off` are no time at all.
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" || text == "off" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let (part, after) = take_part(rest)?;
        seconds += part;
        rest = after;
    }
    let duration = Duration::try_from_secs_f64(seconds).ok()?;
    (!text.is_empty() && duration <= LONGEST).then_some(duration)
}

fn take_part(text: &str) -> Option<(f64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let rest = &text[digits..];
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (_, seconds) = UNITS.iter().find(|(unit, _)| *unit == &rest[..letters])?;
    Some((number * seconds, &rest[letters..]))
}

/// Spells a duration: `8h`, `1h30m`, `0.5s`.
pub fn spell(duration: Duration) -> String {
    let whole = duration.as_secs();
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    let part = |value: u64, unit: &str| if value > 0 { format!("{value}{unit}") } else { String::new() };
    match (whole, duration.subsec_millis()) {
        (0, millis) => format!("{}s", f64::from(millis) / 1000.0),
        (1..60, millis) if millis > 0 => format!("{:.1}s", duration.as_secs_f64()),
        _ => part(hours, "h") + &part(minutes, "m") + &part(seconds, "s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        let cases = [
            ("15m", 900.0),
            ("8h", 28800.0),
            ("0.5s", 0.5),
            ("1h30m", 5400.0),
            ("2d", 172_800.0),
            ("250ms", 0.25),
            (" 5m ", 300.0),
            ("0", 0.0),
            ("off", 0.0),
            ("0s", 0.0),
        ];
        for (text, seconds) in cases {
            assert_eq!(parse(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
    }

    #[test]
    fn refuses_what_could_mean_two_things() {
        for text in ["", " ", "5", "m", "5 m", "-5m", "5x", "1h30", "1..5s", "5M", "1e3s", "9999999999d", "∞", "½h"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn reads_what_it_spells() {
        for text in ["0s", "0.5s", "15m", "8h", "1h30m", "48h", "1h1m1s", "59.9s"] {
            assert_eq!(spell(parse(text).unwrap()), text);
        }
    }
}
