//! A project's memory looked at as a whole, and the records of its sessions. It is not opened for that: damage may stand in
//! the way of opening it.

use crate::clock::Clock;
use crate::engine::settings::Settings;
use crate::engine::workspace;
use crate::engine::workspace::lock::RunLock;
use crate::memory;
use crate::memory::Checkup;
use crate::memory::Fault;
use crate::memory::Place;
use crate::memory::Repair;
use crate::memory::Store;
use crate::project::Project;
use crate::transcript;
use anyhow::Result;
use std::path::Path;

/// Looks at the memory of the project around `dir`, and mends it if that is asked for; then nothing else may work on it.
pub fn fsck(dir: &Path, settings: &Settings, repair: Repair, notice: &dyn Fn(&str)) -> Result<Checkup> {
    let project = Project::discover(dir, settings.outer.clone())?;
    let place = Place::in_project(project.root(), project.common_dir());
    if !Store::exists(&place) {
        workspace::require_no_sessions(&place)?;
    }
    let _lock = match repair {
        Repair::Yes if place.state.is_dir() => Some(RunLock::take(&place.state.join("run.lock"))?),
        Repair::Yes | Repair::No => None,
    };
    let mut checkup = memory::fsck(&place, repair, notice)?;
    look_at_records(&place, repair, &mut checkup)?;
    Ok(checkup)
}

/// Adds what is wrong with the record of a session that the memory knows of.
fn look_at_records(place: &Place, repair: Repair, checkup: &mut Checkup) -> Result<()> {
    for session in &checkup.sessions {
        for damage in transcript::damages(&place.state.join("sessions"), *session)? {
            if repair == Repair::Yes {
                damage.mend(&place.state.join("found"), &Clock::system())?;
            }
            checkup.faults.push(Fault { what: damage.to_string(), mended: repair == Repair::Yes });
        }
    }
    Ok(())
}
