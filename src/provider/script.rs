//! The scripted model: which reply comes next.
//!
//! The written form is read in `script_file`, replies are turned into the service's messages in `played`.

use serde_json::Value;
use std::time::Duration;

/// What the model says, session by session, reply by reply.
#[derive(Clone, Debug)]
pub struct Script {
    /// Named in messages, usually the file the script came from.
    pub(super) name: String,
    pub(super) sessions: Vec<Vec<Step>>,
    /// Conversations beside the sessions, such as the choice of notes.
    pub(super) side: Vec<Vec<Step>>,
}

impl Script {
    /// Returns what is said beside the sessions, as a script of its own.
    pub(super) fn aside(&self) -> Self {
        Self { name: self.name.clone(), sessions: self.side.clone(), side: Vec::new() }
    }
}

/// Whose request it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Asker {
    Agent,
    /// One beside the agent, who chooses notes or writes some; it has no way to hand over.
    Side,
}

impl Asker {
    /// Tells by the tools of a request.
    pub(super) fn of(request: &Value) -> Self {
        let mut tools = request["tools"].as_array().into_iter().flatten();
        if tools.any(|tool| tool["name"] == "hand_over") { Self::Agent } else { Self::Side }
    }
}

/// One reply, or one fault in place of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Step {
    pub(super) thinking: Option<String>,
    pub(super) text: Option<String>,
    pub(super) tools: Vec<StepCall>,
    pub(super) stop_reason: Option<String>,
    /// Counters that replace the estimated ones.
    pub(super) usage: Value,
    /// How long the service stays silent within this reply.
    pub(super) silence: Duration,
    pub(super) fault: Option<StepFault>,
}

/// A fault of the service.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StepFault {
    /// An answer with this status in place of a reply.
    Status { status: u16, headers: Vec<(String, String)>, error: StepError },
    /// The connection breaks after this many events.
    Cut(usize),
}

/// A tool call of a reply; without an id it gets one of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StepCall {
    pub(super) name: String,
    pub(super) input: Value,
    pub(super) id: Option<String>,
}

/// What an answer with an error status says; what is left out is the usual for its status.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StepError {
    pub(super) kind: Option<String>,
    pub(super) message: Option<String>,
    pub(super) code: Option<String>,
}

/// How the newest reply went out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    Whole,
    Fault,
    /// The client is still waiting in a silence, or has left in it.
    Silent,
}

/// How far a script has been played.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// Sessions begun so far.
    session: usize,
    /// Replies given in the newest one.
    reply: usize,
    newest: Option<(Value, Outcome)>,
}

impl Place {
    /// Returns the reply to a conversation, and how many replies its session had before.
    pub(super) fn next<'a>(&mut self, script: &'a Script, messages: &Value) -> Result<(&'a Step, usize), String> {
        if self.begins_session(script, messages) {
            self.session += 1;
            self.reply = 0;
            self.newest = None;
        }
        let (name, number, had) = (&script.name, self.session, self.reply);
        let Some(session) = script.sessions.get(number - 1) else {
            let all = script.sessions.len();
            return Err(format!(
                "the script `{name}` ends with session {all}, and this request begins session {number}"
            ));
        };
        let Some(step) = session.get(had) else {
            let all = session.len();
            let asked = all + 1;
            return Err(format!(
                "the script `{name}` has no reply left: session {number} has {all}, and this request asks for number {asked}"
            ));
        };
        self.reply += 1;
        let outcome = match step.fault {
            Some(_) => Outcome::Fault,
            None if step.silence.is_zero() => Outcome::Whole,
            None => Outcome::Silent,
        };
        self.newest = Some((messages.clone(), outcome));
        Ok((step, had))
    }

    /// Notes that the silence of the newest reply is over and the rest goes out.
    pub(super) fn silence_ended(&mut self) {
        if let Some((_, outcome @ Outcome::Silent)) = &mut self.newest {
            *outcome = Outcome::Whole;
        }
    }

    /// Counts the replies nobody asked for.
    pub(super) fn unplayed(&self, script: &Script) -> usize {
        let all: usize = script.sessions.iter().map(Vec::len).sum();
        let before: usize = script.sessions.iter().take(self.session.saturating_sub(1)).map(Vec::len).sum();
        all.saturating_sub(before + self.reply)
    }

    /// A conversation without an assistant message begins the next session, unless it is the retry after a fault.
    fn begins_session(&self, script: &Script, messages: &Value) -> bool {
        let mut roles = messages.as_array().into_iter().flatten().map(|message| &message["role"]);
        if self.session == 0 {
            return true;
        }
        if roles.any(|role| role == "assistant") {
            return false;
        }
        match &self.newest {
            Some((asked, _)) if goes_on(asked, messages) => false,
            // A client that left in a silence comes back with the same words, or was killed and begins anew.
            Some((asked, Outcome::Silent)) => asked != messages,
            Some((asked, Outcome::Fault)) => {
                let all = script.sessions.get(self.session - 1).map_or(0, Vec::len);
                self.reply >= all && asked != messages
            }
            Some((_, Outcome::Whole)) => true,
            None => false,
        }
    }
}

/// Tells whether the only message of a conversation is one that was asked before, with more behind it: the client was killed
/// and goes on.
fn goes_on(asked: &Value, messages: &Value) -> bool {
    let (Some(asked), Some(now)) = (only_message(asked), only_message(messages)) else { return false };
    asked.len() < now.len() && now.starts_with(&asked)
}

/// Returns the blocks of a conversation's only message, without cache marks.
fn only_message(messages: &Value) -> Option<Vec<Value>> {
    let [message] = messages.as_array()?.as_slice() else { return None };
    let mut blocks = message["content"].as_array()?.clone();
    for block in blocks.iter_mut().filter_map(Value::as_object_mut) {
        block.remove("cache_control");
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn script(text: &str) -> Script {
        Script::parse(text, "play.toml").unwrap()
    }

    fn start(prompt: &str) -> Value {
        json!([{"role": "user", "content": prompt}])
    }

    fn later(prompt: &str) -> Value {
        json!([{"role": "user", "content": prompt}, {"role": "assistant", "content": "…"}, {"role": "user", "content": "on"}])
    }

    /// Plays these requests and returns the text of each reply, or the message.
    fn play(script: &Script, requests: &[Value]) -> Vec<String> {
        let mut place = Place::default();
        let mut say = |messages| match place.next(script, messages) {
            Ok((step, _)) => step.text.clone().unwrap_or_else(|| "fault".to_owned()),
            Err(message) => message,
        };
        requests.iter().map(&mut say).collect()
    }

    const TWO: &str = r#"
        [[session]]
        reply = [{ text = "1.1" }, { text = "1.2" }]
        [[session]]
        reply = [{ text = "2.1" }]
    "#;

    const FAULT: &str = r#"
        [[session]]
        reply = [{ status = 529 }, { text = "1.2" }]
        [[session]]
        reply = [{ status = 400 }]
        [[session]]
        reply = [{ text = "3.1" }]
    "#;

    #[test]
    fn a_conversation_without_an_assistant_message_begins_the_next_session() {
        assert_eq!(play(&script(TWO), &[start("a"), later("a"), start("b")]), ["1.1", "1.2", "2.1"]);
        assert_eq!(play(&script(TWO), &[start("a"), start("b")]), ["1.1", "2.1"]);
    }

    #[test]
    fn the_request_after_a_fault_is_its_retry() {
        assert_eq!(play(&script(FAULT), &[start("a"), start("a"), start("b")]), ["fault", "1.2", "fault"]);
    }

    #[test]
    fn a_new_conversation_after_the_last_fault_of_a_session_begins_the_next() {
        let played = play(&script(FAULT), &[start("a"), start("a"), start("b"), start("c")]);
        assert_eq!(played, ["fault", "1.2", "fault", "3.1"]);

        let retried = play(&script(FAULT), &[start("a"), start("a"), start("b"), start("b")]);
        assert_eq!(
            retried[3],
            "the script `play.toml` has no reply left: session 2 has 1, and this request asks for number 2"
        );
    }

    #[test]
    fn who_left_in_a_silence_comes_back_to_the_same_session_only_with_the_same_words() {
        let text = r#"
            [[session]]
            reply = [{ text = "1.1", silence = "1s" }, { text = "1.2" }]
            [[session]]
            reply = [{ text = "2.1" }]
        "#;
        assert_eq!(play(&script(text), &[start("a"), start("a")]), ["1.1", "1.2"]);
        assert_eq!(play(&script(text), &[start("a"), start("b")]), ["1.1", "2.1"]);

        let script = script(text);
        let mut place = Place::default();
        place.next(&script, &start("a")).unwrap();
        place.silence_ended();
        assert_eq!(place.next(&script, &start("a")).unwrap().0.text.as_deref(), Some("2.1"));
    }

    #[test]
    fn a_script_that_runs_out_names_itself_the_session_and_the_count() {
        let played = play(&script(TWO), &[start("a"), later("a"), later("a"), start("b"), start("c")]);
        assert_eq!(
            played[2],
            "the script `play.toml` has no reply left: session 1 has 2, and this request asks for number 3"
        );
        assert_eq!(played[4], "the script `play.toml` ends with session 2, and this request begins session 3");
    }

    #[test]
    fn replies_nobody_asked_for_are_counted() {
        let script = script(TWO);
        let mut place = Place::default();
        assert_eq!(place.unplayed(&script), 3);
        place.next(&script, &start("a")).unwrap();
        assert_eq!(place.unplayed(&script), 2);
        place.next(&script, &start("b")).unwrap();
        assert_eq!(place.unplayed(&script), 0, "what a session left behind cannot be reached any more");
    }

    #[test]
    fn a_client_that_was_killed_and_goes_on_with_its_first_message_is_in_the_same_session() {
        let script = script(TWO);
        let text = |text: &str| json!({"type": "text", "text": text});
        let mut marked = text("a");
        marked["cache_control"] = json!({"type": "ephemeral"});
        let first = |blocks: &[Value]| json!([{"role": "user", "content": blocks}]);
        let played = play(&script, &[first(&[marked.clone()]), first(&[text("a"), text("killed")])]);
        assert_eq!(played, ["1.1", "1.2"]);
        let other = play(&script, &[first(&[marked]), first(&[text("b"), text("killed")])]);
        assert_eq!(other, ["1.1", "2.1"]);
    }
}
