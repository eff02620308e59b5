//! Where a program lies.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// Finds a program as a shell would: by its path when it names one, else in the folders of `path`.
///
/// Relative folders are left out: what they hold depends on where one stands, and the project may have put it there.
pub fn find_program(name: &str, path: &str, dir: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(dir.join(name)).filter(|program| is_program(program));
    }
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|program| is_program(program))
}

/// Returns a `PATH` without the folders inside `folder` and without relative ones: whoever writes there would choose the
/// programs that we run ourselves.
pub fn path_outside(path: &str, folder: &Path) -> String {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let inside = |entry: &Path| {
        let resolved = entry.canonicalize().unwrap_or_else(|_| entry.to_owned());
        entry.starts_with(folder) || resolved.starts_with(&real)
    };
    let kept: Vec<PathBuf> =
        std::env::split_paths(path).filter(|entry| entry.is_absolute() && !inside(entry)).collect();
    std::env::join_paths(kept).unwrap_or_default().to_string_lossy().into_owned()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn folders_of_the_project_are_no_place_for_our_own_programs() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir_all(project.join("bin")).unwrap();
        std::os::unix::fs::symlink(project.join("bin"), folder.path().join("link")).unwrap();
        let (inside, link) = (project.join("bin"), folder.path().join("link"));
        let path = format!("{}:/usr/bin:{}:.:/bin", inside.display(), link.display());
        assert_eq!(path_outside(&path, &project), "/usr/bin:/bin");
    }

    #[test]
    fn only_what_can_be_run_is_found_and_the_first_folder_wins() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, mode) in [("a/text", 0o644), ("b/text", 0o755), ("c/text", 0o755)] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "").unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir_all(at("a/folder")).unwrap();
        let path = ["a", "b", "c"].map(|name| at(name).display().to_string()).join(":");

        assert_eq!(find_program("text", &path, Path::new("/")), Some(at("b/text")));
        assert_eq!(find_program("folder", &path, Path::new("/")), None);
        assert_eq!(find_program("./c/text", "", folder.path()), Some(at("./c/text")));
        assert_eq!(find_program("./a/text", "", folder.path()), None);
        assert_eq!(find_program("text", ".:b", folder.path()), None, "a relative folder names no certain place");
    }
}
