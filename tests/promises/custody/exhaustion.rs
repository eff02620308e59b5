//! T30: commands that take all they can get. The machine stays usable, the command ends, the next one works.

use crate::place::Place;
use crate::place::ended;
use crate::place::skipped;
use crate::place::survivors;
use crate::place::token;
use longhaul::process::Exit;
use std::time::Duration;
use std::time::Instant;

/// Opens a place with limits; none where no control group can be had, which is said.
fn limited() -> Option<Place> {
    let place = Place::held()?;
    if place.settings.cgroups.is_none() {
        skipped("no control group can be made here");
        return None;
    }
    Some(place)
}

/// Without a limit it would take the machine with it: it has no end of its own.
#[test]
fn a_fork_bomb_ends_and_the_next_command_works() {
    let Some(place) = limited() else { return };
    for (kind, bomb) in [("one group", "sh -c"), ("a session each", "setsid -f sh -c")] {
        let sandbox = place.open();
        let token = token();
        let breed = format!(
            "b='{bomb} \"$b\" {token} & {bomb} \"$b\" {token} & sleep {token}'; export b; sh -c \"$b\" {token}; sleep 60"
        );
        let command = place.command(&breed).limit(Duration::from_secs(1));
        let finished = sandbox.run(&command);
        // It may leave process 1 so little of the processor that the host ends the whole sandbox in its place.
        assert!(matches!(finished.exit, Exit::TimedOut | Exit::NotStarted(_)), "{kind}: {finished:?}");
        assert!(finished.duration < Duration::from_secs(15), "{kind}: {:?}", finished.duration);

        let start = Instant::now();
        sandbox.end();
        let next = ended(&sandbox.run(&place.command("echo usable")));
        assert_eq!(next, (Exit::Code(0), "usable".to_owned()), "{kind}, after {:?}", start.elapsed());
        drop(sandbox);
        assert_eq!(survivors(&token), Vec::<String>::new(), "{kind}");
    }
}

/// The limit itself, told by the kernel; the twin has none.
#[test]
fn the_number_of_processes_is_limited_and_without_a_control_group_it_is_not() {
    let Some(mut place) = limited() else { return };
    let many = "i=0; while [ $i -lt 4300 ]; do sleep 60 & i=$((i+1)); done; echo all; kill -9 -1";
    let (exit, said) = place.run(many);
    assert!(exit != Exit::Code(0) && !said.contains("all\n") && !said.ends_with("all"), "{exit:?} {said}");
    place.settings.cgroups = None;
    let (_, said) = place.run(many);
    assert!(said.ends_with("all"), "{said}");
}

/// Memory is limited to four fifths of the machine's, so a test that takes it for real is for those who ask for it.
#[test]
#[ignore = "takes most of the machine's memory"]
fn a_memory_hog_ends_and_the_next_command_works() {
    let Some(place) = limited() else { return };
    let sandbox = place.open();
    let finished = sandbox.run(&place.command("head -c 1000000000000 /dev/zero | tail -n 1 >/dev/null"));
    assert_ne!(finished.exit, Exit::Code(0));
    assert_ne!(finished.exit, Exit::TimedOut);
    assert_eq!(ended(&sandbox.run(&place.command("echo usable"))), (Exit::Code(0), "usable".to_owned()));
}

#[test]
fn a_temporary_folder_that_is_full_stops_its_command_and_no_other() {
    let Some(place) = Place::held() else { return };
    let sandbox = place.open();
    for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
        let fill = format!("fallocate -l 100T {folder}/filler");
        let (exit, said) = ended(&sandbox.run(&place.command(&fill)));
        assert!(exit == Exit::Code(1) && said.contains("No space left"), "{folder}: {exit:?} {said}");
        let next = ended(&sandbox.run(&place.command(&format!("echo x > {folder}/small && echo usable"))));
        assert_eq!(next, (Exit::Code(0), "usable".to_owned()), "{folder}");
    }
}
