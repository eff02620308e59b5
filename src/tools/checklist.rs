//! The `checklist` tool: shows features, changes none.

use serde_json::Value;

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::clip;
use crate::message::ToolResult;
use crate::tools::input::Input;
use crate::tools::input::ToolError;
use crate::tools::input::tell;

/// Features on one page of a list.
const PAGE: usize = 50;
/// Features shown as the next ones.
const NEXT: usize = 10;

/// Answers one call from the committed checklist; `head_tree` is the tree that proofs are compared with.
pub(super) fn call(checklist: &Checklist, head_tree: &str, input: &Value) -> Result<ToolResult, ToolError> {
    let input = Input::new(input, &["action", "page", "id"])?;
    let line = |feature: &Feature| line(checklist, feature, head_tree);
    let text = match input.text("action")? {
        "list" => list(checklist, input.whole_if_given("page")?.unwrap_or(1), line)?,
        "next" => {
            let lines: Vec<String> = {
                let open = checklist.in_turn(head_tree).into_iter();
                open.filter(|feature| is_open(checklist, feature, head_tree)).take(NEXT).map(line).collect()
            };
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
pub fn line(checklist: &Checklist, feature: &Feature, head_tree: &str) -> String {
    let optional = if feature.required { "" } else { " (optional)" };
    let milestone = if feature.milestone { " (milestone)" } else { "" };
    let title = clip::head(&feature.title.replace('\n', " "), 150);
    format!("{} · {} · {title}{milestone}{optional}", feature.id, checklist.state(&feature.id, head_tree))
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
    lines.extend(feature.check_problem.as_ref().map(|said| format!("waits for a person, said to be wrong: {said}")));
    if !feature.unapproved.is_empty() {
        lines.push(format!("waits for a person to approve: {}", feature.unapproved.join(", ")));
    }
    let last = feature.last_verdict.as_ref().and_then(|verdict| verdict["verdict"].as_str());
    lines.extend(last.map(|verdict| format!("last verdict: {verdict}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checklist(count: usize) -> Checklist {
        let mut checklist = Checklist::empty();
        let first = json!({
            "id": "a", "title": "It adds", "description": "Numbers only.", "steps": ["add 1 and 2", "see 3"],
            "check": "test -f a",
        });
        let second = json!({"id": "b", "title": "It waits", "depends_on": ["a"], "required": false, "check": "true"});
        checklist.add(&json!([first, second]), "test").unwrap();
        let more = |at: usize| json!({"id": format!("f{at}"), "title": format!("F{at}"), "check": "true"});
        checklist.add(&(2..count).map(more).collect(), "test").unwrap();
        checklist
    }

    fn told(checklist: &Checklist, input: &Value) -> String {
        match call(checklist, "", input) {
            Ok(result) => result.as_text(),
            Err(ToolError::TellModel(text)) => format!("error: {text}"),
            Err(ToolError::Fatal(error)) => panic!("{error:#}"),
        }
    }

    #[test]
    fn a_list_comes_in_pages() {
        let checklist = checklist(51);
        let page = |page: Value| told(&checklist, &json!({"action": "list", "page": page}));
        assert!(
            page(Value::Null)
                .starts_with("51 features, page 1 of 2\na · open · It adds\nb · waiting · It waits (optional)\n")
        );
        assert_eq!(page(json!(2)), "51 features, page 2 of 2\nf50 · open · F50");
        assert_eq!(page(json!(3)), "error: `page` is 3: it must be from 1 to 2");
        assert_eq!(told(&Checklist::empty(), &json!({"action": "list"})), "0 features, page 1 of 1");
    }

    #[test]
    fn next_shows_what_is_open() {
        assert_eq!(told(&checklist(51), &json!({"action": "next"})).lines().count(), NEXT);
        let mut two = checklist(2);
        two.block("a", "a person decides").unwrap();
        assert_eq!(told(&two, &json!({"action": "next"})), "b · waiting · It waits (optional)");
        assert_eq!(told(&Checklist::empty(), &json!({"action": "next"})), "no feature is open");
    }

    #[test]
    fn show_tells_all_of_one_feature() {
        let checklist = checklist(2);
        let show = |id: &str| told(&checklist, &json!({"action": "show", "id": id}));
        assert_eq!(show("a"), "a · open · It adds\nNumbers only.\n1. add 1 and 2\n2. see 3\ncheck: test -f a");
        assert!(show("b").ends_with("depends on: a\ncheck: true"));
        assert_eq!(show("c"), "error: `id` is `c`: no feature has it; `list` shows them");
        assert!(told(&checklist, &json!({"action": "edit"})).starts_with("error: unknown `action` `edit`"));
    }
}
