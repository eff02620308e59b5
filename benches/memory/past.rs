//! The newest 3 changes of a path at 100,000 commits: `longhaul log` beside `git log` with a commit-graph that knows paths.

use serde_json::Value;
use serde_json::json;
use std::fs;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

pub(crate) const COMMITS: usize = 100_000;
pub(crate) const FEATURES: usize = 500;
const ROUNDS: usize = 15;
/// Seconds of the first commit, and the number of the file that changed 3 times, in these commits.
const BEGIN: usize = 1_700_000_000;
const RARE: usize = 0;
const RARE_IN: [usize; 3] = [500, 600, 700];

/// Prints the two rows: a path that changes every 1,000 commits, and one that changed 3 times long ago.
pub(crate) fn print(project: &Path) {
    println!("\nthe newest 3 changes of a path, of {COMMITS} commits, the command from start to end, {ROUNDS} rounds");
    for (what, number) in [("changed often", 517), ("changed 3 times, long ago", RARE)] {
        let path = super::path(number);
        let (mut ours, mut gits): (Vec<_>, Vec<_>) =
            (0..ROUNDS).map(|_| (ours(project, &path), gits(project, &path))).unzip();
        let (ours, git) = (super::median(&mut ours), super::median(&mut gits));
        println!("{what:<30} longhaul {:>8.1} ms, git {:>8.1} ms: {:.2} times git", ours / 1e3, git / 1e3, ours / git);
    }
}

fn ours(project: &Path, path: &str) -> Duration {
    timed(longhaul(project).args(["log", "-n", "3", path]))
}

fn gits(project: &Path, path: &str) -> Duration {
    timed(git(&memory(project)).args(["log", "-3", "--", path]))
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().unwrap();
    let time = start.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found = String::from_utf8_lossy(&output.stdout).matches("edit area").count();
    assert_eq!(found, 3);
    time
}

fn longhaul(project: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_longhaul"));
    command.current_dir(project);
    command
}

fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    command
}

fn memory(project: &Path) -> PathBuf {
    project.join(".git/longhaul/memory.git")
}

/// Makes the project once; its history is packed, as it is between sessions.
pub(crate) fn project(target: &Path) -> PathBuf {
    let project = target.join(format!("listed-{COMMITS}-{FEATURES}"));
    let done = project.join("done");
    if done.exists() {
        return project;
    }
    fs::remove_dir_all(&project).ok();
    fs::create_dir_all(&project).unwrap();
    super::git(&project, &["init", "-q"]);
    super::git(&project, &["commit", "-q", "--allow-empty", "-m", "start"]);
    assert!(longhaul(&project).arg("init").output().unwrap().status.success());
    import(&memory(&project));
    // As in a copied project: the branch is taken as it is.
    fs::remove_file(project.join(".git/longhaul/journal")).unwrap();
    assert!(longhaul(&project).args(["log", "-n", "1"]).output().unwrap().status.success());
    list(&project);
    fs::write(done, "").unwrap();
    project
}

/// Writes until longhaul packs, which has git list the commits: a list that another made it takes away.
fn list(project: &Path) {
    let mut child =
        longhaul(project).args(["memory", "apply"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut to = BufWriter::new(child.stdin.take().unwrap());
    let path = format!("/memories/{}", super::path(1));
    for number in 0..1200 {
        let call = json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": number.to_string()});
        writeln!(to, "{call}").unwrap();
    }
    to.into_inner().unwrap();
    assert!(child.wait().unwrap().success());
    assert!(memory(project).join("objects/info/commit-graphs/commit-graph-chain").exists());
}

/// Returns a checklist without a feature that is done.
fn checklist() -> String {
    let feature = |number: usize| {
        let check = json!({"run": format!("test -e done-{number}")});
        json!({"id": format!("feature-{number}"), "title": format!("Feature {number} works"), "check": check})
    };
    let features: Vec<Value> = (0..FEATURES).map(feature).collect();
    format!("{:#}\n", json!({"version": 1, "features": features}))
}

fn import(memory: &Path) {
    let mut child = git(memory).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut to = BufWriter::new(child.stdin.take().unwrap());
    for number in 0..COMMITS {
        let file = if RARE_IN.contains(&number) { RARE } else { 1 + number * 7919 % (super::FILES - 1) };
        let files: Vec<usize> = if number == 0 { (0..super::FILES).collect() } else { vec![file] };
        let message = match number {
            0 => "memory: seed\n".to_owned(),
            _ => format!("memory: edit {}\n\nSession: {}\n", super::path(file), number / 50 + 1),
        };
        let at = BEGIN + number;
        let who = |name: &str| format!("{name} <{name}@longhaul.invalid> {at} +0000");
        write!(to, "commit refs/heads/main\nauthor {}\ncommitter {}\n", who("agent"), who("longhaul")).unwrap();
        write!(to, "data {}\n{message}", message.len()).unwrap();
        if number == 0 {
            writeln!(to, "from refs/heads/main^0").unwrap();
            let list = checklist();
            write!(to, "M 100644 inline features.json\ndata {}\n{list}\n", list.len()).unwrap();
        }
        for file in files {
            let text = super::text(super::FILES + number + file);
            write!(to, "M 100644 inline {}\ndata {}\n{text}\n", super::path(file), text.len()).unwrap();
        }
    }
    to.into_inner().unwrap();
    assert!(child.wait().unwrap().success());
}
