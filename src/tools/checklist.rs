//! The `checklist` tool: shows features, changes none.

use serde_json::Value;

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::message::ToolResult;
use crate::tools::clip;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// Features on one page of a list.
const PAGE: usize = 50;
/// Features shown as the next ones.
const NEXT: usize = 10;
/// Characters of one feature's page.
const SHOWN: usize = 16_000;

/// Answers one call from the committed checklist; `head_tree` is the tree that proofs are compared with.
pub(super) fn call(checklist: &Checklist, head_tree: &str, input: &Value) -> Result<ToolResult, ToolError> {
    let input = Input::new(input, &["action", "page", "id"])?;
    let line = |feature: &Feature| line(checklist, feature, head_tree);
    let text = match input.text("action")? {
        "list" => list(checklist, input.whole_if_given("page")?.unwrap_or(1), line)?,
        "next" => {
            let open = checklist.features().iter().filter(|feature| is_open(checklist, feature, head_tree));
            let lines: Vec<String> = open.take(NEXT).map(line).collect();
            if lines.is_empty() { "no feature is open".to_owned() } else { lines.join("\n") }
        }
        "show" => {
            let id = input.words("id")?;
            let feature = checklist
                .get(id)
                .ok_or_else(|| tell(format!("`id` is `{id}`: no feature has it; `list` shows them")))?;
            show(checklist, feature, head_tree)
        }
        other => return Err(tell(format!("unknown `action` `{other}`: it must be list, next or show"))),
    };
    Ok(ToolResult::text(text))
}

/// Renders a feature as one line: id, state, title.
pub(super) fn line(checklist: &Checklist, feature: &Feature, head_tree: &str) -> String {
    let optional = if feature.required { "" } else { " (optional)" };
    let title = clip::head(&feature.title.replace('\n', " "), 150);
    format!("{} · {} · {title}{optional}", feature.id, checklist.state(&feature.id, head_tree))
}

fn list(checklist: &Checklist, page: i64, line: impl Fn(&Feature) -> String) -> Result<String, ToolError> {
    let features = checklist.features();
    let pages = features.len().div_ceil(PAGE).max(1);
    let at = usize::try_from(page).ok().filter(|page| (1..=pages).contains(page));
    let at = at.ok_or_else(|| tell(format!("`page` is {page}: it must be from 1 to {pages}")))?;
    let lines: Vec<String> = features.iter().skip((at - 1) * PAGE).take(PAGE).map(line).collect();
    let heading = format!("{} features, page {at} of {pages}", features.len());
    Ok(std::iter::once(heading).chain(lines).collect::<Vec<_>>().join("\n"))
}

fn is_open(checklist: &Checklist, feature: &Feature, head_tree: &str) -> bool {
    let state = checklist.state(&feature.id, head_tree);
    matches!(state, State::Open | State::Regressed | State::Waiting | State::NoCheck)
}

fn show(checklist: &Checklist, feature: &Feature, head_tree: &str) -> String {
    let mut lines = vec![line(checklist, feature, head_tree)];
    lines.extend((!feature.description.is_empty()).then(|| feature.description.clone()));
    lines.extend(feature.steps.iter().enumerate().map(|(at, step)| format!("{}. {step}", at + 1)));
    if !feature.depends_on.is_empty() {
        lines.push(format!("depends on: {}", feature.depends_on.join(", ")));
    }
    if let Some(check) = &feature.check {
        lines.push(format!("check: {}", check.run));
    }
    if feature.attempts > 0 {
        lines.push(format!("attempts: {}", feature.attempts));
    }
    lines.extend(feature.blocked.as_ref().map(|reason| format!("blocked: {reason}")));
    let last = feature.last_verdict.as_ref().and_then(|verdict| verdict["verdict"].as_str());
    lines.extend(last.map(|verdict| format!("last verdict: {verdict}")));
    clip::head(&lines.join("\n"), SHOWN)
}
