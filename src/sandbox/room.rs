//! What commands see in bubblewrap, as its arguments.
//!
//! Later mounts lie over earlier ones: first the machine read-only, then what is hidden of it, then what is shown again.

use super::Network;
use super::Settings;
use super::families;
use super::homes;
use super::repository;
use super::shown;
use super::shown::REPLACED;
use anyhow::Result;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Where this program itself lies inside.
pub(super) const OWN_PROGRAM: &str = "/run/longhaul/longhaul";

/// Where the objects of git lie for a checkout that is shown at the project's own path.
pub const OBJECTS_OF_CHECKOUT: &str = "/run/longhaul/objects";

/// The descriptor from which bubblewrap reads its filter. It closes it then: nobody misses an output that nobody reads.
const FILTER: &str = "1";

/// What of `/proc` would let the superuser reach the machine, read-only or empty inside.
const PROC_READ_ONLY: [&str; 6] = ["asound", "bus", "fs", "irq", "sys", "sysrq-trigger"];
const PROC_EMPTY: [&str; 6] = ["kcore", "keys", "latency_stats", "sched_debug", "timer_list", "timer_stats"];

/// Files with secrets of the machine that the superuser could read without any capability.
const MACHINE_SECRETS: [&str; 7] = [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/shadow-",
    "/etc/gshadow-",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/letsencrypt",
];

/// Keys and the like, below the home, for a project that holds its user's home.
const HOME_SECRETS: [&str; 15] = [
    ".ssh",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/longhaul",
    ".docker",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
];

/// Where names are looked up with the network on, where `/etc/resolv.conf` leads there.
const RESOLVERS: [&str; 3] = ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"];

/// What commands may do to the project's repository.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Git {
    /// Everything but its settings and its hooks.
    Writable,
    ReadOnly,
}

/// What one sandbox shows of the project.
#[derive(Clone, Debug)]
pub struct Room {
    /// The project's own path, at which commands find it.
    pub root: PathBuf,
    /// The folder that lies there; another one for a checkout.
    pub folder: PathBuf,
    /// The git folder that all worktrees share, with our own folder in it.
    pub common_dir: PathBuf,
    pub git: Git,
    /// Further folders, at their own paths: read-only, and writable.
    pub shown: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
    /// The objects that the git folder of a checkout names.
    pub objects: Option<PathBuf>,
    /// Files that stay as they are, below the root.
    pub held: Vec<PathBuf>,
    pub network: Network,
}

impl Room {
    /// Returns the arguments of `bwrap` that make this room, without the command in it.
    pub(super) fn arguments(&self, settings: &Settings) -> Result<Vec<OsString>> {
        let shown = shown::shown(settings);
        let hidden = Hidden { keys: keys(settings), sockets: sockets(settings, &shown) };
        let mut mounts = Mounts::default();
        mounts.flags(&["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
        if self.network == Network::Off {
            mounts.flags(&["--unshare-net"]);
        }
        if families::filter(self.network).is_some() {
            mounts.flags(&["--seccomp", FILTER]);
        }
        mounts.flags(&["--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL"]);
        machine(&mut mounts, settings, self.network, &shown, &hidden);
        self.project(&mut mounts, settings)?;
        self.hold(&mut mounts);
        if let Some(program) = settings.supervisor.first() {
            mounts.mount("--ro-bind", Path::new(program), Path::new(OWN_PROGRAM));
        }
        self.writable.iter().for_each(|folder| mounts.mount("--bind", folder, folder));
        self.hide_once_more(&mut mounts, settings, hidden);
        mounts.flags(&["--remount-ro", "/run"]);
        mounts.0.extend(["--chdir".into(), self.root.clone().into_os_string()]);
        Ok(mounts.0)
    }

    /// Hides last what was hidden first, so that no mount laid between uncovers it; but not what the user shows by name, nor
    /// sockets of the project's own.
    fn hide_once_more(&self, mounts: &mut Mounts, settings: &Settings, hidden: Hidden) {
        let real = settings.read.iter().filter_map(|folder| folder.canonicalize().ok());
        let meant: Vec<PathBuf> = settings.read.iter().cloned().chain(real).collect();
        let own: Vec<&PathBuf> = self.writable.iter().chain([&self.root, &self.common_dir]).collect();
        let sockets = hidden.sockets.into_iter().filter(|socket| !own.iter().any(|folder| socket.starts_with(folder)));
        let hidden = hidden.keys.into_iter().chain(sockets);
        hidden.filter(|path| !meant.iter().any(|shown| path.starts_with(shown))).for_each(|path| mounts.hide(&path));
    }

    /// Shows the project, and of its repository what commands may see and change.
    fn project(&self, mounts: &mut Mounts, settings: &Settings) -> Result<()> {
        mounts.mount("--bind", &self.folder, &self.root);
        let inside = settings.home.iter().flat_map(|home| HOME_SECRETS.map(|secret| home.join(secret)));
        let inside = inside.chain(homes::hidden(settings));
        inside.filter(|secret| secret.starts_with(&self.root)).for_each(|secret| mounts.hide(&secret));
        if self.folder != self.root {
            let objects = self.objects.iter();
            objects.for_each(|objects| mounts.mount("--ro-bind", objects, Path::new(OBJECTS_OF_CHECKOUT)));
            self.shown.iter().for_each(|folder| mounts.mount("--ro-bind", folder, folder));
            return Ok(());
        }
        repository::show(mounts, &self.root, &self.common_dir, self.git)?;
        mounts.mount_if_real("--ro-bind", &self.root.join(".longhaul"));
        let state = Some(self.common_dir.join("longhaul")).filter(|state| state.is_dir());
        state.iter().for_each(|state| mounts.0.extend(["--tmpfs".into(), state.into()]));
        // What is shown may lie in there.
        self.shown.iter().for_each(|folder| mounts.mount("--ro-bind", folder, folder));
        state.iter().for_each(|state| mounts.0.extend(["--remount-ro".into(), state.into()]));
        Ok(())
    }

    /// Lays each held file read-only over itself, and the folders on the way to it, so that none can be moved away.
    fn hold(&self, mounts: &mut Mounts) {
        let named = |path: &&Path| !path.as_os_str().is_empty();
        let is_real = |path: &Path| self.folder.join(path).symlink_metadata().is_ok_and(|found| !found.is_symlink());
        let held = self.held.iter().filter(|file| file.ancestors().filter(named).all(is_real));
        let folders: BTreeSet<&Path> = held.clone().flat_map(|file| file.ancestors().skip(1)).filter(named).collect();
        let folders = folders.into_iter().map(|folder| ("--bind", folder));
        for (how, path) in folders.chain(held.map(|file| ("--ro-bind", file.as_path()))) {
            mounts.mount(how, &self.folder.join(path), &self.root.join(path));
        }
    }
}

/// What commands must not reach of the machine.
struct Hidden {
    keys: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
}

/// Shows the machine, without what is the user's own.
fn machine(mounts: &mut Mounts, settings: &Settings, network: Network, shown: &[PathBuf], hidden: &Hidden) {
    mounts.mount("--ro-bind", Path::new("/"), Path::new("/"));
    mounts.flags(&["--dev", "/dev", "--proc", "/proc"]);
    PROC_READ_ONLY.iter().for_each(|name| mounts.mount_if_there("--ro-bind", &Path::new("/proc").join(name)));
    PROC_EMPTY.iter().for_each(|name| mounts.hide(&Path::new("/proc").join(name)));
    REPLACED.iter().for_each(|path| mounts.empty(Path::new(path)));
    if let Some(home) = settings.home.as_deref().filter(|home| home.parent().is_some()) {
        mounts.empty(home);
    }
    shown.iter().for_each(|folder| mounts.mount("--ro-bind", folder, folder));
    hidden.keys.iter().chain(&hidden.sockets).for_each(|path| mounts.hide(path));
    settings.read.iter().for_each(|folder| mounts.mount_if_there("--ro-bind", folder));
    if network == Network::On {
        RESOLVERS.iter().for_each(|folder| mounts.mount_if_there("--ro-bind", Path::new(folder)));
    }
}

/// Lists what would let commands act for the machine or the user elsewhere.
fn keys(settings: &Settings) -> Vec<PathBuf> {
    [host_keys(), MACHINE_SECRETS.map(PathBuf::from).to_vec(), homes::hidden(settings)].concat()
}

/// Lists the sockets of the machine's services that are not hidden with a folder: a folder that cannot be written still
/// lets one connect.
fn sockets(settings: &Settings, shown: &[PathBuf]) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let path = |line: &str| line.find(" /").and_then(|start| Path::new(&line[start + 1..]).canonicalize().ok());
    let hidden = |path: &PathBuf| {
        let own = REPLACED.iter().map(Path::new).chain(settings.home.as_deref());
        let is_below = |folder: &Path| path.starts_with(folder);
        own.into_iter().any(is_below) && !shown.iter().any(|folder| is_below(folder))
    };
    let found: BTreeSet<PathBuf> = table.lines().filter_map(path).filter(|path| !hidden(path)).collect();
    found.into_iter().collect()
}

/// Lists the keys by which this machine says who it is.
fn host_keys() -> Vec<PathBuf> {
    let entries = fs::read_dir("/etc/ssh").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_key = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    };
    entries.filter(is_key).collect()
}

/// The arguments so far.
#[derive(Default)]
pub(super) struct Mounts(Vec<OsString>);

impl Mounts {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    pub(super) fn mount(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([how.into(), from.into(), to.into()]);
    }

    /// Lays what is there over itself; what is not there cannot be held.
    pub(super) fn mount_if_there(&mut self, how: &str, path: &Path) {
        if path.exists() {
            self.mount(how, path, path);
        }
    }

    /// The same, but not through a link, which somebody in the project may have made.
    pub(super) fn mount_if_real(&mut self, how: &str, path: &Path) {
        if path.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
            self.mount(how, path, path);
        }
    }

    /// Lays an empty folder over a folder.
    fn empty(&mut self, folder: &Path) {
        // A link leads to a folder that is looked at under its own name.
        if folder.is_dir() && !folder.is_symlink() {
            self.0.extend(["--tmpfs".into(), folder.into()]);
        }
    }

    /// Hides a file, or what is in a folder.
    fn hide(&mut self, path: &Path) {
        if path.is_dir() {
            self.empty(path);
        } else if path.exists() {
            self.mount("--ro-bind", Path::new("/dev/null"), path);
        }
    }
}
