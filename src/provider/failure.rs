//! Why a request got no reply, in words that name the way out.

use super::Request;
use super::Settings;
use super::error_type::deciding_kind;
use super::error_type::is_spend_limit;
use super::wire::ServiceError;
use super::wire::names_place;
use std::error::Error;
use std::fmt;

/// Why a request got no reply. Nothing of a broken reply is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Failure {
    /// Somebody asked to stop.
    Interrupted,
    /// No whole reply came within the outage budget; `tried` says what was tried and what came of it.
    Unavailable { tried: String },
    /// The service refused the request, and asking again would not help.
    Refused {
        /// The service's `error.type`, or our own word where it gave none.
        kind: String,
        message: String,
        way_out: String,
    },
    /// The conversation does not fit the model's window or the service's size limit.
    TooLong { message: String },
    /// The request's deadline came before a whole reply.
    OutOfTime,
    /// The request's deadline leaves no time for another attempt in an outage; `fault` is the newest.
    Away { fault: String },
    /// What may be spent was used up by replies that broke.
    Spent,
    /// So many replies in a row were empty.
    Empty { replies: u32 },
}

impl Failure {
    /// Tells an error of the service that asking again would not mend.
    pub(super) fn of_service(
        status: Option<u16>,
        error: &ServiceError,
        settings: &Settings,
        request: &Request,
    ) -> Self {
        let message = match status {
            Some(status) => format!("HTTP {status} {error}"),
            None => error.to_string(),
        };
        let kind = deciding_kind(status, &error.kind);
        if kind == "request_too_large" || says_too_long(kind, &error.message) {
            return Self::TooLong { message };
        }
        let way_out = match kind {
            _ if is_spend_limit(&error.code) => spend_limit(settings),
            "invalid_request_error" if names_typed_tool(&error.message, request) => typed_tools(settings),
            kind => way_out(kind, settings, request),
        };
        let shown = if error.kind.is_empty() { kind } else { &error.kind };
        Self::Refused { kind: shown.to_owned(), message, way_out }
    }
}

impl Failure {
    /// Tells whether the request was refused for thinking in it that is not taken back: another model wrote it, or what
    /// stood before it is not what it was. The service has no type or code for it, only these words.
    pub fn is_of_thinking(&self) -> bool {
        const WORDS: [&str; 3] = ["`thinking` block", "thinking.signature", "`redacted_thinking` block"];
        let Self::Refused { kind, message, .. } = self else { return false };
        kind == "invalid_request_error" && WORDS.iter().any(|words| message.contains(words))
    }
}

/// What is said of a service that names the wait itself: it is up.
pub(super) const ASKS_TO_WAIT: &str = "which asks to wait";

/// Tells whether a refused request was too long. The service has no type or code for it, only these words.
fn says_too_long(kind: &str, message: &str) -> bool {
    let words = ["prompt is too long", "exceed context limit", "exceeds the context window"];
    kind == "invalid_request_error" && words.iter().any(|words| message.contains(words))
}

/// Tells whether a refusal is of a tool that is declared by its type alone, by its name or by its place.
fn names_typed_tool(refusal: &str, request: &Request) -> bool {
    request.tools.iter().enumerate().any(|(at, tool)| {
        let kind = tool["type"].as_str().filter(|kind| *kind != "custom");
        kind.is_some_and(|kind| refusal.contains(kind) || names_place(refusal, "tools", at))
    })
}

fn typed_tools(settings: &Settings) -> String {
    format!("`{}` does not take tools by their types: set `[provider] tools = \"custom\"`", settings.base_url)
}

fn way_out(kind: &str, settings: &Settings, request: &Request) -> String {
    let (place, variable) = (&settings.base_url, &settings.key_env);
    let (model, setting) = (&request.model, request.model_setting.name());
    match kind {
        "authentication_error" => format!("check the key in `{variable}`, and that it belongs to `{place}`"),
        "billing_error" => {
            format!("check the credit and the payment of the account the key in `{variable}` belongs to")
        }
        "permission_error" => {
            format!("the key in `{variable}` may not do this; check that it may use the model `{model}` (`{setting}`)")
        }
        "not_found_error" => format!("check that `{place}` serves the model `{model}` (`{setting}`)"),
        "rate_limit_error" => spend_limit(settings),
        // A limit that an organisation set for itself comes as this type too, told in words alone.
        _ => format!(
            "if it speaks of credit or a limit, see the account behind `{variable}`; else check `[agent]` and \
             `[provider]` in the settings for what `{place}` does not take"
        ),
    }
}

fn spend_limit(settings: &Settings) -> String {
    format!("raise the spend limit of the account behind `{}`, or go on in its next period", settings.key_env)
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => write!(formatter, "interrupted while waiting for the model service"),
            Self::Unavailable { tried } => write!(
                formatter,
                "the model service stayed unavailable: {tried}; {}, then run again to go on",
                if tried.contains(ASKS_TO_WAIT) {
                    "wait as long as it asks, or raise `[provider] outage_budget`"
                } else {
                    "see that it is up and that `[provider] base_url` is right"
                }
            ),
            Self::Refused { kind, message, way_out } => {
                write!(formatter, "the model service refused the request (`{kind}`): {message}; {way_out}")
            }
            Self::TooLong { message } => write!(
                formatter,
                "the request is too long for the model service: {message}; `longhaul prompt session` shows what a session begins with, make that shorter or choose a model with a larger window"
            ),
            Self::Empty { replies } => write!(
                formatter,
                "the model service gave {replies} empty replies in a row, without a text or a call; see that `[provider] base_url` and `[agent] model` are right, then run again to go on"
            ),
            Self::Spent => write!(formatter, "what may be spent was used up by replies that broke"),
            Self::Away { fault } => write!(formatter, "the time ended before the model service was back: {fault}"),
            Self::OutOfTime => write!(formatter, "the time ended before the model service gave a whole reply"),
        }
    }
}

impl Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::ModelSetting;
    use serde_json::json;

    fn refused(message: &str) -> String {
        let tool = |kind: &str| json!({"type": kind, "name": "x"});
        let custom = json!({"name": "hand_over", "input_schema": {}});
        let tools = vec![custom, tool("custom"), tool("memory_20250818"), tool("bash_20250124")];
        let request = Request { tools, ..Request::default() };
        let error = ServiceError { kind: "invalid_request_error".into(), message: message.into(), code: String::new() };
        Failure::of_service(Some(400), &error, &Settings::default(), &request).to_string()
    }

    #[test]
    fn a_refused_type_of_tool_names_the_setting_that_leaves_types_out() {
        let way_out = "does not take tools by their types: set `[provider] tools = \"custom\"`";
        for message in [
            "tools.2: Input tag 'memory_20250818' found using 'type' does not match any of the expected tags: 'custom'",
            "'bash_20250124' is not supported by this model",
            "tools.3.custom.input_schema: Field required",
            "tools[2].function: missing field",
        ] {
            assert!(refused(message).ends_with(way_out), "{}", refused(message));
        }
        for message in ["tools.1.custom.input_schema: Field required", "tools.20: too many", "max_tokens: too large"] {
            assert!(!refused(message).contains("[provider] tools"), "{}", refused(message));
        }
    }

    #[test]
    fn a_model_that_is_not_served_is_told_by_the_setting_it_comes_from() {
        let error = ServiceError { kind: "not_found_error".into(), message: "model: m".into(), code: String::new() };
        for (model_setting, name) in [
            (ModelSetting::Model, "[agent] model"),
            (ModelSetting::SmallModel, "[agent] small_model"),
            (ModelSetting::ExtractModel, "[recall] extract_model"),
        ] {
            let request = Request { model: "m".to_owned(), model_setting, ..Request::default() };
            let told = Failure::of_service(Some(404), &error, &Settings::default(), &request).to_string();
            assert!(told.ends_with(&format!("serves the model `m` (`{name}`)")), "{told}");
        }
    }

    #[test]
    fn a_type_of_a_gateways_own_leaves_the_word_to_the_status() {
        let told = |status, kind: &str, message: &str| {
            let error = ServiceError { kind: kind.into(), message: message.into(), code: String::new() };
            Failure::of_service(Some(status), &error, &Settings::default(), &Request::default())
        };
        for kind in ["", "GatewayError", "invalid_request_error"] {
            for (status, way_out) in [
                (401, "check the key in"),
                (402, "check the credit"),
                (403, "may not do this"),
                (404, "serves the model"),
            ] {
                let failure = told(status, kind, "m").to_string();
                assert!(failure.contains(way_out), "{status} {kind}: {failure}");
            }
            assert!(matches!(told(413, kind, "m"), Failure::TooLong { .. }), "{kind}");
            assert!(matches!(told(400, kind, "prompt is too long: 9 > 8"), Failure::TooLong { .. }), "{kind}");
        }
        let own = told(401, "GatewayError", "m").to_string();
        assert!(own.contains("(`GatewayError`)"), "its own word is shown: {own}");
        let known = told(403, "billing_error", "m").to_string();
        assert!(known.contains("check the credit"), "a type of the service itself says more than the status: {known}");
        assert!(told(400, "GatewayError", "m").to_string().contains("if it speaks of credit"), "nothing plain is said");
    }

    #[test]
    fn thinking_that_is_not_taken_back_is_told_by_its_words() {
        let refused = |kind: &str, message: &str| {
            let (kind, message) = (kind.to_owned(), message.to_owned());
            Failure::Refused { kind, message, way_out: String::new() }.is_of_thinking()
        };
        for message in [
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
            "messages.7.content.6: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
            "messages.6.content.0.thinking.signature: Field required",
        ] {
            assert!(refused("invalid_request_error", message), "{message}");
        }
        assert!(!refused("invalid_request_error", "thinking: Extra inputs are not permitted"));
        assert!(!refused("api_error", "Invalid `signature` in `thinking` block"));
        assert!(!Failure::OutOfTime.is_of_thinking());
    }
}
