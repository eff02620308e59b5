//! Lays the approved files of a check over a tree, so that they decide and not what the tree holds in their place.

use crate::gate::Pinned;
use crate::gate::pin::Mode;
use crate::gate::pin::Pin;
use crate::project::path_of;
use anyhow::Context;
use anyhow::Result;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

/// Makes the project's files in `folder` what the pins say: pinned bytes are written, what was absent or is new beside
/// the pins is removed. `now` is the closure as it lies there. Returns the paths that were touched, or the pin whose
/// bytes are not known.
pub(in crate::gate) fn overlay(
    folder: &Path,
    pins: &BTreeMap<String, Option<String>>,
    now: &[Pinned],
    pinned: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Result<std::result::Result<Vec<String>, String>> {
    let mut touched = Vec::new();
    let there: BTreeMap<&str, &Pinned> = now.iter().map(|file| (file.path.as_str(), file)).collect();
    for file in now.iter().filter(|file| is_of_project(&file.path) && file.id.is_some()) {
        if !matches!(pins.get(&file.path), Some(Some(_))) {
            take_out(folder, &path_of(&file.path))?;
            touched.push(file.path.clone());
        }
    }
    for (path, pin) in pins.iter().filter(|(path, _)| is_of_project(path)) {
        let Some(pin) = pin.as_deref().map(Pin::read) else { continue };
        let file = there.get(path.as_str());
        if file.is_some_and(|file| pin.fits(file)) {
            continue;
        }
        // A link leads out of what is pinned, so its target cannot be laid out from the pins.
        let known = pinned(pin.id).filter(|bytes| crate::project::blob_id(bytes) == pin.id);
        let Some(bytes) = known.filter(|_| pin.mode != Some(Mode::Link)) else { return Ok(Err(path.clone())) };
        let mode = pin.mode.or(file.map(|file| file.mode)).unwrap_or(Mode::Plain);
        lay(folder, &path_of(path), &bytes, mode)?;
        touched.push(path.clone());
    }
    Ok(Ok(touched))
}

/// Removes what Python compiled beside the pinned files: it would be loaded in their place.
pub(in crate::gate) fn drop_compiled(folder: &Path, pins: &BTreeMap<String, Option<String>>) -> Result<()> {
    let pinned = pins.keys().filter(|path| is_of_project(path));
    let folders: BTreeSet<&Path> = pinned.filter_map(|path| Path::new(path).parent()).collect();
    folders.into_iter().try_for_each(|beside| take_out(folder, &beside.join("__pycache__")))
}

/// Tells whether a pinned path lies in the project and not in memory.
pub(in crate::gate) fn is_of_project(path: &str) -> bool {
    !path.starts_with("checks/")
}

/// Puts in place of a file what keeps nothing that is written to it, and is empty for whoever reads it.
pub(in crate::gate) fn lay_sink(root: &Path, path: &Path) -> Result<()> {
    let full = make_room(root, path)?;
    symlink("/dev/null", full).with_context(|| format!("could not lay a link over `{}`", path.display()))
}

/// Writes one file.
fn lay(root: &Path, path: &Path, bytes: &[u8], mode: Mode) -> Result<()> {
    let full = make_room(root, path)?;
    let context = || format!("could not lay the approved `{}` over the tree", path.display());
    fs::write(&full, bytes).with_context(context)?;
    let bits = if mode == Mode::Executable { 0o755 } else { 0o644 };
    fs::set_permissions(&full, fs::Permissions::from_mode(bits)).with_context(context)
}

/// Makes the folders on the way to a file and removes what lies in its place; a link or a file where a folder has to be gives
/// way, so that nothing outside is written.
fn make_room(root: &Path, path: &Path) -> Result<PathBuf> {
    let context = || format!("could not make room for `{}` in the tree", path.display());
    let mut at = root.to_owned();
    for folder in path.parent().into_iter().flat_map(Path::components) {
        at.push(folder);
        if !fs::symlink_metadata(&at).is_ok_and(|found| found.is_dir()) {
            remove(&at)?;
            fs::create_dir(&at).with_context(context)?;
        }
    }
    let full = root.join(path);
    remove(&full)?;
    Ok(full)
}

/// Removes one file or folder; where a link leads to it, the link goes and not what it leads to.
fn take_out(root: &Path, path: &Path) -> Result<()> {
    if fs::symlink_metadata(root.join(path)).is_err() {
        return Ok(());
    }
    let mut at = root.to_owned();
    for part in path.components() {
        at.push(part);
        if fs::symlink_metadata(&at).is_ok_and(|found| found.is_symlink()) {
            break;
        }
    }
    remove(&at)
}

/// Removes whatever is there; nothing is fine.
fn remove(path: &Path) -> Result<()> {
    let gone = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => super::private::remove(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    gone.with_context(|| format!("could not take `{}` out of the tree", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: &str) -> Pinned {
        let id = Some(crate::project::blob_id(bytes.as_bytes()));
        Pinned { path: path.to_owned(), id, mode: Mode::Plain, bytes: Some(bytes.into()) }
    }

    /// Makes a tree whose `tests` is a link to a folder outside, with a file in it.
    fn linked() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("tree"), folder.path().join("outside"));
        for dir in [&root, &outside] {
            fs::create_dir(dir).unwrap();
        }
        fs::write(outside.join("a.sh"), "outside").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("tests")).unwrap();
        (folder, root, outside)
    }

    #[test]
    fn the_tree_becomes_what_was_pinned_and_nothing_outside_is_touched() {
        let (_folder, root, outside) = linked();
        fs::write(root.join("new.sh"), "planted").unwrap();
        let good = file("tests/a.sh", "good");
        let pins = BTreeMap::from([
            ("tests/a.sh".to_owned(), Some(format!("100755 {}", good.id.clone().unwrap()))),
            ("new.sh".to_owned(), None),
        ]);
        let now = [file("tests/a.sh", "outside"), file("new.sh", "planted")];
        let known = |id: &str| (Some(id.to_owned()) == good.id).then(|| b"good".to_vec());

        let touched = overlay(&root, &pins, &now, &known).unwrap().unwrap();

        assert_eq!(touched, ["new.sh", "tests/a.sh"]);
        assert_eq!(fs::read_to_string(root.join("tests/a.sh")).unwrap(), "good");
        assert_eq!(fs::metadata(root.join("tests/a.sh")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_to_string(outside.join("a.sh")).unwrap(), "outside");
        assert!(!root.join("new.sh").exists());
    }

    #[test]
    fn a_file_behind_a_link_is_taken_out_with_the_link() {
        let (_folder, root, outside) = linked();
        let pins = BTreeMap::from([("tests/a.sh".to_owned(), None)]);
        overlay(&root, &pins, &[file("tests/a.sh", "outside")], &|_| None).unwrap().unwrap();
        assert!(!root.join("tests").exists() && outside.join("a.sh").exists());
    }

    #[test]
    fn bytes_that_are_not_the_pinned_ones_are_not_laid_out() {
        let folder = tempfile::tempdir().unwrap();
        let pins = BTreeMap::from([("a.sh".to_owned(), file("a.sh", "good").id)]);
        let now = [file("a.sh", "bad")];
        let forged = overlay(folder.path(), &pins, &now, &|_| Some(b"forged".to_vec())).unwrap();
        assert_eq!(forged, Err("a.sh".to_owned()));
        assert_eq!(overlay(folder.path(), &pins, &now, &|_| None).unwrap(), Err("a.sh".to_owned()));
    }
}
