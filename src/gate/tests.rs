//! Each protection of the gate has a twin: the same run without what it guards against, which passes.

mod checkout;
mod closure;
mod disclosed;
mod forged;
mod git;
mod overlay;
mod prepared;
mod proving;
mod running;
mod soft;
mod sweeping;

use super::*;
use crate::process::Command;
use crate::process::Exit;
use crate::process::run;
use crate::sandbox;
use serde_json::json;
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

/// A project with commits, and all that a gate needs around it.
struct Bench {
    folder: TempDir,
    project: Project,
    settings: Settings,
    interrupt: Interrupt,
    files: CheckFiles,
    init_script: Option<String>,
    install_script: Option<String>,
    reuse: Reuse,
    deadline: Option<Instant>,
    red: Red,
    /// The bytes that were pinned, as memory keeps them.
    pinned: RefCell<BTreeMap<String, Vec<u8>>>,
}

impl Bench {
    /// Starts with one commit, on which everything is recorded as red.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, home) = (folder.path().join("project"), folder.path().join("home"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&home).unwrap();
        let mut outer: BTreeMap<String, String> = std::env::vars().collect();
        outer.insert("ANTHROPIC_API_KEY".to_owned(), "sk-secret".to_owned());
        let environment = sandbox::environment(&outer, &[], &[]);
        let mut for_git = environment.clone();
        for (name, value) in
            [("HOME", home.to_str().unwrap()), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]
        {
            for_git.insert(name.to_owned(), value.to_owned());
        }
        let init = Command::new("git", &["init", "-q", "-b", "main"], &root, for_git.clone());
        assert_eq!(run(&init, &Interrupt::new()).exit, Exit::Code(0));
        let project = Project::discover(&root, for_git).unwrap();
        let settings = Settings {
            sandbox: crate::sandbox::Settings::plain(),
            timeout: Duration::from_secs(20),
            idle: None,
            grace: Duration::from_millis(200),
            keep: 1000,
            environment,
            scratch: folder.path().to_owned(),
            tool_home: None,
            checkout: Checkout::Auto,
            prepare: String::new(),
            strict: false,
            soft_closure: Vec::new(),
            secrets: Scanner::default(),
        };
        let red = Red {
            commit: String::new(),
            verdict: "failed".to_owned(),
            check: String::new(),
            unprepared: false,
            skips: None,
            ended: None,
            chose_none: false,
        };
        let interrupt = Interrupt::new();
        let (files, pinned) = (CheckFiles::default(), RefCell::default());
        let (init_script, install_script) = (None, None);
        let mut bench = Self {
            folder,
            project,
            settings,
            interrupt,
            files,
            init_script,
            install_script,
            reuse: Reuse::Alike,
            deadline: None,
            red,
            pinned,
        };
        bench.write("src/product.txt", "before\n");
        bench.red.commit = bench.commit();
        bench
    }

    /// The same with checks in the working tree.
    fn in_place() -> Self {
        let mut bench = Self::new();
        bench.settings.checkout = Checkout::InPlace;
        bench
    }

    fn root(&self) -> &Path {
        self.project.root()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, text: &str) {
        let mut env = self.settings.environment.clone();
        env.insert("HOME".to_owned(), self.folder.path().to_string_lossy().into_owned());
        env.insert("GIT_CONFIG_GLOBAL".to_owned(), "/dev/null".to_owned());
        let text = format!("git -c user.name=t -c user.email=t@localhost {text}");
        let finished = run(&Command::shell(&text, self.root(), env), &Interrupt::new());
        assert_eq!(finished.exit, Exit::Code(0), "{text}: {}", finished.output.text());
    }

    fn commit(&self) -> String {
        self.git("add -A");
        self.git("commit -qm work --allow-empty");
        self.project.head().unwrap().unwrap().commit
    }

    /// The work of a session: the product changes and is committed.
    fn work(&self) {
        self.write("src/product.txt", "after\n");
        self.commit();
    }

    fn gate(&self) -> Gate<'_> {
        Gate {
            project: &self.project,
            settings: &self.settings,
            interrupt: &self.interrupt,
            files: self.files.clone(),
            init_script: self.init_script.clone(),
            init_path: None,
            install_script: self.install_script.clone(),
            reuse: self.reuse,
            artifacts: self.folder.path().join("artifacts"),
            left_out: Vec::new(),
            before: Marks::new(),
            session: Some(7),
            deadline: self.deadline,
            clock: Clock::fixed("2026-11-29T14:03:00Z".parse().unwrap()),
        }
    }

    /// Pins the check to what lies there now.
    fn approve(&self, mut check: Check) -> Check {
        let files = closure(&self.project, &check, &self.files, Reading::All).unwrap();
        for file in files {
            check.pins.insert(file.path.clone(), file.pin());
            self.pinned.borrow_mut().extend(file.id.zip(file.bytes));
        }
        check
    }

    fn approved(&self, run: &str) -> Check {
        self.approve(Check::command(run))
    }

    /// Judges with a red of this very check on the first commit.
    fn judge(&self, check: &Check) -> Verdict {
        self.judge_knowing(check, &self.known(check))
    }

    fn known(&self, check: &Check) -> Known {
        Known { red: Some(self.red_of(check)), ..Known::default() }
    }

    fn judge_knowing(&self, check: &Check, known: &Known) -> Verdict {
        self.gate().judge("login", check, known, &|id| self.pinned.borrow().get(id).cloned()).unwrap()
    }

    fn red_of(&self, check: &Check) -> Red {
        Red { check: check.digest(), ..self.red.clone() }
    }

    fn finding(&self, check: &Check) -> Finding {
        self.judge(check).finding()
    }
}
