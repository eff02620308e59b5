//! The lock files of package managers, and the command that installs exactly what each one names.

use super::open_beneath;
use std::io::Read;
use std::path::Path;

/// Where a lock file says of which form it is.
const START: u64 = 4096;

/// A lock file at a project's root.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LockFile {
    pub name: &'static str,
    /// Text for `sh` that installs what it names and leaves the file as it is.
    pub prepare: &'static str,
}

/// The oldest form of `yarn.lock` wants another option than those after it.
const YARN: LockFile = LockFile { name: "yarn.lock", prepare: "yarn install --immutable" };
const YARN_1: LockFile = LockFile { name: "yarn.lock", prepare: "yarn install --frozen-lockfile" };

/// Those with a command. Where two of one manager can lie side by side, the one it prefers comes first.
const KNOWN: [LockFile; 15] = [
    LockFile { name: "npm-shrinkwrap.json", prepare: "npm ci" },
    LockFile { name: "package-lock.json", prepare: "npm ci" },
    LockFile { name: "pnpm-lock.yaml", prepare: "pnpm install --frozen-lockfile" },
    YARN,
    LockFile { name: "bun.lock", prepare: "bun install --frozen-lockfile" },
    LockFile { name: "bun.lockb", prepare: "bun install --frozen-lockfile" },
    LockFile { name: "uv.lock", prepare: "uv sync --frozen" },
    LockFile { name: "poetry.lock", prepare: "poetry install --no-interaction" },
    LockFile { name: "Pipfile.lock", prepare: "pipenv sync --dev" },
    LockFile {
        name: "requirements.txt",
        prepare: "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
    },
    LockFile { name: "Cargo.lock", prepare: "cargo fetch --locked" },
    LockFile { name: "go.sum", prepare: "go mod download" },
    LockFile { name: "Gemfile.lock", prepare: "BUNDLE_FROZEN=true bundle install" },
    LockFile { name: "composer.lock", prepare: "composer install --no-interaction" },
    LockFile { name: "mix.lock", prepare: "mix deps.get --check-locked" },
];

/// The names of all that fix what a project is built from; those of pip are told by a pattern.
const NAMES: [&str; 20] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "Cargo.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "Pipfile.lock",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
    "mix.lock",
    "gradle.lockfile",
    "pubspec.lock",
    "Package.resolved",
    "flake.lock",
];

impl LockFile {
    /// Returns what is known of a lock file at a project's root, by its path.
    pub fn named(path: &str) -> Option<Self> {
        KNOWN.into_iter().find(|known| known.name == path)
    }
}

/// Tells whether a path of the project is a lock file.
pub fn is_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let requirements = name.starts_with("requirements") && name.ends_with(".txt");
    NAMES.contains(&name) || requirements
}

/// Returns the lock files at a project's root, each command once.
pub fn lock_files(root: &Path) -> Vec<LockFile> {
    let mut found: Vec<LockFile> = Vec::new();
    for known in KNOWN.into_iter().filter(|known| root.join(known.name).is_file()) {
        let known = if known == YARN && is_yarn_1(root) { YARN_1 } else { known };
        if !found.iter().any(|other| other.prepare == known.prepare) {
            found.push(known);
        }
    }
    found
}

fn is_yarn_1(root: &Path) -> bool {
    let start = open_beneath(root, Path::new(YARN.name)).ok().flatten().and_then(|file| {
        let mut start = Vec::new();
        file.take(START).read_to_end(&mut start).ok()?;
        Some(start)
    });
    start.is_some_and(|start| String::from_utf8_lossy(&start).contains("# yarn lockfile v1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepares(files: &[(&str, &str)]) -> Vec<&'static str> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        lock_files(folder.path()).iter().map(|file| file.prepare).collect()
    }

    #[test]
    fn every_lock_file_has_its_command_and_none_is_found_where_none_is() {
        assert_eq!(prepares(&[("package.json", "{}"), ("Cargo.toml", "")]), [""; 0]);
        assert_eq!(prepares(&[("package-lock.json", "{}"), ("Cargo.lock", "")]), ["npm ci", "cargo fetch --locked"]);
        for known in KNOWN {
            assert_eq!(prepares(&[(known.name, "")]), [known.prepare]);
        }
    }

    #[test]
    fn the_same_command_is_not_run_twice() {
        assert_eq!(prepares(&[("package-lock.json", "{}"), ("npm-shrinkwrap.json", "{}")]), ["npm ci"]);
    }

    #[test]
    fn the_two_forms_of_yarns_file_are_told_apart() {
        assert_eq!(prepares(&[("yarn.lock", "# yarn lockfile v1\n")]), ["yarn install --frozen-lockfile"]);
        assert_eq!(prepares(&[("yarn.lock", "__metadata:\n  version: 8\n")]), ["yarn install --immutable"]);
    }

    #[test]
    fn lock_files_are_known_in_any_folder() {
        for path in ["Cargo.lock", "web/package-lock.json", "requirements-dev.txt", "a/go.sum"] {
            assert!(is_lock_file(path), "{path}");
        }
        for path in ["Cargo.toml", "my-requirements.txt", "yarn.lock/readme", "locks"] {
            assert!(!is_lock_file(path), "{path}");
        }
    }
}
