//! An agent whose one tool is a shell: its commands are taken as they are.

use super::FAULTY;
use super::Step;
use super::recorded;
use super::with_missing_colon;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use serde_json::Value;
use serde_json::json;

/// The words of a text of which the machine decides nothing: of a listing the names, of a traceback the error.
fn certain(command: &str, text: &str) -> Vec<String> {
    // The recorder kept the end of some outputs without its line end.
    let mut lines = text.trim_end().lines().map(str::to_owned);
    match command {
        listing if listing.starts_with("ls -la") => {
            lines.skip(1).filter_map(|line| line.split_whitespace().last().map(str::to_owned)).collect()
        }
        _ if text.starts_with("Traceback") => lines.next_back().into_iter().collect(),
        _ => lines.collect(),
    }
}

/// The recorder ended with its last command, and kept no code of it.
fn code(step: &Step) -> i64 {
    step.code.unwrap_or(0)
}

#[test]
fn a_real_agents_run_plays_to_the_end_and_its_repair_is_proven() {
    if !runs_here("python3") {
        return;
    }
    let steps = recorded("mini-swe-agent-test-repo");
    let commands: Vec<&str> = steps.iter().map(|step| step.text("command")).collect();
    let replies = steps.iter().map(|step| json!({ "text": step.thought, "tools": [bash(step.text("command"))] }));
    let shown = steps.iter().find(|step| step.text("command") == format!("cat {FAULTY}")).unwrap();
    let project = with_missing_colon(&shown.observation).model([session(replies.chain([reply([hand_over()])]))]);
    project.run(["init"]).exits(0);
    // The file lies among the tests, but here it is the product: no pin.
    let feature = json!({
        "id": "division",
        "title": "The script divides and prints",
        "check": {
            "run": "test \"$(python3 tests/missing_colon.py)\" = 8.2",
            "closure": [format!("!{FAULTY}")],
        },
    });
    project.run_with(["feature", "add", "-"], &feature.to_string()).exits(0);

    project.run(["run"]).exits(0).shows("done: 1 feature proven");

    assert_eq!(project.played().rejected(), Vec::<String>::new());
    for (number, (step, command)) in steps.iter().zip(&commands).enumerate() {
        let seen = project.played().results_in(number + 2);
        let (output, exit) = seen.rsplit_once("[exit code ").unwrap_or_else(|| panic!("no exit code in {seen}"));
        let mut output = certain(command, output);
        // Our own folder in the listing; and the line by which that agent said that it was done, which its recorder took out.
        output.retain(|line| line != ".longhaul" && line != "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT");
        assert_eq!(output, certain(command, &step.observation), "step {number}: {command}");
        assert_eq!(exit, format!("{}]", code(step)), "step {number}: {command}");
    }

    // The agent only staged its work; longhaul committed it, and proved that commit.
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1)\nfirst");
    assert_eq!(project.git(["show", "--format=", "--name-only", "HEAD"]), FAULTY);
    assert_eq!(project.status("division"), "proven");
    assert_eq!(project.stored("division")["evidence"]["commit"], project.git(["rev-parse", "HEAD"]));
    assert_eq!(project.memory_log()[..2], ["progress: session 1", "gate: prove division"]);

    let events = project.events(1);
    let of_type = |name: &str| events.iter().filter(|event| event["type"] == name).collect::<Vec<_>>();
    let ran: Vec<&str> =
        of_type("tool_started").iter().filter_map(|event| event["input"]["command"].as_str()).collect();
    assert_eq!(ran, commands);
    assert_eq!(of_type("tool_ended").len(), steps.len() + 1);
    let committed: Vec<&Value> = of_type("committed").iter().map(|event| &event["subject"]).collect();
    assert!(committed.contains(&&json!("wip(session 1)")), "{committed:?}");
}
