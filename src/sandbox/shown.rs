//! What is shown of the folders that the sandbox replaces, and whether a program is among it.

use super::Settings;
use super::homes;
use crate::process;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// Folders of everybody's, each replaced by one of the sandbox's own.
pub(super) const REPLACED: [&str; 5] = ["/tmp", "/var/tmp", "/run", "/home", "/root"];

/// Folders whose folders belong to a whole user or service each.
const OF_MANY: [&str; 3] = ["/home", "/run", "/run/user"];

/// A program of the machine that commands in the sandbox cannot start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hidden {
    /// What is not there: the program, or what its link leads to.
    pub program: PathBuf,
    /// What `sandbox.read` would have to name.
    pub folder: PathBuf,
    /// Others can write into its folder, so that it is not shown though it is on the PATH.
    pub open: bool,
}

impl Hidden {
    /// Says where it lies and why it is not there.
    pub fn reason(&self) -> String {
        let why = if self.open { ", since others can write into its folder" } else { "" };
        format!("lies in `{}`, which the sandbox does not show{why}", self.program.display())
    }

    /// Says what would show it.
    pub fn way_out(&self) -> String {
        let closed = if self.open { "take the right to write from others, or " } else { "" };
        format!("{closed}add `{}` to `sandbox.read`", self.folder.display())
    }
}

/// Lists what is shown of the home and of the other folders that are replaced.
pub(super) fn shown(settings: &Settings) -> Vec<PathBuf> {
    let mut shown = [homes::shown(settings), searched(settings)].concat();
    shown.sort();
    // What lies in a folder that is shown is shown with it.
    shown.dedup_by(|later, earlier| later.starts_with(earlier));
    shown
}

/// Tells whether a program of the machine is hidden, itself or what its link leads to.
pub fn hidden(settings: &Settings, program: &Path) -> Option<Hidden> {
    let shown = [shown(settings), settings.read.clone()].concat();
    let is_hidden =
        |path: &PathBuf| is_replaced(path, settings) && !shown.iter().any(|folder| path.starts_with(folder));
    let led = program.canonicalize().ok();
    let program = [Some(program.to_owned()), led].into_iter().flatten().find(is_hidden)?;
    let folder = program.parent()?;
    Some(Hidden { folder: installation(folder, settings), open: is_open(folder), program })
}

/// Finds the program that a failed command did not find, though the machine has it, by what it said.
pub fn hidden_in(settings: &Settings, said: &str) -> Option<Hidden> {
    let lines = said.lines().filter(|line| line.contains("not found") || line.contains("No such file"));
    let words = lines.flat_map(|line| line.split(": ")).map(|word| word.trim_matches(['`', '\'', '"', ' ']));
    let named = words.filter(|word| !word.is_empty() && (word.starts_with('/') || !word.contains('/')));
    let found = named.filter_map(|word| process::find_program(word, &settings.path, Path::new("/")));
    found.filter_map(|program| hidden(settings, &program)).next()
}

/// Lists the folders on the PATH that would be shown if others could not write into them.
pub fn left_out(settings: &Settings) -> Vec<PathBuf> {
    let folders = std::env::split_paths(&settings.path).filter(|folder| is_searched(folder, settings));
    folders.filter(|folder| folder.is_dir() && is_open(folder) && !settings.read.contains(folder)).collect()
}

/// Lists the folders below the replaced ones in which programs are looked for, with what these need.
fn searched(settings: &Settings) -> Vec<PathBuf> {
    let folders = std::env::split_paths(&settings.path).filter(|folder| is_searched(folder, settings));
    let folders: Vec<PathBuf> = folders.filter(|folder| folder.is_dir() && !is_open(folder)).collect();
    let programs: Vec<PathBuf> = folders.iter().flat_map(|folder| linked(folder, settings)).collect();
    let installations = folders.iter().map(|folder| installation(folder, settings)).collect();
    [installations, programs].concat()
}

/// Tells whether a folder lies in a replaced one, is not the home's, and is no such folder itself.
fn is_searched(folder: &Path, settings: &Settings) -> bool {
    let home = settings.home.as_deref();
    let of_home = home.is_some_and(|home| folder.starts_with(home) || home.starts_with(folder));
    is_replaced(folder, settings) && !of_home && !is_wide(folder)
}

fn is_replaced(path: &Path, settings: &Settings) -> bool {
    let home = settings.home.as_deref().filter(|home| home.parent().is_some());
    REPLACED.iter().map(Path::new).chain(home).any(|folder| path.starts_with(folder))
}

/// Tells whether a folder holds more than one installation: a replaced one, or what is a user's.
fn is_wide(folder: &Path) -> bool {
    let of_many = |folder: &Path| OF_MANY.iter().any(|many| folder == Path::new(many));
    REPLACED.iter().any(|replaced| folder == Path::new(replaced)) || folder.parent().is_some_and(of_many)
}

fn installation(folder: &Path, settings: &Settings) -> PathBuf {
    let whole = homes::prefix(folder, settings.home.as_deref().unwrap_or(Path::new("/")));
    if is_wide(&whole) || is_open(&whole) { folder.to_owned() } else { whole }
}

/// Lists the programs in replaced folders to which the links of a folder lead.
fn linked(folder: &Path, settings: &Settings) -> Vec<PathBuf> {
    let links = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let led = links.filter(|link| link.is_symlink()).filter_map(|link| link.canonicalize().ok());
    let is_program = |path: &PathBuf| process::find_program(&path.to_string_lossy(), "", Path::new("/")).is_some();
    led.filter(|target| is_replaced(target, settings) && is_program(target)).collect()
}

/// Tells whether others than its owner and group can put programs into a folder.
fn is_open(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o002 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Settings with this home and these folders on the PATH.
    fn settings(home: &str, searched: &[&Path]) -> Settings {
        let path = std::env::join_paths(searched).unwrap().into_string().unwrap();
        Settings { home: Some(home.into()), path, ..Settings::plain() }
    }

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn whole_folders_of_everybodys_or_of_a_user_are_not_shown() {
        let searched = ["/tmp", "/run", "/home/ada", "/run/user/1000", "/home", "/nowhere", "/usr/bin"].map(Path::new);
        assert_eq!(shown(&settings("/nowhere", &searched)), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_folder_of_the_path_is_shown_with_its_installation_unless_others_can_write_there() {
        let tmp = tempfile::tempdir_in("/tmp").unwrap();
        let [venv, open, real] = ["venv", "open", "real"].map(|name| tmp.path().join(name));
        for program_at in [venv.join("bin/python"), open.join("tool"), real.join("x")] {
            program(&program_at);
        }
        fs::create_dir(venv.join("lib")).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let all = settings("/nowhere", &[&venv.join("bin"), &open]);
        assert_eq!(shown(&all), vec![venv.clone()]);
        assert_eq!(hidden(&all, &venv.join("bin/python")), None);
        let expected = Hidden { program: open.join("tool"), folder: open.clone(), open: true };
        assert_eq!(hidden(&all, &open.join("tool")), Some(expected));
        assert_eq!(left_out(&all), [open]);

        std::os::unix::fs::symlink(real.join("x"), venv.join("bin/x")).unwrap();
        assert_eq!(shown(&all), [real.join("x"), venv], "a link is followed");
    }

    #[test]
    fn what_a_command_says_it_did_not_find_is_looked_for() {
        let tmp = tempfile::tempdir_in("/tmp").unwrap();
        let tool = tmp.path().join("tool");
        program(&tool);
        let none = settings("/nowhere", &[]);
        let hidden = Some(Hidden { program: tool.clone(), folder: tmp.path().to_owned(), open: false });
        assert_eq!(hidden_in(&none, &format!("sh: 1: {}: not found\n", tool.display())), hidden);
        assert_eq!(hidden_in(&none, &format!("bash: line 1: {}: No such file or directory\n", tool.display())), hidden);
        for said in ["sh: 1: tool: not found", "/usr/bin/env: not found", "No such file", "tool: failed"] {
            assert_eq!(hidden_in(&none, said), None, "{said}");
        }
        let read = Settings { read: vec![tmp.path().to_owned()], ..none };
        assert_eq!(hidden_in(&read, &format!("sh: 1: {}: not found\n", tool.display())), None);
    }
}
