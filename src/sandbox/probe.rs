//! What this machine can hold commands with: found by trying it, because no setting of the system tells for certain.

mod cgroups;

pub use cgroups::Cgroups;
pub use cgroups::probe as cgroups;

use super::families;
use crate::process;
use crate::process::Command;
use crate::process::Exit;
use crate::process::Finished;
use crate::process::Interrupt;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fmt::Formatter;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// What every sandbox of ours asks of bubblewrap; a machine that refuses one of these can hold nothing.
pub const NEEDED: [&str; 17] = [
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--new-session",
    "--as-pid-1",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--clearenv",
];

/// How long bubblewrap may take to start `true`; it needs a few milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

/// What the machine can hold commands with.
#[derive(Clone, Debug)]
pub struct Probe {
    pub bubblewrap: Result<Tried, Lacking>,
    pub cgroups: Result<Cgroups, Lacking>,
}

/// A bubblewrap that works here.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tried {
    pub program: PathBuf,
    /// As it tells it, such as `bubblewrap 0.8.0`.
    pub version: String,
}

/// Why something cannot be had, and what would change that.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lacking {
    pub reason: String,
    pub way_out: String,
}

impl Display for Lacking {
    fn fmt(&self, formatter: &mut Formatter) -> std::fmt::Result {
        formatter.write_str(&self.reason)
    }
}

/// Tries everything; `outer` is the environment longhaul itself runs in.
pub fn probe(outer: &BTreeMap<String, String>) -> Probe {
    Probe { bubblewrap: bubblewrap(outer), cgroups: cgroups::probe() }
}

/// Starts `true` in a sandbox with all that ours need, and tells which bubblewrap did it or why none can.
pub fn bubblewrap(outer: &BTreeMap<String, String>) -> Result<Tried, Lacking> {
    if !cfg!(target_os = "linux") {
        return Err(lacking("bubblewrap exists for Linux only", "run longhaul on Linux, or in WSL2"));
    }
    let path = outer.get("PATH").map_or(super::environment::DEFAULT_PATH, String::as_str);
    let Some(program) = process::find_program("bwrap", path, Path::new("/")) else {
        let way_out = "install bubblewrap: the package is called `bubblewrap` on Debian, Ubuntu, Fedora and Arch";
        return Err(lacking("there is no `bwrap` on the PATH", way_out));
    };
    // As the sandboxes do, with a filter of system calls; here it comes as the input.
    let filter = families::filter(super::Network::Off);
    let filtered: &[&str] = if filter.is_some() { &["--seccomp", "0"] } else { &[] };
    let tried = start(&program, &[&NEEDED[..], filtered, &["--tmpfs", "/tmp", "true"]].concat(), path, filter);
    if tried.exit != Exit::Code(0) {
        let said = said(&tried);
        return Err(Lacking { way_out: way_out(&said, &kernel), reason: said });
    }
    let version = start(&program, &["--version"], path, None).output.text().trim().to_owned();
    Ok(Tried { program, version })
}

fn start(program: &Path, args: &[&str], path: &str, stdin: Option<Vec<u8>>) -> Finished {
    let env = BTreeMap::from([("PATH".to_owned(), path.to_owned())]);
    let command = Command { stdin, ..Command::new(&program.to_string_lossy(), args, Path::new("/"), env) };
    process::run(&command.limit(LIMIT), &Interrupt::new())
}

/// Returns what a failed try told, on one line.
fn said(tried: &Finished) -> String {
    match tried.output.text().lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => line.to_owned(),
        None => format!("`bwrap` failed: {}", tried.exit),
    }
}

/// Reads a setting of the kernel; none where this kernel has no such setting.
fn kernel(name: &str) -> Option<String> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    std::fs::read_to_string(path).ok().map(|value| value.trim().to_owned())
}

/// Returns what would let bubblewrap work, from what it said and from the kernel's settings.
fn way_out(said: &str, kernel: &dyn Fn(&str) -> Option<String>) -> String {
    let is = |name: &str, value: &str| kernel(name).as_deref() == Some(value);
    if said.contains("nknown option") {
        return "install a newer bubblewrap: 0.8 is known to do".to_owned();
    }
    if is("kernel.unprivileged_userns_clone", "0") {
        return "allow user namespaces: `sudo sysctl -w kernel.unprivileged_userns_clone=1`".to_owned();
    }
    if is("user.max_user_namespaces", "0") {
        return "allow user namespaces: `sudo sysctl -w user.max_user_namespaces=10000`".to_owned();
    }
    if is("kernel.apparmor_restrict_unprivileged_userns", "1") {
        return "AppArmor forbids user namespaces: give `bwrap` a profile that has `userns,`, \
                or `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
            .to_owned();
    }
    if said.contains("old file caps") {
        return "take the file capabilities off it: `sudo setcap -r \"$(command -v bwrap)\"`".to_owned();
    }
    "in a container, namespaces must be allowed from outside (Docker and Podman: `--security-opt seccomp=unconfined \
     --security-opt systempaths=unconfined`, or `--privileged`); elsewhere ask who runs the machine whether user \
     namespaces are forbidden"
        .to_owned()
}

fn lacking(reason: &str, way_out: &str) -> Lacking {
    Lacking { reason: reason.to_owned(), way_out: way_out.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Probes with this script as the only `bwrap` on the PATH.
    fn with(script: Option<&str>) -> Result<Tried, Lacking> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("bwrap");
        if let Some(text) = script {
            std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        bubblewrap(&BTreeMap::from([("PATH".to_owned(), folder.path().display().to_string())]))
    }

    #[test]
    fn without_the_program_the_package_is_named() {
        let lacking = with(None).unwrap_err();
        assert_eq!(lacking.reason, "there is no `bwrap` on the PATH");
        assert!(lacking.way_out.contains("`bubblewrap`"), "{}", lacking.way_out);
    }

    #[test]
    fn one_that_works_tells_its_version_and_one_that_does_not_its_reason() {
        let works = "case $1 in --version) echo 'bubblewrap 9.9' ;; esac";
        assert_eq!(with(Some(works)).unwrap().version, "bubblewrap 9.9");
        let refused = "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1";
        assert_eq!(with(Some(refused)).unwrap_err().reason, "bwrap: setting up uid map: Permission denied");
        assert_eq!(with(Some("exit 3")).unwrap_err().reason, "`bwrap` failed: exit code 3");
    }

    #[test]
    fn everything_needed_is_asked_for() {
        let asks = |flag: &str| with(Some(&format!("for a; do [ \"$a\" = {flag} ] && exit 1; done; exit 0"))).is_err();
        assert!(NEEDED.iter().filter(|flag| flag.starts_with("--")).all(|flag| asks(flag)));
        assert_eq!(asks("--seccomp"), families::filter(crate::sandbox::Network::Off).is_some());
        assert!(!asks("--share-net"));
    }

    #[test]
    fn the_way_out_names_the_setting_that_forbids_it() {
        let kernel =
            |name: &'static str, value: &'static str| move |asked: &str| (asked == name).then(|| value.to_owned());
        let denied = "bwrap: No permissions to create new namespace";
        for (name, value) in [
            ("kernel.unprivileged_userns_clone", "0"),
            ("user.max_user_namespaces", "0"),
            ("kernel.apparmor_restrict_unprivileged_userns", "1"),
        ] {
            let forbidden = way_out(denied, &kernel(name, value));
            assert!(forbidden.contains(name), "{forbidden}");
            let other = if value == "0" { "1" } else { "0" };
            let allowed = way_out(denied, &kernel(name, other));
            assert!(allowed.starts_with("in a container"), "{allowed}");
        }
        assert!(way_out("bwrap: Unknown option --as-pid-1", &kernel("x", "0")).contains("newer"));
    }
}
