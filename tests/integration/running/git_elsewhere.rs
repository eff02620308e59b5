//! A git folder that lies elsewhere: the project is the folder with `.git`, never the one around the git folder.

use super::makes;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::runs_here;
use crate::support::session;
use std::fs;
use std::path::PathBuf;

/// Returns a file that is none of the project's and lies beside where git folders are kept.
fn neighbour(project: &Project) -> PathBuf {
    let file = project.root().with_file_name("gits").join("other/file");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "other\n").unwrap();
    file
}

fn works(project: Project, command: &str) -> String {
    let file = neighbour(&project);
    project.git(["init", "-q", "--separate-git-dir", "../gits/project"]);
    project.run(["init"]).exits(0).prints(&format!("{}\n", project.root().display()));
    let works =
        session([reply([bash(&format!("touch a; git add a; git commit -qm work; {command}"))]), reply([hand_over()])]);
    let project = project.feature("a", "test -f a").model([works]);

    project.run(["run"]).exits(0).prints("done: 1 feature proven");

    assert_eq!(project.git(["log", "--format=%s"]), "work\nfirst");
    assert_eq!(project.git(["status", "--porcelain"]), "");
    let mut inside = project.command(["status"]);
    let told = inside.current_dir(file.parent().unwrap().with_file_name("project")).output().unwrap();
    assert_eq!(told.status.code(), Some(2), "from inside of the git folder: {told:?}");
    fs::read_to_string(file).unwrap()
}

#[test]
fn the_project_is_the_folder_with_the_git_file() {
    assert_eq!(works(Project::new(), "true"), "other\n");
}

#[test]
fn in_bubblewrap_nothing_beside_the_git_folder_is_shown_writable() {
    if runs_here("bwrap") {
        let reach = "echo evil > ../gits/other/file; echo x >> ../gits/project/config; git config user.x y";
        assert_eq!(works(Project::new().sandboxed(), reach), "other\n");
    }
}

#[test]
fn a_git_folder_that_a_session_moves_away_ends_the_run_and_leads_it_nowhere_else() {
    let moves =
        "mkfifo ../gits/other/.gitignore; mv .git ../gits/moved; echo gitdir: $PWD/../gits/moved > .git; touch a";
    let project = Project::ready().feature("a", "test -f a");
    let project = project.model([session([reply([bash(moves)]), reply([hand_over()])])]);
    let file = neighbour(&project);

    project.run(["run"]).exits(7).tells("was replaced while longhaul worked").tells("it was the git folder itself");

    assert!(project.root().join(".git").is_file());
    project.run(["status"]).exits(0).prints(&format!("{},", project.root().display()));
    project.run(["run"]).exits(0);
    assert!(file.with_file_name(".gitignore").exists(), "what lies beside the git folder is not looked at");
    assert_eq!(project.git(["log", "--format=%s"]), "wip(session 1, interrupted)\nfirst");
}

/// T13.
#[test]
fn the_git_folder_of_another_working_tree_is_refused() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    let other = project.root().with_file_name("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("file"), "other\n").unwrap();
    fs::rename(project.root().join(".git"), other.join(".git")).unwrap();
    project.write(".git", &format!("gitdir: {}\n", other.join(".git").display()));

    project.run(["run"]).exits(7).tells("leads to the git folder of");

    fs::remove_file(other.join("file")).unwrap();
    project.run(["run"]).exits(0);
}

/// T13.
#[test]
fn settings_that_name_another_working_tree_are_refused() {
    let project = Project::ready().feature("a", "test -f a").model([makes("a")]);
    project.git(["config", "core.worktree", &project.home().display().to_string()]);
    project.run(["run"]).exits(7).tells("core.worktree");
    project.git(["config", "core.worktree", &project.root().display().to_string()]);
    project.run(["run"]).exits(0);
}
