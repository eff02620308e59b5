//! A person's changes to a feature that is there. What only longhaul writes stays as it is.

use crate::checklist::add::KEPT;
use crate::checklist::add::new_check;
use crate::checklist::add::refuse_unknown;
use crate::checklist::add::title_of;
use crate::checklist::feature::id_text;
use crate::checklist::feature::kind;
use crate::checklist::file::Checklist;
use crate::checklist::record::forget;
use crate::gate::Check;
use anyhow::Result;
use anyhow::anyhow;
use anyhow::bail;
use serde_json::Map;
use serde_json::Value;

/// What longhaul writes into a check.
const KEPT_IN_CHECK: [&str; 4] = ["approved_by", "pins", "soft", "rules"];

/// A feature as a person wants it.
#[derive(Clone, Debug)]
pub enum Edit {
    /// All of it: what is left out is removed.
    Whole(Value),
    /// Some of it: what is left out stays, what is null is removed.
    Merge(Value),
}

/// What an edit changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Edited {
    Nothing,
    /// Not what decides whether the feature is done.
    Words,
    /// The check is another one, so nothing is known from it yet.
    Check,
}

impl Checklist {
    /// Returns what a person may change of a feature, as the file has it.
    pub fn editable(&self, id: &str) -> Result<Value> {
        self.find(id)?;
        let mut fields = object(self.json(id).cloned().unwrap_or_default())?;
        fields.retain(|key, _| !is_ours(key));
        if let Some(check) = fields.get_mut("check") {
            *check = without_ours(check);
        }
        Ok(Value::Object(fields))
    }

    /// Changes a feature. A check that decides otherwise than before is approved by `approved_by`, and what was known
    /// from the old one, a person's word included, is forgotten.
    ///
    /// # Errors
    /// When the result would be no feature, or what only longhaul writes would change; then nothing was changed.
    pub fn edit(&mut self, id: &str, edit: &Edit, approved_by: &str) -> Result<Edited> {
        let before = self.editable(id)?;
        let now = self.json(id).cloned().unwrap_or_default();
        let given = match edit {
            Edit::Whole(given) => own_part(given, &now)?,
            Edit::Merge(given) => merged(&before, &own_part(given, &now)?),
        };
        if given == before {
            return Ok(Edited::Nothing);
        }
        let mut fields = object(given)?;
        if fields.get("id").and_then(id_text).as_deref() != Some(id) {
            bail!("`id`: the id `{id}` stays, since the history goes by it; add a new feature to have another");
        }
        title_of(&fields)?;
        refuse_unknown(&fields, &now)?;
        let anew = decides(fields.get("check"))? != decides(before.get("check"))?;
        if let Some(check) = fields.get_mut("check").filter(|check| !check.is_null()) {
            *check = if anew { new_check(check, approved_by)? } else { with_ours(check, &now["check"]) };
        }
        self.change(id, |kept| {
            kept.retain(|key, _| is_ours(key) || fields.contains_key(key));
            kept.extend(fields);
            if anew {
                kept.shift_remove("proposed_check");
                kept.shift_remove("accepted");
                forget(kept);
            }
        })?;
        Ok(if anew { Edited::Check } else { Edited::Words })
    }
}

fn object(value: Value) -> Result<Map<String, Value>> {
    match value {
        Value::Object(fields) => Ok(fields),
        other => Err(anyhow!("expected a feature as an object, found {}", kind(&other))),
    }
}

/// Tells whether only longhaul writes this field of a feature.
fn is_ours(key: &str) -> bool {
    KEPT.contains(&key) || key == "claimed"
}

/// Returns what is the person's of what was given; the rest has to be as it is now.
fn own_part(given: &Value, now: &Value) -> Result<Value> {
    let mut fields = object(given.clone())?;
    for (key, value) in fields.iter().filter(|(key, _)| is_ours(key)) {
        refuse_changed(key, value, &now[key])?;
    }
    fields.retain(|key, _| !is_ours(key));
    if let Some(check) = fields.get_mut("check") {
        for key in KEPT_IN_CHECK {
            if let Some(value) = check.get(key) {
                refuse_changed(&format!("check.{key}"), value, &now["check"][key])?;
            }
        }
        *check = without_ours(check);
    }
    Ok(Value::Object(fields))
}

fn refuse_changed(key: &str, given: &Value, now: &Value) -> Result<()> {
    if given == now {
        return Ok(());
    }
    bail!("`{key}`: only longhaul writes it; leave it out")
}

fn without_ours(check: &Value) -> Value {
    let mut check = check.clone();
    if let Value::Object(fields) = &mut check {
        fields.retain(|key, _| !KEPT_IN_CHECK.contains(&key.as_str()));
    }
    check
}

fn with_ours(check: &Value, now: &Value) -> Value {
    let Value::Object(fields) = check else { return now.clone() };
    let mut fields = fields.clone();
    for key in KEPT_IN_CHECK {
        fields.extend(now.get(key).map(|value| (key.to_owned(), value.clone())));
    }
    Value::Object(fields)
}

/// Returns the digest of what decides in a check as a person writes it.
fn decides(check: Option<&Value>) -> Result<Option<String>> {
    let check = check.filter(|check| !check.is_null());
    let read = check.map(|check| {
        Check::read(check).map(|check| check.digest()).map_err(|problem| match problem.field {
            Some(field) => anyhow!("`check.{field}`: {}", problem.reason),
            None => anyhow!("`check`: {}", problem.reason),
        })
    });
    read.transpose()
}

/// Lays `patch` over `value`: objects field by field, null removes, everything else replaces.
fn merged(value: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut fields = value.as_object().cloned().unwrap_or_default();
    for (key, change) in patch {
        if change.is_null() {
            fields.shift_remove(key);
        } else {
            let merged = merged(fields.get(key).unwrap_or(&Value::Null), change);
            fields.insert(key.clone(), merged);
        }
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::State;
    use crate::gate::Finding;
    use crate::gate::Verdict;
    use serde_json::json;

    /// A feature `a` that is proven, with a field of its user's.
    fn checklist() -> Checklist {
        let mut checklist = Checklist::empty();
        let feature = json!({"id": "a", "title": "A", "owner": "ada", "check": {"run": "true", "timeout": "5m"}});
        checklist.add(&json!([feature, {"id": "b", "title": "B"}]), "initializer").unwrap();
        let check = checklist.get("a").unwrap().check.clone().unwrap();
        checklist.prove("a", &Verdict::example("a", &check, Finding::Passed, "now")).unwrap();
        checklist
    }

    #[test]
    fn a_person_sees_what_a_person_may_change() {
        let expected = json!({"id": "a", "title": "A", "required": true, "depends_on": [], "owner": "ada",
            "check": {"run": "true", "timeout": "5m"}});
        assert_eq!(checklist().editable("a").unwrap(), expected);
        assert!(checklist().editable("c").is_err());
    }

    #[test]
    fn words_change_and_the_proof_stays() {
        let mut checklist = checklist();
        let before = checklist.json("a").unwrap().clone();
        let edit = Edit::Merge(json!({"title": "A, reworded", "owner": null, "priority": 3}));
        assert_eq!(checklist.edit("a", &edit, "user").unwrap(), Edited::Words);
        let mut expected = before;
        expected["title"] = json!("A, reworded");
        expected["priority"] = json!(3);
        expected.as_object_mut().unwrap().shift_remove("owner");
        assert_eq!(*checklist.json("a").unwrap(), expected);
        assert_eq!(checklist.state("a", "now"), State::Proven);
    }

    #[test]
    fn another_check_is_newly_approved_and_nothing_is_known_from_it() {
        let mut checklist = checklist();
        let edit = Edit::Merge(json!({"check": {"timeout": "9m"}}));
        assert_eq!(checklist.edit("a", &edit, "user").unwrap(), Edited::Check);
        let a = checklist.get("a").unwrap();
        assert_eq!((a.passes, &a.evidence, &a.baseline), (false, &None, &None));
        assert_eq!(
            checklist.json("a").unwrap()["check"],
            json!({"run": "true", "timeout": "9m", "approved_by": "user"})
        );
    }

    #[test]
    fn the_whole_form_can_be_given_back_and_means_what_it_says() {
        let mut checklist = checklist();
        let whole = checklist.json("a").unwrap().clone();
        assert_eq!(checklist.edit("a", &Edit::Whole(whole.clone()), "user").unwrap(), Edited::Nothing);
        assert_eq!(checklist.edit("a", &Edit::Merge(whole), "user").unwrap(), Edited::Nothing);
        let short = json!({"id": "a", "title": "A", "check": {"run": "true", "timeout": "5m", "mine": 1}});
        // A key of nobody's in a check that decides as before is the user's own.
        assert_eq!(checklist.edit("a", &Edit::Whole(short), "user").unwrap(), Edited::Words);
        let a = checklist.json("a").unwrap();
        assert_eq!((a.get("owner"), &a["check"]["approved_by"]), (None, &json!("initializer")));
        assert_eq!(checklist.state("a", "now"), State::Proven);
    }

    #[test]
    fn what_cannot_be_changes_nothing_and_says_why() {
        let cases = [
            (json!({"passes": false}), "`passes`: only longhaul writes it; leave it out"),
            (json!({"evidence": null}), "`evidence`: only longhaul writes it; leave it out"),
            (json!({"check": {"approved_by": "user"}}), "`check.approved_by`: only longhaul writes it; leave it out"),
            (json!({"check": {"pins": {}}}), "`check.pins`: only longhaul writes it; leave it out"),
            (
                json!({"id": "c"}),
                "`id`: the id `a` stays, since the history goes by it; add a new feature to have another",
            ),
            (json!({"title": ""}), "a feature needs a `title` of one line"),
            (
                json!({"state": "proven"}),
                "`state` is not a key of a feature, and this one has none of that name; there are `id`, `title`, \
                 `category`, `description`, `steps`, `priority`, `required`, `depends_on`, `milestone`, `check`",
            ),
            (json!({"depend_on": []}), "`depend_on` is not a key of a feature; did you mean `depends_on`?"),
            (json!({"depends_on": ["x"]}), "feature `a`: `depends_on`: no feature `x`"),
            (
                json!({"check": {"timeout": 5}}),
                "`check.timeout`: expected a time such as \"30s\", \"1.5s\" or \"5m\", found 5",
            ),
            (
                json!({"check": {"run": "x", "timout": "5m"}}),
                "`check.timout`: not a key of a check; did you mean `timeout`?",
            ),
            (json!([]), "expected a feature as an object, found an array"),
        ];
        for (given, reason) in cases {
            let mut checklist = checklist();
            let before = checklist.render();
            let error = checklist.edit("a", &Edit::Merge(given.clone()), "user").unwrap_err().to_string();
            assert_eq!((error.as_str(), checklist.render()), (reason, before), "{given}");
        }
    }

    #[test]
    fn a_persons_word_was_for_the_old_check() {
        let mut checklist = Checklist::empty();
        checklist.add(&json!({"id": "a", "title": "A", "check": "true"}), "user").unwrap();
        let place = crate::checklist::Accepted { commit: "c", tree: "t", at: "now" };
        checklist.accept("a", "seen", place, None).unwrap();
        checklist.edit("a", &Edit::Merge(json!({"title": "B"})), "user").unwrap();
        assert_eq!(checklist.state("a", "t"), State::Accepted);
        checklist.edit("a", &Edit::Merge(json!({"check": "false"})), "user").unwrap();
        assert_eq!(checklist.state("a", "t"), State::Open);
    }
}
