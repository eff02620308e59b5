//! Limits on what a sandbox may take of the machine, where the kernel's control groups can be had.

use super::Cgroups;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Processes and threads of one sandbox; builds and browsers need some hundreds.
const PROCESSES: u64 = 4096;

/// Of the machine's memory, in percent; the rest keeps the machine itself alive.
const MEMORY: u64 = 80;

/// How often a group that is not yet empty is tried again.
const TRIES: u32 = 200;

/// A control group, with one folder in each tree. Dropped, it is removed.
pub(super) struct Group(Vec<PathBuf>);

impl Group {
    /// Makes a group with our limits; none where that fails, since limits are a help and not what holds a command.
    pub(super) fn make(place: &Cgroups) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("longhaul-{}-{number}", std::process::id());
        let memory = (memory_of_machine()? * MEMORY / 100).to_string();
        let processes = PROCESSES.to_string();
        let limits: Vec<(&Path, &str, &str)> = match place {
            Cgroups::V2(tree) => vec![(tree, "pids.max", &processes), (tree, "memory.max", &memory)],
            Cgroups::V1 { memory: of_memory, pids } => {
                vec![(pids, "pids.max", &processes), (of_memory, "memory.limit_in_bytes", &memory)]
            }
        };
        limits.iter().for_each(|(tree, ..)| remove_abandoned(tree));
        let mut group = Self(Vec::new());
        for (tree, file, limit) in limits {
            let folder = tree.join(&name);
            if !group.0.contains(&folder) {
                fs::create_dir(&folder).ok()?;
                group.0.push(folder.clone());
            }
            fs::write(folder.join(file), limit).ok()?;
        }
        Some(group)
    }

    /// Puts processes into the group; what they start from now on is in it, too.
    pub(super) fn add(&self, processes: &[i32]) {
        for process in processes {
            for folder in &self.0 {
                fs::write(folder.join("cgroup.procs"), process.to_string()).ok();
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.0 {
            // Its last processes may still be on their way out.
            for _ in 0..TRIES {
                if fs::remove_dir(folder).is_ok() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Removes groups of a longhaul that was killed; one in which something still runs stays.
fn remove_abandoned(tree: &Path) {
    for entry in fs::read_dir(tree).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("longhaul-")?.split('-').next());
        let abandoned = |owner: &str| owner.parse::<u32>().is_ok() && !Path::new("/proc").join(owner).exists();
        if owner.is_some_and(abandoned) {
            fs::remove_dir(entry.path()).ok();
        }
    }
}

fn memory_of_machine() -> Option<u64> {
    let told = fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_of_processes_that_are_gone_are_removed() {
        let tree = tempfile::tempdir().unwrap();
        let own = format!("longhaul-{}-0", std::process::id());
        let names = ["longhaul-4194999-3", own.as_str(), "longhaul-probe-1", "other-4194999-3"];
        names.iter().for_each(|name| fs::create_dir(tree.path().join(name)).unwrap());
        remove_abandoned(tree.path());
        let left = names.map(|name| tree.path().join(name).exists());
        assert_eq!(left, [false, true, true, true]);
    }
}
