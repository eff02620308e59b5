//! Sockets of the machine's services.

use super::told;
use crate::support::Project;
use crate::support::bash;
use crate::support::hand_over;
use crate::support::reply;
use crate::support::session;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// A service with a socket in a folder that the sandbox shows.
struct Service {
    folder: std::path::PathBuf,
    _listener: std::os::unix::net::UnixListener,
}

impl Service {
    /// Starts one; none where no such folder can be made.
    fn start(name: &str) -> Option<Self> {
        let folder = std::path::PathBuf::from(format!("/var/lib/longhaul-test-{}-{name}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let _listener = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        Some(Self { folder, _listener })
    }

    /// A command that says whether it reaches the service.
    fn reach(&self) -> serde_json::Value {
        let socket = self.folder.join("socket");
        let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
        bash(&format!("python3 -c '{connect}' {} 2>/dev/null && echo reached || echo out of reach", socket.display()))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

#[test]
fn a_socket_of_a_service_that_is_there_when_the_sandbox_opens_is_out_of_reach() {
    let Some(service) = Service::start("there") else {
        return crate::support::skipped("nothing can be written below `/var/lib`");
    };
    let looks = || session([reply([service.reach()]), reply([hand_over()])]);
    let project = || Project::ready().feature("a", "test -f a").model([looks()]);

    assert!(told(&project().sandboxed())[0].starts_with("out of reach"));
    assert!(told(&project())[0].starts_with("reached"), "in plain mode it is not hidden");
}

/// A `bwrap` before which a service ends at the last moment, once it was to be hidden.
#[test]
fn a_service_that_ends_while_the_sandbox_opens_does_not_keep_it_shut() {
    let Some(service) = Service::start("ends") else {
        return crate::support::skipped("nothing can be written below `/var/lib`");
    };
    let project = Project::ready().feature("a", "test -f a").sandboxed();
    let (bwrap, saw) = (project.home().join("bin/bwrap"), project.home().join("saw"));
    let (folder, path) = (service.folder.display(), std::env::var("PATH").unwrap());
    let ends = format!("case \"$*\" in *{folder}/socket*) echo hidden >>{}; rm -r {folder} ;; esac", saw.display());
    std::fs::create_dir(bwrap.parent().unwrap()).unwrap();
    std::fs::write(&bwrap, format!("#!/bin/sh\n{ends}\nPATH={path} exec bwrap \"$@\"\n")).unwrap();
    std::fs::set_permissions(&bwrap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let project = project.variable("PATH", &format!("{}:{path}", bwrap.parent().unwrap().display()));

    let run = project.run(["check", "a"]);

    run.exits(8).tells("failed");
    assert_eq!(std::fs::read_to_string(saw).unwrap_or_default(), "hidden\n", "it was to be hidden, once");
}

/// What the README calls not held: a service that starts later.
#[test]
fn a_socket_of_a_service_that_starts_later_is_not_hidden() {
    let folder = std::path::PathBuf::from(format!("/var/lib/longhaul-test-{}-later", std::process::id()));
    let waits = format!("touch opened; while [ ! -e {}/socket ]; do sleep 0.05; done", folder.display());
    let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    let reaches = format!("python3 -c '{connect}' {}/socket && echo reached", folder.display());
    let project = Project::ready()
        .sandboxed()
        .feature("a", "test -f a")
        .model([session([reply([bash(&waits), bash(&reaches)]), reply([hand_over()])])]);
    if std::fs::create_dir(&folder).and_then(|()| std::fs::remove_dir(&folder)).is_err() {
        return crate::support::skipped("nothing can be written below `/var/lib`");
    }
    let opened = project.root().join("opened");
    let service = std::thread::spawn(move || {
        while !opened.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Service::start("later")
    });

    let told = told(&project);

    assert!(service.join().unwrap().is_some());
    assert!(told[1].starts_with("reached"), "{told:?}");
}
