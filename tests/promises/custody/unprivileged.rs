//! The same as somebody other than the superuser, for whom bubblewrap takes another way: a namespace of users.

use crate::forging;
use crate::matrix;
use crate::place::INSIDE;
use crate::place::Place;
use crate::place::is_attacker;
use crate::place::own_program;
use crate::place::path;
use crate::place::skipped;
use longhaul::process;
use longhaul::process::Command;
use longhaul::process::Exit;
use longhaul::process::Interrupt;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Who has no rights at all; the number is the same on every machine.
const NOBODY: [&str; 5] = ["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--inh-caps=-all"];

#[test]
#[ignore = "the tests of this binary as somebody else"]
fn as_nobody() {
    if !is_attacker() {
        return;
    }
    let place = Place::held().expect("bubblewrap works for this user");
    assert_eq!(place.run("id -u").1, "65534");
    crate::repositories::holds(&place);
    forging::a_command_cannot_forge_its_exit_status();
    forging::what_keeps_it_from_forging_is_that_process_1_keeps_to_itself();
    crate::network::sockets_that_know_no_namespaces_are_not_made_without_the_network();
    matrix::in_bubblewrap(1);
}

fn run_as_nobody(words: &[&str]) -> process::Finished {
    let env = BTreeMap::from([("PATH".to_owned(), path()), (INSIDE.to_owned(), "1".to_owned())]);
    let command = Command::new("setpriv", &[&NOBODY[..], words].concat(), Path::new("/"), env);
    process::run(&command.limit(Duration::from_secs(120)), &Interrupt::new())
}

#[test]
fn another_user_than_the_superuser_has_the_same_custody() {
    if !rustix::process::getuid().is_root() {
        skipped("only the superuser can become somebody else; the other tests ran as one");
        return;
    }
    let program = own_program().display().to_string();
    let tried = run_as_nobody(&[&program, "--list"]);
    if tried.exit != Exit::Code(0) {
        skipped(&format!("nobody cannot run this program: {}", tried.output.last_lines(1)));
        return;
    }
    let finished = run_as_nobody(&[&program, "unprivileged::as_nobody", "--exact", "--ignored", "--nocapture"]);
    let said = finished.output.text();
    assert!(finished.exit == Exit::Code(0) && said.contains("1 passed"), "{:?}\n{said}", finished.exit);
}
