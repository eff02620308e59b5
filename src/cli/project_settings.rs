//! The settings a project brings along: which version of them holds, and how far it is trusted.

use crate::config::Environment;
use crate::config::File;
use crate::config::Trust;
use crate::config::Trusted;
use crate::engine::custody;
use crate::engine::custody::Kept;
use crate::engine::custody::SHARED;
use crate::engine::custody::same_text;
use crate::memory::Place;
use crate::project::Project;
use anyhow::Result;
use std::path::Path;
use std::path::PathBuf;

/// What is told while an earlier version holds.
const REPLACED: &str = "`longhaul.toml` may have been changed by a session, so the version before holds; \
                        look at it with `longhaul trust`";

/// `longhaul.toml` of the project around the working directory.
pub(super) struct SharedSettings {
    /// The project's top folder.
    pub(super) root: PathBuf,
    /// The folder with its memory.
    pub(super) state: PathBuf,
    /// The file as it lies there.
    pub(super) there: Option<File>,
    /// How far that one is trusted.
    pub(super) trust: Trust,
    /// The version that holds in its place until the user trusts it.
    before: Option<(Option<File>, Trust)>,
}

impl SharedSettings {
    /// Looks for them; none outside of a project: whether that is an error, the command itself says.
    pub(super) fn find(environment: &Environment) -> Result<Option<Self>> {
        let Ok(project) = Project::discover(&environment.directory, environment.variables.clone()) else {
            return Ok(None);
        };
        let root = project.root().to_owned();
        let state = Place::in_project(&root, project.common_dir()).state;
        let there = File::read(&root.join(SHARED))?.map(|file| named(file.text));
        let trust = trust(environment, &root, there.as_ref())?;
        let before = match custody::kept(&state)? {
            Some(Kept { text }) if trust != Trust::Given && !same_text(text.as_deref(), text_of(there.as_ref())) => {
                let file = text.map(named);
                let trust = self::trust(environment, &root, file.as_ref())?;
                Some((file, trust))
            }
            _ => None,
        };
        Ok(Some(Self { root, state, there, trust, before }))
    }

    /// Returns the version that holds, and how far it is trusted.
    pub(super) fn holding(&self) -> (Option<File>, Trust) {
        self.before.clone().unwrap_or_else(|| (self.there.clone(), self.trust))
    }

    /// Tells a person when it is not the version that lies there.
    pub(super) fn replaced(&self) -> Option<&'static str> {
        self.before.as_ref().map(|_| REPLACED)
    }
}

fn trust(environment: &Environment, root: &Path, file: Option<&File>) -> Result<Trust> {
    let (Some(path), Some(file)) = (environment.trust_file(), file) else { return Ok(Trust::None) };
    Ok(Trusted::read(&path)?.judge(root, &file.text))
}

/// Messages name the file as a person in the project would.
fn named(text: String) -> File {
    File { path: PathBuf::from(SHARED), text }
}

fn text_of(file: Option<&File>) -> Option<&str> {
    file.map(|file| file.text.as_str())
}
