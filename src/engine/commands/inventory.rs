//! What an imported checklist comes to: which features are red, which are green already, which have no check.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;

/// Ids named of one kind; the rest is counted.
const NAMED: usize = 8;

/// Says how many features are of each kind, and which, a line a kind.
pub fn lines(checklist: &Checklist) -> Vec<String> {
    let kinds: [(&str, Vec<&Feature>); 6] = [
        ("red, to be worked on", of(checklist, Kind::Red)),
        (
            "green already, not worked on (`longhaul accept --already-green --reason TEXT` takes them)",
            of(checklist, Kind::Green),
        ),
        ("without a check", of(checklist, Kind::NoCheck)),
        ("for a person to look at", of(checklist, Kind::Person)),
        ("with a check that finds no ground to stand on", of(checklist, Kind::Blocked)),
        ("with a check that runs at the start of the next run", of(checklist, Kind::NotRun)),
    ];
    let line = |(what, features): &(&str, Vec<&Feature>)| format!("{} {what}: {}", features.len(), named(features));
    kinds.iter().filter(|(_, features)| !features.is_empty()).map(line).collect()
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Red,
    Green,
    NoCheck,
    Person,
    Blocked,
    NotRun,
}

fn of(checklist: &Checklist, kind: Kind) -> Vec<&Feature> {
    checklist.features().iter().filter(|feature| kind_of(checklist, feature) == kind).collect()
}

fn kind_of(checklist: &Checklist, feature: &Feature) -> Kind {
    match checklist.state(&feature.id, "") {
        _ if feature.red().is_some() => Kind::Red,
        State::AlreadyGreen => Kind::Green,
        State::Blocked => Kind::Blocked,
        _ if feature.check.is_none() => Kind::NoCheck,
        _ if feature.needs_person() => Kind::Person,
        _ => Kind::NotRun,
    }
}

fn named(features: &[&Feature]) -> String {
    let ids: Vec<&str> = features.iter().take(NAMED).map(|feature| feature.id.as_str()).collect();
    match features.len() - ids.len() {
        0 => ids.join(", "),
        more => format!("{} and {more} more", ids.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Finding;
    use crate::gate::Verdict;
    use serde_json::json;

    #[test]
    fn every_feature_is_in_one_line() {
        let mut checklist = Checklist::empty();
        let ids = ["red", "green", "later"];
        let features: Vec<_> = ids.iter().map(|id| json!({"id": id, "title": id, "check": "true"})).collect();
        checklist.add(&json!(features), "user").unwrap();
        let bare = |at: usize| json!({"id": format!("bare-{at}"), "title": "x"});
        checklist.add(&(0..10).map(bare).collect(), "user").unwrap();
        for (id, finding) in [("red", Finding::TimedOut), ("green", Finding::AlreadyGreen)] {
            let verdict = Verdict::example(id, checklist.get(id).unwrap().check.as_ref().unwrap(), finding, "t");
            checklist.set_baseline(id, &verdict).unwrap();
        }
        let expected = [
            "1 red, to be worked on: red",
            "1 green already, not worked on (`longhaul accept --already-green --reason TEXT` takes them): green",
            "10 without a check: bare-0, bare-1, bare-2, bare-3, bare-4, bare-5, bare-6, bare-7 and 2 more",
            "1 with a check that runs at the start of the next run: later",
        ];
        assert_eq!(lines(&checklist), expected);
    }
}
