//! Folders that a session takes its own user's permissions from: longhaul is that user.

use crate::support::Project;
use crate::support::as_nobody;
use crate::support::bash;
use crate::support::call;
use crate::support::hand_over;
use crate::support::hand_to_nobody;
use crate::support::reply;
use crate::support::session;
use serde_json::json;
use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

fn shut(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
}

#[test]
fn a_folder_that_a_command_shuts_is_open_for_the_next_call_and_the_run_goes_on() {
    for sandboxed in [false, true] {
        for folder in [".", ".git", ".git/objects", ".git/refs"] {
            let work = reply([bash(&format!("touch a; chmod 000 {folder}")), call("check", json!({}))]);
            let project = Project::ready().feature("a", "test -f a");
            let project = if sandboxed { project.sandboxed() } else { project };
            let project = project.model([session([work, reply([bash("ls"), hand_over()])])]);
            let path = project.root().join(folder);
            let before = mode(&path);
            hand_to_nobody(&project);

            let Some(ended) = as_nobody(&project, &["run"]) else { return };

            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(ended.status.code(), Some(0), "{folder}: {said}");
            assert_eq!(mode(&path), before, "{folder}");
            let results = project.played().results_in(2);
            assert!(results.contains("could not be entered any more: opened again"), "{folder}: {results}");
            assert!(results.contains("passed"), "{folder}: {results}");
        }
    }
}

/// The twin: left shut, as by a killed run, they are named, and it is not said that there is no project.
#[test]
fn a_folder_that_was_left_shut_is_named_with_what_opens_it() {
    for folder in [".git/longhaul", ".git/objects", ".git/refs", ".git", ""] {
        let project = Project::ready().feature("a", "test -f a").model([]);
        hand_to_nobody(&project);
        let path = project.root().join(folder);
        shut(&path);

        for command in ["status", "run", "init"] {
            let Some(ended) = as_nobody(&project, &[command]) else { return };
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert_eq!(ended.status.code(), Some(7), "{folder}: {said}");
            let path = path.display().to_string();
            let path = path.trim_end_matches('/');
            assert!(said.contains(&format!("`{path}` cannot be entered")), "{said}");
            assert!(said.contains(&format!("`chmod u+rwx '{path}'`")), "{said}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(as_nobody(&project, &["status"]).unwrap().status.code(), Some(0), "{folder}");
    }
}
