//! The one table of error types, for answers with an error status and for errors within a stream.

/// `error.type`, its HTTP status, whether asking again can help (`Messages API: errors`).
pub(super) const TABLE: [(&str, u16, bool); 13] = [
    ("invalid_request_error", 400, false),
    ("authentication_error", 401, false),
    ("billing_error", 402, false),
    ("permission_error", 403, false),
    ("not_found_error", 404, false),
    ("request_timeout", 408, true),
    ("conflict_error", 409, true),
    ("request_too_large", 413, false),
    ("unprocessable_entity", 422, false),
    ("rate_limit_error", 429, true),
    ("api_error", 500, true),
    ("timeout_error", 504, true),
    ("overloaded_error", 529, true),
];

/// Returns the error type that belongs to a status.
pub(super) fn kind_of_status(status: u16) -> &'static str {
    let known = TABLE.iter().find(|(_, of, _)| *of == status);
    known.map_or(if status >= 500 { "api_error" } else { "invalid_request_error" }, |(kind, _, _)| kind)
}

/// Returns the type by which an error is judged. Gateways have types of their own, and many send `invalid_request_error`
/// for whatever the caller has to mend; then the status says more.
pub(super) fn deciding_kind(status: Option<u16>, told: &str) -> &str {
    let is_known = TABLE.iter().any(|(kind, _, _)| *kind == told);
    match status {
        Some(status) if !is_known => kind_of_status(status),
        Some(status @ (401..=404 | 413)) if told == "invalid_request_error" => kind_of_status(status),
        None if told.is_empty() => "invalid_request_error",
        _ => told,
    }
}

/// Tells whether an error's code is that of a limit that lasts until somebody raises it or a new period begins.
pub(super) fn is_spend_limit(code: &str) -> bool {
    matches!(code, "contract_spend_limit_reached" | "enforced_spend_limit_reached")
}
