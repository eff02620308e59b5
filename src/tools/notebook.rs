//! The tools of whoever writes notes after a session: the memory tool, for what lies below `notes/`.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::Value;

use crate::memory::MemoryPath;
use crate::memory::NOTES;
use crate::memory::Origin;
use crate::memory::Store;
use crate::memory::ToolUse;
use crate::message::ToolCall;
use crate::message::ToolResult;
use crate::tools::Tools;
use crate::tools::artifacts::Artifacts;
use crate::tools::definitions;
use crate::tools::definitions::Declared;
use crate::tools::input::ToolError;
use crate::tools::input::tell;
use crate::tools::memory;

/// Memory, of which only notes can be changed.
pub struct Notebook<'a> {
    store: &'a mut Store,
    /// Session, feature and project commit of what is written.
    origin: Origin,
    artifacts: Artifacts,
    declared: Declared,
    changed: BTreeSet<String>,
}

impl<'a> Notebook<'a> {
    /// Lays the tool out.
    pub fn new(store: &'a mut Store, origin: Origin, artifacts: Artifacts, declared: Declared) -> Self {
        Self { store, origin, artifacts, declared, changed: BTreeSet::new() }
    }

    /// Returns the notes that were written, changed or removed.
    pub fn changed(&self) -> &BTreeSet<String> {
        &self.changed
    }

    fn answer(&mut self, call: &ToolCall, turn: u32) -> Result<ToolResult, ToolError> {
        if call.name != "memory" {
            return Err(tell(format!("there is no tool `{}`; there is `memory`", call.name)));
        }
        let paths = written(&call.input)?;
        let tool_use = Some(ToolUse { id: call.id.clone(), turn });
        let result = memory::call(self.store, &Origin { tool_use, ..self.origin.clone() }, &call.input)?;
        if !result.is_error {
            self.changed.extend(paths);
        }
        Ok(result)
    }
}

impl Tools for Notebook<'_> {
    fn definitions(&self) -> Vec<Value> {
        vec![definitions::memory_tool(self.declared)]
    }

    fn call(&mut self, call: &ToolCall, turn: u32) -> Result<ToolResult> {
        match self.answer(call, turn) {
            Ok(result) => Ok(result),
            Err(ToolError::TellModel(text)) => Ok(ToolResult::error(text)),
            Err(ToolError::Fatal(error)) => Err(error),
        }
    }

    fn artifacts(&self) -> &Artifacts {
        &self.artifacts
    }
}

/// Returns the paths that a call writes to; one outside of the notes is refused.
fn written(input: &Value) -> Result<Vec<String>, ToolError> {
    if input["command"] == "view" {
        return Ok(Vec::new());
    }
    let named = ["path", "old_path", "new_path"].iter().filter_map(|key| input[*key].as_str());
    named.map(below_notes).collect()
}

fn below_notes(path: &str) -> Result<String, ToolError> {
    let within = MemoryPath::parse(path).ok().map(|path| path.as_str().to_owned());
    let within = within.filter(|path| path.strip_prefix(NOTES).is_some_and(|rest| rest.starts_with('/')));
    within.ok_or_else(|| {
        tell(format!("Error: only notes are yours, and `{path}` is none: use a path below /memories/{NOTES}/"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tools::Tools;
    use crate::tools::bench::Bench;
    use crate::tools::bench::call;

    const NOTE: &str = "---\nname: db\ndescription: the port\ntype: project\n---\n5433\n";

    #[test]
    fn notes_are_written_as_the_agent_and_known_afterwards() {
        let mut bench = Bench::new();
        let mut book = bench.notebook();
        assert_eq!(book.definitions(), [json!({"type": "memory_20250818", "name": "memory"})]);
        for input in [
            json!({"command": "create", "path": "/memories/notes/a.md", "file_text": NOTE}),
            json!({"command": "rename", "old_path": "/memories/notes/a.md", "new_path": "/memories/notes/db.md"}),
            json!({"command": "view", "path": "/memories/progress.md"}),
        ] {
            let result = book.call(&call("memory", input), 1).unwrap();
            assert!(!result.is_error, "{result:?}");
        }
        assert_eq!(Vec::from_iter(book.changed()), ["notes/a.md", "notes/db.md"]);
        assert_eq!(
            bench.log(2),
            ["agent: memory: rename notes/a.md to notes/db.md", "agent: memory: create notes/a.md"]
        );
    }

    #[test]
    fn nothing_but_notes_can_be_changed() {
        let mut bench = Bench::new();
        let before = bench.log(9);
        let mut book = bench.notebook();
        for input in [
            json!({"command": "create", "path": "/memories/scratch.md", "file_text": "x"}),
            json!({"command": "insert", "path": "/memories/progress.md", "insert_line": 1, "insert_text": "x"}),
            json!({"command": "create", "path": "/memories/notes/../scratch.md", "file_text": NOTE}),
            json!({"command": "create", "path": "/memories/notesx/a.md", "file_text": NOTE}),
            json!({"command": "delete", "path": "/memories/notes"}),
            json!({"command": "rename", "old_path": "/memories/progress.md", "new_path": "/memories/notes/p.md"}),
        ] {
            let result = book.call(&call("memory", input.clone()), 1).unwrap();
            assert!(
                result.is_error && result.as_text().contains("use a path below /memories/notes/"),
                "{input} {result:?}"
            );
        }
        assert!(book.call(&call("bash", json!({"command": "ls"})), 1).unwrap().is_error);
        let bare = json!({"command": "create", "path": "/memories/notes/a.md", "file_text": "no head"});
        assert!(book.call(&call("memory", bare), 1).unwrap().is_error, "the form of notes binds here too");
        assert!(book.changed().is_empty());
        assert_eq!(bench.log(9), before);
    }
}
