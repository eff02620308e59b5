//! A project's memory looked at as a whole. It is not opened for that: damage may stand in the way of opening it.

use crate::engine::lock::RunLock;
use crate::engine::settings::Settings;
use crate::memory;
use crate::memory::Checkup;
use crate::memory::Place;
use crate::memory::Repair;
use crate::project::Project;
use anyhow::Result;
use std::path::Path;

/// Looks at the memory of the project around `dir`, and mends it if that is asked for; then nothing else may work on it.
pub fn fsck(dir: &Path, settings: &Settings, repair: Repair, notice: &dyn Fn(&str)) -> Result<Checkup> {
    let project = Project::discover(dir, settings.outer.clone())?;
    let place = Place::in_project(project.root(), project.common_dir());
    let _lock = match repair {
        Repair::Yes => Some(RunLock::take(&place.state.join("run.lock"))?),
        Repair::No => None,
    };
    memory::fsck(&place, repair, notice)
}
