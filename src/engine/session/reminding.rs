//! The tools of a session that recall notes once more when old results were taken out of the conversation.

use crate::clock::Clock;
use crate::engine::session::recall::Question;
use crate::engine::session::recall::Shelf;
use crate::engine::settings;
use crate::event::Event;
use crate::event::Sink;
use crate::message::ToolCall;
use crate::message::ToolResult;
use crate::prompts::Recalled;
use crate::prompts::Reminder;
use crate::tools::Artifacts;
use crate::tools::HandOver;
use crate::tools::Toolbox;
use crate::tools::Tools;
use anyhow::Result;
use serde_json::Value;
use std::collections::BTreeSet;

/// The session's tools, and what it takes to recall notes.
pub struct Reminding<'a> {
    pub toolbox: Toolbox<'a>,
    pub recall: &'a settings::Recall,
    pub clock: Clock,
    pub sink: &'a dyn Sink,
    /// What the session works on; none for an initializer, which is given no notes.
    pub question: Option<String>,
    /// Paths of notes that the agent has seen; results of the memory tool are never taken out.
    pub seen: BTreeSet<String>,
}

impl Reminding<'_> {
    fn recall(&self, said: &str) -> Result<Vec<Recalled>> {
        let Some(question) = &self.question else { return Ok(Vec::new()) };
        let Self { recall: settings, clock, sink, .. } = *self;
        let memory = self.toolbox.memory();
        let shelf = Shelf { memory, settings, clock, sink };
        let recalled = shelf.recall_again(&Question { text: &format!("{question}\n{said}"), seen: &self.seen })?;
        memory.mark_used(recalled.iter().map(|note| note.path.as_str()))?;
        Ok(recalled)
    }
}

impl Tools for Reminding<'_> {
    fn definitions(&self) -> Vec<Value> {
        self.toolbox.definitions()
    }

    fn call(&mut self, call: &ToolCall, turn: u32) -> Result<ToolResult> {
        if call.name == "memory" {
            self.seen.extend(paths(&call.input));
        }
        self.toolbox.call(call, turn)
    }

    fn artifacts(&self) -> &Artifacts {
        self.toolbox.artifacts()
    }

    fn handed_over(&self) -> Option<&HandOver> {
        self.toolbox.handed_over()
    }

    fn project_is_there(&self) -> bool {
        self.toolbox.project_is_there()
    }

    fn files(&self) -> Option<String> {
        self.toolbox.files()
    }

    fn after_clearing(&mut self, said: &str) -> Option<String> {
        let recalled = match self.recall(said) {
            Ok(recalled) if recalled.is_empty() => return None,
            Ok(recalled) => recalled,
            Err(error) => {
                self.sink.take(&Event::Warning { text: format!("no notes are recalled after a clearing: {error:#}") });
                return None;
            }
        };
        self.seen.extend(recalled.iter().map(|note| note.path.clone()));
        Reminder { recalled }.render().ok()
    }
}

/// Returns the paths that a call of the memory tool names.
fn paths(input: &Value) -> impl Iterator<Item = String> {
    let paths = ["path", "new_path"].iter().filter_map(|key| input[*key].as_str());
    paths.filter_map(|path| path.strip_prefix("/memories/").map(str::to_owned))
}

/// Returns the paths of the notes that the agent has seen, by its session's events.
pub fn seen(events: &[Value]) -> BTreeSet<String> {
    let (mut seen, mut chosen) = (BTreeSet::new(), Vec::new());
    for event in events {
        match event["type"].as_str().unwrap_or_default() {
            "recalled" => chosen.extend(event["notes"].as_array().into_iter().flatten().filter_map(Value::as_str)),
            // They are in the message that goes out next.
            "sent" if event["turn"] != 0 => seen.extend(chosen.drain(..).map(str::to_owned)),
            "tool_started" if event["name"] == "memory" => seen.extend(paths(&event["input"])),
            _ => {}
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn seen_are_notes_that_went_out_and_files_that_were_asked_for() {
        let recalled = |path: &str| json!({"type": "recalled", "by": "words", "of": 3, "notes": [path]});
        let sent = |turn: u32| json!({"type": "sent", "turn": turn, "content": []});
        let called = |name: &str, path: &str| json!({"type": "tool_started", "name": name, "input": {"path": path}});
        let events = [
            recalled("notes/first.md"),
            sent(0),
            sent(1),
            called("memory", "/memories/notes/viewed.md"),
            called("edit", "/memories/notes/other.md"),
            recalled("notes/unsent.md"),
            sent(0),
        ];
        assert_eq!(seen(&events).into_iter().collect::<Vec<_>>(), ["notes/first.md", "notes/viewed.md"]);
    }
}
