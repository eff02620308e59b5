//! Family E, as far as it is about the size of prompts.

use crate::support::Project;
use crate::support::say;
use crate::support::session;

/// E33: a prompt above 128 KiB could not be given to the agent.
#[test]
fn e33_a_long_specification_reaches_the_model_and_one_that_fills_the_window_is_read_in_parts() {
    let line = "The program prints a line like this one, for whoever asks it to.\n";
    for (bytes, whole) in [(190_000, true), (3_000_000, false)] {
        let project = Project::new().model([session([say("bye")])]);
        project.write("../SPEC.md", &format!("{}the last line\n", line.repeat(bytes / line.len())));
        project.run(["init", "--spec", "../SPEC.md"]).tells("session 1 ended: the agent stopped");

        let request = &project.played().requests()[0];
        let prompt = request["messages"][0]["content"][0]["text"].as_str().unwrap();
        assert!(prompt.len() > 180_000, "{}", prompt.len());
        assert_eq!(prompt.contains("the last line"), whole);
        assert_eq!(prompt.contains("are left out: read them with the `memory` tool"), !whole);
        assert_eq!(project.memory_git(["show", "HEAD:spec.md"]).lines().last(), Some("the last line"));
    }
}
