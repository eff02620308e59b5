//! Secrets stay out of memory, whoever writes.

use crate::support::Project;
use crate::support::call;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

/// Made up here, so that no text in the sources looks like one.
fn secret() -> String {
    format!("gh{}{}", "p_", "a1B2c3D4e5F6g7H8i9J0".repeat(2))
}

/// Looks for it in each object of the memory, in the view, and in what the command said.
fn is_kept(project: &Project) -> bool {
    let objects = project.memory_git(["cat-file", "--batch-all-objects", "--batch"]);
    let view = std::process::Command::new("grep").args(["-rq", &secret()]).arg(project.view()).status().unwrap();
    objects.contains(&secret()) || view.success()
}

/// E20: an agent committed a key. All kinds of them are in `src/memory/rules/screen.rs`.
#[test]
fn the_agent_is_refused_and_its_words_at_the_end_are_kept_without_it() {
    let note = format!("---\nname: a\ndescription: b\ntype: project\n---\ntoken: {}\n", secret());
    let create = memory(json!({"command": "create", "path": "/memories/notes/a.md", "file_text": note}));
    let words =
        json!({"done": format!("logged in with {}", secret()), "check_problem": format!("it needs {}", secret())});
    let project = Project::ready()
        .feature("a", "test -f a")
        .model([session([reply([create]), reply([call("hand_over", words)])])]);

    project.run(["run", "--sessions", "1"]);

    let told = project.played().results_in(2);
    let line = "its line 6 has what looks like a secret (rule `github-token`)";
    assert!(told.contains(&format!("Error: /memories/notes/a.md is not written: {line}. Instead: ")), "{told}");
    let progress = project.memory_git(["show", "HEAD:progress.md"]);
    assert!(progress.contains("done: logged in with [github-token left out]"), "{progress}");
    assert_eq!(project.stored("a")["check_problem"], "it needs [github-token left out]");
    assert!(!is_kept(&project));
}

#[test]
fn a_person_is_refused_with_the_way_out() {
    let project = Project::ready();
    let check = format!("curl -fs -H 'Authorization: Bearer {}' localhost:8080", secret());
    let add = ["feature", "add", "--id", "a", "--title", "A", "--check", &check];
    project
        .run(add)
        .exits(2)
        .tells("what was given is not taken in: it has what looks like a secret (rule `github-token`)");
    project.run(add).tells("`--set memory.secrets=allow` lets it pass");
    let create = ["memory", "create", "notes/a.md", "-"];
    let note = format!("---\nname: a\ndescription: b\ntype: project\n---\n{}\n", secret());
    project.run_with(create, &note).exits(2);
    project.write("SPEC.md", &format!("# Spec\n\nUse {}.\n", secret()));
    project.run(["init", "--spec", "SPEC.md"]).exits(2).tells("the specification is not taken in: its line 3 has");
    assert!(!is_kept(&project));

    project.run(add.iter().chain(&["--set", "memory.secrets=allow"])).exits(0);
    assert!(is_kept(&project), "its twin");
    project.run(["feature", "edit", "a", "--json", r#"{"title": "B"}"#]).exits(0);
    let edit = format!(r#"{{"title": "{}"}}"#, secret());
    project.run(["feature", "edit", "a", "--json", &edit]).exits(2).tells("the change is not taken in");
    project.run(["feature", "block", "a", "--reason", &secret()]).exits(2).tells("the reason is not taken in");
}

#[test]
fn an_edit_in_the_view_that_has_one_is_set_aside_and_told() {
    let project = Project::ready();
    let note = format!("---\nname: a\ndescription: b\ntype: project\n---\n{}\n", secret());
    project.write(".longhaul/memory/notes/a.md", &note);
    let check = project.run(["check"]);
    check.tells(
        "`notes/a.md` in the view was not taken in: its line 6 has what looks like a secret (rule `github-token`)",
    );
    check.tells("what was found at `notes/a.md` is kept as `");
    assert!(!is_kept(&project));
}

#[test]
fn an_initializer_writes_none_into_the_checklist_or_a_check() {
    let script = json!({"name": "a.sh", "text": format!("curl -H 'X: {}' localhost", secret())});
    let features = json!({"features": [{"id": "a", "title": format!("uses {}", secret()), "check": "test -f a"}]});
    let project = Project::new().model([session([
        reply([call("add_check_file", script), call("add_features", features)]),
        reply([call("hand_over", json!({"done": "nothing"}))]),
    ])]);
    project.write("SPEC.md", "a program");
    project.run(["init", "--spec", "SPEC.md"]);
    let told = project.played().results_in(2);
    assert_eq!(
        told.matches("nothing is written: it has what looks like a secret (rule `github-token`)").count(),
        2,
        "{told}"
    );
    assert!(!is_kept(&project));
}

#[test]
fn what_a_check_prints_of_one_is_in_no_verdict() {
    let check = "cat token; exit 1";
    let project = Project::ready();
    project.write("token", &format!("the token: {}\n", secret()));
    project.git(["add", "token"]);
    project.git(["commit", "-qm", "a token"]);
    let project = project.feature("a", check);
    project.run(["check", "a"]).exits(8).hides(&secret()).shows("the token: [github-token left out]");
    project.run(["show", "a"]).hides(&secret());
    assert!(!is_kept(&project));
    project.run(["check", "a", "--set", "memory.secrets=allow"]).exits(8).shows(&secret());
    assert!(is_kept(&project), "its twin");
}
