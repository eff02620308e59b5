//! What one attempt ran into, and whether it passes: one table by error type serves answers with an error status and errors
//! within a stream.

use super::error_type::TABLE;
use super::error_type::is_spend_limit;
use super::failure::Failure;
use super::hints::Hints;
use super::wire::ServiceError;
use std::fmt;
use std::time::Duration;

/// Whether the service has answered this run as it should.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Met {
    Never,
    Before,
}

/// What one attempt ran into.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// The service answered with an error; within a stream there is no status.
    Service { status: Option<u16>, error: ServiceError, hints: Hints },
    /// No connection, or it broke.
    Connection(String),
    /// No byte came for this long.
    Silent(Duration),
    /// A reply came that is not whole.
    Broken(String),
    /// An answer of somebody else, such as a page of maintenance or of a network that wants a login; where the service never
    /// answered, its address is wrong.
    Foreign(Failure),
    /// Something that stays as it is until somebody changes a setting.
    Settled(Failure),
}

impl Fault {
    /// Tells whether asking again can help. The service's own word in the headers comes first, but no header lifts a
    /// spend limit.
    pub(super) fn passes(&self, met: Met) -> bool {
        match self {
            Self::Connection(_) | Self::Silent(_) | Self::Broken(_) => true,
            Self::Foreign(_) => met == Met::Before,
            Self::Settled(_) => false,
            Self::Service { error, .. } if is_spend_limit(&error.code) => false,
            // Whatever its type says: the summing up is not to be had for the moment.
            Self::Service { error, .. } if error.code == "compaction_unavailable" => true,
            Self::Service { status, error, hints } => hints.again.unwrap_or_else(|| {
                let by_kind = TABLE.iter().find(|(kind, _, _)| *kind == error.kind).map(|(_, _, again)| *again);
                let by_status = status.map(|status| {
                    let known = TABLE.iter().find(|(_, of, _)| *of == status);
                    known.map_or(status >= 500, |(_, _, again)| *again)
                });
                // One word for it is enough: gateways put types of theirs, or one type for all, beside any status. An unknown
                // error in a stream came after the request was accepted.
                match (by_kind, by_status) {
                    (None, None) => true,
                    (by_kind, by_status) => by_kind == Some(true) || by_status == Some(true),
                }
            }),
        }
    }

    /// Returns how long the service asks to wait.
    pub(super) fn asked_wait(&self) -> Option<Duration> {
        match self {
            Self::Service { hints, .. } => hints.after,
            _ => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service { status: Some(status), error, .. } => write!(formatter, "HTTP {status} {error}"),
            Self::Service { status: None, error, .. } => write!(formatter, "error within the reply, {error}"),
            Self::Connection(what) => formatter.write_str(what),
            Self::Silent(limit) => write!(formatter, "no byte came for {} s", limit.as_secs_f64()),
            Self::Broken(what) => write!(formatter, "broken reply: {what}"),
            Self::Foreign(Failure::Refused { message, .. }) => formatter.write_str(message),
            Self::Foreign(failure) | Self::Settled(failure) => write!(formatter, "{failure}"),
        }
    }
}

#[cfg(test)]
impl Fault {
    /// An error of the service, with no hints.
    pub(super) fn service(status: Option<u16>, kind: &str) -> Self {
        let error = ServiceError { kind: kind.to_owned(), message: "m".to_owned(), code: String::new() };
        Self::Service { status, error, hints: Hints::default() }
    }

    pub(super) fn with_hints(mut self, again: Option<bool>, after: Option<Duration>) -> Self {
        if let Self::Service { hints, .. } = &mut self {
            *hints = Hints { again, after };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_table_decides_by_type_and_by_status() {
        let again = [408, 409, 429, 500, 502, 503, 504, 520, 529, 599];
        let never = [400, 401, 402, 403, 404, 405, 413, 418, 422];
        for status in again {
            assert!(Fault::service(Some(status), "").passes(Met::Never), "{status}");
        }
        for status in never {
            assert!(!Fault::service(Some(status), "").passes(Met::Never), "{status}");
        }
        for (kind, status, again) in TABLE {
            assert_eq!(Fault::service(None, kind).passes(Met::Never), again, "{kind} within a stream");
            assert_eq!(Fault::service(Some(status), kind).passes(Met::Never), again, "{kind}");
        }
        assert!(
            Fault::service(Some(400), "overloaded_error").passes(Met::Never),
            "the type is nearer to the truth than the status"
        );
        assert!(Fault::service(None, "new_error").passes(Met::Never));
        for status in [408, 409, 429, 500, 503, 529] {
            for kind in ["new_error", "invalid_request_error", "authentication_error"] {
                assert!(
                    Fault::service(Some(status), kind).passes(Met::Never),
                    "{status} {kind}: as the service's own libraries do"
                );
            }
        }
        assert!(!Fault::service(Some(400), "new_error").passes(Met::Never));
    }

    #[test]
    fn faults_on_the_way_are_asked_again_and_settled_ones_are_not() {
        assert!(Fault::Connection("refused".to_owned()).passes(Met::Never));
        assert!(Fault::Silent(SECOND).passes(Met::Never));
        assert!(Fault::Broken("cut".to_owned()).passes(Met::Never));
        assert!(!Fault::Settled(Failure::OutOfTime).passes(Met::Before));
    }

    #[test]
    fn an_answer_of_somebody_else_passes_where_the_service_has_answered() {
        let foreign = Fault::Foreign(Failure::OutOfTime);
        assert!(foreign.passes(Met::Before) && !foreign.passes(Met::Never));
    }

    #[test]
    fn the_service_can_force_and_forbid() {
        assert!(Fault::service(Some(400), "").with_hints(Some(true), None).passes(Met::Never));
        assert!(!Fault::service(Some(529), "overloaded_error").with_hints(Some(false), None).passes(Met::Never));
    }

    #[test]
    fn a_spend_limit_is_not_waited_for() {
        let mut fault = Fault::service(Some(429), "rate_limit_error");
        assert!(fault.passes(Met::Never));
        if let Fault::Service { error, .. } = &mut fault {
            error.code = "enforced_spend_limit_reached".to_owned();
        }
        assert!(!fault.passes(Met::Never));
        assert!(!fault.with_hints(Some(true), None).passes(Met::Never), "whatever a header says");
    }

    #[test]
    fn a_summing_up_that_is_not_to_be_had_for_the_moment_is_waited_for() {
        let mut fault = Fault::service(Some(400), "invalid_request_error");
        if let Fault::Service { error, .. } = &mut fault {
            error.code = "compaction_unavailable".to_owned();
        }
        assert!(fault.passes(Met::Never));
    }
}
