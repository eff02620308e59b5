//! Notes: what a session keeps for later ones, and which of it they are given.

use crate::provider_replay::Answer;
use crate::provider_replay::Replay;
use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::say;
use crate::support::session;
use serde_json::Value;
use serde_json::json;

/// Creates a note.
fn note(path: &str, text: &str) -> Value {
    memory(json!({ "command": "create", "path": format!("/memories/{path}"), "file_text": text }))
}

fn front(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\ntype: project\n---\nThe whole of {name}.\n")
}

/// A session that keeps notes, works, and proves nothing.
fn keeps(notes: &[(&str, &str)]) -> Value {
    let notes = notes.iter().map(|(name, description)| note(&format!("notes/{name}.md"), &front(name, description)));
    let work = [bash("date +%N > work")];
    session([reply(notes.chain(work).collect::<Vec<_>>()), reply([hand_over()])])
}

/// Text of the first message of request `number`, counted from 1.
fn opening(project: &Project, number: usize) -> String {
    let body = &project.played().requests()[number - 1];
    body["messages"][0]["content"][0]["text"].as_str().unwrap().to_owned()
}

const PORT: (&str, &str) = ("db", "the database listens on port 5433 in tests");
const COLOUR: (&str, &str) = ("colour", "buttons are blue");

#[test]
fn a_note_without_front_matter_is_refused_with_the_form_and_a_good_one_is_listed() {
    let bare = reply([note("notes/db.md", "port 5433\n"), note("MEMORY.md", "mine")]);
    let project = Project::ready().feature("a", "test -f a").model([session([
        bare,
        reply([note("notes/db.md", &front(PORT.0, PORT.1))]),
        reply([hand_over()]),
    ])]);

    project.run(["run", "--sessions", "1"]).exits(3);

    let told = project.played().results_in(2);
    assert!(told.contains("/memories/notes/db.md is no note: its first line is not `---`"), "{told}");
    assert!(told.contains("\n---\nname: a-short-name\n"), "{told}");
    assert!(told.contains("/memories/MEMORY.md is written by longhaul only. Instead: change the note"), "{told}");
    let index = project.memory_git(["show", "HEAD~0:MEMORY.md"]);
    assert!(index.contains("- [db](notes/db.md) · project · "), "{index}");
    assert!(index.ends_with(" · the database listens on port 5433 in tests"), "{index}");
    let commit = project.memory_git(["log", "-1", "--format=%an", "--name-only", "--full-diff", "--", "notes/db.md"]);
    assert_eq!(commit, "agent\n\nMEMORY.md\nnotes/db.md", "one commit has both");
}

#[test]
fn a_session_is_given_the_notes_that_are_near_its_feature_with_their_age() {
    let project = Project::ready().feature("database", "test -f never").model([
        keeps(&[PORT, COLOUR]),
        session([say("I stop")]),
        session([say("I stop")]),
    ]);

    project.run(["run", "--sessions", "2"]).exits(3).tells("recalled: notes/db.md (of 2 notes, chosen by words)");

    assert!(!opening(&project, 1).contains("Notes that may matter"), "there were none yet");
    let second = opening(&project, 3);
    assert!(second.contains("<data source=\"/memories/notes/db.md, written today\">\n---\nname: db\n"), "{second}");
    assert!(second.contains("The whole of db."), "{second}");
    assert!(!second.contains("The whole of colour."), "{second}");
    assert!(second.contains("- [colour](notes/colour.md)"), "the index names it all the same: {second}");
    let event = project.events(2).into_iter().find(|event| event["type"] == "recalled").unwrap();
    assert_eq!((&event["notes"], &event["by"]), (&json!(["notes/db.md"]), &json!("words")));

    project.run(["run", "--sessions", "1", "--set", "recall.notes=0"]).exits(4);
    assert!(!opening(&project, 4).contains("Notes that may matter"), "it can be off");
}

#[test]
fn a_small_model_chooses_where_there_is_one_and_words_where_it_says_nothing_of_use() {
    let chooses = ["[\"notes/colour.md\", \"features.json\"]", "I would take the second."];
    let sessions = [keeps(&[PORT, COLOUR]), session([say("I stop")]), session([say("I stop")])];
    let project = Project::ready()
        .feature("database", "test -f never")
        .model_beside(sessions, chooses.map(|text| session([say(text)])));

    let run = project.run(["run", "--sessions", "3", "--set", "agent.small_model=small"]);

    run.exits(4)
        .tells("recalled: notes/colour.md (of 2 notes, chosen by small)")
        .tells("notes are chosen by words: `small` answered with something else than a list of paths")
        .tells("recalled: notes/db.md (of 2 notes, chosen by words)");
    let asked = &project.played().side_requests()[0];
    assert_eq!(asked["model"], "small");
    let used = project.events(2).into_iter().find(|event| event["type"] == "used").unwrap();
    assert_eq!((&used["by"], &used["model"]), (&json!("choice"), &json!("small")));
    assert!(used["usage"]["input"].as_u64().unwrap() > 0, "{used}");
    let manifest = asked["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(manifest.contains("- [db](notes/db.md) · project · "), "{manifest}");
    assert!(!manifest.contains("The whole of"), "it sees the front matter alone: {manifest}");
    assert!(opening(&project, 4).contains("The whole of colour."));
}

#[test]
fn a_small_model_that_is_away_costs_no_session() {
    let gone = session([json!({"status": 404, "error": {"type": "not_found_error", "message": "model: small"}})]);
    let project = Project::ready()
        .feature("database", "test -f database")
        .model_beside([keeps(&[PORT]), crate::running::makes("database")], [gone]);

    let run = project.run(["run", "--set", "agent.small_model=small"]);

    run.exits(0).tells("notes are chosen by words: `small` gave no answer: ").tells("recalled: notes/db.md");
    run.tells("serves the model `small` (`[agent] small_model`)");
}

#[test]
fn what_of_a_large_index_is_left_out_is_said_in_words() {
    let project = Project::ready().feature("a", "test -f a").model([session([say("I stop")])]);
    let calls: String = (0..230)
        .map(|number| {
            let text = front(&format!("n{number}"), "one of many");
            let path = format!("/memories/notes/{number}.md");
            format!("{}\n", json!({"command": "create", "path": path, "file_text": text}))
        })
        .collect();
    project.run_with(["memory", "apply"], &calls).exits(0);
    std::fs::create_dir_all(project.view().join("notes")).unwrap();
    std::fs::write(project.view().join("notes/bare.md"), "by hand\n").unwrap();

    project.run(["run", "--sessions", "1"]).exits(3);

    let text = opening(&project, 1);
    assert_eq!(text.matches("- [n").count(), 200, "{text}");
    assert!(text.contains("- [n229](notes/229.md)") && !text.contains("(notes/29.md)"), "the newest are shown");
    let left = "[30 older notes left out here, since the index is shown up to 200 lines: view /memories/MEMORY.md]\n\
                [1 file in /memories/notes not listed: without front matter, or of an unknown type]\n";
    assert!(text.contains(left), "{text}");
}

#[test]
fn notes_that_nobody_uses_go_when_that_is_asked_for_and_history_keeps_them() {
    let idle = || session([say("I stop")]);
    let project = Project::ready().feature("database", "test -f never").model([keeps(&[PORT, COLOUR]), idle(), idle()]);
    project.run(["run", "--sessions", "1"]).exits(3);
    let record = project.state().join("reads.json");
    let earlier = std::fs::read_to_string(&record).unwrap().replace("\"newest\":\"20", "\"newest\":\"19");
    std::fs::write(&record, earlier).unwrap();

    let run = project.run(["run", "--sessions", "1", "--set", "memory.expire_unused=1d"]);

    run.exits(3).tells("notes that nobody used for 1 day with sessions are removed: notes/colour.md");
    assert_eq!(project.memory_git(["ls-tree", "-r", "--name-only", "HEAD", "notes"]), "notes/db.md", "it was recalled");
    let commit = project.memory_git(["log", "-1", "--format=%an: %s", "--full-diff", "--name-status", "--", "notes"]);
    assert_eq!(commit, "longhaul: memory: expire 1 note unused for 1 day\n\nM\tMEMORY.md\nD\tnotes/colour.md");
}

#[test]
fn how_the_init_script_went_is_noted_for_the_next_session() {
    let idle = || session([say("I stop")]);
    let project = Project::ready().feature("a", "test -f a").model([idle(), idle()]);
    project.write("init.sh", "exit 3\n");
    project.git(["add", "-A"]);
    project.git(["update-index", "--chmod=+x", "init.sh"]);
    project.git(["checkout-index", "-f", "init.sh"]);
    project.git(["commit", "-qm", "init script"]);
    let text = "# Init script\n\n- script: `init.sh`\n- starts: nothing\n- ready: at once\n";
    project.run(["memory", "delete", "/memories/init.md"]).exits(0);
    project.run(["memory", "create", "/memories/init.md", text]).exits(0);

    project.run(["run", "--sessions", "2"]).exits(3);

    let second = opening(&project, 2);
    assert!(second.contains("- ready: at once\n- last run: exit code 3 after 0."), "{second}");
    assert!(second.contains(" s, session 2\n"), "{second}");
    let log = project.memory_log();
    assert_eq!(log.iter().filter(|subject| subject.starts_with("init: exit code 3 after ")).count(), 2, "{log:?}");
}

#[test]
fn what_a_session_would_see_is_shown_without_one() {
    let project =
        Project::ready().feature("database", "test -f never").model([keeps(&[PORT]), session([say("I stop")])]);
    project.run(["run", "--sessions", "1"]).exits(3);
    let before = project.memory_git(["rev-parse", "HEAD"]);
    let reads = std::fs::read_to_string(project.state().join("reads.json")).unwrap();

    let run = project.run(["prompt", "session"]);

    run.exits(0).prints("--- system prompt: about ").prints("--- first message: about ").prints("The whole of db.");
    project.run(["prompt", "session", "database"]).exits(0).prints("Session 2 on the project");
    project.run(["prompt", "session", "nothing"]).exits(2).tells("there is no feature `nothing`");
    project.run(["prompt", "initializer"]).exits(0).prints("prepare the project");
    assert_eq!(project.memory_git(["rev-parse", "HEAD"]), before);
    assert_eq!(std::fs::read_to_string(project.state().join("reads.json")).unwrap(), reads, "showing is no use");

    project.run(["run", "--sessions", "1"]).exits(3);
    let sent = opening(&project, 3);
    assert!(run.stdout.ends_with(&sent), "what was shown is what was sent:\n{sent}");
}

#[test]
fn notes_are_recalled_once_more_when_old_results_were_taken_out() {
    let prints = |number: usize| {
        let command = format!("printf 'number {number}\\n'; head -c 10000 /dev/zero | tr '\\0' x; echo");
        json!({"text": "the database port is wrong", "tools": [bash(&command)]})
    };
    let long = session((0..24).map(prints).chain([reply([bash("touch a"), hand_over()])]));
    let project = Project::ready().feature("a", "test -f a").model([long]);
    let note = "---\nname: db\ndescription: the database port\ntype: project\n---\nport 5433\n";
    project.run(["memory", "create", "/memories/notes/db.md", note]).exits(0);

    project
        .run(["run", "--set", "agent.window=40000", "--set", "recall.extract=false"])
        .exits(0)
        .tells("recalled: notes/db.md (of 1 note, chosen by words)");

    let requests = project.played().requests();
    assert!(!requests[0].to_string().contains("port 5433"), "the feature does not ask for it");
    let last = requests.last().unwrap()["messages"].to_string();
    assert_eq!(last.matches("port 5433").count(), 1, "once, though there was more than one clearing: {last}");
    assert!(last.contains("Old results were taken out of this conversation."), "{last}");
    assert!(project.events(1).iter().filter(|event| event["type"] == "cleared").count() > 1);
}

/// What the service takes out by itself is told, and notes are recalled after it as after a clearing of ours.
#[test]
fn a_clearing_by_the_service_is_told_and_recalls_notes() {
    let answer = |at: usize, name: &str, more: Value| {
        let call = json!({"type": "tool_use", "id": format!("t{at}"), "name": name,
            "input": {"command": format!("echo {at}"), "done": "x"}});
        let mut message = json!({"id": format!("m{at}"), "role": "assistant", "stop_reason": "tool_use",
            "content": [{"type": "text", "text": "I look at the database port"}, call],
            "usage": {"input_tokens": 9, "output_tokens": 9}});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Answer::new(200, &[("content-type", "application/json")], message.to_string())
    };
    for edits in [
        json!({}),
        json!({"context_management": {"applied_edits": [
            {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000},
        ]}}),
    ] {
        let clears = edits != json!({});
        let calls = [answer(0, "bash", json!({})), answer(1, "bash", edits.clone()), answer(2, "bash", edits)];
        let replay =
            Replay::start(calls.into_iter().chain([3, 4].map(|at| answer(at, "hand_over", json!({})))).collect());
        let project = Project::ready()
            .feature("a", "test -f a")
            .variable("ANTHROPIC_API_KEY", KEY)
            .variable("ANTHROPIC_BASE_URL", &replay.base_url());
        let create = json!({"command": "create", "path": "/memories/notes/db.md", "file_text": front("db", "the database port")});
        project.run_with(["memory", "apply"], &format!("{create}\n")).exits(0);

        let run = project.run(["run", "--sessions", "1", "--set", "provider.outage_budget=1s"]);

        let told = run.stderr.matches("by the service, old tool results: 8, about 50k tokens").count();
        assert_eq!(told, usize::from(clears), "{}", run.whole());
        assert_eq!(run.stderr.matches("recalled: notes/db.md").count(), usize::from(clears), "{}", run.whole());
        let requests = replay.requests();
        let given = requests.iter().filter(|request| request.contains("The whole of db.")).count();
        assert_eq!(given, if clears { 3 } else { 0 }, "with the message after it, and kept");
    }
}

#[test]
fn many_notes_put_into_the_view_are_counted_and_some_are_named() {
    let project = Project::ready().feature("a", "test -f a");
    for number in 0..40 {
        let path = |name: &str| format!(".longhaul/memory/notes/{name}{number}.md");
        project.write(&path("good"), &front(&format!("note {number}"), "put here by hand"));
        project.write(&path("bare"), "no front matter\n");
    }
    let project = project.model([session([reply([bash("touch a")]), reply([hand_over()])])]);

    let run = project.run(["run"]);

    run.exits(0).tells("80 files were edited in the view; the edits are committed: `notes/");
    assert_eq!(run.whole().matches("/good").count() + run.whole().matches("/bare").count(), 5, "{}", run.whole());
    assert!(project.memory_git(["show", "HEAD:MEMORY.md"]).contains("note 39"), "all of them are taken in");
}
