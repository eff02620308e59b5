//! What the headers of an error answer say about asking again.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::time::Duration;

/// What the headers of an error answer say about asking again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Hints {
    /// `x-should-retry`.
    pub(super) again: Option<bool>,
    /// `retry-after-ms` or `retry-after`.
    pub(super) after: Option<Duration>,
}

impl Hints {
    /// Reads the hints from headers.
    pub(super) fn read<'a>(header: impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Self {
        let again = match header("x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        // The service's own clock decides where it tells it; ours may be wrong by years.
        let now = header("date").and_then(read_date).unwrap_or(now);
        let milliseconds = header("retry-after-ms").and_then(|value| seconds(value, 0.001));
        let after = milliseconds.or_else(|| {
            let value = header("retry-after")?;
            seconds(value, 1.0).or_else(|| Duration::try_from(read_date(value)?.duration_since(now)).ok())
        });
        Self { again, after: after.filter(|after| !after.is_zero()) }
    }
}

fn seconds(value: &str, unit: f64) -> Option<Duration> {
    value.trim().parse::<f64>().ok().and_then(|number| Duration::try_from_secs_f64(number * unit).ok())
}

/// Reads a date in any of the three forms that HTTP knows.
fn read_date(value: &str) -> Option<Timestamp> {
    const OLD_FORMS: [&str; 2] = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y"];
    let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    let usual = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(&value).ok();
    let old = |form: &&str| jiff::civil::DateTime::strptime(form, &value).ok();
    usual.or_else(|| TimeZone::UTC.to_timestamp(OLD_FORMS.iter().find_map(old)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn hints(headers: &[(&str, &'static str)]) -> Hints {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        Hints::read(|name| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value), now)
    }

    #[test]
    fn every_form_of_retry_after_is_read() {
        let after = |headers| hints(headers).after;
        assert_eq!(after(&[("retry-after", "30")]), Some(30 * SECOND));
        assert_eq!(after(&[("retry-after", " 1.5 ")]), Some(SECOND.mul_f64(1.5)));
        assert_eq!(after(&[("retry-after-ms", "250.5"), ("retry-after", "30")]), Some(Duration::from_micros(250_500)));
        assert_eq!(after(&[("retry-after-ms", "soon"), ("retry-after", "30")]), Some(30 * SECOND));
        assert_eq!(after(&[("retry-after", "Sun, 01 Mar 2026 12:02:00 GMT")]), Some(120 * SECOND));
        assert_eq!(after(&[("retry-after", "Sunday, 01-Mar-26 12:02:00 GMT")]), Some(120 * SECOND));
        assert_eq!(after(&[("retry-after", "Sun Mar  1 12:02:00 2026")]), Some(120 * SECOND));
        let told = [("retry-after", "Sun, 01 Mar 2026 12:02:00 GMT"), ("date", "Sun, 01 Mar 2026 12:01:30 GMT")];
        assert_eq!(after(&told), Some(30 * SECOND), "the service's own clock decides");
    }

    #[test]
    fn a_retry_after_that_says_nothing_is_passed_over() {
        for value in
            ["0", "-5", "NaN", "inf", "1e300", "", "soon", "Sun, 01 Mar 2026 11:00:00 GMT", "Sun, 99 Mar", "Sun Mar 99"]
        {
            assert_eq!(hints(&[("retry-after", value)]).after, None, "{value}");
        }
        assert_eq!(hints(&[("x-should-retry", "maybe")]).again, None);
        assert_eq!(hints(&[("x-should-retry", "false")]).again, Some(false));
    }
}
