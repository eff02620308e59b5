//! Attempts to get a feature marked, or something lost, in the memory's own repository and records.

use crate::support::Project;
use crate::support::as_nobody;
use crate::support::hand_to_nobody;
use crate::support::skipped;
use crate::tampering::does;

/// Commits a checklist in which every feature is proven, with plain git and in longhaul's name.
const FORGED_PROOF: &str = "g='git --git-dir=.git/longhaul/memory.git -c user.name=longhaul -c user.email=l@l'; \
    export GIT_INDEX_FILE=$PWD/.git/forged; $g read-tree main; \
    blob=$($g show main:features.json | sed 's/\"passes\": false/\"passes\": true/' | $g hash-object -w --stdin); \
    $g update-index --add --cacheinfo 100644,$blob,features.json; \
    $g update-ref refs/heads/main $($g commit-tree $($g write-tree) -p main -m 'gate: prove f')";

#[test]
fn a_proof_forged_in_the_memorys_own_repository_is_put_back_and_the_session_proves_nothing() {
    let project = Project::ready().feature("f", "test -f f").model([does(&format!("{FORGED_PROOF}; touch g"))]);

    let run = project.run(["run", "--sessions", "1"]);

    run.exits(3).tells("it proves nothing").tells("refs/longhaul/found/");
    assert_eq!(project.stored("f")["passes"], false);
    assert!(!project.memory_log().contains(&"gate: prove f".to_owned()), "{:?}", project.memory_log());
    let kept = project.memory_git(["for-each-ref", "refs/longhaul/found", "--format=%(subject)"]);
    assert_eq!(kept, "gate: prove f");
    assert!(project.played().results_in(2).contains("cannot prove"), "{}", project.played().results_in(2));
}

#[test]
fn a_history_rewritten_outside_a_run_is_put_back_told_and_written_down() {
    let project = Project::ready();
    for text in ["1", "2", "3"] {
        project.run(["memory", "create", &format!("docs/{text}"), text]).exits(0);
    }
    let forged = project.memory_git(["commit-tree", "-m", "forged", "-p", "main~1", "main~1^{tree}"]);
    let ours = project.memory_git(["rev-parse", "main"]);
    project.memory_git(["update-ref", "refs/heads/main", &forged]);

    let looked = project.run(["status"]);
    looked.exits(0).tells(&format!("something else moved the memory's branch to `{forged}`")).tells("puts it back");
    let written = project.run(["memory", "create", "docs/4", "4"]);

    let kept = format!("refs/longhaul/found/{forged}");
    written.exits(0).tells("something else moved the memory's branch; it was put back").tells(&kept);
    assert_eq!(project.memory_git(["rev-parse", "main~1"]), ours);
    assert_eq!(project.memory_git(["rev-parse", &kept]), forged);
    let events = std::fs::read_to_string(project.state().join("events.jsonl")).unwrap();
    assert!(events.contains(&kept), "{events}");
    project.run(["memory", "create", "docs/5", "5"]).exits(0).hides("moved");
}

#[test]
fn a_branch_reset_outside_a_run_is_put_back_and_told() {
    for back in ["main~1", "main~2"] {
        let project = Project::ready();
        for text in ["1", "2", "3"] {
            project.run(["memory", "create", &format!("docs/{text}"), text]).exits(0);
        }
        let ours = project.memory_git(["rev-parse", "main"]);
        project.memory_git(["update-ref", "refs/heads/main", back]);
        project.run(["memory", "create", "docs/4", "4"]).exits(0).tells("the branch of the memory was at");
        assert_eq!(project.memory_git(["rev-parse", "main~1"]), ours);
        let events = std::fs::read_to_string(project.state().join("events.jsonl")).unwrap();
        assert!(events.contains("the branch of the memory was at"), "{events}");
    }
}

#[test]
fn a_branch_of_memory_that_a_command_deletes_loses_nothing() {
    let delete = "git --git-dir=.git/longhaul/memory.git update-ref -d refs/heads/main";
    let project = Project::ready().feature("f", "test -f f").model([does(delete)]);
    let before = project.memory_log();

    project.run(["run", "--sessions", "1"]).exits(3).tells("it proves nothing");

    assert!(project.memory_log().ends_with(&before), "{:?}", project.memory_log());
    assert_eq!(project.status("f"), "open");
}

#[test]
fn an_emptied_head_of_memory_does_not_stop_the_run() {
    let empty = ": > .git/longhaul/memory.git/HEAD; touch f";
    let project = Project::ready().feature("f", "test -f f").model([does(empty)]);

    project.run(["run"]).exits(0);

    assert_eq!(project.memory_git(["symbolic-ref", "HEAD"]), "refs/heads/main");
}

#[test]
fn lost_objects_of_memory_are_called_what_they_are() {
    let project = Project::ready().feature("f", "test -f f");
    let object = project.memory_git(["rev-parse", "main:features.json"]);
    let path = project.state().join("memory.git/objects").join(&object[..2]).join(&object[2..]);
    std::fs::remove_file(&path).unwrap();
    project.run(["status"]).exits(0);
    assert!(path.exists(), "the journal had it");

    // Its twin: what the journal does not have, nobody can make again.
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(project.state().join("journal")).unwrap();
    project.run(["status"]).exits(7).tells(&object).tells("backup");
}

#[test]
fn fsck_says_what_is_damaged_and_mends_it_without_opening_the_memory() {
    let project = Project::ready().feature("f", "test -f f");
    project.run(["memory", "fsck"]).exits(0).shows("the memory is sound:");
    let repository = project.state().join("memory.git");
    std::fs::write(repository.join("refs/heads/main"), "").unwrap();
    std::fs::write(repository.join("config"), "[nonsense").unwrap();

    let damaged = project.run(["memory", "fsck"]);
    damaged.exits(7).shows("damaged: `refs/heads/main` names no commit").shows("the memory is damaged: 2 faults");
    project.run(["memory", "fsck", "--repair"]).exits(0).shows("mended: `config` in the repository");

    project.run(["memory", "fsck"]).exits(0);
    assert_eq!(std::fs::read_to_string(project.state().join("found/memory.git__config")).unwrap(), "[nonsense");
    assert_eq!(project.status("f"), "open");
}

/// Changes the record of a session behind longhaul's back, and returns what fsck and `show` say of it before a repair.
fn tells_of_record(change: &str, fault: &str) {
    let project = Project::ready().feature("f", "test -f f").model([does("seq 9000; touch f")]);
    project.run(["run", "--sessions", "1"]).exits(0);
    project.run(["memory", "fsck"]).exits(0);
    let is_done = std::process::Command::new("sh")
        .args(["-c", change])
        .current_dir(project.state().join("sessions/0001"))
        .status()
        .unwrap();
    assert!(is_done.success());

    project.run(["memory", "fsck"]).exits(7).shows(fault).shows("the memory is damaged: 1 fault");
    project.run(["memory", "fsck", "--repair"]).exits(0).shows("mended: ").shows(fault);

    project.run(["memory", "fsck"]).exits(0);
    project.run(["show", "--session", "1"]).exits(0);
    assert_eq!(project.status("f"), "proven", "the memory itself is whole");
}

#[test]
fn fsck_and_show_tell_of_a_session_whose_record_is_gone() {
    tells_of_record("rm events.jsonl", "the record of session 1 is gone (`");
    let project = Project::ready().feature("f", "test -f f").model([does("touch f")]);
    project.run(["run", "--sessions", "1"]);
    std::fs::remove_dir_all(project.state().join("sessions/0001")).unwrap();
    let show = project.run(["show", "--session", "1"]);
    show.exits(7).tells("the record of session 1 is gone").tells("`longhaul log --session 1`");
    project.run(["show", "--session", "2"]).exits(2).tells("there is no session 2");
    project.run(["memory", "fsck", "--repair"]).exits(0);
    project.run(["show", "--session", "1"]).exits(0).shows("the record of session 1 is gone");
}

#[test]
fn fsck_names_lines_of_a_record_that_cannot_be_read_and_outputs_that_are_gone() {
    tells_of_record("sed -i '5s/.*/garbage{/' events.jsonl", "the record of session 1 has lines that cannot be read");
    tells_of_record("rm -r artifacts", "the long outputs of session 1 are gone");
    tells_of_record(
        "rm artifacts/$(grep -o 'artifacts/[0-9a-f]*.txt' events.jsonl | head -1 | cut -d/ -f2)",
        "a long output of session 1 is gone",
    );
}

#[test]
fn fsck_where_there_never_was_a_memory_says_how_one_is_made() {
    let project = Project::new();
    for more in [&[][..], &["--repair"], &["--store", "none"]] {
        let run = project.run([&["memory", "fsck"], more].concat());
        run.exits(2).tells("there is no memory at").tells("`longhaul init` makes one").hides("backup");
    }
    assert!(!project.state().exists() && !project.root().join("none").exists());
}

#[test]
fn a_branch_of_memory_that_is_gone_before_a_run_is_not_taken_for_an_empty_memory() {
    let project = Project::ready().feature("f", "test -f f");
    let last = project.memory_git(["rev-parse", "main"]);
    let delete = || project.memory_git(["update-ref", "-d", "refs/heads/main"]);
    delete();
    project.run(["status"]).exits(0).tells(&format!("it is at `{last}` again, as the journal says"));
    assert_eq!(project.memory_git(["rev-parse", "main"]), last);

    // Its twin: with no journal, and nothing in git's own record, only the view knows of it.
    delete();
    std::fs::remove_file(project.state().join("journal")).unwrap();
    let run = project.run(["status"]);
    run.exits(7).tells("the branch `main` of the memory is gone").tells(&last);
    project.run(["feature", "add", "--id", "g", "--title", "g", "--check", "false"]).exits(7);
    project.run(["init"]).exits(7);

    project.memory_git(["update-ref", "refs/heads/main", &last]);
    assert_eq!(project.status("f"), "open");
}

#[test]
fn a_folder_that_held_only_what_was_taken_away_is_taken_away_too() {
    let project = Project::ready().feature("f", "test -f f");
    std::fs::create_dir(project.view().join("checks")).unwrap();
    std::fs::write(project.view().join("checks/planted"), "exit 0").unwrap();

    project.run(["check", "f"]).exits(8).tells("checks/planted");

    assert!(!project.view().join("checks").exists());
}

#[test]
fn a_pack_without_its_index_names_the_command_that_makes_it_anew() {
    let project = Project::ready().feature("f", "test -f f");
    project.memory_git(["repack", "-adq"]);
    let pack = project.state().join("memory.git/objects/pack");
    let found = std::fs::read_dir(pack).unwrap().map(|entry| entry.unwrap().path());
    let index = found.into_iter().find(|path| path.extension().is_some_and(|end| end == "idx")).unwrap();
    std::fs::remove_file(index).unwrap();

    project.run(["memory", "fsck"]).exits(7).tells("`longhaul memory fsck --repair` mends");
    project.run(["memory", "fsck", "--repair"]).exits(0).hides("mends what can be mended");
    project.run(["log"]).exits(0);
}

#[test]
fn what_a_person_merged_in_a_clone_is_in_the_log() {
    let project = Project::ready().feature("f", "test -f f");
    let clone = project.home().join("clone");
    let text = format!(
        "git clone -q '{}' '{clone}'; cd '{clone}'; git checkout -q -b s; mkdir w; echo s > w/s.md; git add .; \
         git commit -qm side; git mv w/s.md w/t.md; git commit -qm moved; git checkout -q main; echo m > m.md; \
         git add .; git commit -qm main; git merge -q --no-edit s; git push -q origin main",
        project.state().join("memory.git").display(),
        clone = clone.display(),
    );
    let mut shell = std::process::Command::new("sh");
    shell.args(["-ec", &text]).env_clear().envs(project.environment());
    assert!(shell.status().unwrap().success());
    project.run(["check"]);
    project.run(["log", "w/s.md"]).exits(0).prints("side").hides("never held");
    project.run(["log", ".longhaul/memory/w/t.md"]).exits(0).prints("moved").prints("side");
    project.run(["log"]).exits(0).prints("Merge branch 's'");
}

#[test]
fn what_the_superuser_writes_keeps_nobody_out_of_their_memory() {
    if !rustix::process::geteuid().is_root() {
        return skipped("only the superuser can do that");
    }
    let project = Project::ready().feature("f", "test -f f");
    project.write("../home/.gitconfig", "[safe]\n\tdirectory = *\n");
    hand_to_nobody(&project);
    // Folders for objects are made by most of these.
    for number in 0..20 {
        project.run(["memory", "create", &format!("w{number}/r.md"), "x"]).exits(0);
    }
    for number in 0..20 {
        let Some(ended) = as_nobody(&project, &["memory", "create", &format!("w{number}/u.md"), "1"]) else { return };
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    // Its twin: a folder of the superuser's is named.
    std::fs::create_dir(project.view().join("w0/shut")).unwrap();
    let shut = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(project.view().join("w0/shut"), shut).unwrap();
    let ended = as_nobody(&project, &["check"]).unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() != Some(0) && told.contains("the folder `w0/shut` in it keeps you out"), "{told}");
}

#[test]
fn too_few_files_that_may_be_open_are_no_wrong_use() {
    let project = Project::ready().feature("f", "test -f f");
    let tree = project.home().join("linked");
    project.git(["worktree", "add", "-q", &tree.display().to_string()]);
    let mut failed = 0;
    for files in 4..24 {
        let mut shell = std::process::Command::new("sh");
        let text = format!("ulimit -n {files}; exec '{}' log -n 1", env!("CARGO_BIN_EXE_longhaul"));
        shell.args(["-c", &text]).current_dir(&tree).env_clear().envs(project.environment());
        let ended = shell.output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_ne!(ended.status.code(), Some(2), "{files}: {told}");
        failed += usize::from(!ended.status.success());
    }
    assert!((1..20).contains(&failed), "{failed}");
}
