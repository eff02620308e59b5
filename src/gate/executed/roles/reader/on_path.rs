//! Commands that are found in a folder of the project, because the text puts that on `PATH`.

use super::Around;
use super::Reader;
use crate::gate::executed::compared;
use crate::gate::executed::looking::ASKING;
use crate::gate::executed::looking::is_reader;
use crate::gate::executed::roles::Naming;
use crate::gate::executed::roles::Role;
use crate::gate::names;
use crate::gate::words;

/// Folders of programs that were installed, and are none of the project's own.
const INSTALLED: [&str; 8] = ["node_modules", ".venv", "venv", "vendor", ".tox", ".nox", "target", "site-packages"];

impl Reader {
    /// Notes the folders of an assignment to `PATH` that may lie in the project, those that go before the others first.
    pub(super) fn note_path(&mut self, name: &str, value: &str) {
        if name != "PATH" {
            return;
        }
        let mut goes_first = true;
        for folder in value.split(':') {
            if matches!(folder, "$PATH" | "${PATH}") {
                goes_first = false;
                continue;
            }
            // What a command prints stands here as `$`, and is taken for the root.
            let folder = folder.strip_prefix("$/").unwrap_or(folder).trim_end_matches('/');
            let is_own = !folder.is_empty() && !folder.split('/').any(|part| INSTALLED.contains(&part));
            if is_own && !words::is_elsewhere(folder) {
                self.on_path.push((folder.to_owned(), goes_first));
            }
        }
    }

    /// Takes a command by its bare name as the script that it may be in one of these folders.
    pub(super) fn take_found_on_path(&mut self, words: &[String], operands: &[String], around: &Around) {
        let Some(name) = words.first().filter(|name| !name.contains(['/', '$'])) else { return };
        for (folder, goes_first) in self.on_path.clone() {
            let path = format!("{folder}/{name}");
            let role = match around.lets_decide() {
                true => names::judges(&path, operands).then_some(Role::Judges),
                false => around.role_of_asked(&path, operands),
            };
            let is_test = words::project_path(&path, ".", "").is_some_and(|path| words::looks_like_test(&path));
            match role {
                _ if is_test => self.add_found(path, Role::Found),
                Some(Role::Judges) => self.add_found(path, Role::Found),
                Some(Role::Compared) => self.add_found(path, Role::InCode),
                _ if goes_first && looks(name) => self.add_found(path, Role::Shadows),
                _ if around.lets_decide() => self.scripts_on_path.push(path),
                _ => {}
            }
        }
    }

    fn add_found(&mut self, word: String, role: Role) {
        self.found.push(Naming { word, role });
    }
}

/// Tells whether a program of the system says whether what came out is right.
fn looks(program: &str) -> bool {
    ASKING.contains(&program) || is_reader(program) || compared::compares(&[program.to_owned()])
}
