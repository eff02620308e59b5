//! What a commit of memory says of features, for programs: one line of its body each, `kind: {…}`.
//!
//! The subject is for people; a sweep over forty checks has one subject and forty facts. Read back, they are a feature's
//! whole history.

use crate::checklist::Checklist;
use crate::gate::Verdict;
use crate::memory::Entry;
use crate::memory::Filter;
use crate::memory::Origin;
use crate::memory::Store;
use anyhow::Result;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// Longest reason in a fact; the whole of it is in the checklist.
const DETAIL: usize = 300;

/// Something that a commit says of one feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    kind: &'static str,
    feature: String,
    /// An object.
    rest: Value,
}

impl Fact {
    /// Says something of a feature; `rest` is an object with what more there is to it.
    pub fn of(kind: &'static str, feature: &str, rest: Value) -> Self {
        Self { kind, feature: feature.to_owned(), rest }
    }

    /// Says what a run of a check found; `kind` is what followed from it.
    pub fn verdict(kind: &'static str, verdict: &Verdict) -> Self {
        let whole = verdict.to_last_verdict();
        let mut rest = Map::new();
        for key in
            ["verdict", "exit", "limit", "seconds", "commit", "check", "output", "level", "checkout", "session", "at"]
        {
            rest.insert(key.to_owned(), whole[key].clone());
        }
        let detail: String = verdict.trial().detail().lines().next().unwrap_or_default().chars().take(DETAIL).collect();
        rest.insert("detail".to_owned(), json!(detail));
        rest.insert("approved_by".to_owned(), verdict.to_evidence()["approved_by"].clone());
        Self::of(kind, verdict.feature(), Value::Object(rest))
    }

    /// Says who approved the check of a feature, as it is now; or that it came without one.
    pub fn approval(checklist: &Checklist, id: &str) -> Self {
        match checklist.get(id).and_then(|feature| feature.check.as_ref()) {
            Some(check) => {
                let pins: Vec<&String> = check.pins.keys().collect();
                Self::of(
                    "approval",
                    id,
                    json!({"approved_by": check.approved_by, "check": check.digest(), "pins": pins}),
                )
            }
            None => Self::of("added", id, json!({})),
        }
    }

    fn line(&self) -> String {
        let mut fields = Map::from_iter([("feature".to_owned(), json!(self.feature))]);
        fields.extend(self.rest.as_object().cloned().unwrap_or_default());
        format!("{}: {}", self.kind, Value::Object(fields))
    }
}

/// Renders facts as the body of a commit.
pub fn body(facts: &[Fact]) -> String {
    facts.iter().map(Fact::line).collect::<Vec<_>>().join("\n")
}

/// Adds the features that facts are about to the origin of their commit.
pub fn concerning(facts: &[Fact], origin: &Origin) -> Origin {
    let mut origin = origin.clone();
    for Fact { feature, .. } in facts {
        if origin.feature.as_ref() != Some(feature) && !origin.also.contains(feature) {
            origin.also.push(feature.clone());
        }
    }
    origin
}

/// Returns what happened to a feature, oldest first: one object a fact, and one for each commit that has none of it.
///
/// What an agent wrote into memory meanwhile is not among it.
pub fn history(memory: &Store, id: &str) -> Result<Vec<Value>> {
    let filter = Filter { feature: Some(id.to_owned()), ..Filter::default() };
    let mut entries = memory.history(&filter)?;
    entries.retain(|entry| entry.author == "longhaul");
    Ok(entries.iter().rev().flat_map(|entry| happened(entry, id)).collect())
}

fn happened(entry: &Entry, id: &str) -> Vec<Value> {
    let mut happened: Vec<Value> = entry.body.lines().filter_map(read).filter(|fact| fact["feature"] == id).collect();
    if happened.is_empty() {
        happened.push(json!({"kind": "change"}));
    }
    for fact in &mut happened {
        fact["subject"] = json!(entry.subject);
        fact["memory_commit"] = json!(entry.id);
        fact["recorded"] = json!(entry.at.to_string());
        if fact["session"].is_null() {
            fact["session"] = json!(entry.session);
        }
    }
    happened
}

/// Reads a line back; none when it is no fact.
fn read(line: &str) -> Option<Value> {
    let (kind, rest) = line.split_once(": ")?;
    let Ok(Value::Object(rest)) = serde_json::from_str(rest) else { return None };
    let mut fact = Map::from_iter([("kind".to_owned(), json!(kind))]);
    fact.extend(rest);
    Some(Value::Object(fact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Check;
    use crate::gate::Finding;
    use crate::memory::Author;

    #[test]
    fn a_verdict_reads_back_as_it_was_written() {
        let verdict = Verdict::example("login", &Check::command("true"), Finding::Failed, "t");
        let line = body(&[Fact::verdict("verdict", &verdict)]);
        assert!(line.starts_with("verdict: {\"feature\":\"login\",\"verdict\":\"failed\",\"exit\":null,"), "{line}");
        let fact = read(&line).unwrap();
        assert_eq!(
            (&fact["kind"], &fact["commit"], &fact["session"]),
            (&json!("verdict"), &json!("commit of t"), &json!(7))
        );
        assert_eq!(read("Session: 7"), None);
        assert_eq!(read("some words"), None);
    }

    #[test]
    fn a_reason_of_many_lines_stays_on_one() {
        let fact = Fact::of("block", "a", json!({"reason": "one\n\nSession: 9\ntwo"}));
        assert_eq!(body(&[fact]).lines().count(), 1);
    }

    #[test]
    fn a_commit_concerns_all_that_its_facts_are_about() {
        let facts = ["a", "b", "b"].map(|id| Fact::of("recheck", id, json!({})));
        let origin = Origin { feature: Some("a".to_owned()), ..Origin::of(Author::Longhaul) };
        assert_eq!(concerning(&facts, &origin).also, ["b"]);
    }
}
