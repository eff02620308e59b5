//! A person changes the checklist: `feature edit`, `move`, `block`, `reopen`.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

/// A project whose user's editor runs this shell text on `$1`, the file.
fn edited_by(text: &str) -> Project {
    let project = Project::ready().feature("login", "test -f login").variable("EDITOR", "sh ../editor.sh");
    project.write("../editor.sh", text);
    project
}

#[test]
fn an_editor_sees_what_a_person_may_change_and_the_change_is_committed() {
    let project = edited_by("cp \"$1\" ../seen; sed -i 's/\"title\": \"login\"/\"title\": \"A user logs in\"/' \"$1\"");

    project.run(["feature", "edit", "login"]).exits(0).prints("login: changed, open");

    let expected =
        json!({"id": "login", "title": "login", "required": true, "depends_on": [], "check": {"run": "test -f login"}});
    assert_eq!(serde_json::from_str::<serde_json::Value>(&project.read("../seen")).unwrap(), expected);
    assert_eq!(project.stored("login")["title"], "A user logs in");
    assert_eq!(project.stored("login")["baseline"]["verdict"], "failed");
    assert_eq!(project.memory_log()[0], "checklist: edit login");
}

#[test]
fn a_text_that_is_no_feature_changes_nothing_and_is_opened_again() {
    let project = edited_by("sed -i 's/\"title\": \"login\"/\"title\": /' \"$1\"");
    let before = project.memory_git(["rev-parse", "HEAD"]);

    let run = project.run(["feature", "edit", "login"]);
    run.exits(2).tells("nothing was changed: it is no JSON: line 3").tells("your text is kept in `");
    assert_eq!(project.memory_git(["rev-parse", "HEAD"]), before);

    project.write("../editor.sh", "sed -i 's/\"title\": /\"title\": \"mended\"/' \"$1\"");
    project.run(["feature", "edit", "login"]).exits(0).tells("going on with the text kept in");
    assert_eq!(project.stored("login")["title"], "mended");
    // It is gone once it was taken over.
    project.write("../editor.sh", "true");
    project.run(["feature", "edit", "login"]).exits(0).hides("kept in");
}

#[test]
fn an_editor_that_changes_nothing_or_fails_leaves_everything_as_it_was() {
    let project = edited_by("true");
    let before = project.memory_git(["rev-parse", "HEAD"]);

    project.run(["feature", "edit", "login"]).exits(0).prints("login: nothing changed");
    project.write("../editor.sh", "exit 1");
    project.run(["feature", "edit", "login"]).exits(2).tells("ended with exit code 1").tells("EDITOR");
    project.run(["feature", "edit", "lgin"]).exits(2).tells("did you mean `login`?");

    assert_eq!(project.memory_git(["rev-parse", "HEAD"]), before);
    assert_eq!(
        std::fs::read_dir(project.state().join("outputs"))
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("edit-"))
            .count(),
        0
    );
}

#[test]
fn the_editor_does_not_get_the_key() {
    let project = edited_by("env > ../seen").model([]);

    project.run(["feature", "edit", "login"]).exits(0);

    let seen = project.read("../seen");
    assert!(seen.contains("HOME=") && !seen.contains(crate::support::KEY), "{seen}");
}

#[test]
fn a_changed_check_is_approved_by_the_user_pinned_and_has_a_new_baseline() {
    let works = session([reply([bash("touch login")]), reply([hand_over()])]);
    let project = Project::ready().feature("login", "test -f login").model([works]);
    project.run(["run"]).exits(0);
    project.write("tests/login.sh", "test -f login && test -f logout\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "test"]);

    let change = r#"{"check": {"run": "sh tests/login.sh"}}"#;
    project
        .run(["feature", "edit", "login", "--json", change])
        .exits(0)
        .prints("login: open")
        .prints("pinned tests/login.sh");

    let stored = project.stored("login");
    assert_eq!((&stored["passes"], &stored["evidence"]), (&json!(false), &json!(null)));
    assert_eq!((&stored["check"]["approved_by"], &stored["baseline"]["verdict"]), (&json!("user"), &json!("failed")));
    let bytes = project.memory_git([
        "show",
        &format!(
            "HEAD:checks/pinned/{}",
            stored["check"]["pins"]["tests/login.sh"].as_str().unwrap().split(' ').next_back().unwrap()
        ),
    ]);
    assert_eq!(bytes, "test -f login && test -f logout");
}

#[test]
fn scripts_give_fields_as_json_and_cannot_give_what_only_longhaul_writes() {
    let project = Project::ready();
    let login = r#"{"id": "login", "title": "login", "check": "test -f login", "owner": "eve"}"#;
    project.run_with(["feature", "add", "-"], login).exits(0);

    project.run_with(["feature", "edit", "login", "--json", "-"], r#"{"required": false, "owner": "ada"}"#).exits(0);
    project
        .run(["feature", "edit", "login", "--json", r#"{"state": "proven"}"#])
        .exits(2)
        .tells("nothing was changed: `state` is not a key of a feature");
    assert_eq!(project.stored("login")["state"], json!(null));
    assert_eq!(
        (&project.stored("login")["required"], &project.stored("login")["owner"]),
        (&json!(false), &json!("ada"))
    );

    for given in [r#"{"passes": true, "evidence": {}}"#, r#"{"baseline": null}"#, r#"{"check": {"pins": {"x": null}}}"#]
    {
        project.run(["feature", "edit", "login", "--json", given]).exits(2).tells("only longhaul writes it");
    }
    project.run(["feature", "edit", "login", "--json", "{"]).exits(2).tells("what was given is no JSON");
    assert_eq!(project.status("login"), "open");
}

#[test]
fn a_moved_feature_is_worked_on_in_its_new_turn() {
    let works = session([reply([bash("touch c")]), reply([hand_over()])]);
    let project = ["a", "b", "c"]
        .into_iter()
        .fold(Project::ready(), |project, id| project.feature(id, &format!("test -f {id}")))
        .model([works]);

    project.run(["feature", "move", "c", "--before", "b"]).exits(0).prints("c: moved");
    project.run(["feature", "move", "a", "--last"]).exits(0);

    assert!(project.run(["status"]).stdout.contains("next: c"), "{}", project.run(["status"]).whole());
    let list = project.run(["feature", "list"]).stdout;
    let ids: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, ["c", "b", "a"]);
    project.run(["run", "--sessions", "1"]).exits(3);
    assert_eq!(project.status("c"), "proven");
    project.run(["feature", "move", "a", "--after", "x"]).exits(2).tells("there is no feature `x`");
}

#[test]
fn a_check_that_is_at_fault_is_no_work_after_it_was_reopened() {
    let faults = [("empty", "sh tests/a.sh"), ("tree moved", "echo x >> README")];
    for (finding, check) in faults {
        let project = Project::ready();
        project.write("tests/a.sh", "# later\n");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "test"]);
        let project = project.feature("a", check).model([]);
        assert_eq!(
            (project.status("a").as_str(), &project.stored("a")["last_verdict"]["verdict"]),
            ("blocked", &json!(finding))
        );

        project.run(["feature", "reopen", "a"]).exits(0).prints("a: reopened, blocked");

        project.run(["run"]).exits(4).tells("`longhaul feature edit a` changes the check");
        project.run(["status"]).prints("`longhaul feature edit a` changes the check");
        assert!(project.played().requests().is_empty());
        project
            .run(["feature", "edit", "a", "--json", r#"{"check": {"run": "test -f a"}}"#])
            .exits(0)
            .prints("a: open");
    }
}

#[test]
fn of_a_removed_feature_the_history_is_shown() {
    let project = Project::ready().feature("gone", "test -f gone").feature("gone2", "true");
    project.run(["feature", "remove", "gone"]).exits(0);

    project
        .run(["show", "gone"])
        .exits(0)
        .prints("gone: removed\nhistory\n")
        .prints("check approved")
        .hides("did you mean");
    project.run(["show", "gone", "--json"]).exits(0).prints("\"state\":\"removed\"");
    project.run(["show", "gone3"]).exits(2).tells("did you mean `gone2`?");
}

#[test]
fn a_blocked_feature_is_left_out_until_it_is_reopened() {
    let project = Project::ready().feature("a", "test -f a").model([]);

    project.run(["feature", "block", "a", "--reason", " "]).exits(2);
    project.run(["feature", "block", "a", "--reason", "needs a licence"]).exits(0);
    project.run(["run"]).exits(4).tells("a is blocked: needs a licence").tells("longhaul feature reopen a");

    project.run(["feature", "reopen", "a"]).exits(0).prints("a: reopened, open");
    assert!(project.played().requests().is_empty());
}

#[test]
fn without_a_terminal_no_editor_is_opened_that_nobody_named() {
    let project = Project::ready().feature("login", "test -f login");
    let bin = project.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("vi"), "#!/bin/sh\ntouch \"$HOME/opened\"\n").unwrap();
    std::fs::set_permissions(bin.join("vi"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let opened = project.home().join("opened");
    let project = project.variable("PATH", &path);

    let run = project.run(["feature", "edit", "login"]);

    run.exits(2).tells("there is no terminal for an editor").tells("`longhaul feature edit login --json '{");
    assert!(!opened.exists());
    // The twin: one that is named is opened.
    let project = project.variable("VISUAL", "vi");
    project.run(["feature", "edit", "login"]).exits(0);
    assert!(opened.exists());
}
