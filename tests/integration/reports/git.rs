//! Family E: git and the history of memory.

use crate::support::Project;
use crate::support::as_note;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::memory;
use crate::support::reply;
use crate::support::session;
use serde_json::json;
use std::path::Path;
use std::process::Stdio;

fn note(path: &str, text: &str) -> serde_json::Value {
    memory(json!({ "command": "create", "path": path, "file_text": text }))
}

/// E09: a new file was written and never staged: «no changes to commit».
#[test]
fn e09_the_first_write_into_an_empty_store_is_committed() {
    let project = Project::new();
    let call = json!({ "command": "create", "path": "/memories/first.md", "file_text": "hello\n" });

    project
        .run_with(["memory", "apply", "--store", "store"], &format!("{call}\n"))
        .exits(0)
        .prints("File created successfully");

    let repository = project.root().join("store/memory.git").display().to_string();
    assert_eq!(project.git(["--git-dir", &repository, "show", "HEAD:first.md"]), "hello");
}

/// E12: memory commits carried the operator's identity.
#[test]
fn e12_commits_of_memory_are_never_in_the_users_name() {
    for name in [Some("Operator"), Some(""), None] {
        let works =
            session([reply([note("/memories/notes/n.md", &as_note("hello")), bash("touch f")]), reply([hand_over()])]);
        let project = Project::ready().feature("f", "test -f f").model([works]);
        if let Some(name) = name {
            project.git(["config", "user.name", name]);
            project.git(["config", "user.email", "operator@example.org"]);
        }
        project.run(["run"]).exits(0);

        let people = project.memory_git(["log", "--format=%an %cn %ae %ce"]);

        assert!(!people.contains("Operator") && !people.contains("Ada") && !people.contains("example.org"), "{people}");
        let authors: std::collections::BTreeSet<String> =
            project.memory_git(["log", "--format=%an"]).lines().map(str::to_owned).collect();
        assert_eq!(authors.into_iter().collect::<Vec<_>>(), ["agent", "longhaul"]);
    }
}

/// E15: the tool wrote a default identity into the repository's config.
#[test]
fn e15_the_repositorys_config_is_untouched() {
    let project = Project::new();
    let before = project.read(".git/config");

    project.run(["init"]).exits(0);
    let project = project.feature("f", "test -f f").model([session([reply([bash("touch f")]), reply([hand_over()])])]);
    project.run(["run"]).exits(0);

    assert_eq!(project.read(".git/config"), before);
}

/// E18: memory was committed to whatever branch the project had checked out.
#[test]
fn e18_a_write_to_memory_moves_no_branch_of_the_project() {
    let project = Project::ready();
    let before = project.git(["for-each-ref", "refs/heads", "--format=%(refname) %(objectname)"]);

    let text = as_note("hello");
    project.run(["memory", "create", "/memories/notes/n.md", &text]).exits(0);

    assert_eq!(project.git(["for-each-ref", "refs/heads", "--format=%(refname) %(objectname)"]), before);
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

/// E19: the agent's `git add -A` staged the tool's own files.
#[test]
fn e19_the_agents_add_all_takes_none_of_our_files() {
    let add_all = bash("touch f; git add -A; git commit -q -m work");
    let project = Project::ready().feature("f", "test -f f").model([session([reply([add_all]), reply([hand_over()])])]);
    project.run(["run"]).exits(0);

    let files = project.git(["ls-tree", "-r", "--name-only", "HEAD"]);

    assert_eq!(files, "README\nf");
}

/// E30: a repository without commits gave a raw git error.
#[test]
fn e30_a_repository_without_commits_works() {
    let project = Project::unborn();
    project.run(["init"]).exits(0);
    let project = project.feature("f", "test -f f").model([session([reply([bash("touch f")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["log", "--format=%s", "--reverse"]), "start\nwip(session 1)");
    assert_eq!(project.stored("f")["baseline"]["commit"], json!(project.git(["rev-parse", "HEAD~1"])));
}

/// E19 by other ways: the exclusion was emptied, or the folder added by force.
#[test]
fn e19_the_view_of_memory_stays_out_of_longhauls_commits_though_nothing_excludes_it() {
    let project = Project::ready()
        .feature("f", "test -f f")
        .model([session([reply([bash(": > .git/info/exclude; touch f")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0);

    assert_eq!(project.git(["ls-tree", "-r", "--name-only", "HEAD"]), "README\nf");
}

/// E19: once the folder was added by force, every write to memory made the project look changed.
#[test]
fn e19_a_view_of_memory_that_was_added_by_force_stops_no_run() {
    let add = "git add -f .longhaul; git commit -qm all; touch f";
    let project =
        Project::ready().feature("f", "test -f f").model([session([reply([bash(add)]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).tells("`.longhaul/` is longhaul's own");
    assert_eq!(project.git(["ls-tree", "-r", "--name-only", "HEAD"]), "README\nf");
    project.run(["run"]).exits(0);
}

/// E19 past the files: whoever checks such a commit out would have the agent's files in place of memory's view.
#[test]
fn e19_what_was_committed_in_place_of_memorys_view_is_taken_out_again() {
    let stage = "id=$(echo evil | git hash-object -w --stdin); git update-index --add --cacheinfo";
    for (entry, commit) in [
        ("100644,$id,.longhaul/memory/features.json", "git commit -qm work"),
        ("100644,$id,.longhaul/templates/x", "true"),
        ("120000,$id,.longhaul", "git commit -qm work"),
        ("120000,$id,.longhaul", "true"),
    ] {
        let work = format!("touch f; git add f; {stage} {entry}; {commit}; git ls-files .longhaul");
        let project =
            Project::ready().feature("f", "test -f f").model([session([reply([bash(&work)]), reply([hand_over()])])]);

        project.run(["run"]).exits(0).tells("`.longhaul/` is longhaul's own").hides("was left out");

        let staged = project.played().results_in(2);
        assert!(staged.starts_with(".longhaul"), "{entry}: {staged}");
        assert_eq!(project.git(["ls-tree", "-r", "--name-only", "HEAD"]), "README\nf", "{entry}");
        assert_eq!(project.git(["status", "--porcelain"]), "", "{entry}");
    }
}

/// E24: a worktree whose folder was deleted by hand blocked the next run.
#[test]
fn e24_a_worktree_deleted_by_hand_blocks_nothing() {
    let silent = json!({ "silence": "60s" });
    let project = Project::ready().feature("f", "test -f f").model([
        session([reply([bash("echo half > half.txt")]), silent]),
        session([reply([bash("touch f")]), reply([hand_over()])]),
    ]);
    project.git(["worktree", "add", "--quiet", "../linked", "-b", "linked"]);
    let linked = project.root().join("../linked");
    let mut child = project.command(["run"]).current_dir(&linked).stdin(Stdio::null()).spawn().unwrap();
    project.played().wait_for_silence();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&linked).unwrap();

    project.run(["run"]).exits(0).tells("session 1 was interrupted");

    assert_eq!(project.status("f"), "proven");
    project.run(["doctor"]).exits(0);
}

/// E23: a folder without `.git` was taken for the repository around it.
#[test]
fn e23_a_project_whose_git_folder_is_gone_is_not_the_one_around_it() {
    let around = Project::ready().feature("outer", "test -f outer");
    let inner = around.root().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let within = |folder: &Path, args: &[&str]| {
        let output = around.command(args).current_dir(folder).stdin(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    around.git(["init", "-q", "inner"]);
    around.git(["-C", "inner", "commit", "-q", "--allow-empty", "-m", "inner"]);
    assert_eq!(within(&inner, &["init"]).0, Some(0));
    std::fs::rename(inner.join(".git"), around.home().join("moved")).unwrap();
    std::fs::create_dir(inner.join("sub")).unwrap();
    let before = around.memory_git(["rev-parse", "HEAD"]);

    let add = ["feature", "add", "--id", "g", "--title", "g", "--check", "false"];
    for command in [&["status"][..], &["init"], &["run"], &["check"], &["memory", "create", "notes/a", "a"], &add] {
        for folder in [&inner, &inner.join("sub")] {
            let (code, told) = within(folder, command);
            assert_eq!(code, Some(7), "{command:?}: {told}");
            assert!(told.contains("no `.git` of its own") && told.contains("put its `.git` back"), "{told}");
        }
    }
    assert_eq!(around.memory_git(["rev-parse", "HEAD"]), before);

    // Both ways out; without the view it is a folder of the project around it, as any other.
    std::fs::rename(inner.join(".longhaul"), around.home().join("view")).unwrap();
    assert_eq!(within(&inner, &["check", "outer"]).0, Some(8));
    std::fs::rename(around.home().join("moved"), inner.join(".git")).unwrap();
    assert_eq!(within(&inner, &["feature", "list"]).0, Some(0));
    assert!(!around.memory_git(["log", "--format=%s"]).contains(" g"));
}

/// Runs a text as a person would, and tells whether it ended well.
fn shell(project: &Project, text: &str) -> bool {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", text]).current_dir(project.root()).env_clear().envs(project.environment());
    command.output().is_ok_and(|output| output.status.success())
}

/// A repository in a form that cannot be read told git's words alone.
#[test]
fn e30_a_repository_in_an_unread_form_is_told_with_the_way_to_one_that_is_read() {
    for (form, way_out) in [
        (
            "--object-format=sha256",
            "git init --object-format=sha1 ../NEW && git fast-export --all | git -C ../NEW fast-import",
        ),
        ("--ref-format=reftable", "git clone --ref-format=files . ../NEW"),
    ] {
        let project = Project::unborn();
        std::fs::remove_dir_all(project.root().join(".git")).unwrap();
        if !shell(&project, &format!("git init -q {form}")) {
            return crate::support::skipped(&format!("git knows no `{form}`"));
        }
        project.git(["commit", "-q", "--allow-empty", "-m", "start"]);
        project.run(["init"]).exits(2).tells(way_out);
        assert!(shell(&project, way_out), "{way_out}");
        let new = project.root().with_file_name("NEW");
        let init = project.command(["init"]).current_dir(&new).output().unwrap();
        assert!(init.status.success(), "{init:?}");
        assert_eq!(project.git(["-C", &new.display().to_string(), "log", "--all", "--format=%s"]), "start");
    }
}

/// A filter that the project needs was not installed: git's raw words, code 1, and the feature added all the same.
#[test]
fn e30_a_required_filter_that_is_not_installed_is_told_and_nothing_is_half_added() {
    let project = Project::ready();
    project.write("x.bin", "plain\n");
    project.write(".gitattributes", "*.bin filter=far\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "files"]);
    project.git(["config", "filter.far.process", "no-such-filter-program"]);
    project.git(["config", "filter.far.required", "true"]);
    // A file that is newer than the index is what git looks at.
    project.write("x.bin", "plain\n");
    let head = project.memory_git(["rev-parse", "HEAD"]);

    let add = project.run(["feature", "add", "--id", "a", "--title", "a", "--check", "test -f a"]);
    add.exits(7).tells("git config --unset filter.").tells(".required");
    assert_eq!(project.memory_git(["rev-parse", "HEAD"]), head);
    project.run(["run"]).exits(7).tells("git config --unset filter.");

    project.git(["config", "--unset", "filter.far.required"]);
    project.run(["feature", "add", "--id", "a", "--title", "a", "--check", "test -f a"]).exits(0);
}
