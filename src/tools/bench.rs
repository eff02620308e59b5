//! A project with a memory, and the tools on it, for the tests of this part and of the driver.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::checklist::Checklist;
use crate::clock::Clock;
use crate::memory::Author;
use crate::memory::Caps;
use crate::memory::Change;
use crate::memory::Filter;
use crate::memory::Origin;
use crate::memory::Place;
use crate::memory::Policy;
use crate::memory::Store;
use crate::message::ToolCall;
use crate::message::ToolResult;
use crate::process::Interrupt;
use crate::sandbox::Sandbox;
use crate::secrets::Secrets;
use crate::tools::Artifacts;
use crate::tools::Declared;
use crate::tools::Kind;
use crate::tools::Limits;
use crate::tools::Notebook;
use crate::tools::Toolbox;
use crate::tools::Tools;
use crate::tools::Workplace;

pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) interrupt: Interrupt,
    sandbox: Sandbox,
    memory: Store,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join(".git")).unwrap();
        let place = Place::in_project(&root, &root.join(".git"));
        fs::create_dir_all(&place.state).unwrap();
        let mut memory = Store::create(&place, Policy::Project, Caps::default(), Clock::system()).unwrap();
        let checklist = "{\"version\": 1, \"features\": []}\n";
        let seeds = [Change::put("features.json", checklist), Change::put("progress.md", "# Progress\n")];
        memory.write("init: seeds", &seeds, &Origin::of(Author::Longhaul)).unwrap();
        let interrupt = Interrupt::new();
        Self { folder, sandbox: Sandbox::plain(&root, &interrupt), interrupt, memory }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project")
    }

    pub(crate) fn file(&self, path: &str, text: &str) {
        fs::write(self.root().join(path), text).unwrap();
    }

    pub(crate) fn memory(&self, path: &str) -> Option<String> {
        self.memory.read(path).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
    }

    /// Ends the drafts, as the end of an initializer session does.
    pub(crate) fn freeze(&mut self) {
        let mut checklist = Checklist::parse(&self.memory("features.json").unwrap()).unwrap();
        checklist.freeze().unwrap();
        let change = Change::put("features.json", checklist.render());
        self.memory.write("checklist: freeze", &[change], &Origin::of(Author::Longhaul)).unwrap();
    }

    /// Returns author and subject of the newest commits of memory, newest first.
    pub(crate) fn log(&self, count: usize) -> Vec<String> {
        let entries = self.memory.history(&Filter::default()).unwrap();
        entries.iter().take(count).map(|entry| format!("{}: {}", entry.author, entry.subject)).collect()
    }

    /// Returns the tools of an initializer session.
    pub(crate) fn toolbox(&mut self) -> Toolbox<'_> {
        let init_text = |path: Option<&str>, starts: &str, ready: &str| {
            Ok(format!("{}\n{starts}\n{ready}\n", path.unwrap_or("none")))
        };
        self.toolbox_of(Kind::Initializer { init_text })
    }

    /// Returns the tools of whoever writes notes after a session.
    pub(crate) fn notebook(&mut self) -> Notebook<'_> {
        let artifacts = Artifacts::new(&self.folder.path().join("artifacts"), &Secrets::default());
        let origin = Origin { session: Some(3), ..Origin::of(Author::Longhaul) };
        Notebook::new(&mut self.memory, origin, artifacts, Declared::Typed)
    }

    fn toolbox_of<'a>(&'a mut self, kind: Kind<'a>) -> Toolbox<'a> {
        let (root, outside) = (self.root(), self.folder.path().to_owned());
        let origin = Origin { session: Some(3), ..Origin::of(Author::Longhaul) };
        let place = Workplace {
            root,
            memory: &mut self.memory,
            sandbox: &self.sandbox,
            ways: Default::default(),
            desk: outside.clone(),
            origin,
            environment: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]),
            artifacts: Artifacts::new(&outside.join("artifacts"), &Secrets::default()),
            limits: Limits { grace: Duration::from_millis(200), ..Limits::default() },
            head_tree: String::new(),
            declared: Declared::Typed,
            init_script: None,
        };
        Toolbox::new(place, kind).unwrap()
    }

    /// Runs one call with fresh tools.
    pub(crate) fn call(&mut self, name: &str, input: Value) -> ToolResult {
        self.toolbox().call(&call(name, input), 1).unwrap()
    }

    /// Runs one call and returns what it told the model as an error.
    pub(crate) fn refused(&mut self, name: &str, input: Value) -> String {
        let result = self.call(name, input);
        assert!(result.is_error, "{result:?}");
        result.as_text()
    }
}

pub(crate) fn call(name: &str, input: Value) -> ToolCall {
    ToolCall { id: "toolu_1".to_owned(), name: name.to_owned(), input }
}
