//! What each tool call of the agent does.
//!
//! Decides what a call means, what it may touch and what the agent is told. How the calls come and where the results
//! go is the driver's; what a session's end means is the engine's.

mod artifacts;
mod bash;
#[cfg(test)]
pub(crate) mod bench;
mod check;
mod checklist;
mod definitions;
mod edit;
mod findings;
mod hand_over;
mod initializer;
mod input;
mod memory;
mod notebook;
mod set;
mod setup;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
use anyhow::anyhow;
use serde_json::Value;

pub use artifacts::Artifacts;
pub use bash::Limits;
pub use checklist::line;
pub use definitions::Declared;
pub use edit::TORN;
pub use edit::answer as edit;
pub use hand_over::HandOver;
pub use initializer::FEATURES_A_CALL;
pub use initializer::InitText;
pub use initializer::missing;
pub use notebook::Notebook;
pub use set::Tools;
pub use setup::InitRun;
pub use setup::Phase;
pub use setup::init_command;
pub use setup::run_init;

use bash::Shell;
use input::ToolError;
use input::tell;

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::gate::Gate;
use crate::memory::Author;
use crate::memory::CHECKLIST;
use crate::memory::Origin;
use crate::memory::PINNED;
use crate::memory::Store;
use crate::memory::ToolUse;
use crate::message::ToolCall;
use crate::message::ToolResult;
use crate::sandbox::Sandbox;
use crate::sandbox::Ways;

/// What the tools of one session work on.
pub struct Workplace<'a> {
    /// The project's folder.
    pub root: PathBuf,
    pub memory: &'a mut Store,
    /// Where the agent's commands run.
    pub sandbox: &'a Sandbox,
    /// A folder of the shell's own, outside the project, that commands can write into.
    pub desk: PathBuf,
    /// Folders that are entered after each command.
    pub ways: Ways,
    /// Session, feature and project commit of what is written.
    pub origin: Origin,
    /// The whole environment of the agent's commands.
    pub environment: BTreeMap<String, String>,
    /// For texts too large for the context, and for files found where they should not be.
    pub artifacts: Artifacts,
    pub limits: Limits,
    /// The tree at the session's start, with which proofs are compared.
    pub head_tree: String,
    /// The init script memory names, inside the project.
    pub init_script: Option<String>,
    pub declared: Declared,
}

/// Which tools there are beside the shared ones.
#[expect(clippy::large_enum_variant, reason = "there is one a session")]
pub enum Kind<'a> {
    /// A session on one feature; the gate runs its check.
    Work { feature: Feature, gate: Gate<'a> },
    /// A session that makes the checklist.
    Initializer { init_text: InitText },
}

/// The tools of one session.
pub struct Toolbox<'a> {
    place: Workplace<'a>,
    kind: Kind<'a>,
    shell: Shell<'a>,
    /// Device and number of the project's folder: another one in its place is not the project.
    identity: (u64, u64),
    handed_over: Option<HandOver>,
    /// The agent was told once what is missing; a second hand-over counts.
    told_missing: bool,
    tampered: bool,
}

impl<'a> Toolbox<'a> {
    /// Lays the tools out.
    pub fn new(place: Workplace<'a>, kind: Kind<'a>) -> Result<Self> {
        let identity = identity(&place.root)
            .with_context(|| format!("the project's folder `{}` is not there", place.root.display()))?;
        let shell = Shell::new(
            place.sandbox,
            &place.root,
            place.environment.clone(),
            place.limits.clone(),
            &place.artifacts,
            &place.desk,
        );
        Ok(Self { place, kind, shell, identity, handed_over: None, told_missing: false, tampered: false })
    }

    /// Returns the memory they work on.
    pub fn memory(&self) -> &Store {
        self.place.memory
    }

    /// Tells whether the session changed protected files, so that it cannot prove a feature.
    pub fn tampered(&self) -> bool {
        self.tampered
    }

    /// Cuts what no tool has cut itself.
    fn fitted(&self, mut result: ToolResult) -> Result<ToolResult> {
        if let Value::String(text) = &result.content {
            let shown = self.place.artifacts.show(text, self.place.limits.shown)?;
            result.content = Value::String(shown.joined());
        }
        Ok(result)
    }

    fn dispatch(&mut self, call: &ToolCall, turn: u32) -> Result<ToolResult, ToolError> {
        let place = &mut self.place;
        let tool_use = Some(ToolUse { id: call.id.clone(), turn });
        let origin = Origin { tool_use, ..place.origin.clone() };
        let input = &call.input;
        match (call.name.as_str(), &self.kind) {
            ("memory", _) => memory::call(place.memory, &origin, input),
            ("str_replace_based_edit_tool", _) => edit::call_in(place.sandbox, &place.root, input),
            ("checklist", _) => checklist::call(&read_checklist(place.memory)?, &place.head_tree, input),
            ("bash", _) => {
                let result = self.shell.call(input)?;
                self.inspected(result, &origin)
            }
            ("setup", _) => {
                let script = place.init_script.as_deref();
                let artifacts = &place.artifacts;
                let result = setup::call(
                    place.sandbox,
                    &place.root,
                    script,
                    &place.environment,
                    &place.limits,
                    artifacts,
                    input,
                )?;
                self.inspected(result, &origin)
            }
            ("check", Kind::Work { feature, gate }) => {
                let memory = &*place.memory;
                let pinned = |id: &str| memory.read(&format!("{PINNED}{id}")).ok().flatten();
                let result = check::call(gate, feature, &mut self.shell, &pinned, &place.artifacts, input)?;
                self.inspected(result, &origin)
            }
            ("add_features" | "add_check_file" | "set_check" | "set_init", Kind::Initializer { .. })
                if let Some(told) = place.memory.secret_in(&input.to_string()) =>
            {
                Err(tell(format!("nothing is written: {told}; write where it is kept, and leave it out")))
            }
            ("add_features", Kind::Initializer { .. }) => initializer::add_features(place.memory, &origin, input),
            ("add_check_file", Kind::Initializer { .. }) => initializer::add_check_file(place.memory, &origin, input),
            ("set_check", Kind::Initializer { .. }) => initializer::set_check(place.memory, &origin, input),
            ("set_init", Kind::Initializer { init_text }) => {
                let (result, path) = initializer::set_init(place.memory, &origin, &place.root, *init_text, input)?;
                place.init_script = Some(path);
                Ok(result)
            }
            ("hand_over", _) => self.hand_over(input),
            (name, _) => Err(tell(format!("there is no tool `{name}`; there are {}", self.names().join(", ")))),
        }
    }

    fn hand_over(&mut self, input: &Value) -> Result<ToolResult, ToolError> {
        let hand_over = HandOver::read(input)?;
        if matches!(self.kind, Kind::Initializer { .. }) && !self.told_missing {
            let checklist = read_checklist(self.place.memory)?;
            let missing = initializer::missing(&checklist, &self.place.root, self.place.init_script.as_deref(), false);
            if !missing.is_empty() {
                self.told_missing = true;
                return Err(tell(format!(
                    "not yet: {}; call `hand_over` again if it must stay so",
                    missing.join("; ")
                )));
            }
        }
        if let (Kind::Initializer { init_text }, None) = (&self.kind, &self.place.init_script) {
            initializer::settle_without_init(self.place.memory, &self.place.origin, *init_text)?;
        }
        self.handed_over = Some(hand_over.map(|text| self.place.memory.without_secrets(text)));
        Ok(ToolResult::text("the session ends here"))
    }

    /// Compares the view of memory with what is committed, since a command may have changed it, and tells what it
    /// found.
    fn inspected(&mut self, mut result: ToolResult, origin: &Origin) -> Result<ToolResult, ToolError> {
        // Memory lies inside the project: looking at it now would make an empty one.
        if !self.project_is_there() {
            return Err(ToolError::Fatal(anyhow!("the project's folder `{}` is gone", self.place.root.display())));
        }
        let opened = reopened(&self.place.ways);
        let origin = Origin { author: Author::External, ..origin.clone() };
        let findings = self.place.memory.inspect(&origin, self.place.artifacts.folder())?;
        self.tampered |= findings.tampered();
        for told in opened.into_iter().chain(findings::told(&findings)) {
            result.content = Value::String(format!("{}\n{told}", result.as_text().trim_end_matches('\n')));
        }
        Ok(result)
    }

    fn names(&self) -> Vec<String> {
        let definitions = self.definitions();
        definitions.iter().filter_map(|tool| tool["name"].as_str()).map(|name| format!("`{name}`")).collect()
    }
}

/// Opens again what a command shut longhaul out of, and says so.
fn reopened(ways: &Ways) -> Option<String> {
    let names: Vec<String> = ways.reopen().iter().map(|folder| format!("`{}`", folder.display())).collect();
    (!names.is_empty())
        .then(|| format!("[{} could not be entered any more: opened again for its owner]", names.join(", ")))
}

impl Tools for Toolbox<'_> {
    fn definitions(&self) -> Vec<Value> {
        let own = match self.kind {
            Kind::Work { .. } => definitions::work(),
            Kind::Initializer { .. } => definitions::initializer(),
        };
        [definitions::shared(self.place.declared), own].concat()
    }

    fn call(&mut self, call: &ToolCall, turn: u32) -> Result<ToolResult> {
        match self.dispatch(call, turn) {
            Ok(result) => self.fitted(result),
            Err(ToolError::TellModel(text)) => self.fitted(ToolResult::error(text)),
            Err(ToolError::Fatal(error)) => Err(error),
        }
    }

    fn handed_over(&self) -> Option<&HandOver> {
        self.handed_over.as_ref()
    }

    fn artifacts(&self) -> &Artifacts {
        &self.place.artifacts
    }

    fn project_is_there(&self) -> bool {
        identity(&self.place.root).is_some_and(|now| now == self.identity)
    }

    fn files(&self) -> Option<String> {
        match &self.kind {
            Kind::Work { gate, .. } => gate.project.snapshot(&gate.before).ok(),
            Kind::Initializer { .. } => None,
        }
    }
}

fn identity(folder: &Path) -> Option<(u64, u64)> {
    let metadata = folder.metadata().ok().filter(|metadata| metadata.is_dir())?;
    Some((metadata.dev(), metadata.ino()))
}

/// Reads the committed checklist; one that cannot be read is nobody's to write over.
fn read_checklist(memory: &Store) -> Result<Checklist, ToolError> {
    let bytes = memory.read(CHECKLIST)?.unwrap_or_default();
    if bytes.is_empty() {
        return Ok(Checklist::empty());
    }
    Checklist::read(&bytes)
        .map_err(|problem| tell(format!("the checklist cannot be read: {problem}; hand over and say so")))
}
