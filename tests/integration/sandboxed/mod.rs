//! What holds the agent's commands with bubblewrap, seen through whole runs.

mod processes;
mod repository;
mod shown;
mod sockets;

use crate::support::Project;

/// Plays these commands in one session and returns what the agent was told of each.
fn told(project: &Project) -> Vec<String> {
    project.run(["run", "--sessions", "1"]);
    let ended = project.events(1).into_iter().filter(|event| event["type"] == "tool_ended");
    ended.map(|event| event["content"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Lists the processes of the machine whose command line holds a word.
fn living(word: &str) -> Vec<String> {
    let all = std::process::Command::new("ps").args(["-eo", "pid,args"]).output().unwrap();
    String::from_utf8_lossy(&all.stdout).lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}
