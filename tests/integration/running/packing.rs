//! The memory is packed while a session is at work, not only when it has ended.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;
use std::process::Stdio;

/// A session that writes so many notes, makes `f` when it sees a pack within some seconds, and hands over.
fn writes(notes: usize, seconds: usize) -> Value {
    let note = |number: usize| {
        memory(json!({"command": "create", "path": format!("/memories/docs/{number}.md"), "file_text": "x\n"}))
    };
    let look = format!(
        "for i in $(seq {}); do ls .git/longhaul/memory.git/objects/pack/*.pack && touch f && break; sleep 0.1; done; :",
        seconds * 10
    );
    session([reply((0..notes).map(note).collect::<Vec<_>>()), reply([bash(&look)]), reply([hand_over()])])
}

/// Lays loose objects into the memory, as long days leave them.
fn litter(project: &Project) {
    let folder = project.home().join("litter");
    std::fs::create_dir_all(&folder).unwrap();
    let paths: Vec<String> = (0..4000)
        .map(|number| {
            let path = folder.join(number.to_string());
            std::fs::write(&path, format!("litter {number}")).unwrap();
            path.display().to_string()
        })
        .collect();
    let list = folder.join("list");
    std::fs::write(&list, paths.join("\n")).unwrap();
    let hashed = std::process::Command::new("git")
        .args(["hash-object", "-w", "--stdin-paths", "--no-filters"])
        .env("GIT_DIR", project.state().join("memory.git"))
        .stdin(std::fs::File::open(list).unwrap())
        .stdout(Stdio::null())
        .status();
    assert!(hashed.unwrap().success());
}

#[test]
fn a_session_of_many_writes_is_packed_while_it_goes_on() {
    let project = Project::ready().feature("f", "test -f f").model([writes(70, 90)]);
    litter(&project);
    project.run(["run"]).exits(0);
    assert_eq!(project.status("f"), "proven", "the agent saw the pack");
    project.run(["memory", "fsck"]).exits(0);
    project.memory_git(["fsck", "--strict"]);
}

#[test]
fn a_session_of_few_writes_is_packed_when_it_has_ended() {
    let project = Project::ready().feature("f", "test -f f").model([writes(5, 2)]);
    litter(&project);
    project.run(["run", "--sessions", "1"]).exits(3);
    assert_eq!(project.status("f"), "open", "its twin: there was no pack yet");
    assert!(project.memory_git(["count-objects", "-v"]).contains("packs: 1"));
}
