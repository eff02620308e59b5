//! longhaul run as somebody whom permissions hold back, also where the tests are the superuser's.

use super::Project;
use super::skipped;
use std::process::Command;
use std::process::Output;

/// Who has no rights at all: permissions do not hold the superuser back.
const NOBODY: [&str; 5] = ["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--inh-caps=-all"];

/// Runs longhaul as somebody whom permissions hold back; none where that cannot be had.
pub(crate) fn as_nobody(project: &Project, args: &[&str]) -> Option<Output> {
    let mut command = project.command(args);
    if rustix::process::geteuid().is_root() {
        let program = command.get_program().to_owned();
        command = Command::new("setpriv");
        command.args(NOBODY).arg(&program).args(args).current_dir(project.root());
        command.env_clear().envs(project.environment());
        let can_start = Command::new("setpriv").args(NOBODY).arg(program).arg("--version").output();
        if !can_start.is_ok_and(|tried| tried.status.success()) {
            skipped("the program cannot be started as somebody else than the superuser");
            return None;
        }
    }
    Some(command.output().unwrap())
}

/// Gives the project to whom [`as_nobody`] runs as.
pub(crate) fn hand_to_nobody(project: &Project) {
    if rustix::process::geteuid().is_root() {
        let all = project.root().parent().unwrap().to_owned();
        assert!(Command::new("chown").args(["-R", "65534:65534"]).arg(all).status().unwrap().success());
    }
}
