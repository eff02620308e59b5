//! Git in the sandbox: its settings, and links in its folder.

use super::told;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;

/// What a sandbox refuses to mount is set aside, or the project could never be worked on again.
#[test]
fn a_link_in_place_of_a_folder_of_the_repository_stops_no_later_run() {
    let project = Project::ready().sandboxed().feature("a", "test -f a");
    let module = project.root().join(".git/modules/x");
    std::fs::create_dir_all(&module).unwrap();
    std::fs::write(module.join("HEAD"), "").unwrap();
    ["hooks", "config"].iter().for_each(|name| std::os::unix::fs::symlink("/etc", module.join(name)).unwrap());
    let project = project.model([session([reply([bash("touch a")]), reply([hand_over()])])]);
    let worktrees = project.root().join(".git/worktrees");
    std::fs::remove_dir(&worktrees).ok();
    std::os::unix::fs::symlink("/etc", &worktrees).unwrap();

    project
        .run(["run"])
        .exits(0)
        .prints("done: 1 feature proven")
        .shows("worktrees` was a link")
        .shows("hooks` was a link");

    assert!(!worktrees.is_symlink());
    assert!(project.root().join(".git/longhaul/outputs/worktrees").is_symlink());
}

#[test]
fn settings_of_git_that_are_turned_off_stay_off_inside() {
    let project = Project::ready().sandboxed().variable("GIT_CONFIG_GLOBAL", "/dev/null").feature("a", "test -f a");
    let project = project.model([session([reply([bash("echo > /dev/null && touch a")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).prints("done: 1 feature proven");
}

/// Git's settings may lie anywhere, also where nothing else is shown.
#[test]
fn settings_of_git_in_a_file_of_the_home_hold_inside() {
    let project = Project::ready().sandboxed().feature("a", "test -f a");
    let file = project.home().join("dot/files/git");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[core]\nautocrlf = input\n").unwrap();
    let project = project.variable("GIT_CONFIG_GLOBAL", &file.display().to_string());
    let project = project.model([session([reply([bash("printf 'a\\r\\n' > a")]), reply([hand_over()])])]);

    project.run(["run"]).exits(0).prints("done: 1 feature proven");

    // That setting is read by the held git that commits: without it the line would keep its end.
    assert_eq!(project.git(["cat-file", "-s", "HEAD:a"]), "2");
}

/// Links in the git folder had folders of the machine shown writable, and keys shown that are hidden.
#[test]
fn no_link_in_the_git_folder_is_mounted_through() {
    for sandboxed in [true, false] {
        let project = Project::ready();
        let cargo = project.home().join(".cargo");
        std::fs::create_dir_all(cargo.join("bin")).unwrap();
        std::fs::write(cargo.join("credentials.toml"), "SECRET-OF-CARGO\n").unwrap();
        let git = project.root().join(".git");
        for (link, to) in
            [("worktrees", "../../home/.cargo"), ("config.worktree", "../../home/.cargo/credentials.toml")]
        {
            std::os::unix::fs::symlink(to, git.join(link)).unwrap();
        }
        let tries = "touch \"$HOME/.cargo/bin/one\" .git/worktrees/bin/two; \
                     cat \"$HOME/.cargo/credentials.toml\" .git/config.worktree; true";
        let looks = session([reply([bash(tries)]), reply([hand_over()])]);
        let project = if sandboxed { project.sandboxed() } else { project };
        let project = project.feature("a", "test -f a").model([looks]);

        let told = told(&project);

        assert_eq!(told[0].contains("SECRET-OF-CARGO"), !sandboxed, "{told:?}");
        for name in ["one", "two"] {
            assert_eq!(cargo.join("bin").join(name).exists(), !sandboxed, "{name}: {told:?}");
        }
    }
}

/// What is missing in the git folder could be made, so it is there and held.
#[test]
fn the_folder_of_worktrees_cannot_become_a_link() {
    let tries = "rm -rf .git/worktrees; mv .git/worktrees .git/w; ln -sT . .git/worktrees; test -L .git/worktrees && echo linked";
    let looks = session([reply([bash(tries)]), reply([hand_over()])]);
    let project = Project::ready().sandboxed().feature("a", "test -f a").model([looks]);
    let told = told(&project);
    assert!(!told[0].contains("linked"), "{told:?}");
    assert_eq!(project.git(["worktree", "list"]).lines().count(), 1);
}

/// Of the user's folder of git's settings a held `git` sees the settings, and not the credentials beside them.
#[test]
fn a_held_git_sees_no_credentials_where_the_users_settings_lie_elsewhere() {
    for (sandboxed, seen) in [(true, ""), (false, "token-of-git\n")] {
        let project = Project::new();
        let config = project.home().join("elsewhere/git");
        std::fs::create_dir_all(&config).unwrap();
        std::fs::write(config.join("credentials"), "token-of-git\n").unwrap();
        let reads = "cat \"$XDG_CONFIG_HOME/git/credentials\" >> .git/seen 2>/dev/null; cat";
        std::fs::write(config.join("config"), format!("[filter \"f\"]\nclean = {reads:?}\n")).unwrap();
        let elsewhere = project.home().join("elsewhere").display().to_string();
        let project = project.variable("XDG_CONFIG_HOME", &elsewhere);
        let project = if sandboxed { project.sandboxed() } else { project };
        project.write(".gitattributes", "*.txt filter=f\n");
        project.write(".git/seen", "");
        project.git(["add", "-A"]);
        project.git(["commit", "-qm", "filter"]);
        project.run(["init"]).exits(0);
        let project = project
            .feature("a", "test -f a.txt")
            .model([session([reply([bash("echo a > a.txt")]), reply([hand_over()])])]);
        project.write(".git/seen", "");

        project.run(["run"]).exits(0);

        let read = project.read(".git/seen");
        assert_eq!(read.is_empty(), seen.is_empty(), "sandboxed {sandboxed}: {read:?}");
        assert!(seen.is_empty() || read.starts_with(seen), "{read:?}");
    }
}
