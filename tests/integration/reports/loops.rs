//! Family C: loops that go nowhere, and loops taken for such.

use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;
use serde_json::json;

/// A session that runs this and hands over.
fn runs(command: &str) -> Value {
    session([reply([bash(command)]), reply([hand_over()])])
}

/// C17: loop detection threw the whole context away.
#[test]
fn c17_a_session_in_a_circle_ends_in_order_and_the_next_one_hears_why() {
    let circle = [reply([bash("echo half > work; cat absent")])].into_iter().cycle().take(9);
    let project = Project::ready().feature("a", "test -f a").model([session(circle), runs("touch a")]);

    project.run(["run"]).exits(0).tells("session 1 ended: stuck: the same call came 6 times in a row");

    let requests = project.played().requests();
    assert_eq!(requests.len(), 8, "six of the circle");
    let third = requests[3]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(third.contains("at least the third time in a row"), "{third}");
    let next = requests[6]["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(next.contains("ended: stuck: the same call came 6 times in a row with the same result: `bash`"), "{next}");
    assert!(next.contains("gave `cat: absent: No such file or directory`"), "{next}");
    assert_eq!(project.git(["show", "HEAD~1:work"]), "half", "its work is kept");
    let log = project.memory_log();
    assert!(log.iter().any(|subject| subject.starts_with("gate: a ")), "it was an attempt: {log:?}");
}

/// C18: three equal messages that a task is complete ended a healthy run.
#[test]
fn c18_sessions_that_each_prove_a_feature_with_the_same_words_never_stop_a_run() {
    let project = (1..=4)
        .fold(Project::ready(), |project, number| project.feature(&format!("f{number}"), &format!("test -f f{number}")))
        .model((1..=4).map(|number| runs(&format!("touch f{number}"))));

    project.run(["run", "--set", "run.breaker=1"]).exits(0);
}

/// C20: a counter of sessions without progress was reset by edits of the loop's own state.
#[test]
fn c20_what_moves_nothing_resets_no_counter() {
    let rewrites = |number: usize| {
        let create =
            json!({"command": "create", "path": format!("/memories/notes/{number}.md"), "file_text": as_note("x")});
        session([reply([memory(create)]), reply([hand_over()])])
    };
    let idle = [
        rewrites(1),
        runs("git commit -q --allow-empty -m nothing"),
        runs("touch -d 2001-01-01 README; mkdir -p x; echo ignored > x/log; echo x >> .git/info/exclude"),
        runs("printf 'a project   \\n\\n' > README"),
        runs("echo y > tmp; git add tmp; git commit -qm tmp; git rm -q tmp; git commit -qm tmp"),
    ];
    for (number, one) in idle.into_iter().enumerate() {
        let project = Project::ready().feature("a", "test -f a").model([one]);
        let run = project.run(["run", "--set", "run.breaker=1"]);
        assert_eq!(run.code, Some(4), "{number}: {}", run.whole());
        run.tells("1 session in a row proved nothing and changed nothing");
    }
}

/// C20, its other half: what one session did and the next took back.
#[test]
fn c20_going_to_and_fro_is_no_progress() {
    let fro = || runs("rm b; true");
    let project =
        Project::ready().feature("a", "test -f a").model([runs("touch b"), fro(), runs("touch b"), fro(), fro()]);

    let run = project.run(["run", "--set", "run.breaker=2", "--set", "run.attempts=9"]);

    run.exits(4).tells("session 3 ended").tells("2 sessions in a row proved nothing and changed nothing");
    assert!(!project.state().join("sessions/0004").exists());
}
