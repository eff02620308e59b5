//! What a session leaves that no git can work with, and longhaul does not mend by itself: each command says the way out, and it
//! leads out.

use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use std::process::Command;

/// Commits a tree that holds a file of this name beside the others.
fn names(name: &str) -> String {
    format!(
        "blob=$(echo x | git hash-object -w --stdin); git cat-file tree HEAD^{{tree}} > ../old; \
         {{ printf '100644 {name}\\0'; printf $(echo $blob | sed 's/../\\\\x&/g'); cat ../old; }} > ../new; \
         tree=$(git hash-object -t tree -w --stdin --literally < ../new); touch a; \
         git update-ref HEAD $(git commit-tree -p HEAD -m bad $tree)"
    )
}

/// Takes the commands between back quotes out of what was told, and runs the one that begins so.
fn follows(project: &Project, told: &str, way_out: &str) {
    let command = told.split('`').find(|part| part.starts_with(way_out)).unwrap_or_else(|| panic!("{way_out}: {told}"));
    let done = Command::new("sh").args(["-c", command]).current_dir(project.root()).status().unwrap();
    assert!(done.success(), "{command}");
}

fn leads_out(work: &str, told: &str, way_out: &str) -> Project {
    let project = Project::ready().feature("a", "test -f a");
    let bash_work = bash(&format!("exec 2>&1; {work}"));
    let project = project.model([session([reply([bash_work]), reply([hand_over()])])]);

    project.run(["run"]).exits(7).tells(told);
    let again = project.run(["run"]);

    again.exits(7).tells(told);
    follows(&project, &again.stderr, way_out);
    project.run(["run"]).exits(0).prints("done: 1 feature proven");
    project
}

#[test]
fn a_commit_with_a_name_that_is_none_is_left_by_a_reset_to_the_one_before() {
    for name in ["..", "../../x", ".git"] {
        let project = leads_out(&names(name), &format!("holds `{name}`, which is no name"), "git reset ");
        assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1, interrupted)\nfirst", "{name}");
    }
}

#[test]
fn a_filter_that_fails_and_must_not_is_named() {
    let work = "git config filter.z.required true; mkdir -p .git/info; echo '* filter=z' > .git/info/attributes; \
                touch a; echo x >> README";
    leads_out(work, "clean filter 'z' failed", "git config --unset filter.z.required");
}
