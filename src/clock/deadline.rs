//! A moment after which nothing runs on; none: there is no such moment.

use std::time::Duration;
use std::time::Instant;

/// Without any time a command could not even be told to end.
const LEAST: Duration = Duration::from_secs(1);

/// Cuts a limit to what is left of the time.
pub fn within(deadline: Option<Instant>, limit: Duration) -> Duration {
    let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now()).max(LEAST);
    deadline.map(left).map_or(limit, |left| left.min(limit))
}

/// Tells whether the moment has come.
pub fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_cut_to_what_is_left_and_never_to_nothing() {
        let [short, long] = [2, 300].map(Duration::from_secs);
        let soon = Some(Instant::now() + Duration::from_secs(60));
        assert_eq!((within(None, long), is_over(None)), (long, false));
        assert!(within(soon, long) <= Duration::from_secs(60));
        assert_eq!((within(soon, short), is_over(soon)), (short, false));
        let past = Some(Instant::now());
        assert_eq!((within(past, long), is_over(past)), (LEAST, true));
    }
}
