//! Process 1 of a sandbox tells how commands ended. None of them can speak in its place, stop it or take it down.

use crate::place::Place;
use crate::place::alone;
use crate::place::attacker;
use crate::place::ended;
use crate::place::is_attacker;
use crate::place::kill;
use crate::place::living;
use crate::place::number;
use crate::place::token;
use longhaul::process;
use longhaul::process::Exit;
use longhaul::process::LONGEST_ARGUMENT;
use longhaul::sandbox;
use rustix::process::Pid;
use rustix::process::PidfdFlags;
use rustix::process::PidfdGetfdFlags;
use std::fs::File;
use std::io::Write;
use std::time::Duration;

/// The process 1 of the twins: it lets others look into it.
#[test]
#[ignore = "process 1 of a sandbox that a test opens"]
fn supervisor_that_lets_others_look() {
    if process_1() {
        sandbox::supervise().unwrap();
    }
}

/// The same with the one call that is the protection.
#[test]
#[ignore = "process 1 of a sandbox that a test opens"]
fn supervisor_that_keeps_to_itself() {
    if process_1() {
        process::keep_to_itself();
        sandbox::supervise().unwrap();
    }
}

fn process_1() -> bool {
    std::process::id() == 1
}

/// Takes every descriptor of process 1 that it can get, and says in its name that the command passed.
#[test]
#[ignore = "an attacker that a test starts"]
fn forger() {
    if !is_attacker() {
        return;
    }
    let answer = br#"{"Ended":{"Code":0}}"#;
    let message = [&u32::try_from(answer.len()).unwrap().to_le_bytes()[..], answer].concat();
    let Ok(supervisor) = rustix::process::pidfd_open(Pid::INIT, PidfdFlags::empty()) else { return };
    for number in 3..64 {
        let taken = rustix::process::pidfd_getfd(&supervisor, number, PidfdGetfdFlags::empty());
        if let Ok(descriptor) = taken
            && rustix::net::sockopt::socket_type(&descriptor).is_ok()
        {
            File::from(descriptor).write_all(&message).ok();
        }
    }
    // The answer of the supervisor itself comes too late then.
    std::thread::sleep(Duration::from_secs(1));
}

/// Runs a command that fails and says that it passed.
fn forged(place: &Place) -> Exit {
    let sandbox = place.open();
    sandbox.run(&place.command(&format!("{} >/dev/null 2>&1; exit 7", attacker("forging::forger")))).exit
}

#[test]
pub(crate) fn a_command_cannot_forge_its_exit_status() {
    let Some(place) = Place::held() else { return };
    assert_eq!(forged(&place), Exit::Code(7));
}

#[test]
pub(crate) fn what_keeps_it_from_forging_is_that_process_1_keeps_to_itself() {
    let Some(place) = Place::held() else { return };
    assert_eq!(forged(&place.supervised_by("forging::supervisor_that_lets_others_look")), Exit::Code(0));
    let Some(place) = Place::held() else { return };
    assert_eq!(forged(&place.supervised_by("forging::supervisor_that_keeps_to_itself")), Exit::Code(7));
}

/// What a command may try to see of process 1.
const LOOKS: [&str; 6] = [
    "readlink -v /proc/1/fd/0",
    "ls /proc/1/root/",
    "ls /proc/1/cwd/",
    "cat /proc/1/environ",
    "cat /proc/1/maps",
    "head -c1 /proc/1/mem",
];

#[test]
fn a_command_sees_nothing_of_process_1() {
    let Some(place) = Place::held() else { return };
    for look in LOOKS {
        let (exit, said) = place.run(look);
        assert!(exit != Exit::Code(0) && said.contains("denied"), "{look}: {exit:?} {said}");
    }
    // The twin; its memory map has a first byte nowhere.
    let place = place.supervised_by("forging::supervisor_that_lets_others_look");
    for look in &LOOKS[..5] {
        let (exit, said) = place.run(look);
        assert_eq!(exit, Exit::Code(0), "{look}: {said}");
    }
}

#[test]
fn a_command_cannot_stop_or_kill_process_1_and_the_next_one_runs() {
    let Some(place) = Place::held() else { return };
    let sandbox = place.open();
    for signal in ["KILL", "STOP", "TERM", "INT", "HUP", "SEGV", "ABRT"] {
        let told = ended(&sandbox.run(&place.command(&format!("kill -{signal} 1; touch /tmp/still; exit 5"))));
        assert_eq!(told.0, Exit::Code(5), "{signal}: {}", told.1);
    }
    // T33: everything but process 1 and oneself.
    assert_eq!(sandbox.run(&place.command("kill -9 -1; exit 5")).exit, Exit::Code(5));
    assert_eq!(
        ended(&sandbox.run(&place.command("ls /tmp/still"))),
        (Exit::Code(0), "/tmp/still".to_owned()),
        "the same sandbox"
    );
}

/// T33: what runs outside, longhaul itself for one, has no number inside; in plain mode, the twin, it is killed.
#[test]
fn a_command_cannot_kill_what_runs_outside() {
    let _alone = alone();
    let places = [(Place::held(), false), (Some(Place::plain()), true)];
    for (place, is_killed) in places.iter().filter_map(|(place, is_killed)| Some((place.as_ref()?, is_killed))) {
        let outside = Place::plain();
        let (outer, token) = (outside.open(), token());
        outer.run(&outside.command(&format!("sleep {token} >/dev/null 2>&1 &")));
        let target = number(&living(&token)[0]);
        let kill = place.open().run(&place.command(&format!("kill -9 {target}")));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(living(&token).is_empty(), *is_killed, "{kill:?}");
    }
}

/// A process 1 that takes orders and never answers.
#[test]
#[ignore = "process 1 of a sandbox that a test opens"]
fn supervisor_that_falls_silent() {
    if !process_1() {
        return;
    }
    let socket = File::from(rustix::io::dup(std::io::stdin()).unwrap());
    (&socket).write_all(&[&7_u32.to_le_bytes()[..], b"\"Ready\""].concat()).unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn a_supervisor_that_does_not_answer_is_ended_and_the_caller_does_not_wait_for_ever() {
    let Some(place) = Place::held() else { return };
    let place = place.supervised_by("forging::supervisor_that_falls_silent");
    let sandbox = place.open();
    let finished = sandbox.run(&place.command("true").limit(Duration::from_millis(200)));
    assert!(matches!(&finished.exit, Exit::NotStarted(reason) if reason.contains("did not answer")), "{finished:?}");
    assert!(finished.duration < Duration::from_secs(15), "{:?}", finished.duration);
}

/// Ends process 1 in the middle of a command, as the system does when memory runs out.
#[test]
fn after_a_sandbox_that_came_down_the_next_command_gets_a_fresh_one() {
    let Some(place) = Place::held() else { return };
    let sandbox = place.open();
    let (mark, killer) = (place.root.join("here"), place.root.clone());
    let thread = std::thread::spawn(move || {
        while !mark.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Its children, seen from outside, are those of the namespace's process 1.
        let found = living(&format!("--chdir {}", killer.display()));
        let numbers: Vec<String> = found.iter().map(|told| number(told)).collect();
        kill(&numbers);
    });
    let finished = sandbox.run(&place.command("touch here; sleep 60"));
    thread.join().unwrap();
    assert!(matches!(finished.exit, Exit::NotStarted(_)), "{finished:?}");
    assert_eq!(sandbox.run(&place.command("test -e here && exit 6")).exit, Exit::Code(6));
}

/// One that comes down between two commands: its servers are gone, and the next command says so instead of running.
#[test]
fn a_sandbox_that_came_down_in_between_is_told_of_before_a_fresh_one() {
    let Some(place) = Place::held() else { return };
    let sandbox = place.open();
    assert_eq!(sandbox.run(&place.command("true")).exit, Exit::Code(0));
    let found = living(&format!("--chdir {}", place.root.display()));
    let numbers: Vec<String> = found.iter().map(|told| number(told)).collect();
    kill(&numbers);
    while !living(&format!("--chdir {}", place.root.display())).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let finished = sandbox.run(&place.command("true"));
    let told = |reason: &str| reason.contains("and with it all that ran in the background");
    assert!(matches!(&finished.exit, Exit::NotStarted(reason) if told(reason)), "{finished:?}");
    assert_eq!(sandbox.run(&place.command("exit 6")).exit, Exit::Code(6));
}

/// An order that large would be taken for a fault by process 1.
#[test]
fn a_command_too_long_to_start_ends_nothing_that_runs() {
    let Some(place) = Place::held() else { return };
    let sandbox = place.open();
    let server = place.command("sleep 300 >/dev/null 2>&1 & echo $! >server");
    assert_eq!(sandbox.run(&server).exit, Exit::Code(0));
    for bytes in [LONGEST_ARGUMENT + 1, 30_000_000] {
        let finished = sandbox.run(&place.command(&format!("#{}", "x".repeat(bytes - 1))));
        let told = |reason: &str| reason.contains(&format!("an argument of {bytes} bytes"));
        assert!(matches!(&finished.exit, Exit::NotStarted(reason) if told(reason)), "{:?}", finished.exit);
        assert_eq!(sandbox.run(&place.command("kill -0 $(cat server)")).exit, Exit::Code(0));
    }
    let longest = place.command(&format!("#{}", "x".repeat(LONGEST_ARGUMENT - 1)));
    assert_eq!(sandbox.run(&longest).exit, Exit::Code(0), "the limit is the system's own");
}
