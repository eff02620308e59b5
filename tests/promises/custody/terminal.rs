//! T29: with a terminal at hand, a command that waits for an answer on it comes back all the same.

use crate::place::INSIDE;
use crate::place::Place;
use crate::place::alone;
use crate::place::is_attacker;
use crate::place::own_program;
use crate::place::path;
use crate::place::skipped;
use longhaul::process;
use longhaul::process::Command;
use longhaul::process::Exit;
use longhaul::process::Interrupt;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Ways to wait for a person.
const QUESTIONS: [&str; 3] = [
    "read answer </dev/tty",
    "stty -echo </dev/tty; printf 'Password: ' >/dev/tty; read answer </dev/tty",
    "exec </dev/tty; cat",
];

#[test]
#[ignore = "the tests of this file on a terminal"]
fn on_a_terminal() {
    if !is_attacker() {
        return;
    }
    let _alone = alone();
    File::open("/dev/tty").expect("a terminal");
    for question in QUESTIONS {
        let place = Place::plain();
        let finished = place.open().run(&place.command(question).limit(Duration::from_millis(300)));
        assert_eq!(finished.exit, Exit::TimedOut, "{question}: it waits, since the terminal is the user's");
        assert!(finished.duration < Duration::from_millis(2300), "{question}: {:?}", finished.duration);
        let Some(place) = Place::held() else { continue };
        let finished = place.open().run(&place.command(question));
        assert!(matches!(finished.exit, Exit::Code(1..)), "{question}: there is none: {:?}", finished.exit);
    }
}

#[test]
fn a_question_on_the_terminal_holds_up_nobody() {
    let env = BTreeMap::from([("PATH".to_owned(), path()), (INSIDE.to_owned(), "1".to_owned())]);
    let run =
        |words: &[&str]| process::run(&Command::new("script", words, Path::new("/"), env.clone()), &Interrupt::new());
    if run(&["--version"]).exit != Exit::Code(0) {
        skipped("`script` of util-linux, which makes a terminal, does not run here");
        return;
    }
    let test = format!("'{}' terminal::on_a_terminal --exact --ignored --nocapture", own_program().display());
    let finished = run(&["-qec", &test, "/dev/null"]);
    let said = finished.output.text();
    assert!(finished.exit == Exit::Code(0) && said.contains("1 passed"), "{:?}\n{said}", finished.exit);
}
