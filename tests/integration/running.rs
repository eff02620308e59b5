//! `run`: sessions, limits, faults, interrupts, and what each leaves behind.

use crate::support::KEY;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::say;
use crate::support::session;
use crate::support::signal;
use serde_json::json;

fn makes(name: &str) -> serde_json::Value {
    session([reply([bash(&format!("touch {name}"))]), reply([hand_over()])])
}

#[test]
fn a_failing_check_keeps_the_feature_open_and_a_passing_one_proves_it() {
    let project =
        Project::ready().feature("login", "echo checked; test -f login").model([makes("other"), makes("login")]);

    let run = project.run(["run", "--sessions", "1"]);
    run.exits(3).tells("1 session used, 1 feature open");
    assert_eq!(project.status("login"), "open");
    assert_eq!(project.memory_log()[..2], ["progress: session 1", "gate: login not proven: failed"]);

    project.run(["run"]).exits(0).shows("done: 1 feature proven");
    assert_eq!(project.memory_log()[..2], ["progress: session 2", "gate: prove login"]);
    let stored = project.stored("login");
    assert_eq!(stored["passes"], true);
    assert_eq!(stored["evidence"]["commit"], project.git(["rev-parse", "HEAD"]));
    assert_eq!(stored["evidence"]["tree"], project.git(["rev-parse", "HEAD^{tree}"]));
    assert_eq!(project.played().rejected(), Vec::<String>::new());
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
fn proving_changes_one_feature_and_nothing_else() {
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b").model([makes("a")]);
    project.run(["run", "--sessions", "1"]).exits(3);

    let proof = project.memory_git(["log", "--format=%H", "--grep=^gate: prove a"]);
    let files = project.memory_git(["show", "--format=", "--name-only", &proof]);
    let at = |rev: &str| -> serde_json::Value {
        serde_json::from_str(&project.memory_git(["show", &format!("{rev}:features.json")])).unwrap()
    };
    let (before, after) = (at(&format!("{proof}^")), at(&proof));

    assert_eq!(files, "features.json");
    assert_eq!(before["features"][1], after["features"][1]);
    assert_eq!(
        (before["features"][0]["passes"].clone(), after["features"][0]["passes"].clone()),
        (json!(false), json!(true))
    );
    let trailers = project.memory_git(["log", "-1", "--format=%(trailers:only,unfold)", &proof]);
    assert!(
        trailers.contains("Session: 1") && trailers.contains("Feature: a") && trailers.contains("Project-Commit: "),
        "{trailers}"
    );
}

#[test]
fn a_check_that_passed_before_any_work_is_not_worked_on_and_can_be_accepted() {
    let project = Project::ready().feature("old", "test -f README").model([]);

    project.run(["run"]).exits(4).tells("longhaul accept old");
    assert!(project.played().requests().is_empty());

    project.run(["accept", "--already-green", "--reason", "it was there"]).exits(0);
    assert_eq!(project.status("old"), "accepted");
    assert_eq!(project.stored("old")["passes"], false);
    project.run(["run"]).exits(0).shows("accepted by a person");
}

#[test]
fn a_regression_is_caught_by_the_sweep_and_worked_on_first() {
    let breaks = session([reply([bash("rm a; touch b")]), reply([hand_over()])]);
    let project = Project::ready()
        .feature("a", "test -f a")
        .feature("b", "test -f b")
        .feature("c", "test -f c")
        .model([makes("a"), breaks, makes("a"), makes("c")]);

    let run = project.run(["run"]);

    run.exits(0).shows("done: 3 features proven");
    let log = project.memory_log();
    let order: Vec<&str> = log
        .iter()
        .rev()
        .map(String::as_str)
        .filter(|subject| subject.starts_with("gate: ") && !subject.contains("baseline") && !subject.contains("sweep"))
        .collect();
    assert_eq!(order, ["gate: prove a", "gate: prove b", "gate: regress a", "gate: prove a", "gate: prove c"]);
}

#[test]
fn a_feature_is_blocked_after_its_attempts_and_the_others_go_on() {
    let fails = || session([reply([bash("date +%N > attempt")]), reply([hand_over()])]);
    let project = Project::ready().feature("hard", "test -f never").feature("easy", "test -f easy").model([
        fails(),
        fails(),
        fails(),
        makes("easy"),
    ]);

    project
        .run(["run"])
        .exits(4)
        .tells("hard is blocked: 3 attempts did not prove it")
        .tells("longhaul feature reopen hard");

    assert_eq!(["hard", "easy"].map(|id| project.status(id)), ["blocked", "proven"]);
    project.run(["feature", "reopen", "hard"]).exits(0);
    assert_eq!(project.status("hard"), "open");
}

#[test]
fn sessions_that_change_nothing_trip_the_breaker() {
    let idle = || session([say("I am done")]);
    let project = Project::ready().feature("a", "test -f a").model([idle(), idle(), idle(), idle()]);

    let run = project.run(["run", "--set", "run.attempts=9"]);

    run.exits(4).tells("3 sessions in a row");
}

#[test]
fn a_check_that_the_agent_reports_as_wrong_waits_for_a_person_and_the_run_goes_on() {
    let reports =
        session([reply([call("hand_over", json!({ "done": "nothing", "check_problem": "it tests the wrong page" }))])]);
    let project =
        Project::ready().feature("odd", "false").feature("fine", "test -f fine").model([reports, makes("fine")]);

    project.run(["run"]).exits(4).tells("it tests the wrong page");

    assert_eq!(project.status("fine"), "proven");
    assert_ne!(project.status("odd"), "proven");
}

#[test]
fn the_checklist_attack_by_the_memory_tool_is_refused_and_by_shell_undone() {
    let by_tool = memory(
        json!({ "command": "str_replace", "path": "/memories/features.json", "old_str": "false", "new_str": "true" }),
    );
    let by_shell = bash("sed -i 's/\"passes\": false/\"passes\": true/' .longhaul/memory/features.json; touch a");
    let project = Project::ready().feature("a", "test -f a").model([session([
        reply([by_tool]),
        reply([by_shell]),
        reply([hand_over()]),
    ])]);

    project.run(["run", "--sessions", "1"]).tells("features.json").tells("proves nothing");

    let refusal = project.played().results_in(2);
    assert!(refusal.contains("features.json") && refusal.contains("longhaul"), "{refusal}");
    assert!(project.played().results_in(3).contains("put back"), "{}", project.played().results_in(3));
    let of_session = project.memory_git(["log", "--format=%s", "--grep=^Session: 1$"]);
    assert!(!of_session.contains("prove a"), "{of_session}");
    assert_eq!(
        std::fs::read_to_string(project.view().join("features.json")).unwrap().trim(),
        project.memory_git(["show", "HEAD:features.json"])
    );
    // The honest part of that session's work counts as soon as longhaul itself has looked.
    project.run(["run"]).exits(0);
    assert_eq!(project.played().requests().len(), 3);
}

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
fn a_dirty_tree_is_refused_and_untracked_files_are_not() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.write("notes.txt", "mine\n");
    project.write("README", "changed\n");

    project.run(["run"]).exits(2).tells("`README`").tells("git stash -u");

    project.git(["checkout", "-q", "README"]);
    project.run(["run"]).exits(0).tells("notes.txt");
    assert_eq!(project.git(["status", "--porcelain"]), "?? notes.txt");
}

#[test]
fn an_untracked_file_that_the_session_changed_is_part_of_its_work() {
    let edits = session([reply([bash("echo more >> draft.sh; touch a")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([edits]);
    project.write("draft.sh", "echo\n");
    project.write("notes.txt", "mine\n");

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["show", "--name-only", "--format=%s"]), "wip(session 1)\n\na\ndraft.sh");
    assert_eq!(project.git(["status", "--porcelain"]), "?? notes.txt");
}

#[test]
fn a_detached_head_is_refused_with_the_way_out() {
    let project = Project::ready().feature("a", "test -f a").model([]);
    project.git(["checkout", "-q", "--detach"]);

    project.run(["run"]).exits(2).tells("detached").tells("git switch -c");
}

#[test]
fn an_empty_checklist_is_a_usage_error() {
    Project::ready().model([]).run(["run"]).exits(2).tells("the checklist is empty").tells("longhaul feature add");
}

#[test]
fn a_script_that_runs_out_and_an_endpoint_that_is_down_are_faults_of_the_provider() {
    let project = Project::ready().feature("a", "test -f a").model([session([reply([bash("true")])])]);
    project.run(["run"]).exits(5).tells("script");

    let project = Project::ready()
        .feature("a", "test -f a")
        .variable("ANTHROPIC_API_KEY", KEY)
        .variable("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    let run = project.run(["run", "--set", "provider.outage_budget=0.2s"]);
    run.exits(5).tells("127.0.0.1:9");
    assert_eq!(project.stored("a")["attempts"], 0);
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
fn settings_that_do_not_exist_or_are_not_there_yet_are_refused() {
    let project = Project::ready().feature("a", "test -f a").model([]);

    project.run(["run", "--set", "budget.usb=3"]).exits(2).tells("usd");
    project.run(["run", "--set", "sandbox.mode=bubblewrap"]).exits(2).tells("not yet");
    project.write("longhaul.toml", "[provider]\nbase_url = \"http://evil.example\"\n");
    project.git(["add", "longhaul.toml"]);
    project.git(["commit", "-qm", "settings"]);
    project.run(["run"]).exits(2).tells("set it in your own config.toml");
}

#[test]
fn a_budget_in_tokens_ends_the_run_with_the_features_open() {
    let long = session([reply([bash("true")]), reply([bash("true")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([long]);

    project.run(["run", "--tokens", "1"]).exits(3).tells("tokens");

    assert_eq!(project.played().requests().len(), 1);
    assert_eq!(project.stored("a")["attempts"], 0);
}

#[test]
fn git_clean_and_stash_lose_nothing_of_ours() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.run(["run"]).exits(0);
    let head = project.memory_git(["rev-parse", "HEAD"]);

    project.git(["clean", "-fdqx"]);
    assert!(!project.view().exists());
    project.run(["run"]).exits(0);
    assert!(project.view().join("features.json").exists());

    project.write("x", "x");
    project.git(["stash", "-q", "-a"]);
    assert_eq!(project.status("a"), "proven");
    assert_eq!(project.memory_git(["rev-parse", "HEAD"]), head);
}

#[test]
fn check_proves_like_the_hook_and_tells_with_its_code() {
    let project = Project::ready().feature("a", "test -f a").feature("b", "test -f b");
    project.write("a", "");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "a"]);

    project.run(["check", "a"]).exits(0).shows("proven");
    project.run(["check", "--all"]).exits(8);

    assert_eq!(["a", "b"].map(|id| project.status(id)), ["proven", "open"]);
    project.run(["status", "--exit-code"]).exits(8);
}

#[test]
fn a_changed_test_file_is_refused_until_a_person_accepts_it() {
    let project = Project::ready();
    project.write("tests/a.sh", "test -f a\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);
    let cheat = session([reply([bash("echo true > tests/a.sh")]), reply([hand_over()])]);
    let project = project.feature("a", "sh tests/a.sh").model([cheat]);

    project.run(["run", "--sessions", "1"]).exits(3).shows("tests/a.sh");
    assert_eq!(project.status("a"), "open");
    assert!(
        project.memory_log().contains(&"gate: a not proven: check changed".to_owned()),
        "{:?}",
        project.memory_log()
    );

    project.run(["accept", "a"]).exits(0).prints("-test -f a").prints("+true").prints("the changed check is approved");
    assert_eq!(project.status("a"), "already green");
}

#[test]
fn a_check_for_a_person_waits_and_costs_no_session() {
    let project = Project::ready().model([]);
    let manual = json!({ "id": "looks", "title": "looks good", "check": { "run": "", "kind": "manual" } });
    project.run_with(["feature", "add", "-"], &manual.to_string()).exits(0);

    project.run(["run"]).exits(4).tells("longhaul accept looks");
    assert_eq!(project.status("looks"), "waiting");

    project.run(["accept", "looks"]).exits(0);
    project.run(["run"]).exits(0);
    assert!(project.played().requests().is_empty());
}

#[test]
fn a_feature_without_a_check_gets_one_initializer_session_and_does_not_hold_up_the_others() {
    let project = Project::new();
    project.write("../list.json", r#"[{ "description": "It is fast" }]"#);
    project.run(["init", "--from", "../list.json"]).exits(0);
    let gives_up = session([reply([hand_over()]), reply([hand_over()])]);
    let project = project.feature("a", "test -f a").model([gives_up, makes("a")]);

    project.run(["run"]).exits(4).tells("has no check");

    assert_eq!(project.status("a"), "proven");
    assert_eq!(project.events(1)[0]["kind"], "initializer");
}

#[test]
fn an_initializer_can_give_a_check_to_a_feature_that_has_none() {
    let project = Project::new();
    project.write("../list.json", r#"[{ "id": "fast", "description": "It is fast" }]"#);
    project.run(["init", "--from", "../list.json"]).exits(0);
    let gives = session([
        reply([call("add_check_file", json!({ "name": "fast.sh", "text": "test -f fast\n" }))]),
        reply([call("set_check", json!({ "id": "fast", "check": "sh \"$LONGHAUL_CHECKS/fast.sh\"" }))]),
        reply([
            bash("echo true > init.sh"),
            call("set_init", json!({ "path": "init.sh", "starts": "nothing", "ready": "it exits" })),
        ]),
        reply([hand_over()]),
    ]);
    let project = project.model([gives, makes("fast")]);

    project.run(["run"]).exits(0);

    assert_eq!(project.status("fast"), "proven");
    let pins = project.stored("fast")["check"]["pins"].clone();
    assert!(pins["checks/fast.sh"].is_string(), "{pins}");
}

#[test]
fn a_check_whose_files_changed_before_it_ever_ran_waits_for_a_person() {
    let project = Project::unborn();
    project.run(["init"]).exits(0);
    project.write("tests/a.sh", "test -f a\n");
    let project = project.feature("a", "sh tests/a.sh").model([makes("a")]);
    project.write("tests/a.sh", "test -f a && true\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "changed"]);

    project.run(["run"]).exits(4).tells("a is blocked").tells("longhaul accept a");
    assert!(project.played().requests().is_empty());

    project.run(["accept", "a"]).exits(0);
    project.run(["run"]).exits(0);
    assert_eq!(project.status("a"), "proven");
}

#[test]
fn a_check_that_changes_tracked_files_proves_nothing_and_its_changes_are_kept() {
    let check = "test -f a && echo touched >> README";
    let project = Project::ready().feature("a", check).model([makes("a")]);

    project.run(["run", "--sessions", "1"]).exits(3);

    let log = project.memory_log();
    assert!(log.contains(&"gate: a not proven: tree moved".to_owned()), "{log:?}");
    assert_eq!(
        project.git(["log", "-2", "--format=%s"]),
        "wip(changed by the check of a)\nwip(changed by the check of a)"
    );
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

#[test]
fn a_pass_that_rests_on_a_file_left_out_of_the_commit_proves_nothing() {
    let makes = |text: &str| session([reply([bash(text)]), reply([hand_over()])]);
    let project = Project::ready()
        .feature("a", "test -f server.pem")
        .model([makes("echo key > server.pem; touch x"), makes("git add -f server.pem; git commit -qm 'a test key'")]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("left out of the session's commit: `server.pem`");
    assert_eq!(project.status("a"), "open");
    assert_eq!(project.stored("a")["last_verdict"]["verdict"], "not committed");

    project.run(["run"]).exits(0);
    assert_eq!(project.git(["show", "HEAD:server.pem"]), "key");
}

#[test]
fn a_session_that_rewrites_history_is_told_and_loses_nothing() {
    let resets = bash("git reset -q --hard HEAD~1; touch a");
    let project = Project::ready().feature("a", "test -f a");
    project.write("mine", "work of a person\n");
    project.git(["add", "mine"]);
    project.git(["commit", "-qm", "mine"]);
    let mine = project.git(["rev-parse", "HEAD"]);
    let project = project.model([session([reply([resets]), reply([hand_over()])])]);

    project.run(["run"]).tells("out of the branch");

    assert!(project.git(["for-each-ref", "refs/longhaul/base", "--format=%(objectname)"]).contains(&mine));
}

#[test]
fn changes_inside_a_submodule_end_no_run_and_prove_nothing() {
    let project = Project::new();
    let library = project.home().join("library");
    let library = library.to_str().unwrap();
    project.git(["init", "-q", library]);
    project.git(["-C", library, "commit", "-q", "--allow-empty", "-m", "library"]);
    project.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib"]);
    project.git(["commit", "-qm", "submodule"]);
    project.run(["init"]).exits(0);
    let inside = session([reply([bash("touch lib/inside more")]), reply([hand_over()])]);
    let project = project.feature("a", "test -f lib/inside").model([inside]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("left out of the session's commit: `lib`");
    assert_eq!(project.status("a"), "open");
    // It is there, it is told, and it is in nobody's way.
    project.run(["check", "--all"]).tells("changes inside submodules stay where they are: `lib`");
}

#[test]
fn a_project_that_needs_no_init_script_gets_past_its_initializer() {
    let features =
        call("add_features", json!({ "features": [{ "id": "a", "title": "a", "check": { "run": "test -f a" } }] }));
    let initializer = session([reply([features]), reply([hand_over()]), reply([hand_over()])]);
    let project = Project::new().model([initializer, makes("a")]);
    project.write("../SPEC.md", "# Something small\n");

    project.run(["init", "--spec", "../SPEC.md"]).exits(0).hides("not finished");
    project.run(["run"]).exits(0);

    assert!(project.memory_git(["show", "HEAD:init.md"]).contains("this project needs none"));
}

#[test]
fn without_a_final_sweep_a_run_does_not_end_as_done() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);

    project.run(["run", "--no-final-sweep"]).exits(3).tells("the final sweep was left out");
}

#[test]
fn a_variable_of_git_does_not_lead_to_another_repository() {
    let other = Project::new();
    let before = other.git(["rev-parse", "HEAD"]);
    let elsewhere = other.root().join(".git");
    let project =
        Project::ready().feature("a", "test -f a").model([makes("a")]).variable("GIT_DIR", elsewhere.to_str().unwrap());

    project.run(["run"]).exits(0);

    assert_eq!(other.git(["rev-parse", "HEAD"]), before);
}

#[test]
fn a_blocked_feature_that_works_meanwhile_is_proven_before_the_run_gives_up() {
    let idle = || session([reply([bash("date +%N > attempt")]), reply([hand_over()])]);
    let both = session([reply([bash("touch easy hard")]), reply([hand_over()])]);
    let project = Project::ready().feature("hard", "test -f hard").feature("easy", "test -f easy").model([
        idle(),
        idle(),
        idle(),
        both,
    ]);

    project.run(["run"]).exits(0).tells("hard is blocked after 3 attempts").tells("hard is proven without a session");
}

#[test]
fn files_taken_out_of_the_index_end_no_session_with_an_error() {
    let command = "touch a; git add .; git commit -qm a; git rm -q --cached README";
    let project =
        Project::ready().feature("a", "test -f a").model([session([reply([bash(command)]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains("agent: done: worked on it"));
}

#[test]
fn amended_work_is_in_the_progress_entry() {
    let amend = bash("touch a; git add a; git commit -q --amend -m better");
    let project = Project::ready().feature("a", "test -f a").model([session([reply([amend]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    let head = project.git(["rev-parse", "--short=7", "HEAD"]);
    assert!(project.memory_git(["show", "HEAD:progress.md"]).contains(&format!("project commits: {head}")));
}

#[test]
fn a_submodule_that_is_told_to_be_ignored_is_looked_at_all_the_same() {
    let project = Project::new();
    let library = project.home().join("library");
    let library = library.to_str().unwrap();
    project.git(["init", "-q", library]);
    project.git(["-C", library, "commit", "-q", "--allow-empty", "-m", "library"]);
    project.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib"]);
    project.git(["commit", "-qm", "submodule"]);
    project.run(["init"]).exits(0);
    let hides = bash("git config submodule.lib.ignore all; touch lib/inside more");
    let project = project.feature("a", "test -f lib/inside").model([session([reply([hides]), reply([hand_over()])])]);

    project.run(["run", "--sessions", "1"]).exits(3).tells("left out of the session's commit: `lib`");
}

#[test]
fn limits_that_would_not_bind_are_refused() {
    let project = Project::ready().feature("a", "test -f a").model([]);

    project.run(["run", "--sessions", "0"]).exits(2).tells("would allow nothing");
    project.run(["run", "--budget", "5"]).exits(2).tells("no price is known for the model `claude-opus-5-5`");
}

#[test]
fn one_endless_line_of_a_check_stays_out_of_the_checklist() {
    let project = Project::ready().feature("a", "head -c 300000 /dev/zero | tr '\\0' x; test -f a").model([makes("b")]);

    let run = project.run(["run", "--sessions", "1"]);
    run.exits(3);

    assert!(run.stderr.len() < 5_000, "{}", run.stderr.len());
    assert!(project.checklist().to_string().len() < 5_000);
}

#[test]
fn a_session_that_leaves_its_branch_is_told_and_its_commits_are_kept() {
    let strays = bash("git checkout -q --detach && touch a && git add a && git commit -qm stray");
    let project = Project::ready().feature("a", "test -f b").model([session([reply([strays]), reply([hand_over()])])]);

    project.run(["run"]).exits(2).tells("began on `main` and ended on a detached HEAD").tells("git switch -c");

    let stray = project.git(["rev-parse", "HEAD"]);
    assert!(project.git(["for-each-ref", "refs/longhaul/base", "--format=%(objectname)"]).contains(&stray));
}

#[test]
fn a_check_that_changes_tracked_files_does_not_end_the_run_with_an_error() {
    let project = Project::ready().feature("f", "test -f f").feature("g", "echo x >> README; test -f f");
    let idle = || session([reply([bash("true")]), reply([hand_over()])]);
    let project = project.model([makes("f"), idle(), idle()]);

    project.run(["run", "--sessions", "3"]).exits(3).shows("the check changed tracked files: `README`");

    assert_eq!(project.status("g"), "open");
    assert_eq!(project.stored("f")["passes"], true);
}

#[test]
fn a_budget_in_dollars_binds_once_the_price_is_known() {
    let long = session([reply([bash("true")]), reply([bash("true")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([long]);
    let config = project.home().join(".config/longhaul");
    std::fs::create_dir_all(&config).unwrap();
    let prices = "[prices.\"claude-opus-5-5\"]\ninput = 5.0\noutput = 25.0\ncache_write = 6.25\ncache_read = 0.5\n";
    std::fs::write(config.join("config.toml"), prices).unwrap();

    let run = project.run(["run", "--budget", "0.001"]);

    run.exits(3).tells("the budget of 0.001 USD is used up").tells("1 feature open").tells(" USD · nearest limit");
    assert_eq!(project.played().requests().len(), 1);
    let cost = project.events(1).iter().find(|event| event["type"] == "replied").unwrap()["cost"].as_f64().unwrap();
    assert!(cost > 0.001, "{cost}");
    let progress = project.memory_git(["show", "HEAD:progress.md"]);
    assert!(progress.contains(" USD, "), "{progress}");
}

#[test]
fn a_time_limit_ends_the_run_before_the_next_request() {
    let slow = session([reply([bash("sleep 0.4")]), reply([hand_over()])]);
    let project = Project::ready().feature("a", "test -f a").model([slow]);

    project.run(["run", "--time", "0.3s"]).exits(3).tells("the time budget of 0.3s is used up");

    assert!(project.played().requests().len() <= 1);
}
