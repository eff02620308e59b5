//! What commands see of the machine, and what they cannot write.

use super::told;
use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::json;

#[test]
fn what_is_not_the_agents_cannot_be_written_or_is_not_there() {
    let attempts = [
        "echo x > .longhaul/memory/features.json",
        "mv .longhaul away",
        "mv .git away",
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/longhaul/x",
        "touch /usr/bin/x",
        "echo x > /proc/sys/kernel/core_pattern",
    ];
    let calls = attempts.map(bash);
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply(calls),
        reply([bash(
            "ls -A .git/longhaul; ls -A ~; touch mine; git add mine; git commit -qm mine; git log -1 --format=%s",
        )]),
        reply([hand_over()]),
    ])]);
    let told = told(&project);
    for (attempt, result) in attempts.iter().zip(&told) {
        assert!(result.contains("[exit code 1]"), "{attempt}: {result}");
    }
    assert_eq!(told[attempts.len()], "sessions\nmine\n[exit code 0]");
    assert_eq!(project.git(["log", "-1", "--format=%s"]), "mine");
}

#[test]
fn what_was_too_long_for_the_context_can_be_read_from_inside() {
    let digest = "$(seq 1 20000 | sha256sum | cut -d' ' -f1)";
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash("seq 1 20000")]),
        reply([bash(&format!("sed -n 10000p .git/longhaul/sessions/0001/artifacts/{digest}.txt"))]),
        reply([bash("touch .git/longhaul/sessions/0001/artifacts/mine")]),
        reply([hand_over()]),
    ])]);
    let told = told(&project);
    assert!(told[0].contains("artifacts/") && !told[0].contains("\n10000\n"), "{}", told[0]);
    assert_eq!(told[1], "10000\n[exit code 0]");
    assert!(told[2].contains("[exit code 1]"), "{}", told[2]);
}

#[test]
fn an_image_close_to_the_limit_comes_through() {
    let make = "{ printf '\\211PNG\\r\\n\\032\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\001\\0\\0\\0\\001'; head -c 3700000 /dev/zero; printf IEND; } >a.png";
    let view = call("str_replace_based_edit_tool", json!({"command": "view", "path": "a.png"}));
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([session([
        reply([bash(make)]),
        reply([view]),
        reply([hand_over()]),
    ])]);
    project.run(["run", "--sessions", "1"]);

    let messages = project.played().requests().pop().unwrap()["messages"].clone();
    let block = &messages[4]["content"][0]["content"][0];
    assert_eq!((&block["type"], &block["source"]["media_type"]), (&json!("image"), &json!("image/png")));
    assert!(block["source"]["data"].as_str().unwrap().len() > 4_900_000);
}

#[test]
fn the_editor_follows_no_link_out_of_the_project() {
    let project = Project::ready().sandboxed().feature("a", "test -f a");
    let outside = project.home().join("secret");
    std::fs::write(&outside, "secret\n").unwrap();
    let link = format!("ln -s '{}' link; ln -s .git/hooks hooks", outside.display());
    let view = call("str_replace_based_edit_tool", json!({"command": "view", "path": "link"}));
    let plant =
        call("str_replace_based_edit_tool", json!({"command": "create", "path": "hooks/pre-commit", "file_text": "x"}));
    let write = call("str_replace_based_edit_tool", json!({"command": "create", "path": "a", "file_text": "x\n"}));
    let project = project.model([session([reply([bash(&link), view, plant, write]), reply([hand_over()])])]);
    let told = told(&project);
    assert!(!told[1].contains("secret\n"), "{}", told[1]);
    assert!(told[2].contains("cannot") || told[2].contains("git's own"), "{}", told[2]);
    assert_eq!(project.read("a"), "x\n");
}

/// A whole run, from where the user stands and with what they have.
#[test]
fn a_project_reached_by_a_link_and_a_user_without_a_home_are_held_too() {
    let makes = || session([reply([bash("pwd; touch a; git add a && git commit -qm made")]), reply([hand_over()])]);
    let project = Project::ready().sandboxed().feature("a", "test -f a").feature("b", "test -f b");
    let project = project.model([makes(), session([reply([bash("touch b")]), reply([hand_over()])])]);
    let link = project.root().with_file_name("link");
    std::os::unix::fs::symlink(project.root(), &link).unwrap();

    let run = project.command(["run", "--sessions", "1"]).current_dir(&link).output().unwrap();
    assert!(!project.events(1).is_empty(), "{run:?}");
    assert_eq!(project.status("a"), "proven", "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(project.git(["log", "--format=%s", "-1"]), "made");

    // What is held in the repository changes nothing for who works with it.
    project.git(["worktree", "add", "-q", "../linked"]);
    let linked = project.command(["status"]).current_dir(project.root().with_file_name("linked")).output().unwrap();
    assert!(linked.status.success(), "{linked:?}");
    project.git(["worktree", "remove", "../linked"]);

    let run = project.command(["run"]).env_remove("HOME").output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Lays a program beside the project, which is below `/tmp`, with what it needs beside it.
fn program_beside(project: &Project, installation: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let folder = project.root().join("..").canonicalize().unwrap().join(installation);
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::fs::create_dir_all(folder.join("lib")).unwrap();
    std::fs::write(folder.join("lib/part"), "").unwrap();
    let program = folder.join("bin/house-tool");
    std::fs::write(&program, "#!/bin/sh\ncat \"$(dirname \"$0\")/../lib/part\"\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

fn with_path(project: Project, program: &std::path::Path) -> Project {
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    project.variable("PATH", &path)
}

#[test]
fn a_program_on_the_path_below_a_replaced_folder_is_there_and_one_beside_it_is_told() {
    let project = Project::ready().sandboxed();
    let (shown, hidden) = (program_beside(&project, "shown"), program_beside(&project, "hidden"));
    let project = with_path(project, &shown).feature("a", "house-tool && test -f a");
    project.run(["doctor"]).exits(0).prints("1 check, every program is there: house-tool");
    project.run(["check", "a"]).exits(8).hides("not runnable");

    let project = project.feature("b", &format!("{} && test -f a", hidden.display()));
    let reason = format!("lies in `{}`, which the sandbox does not show", hidden.display());
    let folder = hidden.parent().unwrap().parent().unwrap().display().to_string();
    let way_out = format!("add `{folder}` to `sandbox.read`");
    project.run(["doctor"]).exits(0).prints(&format!("`{}` {reason}; needed by: check of b", hidden.display()));
    project.run(["doctor"]).prints(&way_out);
    project.run(["check", "b"]).shows("not runnable").shows(&format!("{reason}: {way_out}"));
    // The way out is one.
    let project = project.variable("LONGHAUL_SANDBOX_READ", &folder);
    project.run(["doctor"]).exits(0).hides("does not show");
    project.run(["check", "b"]).exits(8).hides("not runnable");
}

#[test]
fn a_folder_on_the_path_into_which_others_can_write_is_not_shown() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::ready().sandboxed();
    let program = program_beside(&project, "open");
    let folder = program.parent().unwrap().to_owned();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let project = with_path(project, &program).feature("a", "house-tool && test -f a");

    let told = format!("`{}` is on your PATH, but others can write into it", folder.display());
    project
        .run(["doctor"])
        .exits(0)
        .prints(&told)
        .prints("since others can write into its folder; needed by: check of a");
    project.run(["check", "a"]).shows("not runnable").shows("since others can write into its folder");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.run(["doctor"]).exits(0).hides("others can write");
    project.run(["check", "a"]).exits(8).hides("not runnable");
}

/// What a person shows by name is shown, though it is a key; what lies beside it is not.
#[test]
fn a_key_that_is_shown_by_name_is_there_and_no_other() {
    let keys = [".ssh/known_hosts", ".cargo/credentials.toml", ".ssh/id_ed25519", ".cargo/credentials"];
    for (sandboxed, shown) in [(true, 2), (true, 0), (false, 4)] {
        let project = Project::ready().feature("a", "test -f a");
        for key in keys {
            let path = project.home().join(key);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("text of {key}\n")).unwrap();
        }
        let by_path = project.home().join(keys[1]).display().to_string();
        let named = if shown == 2 { format!("[\"~/{}\", \"{by_path}\"]", keys[0]) } else { String::new() };
        let project = if sandboxed { project.sandboxed() } else { project };
        let reads = keys.map(|key| project.home().join(key).display().to_string()).join(" ");
        let reads = format!("cat {reads}");
        let project = project.variable("LONGHAUL_SANDBOX_READ", &named);
        let told = told(&project.model([session([reply([bash(&reads)]), reply([hand_over()])])]));

        for (number, key) in keys.iter().enumerate() {
            assert_eq!(told[0].contains(&format!("text of {key}\n")), number < shown, "{key}, {sandboxed}: {told:?}");
        }
    }
}

/// A test that rewrites a file of its folder and puts it back; who may write it is for the check to say.
#[test]
fn a_pinned_file_that_a_test_rewrites_is_named_with_both_ways_out_and_either_lets_it() {
    let test = "cp -p state.txt k; echo 2 >state.txt; cp -p k state.txt; rm k; test -f ../a\n";
    let project = Project::ready().sandboxed();
    project.write("tests/a.sh", &format!("set -e; cd tests; {test}"));
    project.write("tests/state.txt", "1\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "tests"]);
    let check = |text: &str, closure: &str| {
        let check = format!(r#"{{"run": "{text}", "closure": ["tests"{closure}]}}"#);
        let list = format!(r#"[{{"id": "a", "title": "a", "check": {check}}}]"#);
        project.run_with(["feature", "add", "-"], &list).exits(0);
        project.write("a", "");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "work"]);
        let found = project.run(["check", "a"]);
        project.git(["rm", "-qf", "a"]);
        project.git(["commit", "-qm", "away"]);
        project.run(["feature", "remove", "a"]).exits(0);
        found
    };
    check("sh tests/a.sh", "")
        .exits(8)
        .shows("`tests/state.txt` decides, so it cannot be written while the check runs")
        .shows("`touch tests/state.txt` is enough; or unpin it by `\"!tests/state.txt\"` in its `closure`");
    check("touch tests/state.txt; sh tests/a.sh", "").exits(0);
    check("sh tests/a.sh", r#", "!tests/state.txt""#).exits(0);
}
