//! Which feature a session works on, and why none can be worked on.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use crate::checklist::State;
use crate::gate;

/// Picks the next feature that success needs, whose turn it is and that can be worked on.
pub fn pick<'a>(checklist: &'a Checklist, tree: &str) -> Option<&'a Feature> {
    workable(checklist, tree).into_iter().next()
}

/// Returns what success needs and can be worked on, in its order.
pub fn workable<'a>(checklist: &'a Checklist, tree: &str) -> Vec<&'a Feature> {
    let needed = checklist.needed();
    let workable = |feature: &&Feature| {
        needed.contains(feature.id.as_str())
            && matches!(checklist.state(&feature.id, tree), State::Open | State::Regressed)
    };
    checklist.in_turn(tree).into_iter().filter(workable).collect()
}

/// Returns a milestone that only a person can check, once all it looks over is done: the run pauses there.
pub fn reached<'a>(checklist: &'a Checklist, tree: &str) -> Option<&'a Feature> {
    let needed = checklist.needed();
    let reached = |feature: &&Feature| {
        feature.milestone
            && feature.needs_person()
            && needed.contains(feature.id.as_str())
            && checklist.state(&feature.id, tree) == State::Waiting
            && checklist.waits_for(feature).is_empty()
    };
    checklist.in_turn(tree).into_iter().find(reached)
}

/// Tells whether every required feature is proven or accepted; stale ones are left to the final sweep.
pub fn complete(checklist: &Checklist) -> bool {
    checklist.features().iter().filter(|feature| feature.required).all(Feature::is_done)
}

/// Says of each feature that success needs and that is not done why it cannot be worked on, one line each.
pub fn reasons(checklist: &Checklist, tree: &str) -> Vec<String> {
    let needed = checklist.needed();
    let needed = checklist.features().iter().filter(|feature| needed.contains(feature.id.as_str()));
    needed.filter_map(|feature| reason(checklist, feature, tree)).collect()
}

/// Says the same of all but the feature `id`, without those that only wait for other features.
pub fn reasons_beside(checklist: &Checklist, tree: &str, id: &str) -> Vec<String> {
    let needed = checklist.needed();
    let waits = |feature: &Feature| {
        checklist.state(&feature.id, tree) == State::Waiting
            && feature.check_problem.is_none()
            && feature.unapproved.is_empty()
            && !checklist.waits_for(feature).is_empty()
    };
    let others = checklist.features().iter().filter(|feature| needed.contains(feature.id.as_str()) && feature.id != id);
    others.filter(|feature| !waits(feature)).filter_map(|feature| reason(checklist, feature, tree)).collect()
}

fn reason(checklist: &Checklist, feature: &Feature, tree: &str) -> Option<String> {
    let id = &feature.id;
    let vouch = format!("`longhaul accept {id} --reason TEXT` vouches for it");
    match checklist.state(id, tree) {
        State::Proven | State::Accepted | State::Stale | State::Open | State::Regressed => None,
        State::Blocked => {
            let why = feature.blocked.as_deref().unwrap_or("no reason given");
            let again = format!("`longhaul feature reopen {id}` tries it again");
            let way_out = match (feature.is_check_at_fault(), &feature.refused) {
                (_, Some(_)) => format!(
                    "`longhaul feature edit {id}` changes its words, and `agent.model` names another model; then {again}"
                ),
                (true, None) => format!("`longhaul feature edit {id}` changes the check, {again} as it is"),
                (false, None) => again,
            };
            let changed = match feature.is_check_changed() {
                true => format!(
                    "its check is not what was approved: `longhaul show {id}` has the change, `longhaul accept {id}` approves \
                     it, or take it back; "
                ),
                false => String::new(),
            };
            Some(format!("{id} is blocked: {why}; {changed}{way_out}, {vouch}"))
        }
        State::AlreadyGreen => Some(format!(
            "{id} is already green: its check, as approved, passed when it was first looked at; `longhaul accept {id} --reason TEXT` takes it"
        )),
        State::Waiting => Some(match &feature.check_problem {
            Some(problem) => format!(
                "{id} waits for a person: the agent says that its check is wrong: {problem}; `longhaul feature edit {id}` \
                 changes the check, `longhaul feature reopen {id}` tries it again as it is, {vouch}"
            ),
            None if !feature.unapproved.is_empty() => unapproved(feature),
            None => match checklist.waits_for(feature).as_slice() {
                [] => match feature.check.as_ref().map_or("", |check| check.run.trim()) {
                    "" => format!("{id} waits for a person to look; {vouch}"),
                    text => format!("{id} waits for a person to look: {}; {vouch}", text.replace('\n', " ")),
                },
                needed => format!("{id} waits for {}", needed.join(", ")),
            },
        }),
        State::NoCheck => Some(format!(
            "{id} has no check; `longhaul run` asks an initializer session for one, `longhaul feature edit {id}` gives it yours"
        )),
    }
}

/// Says that a person has to approve what the check of a feature names and nobody approved.
pub fn unapproved(feature: &Feature) -> String {
    let id = &feature.id;
    let pins = feature.check.as_ref().map(|check| &check.pins);
    let is_approved = |path: &&String| matches!(pins.and_then(|pins| pins.get(*path)), Some(Some(_)));
    let fewer = feature.unapproved.iter().find(|what| gate::is_fewer(what));
    if let Some(pass) = fewer {
        return format!(
            "{id} waits for a person: all that there is, is {pass}; `longhaul accept {id} --reason TEXT` vouches for it, if \
             that is as it should be; `longhaul feature reopen {id}` has it tried again"
        );
    }
    let (by_name, files): (Vec<&String>, Vec<&String>) =
        feature.unapproved.iter().partition(|what| gate::is_tests_by_name(what));
    if let ([name, ..], []) = (by_name.as_slice(), files.as_slice()) {
        return format!(
            "{id} waits for a person: {name} were not there when its check was approved, and none of its files has them: the \
             work itself brings them; `longhaul accept {id} --reason TEXT` vouches for it, `longhaul feature edit {id}` \
             changes the check"
        );
    }
    let (approved, new): (Vec<&String>, Vec<&String>) = files.into_iter().partition(is_approved);
    let (beside, more): (Vec<&String>, Vec<&String>) =
        approved.into_iter().partition(|path| gate::may_be_product_beside(path));
    let named = |files: Vec<&String>, what: &str| {
        let files: Vec<String> = files.into_iter().map(|path| format!("`{path}`")).collect();
        (!files.is_empty()).then(|| format!("{what}: {}", files.join(", ")))
    };
    let way_out = match beside.first() {
        None => format!("`longhaul accept {id}` approves them as they are now"),
        // Approved as it is now, it would be laid over the commit before the work too, and nothing be proven.
        Some(path) => format!(
            "`longhaul accept {id} --reason TEXT` vouches for it, and `\"closure\": [\"!{path}\"]` in its check leaves such a \
             file out of what is pinned"
        ),
    };
    let why = [
        named(new, "its check names files that were not there when it was approved, and runs without them"),
        named(more, "it passes only with what was added to files of its check since they were approved"),
        named(
            beside,
            "it passes only with what changed in the folder of its tests, in files that are no tests by their names",
        ),
    ];
    let why = why.into_iter().flatten().collect::<Vec<_>>().join("; ");
    format!("{id} waits for a person: {why}; {way_out}, `longhaul feature reopen {id}` tries it again without")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Finding;
    use crate::gate::Verdict;
    use serde_json::json;

    fn checklist(features: &serde_json::Value) -> Checklist {
        let mut checklist = Checklist::empty();
        checklist.add(features, "me").unwrap();
        checklist
    }

    #[test]
    fn an_optional_feature_is_worked_on_only_where_a_required_one_rests_on_it() {
        let alone = json!({"id": "alone", "title": "alone", "required": false, "check": "true"});
        let base = json!({"id": "base", "title": "base", "required": false, "check": "true"});
        let goal = json!({"id": "goal", "title": "goal", "depends_on": ["base"], "check": "true"});
        let list = checklist(&json!([alone, base, goal]));
        assert_eq!(pick(&list, "t").unwrap().id, "base");
        assert_eq!(pick(&checklist(&json!([alone])), "t"), None);
        assert!(complete(&checklist(&json!([alone]))) && !complete(&list));
    }

    #[test]
    fn of_a_check_that_is_at_fault_itself_the_way_out_is_to_change_it() {
        let at_fault = |finding| {
            let mut list = checklist(&json!([{"id": "a", "title": "x", "check": "true"}]));
            let check = list.get("a").unwrap().check.clone().unwrap();
            list.record("a", &Verdict::example("a", &check, finding, "t"), false).unwrap();
            list.block("a", "why").unwrap();
            reasons(&list, "t")[0].contains("; `longhaul feature edit a` changes the check, ")
        };
        for finding in
            [Finding::Empty, Finding::TreeMoved, Finding::NothingExecuted, Finding::CheckChanged, Finding::NotRunnable]
        {
            assert!(at_fault(finding), "{finding}");
        }
        assert!(!at_fault(Finding::Failed) && !at_fault(Finding::NotReady));
    }

    #[test]
    fn of_a_check_that_changed_the_way_out_is_to_approve_it_or_to_take_it_back() {
        let reason = |finding| {
            let mut list = checklist(&json!([{"id": "a", "title": "x", "check": "true"}]));
            let check = list.get("a").unwrap().check.clone().unwrap();
            list.record("a", &Verdict::example("a", &check, finding, "t"), false).unwrap();
            list.block("a", "why").unwrap();
            reasons(&list, "t")[0].clone()
        };
        let way_out = "`longhaul show a` has the change, `longhaul accept a` approves it, or take it back; ";
        let changed = reason(Finding::CheckChanged);
        assert!(changed.contains(&format!("why; its check is not what was approved: {way_out}")), "{changed}");
        assert!(!reason(Finding::Failed).contains("approve"));
    }

    #[test]
    fn every_reason_names_its_way_out() {
        let mut list = checklist(&json!([
            {"id": "set-aside", "title": "x", "check": "true"},
            {"id": "doubted", "title": "x", "check": "true"},
            {"id": "looks", "title": "x", "check": {"run": "", "kind": "manual"}},
            {"id": "reads", "title": "x", "check": {"run": "read the page\naloud", "kind": "manual"}},
            {"id": "later", "title": "x", "check": "true", "depends_on": ["looks", "doubted"]},
            {"id": "bare", "title": "x"},
            {"id": "late", "title": "x", "check": "sh tests/a.sh"},
            {"id": "extra", "title": "x", "required": false},
        ]));
        list.block("set-aside", "no licence").unwrap();
        list.doubt("doubted", "it tests the wrong page").unwrap();
        let late = list.get("late").unwrap().check.clone().unwrap();
        let verdict = Verdict::example("late", &late, Finding::Failed, "t").without("tests/a.sh");
        list.record("late", &verdict, true).unwrap();
        let expected = [
            "set-aside is blocked: no licence; `longhaul feature reopen set-aside` tries it again, `longhaul accept set-aside \
             --reason TEXT` vouches for it",
            "doubted waits for a person: the agent says that its check is wrong: it tests the wrong page; `longhaul feature \
             edit doubted` changes the check, `longhaul feature reopen doubted` tries it again as it is, `longhaul accept \
             doubted --reason TEXT` vouches for it",
            "looks waits for a person to look; `longhaul accept looks --reason TEXT` vouches for it",
            "reads waits for a person to look: read the page aloud; `longhaul accept reads --reason TEXT` vouches for it",
            "later waits for looks, doubted",
            "bare has no check; `longhaul run` asks an initializer session for one, `longhaul feature edit bare` gives it yours",
            "late waits for a person: its check names files that were not there when it was approved, and runs without them: \
             `tests/a.sh`; `longhaul accept late` approves them as they are now, `longhaul feature reopen late` tries it again \
             without",
        ];
        assert_eq!(reasons(&list, "t"), expected);
    }
}
