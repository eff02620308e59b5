//! T30: commands that take all they can get. The machine stays usable, the command ends, the next one works.

use crate::place::Place;
use crate::place::ended;
use crate::place::skipped;
use crate::place::survivors;
use crate::place::token;
use longhaul::process::Exit;
use longhaul::sandbox::Cgroups;
use std::fs;
use std::path::PathBuf;
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

/// A control group around that of the sandbox, with little memory; its own limit is four fifths of the machine's.
struct Around(Vec<PathBuf>);

impl Around {
    fn make(place: &mut Place) -> Option<Self> {
        let name = format!("custody-{}", std::process::id());
        let (made, limit) = match place.settings.cgroups.as_mut()? {
            Cgroups::V2(tree) => {
                tree.push(&name);
                (tree.clone(), "memory.max")
            }
            Cgroups::V1 { memory, .. } => {
                memory.push(&name);
                (memory.clone(), "memory.limit_in_bytes")
            }
        };
        fs::create_dir(&made).ok()?;
        let around = Self(vec![made.clone()]);
        fs::write(made.join(limit), MEMORY.to_string()).ok()?;
        // Only one of the two trees knows this.
        fs::write(made.join("cgroup.subtree_control"), "+memory +pids").ok();
        Some(around)
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        self.0.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

const MEMORY: u64 = 200 << 20;

/// One line of twice the memory there is, which `tail` keeps whole.
const HOG: &str = "head -c 400M /dev/zero | tail -n 1 | wc -c";

#[test]
fn a_memory_hog_ends_and_the_next_command_works() {
    let Some(mut place) = limited() else { return };
    let Some(around) = Around::make(&mut place) else {
        skipped("no control group with little memory can be made here");
        return;
    };
    let sandbox = place.open();
    let (exit, said) = ended(&sandbox.run(&place.command(HOG)));
    assert!(!said.contains("419430400"), "{exit:?} {said}");
    assert_eq!(ended(&sandbox.run(&place.command("echo usable"))), (Exit::Code(0), "usable".to_owned()));
    drop(sandbox);
    drop(around);

    place.settings.cgroups = None;
    let (exit, said) = place.run(HOG);
    assert!(said.contains("419430400"), "the twin has no limit: {exit:?} {said}");
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
