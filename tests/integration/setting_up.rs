//! `init`, `feature`, and what they refuse.

use crate::support::Project;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use crate::support::signal;
use serde_json::json;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

#[test]
fn init_makes_a_memory_whose_log_reads_as_a_story() {
    let project = Project::ready();

    let log = project.memory_log();

    assert_eq!(
        log.iter().rev().collect::<Vec<_>>(),
        ["init: the index", "init: the progress log", "init: the checklist", "init: the init-script reference"]
    );
    assert_eq!(project.memory_git(["fsck", "--strict"]), "");
    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert_eq!(project.read(".git/info/exclude").lines().filter(|line| *line == ".longhaul/").count(), 1);
}

#[test]
fn a_second_init_changes_nothing_and_says_so() {
    let project = Project::ready().feature("f", "test -f f");
    let before = (project.memory_git(["rev-parse", "HEAD"]), project.read(".git/info/exclude"));

    project.run(["init"]).exits(0).shows("nothing");

    assert_eq!((project.memory_git(["rev-parse", "HEAD"]), project.read(".git/info/exclude")), before);
}

#[test]
fn an_init_that_was_cut_off_is_finished_by_the_next() {
    let project = Project::ready();
    let half = project.memory_git(["rev-parse", "HEAD~2"]);
    project.memory_git(["update-ref", "HEAD", &half]);

    project.run(["init"]).exits(0);

    assert_eq!(project.memory_log().len(), 4);
    project.run(["status"]).exits(0);
}

#[test]
fn a_checklist_that_is_not_taken_in_is_named_and_looked_at_all_the_same() {
    let project = Project::ready().feature("f", "test -f f");
    let before = project.checklist();
    project.write("../more.json", r#"[{"title": "G", "check": {"run": "test -f g"}}]"#);
    let run = project.run(["init", "--from", "../more.json"]);
    run.exits(0).prints("kept      the checklist in memory, which has features already").prints("not taken in");

    let none = r#"[{"title": "G", "check": {"run": ""}}]"#;
    let unnamed = r#"{"features": [{"id": "f", "check": {"run": "test -f f"}}]}"#;
    let number = r#"[{"title": 5, "check": {"run": "x"}}]"#;
    for (bad, reason) in
        [("{", "line 1"), (number, "`title` of one line"), (none, "needs a command"), (unnamed, "`title`")]
    {
        project.write("../more.json", bad);
        let refused = project.run(["init", "--from", "../more.json"]);
        refused.exits(2).tells("more.json` cannot be taken in: ").tells(reason);
    }
    assert_eq!(project.checklist(), before);
}

#[test]
fn init_offers_the_lines_for_the_lock_files_it_finds_and_writes_none() {
    let project = Project::new();
    project.run(["init"]).exits(0).hides("prepare");
    for name in ["package-lock.json", "Cargo.lock"] {
        project.write(name, "");
    }

    let run = project.run(["init"]);

    run.exits(0).prints("found     `package-lock.json`, `Cargo.lock`: checks run in your checkout");
    run.prints("              [gate]\n              prepare = \"npm ci && cargo fetch --locked\"\n");
    run.prints("\"closure\": [\"package-lock.json\", \"Cargo.lock\"]")
        .prints("in the sandbox `prepare` has the network");
    assert!(!project.root().join("longhaul.toml").exists());
    assert!(!project.home().join(".config").exists());
}

#[test]
fn the_line_that_init_offers_is_one_that_can_be_copied() {
    let project = Project::new();
    project.write("requirements.txt", "");
    let offered = project.run(["init"]).stdout;
    let setting: Vec<&str> = offered.lines().filter_map(|line| line.strip_prefix("              ")).collect();

    let settings: toml::Table = toml::from_str(&setting.join("\n")).unwrap();

    let prepare = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt";
    assert_eq!(settings["gate"]["prepare"].as_str(), Some(prepare));
}

#[test]
fn init_outside_a_repository_says_what_to_do() {
    let project = Project::new();
    fs::remove_dir_all(project.root().join(".git")).unwrap();

    project.run(["init"]).exits(2).tells("is not inside a git repository").tells("git init");
}

#[test]
fn a_folder_whose_path_is_not_utf_8_is_refused_by_its_name() {
    let project = Project::ready().feature("a", "test -f a");
    let odd = project.root().with_file_name(std::ffi::OsStr::from_bytes(b"my\xffproject"));
    fs::rename(project.root(), &odd).unwrap();

    for args in [vec!["init"], vec!["status", "--json"], vec!["check", "a"], vec!["run"]] {
        let output = project.command(&args).current_dir(&odd).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(
            said.contains("/my\u{fffd}project`, is not UTF-8") && said.contains("hint: rename"),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn init_in_a_directory_that_cannot_be_written_says_so() {
    let project = Project::new();
    let git = project.root().join(".git");
    // Root may write anywhere, so the way is barred by a file instead of by a mode.
    fs::write(git.join("longhaul"), "in the way").unwrap();
    fs::set_permissions(git.join("longhaul"), fs::Permissions::from_mode(0o400)).unwrap();

    let run = project.run(["init"]);

    run.exits(1).tells(".git/longhaul");
    assert_eq!(fs::read_to_string(git.join("longhaul")).unwrap(), "in the way");
}

#[test]
fn the_checklist_of_the_quickstart_is_taken_in_and_its_marks_are_only_claims() {
    let project = Project::new();
    let list = json!([
        { "category": "functional", "description": "A user can log in\nwith a password", "steps": ["open /login"], "passes": true },
        { "category": "style", "description": "The page is blue", "steps": [], "passes": false },
    ]);
    project.write("../feature_list.json", &list.to_string());

    project.run(["init", "--from", "../feature_list.json"]).exits(0).shows("2 features");

    let features = project.checklist()["features"].as_array().unwrap().clone();
    assert_eq!(
        features.iter().map(|feature| feature["title"].as_str().unwrap()).collect::<Vec<_>>(),
        ["A user can log in", "The page is blue"]
    );
    assert!(features.iter().all(|feature| feature["passes"] == false), "{features:?}");
    let id = features[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(project.status(&id), "no check");
}

#[test]
fn our_own_form_is_taken_in_with_its_checks_and_their_baselines() {
    let project = Project::new();
    let list = json!({ "version": 1, "features": [
        { "id": "red", "title": "not there yet", "check": { "run": "test -f f" }, "owner": "ada" },
        { "id": "green", "title": "there already", "check": { "run": "test -f README" } },
    ]});
    project.write("../list.json", &list.to_string());

    project.run(["init", "--from", "../list.json"]).exits(0);

    assert_eq!(["red", "green"].map(|id| project.status(id)), ["open", "already green"]);
    assert_eq!(project.stored("red")["owner"], "ada");
    assert_eq!(project.stored("red")["baseline"]["verdict"], "failed");
    assert_eq!(
        project.git(["for-each-ref", "refs/longhaul/base", "--format=%(objectname)"]),
        project.git(["rev-parse", "HEAD"])
    );
}

#[test]
fn an_import_into_a_project_that_half_works_says_so_and_spends_no_session_on_what_is_green() {
    let project = Project::new();
    // Of thirty features fourteen work already, thirteen do not, and three have no check.
    let feature = |at: usize| match at {
        0..14 => {
            project.write(&format!("old{at}"), "");
            json!({ "id": format!("old{at}"), "title": "x", "check": { "run": format!("test -f old{at}") } })
        }
        14..27 => {
            let needs = format!("old{}", at - 14);
            json!({ "id": format!("new{at}"), "title": "x", "depends_on": [needs], "check": format!("test -f new{at}") })
        }
        _ => json!({ "id": format!("bare{at}"), "title": "x", "required": false }),
    };
    let features: Vec<serde_json::Value> = (0..30).map(feature).collect();
    project.write("../list.json", &json!({ "features": features }).to_string());
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "what works"]);

    let init = project.run(["init", "--from", "../list.json"]);
    init.exits(0)
        .prints("import    13 red, to be worked on: new14")
        .prints("import    14 green already, not worked on");
    init.prints("import    3 without a check: bare27, bare28, bare29");

    let all: String = (14..27).map(|at| format!("touch new{at}; ")).collect();
    let project = project.model([session([reply([bash(&all)]), reply([hand_over()])])]);
    project.run(["run"]).exits(4).tells("longhaul accept old0 --reason TEXT");
    project.run(["accept", "--already-green", "--reason", "they worked before"]).exits(0);
    project.run(["run"]).exits(0).shows("done: 13 features proven, 14 accepted by a person, 3 optional still open");
    // One session, on a red one; the rest was proven without.
    assert_eq!(project.played().requests().len(), 2);
    assert_eq!(project.events(1)[0]["feature"], "new14");
}

#[test]
fn a_bad_checklist_is_refused_whole_and_nothing_is_made() {
    let twice = r#"{"version": 1, "features": [{"id": "a", "title": "x", "title": "y"}]}"#;
    let same = r#"[{"id": "a", "description": "x"}, {"id": "a", "description": "y"}]"#;
    for (text, reason) in
        [("", "empty"), ("{\"features\": [", "line 1"), (twice, "title"), (same, "`a`"), ("{\"goals\": []}", "goals")]
    {
        let project = Project::new();
        project.write("../list.json", text);

        project.run(["init", "--from", "../list.json"]).exits(2).tells("list.json").tells(reason);

        assert!(!project.state().join("memory.git").exists(), "{text}");
    }
}

#[test]
fn a_bad_specification_is_refused_and_nothing_is_made() {
    let project = Project::new();
    fs::write(project.root().join("latin1.md"), b"caf\xe9\n").unwrap();

    project.run(["init", "--spec", "none.md"]).exits(2).tells("none.md");
    project.run(["init", "--spec", "latin1.md"]).exits(2).tells("not UTF-8").tells("offset 3");

    assert!(!project.state().join("memory.git").exists());
}

#[test]
fn a_specification_without_a_key_is_kept_and_the_way_on_is_told() {
    let project = Project::new();
    project.write("../SPEC.md", "# A calculator\n");

    project.run(["init", "--spec", "../SPEC.md"]).exits(0).shows("ANTHROPIC_API_KEY");

    assert_eq!(project.memory_git(["show", "HEAD:spec.md"]), "# A calculator");
    project.run(["run"]).exits(2).tells("ANTHROPIC_API_KEY").tells("longhaul demo");
}

#[test]
fn the_initializer_turns_a_specification_into_features_with_checks() {
    let script = bash(
        "printf '#!/bin/sh\\necho ready\\n' > init.sh; chmod +x init.sh; git add init.sh; git commit -qm 'init script'",
    );
    let check = call("add_check_file", json!({ "name": "sum.sh", "text": "test \"$(sh sum.sh 2 3)\" = 5\n" }));
    let features = call(
        "add_features",
        json!({ "features": [
            { "id": "sum", "title": "Adds two numbers", "check": { "run": "sh \"$LONGHAUL_CHECKS/sum.sh\"" } },
        ]}),
    );
    let set_init = call("set_init", json!({ "path": "init.sh", "starts": "nothing", "ready": "it exits" }));
    let initializer = session([reply([script, check]), reply([features, set_init]), reply([hand_over()])]);
    let work = session([reply([bash("echo 'echo $(($1 + $2))' > sum.sh")]), reply([hand_over()])]);
    let project = Project::new().model([initializer, work]);
    project.write("../SPEC.md", "# A calculator\n");

    project.run(["init", "--spec", "../SPEC.md"]).exits(0);

    assert_eq!(project.status("sum"), "open");
    let pins = project.stored("sum")["check"]["pins"].as_object().unwrap().clone();
    let pin = pins["checks/sum.sh"].as_str().unwrap().to_owned();
    assert_eq!(project.memory_git(["show", &format!("HEAD:checks/pinned/{pin}")]), "test \"$(sh sum.sh 2 3)\" = 5");
    project.run(["run"]).exits(0).shows("done: 1 feature proven");
    assert_eq!(project.played().rejected(), Vec::<String>::new());
}

#[test]
fn an_unfinished_initializer_is_told_and_continued_by_run() {
    let features = |id: &str| {
        call(
            "add_features",
            json!({ "features": [{ "id": id, "title": id, "check": { "run": format!("test -f {id}") } }] }),
        )
    };
    let nothing = session([reply([hand_over()])]);
    let rest = session([
        reply([bash("echo true > init.sh"), features("a")]),
        reply([call("set_init", json!({ "path": "init.sh", "starts": "nothing", "ready": "it exits" }))]),
        reply([hand_over()]),
    ]);
    let work = session([reply([bash("touch a")]), reply([hand_over()])]);
    let project = Project::new().model([nothing, rest, work]);
    project.write("../SPEC.md", "# Something\n");

    project.run(["init", "--spec", "../SPEC.md"]).tells("no feature");
    project.run(["run"]).exits(0);

    assert_eq!(project.status("a"), "proven");
}

#[test]
fn features_are_added_from_options_and_from_json_and_removed() {
    let project = Project::ready().feature("a", "test -f a");
    let two = json!([{ "title": "Second thing", "check": "test -f b" }, { "id": "c", "title": "c", "check": "test -f c", "depends_on": ["a"] }]);

    project.run_with(["feature", "add", "-"], &two.to_string()).exits(0);

    project.run(["feature", "list"]).exits(0).prints("Second thing");
    assert_eq!(project.status("c"), "waiting");
    project.run(["feature", "remove", "a"]).exits(2).tells("`c` depends on it");
    project.run(["feature", "remove", "c"]).exits(0);
    project.run(["feature", "remove", "a"]).exits(0);
    project.run(["show", "a"]).exits(0).prints("a: removed");
    let log = project.memory_log();
    assert!(
        log.contains(&"checklist: add 2 features".to_owned()) && log.contains(&"checklist: remove a".to_owned()),
        "{log:?}"
    );
}

#[test]
fn a_feature_that_is_wrong_changes_nothing() {
    let project = Project::ready().feature("a", "test -f a");
    let head = project.memory_git(["rev-parse", "HEAD"]);
    let wrong = [
        (r#"{"id": "a", "title": "again", "check": "true"}"#, "`a`"),
        (r#"[{"id": "b", "title": "b", "check": "true"}, {"title": 7}]"#, "title"),
        (r#"{"id": "b", "title": "b", "check": {"run": "true", "timeuot": "5m"}}"#, "timeout"),
        (r#"{"id": "b", "title": "b", "check": "true", "depends_on": ["nobody"]}"#, "nobody"),
        ("not json", "line 1"),
    ];
    for (json, reason) in wrong {
        project.run_with(["feature", "add", "-"], json).exits(2).tells(reason);
    }

    assert_eq!(project.memory_git(["rev-parse", "HEAD"]), head);
}

#[test]
fn a_store_inside_a_repository_or_a_projects_memory_is_refused() {
    let project = Project::ready();
    for folder in [".git/longhaul", ".git/longhaul/memory.git", ".longhaul/memory", ".git"] {
        project.run(["memory", "view", "--store", folder]).exits(2).tells("another folder");
    }
    project.run(["memory", "view", "--store", "../elsewhere"]).exits(0);
}

#[test]
fn what_finds_nothing_says_so() {
    let project = Project::ready();

    project.run_with(["feature", "add", "-"], "[]").exits(2).tells("nothing to add");
    project.run(["log", "nope"]).exits(2).tells("memory never held `nope`");
    project.run(["log", "notes", "--author", "external"]).exits(0).tells("no commit of the memory fits");
    project.run(["show", "--session", "9"]).exits(2).tells("no session was held yet");
    project.run(["log", "--session", "9"]).exits(2).tells("there is no session 9").tells("no session was held yet");
}

#[test]
fn a_person_names_the_init_script_as_the_readme_says() {
    let project = Project::ready();
    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
    project.write("init.sh", "touch ready\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "init script"]);
    let check = json!({ "id": "a", "title": "a", "check": { "run": "test -f ready && test -f a", "setup": "init" } });
    project.run_with(["feature", "add", "-"], &check.to_string()).exits(0);

    assert_eq!(project.stored("a")["baseline"]["verdict"], "failed");
}

#[test]
fn a_check_whose_init_script_is_not_known_yet_was_not_red() {
    let project = Project::ready();
    project.write("init.sh", "true\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "init script"]);
    let check = json!({ "id": "works", "title": "works", "check": { "run": "test -f README", "setup": "init" } });
    let added = project.run_with(["feature", "add", "-"], &check.to_string());
    added.exits(0).shows("no init script is known: name one in memory's `init.md`");
    assert_eq!(project.status("works"), "blocked");

    project.run(["memory", "delete", "init.md"]).exits(0);
    project.run(["memory", "create", "init.md", "- script: `init.sh`"]).exits(0);
    project.write("other", "");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "other work"]);
    project.run(["feature", "reopen", "works"]).exits(0);
    project.run(["check", "works"]).exits(0).prints("already green");

    // With the first look taken for a red one, any commit would have made it proven.
    assert_eq!(project.status("works"), "already green");
}

/// T16.
#[test]
fn a_memory_that_is_gone_is_not_made_anew_in_silence() {
    let project = Project::ready().feature("a", "test -f a").model([]);
    project.run(["run"]).exits(5);
    fs::remove_dir_all(project.state().join("memory.git")).unwrap();

    for command in ["status", "run", "init"] {
        project.run([command]).exits(7).tells("is gone, though sessions were held");
    }
}

#[test]
fn an_empty_specification_is_refused() {
    let project = Project::new();
    project.write("../SPEC.md", " \n");

    project.run(["init", "--spec", "../SPEC.md"]).exits(2).tells("is empty");

    assert!(!project.state().join("memory.git").exists());
}

/// Sessions would be spent on a check that no work makes pass.
#[test]
fn a_check_that_cannot_run_as_it_is_written_is_told_at_once() {
    let project = Project::ready();
    project.write("p.sh", "nosuchprogram\n");
    project.write("web/a", "");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "a program"]);
    let add = |id: &str, check: serde_json::Value| {
        let given = json!({ "id": id, "title": id, "check": check }).to_string();
        project.run_with(["feature", "add", "-"], &given)
    };
    let faults = [
        ("syntax", json!("if test -f a"), "its `run` is no text for `sh` ("),
        ("setup", json!({ "run": "test -f a", "setup": "(sleep 1" }), "its `setup` is no text for `sh` ("),
        ("typed", json!("tets -f a"), "it runs `tets`, and there is no such command here"),
        ("within", json!("test \"$(tets -f a)\" = b"), "it runs `tets`, and there is no such command here"),
        ("outside", json!("/nowhere/run.sh a"), "it runs `/nowhere/run.sh`, and there is no such command here"),
        ("folder", json!({ "run": "test -f a", "cwd": "wbe" }), "its `cwd`, `wbe`, is no folder of the project"),
    ];
    for (id, check, told) in faults {
        let run = add(id, check);
        run.exits(0).tells(&format!("the check of {id} cannot pass as it is: {told}"));
        run.tells(&format!("`longhaul feature edit {id}`")).prints(&format!("{id}: open"));
    }
    // The twins: what the work will bring.
    for (id, check) in [
        ("brought", json!("./run.sh")),
        ("product", json!("sh p.sh")),
        ("entered", json!({ "run": "test -f b", "cwd": "web" })),
    ] {
        add(id, check).exits(0).hides("cannot pass as it is").prints(&format!("{id}: open"));
    }
}

/// The text of a check is read outside of any sandbox, so not by a shell that the project brings along.
#[test]
fn a_check_is_not_read_by_a_shell_of_the_project() {
    let project = Project::ready();
    project.write("bin/sh", "#!/bin/sh\ncase $1 in -n) echo >\"${0%/*}/../../read\" ;; esac\nexec /bin/sh \"$@\"\n");
    fs::set_permissions(project.root().join("bin/sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", project.root().join("bin").display(), std::env::var("PATH").unwrap());
    let project = project.variable("PATH", &path);
    let mark = project.root().join("../read");

    let sh = project.root().join("bin/sh");
    std::process::Command::new(sh).args(["-n", "-c", "x"]).current_dir(project.root()).status().unwrap();
    assert!(mark.exists(), "it would be seen");
    fs::remove_file(&mark).unwrap();
    project.run(["feature", "add", "--id", "f", "--title", "F", "--check", "test -f f"]).exits(0);

    assert!(!mark.exists());
}

#[test]
fn what_a_check_waits_for_is_told_and_the_wait_ends_by_its_limit_or_by_an_interrupt() {
    let project = Project::ready();
    let given = |id: &str, timeout: &str| {
        let check = json!({ "run": "test -f a", "ready": "test -f up", "timeout": timeout });
        json!({ "id": id, "title": id, "check": check }).to_string()
    };
    let run = project.run_with(["feature", "add", "-"], &given("a", "1s"));
    run.exits(0).tells("check a: waits at most 1s, its limit, until `test -f up` ends with 0");
    run.shows("did not come within 1s, the check's limit; it has no `setup` that would start it").prints("a: open");

    project.write("../b.json", &given("b", "5m"));
    let told = project.root().join("../told");
    let open = |name: &str| fs::File::open(project.root().join(name)).unwrap();
    let mut command = project.command(["feature", "add", "-"]);
    let child = command.stdin(open("../b.json")).stderr(fs::File::create(&told).unwrap()).spawn().unwrap();
    while !fs::read_to_string(&told).is_ok_and(|told| told.contains("check b: waits at most 5m")) {
        std::thread::yield_now();
    }
    signal(&child, "INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(project.stored("b")["baseline"], json!(null));
}

#[test]
fn a_failure_that_nobody_sees_is_told_with_the_check() {
    let project = Project::ready();
    let add = |id: &str, check: &str| project.run(["feature", "add", "--id", id, "--title", id, "--check", check]);
    let run = add("a", "export X=$(cat x); test -n \"$X\"");
    run.exits(0).tells("a failure in `export X=$(cat x)`, in the check of a, is seen by nobody: set it first");
    add("b", "X=$(cat x); export X; test -n \"$X\"").exits(0).hides("is seen by nobody");
}
