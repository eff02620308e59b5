//! The agent's `check` tool beside the gate that decides: the same answer, and nothing marked.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::support;
use longhaul::checklist::Checklist;
use longhaul::clock::Clock;
use longhaul::gate::CheckFiles;
use longhaul::gate::Gate;
use longhaul::gate::Reading;
use longhaul::memory::Author;
use longhaul::memory::Caps;
use longhaul::memory::Change;
use longhaul::memory::Origin;
use longhaul::memory::Place;
use longhaul::memory::Policy;
use longhaul::memory::Store;
use longhaul::message::ToolCall;
use longhaul::process::Interrupt;
use longhaul::project::Project;
use longhaul::sandbox::Sandbox;
use longhaul::tools::Artifacts;
use longhaul::tools::Kind;
use longhaul::tools::Limits;
use longhaul::tools::Toolbox;
use longhaul::tools::Tools;
use longhaul::tools::Workplace;
use serde_json::Value;
use serde_json::json;

/// A project with one feature, whose check and init script lie where they should.
struct Session {
    project: support::Project,
}

impl Session {
    fn new() -> Self {
        let project = support::Project::unborn();
        project.write("init.sh", "sleep 300 >/dev/null 2>&1 &\necho up\n");
        Self { project }
    }

    /// How the gate runs checks here.
    fn settings(&self, environment: &BTreeMap<String, String>) -> longhaul::gate::Settings {
        longhaul::gate::Settings {
            sandbox: longhaul::sandbox::Settings::plain(),
            idle: None,
            timeout: Duration::from_secs(20),
            grace: Duration::from_millis(200),
            keep: 10_000,
            environment: environment.clone(),
            scratch: self.project.home(),
            tool_home: None,
            checkout: longhaul::gate::Checkout::Auto,
            prepare: String::new(),
            strict: false,
            soft_closure: Vec::new(),
            secrets: longhaul::secrets::Scanner::default(),
        }
    }

    /// Plays calls of tools in one session and returns what each told, and the checklist afterwards.
    fn play(&self, calls: &[(&str, Value)]) -> (Vec<String>, String) {
        let environment: BTreeMap<String, String> = self.project.environment().into_iter().collect();
        let project = Project::discover(&self.project.root(), environment.clone()).unwrap();
        let mut checklist = Checklist::empty();
        let check = json!({"run": "sh \"$LONGHAUL_CHECKS/login.sh\"", "setup": "init"});
        checklist.add(&json!({"id": "login", "title": "A user can log in", "check": check}), "test").unwrap();
        let script = b"echo looking; test -f login\n".to_vec();
        let files = CheckFiles::new(vec![("login.sh".to_owned(), script.clone())]);
        let interrupt = Interrupt::new();
        let gate = self.settings(&environment);
        let gate = Gate {
            project: &project,
            settings: &gate,
            interrupt: &interrupt,
            files,
            init_script: Some(longhaul::tools::init_command("init.sh", longhaul::tools::Phase::Start)),
            install_script: None,
            init_path: None,
            reuse: longhaul::gate::Reuse::Alike,
            artifacts: self.project.home().join("artifacts"),
            left_out: Vec::new(),
            before: longhaul::project::Marks::new(),
            session: Some(3),
            deadline: None,
            clock: Clock::system(),
        };
        let mut feature = checklist.get("login").unwrap().clone();
        let pins =
            longhaul::gate::closure(&project, feature.check.as_ref().unwrap(), &gate.files, Reading::All).unwrap();
        feature.check.as_mut().unwrap().pins = pins.into_iter().map(|file| (file.path, file.id)).collect();

        let place = Place::in_project(project.root(), project.common_dir());
        fs::create_dir_all(&place.state).unwrap();
        let mut memory = Store::create(&place, Policy::Project, Caps::default(), Clock::system()).unwrap();
        let origin = Origin::of(Author::Longhaul);
        let seeds = [Change::put("features.json", checklist.render()), Change::put("checks/login.sh", script)];
        memory.write("init: checklist", &seeds, &origin).unwrap();
        let sandbox = Sandbox::plain(project.common_dir(), &interrupt);
        let workplace = Workplace {
            root: project.root().to_owned(),
            memory: &mut memory,
            sandbox: &sandbox,
            ways: longhaul::sandbox::Ways::default(),
            desk: self.project.home().to_owned(),
            origin,
            environment: environment.clone(),
            artifacts: Artifacts::new(&self.project.home().join("artifacts"), &longhaul::secrets::Secrets::default()),
            limits: Limits::default(),
            head_tree: String::new(),
            declared: longhaul::tools::Declared::Typed,
            init_script: Some("init.sh".to_owned()),
        };
        let mut toolbox = Toolbox::new(workplace, Kind::Work { feature, gate }).unwrap();
        let call = |(name, input): &(&str, Value)| {
            let call = ToolCall { id: "toolu_1".to_owned(), name: (*name).to_owned(), input: input.clone() };
            toolbox.call(&call, 1).unwrap().as_text()
        };
        let told = calls.iter().map(call).collect();
        drop(toolbox);
        (told, String::from_utf8(memory.read("features.json").unwrap().unwrap()).unwrap())
    }
}

#[test]
fn the_check_tool_answers_as_the_gate_does_and_marks_nothing() {
    let session = Session::new();
    let (told, checklist) = session.play(&[
        ("check", json!({})),
        ("bash", json!({"command": "touch login"})),
        ("check", json!({})),
        ("checklist", json!({"action": "show", "id": "login"})),
    ]);
    assert!(told[0].starts_with("failed: exit code 1 after "), "{}", told[0]);
    assert!(told[0].contains("\nits output:\nlooking\n[this run marks nothing"), "{}", told[0]);
    assert!(told[2].starts_with("passed"), "{}", told[2]);
    assert!(told[3].starts_with("login · open · A user can log in\n"), "{}", told[3]);
    assert!(checklist.contains("\"passes\": false") && !checklist.contains("\"passes\": true"), "{checklist}");
}

#[test]
fn the_check_tool_ends_background_jobs_first_and_says_so() {
    let (told, _) = Session::new().play(&[
        ("setup", json!({})),
        ("bash", json!({"command": "sleep 300 & echo started"})),
        ("check", json!({})),
        ("check", json!({})),
    ]);
    assert!(told[0].ends_with("it printed:\nup"), "{}", told[0]);
    let first = "as the gate does; `setup` starts servers again]";
    assert!(told[2].contains(first), "{}", told[2]);
    assert!(!told[3].contains("ended in the background"), "{}", told[3]);
}

#[test]
fn the_check_tool_takes_no_fields() {
    let (told, _) = Session::new().play(&[("check", json!({"feature": "other"}))]);
    assert_eq!(told[0], "unknown field `feature`: this tool takes no fields");
}
