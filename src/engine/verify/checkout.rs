//! Says where the checks of a project run, and why there.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::engine::counted;
use crate::engine::workspace::Workspace;
use crate::gate;
use crate::gate::Place;
use crate::gate::Site;
use anyhow::Result;
use std::collections::BTreeMap;

/// Says where a new check would run and, where that is another place, how many of the checklist's keep theirs.
pub fn checkout(ws: &Workspace, checklist: &Checklist) -> Result<String> {
    let Site { place, why, .. } = site(ws, None)?;
    let kept = if place == Place::InPlace { kept_clean(ws, checklist)? } else { 0 };
    let late = match (kept, ws.init_script()?) {
        (0, _) => String::new(),
        (kept, Some(script)) => {
            format!("; clean for {} approved before that, with what `{script}` installs", counted(kept, "check"))
        }
        (kept, None) => {
            format!("; clean for {} approved before that, with nothing installed there", counted(kept, "check"))
        }
    };
    Ok(format!("{place} ({why}){late}"))
}

/// Counts the checks that a lock file does not move into the working tree, since it came after them.
fn kept_clean(ws: &Workspace, checklist: &Checklist) -> Result<usize> {
    let mut of: BTreeMap<&str, usize> = BTreeMap::new();
    checklist.features().iter().filter_map(Feature::since).for_each(|since| *of.entry(since).or_default() += 1);
    let mut kept = 0;
    for (since, checks) in of {
        kept += if site(ws, Some(since))?.late_lock.is_some() { checks } else { 0 };
    }
    Ok(kept)
}

fn site(ws: &Workspace, since: Option<&str>) -> Result<Site> {
    let settings = &ws.settings.gate;
    gate::site(&ws.project, settings.checkout, &settings.prepare, None, since)
}
