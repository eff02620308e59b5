//! Interrupts, a second run, and what a session tells of itself.

use super::makes;
use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::ends;
use crate::support::hand_over;
use crate::support::lives;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use crate::support::signal;
use serde_json::json;

/// T40.
#[test]
fn a_second_run_on_the_same_project_ends_at_once_as_busy() {
    let project = Project::ready().feature("a", "test -f a").model([session([json!({ "silence": "60s" })])]);
    let mut first = project.start(["run"]);
    project.played().wait_for_silence();

    project.run(["run"]).exits(6).tells("another longhaul");
    project.run(["check", "--all"]).exits(6);
    project.run(["status"]).exits(0);

    signal(&first, "INT");
    assert_eq!(first.wait().unwrap().code(), Some(130));
}

#[test]
fn an_interrupt_ends_the_session_in_order() {
    let project = Project::ready()
        .feature("a", "test -f a")
        .model([session([reply([bash("echo half > half")]), json!({ "silence": "60s" })]), makes("a")]);
    let child = project.start(["run"]);
    project.played().wait_for_silence();

    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(130));
    assert_eq!(project.memory_log()[0], "progress: session 1");
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "wip(session 1)");
    assert_eq!(project.stored("a")["attempts"], 0);
    project.run(["run"]).exits(0).hides("was interrupted;");
}

/// T42.
#[test]
fn an_interrupt_during_a_command_ends_the_command() {
    let fifo = "mkfifo ../started; (trap '' TERM; echo > ../started; exec sleep 300)";
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(fifo)]), reply([hand_over()])])]);
    let child = project.start(["run"]);
    let fifo = project.root().join("../started");
    while !fifo.exists() {
        std::thread::yield_now();
    }
    std::fs::read(&fifo).unwrap();

    signal(&child, "INT");

    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[test]
fn the_record_of_a_session_tells_the_whole_conversation() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.run(["run"]).exits(0);

    let events = project.events(1);
    let of_type = |name: &str| events.iter().filter(|event| event["type"] == name).collect::<Vec<_>>();
    let last = project.played().requests().pop().unwrap();
    let replies: Vec<_> = of_type("replied").iter().map(|event| event["message"]["content"].clone()).collect();
    assert_eq!(replies[0], last["messages"][1]["content"]);
    let sent = of_type("sent").iter().map(|event| event["content"].to_string()).collect::<String>();
    let first = last["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(sent.contains(serde_json::Value::from(first).to_string().trim_matches('"')), "{sent}");
    assert_eq!(of_type("tool_started").len(), of_type("tool_ended").len());
    assert_eq!(events.last().unwrap()["type"], "session_ended");
}

#[test]
fn the_key_reaches_no_child_no_record_and_no_memory() {
    let env = bash("env; cat /proc/$PPID/environ | tr '\\0' '\\n' | grep -c nothing; touch a");
    let project =
        Project::ready().feature("a", "env; test -f a").model([session([reply([env]), reply([hand_over()])])]);
    project.run(["run"]).exits(0);

    let found = std::process::Command::new("grep").args(["-rlF", KEY]).arg(project.root()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    assert!(!project.played().results_in(2).contains(KEY));
}

#[test]
fn text_from_the_model_cannot_drive_the_terminal() {
    let project =
        Project::ready().feature("a", "printf '\\033]0;owned\\007\\033[31m red\\n'; exit 1").model([session([
            json!({ "text": "\u{1b}[2Jcleared \u{202e}txet", "tools": [bash("printf '\\033[2J'")] }),
            reply([hand_over()]),
        ])]);

    let run = project.run(["run", "--sessions", "1"]);

    for unsafe_text in ["\u{1b}", "\u{7}", "\u{202e}"] {
        run.hides(unsafe_text);
    }
}

#[test]
fn the_events_of_a_run_are_streamed_as_json_and_nothing_else() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);

    let run = project.run(["run", "--json"]);

    run.exits(0);
    assert_eq!(run.stderr, "");
    let events: Vec<serde_json::Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[1]), ("run_started", "session_started"), "{kinds:?}");
    let recorded = project.events(1).len();
    let told = kinds.iter().skip_while(|kind| **kind != "session_started").take(recorded).count();
    assert_eq!(told, recorded, "the stream has all that the record has");
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["code"], &last["reason"]),
        (&"run_ended".into(), &0.into(), &"1 feature proven".into())
    );
    assert!(events.iter().all(|event| event["at"].is_string()), "{events:?}");

    let stopped = project.feature("b", "test -f b").run(["run", "--json", "--tokens", "1"]);
    let last: serde_json::Value = serde_json::from_str(stopped.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["code"], stopped.code.unwrap());
}

#[test]
fn an_endpoint_without_typed_tools_gets_schemas_and_the_words_about_memory() {
    let project = Project::ready().feature("a", "test -f a").model([session([
        reply([bash("touch a"), memory(json!({ "command": "view", "path": "/memories" }))]),
        reply([hand_over()]),
    ])]);

    project.run(["run", "--set", "provider.tools=custom"]).exits(0);

    let request = &project.played().requests()[0];
    let tools = request["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["type"].is_null() && tool["input_schema"]["type"] == "object"), "{tools:?}");
    for name in ["memory", "bash", "str_replace_based_edit_tool", "hand_over"] {
        assert!(tools.iter().any(|tool| tool["name"] == name), "{name}");
    }
    assert!(
        request["system"][0]["text"].as_str().unwrap().contains("view `/memories` and the notes that matter before")
    );
    assert!(project.played().results_in(2).contains("/memories/features.json"), "it works like the typed one");
}

#[test]
fn a_hook_that_hangs_is_ended_at_its_limit_and_the_run_goes_on() {
    for hook in ["hooks.session_start", "hooks.session_end"] {
        let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
        let hangs = format!("{hook}=echo waiting; sleep 1000");

        let run = project.run(["run", "--set", &hangs, "--set", "hooks.timeout=0.5s"]);

        run.exits(0).tells("the hook `echo waiting; sleep 1000` was ended after 0.5s: waiting");
    }
}

#[test]
fn an_interrupt_ends_a_hook_that_runs() {
    for hook in ["hooks.session_start", "hooks.session_end"] {
        let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
        let hangs = format!("{hook}=mkfifo ../started; echo $$ > ../started; exec sleep 1000");
        let child = project.start(["run", "--set", &hangs]);
        let fifo = project.root().join("../started");
        while !fifo.exists() {
            std::thread::yield_now();
        }
        let id = std::fs::read_to_string(&fifo).unwrap();
        assert!(lives(&id), "nothing else ends it");

        signal(&child, "INT");

        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130), "{hook}");
        assert!(ends(&id), "{hook}");
    }
}

#[test]
fn a_hook_after_an_interrupted_session_runs_and_is_bounded() {
    let project = Project::ready().feature("a", "test -f a").model([session([json!({ "silence": "60s" })])]);
    let settings = ["--set", "hooks.session_end=touch ../told; sleep 1000", "--set", "hooks.timeout=0.5s"];
    let child = project.start([&["run"][..], &settings[..]].concat());
    project.played().wait_for_silence();

    signal(&child, "INT");

    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(project.root().join("../told").exists());
}
