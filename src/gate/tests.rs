//! Each protection of the gate has a twin: the same run without what it guards against, which passes.

mod closure;
mod proving;
mod running;
mod sweeping;

use super::*;
use crate::process::Command;
use crate::process::Exit;
use crate::process::run;
use crate::sandbox;
use serde_json::json;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A project with commits, and all that a gate needs around it.
struct Bench {
    folder: TempDir,
    project: Project,
    settings: Settings,
    interrupt: Interrupt,
    files: CheckFiles,
    init_script: Option<String>,
    red: Red,
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
            timeout: Duration::from_secs(20),
            idle: None,
            grace: Duration::from_millis(200),
            keep: 1000,
            environment,
            scratch: folder.path().to_owned(),
            tool_home: None,
        };
        let red = Red { commit: String::new(), verdict: "failed".to_owned(), check: String::new() };
        let interrupt = Interrupt::new();
        let mut bench =
            Self { folder, project, settings, interrupt, files: CheckFiles::default(), init_script: None, red };
        bench.write("src/product.txt", "before\n");
        bench.red.commit = bench.commit();
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
            artifacts: self.folder.path().join("artifacts"),
            left_out: Vec::new(),
            session: Some(7),
            clock: Clock::fixed("2026-11-29T14:03:00Z".parse().unwrap()),
        }
    }

    /// Pins the check to what lies there now.
    fn approve(&self, mut check: Check) -> Check {
        let files = self.gate().closure(&check).unwrap();
        check.pins = files.into_iter().map(|file| (file.path, file.id)).collect();
        check
    }

    fn approved(&self, run: &str) -> Check {
        self.approve(Check::command(run))
    }

    /// Judges with a red of this very check on the first commit.
    fn judge(&self, check: &Check) -> Verdict {
        let red = Red { check: check.digest(), ..self.red.clone() };
        self.gate().judge("login", check, Some(&red), &|_| Some(b"old\n".to_vec())).unwrap()
    }

    fn finding(&self, check: &Check) -> Finding {
        self.judge(check).finding()
    }
}
