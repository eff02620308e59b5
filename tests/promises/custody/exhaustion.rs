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

/// Control groups around those of the sandbox, so small that a test can reach their limits. A sandbox's own limits are
/// thousands of processes and four fifths of the machine's memory.
struct Around(Vec<PathBuf>);

const MEMORY: u64 = 200 << 20;
const PROCESSES: u32 = 300;

impl Around {
    fn make(cgroups: &mut Cgroups) -> std::io::Result<Self> {
        let name = format!("custody-{}-{}", std::process::id(), token());
        let mut around = Self(Vec::new());
        let trees = match cgroups {
            Cgroups::V2(tree) => vec![(tree, vec!["memory.max", "pids.max"])],
            Cgroups::V1 { memory, pids } => vec![(memory, vec!["memory.limit_in_bytes"]), (pids, vec!["pids.max"])],
        };
        for (tree, limits) in trees {
            tree.push(&name);
            fs::create_dir(&tree)?;
            around.0.push(tree.clone());
            for limit in limits {
                let most = if limit == "pids.max" { u64::from(PROCESSES) } else { MEMORY };
                fs::write(tree.join(limit), most.to_string())?;
            }
            // Only where there is one tree for all.
            fs::write(tree.join("cgroup.subtree_control"), "+memory +pids").ok();
        }
        Ok(around)
    }
}

impl Drop for Around {
    fn drop(&mut self) {
        self.0.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}

/// Opens a place with small limits; none where no control group can be had, which is said.
fn limited() -> Option<(Around, Place)> {
    let mut place = Place::held()?;
    match place.settings.cgroups.as_mut().map(Around::make) {
        Some(Ok(around)) => Some((around, place)),
        Some(Err(error)) => {
            skipped(&format!("no control group can be made here: {error}"));
            None
        }
        None => {
            skipped("no control group can be made here");
            None
        }
    }
}

/// Without a limit it would take the machine with it: it has no end of its own.
#[test]
fn a_fork_bomb_ends_and_the_next_command_works() {
    let Some((_around, place)) = limited() else { return };
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

/// Starts more processes than there may be.
fn many(count: u32) -> String {
    format!("i=0; while [ $i -lt {count} ]; do sleep 60 & i=$((i+1)); done; echo all; kill -9 -1")
}

/// The limit itself, told by the kernel; the twin has none.
#[test]
fn the_number_of_processes_is_limited_and_without_a_control_group_it_is_not() {
    let Some((_around, mut place)) = limited() else { return };
    let (exit, said) = place.run(&many(PROCESSES + 10));
    assert!(exit != Exit::Code(0) && !said.ends_with("all"), "{exit:?} {said}");
    place.settings.cgroups = None;
    let (_, said) = place.run(&many(PROCESSES + 10));
    assert!(said.ends_with("all"), "{said}");
}

#[test]
#[ignore = "starts 4,096 processes, which slows the machine down"]
fn a_sandbox_has_a_limit_of_its_own() {
    let Some(place) = Place::held() else { return };
    if place.settings.cgroups.is_some() {
        let (exit, said) = place.run(&many(4200));
        assert!(exit != Exit::Code(0) && !said.ends_with("all"), "{exit:?} {said}");
    }
}

/// One line of twice the memory there is, which `tail` keeps whole.
const HOG: &str = "head -c 400M /dev/zero | tail -n 1 | wc -c";

#[test]
fn a_memory_hog_ends_and_the_next_command_works() {
    let Some((_around, mut place)) = limited() else { return };
    let sandbox = place.open();
    let (exit, said) = ended(&sandbox.run(&place.command(HOG)));
    assert!(!said.contains("419430400"), "{exit:?} {said}");
    assert_eq!(ended(&sandbox.run(&place.command("echo usable"))), (Exit::Code(0), "usable".to_owned()));
    drop(sandbox);

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
