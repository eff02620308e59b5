//! What the gate costs: the same check run by it and run bare, in turns, in one go. `cargo bench --bench gate`.
//!
//! The project has 300 tracked files, since looking at them before and after is most of what the gate does. The memory
//! commit that records a verdict is not in it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, and fails by panicking")]

use longhaul::clock::Clock;
use longhaul::gate::Check;
use longhaul::gate::CheckFiles;
use longhaul::gate::Checkout;
use longhaul::gate::Finding;
use longhaul::gate::Gate;
use longhaul::gate::Known;
use longhaul::gate::Red;
use longhaul::gate::Reuse;
use longhaul::gate::Settings;
use longhaul::process::Interrupt;
use longhaul::project::Marks;
use longhaul::project::Project;
use longhaul::sandbox;
use longhaul::sandbox::Choice;
use longhaul::sandbox::Level;
use longhaul::sandbox::Mode;
use longhaul::sandbox::Reach;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::time::Instant;
use tempfile::TempDir;

/// Tracked files of the project, of two kilobytes each.
const FILES: usize = 300;
/// Times that each way runs the check, beside a first one that is not counted.
const ROUNDS: usize = 21;
const CHECK: &str = "sleep 0.1";
/// What the gate may take, in times of the bare check.
const BAR: f64 = 1.5;

/// A project with a commit on which the check is known to be red, and one to judge.
struct Stand {
    folder: TempDir,
    project: Project,
    environment: BTreeMap<String, String>,
    interrupt: Interrupt,
    red: String,
}

impl Stand {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        fs::create_dir_all(root.join("src")).unwrap();
        for number in 0..FILES {
            fs::write(root.join(format!("src/{number}.txt")), "a line of some file\n".repeat(100)).unwrap();
        }
        let outer: BTreeMap<String, String> = std::env::vars().collect();
        let environment = sandbox::environment(&outer, &[], &[]);
        let mut for_git = environment.clone();
        for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")] {
            for_git.insert(name.to_owned(), value.to_owned());
        }
        git(&root, &for_git, &["init", "-q", "-b", "main"]);
        let red = commit(&root, &for_git);
        fs::write(root.join("src/0.txt"), "the work of a session\n").unwrap();
        commit(&root, &for_git);
        let project = Project::discover(&root, for_git).unwrap();
        Self { folder, project, environment, interrupt: Interrupt::new(), red }
    }

    fn settings(&self, sandbox: &sandbox::Settings, checkout: Checkout) -> Settings {
        Settings {
            timeout: Duration::from_secs(20),
            idle: None,
            grace: Duration::from_secs(1),
            keep: 16_000,
            environment: self.environment.clone(),
            sandbox: sandbox.clone(),
            scratch: self.folder.path().to_owned(),
            tool_home: None,
            checkout,
            prepare: String::new(),
            strict: false,
            soft_closure: Vec::new(),
            secrets: longhaul::secrets::Scanner::default(),
        }
    }

    fn judge(&self, settings: &Settings) {
        let gate = Gate {
            project: &self.project,
            settings,
            interrupt: &self.interrupt,
            files: CheckFiles::default(),
            init_script: None,
            install_script: None,
            init_path: None,
            reuse: Reuse::Alike,
            artifacts: self.folder.path().join("artifacts"),
            left_out: Vec::new(),
            before: Marks::new(),
            session: None,
            deadline: None,
            clock: Clock::system(),
        };
        let check = Check::command(CHECK);
        let red = Red {
            commit: self.red.clone(),
            verdict: "failed".to_owned(),
            check: check.digest(),
            unprepared: false,
            skips: None,
            ended: None,
            chose_none: false,
        };
        let known = Known { red: Some(red), ..Known::default() };
        let verdict = gate.judge("bench", &check, &known, &|_| None).unwrap();
        assert_eq!(verdict.finding(), Finding::Passed, "{verdict:?}");
    }

    /// Runs a program in the project with the environment of a check.
    fn bare(&self, program: &str, args: &[&str]) {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.project.root()).env_clear().envs(&self.environment);
        assert!(command.status().unwrap().success());
    }

    /// Runs the check in a sandbox that nobody supervises.
    fn bare_sandbox(&self, bwrap: &str) {
        let root = self.project.root().to_str().unwrap();
        let machine =
            "--unshare-all --die-with-parent --new-session --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp";
        let project = ["--bind", root, root, "--chdir", root, "sh", "-c", CHECK];
        let args: Vec<&str> = machine.split(' ').chain(project).collect();
        self.bare(bwrap, &args);
    }
}

/// The sandbox of the command line; none where this machine has no bubblewrap.
fn bubblewrap() -> Option<sandbox::Settings> {
    let outer: BTreeMap<String, String> = std::env::vars().collect();
    let Ok(Choice::Bubblewrap(tried)) = sandbox::choose(Mode::Auto, &outer) else { return None };
    Some(sandbox::Settings {
        level: Level::Bubblewrap,
        reach: Reach::Setup,
        bwrap: tried.program,
        supervisor: vec![env!("CARGO_BIN_EXE_longhaul").into(), "supervise".into()],
        cgroups: sandbox::cgroups().ok(),
        read: Vec::new(),
        home: outer.get("HOME").map(Into::into),
        path: outer.get("PATH").cloned().unwrap_or_default(),
    })
}

fn git(root: &Path, environment: &BTreeMap<String, String>, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let output = Command::new("git").args(identity).args(args).current_dir(root).env_clear().envs(environment).output();
    let output = output.unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn commit(root: &Path, environment: &BTreeMap<String, String>) -> String {
    git(root, environment, &["add", "-A"]);
    git(root, environment, &["commit", "-qm", "work"]);
    git(root, environment, &["rev-parse", "HEAD"])
}

/// A way to run the check, and how long it took each time.
struct Contestant<'a> {
    name: &'static str,
    run: Box<dyn Fn() + 'a>,
    took: Vec<Duration>,
}

impl<'a> Contestant<'a> {
    fn new(name: &'static str, run: impl Fn() + 'a) -> Self {
        Self { name, run: Box::new(run), took: Vec::new() }
    }

    /// Returns the median and the fastest, in milliseconds.
    fn times(&self) -> (f64, f64) {
        let mut sorted = self.took.clone();
        sorted.sort();
        let at = |index: usize| sorted[index].as_secs_f64() * 1000.0;
        (at(sorted.len() / 2), at(0))
    }
}

/// Runs all of them in turns; the first time of each is not counted.
fn measure(contestants: &mut [Contestant]) {
    for round in 0..=ROUNDS {
        for contestant in contestants.iter_mut() {
            let start = Instant::now();
            (contestant.run)();
            if round > 0 {
                contestant.took.push(start.elapsed());
            }
        }
    }
}

/// Runs these in turns and prints how each compares with the first of them.
fn compare(title: &str, mut contestants: Vec<Contestant>) {
    measure(&mut contestants);
    println!("{title}");
    let (bare, bare_fastest) = contestants[0].times();
    for contestant in &contestants {
        let (median, fastest) = contestant.times();
        let verdict = if median / bare <= BAR { "" } else { "  more than the bar" };
        println!(
            "  {:32} {median:7.1} ms {:6.2} times   fastest {fastest:7.1} ms {:6.2} times{verdict}",
            contestant.name,
            median / bare,
            fastest / bare_fastest,
        );
    }
}

fn main() {
    let stand = Stand::new();
    println!("check `{CHECK}`, {FILES} tracked files, medians of {ROUNDS}; the bar is {BAR} times the first line");
    let plain = sandbox::Settings::plain();
    let [in_place, clean] = [Checkout::InPlace, Checkout::Clean].map(|checkout| stand.settings(&plain, checkout));
    compare(
        "plain mode",
        vec![
            Contestant::new("the check alone, by `sh`", || stand.bare("sh", &["-c", CHECK])),
            Contestant::new("the gate, in place", || stand.judge(&in_place)),
            Contestant::new("the gate, clean checkout", || stand.judge(&clean)),
        ],
    );
    let Some(sandbox) = bubblewrap() else {
        println!("skipped: bubblewrap cannot be had here");
        return;
    };
    let [in_place, clean] = [Checkout::InPlace, Checkout::Clean].map(|checkout| stand.settings(&sandbox, checkout));
    let bwrap = sandbox.bwrap.display().to_string();
    compare(
        "bubblewrap",
        vec![
            Contestant::new("the check alone, by bare `bwrap`", || stand.bare_sandbox(&bwrap)),
            Contestant::new("the gate, in place", || stand.judge(&in_place)),
            Contestant::new("the gate, clean checkout", || stand.judge(&clean)),
        ],
    );
}
