//! Notes after a session: who is asked for them, what they are made from, and what nobody is asked for.

use crate::running::makes;
use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::say;
use crate::support::session;
use serde_json::Value;
use serde_json::json;

/// A session with enough calls to have found something out, which makes `name`.
fn busy(name: &str) -> Value {
    let looks = (1..=7).map(|number| bash(&format!("echo look {number}")));
    let failing = [bash("echo the port is taken; exit 3"), bash(&format!("touch {name}"))];
    session([json!({"text": "I try the port", "tools": Vec::from_iter(looks.chain(failing))}), reply([hand_over()])])
}

fn creates(path: &str) -> Value {
    memory(json!({ "command": "create", "path": path, "file_text": as_note("port") }))
}

/// A conversation that writes one note.
fn noting() -> Value {
    session([reply([creates("/memories/notes/port.md")]), say("done")])
}

fn ready(sessions: impl IntoIterator<Item = Value>, side: impl IntoIterator<Item = Value>) -> Project {
    Project::ready().feature("a", "test -f a").model_beside(sessions, side)
}

fn event(project: &Project, session: u32, kind: &str) -> Value {
    project.events(session).into_iter().find(|event| event["type"] == kind).unwrap_or_default()
}

#[test]
fn a_second_agent_writes_what_the_first_one_did_not() {
    let project = ready([busy("a")], [noting()]);

    let run = project.run(["run", "--set", "recall.extract_model=claude-haiku-4-5"]);

    run.exits(0).tells("notes taken: notes/port.md (by claude-haiku-4-5, 2 turns, ");
    let requests = project.played().side_requests();
    assert_eq!((requests.len(), project.played().rejected()), (2, Vec::new()));
    assert_eq!(requests[0]["model"], "claude-haiku-4-5");
    let tools: Vec<&Value> = requests[0]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(tools, ["memory"]);
    let told = requests[0]["messages"][0]["content"][0]["text"].as_str().unwrap();
    for part in [
        "How it ended: the agent handed over",
        "agent: I try the port",
        "call bash: {\"command\":\"echo look 7\"}",
        "result: the port is taken\n[exit code 3]",
        "call hand_over: {\"done\":\"worked on it\"",
        "longhaul's check of a: passed",
        "/memories/MEMORY.md",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let commit = project.memory_git(["log", "-1", "--format=%an: %s%n%b", "--", "notes/port.md"]);
    assert!(commit.starts_with("agent: memory: create notes/port.md\n"), "{commit}");
    assert!(commit.contains("Session: 1") && commit.contains("Tool-Use: "), "{commit}");
    let event = event(&project, 1, "extracted");
    assert_eq!((&event["notes"], &event["turns"]), (&json!(["notes/port.md"]), &json!(2)));
    assert!(event["cost"].as_f64().is_some_and(|cost| cost > 0.0), "{event}");
    project.run(["show", "--session", "1"]).prints("notes taken: notes/port.md");
    let log = project.memory_log();
    let at = |subject: &str| log.iter().position(|line| line == subject).unwrap();
    assert!(at("memory: create notes/port.md") < at("progress: session 1"), "the entry is safe before: {log:?}");
}

/// The figures of the run, of `status` and of the feature leave nothing out that was paid.
#[test]
fn what_it_costs_is_in_every_figure() {
    let dear = || session([json!({"text": "well", "usage": {"input_tokens": 90_000, "output_tokens": 20_000}})]);
    let project = ready([busy("b")], [dear()]);

    let run = project.run(["run", "--sessions", "1", "--set", "recall.extract_model=small", "--budget", "0.5"]);

    run.exits(3).tells("a small model without a price counts at that of `agent.model`").tells("110k tokens, ");
    let used = event(&project, 1, "used");
    assert_eq!(
        (&used["by"], &used["model"], &used["usage"]["input"]),
        (&json!("notes"), &json!("small"), &json!(90_000))
    );
    let told: Value = serde_json::from_str(&project.run(["status", "--json"]).stdout).unwrap();
    let keys = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let of_reply = |event: &Value| keys.iter().filter_map(|key| event["message"]["usage"][*key].as_u64()).sum::<u64>();
    let replied: u64 = project.events(1).iter().map(of_reply).sum();
    let noted: u64 = used["usage"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert!(noted >= 110_000, "{used}");
    assert_eq!(told["tokens"], replied + noted);
    assert!(told["cost"].as_f64().unwrap() > used["cost"].as_f64().unwrap(), "{told}");
    run.tells(&format!("spent so far: {}k tokens", told["tokens"].as_u64().unwrap() / 1000));
    let books: Value = serde_json::from_str(&project.read(".git/longhaul/spent.json")).unwrap();
    assert_eq!(books["features"]["a"]["cost"], told["cost"]);
}

/// The entry is safe before notes are asked for, so it cannot know what they cost.
#[test]
fn the_progress_entry_says_that_what_it_costs_is_not_in_it() {
    for (set, told) in [("recall.extract=true", true), ("recall.extract=false", false)] {
        let project = ready([busy("a")], [noting()]);
        project.run(["run", "--set", set]).exits(0);
        let entry = project.memory_git(["show", "HEAD:progress.md"]);
        let used = entry.lines().find(|line| line.contains("used: ")).unwrap();
        assert!(used.contains("used: 2 turns, "), "{entry}");
        assert_eq!(used.ends_with(" min; notes taken after this are not in it"), told, "{entry}");
    }
}

#[test]
fn its_conversation_is_no_part_of_the_sessions() {
    let project = ready([busy("a")], [noting()]);
    project.run(["run"]).exits(0);
    let events = project.events(1);
    assert_eq!(events.iter().filter(|event| event["type"] == "replied").count(), 2);
    assert!(!events.iter().any(|event| event["type"] == "tool_started" && event["name"] == "memory"));
}

#[test]
fn nobody_is_asked_where_there_is_nothing_to_note() {
    let itself =
        session([reply([creates("/memories/notes/own.md")]), busy("a")["reply"][0].clone(), reply([hand_over()])]);
    for (sessions, settings, reason) in [
        (makes("a"), vec![], "the session was short, 2 calls"),
        (itself, vec![], "the agent took some itself"),
        (busy("a"), vec!["budget.tokens=1"], "the budget of 1 token is used up"),
        (session([busy("a")["reply"][0].clone(), json!({"status": 400})]), vec![], "the model service failed"),
    ] {
        let project = ready([sessions], [noting()]);
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let run = project.run(["run", "--sessions", "1"].into_iter().chain(settings));
        run.tells(&format!("no notes taken: {reason}"));
        assert!(project.played().side_requests().is_empty(), "{}", run.whole());
        assert_eq!(event(&project, 1, "extraction_skipped")["reason"], reason);
    }
}

#[test]
fn it_can_be_off_and_is_asked_at_most_once_in_a_while() {
    let off = ready([busy("a")], [noting()]);
    off.run(["run", "--set", "recall.extract=false"]).exits(0).hides("notes taken");
    assert!(off.played().side_requests().is_empty());

    let twice = || Project::ready().feature("a", "test -f a").feature("b", "test -f b");
    let project = twice().model_beside([busy("a"), busy("b")], [noting(), noting()]);
    project.run(["run"]).exits(0).tells("some were taken after a session just before");
    assert_eq!(project.played().side_requests().len(), 2, "one conversation");

    let project = twice().model_beside([busy("a"), busy("b")], [noting(), noting()]);
    project.run(["run", "--set", "recall.extract_pause=0"]).exits(0);
    assert_eq!(project.played().side_requests().len(), 4, "its twin");
}

#[test]
fn its_own_limits_bind_it_and_only_notes_are_its() {
    let endless = session((0..9).map(|number| reply([creates(&format!("/memories/notes/{number}.md"))])));
    let project = ready([busy("a")], [endless]);
    let run = project.run(["run", "--set", "recall.extract_turns=2"]);
    run.exits(0)
        .tells("notes taken: notes/0.md, notes/1.md (by ")
        .tells("; cut short: its limit of 2 turns is reached)");

    let project = ready([busy("a")], [session((0..9).map(|_| reply([bash("ls")])))]);
    project
        .run(["run", "--set", "recall.extract_tokens=1"])
        .exits(0)
        .tells("cut short: its limit of 1 tokens is reached");

    let outside = reply([creates("/memories/other.md"), creates("/memories/checks/a.sh"), bash("touch x")]);
    let project = ready([busy("a")], [session([outside, say("well")])]);
    project.run(["run"]).exits(0).tells("notes taken: none");
    let refused = project.played().side_requests()[1]["messages"][2].to_string();
    assert_eq!(refused.matches("only notes are yours").count(), 2, "{refused}");
    assert_eq!(project.memory_git(["ls-tree", "--name-only", "HEAD", "other.md", "checks"]), "");
    assert!(!project.root().join("x").exists());
}

#[test]
fn a_service_that_is_away_then_fails_no_session() {
    let project = ready([busy("a")], [session([json!({"status": 400})])]);
    let run = project.run(["run"]);
    run.exits(0).tells("session 1 ended: the agent handed over (check passed)").tells("notes taken: none");
    assert!(event(&project, 1, "extracted")["ended"].as_str().unwrap().contains("400"));
    run.tells("warning: writing notes after the session was cut short: the model service refused the request");
}

#[test]
fn a_model_of_its_own_that_is_not_served_is_told_by_its_own_setting() {
    let error = json!({"type": "not_found_error", "message": "model: x"});
    for (set, told) in [
        ("recall.extract_model=mine", "the model `mine` (`[recall] extract_model`)"),
        ("agent.model=main", "the model `main` (`[agent] model`)"),
    ] {
        let project = ready([busy("a")], [session([json!({"status": 404, "error": error})])]);
        project.run(["run", "--set", set]).exits(0).tells(told);
    }
}

#[test]
fn a_kill_while_it_writes_loses_nothing_of_the_session() {
    let silent = session([json!({ "text": "…", "silence": "60s" })]);
    let project = ready([busy("a")], [silent]);
    let mut child = project.start(["run"]);
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(project.stored("a")["passes"], true);
    project.run(["run"]).exits(0);
    let entries = project.memory_log().into_iter().filter(|subject| subject == "progress: session 1").count();
    assert_eq!(entries, 1);
}
