//! What decides an approved check: its files are pinned, and a person hears of what is not.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::engine::workspace::Occasion;
use crate::engine::workspace::Workspace;
use crate::gate;
use crate::gate::Check;
use crate::gate::CheckFiles;
use crate::gate::Reading;
use crate::gate::Rules;
use crate::memory::Change;
use crate::memory::PINNED;
use anyhow::Result;

/// Of the scripts that pinned files start, so many are told of.
const STARTED_TOLD: usize = 3;

/// Pins the checks of these features; returns the pinned bytes, to be committed together with the checklist.
pub(in crate::engine) fn pin(ws: &Workspace, checklist: &mut Checklist, ids: &[String]) -> Result<Vec<Change>> {
    let scripts = ws.check_files()?;
    let mut changes: Vec<Change> = Vec::new();
    let head = ws.project.head()?;
    let soft = head.map(|head| ws.gate(&Occasion::outside(ws))?.soft(&head.tree)).transpose()?;
    for id in ids {
        let Some(check) = checklist.find(id)?.check.clone() else { continue };
        let check = Check { rules: Rules::Now, ..check };
        let closure = gate::closure(&ws.project, &check, &scripts, Reading::All)?;
        for file in &closure {
            let Some(id) = &file.id else { continue };
            let path = format!("{PINNED}{id}");
            let known = changes.iter().any(|change| change.path == path) || ws.memory.read(&path)?.is_some();
            // A large file is pinned by its id alone: it must be there as it was, memory cannot lay it out.
            if let Some(bytes) = file.bytes.as_ref().filter(|_| !known) {
                changes.push(Change::put(path, bytes.clone()));
            }
        }
        checklist.pin(id, &closure.into_iter().map(|file| (file.path.clone(), file.pin())).collect())?;
        if let Some(soft) = &soft {
            checklist.keep_soft(id, soft)?;
        }
        warn_of_unpinned(ws, checklist.find(id)?, &scripts);
    }
    Ok(changes)
}

/// Tells of a check that only runs what the agent may write: a script, or a test that is not there yet.
fn warn_of_unpinned(ws: &Workspace, feature: &Feature, scripts: &CheckFiles) {
    let unwritten = feature.check.as_ref().and_then(|check| gate::unwritten_test(&ws.project, check, scripts));
    if let Some(test) = unwritten {
        ws.warn(format!(
            "the check of {} names a test that is not there yet, such as `{test}`, so nothing of it is pinned: whoever \
             writes it decides. Once it is there, `longhaul accept {}` pins it",
            feature.id, feature.id
        ));
    }
    warn_of_absent(ws, feature);
    warn_of_its_text(ws, feature, scripts);
    let unpinned = feature.check.as_ref().filter(|check| check.pins.is_empty());
    if let Some(task) = unpinned.and_then(|check| gate::deciding_task(&ws.project, check, scripts)) {
        ws.warn(format!(
            "`{task}` decides the check of {} by what the project's files say, and nothing of it is pinned: whoever changes \
             the tests that it runs decides. Name them in the check, or give patterns in its `closure`, such as `tests/**`",
            feature.id
        ));
    } else if unpinned.is_some_and(|check| gate::runs_what_it_finds(&ws.project, check, scripts)) {
        ws.warn(format!(
            "the test runner decides the check of {} by the tests that it finds, and none of them is pinned: whoever changes \
             them decides. Name them in the check, or give patterns in its `closure`, such as `tests/**`",
            feature.id
        ));
    }
    let script = feature.check.as_ref().and_then(|check| gate::unpinned_script(&ws.project, check));
    if let Some(script) = script {
        let name = script.rsplit('/').next().unwrap_or(&script);
        ws.warn(format!(
            "`{script}` alone decides the check of {}, and it is not pinned: whoever writes it decides. If it is a test, \
             name it in the check's `closure`, or keep it in memory: `longhaul memory create checks/{name} - <{script}` \
             and `sh \"$LONGHAUL_CHECKS/{name}\"`",
            feature.id
        ));
    }
}

/// Tells of what the text of a check leaves open: which of its commands may fail, and which of two files is expected.
fn warn_of_its_text(ws: &Workspace, feature: &Feature, scripts: &CheckFiles) {
    let Some(check) = &feature.check else { return };
    if let Some(reason) = gate::unrunnable(&ws.project, check, &ws.settings.gate) {
        ws.warn(format!(
            "the check of {0} cannot pass as it is: {reason}. Mend it by `longhaul feature edit {0}`, unless the work is to \
             bring it",
            feature.id
        ));
    }
    if let Some(command) = gate::harmless_before(&check.run).first() {
        ws.warn(format!(
            "each command in the check of {} must pass, also `{command}`: if that may fail, write `{command} || true`",
            feature.id
        ));
    }
    if let Some((command, way_out)) = gate::unseen_in(&check.run) {
        ws.warn(format!("a failure in `{command}`, in the check of {}, is seen by nobody: {way_out}", feature.id));
    }
    if let Some(command) = gate::takes_the_list(&check.run) {
        ws.warn(format!(
            "in the check of {}, `{command}` can read what is left of the list that the loop around it reads, and nobody would \
             see that: write `{command} </dev/null`",
            feature.id
        ));
    }
    warn_of_sourced(ws, feature, check);
    warn_of_started(ws, feature, check);
    for pattern in gate::unpinned_patterns(&ws.project, check, scripts) {
        ws.warn(format!(
            "the check of {} runs what it finds by `{pattern}`, and none of it is pinned: whoever changes it decides. If these \
             are tests, give the pattern in the check's `closure`",
            feature.id
        ));
    }
    if gate::runs_silent_doctest(check, scripts) {
        ws.warn(format!(
            "the check of {} passes too where doctest finds no example: with `-v` that is `nothing executed`",
            feature.id
        ));
    }
    let untold = gate::untold_expectations(&ws.project, check, scripts);
    if !untold.is_empty() {
        let files: Vec<String> = untold.iter().map(|path| format!("`{path}`")).collect();
        ws.warn(format!(
            "the check of {} compares or reads {}, and whether that is what is expected or what the work changes is not clear, \
             so it is not pinned. If it is expected, name it in the check's `closure`",
            feature.id,
            files.join(" and ")
        ));
    }
}

/// Tells of code of the project that a check reads into its own shell, where it may change what comes behind it.
fn warn_of_sourced(ws: &Workspace, feature: &Feature, check: &Check) {
    let Some(file) = gate::unpinned_source(&ws.project, check) else { return };
    ws.warn(format!(
        "the check of {} reads `{file}` into its own shell, where that can end the check or take over its commands. Give it \
         a shell of its own, and compare what that prints, such as `test \"$(sh -c '. {file}; some_function')\" = expected`",
        feature.id
    ));
}

/// Tells of scripts that the pinned files start, and that are not pinned.
fn warn_of_started(ws: &Workspace, feature: &Feature, check: &Check) {
    for (by, script) in gate::unpinned_started(&ws.project, check).into_iter().take(STARTED_TOLD) {
        ws.warn(format!(
            "the check of {} runs `{by}`, which starts `{script}`, and that is not pinned: whoever writes it decides. If it \
             tests, name it in the check's `closure`",
            feature.id
        ));
    }
}

/// Tells of files that a check names and that are not there: what somebody writes there is no test of it.
fn warn_of_absent(ws: &Workspace, feature: &Feature) {
    let pins = feature.check.iter().flat_map(|check| &check.pins);
    let absent: Vec<String> = pins.filter(|(_, pin)| pin.is_none()).map(|(path, _)| format!("`{path}`")).collect();
    if absent.is_empty() {
        return;
    }
    ws.warn(format!(
        "the check of {0} names {1}, not there yet and pinned as absent: once somebody writes it, the check runs without it. \
         Write the test first and add the feature then, or approve it later with `longhaul accept {0}`",
        feature.id,
        absent.join(", ")
    ));
}
