//! Wherever a project lies, its sandbox opens, git commits in it, and what makes git run programs is out of reach.

use crate::place::Place;
use crate::place::alone;
use crate::place::ended;
use crate::place::git;
use crate::place::outside;
use longhaul::process::Exit;
use longhaul::sandbox::Git;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

/// Ways to a program that git runs outside. `@git` stands for the git folder, `@evil` for a repository of the attacker's.
const PLANTS: [&str; 24] = [
    "printf '[core]\\nfsmonitor = false\\n' >> @git/config",
    "git config core.fsmonitor false",
    "echo x > @git/hooks/pre-commit",
    "rm -rf @git/hooks",
    "mv @git/hooks away",
    "mv @git @git-away",
    "mv @git/config away",
    "ln -f @evil/config @git/config",
    "ln @git/config hard && echo x >> hard",
    "cp @evil/config new && mv -f new @git/config",
    "echo /evil > @git/commondir",
    "rm @git/commondir",
    "mkdir -p @git/modules/new",
    "mkdir -p @git/modules && cp -r @evil @git/modules/new",
    "mv -f @evil/HEAD @git/commondir",
    "echo x > @git/longhaul/x",
    "echo x > .longhaul/x",
    "mv .longhaul away",
    "rm -rf .longhaul",
    "umount @git/config || umount -l @git",
    "mount -o remount,rw,bind @git/config && echo x >> @git/config",
    "echo x >> /proc/self/root/$(realpath @git)/config",
    "echo x >> /proc/1/root/$(realpath @git)/config",
    "unshare -Urm sh -c 'umount -l @git/config || mount -o remount,rw,bind @git/config; echo x >> @git/config'",
];

/// Everything of a git folder that decides what git runs, and our own folders.
fn settings_of(place: &Place) -> Vec<(PathBuf, String)> {
    let common = &place.room.common_dir;
    let mut files: Vec<PathBuf> = ["config", "config.worktree", "commondir"].map(|name| common.join(name)).into();
    files.push(place.root.join(".git"));
    for folder in [common.join("hooks"), common.join("longhaul"), place.root.join(".longhaul")] {
        files.extend(fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()));
        files.push(folder);
    }
    for worktree in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
        files.extend(["commondir", "gitdir", "config.worktree"].map(|name| worktree.path().join(name)));
    }
    files.sort();
    let text = |path: PathBuf| {
        let text =
            fs::read_to_string(&path).unwrap_or_else(|_| if path.is_dir() { "folder" } else { "nothing" }.into());
        (path, text)
    };
    files.into_iter().map(text).collect()
}

/// Lays out what there is to reach for; returns the repository of the attacker's.
fn lay(place: &Place) -> PathBuf {
    for folder in [place.room.common_dir.join("longhaul"), place.root.join(".longhaul")] {
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("secret"), "ours").unwrap();
    }
    let evil = place.root.join("evil.git");
    git(&place.root, &["init", "--quiet", "--bare", &evil.to_string_lossy()]);
    evil
}

fn spelled(plant: &str, place: &Place, evil: &Path) -> String {
    plant.replace("@git", &quoted(&place.room.common_dir)).replace("@evil", &quoted(evil))
}

/// Opens the place's sandbox, tries everything in it, and looks whether anything came of it.
#[track_caller]
pub(crate) fn holds(place: &Place) {
    let evil = lay(place);
    let sandbox = place.open();
    let before = settings_of(place);
    let commit = "git -c safe.directory='*' add -A . 2>&1 && git commit -qm inside && git log -1 --format=%s";
    fs::write(place.root.join("new"), "new").unwrap();
    let told = ended(&sandbox.run(&place.command(&format!("rm -rf evil.git.away; {commit}"))));
    assert!(told.0 == Exit::Code(0) && told.1.ends_with("inside"), "{told:?}");
    let folder = quoted(&place.room.common_dir);
    for plant in PLANTS {
        let text = spelled(plant, place, &evil);
        let told = ended(&sandbox.run(&place.command(&text)));
        assert_ne!(told.0, Exit::Code(0), "{text}: {}", told.1);
    }
    let said = ended(&sandbox.run(&place.command(&format!("cat {folder}/longhaul/secret")))).1;
    assert!(!said.contains("ours"), "{said}");
    drop(sandbox);
    assert_eq!(settings_of(place), before);
    assert_eq!(git(&place.root, &["log", "-1", "--format=%s"]), "inside");
    assert_eq!(git(&place.root, &["fsck"]), "");
}

/// Spells a path for `sh` so that it may stand in single quotes too.
fn quoted(path: &Path) -> String {
    path.to_string_lossy().replace(' ', "\\ ")
}

fn held_in(name: &str) -> Option<Place> {
    Place::held_in(tempfile::tempdir().unwrap(), name)
}

#[test]
fn a_project_below_tmp_holds() {
    held_in("project").iter().for_each(holds);
}

#[test]
fn a_path_with_blanks_and_other_alphabets_holds() {
    held_in("my projéct 項目").iter().for_each(holds);
}

#[test]
fn a_project_in_the_home_holds() {
    held_in("home/work/project").iter().for_each(holds);
}

#[test]
fn a_project_of_somebody_without_a_home_holds() {
    let Some(mut place) = held_in("project") else { return };
    place.settings.home = None;
    holds(&place);
}

#[test]
fn a_project_without_hooks_gets_an_empty_folder_that_holds() {
    let Some(place) = held_in("project") else { return };
    fs::remove_dir_all(place.root.join(".git/hooks")).unwrap();
    holds(&place);
}

#[test]
fn hooks_elsewhere_and_settings_of_a_single_worktree_hold() {
    let Some(place) = held_in("project") else { return };
    git(&place.root, &["config", "core.hooksPath", ".githooks"]);
    git(&place.root, &["config", "extensions.worktreeConfig", "true"]);
    holds(&place);
    let told = place.run("printf '[core]\\nfsmonitor = false\\n' > .git/config.worktree");
    assert_ne!(told.0, Exit::Code(0), "{}", told.1);
}

/// A linked worktree's own folder says where its settings are.
#[test]
fn a_linked_worktree_holds() {
    let Some(main) = held_in("main") else { return };
    let linked = main.folder().join("linked");
    git(&main.root, &["worktree", "add", "-q", &linked.to_string_lossy()]);
    let Some(mut place) = held_in("project") else { return };
    place.root.clone_from(&linked);
    place.room.root.clone_from(&linked);
    place.room.folder.clone_from(&linked);
    place.room.common_dir.clone_from(&main.room.common_dir);
    holds(&place);
    for plant in [
        "echo /evil > @at",
        "mv @folder @folder-away",
        "rm @at",
        "mv @all @all-away",
        "echo 'gitdir: /evil' > .git",
        "mv .git away",
    ] {
        let all = main.room.common_dir.join("worktrees");
        let folder = all.join("linked");
        let text = plant.replace("@at", &folder.join("commondir").to_string_lossy());
        let text = text.replace("@folder", &folder.to_string_lossy()).replace("@all", &all.to_string_lossy());
        let told = place.run(&text);
        assert_ne!(told.0, Exit::Code(0), "{text}: {}", told.1);
    }
    assert_eq!(git(&linked, &["log", "-1", "--format=%s"]), "inside");
}

#[test]
fn a_submodule_holds() {
    let Some(place) = held_in("project") else { return };
    let part = held_in("part").unwrap();
    git(&place.root, &["submodule", "--quiet", "add", "--name", "a/b", &part.root.to_string_lossy(), "sub"]);
    git(&place.root, &["commit", "-qm", "submodule"]);
    let sandbox = place.open();
    let folder = ".git/modules/a/b";
    for plant in [
        "echo x >> @sub/config",
        "echo x > @sub/hooks/x",
        "echo /evil > @sub/commondir",
        "mv @sub @sub-away",
        "mv .git/modules/a .git/modules/c",
        "mkdir .git/modules/a/new",
        "cp -r @sub .git/modules/new",
        "mkdir -p @sub/modules/new",
        "mv .git/modules .git/modules-away",
    ] {
        let told = ended(&sandbox.run(&place.command(&plant.replace("@sub", folder))));
        assert_ne!(told.0, Exit::Code(0), "{plant}: {}", told.1);
    }
    let work = "cd sub && echo x > x && git add x && git commit -qm inner && cd .. && git add sub && git commit -qm outer && git submodule status";
    let told = ended(&sandbox.run(&place.command(work)));
    assert_eq!(told.0, Exit::Code(0), "{}", told.1);
    drop(sandbox);
    assert_eq!(git(&place.root, &["status", "--porcelain"]), "");
    assert_eq!(git(&place.root.join("sub"), &["log", "-1", "--format=%s"]), "inner");
    assert!(git(&place.root, &["submodule", "status"]).contains(" sub (heads/"));
}

/// A link cannot be held: commands would put another one in its place.
#[test]
fn links_where_a_mount_would_have_to_be_are_refused_with_a_way_out() {
    for name in [".git", ".git/hooks", ".git/config", ".git/worktrees"] {
        let Some(place) = held_in("project") else { return };
        let (path, away) = (place.root.join(name), place.folder().join("away"));
        fs::create_dir_all(place.root.join(".git/worktrees")).unwrap();
        fs::rename(&path, &away).unwrap();
        symlink(&away, &path).unwrap();
        let mut room = place.room.clone();
        room.common_dir = place.root.join(".git").canonicalize().unwrap();
        let opened = longhaul::sandbox::Sandbox::open(&place.settings, room, &Default::default());
        let error = opened.err().unwrap().to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains("link"), "{error}");
    }
}

/// A mount through a link would make another folder writable, or show a file that is hidden.
#[test]
fn no_link_in_the_git_folder_leads_a_mount_elsewhere() {
    let Some(place) = held_in("project") else { return };
    fs::write(place.root.join("target"), "").unwrap();
    symlink("/etc", place.root.join(".git/modules")).unwrap();
    let plant = place.run("ln -s ../target .git/config.worktree; ln -s . .git/worktrees/in");
    assert_eq!(plant.0, Exit::Code(0), "{}", plant.1);
    for attempt in ["mv .git/worktrees away", "rmdir .git/worktrees", "touch .git/hooks/x", "touch .git/modules/x"] {
        let told = place.run(attempt);
        assert_ne!(told.0, Exit::Code(0), "{attempt}: {}", told.1);
    }
    let mounted = place.run("cat /proc/self/mountinfo").1;
    assert!(mounted.contains("/.git/worktrees ") && !mounted.contains("/target "), "{mounted}");
}

/// The keys in the homes of tools stay hidden, whatever is mounted over them later; in plain mode, the twin, they are seen.
#[test]
fn a_folder_that_is_shown_later_uncovers_no_key() {
    let Some(held) = held_in("project") else { return };
    for (mut place, seen) in [(held, false), (Place::plain(), true)] {
        let tools = place.home().join(".cargo");
        fs::create_dir_all(&tools).unwrap();
        fs::write(tools.join("credentials.toml"), "token").unwrap();
        fs::write(tools.join("env"), "public").unwrap();
        place.room.writable.push(tools.clone());
        let told = place.run(&format!("cat {0}/env {0}/credentials.toml", tools.display()));
        assert!(told.1.contains("public") && told.1.contains("token") == seen, "{}", told.1);
    }
}

/// The twin: where nothing is held, each of these tricks works, but for those that need a mount to take away, or the
/// process 1 of a sandbox.
#[test]
fn in_plain_mode_every_plant_takes_root() {
    let _alone = alone();
    for plant in PLANTS.iter().filter(|plant| !plant.contains("mount") && !plant.contains("/proc/1/")) {
        let place = Place::plain();
        let evil = lay(&place);
        fs::write(place.room.common_dir.join("commondir"), "./\n").unwrap();
        let told = place.run(&spelled(plant, &place, &evil));
        assert_eq!(told.0, Exit::Code(0), "{plant}: {}", told.1);
    }
}

/// The twin of all of these: git outside runs what such a plant says.
#[test]
fn a_planted_common_folder_makes_git_outside_run_a_program() {
    let _alone = alone();
    let place = Place::plain();
    let evil = place.folder().join("evil");
    outside(&place.root, &["cp", "-r", ".git", &evil.to_string_lossy()]);
    let mark = place.folder().join("ran");
    git(&evil, &["config", "--file", "config", "core.fsmonitor", &format!("touch {}; false", mark.display())]);
    let sandbox = place.open();
    let told = ended(&sandbox.run(&place.command(&format!("echo {} > .git/commondir", evil.display()))));
    assert_eq!(told.0, Exit::Code(0));
    git(&place.root, &["status"]);
    assert!(mark.exists());
}

#[test]
fn a_repository_for_reading_only_takes_nothing() {
    let Some(mut place) = held_in("project") else { return };
    place.room.git = Git::ReadOnly;
    let told =
        place.run("git -c safe.directory='*' status --porcelain && ! git commit --allow-empty -qm x && ! touch .git/x");
    assert_eq!(told.0, Exit::Code(0), "{}", told.1);
}
