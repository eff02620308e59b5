//! Attempts of the agent's shell to get a feature marked that does not work, or to lose what memory holds.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use serde_json::Value;

/// A session that runs one command and hands over.
fn does(command: &str) -> Value {
    session([reply([bash(command)]), reply([hand_over()])])
}

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
    std::fs::remove_file(path).unwrap();

    project.run(["status"]).exits(7).tells(&object).tells("backup");
}
