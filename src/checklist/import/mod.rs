//! Checklists of other tools, and our own, as features to add. One file a form.
//!
//! An import is a claim: nothing counts as done because a file says so, and no text of a foreign file is run.

mod feature_list;

use crate::checklist::feature::id_text;
use crate::checklist::feature::kind;
use crate::checklist::json;
use crate::checklist::json::ParseProblem;
use crate::checklist::json::Step;
use serde_json::Value;
use std::collections::HashMap;

/// The form of an imported file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// Ours, checks included.
    Longhaul,
    /// The autonomous-coding form: category, description, steps, passes.
    FeatureList,
}

/// What was read from a file.
#[derive(Clone, Debug)]
pub struct Imported {
    /// In the form that [`crate::checklist::Checklist::add`] takes.
    pub features: Value,
    pub report: Report,
}

/// What a person should know about an import.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    pub form: Form,
    pub count: usize,
    /// Features the file says are done.
    pub claims: Vec<String>,
    /// Features with a text that may be a check.
    pub proposals: Vec<String>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

impl Report {
    /// Tells it in lines.
    pub fn lines(&self) -> Vec<String> {
        let count = |number: usize| if number == 1 { "1 feature".to_owned() } else { format!("{number} features") };
        let form = match self.form {
            Form::Longhaul => "longhaul's own form",
            Form::FeatureList => "a feature list",
        };
        let mut lines = vec![format!("read {} from {form}", count(self.count))];
        if !self.claims.is_empty() {
            lines.push(format!(
                "{} said to be done: taken as a claim until its check has run",
                count(self.claims.len())
            ));
        }
        if !self.proposals.is_empty() {
            lines.push(format!(
                "{} with a text that may be a check: kept as a proposal, not run",
                count(self.proposals.len())
            ));
        }
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

/// Reads a file of any known form.
pub fn read(bytes: &[u8]) -> Result<Imported, ParseProblem> {
    let text = json::text(bytes)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = json::parse(text)?;
    let (list, path) = find_list(&root)?;
    let at = |index: usize, reason: String| {
        let path: Vec<Step> = path.iter().cloned().chain([Step::Index(index)]).collect();
        ParseProblem::Shape { line: Some(json::line_of(text, &path)), reason }
    };
    let mut places = HashMap::new();
    for (index, item) in list.iter().enumerate() {
        if !item.is_object() {
            return Err(at(index, format!("feature {}: expected an object, found {}", index + 1, kind(item))));
        }
        let id = item.get("id").and_then(id_text);
        if let Some((id, first)) = id.and_then(|id| places.insert(id.clone(), index).map(|first| (id, first))) {
            return Err(at(index, format!("the id `{id}` is that of feature {} too", first + 1)));
        }
    }
    let ours = list.iter().any(|item| item.get("check").is_some());
    let (features, report) = if ours { own(list) } else { feature_list::read(list, &places.keys().cloned().collect()) };
    Ok(Imported { features: Value::Array(features), report })
}

/// Finds the list: the file itself, or its `features`.
fn find_list(root: &Value) -> Result<(&Vec<Value>, Vec<Step>), ParseProblem> {
    let reason = match (root, root.get("features")) {
        (Value::Array(list), _) => return Ok((list, Vec::new())),
        (_, Some(Value::Array(list))) => return Ok((list, vec![Step::Key("features".to_owned())])),
        (Value::Object(fields), _) => {
            let keys: Vec<String> = fields.keys().take(20).map(|key| format!("`{}`", key.escape_debug())).collect();
            let seen = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
            format!(
                "no feature list in it: expected an array, or an object with an array `features`; the keys are {seen}"
            )
        }
        (other, _) => format!("no feature list in it: expected an array or an object, found {}", kind(other)),
    };
    Err(ParseProblem::Shape { line: None, reason })
}

/// Takes our own form as it is; adding it checks the rest.
fn own(list: &[Value]) -> (Vec<Value>, Report) {
    let claimed = |item: &&Value| item.get("passes") == Some(&Value::Bool(true));
    let name =
        |item: &Value| item.get("id").and_then(id_text).or(item.get("title").and_then(id_text)).unwrap_or_default();
    let claims = list.iter().filter(claimed).map(name).collect();
    let report = Report { form: Form::Longhaul, count: list.len(), claims, proposals: Vec::new(), notes: Vec::new() };
    (list.to_vec(), report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::Checklist;
    use serde_json::json;

    fn refused(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn our_own_form_comes_with_its_checks() {
        let text = r#"{"version": 1, "features": [
            {"id": "a", "title": "A", "check": {"run": "true", "pins": {"x": "y"}}, "passes": true, "evidence": {"commit": "1"}},
            {"title": "B", "check": "make b", "depends_on": ["a"], "mine": 1}]}"#;
        let imported = read(text.as_bytes()).unwrap();
        assert_eq!((imported.report.form, imported.report.claims.as_slice()), (Form::Longhaul, &["a".to_owned()][..]));
        let mut checklist = Checklist::empty();
        assert_eq!(checklist.add(&imported.features, "import").unwrap(), ["a", "b"]);
        let a = checklist.get("a").unwrap();
        assert!(a.claimed && !a.passes && a.evidence.is_none() && a.check.as_ref().unwrap().pins.is_empty());
        assert_eq!(checklist.get("b").unwrap().check.as_ref().unwrap().approved_by, "import");
    }

    #[test]
    fn another_form_is_refused_with_the_keys_seen() {
        let expected = "no feature list in it: expected an array, or an object with an array `features`; \
            the keys are `project`, `userStories`";
        assert_eq!(refused(r#"{"project": "x", "userStories": []}"#), expected);
        assert_eq!(refused("3"), "no feature list in it: expected an array or an object, found a number");
        assert_eq!(refused("[\n{},\n3]"), "line 3: feature 2: expected an object, found a number");
        assert_eq!(refused(""), "it is empty");
    }

    #[test]
    fn an_id_that_is_there_twice_is_refused() {
        assert_eq!(refused("[{\"id\": 1},\n {\"id\": \"1\"}]"), "line 2: the id `1` is that of feature 1 too");
    }

    #[test]
    fn an_empty_list_is_a_good_list() {
        assert_eq!(read(b"\xef\xbb\xbf{\"features\": []}").unwrap().features, json!([]));
    }
}
