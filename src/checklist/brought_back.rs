//! An earlier checklist brought back. Its features, words and order come back; what is known of them does not.

use crate::checklist::add::KEPT;
use crate::checklist::feature::Feature;
use crate::checklist::file::Checklist;
use crate::checklist::record::clear;
use anyhow::Result;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// What makes a feature done.
const DONE: [&str; 3] = ["evidence", "checked", "accepted"];

impl Checklist {
    /// Brings this earlier checklist up to what is known by the one of now.
    ///
    /// Of a feature whose check is still the same all records are those of now. Any other one is not done: it keeps the
    /// result that speaks against it, so that its check has to pass once more and needs no session for that.
    pub fn brought_back(mut self, now: &Self) -> Result<Self> {
        let ids: Vec<String> = self.features().iter().map(|feature| feature.id.clone()).collect();
        for id in ids {
            let same = now.get(&id).filter(|today| has_same_check(self.get(&id), today));
            let known = same.and_then(|_| now.json(&id)).and_then(Value::as_object).cloned();
            self.change(&id, |fields| match &known {
                Some(known) => take_record(fields, known),
                None => {
                    fields.insert("passes".to_owned(), json!(false));
                    clear(fields, &DONE);
                }
            })?;
        }
        Ok(self)
    }
}

fn has_same_check(then: Option<&Feature>, now: &Feature) -> bool {
    then.is_some_and(|then| then.check.is_some() && then.check == now.check)
}

fn take_record(fields: &mut Map<String, Value>, known: &Map<String, Value>) {
    fields.retain(|key, _| !KEPT.contains(&key.as_str()) || known.contains_key(key));
    fields.extend(known.iter().filter(|(key, _)| KEPT.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::Accepted;
    use crate::checklist::State;
    use crate::gate::Finding;
    use crate::gate::Verdict;

    fn with_a() -> Checklist {
        let mut checklist = Checklist::empty();
        checklist.add(&json!([{"id": "a", "title": "A", "check": "true"}]), "user").unwrap();
        checklist
    }

    fn verdict(checklist: &Checklist, finding: Finding) -> Verdict {
        Verdict::example("a", checklist.get("a").unwrap().check.as_ref().unwrap(), finding, "tree")
    }

    fn proven() -> Checklist {
        let mut checklist = with_a();
        let (red, green) = (verdict(&checklist, Finding::Failed), verdict(&checklist, Finding::Passed));
        checklist.set_baseline("a", &red).unwrap();
        checklist.prove("a", &green).unwrap();
        checklist
    }

    #[test]
    fn what_is_not_done_now_does_not_become_done() {
        let then = proven();
        assert_eq!(then.state("a", "tree"), State::Proven, "as it stands in the commit");
        let mut regressed = proven();
        let red = verdict(&regressed, Finding::Failed);
        regressed.regress("a", &red).unwrap();
        assert_eq!(then.clone().brought_back(&regressed).unwrap().state("a", "tree"), State::Regressed);

        let back = then.brought_back(&Checklist::empty()).unwrap();
        assert_eq!(back.state("a", "tree"), State::Open);
        assert!(back.get("a").unwrap().red().is_some(), "a pass proves it again");

        let mut accepted = with_a();
        accepted.accept("a", "seen", Accepted { commit: "c", tree: "tree", at: "now" }, None).unwrap();
        assert_eq!(accepted.brought_back(&Checklist::empty()).unwrap().state("a", "tree"), State::Open);
    }

    #[test]
    fn what_is_done_now_stays_done_and_the_words_come_back() {
        let mut now = proven();
        let then = with_a();
        now.edit("a", &crate::checklist::Edit::Merge(json!({"title": "B"})), "user").unwrap();
        let back = then.brought_back(&now).unwrap();
        assert_eq!((back.get("a").unwrap().title.as_str(), back.state("a", "tree")), ("A", State::Proven));

        let mut other = proven();
        other.edit("a", &crate::checklist::Edit::Merge(json!({"check": "false"})), "user").unwrap();
        let back = proven().brought_back(&other).unwrap();
        assert_eq!(back.state("a", "tree"), State::Open, "the proof was not of the check of now");
    }
}
