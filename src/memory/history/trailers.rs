//! Who wrote a commit and why: the commit's text, and how it is read back.

use serde_json::Value;
use sha2::Digest;
use sha2::Sha256;

/// Who writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Author {
    Agent,
    Longhaul,
    /// A person, or anything else outside a session.
    External,
}

impl Author {
    /// Returns the name that the history shows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Longhaul => "longhaul",
            Self::External => "external",
        }
    }
}

/// A call of the memory tool.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolUse {
    pub id: String,
    /// The turn of the session; 0 outside one.
    pub turn: u32,
}

/// Where a write comes from; becomes the commit's author and trailers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Origin {
    pub author: Author,
    pub session: Option<u32>,
    pub feature: Option<String>,
    /// Further features that the commit concerns.
    pub also: Vec<String>,
    pub tool_use: Option<ToolUse>,
    pub project_commit: Option<String>,
}

impl Origin {
    /// Makes an origin of which only the author is known.
    pub fn of(author: Author) -> Self {
        Self { author, session: None, feature: None, also: Vec::new(), tool_use: None, project_commit: None }
    }

    /// Returns the origin of edits found in the view while this one was at work.
    pub(in crate::memory) fn found(&self) -> Self {
        Self { author: Author::External, tool_use: None, ..self.clone() }
    }
}

/// Returns the digest that tells one tool input from another.
pub fn input_digest(input: &Value) -> String {
    let digest = Sha256::digest(input.to_string());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The keys of trailers.
pub(in crate::memory) const KEYS: [&str; 4] = ["Session", "Feature", "Tool-Use", "Project-Commit"];

/// Composes a commit's text.
pub(in crate::memory) fn compose(subject: &str, body: &str, origin: &Origin, input: Option<&Value>) -> String {
    let mut text = one_line(subject, 1200);
    text.push('\n');
    if !body.is_empty() {
        text.push_str(&format!("\n{}\n", body.trim_end()));
    }
    let trailers = trailers(origin, input);
    if !trailers.is_empty() {
        text.push('\n');
        for (key, value) in trailers {
            text.push_str(&format!("{key}: {value}\n"));
        }
    }
    text
}

fn trailers(origin: &Origin, input: Option<&Value>) -> Vec<(&'static str, String)> {
    let mut trailers = Vec::new();
    if let Some(session) = origin.session {
        trailers.push(("Session", session.to_string()));
    }
    for feature in origin.feature.iter().chain(&origin.also) {
        trailers.push(("Feature", one_line(feature, 200)));
    }
    if let Some(call) = &origin.tool_use {
        trailers.push(("Tool-Use", tool_use(call, input)));
    }
    if let Some(commit) = &origin.project_commit {
        trailers.push(("Project-Commit", one_line(commit, 64)));
    }
    trailers
}

/// Renders the trailer that a call is recognised by after a crash.
pub(super) fn tool_use(call: &ToolUse, input: Option<&Value>) -> String {
    // The id comes from outside: one that held a line break could forge trailers.
    let safe = |c: char| if c.is_ascii_alphanumeric() || "_-.:".contains(c) { c } else { '?' };
    let mut text: String = call.id.chars().take(128).map(safe).collect();
    if text.is_empty() {
        text.push('?');
    }
    text.push_str(&format!(" turn {}", call.turn));
    if let Some(input) = input {
        text.push_str(&format!(" {}", input_digest(input)));
    }
    text
}

fn one_line(text: &str, longest: usize) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(longest).collect::<String>().trim().to_owned()
}

/// A commit's text, taken apart.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(in crate::memory) struct Message {
    pub(in crate::memory) subject: String,
    pub(in crate::memory) body: String,
    pub(in crate::memory) trailers: Vec<(String, String)>,
}

/// Takes a commit's text apart; the last paragraph holds the trailers when each of its lines is one.
pub(in crate::memory) fn parse(text: &str) -> Message {
    let (subject, rest) = text.split_once('\n').unwrap_or((text, ""));
    let rest = rest.trim();
    let (body, last) = rest.rsplit_once("\n\n").unwrap_or(("", rest));
    let trailers: Option<Vec<_>> = last.lines().map(trailer).collect();
    let (body, trailers) = match trailers {
        Some(trailers) => (body, trailers),
        None => (rest, Vec::new()),
    };
    Message { subject: subject.trim().to_owned(), body: body.trim().to_owned(), trailers }
}

/// Returns the first value of a trailer.
pub(in crate::memory) fn value<'t>(trailers: &'t [(String, String)], key: &str) -> Option<&'t str> {
    trailers.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

fn trailer(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once(": ")?;
    let is_key =
        key.starts_with(|c: char| c.is_ascii_uppercase()) && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_key.then(|| (key.to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn full() -> Origin {
        Origin {
            author: Author::Agent,
            session: Some(7),
            feature: Some("login".to_owned()),
            also: vec!["logout".to_owned()],
            tool_use: Some(ToolUse { id: "toolu_01".to_owned(), turn: 12 }),
            project_commit: Some("0123abcd".to_owned()),
        }
    }

    #[test]
    fn a_message_reads_back_as_written() {
        let input = json!({"command": "create"});
        let text = compose("memory: create notes/db.md", "why\nnot", &full(), Some(&input));

        let digest = input_digest(&input);
        assert_eq!(
            text,
            format!(
                "memory: create notes/db.md\n\nwhy\nnot\n\nSession: 7\nFeature: login\nFeature: logout\n\
                 Tool-Use: toolu_01 turn 12 {digest}\nProject-Commit: 0123abcd\n"
            )
        );
        let message = parse(&text);
        assert_eq!(message.subject, "memory: create notes/db.md");
        assert_eq!(message.body, "why\nnot");
        assert_eq!(message.trailers[0], ("Session".to_owned(), "7".to_owned()));
        assert_eq!(message.trailers.len(), 5);
    }

    #[test]
    fn nothing_from_outside_forges_a_trailer() {
        let mut origin = full();
        origin.tool_use = Some(ToolUse { id: "x\nSession: 99".to_owned(), turn: 1 });
        origin.feature = Some("login\nSession: 98".to_owned());

        let message = parse(&compose("memory: create a\n\nSession: 97", "", &origin, None));

        let sessions: Vec<_> = message.trailers.iter().filter(|(key, _)| key == "Session").collect();
        assert_eq!(sessions, [&("Session".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn a_message_of_someone_else_has_no_trailers() {
        let message = parse("tidy\n\nNote to self: clean up\nthe rest");
        assert_eq!(message.trailers, []);
        assert_eq!(message.body, "Note to self: clean up\nthe rest");
        assert_eq!(parse("subject only").trailers, []);
    }

    #[test]
    fn equal_inputs_have_equal_digests() {
        assert_eq!(input_digest(&json!({"a": 1})), input_digest(&json!({"a": 1})));
        assert_ne!(input_digest(&json!({"a": 1})), input_digest(&json!({"a": 2})));
    }
}
