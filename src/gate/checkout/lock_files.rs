//! Files by which package managers fix what a project is built from.

/// Their names; those of pip are told by a pattern.
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

/// Tells whether a path of the project is a lock file.
pub(in crate::gate) fn is_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let requirements = name.starts_with("requirements") && name.ends_with(".txt");
    NAMES.contains(&name) || requirements
}

#[cfg(test)]
mod tests {
    use super::*;

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
