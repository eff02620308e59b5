//! The scripted model behind its loopback server, told in a few words.

use longhaul::message::Message;
use longhaul::message::text_block;
use longhaul::provider::Request;
use longhaul::provider::Script;
use longhaul::provider::Server;
use longhaul::provider::Told;
use serde_json::Value;
use serde_json::json;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Longest time a test waits for an event before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running scripted model.
pub(crate) struct Model {
    server: Server,
}

impl Model {
    /// Starts a model that plays these sessions in order.
    pub(crate) fn plays(sessions: impl IntoIterator<Item = Value>, side: impl IntoIterator<Item = Value>) -> Self {
        let (sessions, side): (Vec<Value>, Vec<Value>) = (sessions.into_iter().collect(), side.into_iter().collect());
        let text = toml::to_string(&toml_of(&json!({ "session": sessions, "side": side }))).expect("a script is TOML");
        Self { server: server(&text) }
    }

    pub(crate) fn base_url(&self) -> String {
        self.server.base_url().to_string()
    }

    /// Bodies of the requests seen so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.server.requests()
    }

    /// Bodies of those that were no session's.
    pub(crate) fn side_requests(&self) -> Vec<Value> {
        let has_tool = |body: &Value| body["tools"].to_string().contains("\"hand_over\"");
        self.requests().into_iter().filter(|body| !has_tool(body)).collect()
    }

    /// What the model found wrong with our requests; nothing, when all is well.
    pub(crate) fn rejected(&self) -> Vec<String> {
        self.server.rejected()
    }

    /// Waits until the model holds back the reply that the script marks as silent.
    pub(crate) fn wait_for_silence(&self) {
        self.wait_for_silences(1);
    }

    /// Waits until the model has held back so many replies in all.
    pub(crate) fn wait_for_silences(&self, count: usize) {
        let held = self.server.wait_until_held(count, PATIENCE);
        assert!(held.is_some(), "the model was never asked for the silent reply {count}");
    }

    /// Returns the text that the model saw as the result of the last tools of request `number`, counted from 1.
    pub(crate) fn results_in(&self, number: usize) -> String {
        let requests = self.requests();
        let body = &requests[number - 1];
        let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
        let blocks = last["content"].as_array().cloned().unwrap_or_default();
        let results = blocks.iter().filter(|block| block["type"] == "tool_result");
        results
            .map(|block| block["content"].as_str().map_or_else(|| block["content"].to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("\n---\n")
    }
}

/// Starts a model that plays a script in its written form.
pub(crate) fn server(script: &str) -> Server {
    let script = Script::parse(script, "play.toml").expect("the test's script is well formed");
    Server::start(script).expect("the scripted model starts")
}

/// The tool by which the scripted model knows a session.
pub(crate) fn session_tool() -> Value {
    json!({ "name": "hand_over", "input_schema": { "type": "object" } })
}

/// Asks again, whatever a reply that broke has cost.
pub(crate) fn keep_on(_: Told) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A conversation of one word.
pub(crate) fn request() -> Request {
    Request {
        model: "claude-test".to_owned(),
        max_tokens: 100,
        messages: Arc::new(vec![Message::user(vec![text_block("hello")])]),
        tools: vec![session_tool()],
        ..Request::default()
    }
}

/// Spells JSON as TOML; a number's own form in `serde_json` would become a table.
fn toml_of(value: &Value) -> toml::Value {
    match value {
        Value::Null => panic!("TOML has no null"),
        Value::Bool(value) => toml::Value::Boolean(*value),
        Value::Number(number) => toml::Value::Integer(number.as_i64().expect("a whole number")),
        Value::String(text) => toml::Value::String(text.clone()),
        Value::Array(items) => toml::Value::Array(items.iter().map(toml_of).collect()),
        Value::Object(fields) => {
            toml::Value::Table(fields.iter().map(|(key, value)| (key.clone(), toml_of(value))).collect())
        }
    }
}

/// One session of the script.
pub(crate) fn session(replies: impl IntoIterator<Item = Value>) -> Value {
    json!({ "reply": replies.into_iter().collect::<Vec<_>>() })
}

/// A reply that calls these tools.
pub(crate) fn reply(tools: impl IntoIterator<Item = Value>) -> Value {
    json!({ "tools": tools.into_iter().collect::<Vec<_>>() })
}

/// A reply of text alone, which ends the session.
pub(crate) fn say(text: &str) -> Value {
    json!({ "text": text })
}

#[expect(clippy::needless_pass_by_value, reason = "callers write the input in place")]
pub(crate) fn call(name: &str, input: Value) -> Value {
    json!({ "name": name, "input": input })
}

pub(crate) fn bash(command: &str) -> Value {
    call("bash", json!({ "command": command }))
}

pub(crate) fn memory(input: Value) -> Value {
    call("memory", input)
}

/// The text of a note that says this.
pub(crate) fn as_note(text: &str) -> String {
    format!("---\nname: {text}\ndescription: about {text}\ntype: project\n---\n{text}\n")
}

pub(crate) fn hand_over() -> Value {
    call("hand_over", json!({ "done": "worked on it", "remaining": "nothing", "next": "the next feature" }))
}
