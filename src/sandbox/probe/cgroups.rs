//! Whether limits on memory and on the number of processes can be had from the kernel's control groups.

use super::Lacking;
use super::lacking;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Where a group with limits can be made. What is made there must be removed again by whoever makes it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Cgroups {
    /// One tree with both controllers: the folder in which a group can be made.
    V2(PathBuf),
    /// A tree for each controller: the folder in each.
    V1 { memory: PathBuf, pids: PathBuf },
}

/// Where the trees are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// Looks where a group can be made beside or below our own.
pub(super) fn probe() -> Result<Cgroups, Lacking> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    find(Path::new(MOUNT), &own)
}

fn find(mount: &Path, own: &str) -> Result<Cgroups, Lacking> {
    if mount.join("cgroup.controllers").exists() {
        return unified(mount, own);
    }
    let folder = |name: &str| writable(&mount.join(name), &group_of(own, name)?);
    match (folder("memory"), folder("pids")) {
        (Some(memory), Some(pids)) => Ok(Cgroups::V1 { memory, pids }),
        (None, None) if !mount.join("memory").exists() && !mount.join("pids").exists() => {
            Err(lacking("no control groups are mounted", &format!("mount them at `{MOUNT}`")))
        }
        _ => Err(forbidden()),
    }
}

/// In one tree a group has limits only where its parent hands both controllers down. Below our own group that is rare,
/// since a group with processes may not; beside it, in a user's own slice, it is the rule.
fn unified(mount: &Path, own: &str) -> Result<Cgroups, Lacking> {
    let group = group_of(own, "").unwrap_or_else(|| "/".to_owned());
    let below = mount.join(group.trim_start_matches('/'));
    let beside = below.parent().filter(|parent| parent.starts_with(mount)).map(Path::to_owned);
    let hands_down = |folder: &PathBuf| {
        let given = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        let has = |name: &str| given.split_whitespace().any(|controller| controller == name);
        has("memory") && has("pids")
    };
    let mut candidates = [Some(below), beside].into_iter().flatten().filter(hands_down);
    candidates.find(|folder| can_make_group(folder)).map(Cgroups::V2).ok_or_else(forbidden)
}

/// Returns our own group in the tree of a controller; the empty name is the one tree of version 2.
fn group_of(own: &str, controller: &str) -> Option<String> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (names, group) = (parts.next()?, parts.next()?);
        names.split(',').any(|name| name == controller).then(|| group.to_owned())
    })
}

/// Returns the folder below a tree's mount where a group can be made; in a container our own is the mount itself.
fn writable(tree: &Path, group: &str) -> Option<PathBuf> {
    let own = tree.join(group.trim_start_matches('/'));
    [own, tree.to_owned()].into_iter().find(|folder| can_make_group(folder))
}

/// Makes a group and removes it, because permissions alone do not tell: the mount may be read-only.
fn can_make_group(folder: &Path) -> bool {
    let group = folder.join(format!("longhaul-probe-{}", std::process::id()));
    let made = fs::create_dir(&group).is_ok();
    made && fs::remove_dir(&group).is_ok()
}

fn forbidden() -> Lacking {
    lacking(
        "no control group can be made here",
        "start longhaul in a group of its own: `systemd-run --user --scope -p Delegate=yes longhaul …`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn one_tree_needs_both_controllers_handed_down() {
        let files = |given| {
            [
                ("cgroup.controllers", "cpu memory pids"),
                ("cgroup.subtree_control", "cpu"),
                ("user/cgroup.subtree_control", given),
                ("user/shell/cgroup.subtree_control", ""),
            ]
        };
        let mount = tree(&files("memory pids"));
        assert_eq!(find(mount.path(), "0::/user/shell\n"), Ok(Cgroups::V2(mount.path().join("user"))));
        assert_eq!(find(mount.path(), "0::/user\n"), Ok(Cgroups::V2(mount.path().join("user"))));
        let mount = tree(&files("memory"));
        assert_eq!(find(mount.path(), "0::/user/shell\n"), Err(forbidden()));
    }

    #[test]
    fn two_trees_are_both_needed() {
        let mount = tree(&[("memory/a/x", ""), ("pids/x", "")]);
        let own = "5:cpu,memory:/a\n4:pids:/elsewhere\n1:name=systemd:/\n";
        let both = Cgroups::V1 { memory: mount.path().join("memory/a"), pids: mount.path().join("pids") };
        assert_eq!(find(mount.path(), own), Ok(both));
        assert_eq!(find(mount.path(), "5:memory:/a\n"), Err(forbidden()));
        assert_eq!(find(tree(&[]).path(), own).unwrap_err().reason, "no control groups are mounted");
    }

    #[test]
    fn nothing_is_left_behind() {
        let mount = tree(&[("memory/x", ""), ("pids/x", "")]);
        find(mount.path(), "2:memory:/\n1:pids:/\n").unwrap();
        assert_eq!(fs::read_dir(mount.path().join("pids")).unwrap().count(), 1);
    }
}
