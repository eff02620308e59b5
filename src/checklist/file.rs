//! `features.json`: reading it whole, writing it back, and looking things up.

use crate::checklist::feature::Fault;
use crate::checklist::feature::Feature;
use crate::checklist::feature::State;
use crate::checklist::feature::kind;
use crate::checklist::json;
use crate::checklist::json::ParseProblem;
use crate::checklist::json::Step;
use crate::failure::Failure;
use anyhow::Result;
use anyhow::anyhow;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::collections::HashMap;

/// The checklist of a project.
#[derive(Clone, Debug)]
pub struct Checklist {
    /// The file as it is; `features` below is only a reading of it.
    root: Value,
    features: Vec<Feature>,
    /// Where in the list each id is.
    places: HashMap<String, usize>,
}

/// What is wrong with a list, and with which of its features.
#[derive(Debug)]
pub(super) struct Wrong {
    pub path: Vec<Step>,
    pub reason: String,
}

impl Checklist {
    /// Makes a checklist without features.
    pub fn empty() -> Self {
        Self { root: json!({"version": 1, "features": []}), features: Vec::new(), places: HashMap::new() }
    }

    /// Reads the text of `features.json`.
    pub fn parse(text: &str) -> Result<Self, ParseProblem> {
        let root = json::parse(text)?;
        let features = read_features(&root).map_err(|wrong| ParseProblem::Shape {
            line: Some(json::line_of(text, &wrong.path)),
            reason: wrong.reason,
        })?;
        let places = places(&features);
        Ok(Self { root, features, places })
    }

    /// Reads the bytes of `features.json`.
    pub fn read(bytes: &[u8]) -> Result<Self, ParseProblem> {
        Self::parse(json::text(bytes)?)
    }

    /// Renders the file.
    pub fn render(&self) -> String {
        format!("{:#}\n", self.root)
    }

    /// Returns the features in the order of the file.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Returns the feature with this id.
    pub fn get(&self, id: &str) -> Option<&Feature> {
        self.features.get(*self.places.get(id)?)
    }

    /// Returns a feature as the file has it, unknown fields included.
    pub fn json(&self, id: &str) -> Option<&Value> {
        self.root["features"].get(*self.places.get(id)?)
    }

    /// Returns the feature with this id.
    ///
    /// # Errors
    /// A usage failure that suggests one.
    pub fn find(&self, id: &str) -> Result<&Feature> {
        self.get(id).ok_or_else(|| {
            let likeness = |feature: &&Feature| strsim::jaro_winkler(&feature.id, id);
            let closest = self.features.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            let failure = Failure::usage(format!("there is no feature `{id}`"));
            let hint = match closest.filter(|feature| likeness(feature) > 0.75) {
                Some(feature) => format!("did you mean `{}`?", feature.id),
                None => "`longhaul feature list` shows them all".to_owned(),
            };
            failure.hint(hint).into()
        })
    }

    /// Returns the state of a feature on the tree `head_tree`; one that is not there is open.
    pub fn state(&self, id: &str, head_tree: &str) -> State {
        self.get(id).map_or(State::Open, |feature| feature.state(head_tree, !self.waits_for(feature).is_empty()))
    }

    /// Changes one feature's JSON, or nothing when the result would not be a checklist.
    pub(super) fn change(&mut self, id: &str, change: impl FnOnce(&mut Map<String, Value>)) -> Result<()> {
        self.find(id)?;
        let index = self.places.get(id).copied();
        self.change_list(|list| {
            if let Some(Value::Object(fields)) = index.and_then(|index| list.get_mut(index)) {
                change(fields);
            }
        })
    }

    /// Changes the list, or nothing when the result would not be a checklist.
    pub(super) fn change_list(&mut self, change: impl FnOnce(&mut Vec<Value>)) -> Result<()> {
        let mut root = self.root.clone();
        if let Some(list) = root.get_mut("features").and_then(Value::as_array_mut) {
            change(list);
        }
        self.features = read_features(&root).map_err(|wrong| anyhow!(wrong.reason))?;
        self.places = places(&self.features);
        self.root = root;
        Ok(())
    }
}

fn places(features: &[Feature]) -> HashMap<String, usize> {
    features.iter().enumerate().map(|(place, feature)| (feature.id.clone(), place)).collect()
}

fn read_features(root: &Value) -> Result<Vec<Feature>, Wrong> {
    let at_top = |key: &str, reason: String| Wrong { path: vec![Step::Key(key.to_owned())], reason };
    let Value::Object(fields) = root else {
        let reason = format!("expected an object with `version` and `features`, found {}", kind(root));
        return Err(Wrong { path: Vec::new(), reason });
    };
    match fields.get("version") {
        None => {}
        Some(version) if *version == json!(1) => {}
        Some(version) => {
            return Err(at_top("version", format!("this longhaul reads version 1 of the checklist, found {version}")));
        }
    }
    let list = match fields.get("features") {
        Some(Value::Array(list)) => list,
        Some(other) => return Err(at_top("features", format!("`features`: expected an array, found {}", kind(other)))),
        None => return Err(Wrong { path: Vec::new(), reason: "the key `features` is missing".to_owned() }),
    };
    read_list(list)
}

/// Reads the features of a list, each for itself and then together.
pub(super) fn read_list(list: &[Value]) -> Result<Vec<Feature>, Wrong> {
    let mut features: Vec<Feature> = Vec::new();
    for (index, value) in (0..).zip(list) {
        let feature = Feature::read(value, index + 1).map_err(|fault| wrong(list, index as usize, &fault))?;
        features.push(feature);
    }
    let mut places = HashMap::new();
    for (index, feature) in features.iter().enumerate() {
        if let Some(first) = places.insert(feature.id.as_str(), index) {
            let reason = format!("the id is that of feature {} too", first + 1);
            return Err(wrong(list, index, &Fault::of("id", reason)));
        }
    }
    for (index, feature) in features.iter().enumerate() {
        let unknown = feature.depends_on.iter().find(|id| !places.contains_key(id.as_str()));
        let reason = match unknown {
            Some(unknown) => Some(format!("no feature `{unknown}`")),
            None => circle(&features, &places, index).map(|ids| format!("it depends on itself: {}", ids.join(" → "))),
        };
        if let Some(reason) = reason {
            return Err(wrong(list, index, &Fault::of("depends_on", reason)));
        }
    }
    Ok(features)
}

/// Puts the feature's name before a fault, and its place.
fn wrong(list: &[Value], index: usize, fault: &Fault) -> Wrong {
    let id = list[index].get("id").and_then(Value::as_str);
    let name = id.map_or_else(|| format!("feature {}", index + 1), |id| format!("feature `{}`", id.escape_debug()));
    let path = [Step::Key("features".to_owned()), Step::Index(index)].into_iter();
    let path = path.chain(fault.path.iter().map(|key| Step::Key(key.clone()))).collect();
    Wrong { path, reason: format!("{name}: {}", fault.sentence()) }
}

/// Returns a way along dependencies from a feature back to itself.
fn circle(features: &[Feature], places: &HashMap<&str, usize>, start: usize) -> Option<Vec<String>> {
    let mut came_from: HashMap<usize, usize> = HashMap::new();
    let mut open = vec![start];
    while let Some(at) = open.pop() {
        for next in features[at].depends_on.iter().filter_map(|id| places.get(id.as_str()).copied()) {
            if next == start {
                let mut way = vec![start];
                let mut step = at;
                while step != start {
                    way.push(step);
                    step = came_from[&step];
                }
                way.push(start);
                return Some(way.into_iter().rev().map(|index| features[index].id.clone()).collect());
            }
            came_from.entry(next).or_insert_with(|| {
                open.push(next);
                at
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Checklist::parse(text).unwrap_err().to_string()
    }

    fn list(features: &str) -> String {
        format!("{{\"version\": 1, \"features\": [\n{features}\n]}}")
    }

    /// D04.
    #[test]
    fn what_is_not_ours_survives_every_rewrite() {
        let text = r#"{
  "zebra": [1.50, null],
  "version": 1,
  "features": [
    {
      "title": "A",
      "priority": 10.0,
      "id": 7,
      "mine": {
        "b": 1,
        "a": 12345678901234567890
      },
      "passes": false
    },
    {
      "id": "b",
      "title": "B",
      "depends_on": [
        7
      ],
      "attempts": 0
    }
  ]
}
"#
        .replace("[1.50, null]", "[\n    1.50,\n    null\n  ]");
        let mut checklist = Checklist::parse(&text).unwrap();
        assert_eq!(checklist.render(), text);
        checklist.block("7", "why").unwrap();
        checklist.reopen("7").unwrap();
        let rewritten =
            text.replace("\"passes\": false", "\"passes\": false,\n      \"blocked\": null,\n      \"attempts\": 0");
        assert_eq!(checklist.render(), rewritten);
    }

    #[test]
    fn what_is_no_checklist_is_refused_with_the_place() {
        let cases = [
            ("[]", "line 1: expected an object with `version` and `features`, found an array"),
            ("\"x\"", "line 1: expected an object with `version` and `features`, found a text"),
            ("{}", "line 1: the key `features` is missing"),
            ("{\n\"features\": {}}", "line 2: `features`: expected an array, found an object"),
            ("{\"features\": [],\n\"version\": 2}", "line 2: this longhaul reads version 1 of the checklist, found 2"),
        ];
        for (text, reason) in cases {
            assert_eq!(refused(text), reason);
        }
        assert_eq!(Checklist::parse("").unwrap_err(), ParseProblem::Empty);
        assert!(matches!(Checklist::parse("{\"features\": [").unwrap_err(), ParseProblem::Syntax { line: 1, .. }));
        assert!(matches!(Checklist::read(b"\xff").unwrap_err(), ParseProblem::Syntax { .. }));
    }

    #[test]
    fn a_wrong_feature_is_named_with_field_and_line() {
        let cases = [
            ("3", "line 2: feature 1: expected an object, found a number"),
            ("{\"title\": \"A\"}", "line 2: feature 1: `id`: expected a text"),
            (
                "{\"id\": \"a b\", \"title\": \"A\"}",
                "line 2: feature `a b`: `id`: `a b` holds a blank or control character",
            ),
            ("{\"id\": \"a\",\n\"title\": 3}", "line 3: feature `a`: `title`: invalid type: number, expected a string"),
            ("{\"id\": \"a\"}", "line 2: feature `a`: `title`: a feature needs a title"),
            (
                "{\"id\": \"a\", \"title\": \"A\",\n\"check\": {\"run\": \"x\",\n\"timeout\": 5}}",
                "line 4: feature `a`: `check.timeout`: expected a time such as \"30s\", \"1.5s\" or \"5m\", found 5",
            ),
            (
                "{\"id\": \"a\", \"title\": \"A\", \"passes\": true}",
                "line 2: feature `a`: `passes`: it is true without evidence; only a check that ran can make it so",
            ),
            (
                "{\"id\": \"a\", \"title\": \"A\"},\n{\"id\": \"a\", \"title\": \"B\"}",
                "line 3: feature `a`: `id`: the id is that of feature 1 too",
            ),
            (
                "{\"id\": \"a\", \"title\": \"A\", \"depends_on\": [\"b\"]}",
                "line 2: feature `a`: `depends_on`: no feature `b`",
            ),
            (
                "{\"id\": \"a\", \"title\": \"A\", \"depends_on\": [\"b\"]},\n\
                 {\"id\": \"b\", \"title\": \"B\", \"depends_on\": [\"c\"]},\n\
                 {\"id\": \"c\", \"title\": \"C\", \"depends_on\": [\"a\"]}",
                "line 2: feature `a`: `depends_on`: it depends on itself: a → b → c → a",
            ),
            (
                "{\"id\": \"a\", \"title\": \"A\", \"depends_on\": [\"a\"]}",
                "line 2: feature `a`: `depends_on`: it depends on itself: a → a",
            ),
            (
                "{\"id\": \"a\", \"title\": \"A\", \"priority\": 1e999}",
                "line 2: feature `a`: `priority`: it is too large a number",
            ),
        ];
        for (feature, reason) in cases {
            assert_eq!(refused(&list(feature)), reason);
        }
    }

    #[test]
    fn an_unknown_id_comes_with_a_suggestion() {
        let checklist = Checklist::parse(&list("{\"id\": \"login\", \"title\": \"A\"}")).unwrap();
        let told = |id| {
            let failure = checklist.find(id).unwrap_err().downcast::<Failure>().unwrap();
            (failure.message, failure.hint.unwrap())
        };
        let (message, hint) = told("logn");
        assert_eq!((message.as_str(), hint.as_str()), ("there is no feature `logn`", "did you mean `login`?"));
        assert_eq!(told("xyz").1, "`longhaul feature list` shows them all");
    }

    #[test]
    fn a_state_follows_from_what_is_known() {
        let check = crate::gate::Check::command("true").digest();
        let features = format!(
            r#"{{"id": "open", "title": "x", "check": "true"}},
               {{"id": "none", "title": "x"}},
               {{"id": "blocked", "title": "x", "check": "true", "blocked": "why"}},
               {{"id": "waiting", "title": "x", "check": "true", "depends_on": ["open"]}},
               {{"id": "green", "title": "x", "check": "true", "baseline": {{"commit": "c", "verdict": "already green", "check": "{check}"}}}},
               {{"id": "late", "title": "x", "check": "true", "last_verdict": {{"verdict": "already green", "check": "{check}"}}}},
               {{"id": "other", "title": "x", "check": "false", "last_verdict": {{"verdict": "already green", "check": "{check}"}}}},
               {{"id": "red", "title": "x", "check": "true", "baseline": {{"commit": "c", "verdict": "already green", "check": "{check}"}}, "last_verdict": {{"verdict": "failed", "check": "{check}"}}}},
               {{"id": "proven", "title": "x", "check": "true", "passes": true, "evidence": {{"tree": "now", "check": "{check}"}}, "depends_on": ["accepted"]}},
               {{"id": "again", "title": "x", "check": "true", "passes": true, "evidence": {{"tree": "old", "check": "{check}"}}, "checked": {{"tree": "now"}}}},
               {{"id": "stale", "title": "x", "check": "true", "passes": true, "evidence": {{"tree": "old", "check": "{check}"}}}},
               {{"id": "newcheck", "title": "x", "check": "false", "passes": true, "evidence": {{"tree": "now", "check": "{check}"}}}},
               {{"id": "accepted", "title": "x", "accepted": {{"reason": "seen"}}}},
               {{"id": "regressed", "title": "x", "check": "true", "regressed": {{"tree": "old"}}}},
               {{"id": "ready", "title": "x", "check": "true", "depends_on": ["stale", "accepted"]}}"#
        );
        let checklist = Checklist::parse(&list(&features)).unwrap();
        let states: Vec<String> = checklist
            .features()
            .iter()
            .map(|feature| format!("{} {}", feature.id, checklist.state(&feature.id, "now")))
            .collect();
        let expected = [
            "open open",
            "none no check",
            "blocked blocked",
            "waiting waiting",
            "green already green",
            "late already green",
            "other open",
            "red open",
            "proven proven",
            "again proven",
            "stale stale",
            "newcheck stale",
            "accepted accepted",
            "regressed regressed",
            "ready open",
        ];
        assert_eq!(states, expected);
    }
}
