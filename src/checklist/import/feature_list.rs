//! The autonomous-coding form: objects of category, description, steps and passes, as agents vary it.

use crate::checklist::add::take_id;
use crate::checklist::feature::id_text;
use crate::checklist::import::Form;
use crate::checklist::import::Report;
use crate::clip;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::collections::HashSet;

const DESCRIPTIONS: [&str; 4] = ["description", "user_visible_behavior", "behavior", "summary"];
const CATEGORIES: [&str; 4] = ["category", "area", "domain", "phase"];
const DEPENDENCIES: [&str; 2] = ["depends_on", "dependencies"];
const PROPOSALS: [&str; 2] = ["verification_command", "verification"];
const STEPS: [&str; 7] = [
    "steps",
    "acceptance",
    "acceptance_criteria",
    "acceptanceCriteria",
    "verification_steps",
    "done_criteria",
    "verification",
];

/// Words that mean done, letter case and `-` or `_` alike.
const DONE: [&str; 8] = ["pass", "passed", "passing", "done", "complete", "completed", "verified", "closed"];

/// Longer first lines make no title.
const TITLE_CHARS: usize = 120;

/// Reads the items; `ids` are those in the file. What has no place in ours is kept under `imported`.
pub(super) fn read(list: &[Value], ids: &HashSet<String>) -> (Vec<Value>, Report) {
    let mut report = Report {
        form: Form::FeatureList,
        count: list.len(),
        claims: Vec::new(),
        proposals: Vec::new(),
        notes: Vec::new(),
    };
    let mut taken = ids.clone();
    let mut features = Vec::new();
    for (index, item) in list.iter().enumerate() {
        let mut item = item.as_object().cloned().unwrap_or_default();
        let id = item.shift_remove("id").as_ref().and_then(id_text).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| take_id(format!("f{:03}", index + 1), &mut taken));
        features.push(feature(id, item, ids, &mut report));
    }
    (features, report)
}

fn feature(id: String, mut item: Map<String, Value>, ids: &HashSet<String>, report: &mut Report) -> Value {
    let mut fields = Map::new();
    let description = take_text(&mut item, &DESCRIPTIONS);
    let title = take_text(&mut item, &["title", "name"]).or_else(|| description.as_deref().map(first_line));
    if title.is_none() {
        report.notes.push(format!("`{id}` has neither title nor description as text; its id stands for them"));
    }
    fields.insert("title".to_owned(), json!(first_line(&title.unwrap_or_else(|| id.clone()))));
    let category = take_text(&mut item, &CATEGORIES);
    let steps = STEPS.iter().find_map(|key| take_list(&mut item, key));
    let proposal = take_text(&mut item, &PROPOSALS);
    let optional = [
        ("category", category.map(Value::String)),
        ("description", description.map(Value::String)),
        ("steps", steps),
        ("priority", take_priority(&mut item)),
        ("required", item.get("required").filter(|required| required.is_boolean()).cloned()),
        ("proposed_check", proposal.clone().map(Value::String)),
    ];
    fields.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    item.shift_remove("required");
    fields.insert("depends_on".to_owned(), json!(take_dependencies(&mut item, &id, ids, report)));
    fields.insert("passes".to_owned(), json!(take_claim(&mut item)));
    if fields["passes"] == true {
        report.claims.push(id.clone());
    }
    if proposal.is_some() {
        report.proposals.push(id.clone());
    }
    fields.insert("id".to_owned(), Value::String(id));
    if !item.is_empty() {
        fields.insert("imported".to_owned(), Value::Object(item));
    }
    Value::Object(fields)
}

/// Takes the first of the keys that holds a text; empty ones are passed over.
fn take_text(item: &mut Map<String, Value>, keys: &[&str]) -> Option<String> {
    let holds_text = |key: &&&str| item.get(**key).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    let key = keys.iter().find(holds_text)?;
    item.shift_remove(*key).as_ref().and_then(Value::as_str).map(str::to_owned)
}

/// Takes a list that is not empty and holds only texts.
fn take_list(item: &mut Map<String, Value>, key: &str) -> Option<Value> {
    let list = item.get(key)?.as_array()?;
    let texts = !list.is_empty() && list.iter().all(Value::is_string);
    texts.then(|| item.shift_remove(key)).flatten()
}

/// Takes a number or a common word; for others the order of the list is as good.
fn take_priority(item: &mut Map<String, Value>) -> Option<Value> {
    let priority = match item.get("priority")? {
        number @ Value::Number(_) => number.clone(),
        Value::String(word) => json!(match word.to_lowercase().as_str() {
            "critical" | "p0" | "must_have" => 1,
            "high" | "p1" => 2,
            "medium" | "p2" => 3,
            "low" | "p3" => 4,
            _ => return None,
        }),
        _ => return None,
    };
    item.shift_remove("priority");
    Some(priority)
}

/// Takes the dependencies that name features of the file, and notes the others.
fn take_dependencies(
    item: &mut Map<String, Value>,
    id: &str,
    ids: &HashSet<String>,
    report: &mut Report,
) -> Vec<String> {
    let Some(key) = DEPENDENCIES.iter().find(|key| item.get(**key).is_some_and(Value::is_array)) else {
        return Vec::new();
    };
    let listed = item.shift_remove(*key);
    let named: Vec<String> =
        listed.as_ref().and_then(Value::as_array).into_iter().flatten().filter_map(id_text).collect();
    let (known, unknown): (Vec<String>, Vec<String>) =
        named.into_iter().partition(|other| ids.contains(other) && other != id);
    for other in unknown {
        report
            .notes
            .push(format!("`{id}`: the dependency `{}` names no other feature and was left out", other.escape_debug()));
    }
    known
}

/// Takes the marks of being done: `passes` or `passed` decide, a status only without them.
fn take_claim(item: &mut Map<String, Value>) -> bool {
    let marks: Vec<Value> = ["passes", "passed"].iter().filter_map(|key| item.shift_remove(*key)).collect();
    if !marks.is_empty() {
        return marks.contains(&Value::Bool(true));
    }
    let status = ["status", "state"].iter().find_map(|key| item.get(*key)?.as_str());
    status.is_some_and(|status| DONE.contains(&status.to_lowercase().replace(['-', '_'], "").as_str()))
}

fn first_line(text: &str) -> String {
    clip::head(text.trim().lines().next().unwrap_or_default().trim(), TITLE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::Checklist;
    use crate::checklist::read_import;

    fn import(list: &Value) -> (Checklist, Report) {
        let imported = read_import(list.to_string().as_bytes()).unwrap();
        let mut checklist = Checklist::empty();
        checklist.add(&imported.features, "import").unwrap();
        (checklist, imported.report)
    }

    #[test]
    fn the_original_form_is_read() {
        let (checklist, report) = import(&json!([
            {"category": "functional", "description": "A user can log in\nand out", "steps": ["open /login"], "passes": true},
            {"category": "style", "description": "The page is blue", "steps": [], "passes": false},
        ]));
        let first = checklist.get("f001").unwrap();
        assert_eq!(first.title, "A user can log in");
        assert_eq!(first.description, "A user can log in\nand out");
        assert_eq!((first.category.as_str(), first.steps.as_slice()), ("functional", &["open /login".to_owned()][..]));
        assert!(first.claimed && !first.passes && first.required && first.check.is_none());
        assert!(!checklist.get("f002").unwrap().claimed);
        let expected = [
            "read 2 features from a feature list",
            "1 feature said to be done: taken as a claim until its check has run",
        ];
        assert_eq!(report.lines(), expected);
    }

    #[test]
    fn common_variants_are_read() {
        let (checklist, report) = import(&json!({"project": "x", "version": "2.0", "features": [
            {"id": 1, "name": "A", "area": "web", "acceptance": ["one"], "priority": "P1", "status": "Done", "notes": "n"},
            {"id": "001", "title": "B", "priority": 1.5, "dependencies": [1, "gone"], "verification": "make b", "status": "implemented"},
            {"title": "C", "priority": "Alta", "passes": false, "status": "done"},
        ]}));
        let [a, b, c] = checklist.features() else { panic!("{checklist:?}") };
        assert_eq!((a.id.as_str(), a.category.as_str(), a.priority, a.claimed), ("1", "web", 2.0, true));
        assert_eq!(
            (b.id.as_str(), b.priority, b.depends_on.as_slice(), b.claimed),
            ("001", 1.5, &["1".to_owned()][..], false)
        );
        assert_eq!((b.proposed_check.as_deref(), b.check.is_none()), (Some("make b"), true));
        assert_eq!((c.id.as_str(), c.priority, c.claimed), ("f003", 3.0, false));
        assert!(checklist.render().contains(r#""notes": "n""#));
        assert_eq!(report.proposals, ["001"]);
        assert_eq!(report.notes, ["`001`: the dependency `gone` names no other feature and was left out"]);
    }

    #[test]
    fn made_ids_avoid_those_in_the_file() {
        let (checklist, _) = import(&json!([{"description": "a"}, {"id": "f001", "description": "b"}]));
        let ids: Vec<&str> = checklist.features().iter().map(|feature| feature.id.as_str()).collect();
        assert_eq!(ids, ["f001-2", "f001"]);
    }
}
