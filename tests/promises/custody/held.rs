//! Longhaul's own `git`, which runs what the project's settings say: a filter cannot stay, and a hook does not run.

use crate::place::Place;
use crate::place::alone;
use crate::place::ended;
use crate::place::git;
use crate::place::kill;
use crate::place::living;
use crate::place::number;
use crate::place::path;
use crate::place::survivors;
use crate::place::token;
use longhaul::process::Exit;
use longhaul::project::Marks;
use longhaul::project::Project;
use longhaul::sandbox::Git;
use longhaul::sandbox::Level;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// Opens the place's project as a run does.
fn opened(place: &Place) -> Project {
    let home = place.home().display().to_string();
    let env = BTreeMap::from([("PATH".to_owned(), path()), ("HOME".to_owned(), home)]);
    let mut project = Project::discover(&place.root, env).unwrap();
    if place.settings.level == Level::Bubblewrap {
        project.hold_git(&place.settings, Git::Writable).unwrap();
    }
    project
}

/// Gives the project a filter that leaves a process behind, in every way to stay; returns the word it is known by.
fn lay_filter(place: &Place) -> String {
    let word = token();
    let filter = format!(
        "(setsid -f sleep {word}; env -i setsid -f sleep {word}) >/dev/null 2>&1; pgrep -f 'sleep {word}' >.git/left; cat"
    );
    git(&place.root, &["config", "filter.stay.clean", &filter]);
    fs::write(place.root.join(".gitattributes"), "* filter=stay\n").unwrap();
    fs::write(place.root.join("work"), "work\n").unwrap();
    word
}

#[test]
fn what_a_filter_leaves_is_gone_when_a_held_git_has_ended() {
    let Some(place) = Place::held() else { return };
    let word = lay_filter(&place);
    let project = opened(&place);

    assert!(project.commit_leftover("wip", &Marks::new()).unwrap().commit.is_some());

    assert_eq!(survivors(&word), Vec::<String>::new());
    let left = fs::read_to_string(place.root.join(".git/left")).unwrap();
    assert!(left.lines().count() >= 2, "the filter did its part: {left}");
    assert_eq!(git(&place.root, &["show", "--format=%s", "--name-only"]), "wip\n\n.gitattributes\nwork");
}

/// The twin: a `git` in the same sandbox that nothing follows. What the filter left is there for the next one.
#[test]
fn what_a_filter_leaves_stays_where_nothing_ends_it() {
    let Some(place) = Place::held() else { return };
    let word = lay_filter(&place);
    let sandbox = place.open();
    let told = ended(&sandbox.run(&place.command("git add -A && git commit -qm wip && git log -1 --format=%s")));
    assert_eq!(told, (Exit::Code(0), "wip".to_owned()));
    assert!(living(&word).len() >= 2, "{:?}", living(&word));
    sandbox.end();
    assert_eq!(survivors(&word), Vec::<String>::new());
}

/// In plain mode it is found by its mark when the next sandbox ends; one that put the mark off is not, as the README says.
#[test]
fn in_plain_mode_what_a_filter_leaves_ends_with_the_next_command() {
    let _alone = alone();
    let place = Place::plain();
    let word = token();
    let filter = format!("setsid -f sleep {word} >/dev/null 2>&1; cat");
    git(&place.root, &["config", "filter.stay.clean", &filter]);
    fs::write(place.root.join(".gitattributes"), "* filter=stay\n").unwrap();

    opened(&place).commit_leftover("wip", &Marks::new()).unwrap();

    let left = living(&word);
    assert!(!left.is_empty(), "the twin: nothing has ended it yet");
    let sandbox = place.open();
    sandbox.run(&place.command("true"));
    let named: Vec<String> = sandbox.end().iter().map(ToString::to_string).collect();
    let after = survivors(&word);
    kill(&after.iter().map(|told| number(told)).collect::<Vec<_>>());
    assert!(after.is_empty() && named.iter().any(|named| named.contains(&word)), "{named:?} {after:?}");
}

/// Plants a hook for every change of a ref, in the usual folder and in one that the settings name; returns its mark.
fn lay_hooks(place: &Place) -> PathBuf {
    let mark = place.root.join("hook-ran");
    for folder in [place.root.join(".git/hooks"), place.root.join("own-hooks")] {
        fs::create_dir_all(&folder).unwrap();
        for name in ["reference-transaction", "post-commit", "pre-commit"] {
            let hook = folder.join(name);
            fs::write(&hook, format!("#!/bin/sh\ntouch '{}'\n", mark.display())).unwrap();
            fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    mark
}

fn a_base_is_kept_and_no_hook_runs(place: &Place) {
    let head = git(&place.root, &["rev-parse", "HEAD"]);
    let mark = lay_hooks(place);
    for folder in [".git/hooks", "own-hooks"] {
        git(&place.root, &["config", "core.hooksPath", &place.root.join(folder).to_string_lossy()]);
        fs::remove_file(&mark).ok();
        let project = opened(place);
        git(&place.root, &["-c", "core.hooksPath=/dev/null", "update-ref", "-d", "refs/longhaul/base/1"]);

        project.keep_base(&head).unwrap();

        assert_eq!(git(&place.root, &["rev-parse", "refs/longhaul/base/1"]), head, "{folder}");
        assert!(!mark.exists(), "{folder}");
        // The twin: a plain `git` that writes the same ref runs it.
        git(&place.root, &["update-ref", "refs/longhaul/base/2", &head]);
        assert!(mark.exists(), "{folder}");
        git(&place.root, &["update-ref", "-d", "refs/longhaul/base/2"]);
    }
}

#[test]
fn a_base_is_kept_by_a_held_git_that_runs_no_hook() {
    Place::held().iter().for_each(a_base_is_kept_and_no_hook_runs);
}

#[test]
fn a_base_is_kept_by_a_plain_git_that_runs_no_hook() {
    let _alone = alone();
    a_base_is_kept_and_no_hook_runs(&Place::plain());
}

/// A link in place of the folder of refs leads a writing hand elsewhere; a held `git` cannot write there.
#[test]
fn a_base_is_not_written_behind_a_link_out_of_the_repository() {
    let _alone = alone();
    let written = |place: &Place| {
        let outside = place.folder().join("outside");
        fs::create_dir_all(outside.join("base")).unwrap();
        std::os::unix::fs::symlink(&outside, place.root.join(".git/refs/longhaul")).unwrap();
        let head = git(&place.root, &["rev-parse", "HEAD"]);
        opened(place).keep_base(&head).ok();
        fs::read_dir(outside.join("base")).unwrap().count() > 0
    };
    let Some(place) = Place::held() else { return };
    assert!(!written(&place));
    // The twin: as the user it does.
    assert!(written(&Place::plain()));
}

/// What of git's own settings is a key is not there either.
#[test]
fn a_filter_of_a_held_git_reads_the_users_settings_of_git_and_no_key() {
    let _alone = alone();
    let told = |place: &Place| {
        let (home, said) = (place.home(), place.root.join("said"));
        fs::create_dir_all(home.join(".config/git")).unwrap();
        fs::create_dir_all(home.join(".ssh")).unwrap();
        for file in [".config/git/credentials", ".git-credentials", ".ssh/id_ed25519"] {
            fs::write(home.join(file), format!("secret of {file}\n")).unwrap();
        }
        fs::write(home.join(".gitconfig"), "[core]\n\tautocrlf = false # settings\n").unwrap();
        let filter = format!("(cd '{}'; grep -rsh . .) > '{}' 2>&1; cat", home.display(), said.display());
        git(&place.root, &["config", "filter.read.clean", &filter]);
        fs::write(place.root.join(".gitattributes"), "* filter=read\n").unwrap();
        opened(place).commit_leftover("wip", &Marks::new()).unwrap();
        fs::read_to_string(said).unwrap()
    };
    let Some(place) = Place::held() else { return };
    let said = told(&place);
    assert!(said.contains("# settings") && !said.contains("secret"), "{said}");
    // The twin: in plain mode it reads all of it.
    let said = told(&Place::plain());
    assert_eq!(said.matches("secret of ").count(), 3, "{said}");
}
