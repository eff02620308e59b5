//! What a session starts with: the texts of its first request, gathered from memory, checklist and project.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::newest_progress;
use crate::clock::duration;
use crate::driver::Opening;
use crate::engine::counted;
use crate::engine::pick;
use crate::engine::session::Session;
use crate::engine::workspace::Workspace;
use crate::gate::Check;
use crate::memory::Caps;
use crate::memory::INDEX;
use crate::memory::INIT;
use crate::memory::Listed;
use crate::memory::NOTES;
use crate::memory::PROGRESS;
use crate::memory::SPEC;
use crate::prompts;
use crate::prompts::Count;
use crate::prompts::InitializerRules;
use crate::prompts::Recalled;
use crate::prompts::Rules;
use crate::prompts::Script;
use crate::tools;
use crate::tools::line;
use crate::transcript;
use crate::transcript::CUT_OFF;
use anyhow::Result;
use std::fs;

/// Progress entries shown, and the bytes they may take.
const ENTRIES: usize = 3;
const PROGRESS_BYTES: usize = 8_000;
/// Features named after the counts.
const NEXT: usize = 10;
const COMMITS: usize = 10;
/// What the memory tool calls the root of memory.
const MEMORIES: &str = "/memories/";
/// Files of the project that an initializer sees by name.
const FILES: usize = 100;

/// Renders what the model reads first.
pub fn open(
    ws: &mut Workspace,
    session: &Session,
    init_result: Option<String>,
    recalled: Vec<Recalled>,
) -> Result<Opening> {
    let limits = &ws.settings.tool_limits;
    let (bash_limit, bash_most) = (duration::spell(limits.usual), duration::spell(limits.most));
    let memory_protocol = ws.settings.tools == tools::Declared::Custom;
    let notices: Vec<String> = newest_interrupted(ws, session.number)?.into_iter().collect();
    match &session.feature {
        Some(id) => Ok(Opening {
            system: Rules { bash_limit, bash_most, memory_protocol }.render()?,
            first: work(ws, session, id, &notices, init_result, recalled)?,
        }),
        None => Ok(Opening {
            system: InitializerRules {
                bash_limit,
                bash_most,
                features_a_call: tools::FEATURES_A_CALL,
                memory_protocol,
            }
            .render()?,
            first: initializer(ws, session.number, &notices)?,
        }),
    }
}

/// Renders the first message of a session on `id`.
fn work(
    ws: &mut Workspace,
    session: &Session,
    id: &str,
    notices: &[String],
    init_result: Option<String>,
    recalled: Vec<Recalled>,
) -> Result<String> {
    let checklist = ws.checklist()?;
    let head = ws.head()?;
    let feature = checklist.find(id)?;
    let (counts, next) = (counts(&checklist, &head.tree), next(&checklist, &head.tree));
    let scripts = scripts(ws, feature)?;
    prompts::Session {
        session: session.number,
        project: name(ws),
        root: ws.project.root().display().to_string(),
        branch: head.branch.clone(),
        notices: notices.to_vec(),
        id: id.to_owned(),
        feature: describe(feature),
        check: feature.check.as_ref().map(describe_check).unwrap_or_default(),
        scripts,
        last_verdict: feature.last_verdict_text(),
        total: checklist.features().len(),
        counts,
        next,
        index: index(ws)?,
        recalled,
        progress: progress(ws)?,
        init: ws.text(INIT)?,
        init_result,
        commits: ws.project.last_commits(COMMITS)?,
        untracked: session.untracked.keys().cloned().collect(),
    }
    .render()
}

/// Renders the first message of an initializer session.
fn initializer(ws: &mut Workspace, number: u32, notices: &[String]) -> Result<String> {
    let checklist = ws.checklist()?;
    let head = ws.head()?;
    let needed = checklist.needed();
    let without_check = |feature: &&Feature| needed.contains(feature.id.as_str()) && feature.check.is_none();
    let without_check = checklist.features().iter().filter(without_check);
    prompts::Initializer {
        session: number,
        project: name(ws),
        root: ws.project.root().display().to_string(),
        branch: head.branch.clone(),
        notices: notices.to_vec(),
        spec: spec(ws)?,
        total: checklist.features().len(),
        features: checklist.features().iter().map(|feature| line(&checklist, feature, &head.tree)).collect(),
        without_check: without_check.map(|feature| feature.id.clone()).collect(),
        index: index(ws)?,
        progress: progress(ws)?,
        init: ws.text(INIT)?,
        files: files(ws),
        commits: ws.project.last_commits(COMMITS)?,
    }
    .render()
}

fn name(ws: &Workspace) -> String {
    ws.project.root().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the specification; of one that would fill the window its beginning, and how to read on.
fn spec(ws: &Workspace) -> Result<Option<String>> {
    let Some(bytes) = ws.memory.read(SPEC)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // A token holds some characters, so this is a part of the window.
    let most = usize::try_from(ws.settings.window).unwrap_or(usize::MAX);
    let Some((end, _)) = text.char_indices().nth(most) else { return Ok(Some(text)) };
    let end = text[..end].rfind('\n').unwrap_or(end);
    let (lines, all) = (text[..end].lines().count(), text.lines().count());
    Ok(Some(format!(
        "{}\n[… lines {} to {all} are left out: read them with the `memory` tool, `view` with `view_range`]",
        &text[..end],
        lines + 1
    )))
}

fn progress(ws: &Workspace) -> Result<String> {
    Ok(newest_progress(&ws.text(PROGRESS)?, ENTRIES, PROGRESS_BYTES).to_owned())
}

/// Returns `MEMORY.md`; what does not fit is said in words, never left out in silence.
pub fn index(ws: &Workspace) -> Result<String> {
    let index = ws.memory.index()?;
    let lines: Vec<String> = index.notes.iter().map(Listed::line).collect();
    let (fitting, limit) = fitting(&lines, &ws.settings.caps);
    let mut shown = vec![format!("{}\n", index.head.trim_end())];
    shown.extend_from_slice(&lines[..fitting]);
    if let (left @ 1.., limit) = (lines.len() - fitting, limit) {
        let left = counted(left, "older note");
        shown.push(format!("[{left} left out here, since the index is shown up to {limit}: view {MEMORIES}{INDEX}]"));
    }
    if index.unlisted > 0 {
        let files = counted(index.unlisted, "file");
        shown.push(format!("[{files} in {MEMORIES}{NOTES} not listed: without front matter, or of an unknown type]"));
    }
    Ok(shown.join("\n"))
}

/// Returns how many of the lines are shown, and which limit ends them.
fn fitting(lines: &[String], caps: &Caps) -> (usize, String) {
    let mut bytes = 0;
    let room = lines.iter().take_while(|line| {
        bytes += line.len() + 1;
        bytes <= caps.index_bytes
    });
    match room.count() {
        some if some > caps.index_lines => (caps.index_lines, counted(caps.index_lines, "line")),
        some => (some, counted(caps.index_bytes, "byte")),
    }
}

fn describe(feature: &Feature) -> String {
    let mut text = feature.title.clone();
    if !feature.description.is_empty() && feature.description != feature.title {
        text.push_str(&format!("\n\n{}", feature.description));
    }
    for (number, step) in feature.steps.iter().enumerate() {
        text.push_str(&format!("\n{}. {step}", number + 1));
    }
    if feature.milestone {
        let of = feature.depends_on.join(", ");
        text.push_str(&format!("\n\nA milestone: its check looks over {of} together; each of them is done."));
    }
    text
}

/// Words what notes are recalled for.
pub fn question(feature: &Feature) -> String {
    let check = feature.check.as_ref().map(describe_check).unwrap_or_default();
    let verdict = feature.last_verdict_text().unwrap_or_default();
    format!("{}\n{}\n{check}\n{verdict}", feature.id, describe(feature))
}

/// Says what a check runs and under which conditions.
fn describe_check(check: &Check) -> String {
    let mut text = check.run.clone();
    let parts = [("setup", &check.setup), ("ready when", &check.ready), ("its output must hold", &check.expect)];
    for (name, value) in parts {
        if let Some(value) = value {
            text.push_str(&format!("\n{name}: {value}"));
        }
    }
    if check.cwd != "." && !check.cwd.is_empty() {
        text.push_str(&format!("\nruns in: {}", check.cwd));
    }
    text
}

fn scripts(ws: &Workspace, feature: &Feature) -> Result<Vec<Script>> {
    let pins = feature.check.iter().flat_map(|check| check.pins.keys()).filter(|path| path.starts_with("checks/"));
    let script = |path: &String| Ok(Script { path: path.clone(), text: ws.text(path)? });
    pins.map(script).collect()
}

fn counts(checklist: &Checklist, tree: &str) -> Vec<Count> {
    let mut counts: Vec<Count> = Vec::new();
    for feature in checklist.features() {
        let state = checklist.state(&feature.id, tree).to_string();
        match counts.iter_mut().find(|count| count.state == state) {
            Some(count) => count.features += 1,
            None => counts.push(Count { state, features: 1 }),
        }
    }
    counts
}

fn next(checklist: &Checklist, tree: &str) -> Vec<String> {
    let first = pick::pick(checklist, tree).map(|feature| feature.id.clone());
    let mut open = checklist.in_turn(tree);
    open.sort_by_key(|feature| Some(&feature.id) != first.as_ref());
    open.into_iter().take(NEXT).map(|feature| line(checklist, feature, tree)).collect()
}

/// Names the files at the top of the project.
fn files(ws: &Workspace) -> Vec<String> {
    let entries = fs::read_dir(ws.project.root()).into_iter().flatten().flatten();
    let shown = |name: &String| name != ".git" && name != ".longhaul";
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(shown).collect();
    names.sort();
    names.truncate(FILES);
    names
}

/// Says that the session before `number` was cut off, for the one that follows it.
fn newest_interrupted(ws: &Workspace, number: u32) -> Result<Option<String>> {
    let before = transcript::sessions(&ws.sessions())?.into_iter().filter(|known| *known < number).max();
    let Some(before) = before else { return Ok(None) };
    let events = transcript::read(&ws.sessions(), before)?;
    let cut = events.iter().any(|event| event["type"] == "session_ended" && event["reason"] == CUT_OFF);
    Ok(cut.then(|| {
        format!(
            "session {before} was interrupted; what it left uncommitted, if anything, is in the newest `wip` commit"
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_given_up_to_its_caps_to_the_unit() {
        let lines = vec!["a line of 19 bytes.".to_owned(); 10];
        let caps = |index_lines, index_bytes| Caps { index_lines, index_bytes, ..Caps::default() };
        for (most, expected) in [(9, 9), (10, 10), (11, 10)] {
            assert_eq!(fitting(&lines, &caps(most, 1000)).0, expected, "{most} lines");
        }
        for (most, expected) in [(199, 9), (200, 10), (201, 10), (0, 0)] {
            assert_eq!(fitting(&lines, &caps(100, most)).0, expected, "{most} bytes");
        }
        assert_eq!(fitting(&lines, &caps(9, 1000)).1, "9 lines");
        assert_eq!(fitting(&lines, &caps(100, 199)).1, "199 bytes");
    }
}
