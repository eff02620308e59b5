//! New features: one or many as JSON, checked together before anything changes.

use crate::checklist::feature::id_text;
use crate::checklist::feature::kind;
use crate::checklist::file::Checklist;
use crate::checklist::record::forget;
use crate::gate::Check;
use anyhow::Context;
use anyhow::Result;
use anyhow::anyhow;
use anyhow::bail;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::collections::HashSet;

/// What a new feature may say about itself, in the order it is kept.
const GIVEN: [&str; 9] =
    ["id", "title", "category", "description", "steps", "priority", "required", "depends_on", "milestone"];

/// What only longhaul says, and a new feature starts with.
pub(super) const KEPT: [&str; 14] = [
    "passes",
    "evidence",
    "checked",
    "last_verdict",
    "baseline",
    "attempts",
    "blocked",
    "refused",
    "check_problem",
    "unapproved",
    "accepted",
    "regressed",
    "flaky",
    "draft",
];

impl Checklist {
    /// Adds one feature or an array of them and returns their ids. Title and check suffice; a check may be the text of
    /// its command. Missing ids are made from the titles. What only a check that ran can say is not taken over; a
    /// `passes` that is true becomes a claim.
    ///
    /// # Errors
    /// When anything is wrong with any of them, and then nothing was added.
    pub fn add(&mut self, json: &Value, approved_by: &str) -> Result<Vec<String>> {
        self.add_all(json, approved_by, false)
    }

    /// Adds features that can still change, until [`Checklist::freeze`].
    pub fn add_drafts(&mut self, json: &Value, approved_by: &str) -> Result<Vec<String>> {
        self.add_all(json, approved_by, true)
    }

    /// Makes features of all drafts and returns their ids.
    pub fn freeze(&mut self) -> Result<Vec<String>> {
        let drafts: Vec<String> =
            self.features().iter().filter(|feature| feature.draft).map(|feature| feature.id.clone()).collect();
        for id in &drafts {
            self.change(id, |fields| {
                fields.shift_remove("draft");
            })?;
        }
        Ok(drafts)
    }

    /// Removes a feature on which no other depends.
    pub fn remove(&mut self, id: &str) -> Result<()> {
        self.find(id)?;
        let needed_by = |other: &&crate::checklist::Feature| other.depends_on.iter().any(|needed| needed == id);
        if let Some(other) = self.features().iter().find(needed_by) {
            bail!("`{id}` cannot be removed: `{}` depends on it; remove that first", other.id);
        }
        self.change_list(|list| list.retain(|feature| feature.get("id").and_then(id_text).as_deref() != Some(id)))
    }

    /// Gives a feature another check. What was known from the old one is no longer true.
    pub fn set_check(&mut self, id: &str, check: &Value, approved_by: &str) -> Result<()> {
        let check = new_check(check, approved_by).with_context(|| format!("the check of `{id}`"))?;
        self.change(id, |fields| {
            fields.insert("check".to_owned(), check);
            fields.shift_remove("proposed_check");
            forget(fields);
        })
    }

    fn add_all(&mut self, json: &Value, approved_by: &str, draft: bool) -> Result<Vec<String>> {
        let items = match json {
            Value::Array(items) => items.as_slice(),
            Value::Object(_) => std::slice::from_ref(json),
            other => bail!("expected a feature or an array of features, found {}", kind(other)),
        };
        let mut taken: HashSet<String> = self.features().iter().map(|feature| feature.id.clone()).collect();
        taken.extend(items.iter().filter_map(|item| item.get("id").and_then(id_text)));
        let mut added = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let feature = new_feature(item, approved_by, draft, &mut taken).with_context(|| name(item, index))?;
            added.push(feature);
        }
        if let Some(twice) = added.iter().filter_map(|item| id_text(&item["id"])).find(|id| self.get(id).is_some()) {
            bail!("the id `{twice}` is taken; choose another, or leave it out");
        }
        let ids = added.iter().filter_map(|item| id_text(&item["id"])).collect();
        self.change_list(|list| list.extend(added))?;
        Ok(ids)
    }
}

fn name(item: &Value, index: usize) -> String {
    match item.get("id").or(item.get("title")).and_then(Value::as_str) {
        Some(name) => format!("feature `{}`", name.escape_debug()),
        None => format!("feature {}", index + 1),
    }
}

/// Makes the kept form of a new feature.
fn new_feature(item: &Value, approved_by: &str, draft: bool, taken: &mut HashSet<String>) -> Result<Value> {
    let item = item.as_object().ok_or_else(|| anyhow!("expected an object, found {}", kind(item)))?;
    refuse_misspelt(item)?;
    let title = title_of(item)?;
    let mut fields = Map::new();
    fields.insert("id".to_owned(), item.get("id").cloned().unwrap_or_else(|| json!(free_id(title, taken))));
    for key in GIVEN {
        let default = match key {
            "required" => Some(json!(true)),
            "depends_on" => Some(json!([])),
            _ => None,
        };
        if let Some(value) = item.get(key).cloned().or(default) {
            fields.insert(key.to_owned(), value);
        }
    }
    let check = item.get("check").filter(|check| !check.is_null());
    let check = check.map(|check| new_check(check, approved_by)).transpose()?;
    fields.insert("check".to_owned(), check.unwrap_or_default());
    let unknown = |key: &&String| !GIVEN.contains(&key.as_str()) && !KEPT.contains(&key.as_str()) && *key != "check";
    fields.extend(item.keys().filter(unknown).map(|key| (key.clone(), item[key].clone())));
    if item.get("passes") == Some(&Value::Bool(true)) {
        fields.insert("claimed".to_owned(), json!(true));
    }
    if draft {
        fields.insert("draft".to_owned(), json!(true));
    }
    let start = json!({"passes": false, "evidence": null, "checked": null, "last_verdict": null, "baseline": null,
        "attempts": 0, "blocked": null});
    fields.extend(start.as_object().cloned().unwrap_or_default());
    Ok(Value::Object(fields))
}

/// Returns the title, which has to be one line.
pub(super) fn title_of(item: &Map<String, Value>) -> Result<&str> {
    let title = item.get("title").and_then(Value::as_str).unwrap_or_default();
    if title.trim().is_empty() || title.contains('\n') {
        bail!("a feature needs a `title` of one line");
    }
    Ok(title)
}

/// Makes the kept form of a new check; it is pinned by whoever approves it, not by its own word.
pub(super) fn new_check(check: &Value, approved_by: &str) -> Result<Value> {
    let told = |field: Option<String>, reason: &str| match field {
        Some(field) => anyhow!("`check.{field}`: {reason}"),
        None => anyhow!("`check`: {reason}"),
    };
    if let Some(unknown) = Check::unknown_key(check) {
        return Err(told(unknown.field, &unknown.reason));
    }
    let read = Check::read(check).map_err(|problem| told(problem.field, &problem.reason))?;
    if read.is_blank() {
        let reason = "it holds nothing but comments: give the command that shows the feature";
        return Err(told(Some("run".to_owned()), reason));
    }
    let mut fields = match check {
        Value::Object(fields) => fields.clone(),
        run => Map::from_iter([("run".to_owned(), run.clone())]),
    };
    fields.shift_remove("pins");
    fields.shift_remove("rules");
    fields.insert("approved_by".to_owned(), json!(approved_by));
    Ok(Value::Object(fields))
}

/// Refuses a key that a feature does not have and that means nothing to longhaul; what a list brought along stays.
pub(super) fn refuse_unknown(item: &Map<String, Value>, there: &Value) -> Result<()> {
    refuse_misspelt(item)?;
    let known = known_keys();
    let is_new = |key: &&String| !known.contains(&key.as_str()) && there.get(key.as_str()).is_none();
    match item.keys().find(is_new) {
        None => Ok(()),
        Some(key) => {
            let keys = GIVEN.iter().copied().chain(["check"]).collect::<Vec<_>>().join("`, `");
            bail!("`{key}` is not a key of a feature, and this one has none of that name; there are `{keys}`")
        }
    }
}

fn known_keys() -> Vec<&'static str> {
    GIVEN.iter().chain(&KEPT).copied().chain(["check", "claimed", "proposed_check"]).collect()
}

/// Refuses a key that is one letter away from a known one: kept as an unknown field it would be lost silently.
pub(super) fn refuse_misspelt(item: &Map<String, Value>) -> Result<()> {
    let known = known_keys();
    for key in item.keys().filter(|key| !known.contains(&key.as_str())) {
        if let Some(meant) = known.iter().find(|known| strsim::osa_distance(known, &key.to_lowercase()) <= 1) {
            bail!("`{key}` is not a key of a feature; did you mean `{meant}`?");
        }
    }
    Ok(())
}

/// Makes an id from a title: its first words, and a number when they are taken.
fn free_id(title: &str, taken: &mut HashSet<String>) -> String {
    let lower = title.to_lowercase();
    let mut slug = String::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if !slug.is_empty() && slug.chars().count() + word.chars().count() > 40 {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(40));
    }
    if slug.is_empty() {
        slug.push_str("feature");
    }
    take_id(slug, taken)
}

/// Takes this id or, when it is taken, the first free one with a number.
pub(super) fn take_id(plain: String, taken: &mut HashSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{plain}-{number}"));
    let id = std::iter::once(plain.clone()).chain(numbered).find(|id| !taken.contains(id)).unwrap_or(plain);
    taken.insert(id.clone());
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(checklist: &mut Checklist, json: &Value) -> String {
        let before = checklist.render();
        let error = format!("{:#}", checklist.add(json, "me").unwrap_err());
        assert_eq!(checklist.render(), before, "something was added");
        error
    }

    #[test]
    fn title_and_check_suffice() {
        let mut checklist = Checklist::empty();
        let ids = checklist.add(&json!({"title": "A user can log in", "check": "make login"}), "me").unwrap();
        assert_eq!(ids, ["a-user-can-log-in"]);
        let expected = r#"{
  "version": 1,
  "features": [
    {
      "id": "a-user-can-log-in",
      "title": "A user can log in",
      "required": true,
      "depends_on": [],
      "check": {
        "run": "make login",
        "approved_by": "me"
      },
      "passes": false,
      "evidence": null,
      "checked": null,
      "last_verdict": null,
      "baseline": null,
      "attempts": 0,
      "blocked": null
    }
  ]
}
"#;
        assert_eq!(checklist.render(), expected);
        assert_eq!(Checklist::parse(expected).unwrap().features(), checklist.features());
    }

    #[test]
    fn ids_made_from_titles_are_short_and_unique() {
        let mut checklist = Checklist::empty();
        let long = "word ".repeat(30);
        let titles = ["Log in!", "log in", "用户登录", "???", long.as_str()];
        let features: Vec<Value> = titles.iter().map(|title| json!({"title": title})).collect();
        let ids = checklist.add(&Value::Array(features), "me").unwrap();
        assert_eq!(ids[..4], ["log-in", "log-in-2", "用户登录", "feature"]);
        assert_eq!(ids[4], "word-word-word-word-word-word-word-word");
        let given = json!([{"title": "Log in"}, {"id": "log-in-3", "title": "x"}]);
        assert_eq!(checklist.add(&given, "me").unwrap(), ["log-in-4", "log-in-3"]);
    }

    #[test]
    fn one_wrong_feature_keeps_all_out() {
        let mut checklist = Checklist::empty();
        checklist.add(&json!({"id": "a", "title": "A"}), "me").unwrap();
        let good = json!({"id": "b", "title": "B"});
        let cases = [
            (json!(3), "expected a feature or an array of features, found a number"),
            (json!([good, 3]), "feature 2: expected an object, found a number"),
            (json!([good, {"check": "x"}]), "feature 2: a feature needs a `title` of one line"),
            (json!([good, {"id": "a", "title": "A"}]), "the id `a` is taken; choose another, or leave it out"),
            (json!([good, good]), "feature `b`: `id`: the id is that of feature 2 too"),
            (
                json!([good, {"id": "c", "title": "C", "depend_on": ["a"]}]),
                "feature `c`: `depend_on` is not a key of a feature; did you mean `depends_on`?",
            ),
            (
                json!([good, {"id": "c", "title": "C", "depends_on": ["x"]}]),
                "feature `c`: `depends_on`: no feature `x`",
            ),
            (
                json!([good, {"id": "c", "title": "C", "check": {"run": "x", "timout": "5m"}}]),
                "feature `c`: `check.timout`: not a key of a check; did you mean `timeout`?",
            ),
            (
                json!([good, {"id": "c", "title": "C", "check": {"run": "x", "timeout": "soon"}}]),
                "feature `c`: `check.timeout`: expected a time such as \"30s\", \"1.5s\" or \"5m\", found \"soon\"",
            ),
            (
                json!([good, {"id": "c", "title": "C", "check": ""}]),
                "feature `c`: `check.run`: a check needs a command to run",
            ),
            (
                json!([good, {"id": "c", "title": "C", "priority": "high"}]),
                "feature `c`: `priority`: invalid type: string \"high\", expected f64",
            ),
        ];
        for (json, reason) in cases {
            assert_eq!(refused(&mut checklist, &json), reason);
        }
        assert_eq!(checklist.add(&json!([good, {"title": "C", "depends_on": ["b", "a"]}]), "me").unwrap(), ["b", "c"]);
    }

    #[test]
    fn what_only_a_run_can_say_is_not_taken_over() {
        let mut checklist = Checklist::empty();
        let forged = json!({"id": "a", "title": "A", "passes": true, "evidence": {"commit": "x"}, "attempts": 9, "mine": 1,
            "accepted": {"reason": "x"}, "baseline": {"commit": "x", "verdict": "failed"}, "check": {"run": "x", "pins": {"a": "b"}, "approved_by": "you"}});
        checklist.add(&forged, "me").unwrap();
        let a = checklist.get("a").unwrap();
        assert!(
            a.claimed
                && !a.passes
                && a.evidence.is_none()
                && a.accepted.is_none()
                && a.baseline.is_none()
                && a.attempts == 0
        );
        let check = a.check.as_ref().unwrap();
        assert_eq!((check.approved_by.as_str(), check.pins.is_empty()), ("me", true));
        assert!(checklist.render().contains("\"mine\": 1"));
    }

    #[test]
    fn drafts_become_features_when_frozen() {
        let mut checklist = Checklist::empty();
        checklist.add_drafts(&json!({"id": "a", "title": "A"}), "initializer").unwrap();
        assert!(checklist.get("a").unwrap().draft);
        assert_eq!(checklist.freeze().unwrap(), ["a"]);
        assert!(!checklist.get("a").unwrap().draft && !checklist.render().contains("draft"));
    }

    #[test]
    fn a_feature_that_is_needed_stays() {
        let mut checklist = Checklist::empty();
        checklist
            .add(&json!([{"id": "a", "title": "A"}, {"id": "b", "title": "B", "depends_on": ["a"]}]), "me")
            .unwrap();
        let error = checklist.remove("a").unwrap_err().to_string();
        assert_eq!(error, "`a` cannot be removed: `b` depends on it; remove that first");
        checklist.remove("b").unwrap();
        checklist.remove("a").unwrap();
        assert_eq!(checklist.render(), Checklist::empty().render());
    }
}
