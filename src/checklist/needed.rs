//! What success needs, and what a feature waits for.

use crate::checklist::feature::Feature;
use crate::checklist::file::Checklist;
use std::collections::HashSet;

impl Checklist {
    /// Returns the ids success waits for: required features, and what those that are not done depend on, required or not.
    pub fn needed(&self) -> HashSet<&str> {
        let mut needed = HashSet::new();
        let mut open: Vec<&Feature> = self.features().iter().filter(|feature| feature.required).collect();
        while let Some(feature) = open.pop() {
            if needed.insert(feature.id.as_str()) && !feature.is_done() {
                open.extend(feature.depends_on.iter().filter_map(|id| self.get(id)));
            }
        }
        needed
    }

    /// Returns what a feature waits for: dependencies that do not work yet. One whose check passed before any work
    /// does, but a milestone waits until all are done.
    pub fn waits_for(&self, feature: &Feature) -> Vec<String> {
        let green = |needed: &Feature| !feature.milestone && needed.is_already_green();
        let works = |id: &str| self.get(id).is_some_and(|needed| needed.is_done() || green(needed));
        feature.depends_on.iter().filter(|id| !works(id)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::State;
    use crate::gate::Finding;
    use crate::gate::Verdict;
    use serde_json::json;

    /// `goal` is required and depends on `step`, and that on `base`; all but `goal` are optional, `extra` stands alone.
    fn checklist() -> Checklist {
        let feature = |id: &str, required: bool, depends_on: &[&str]| json!({"id": id, "title": id, "required": required, "depends_on": depends_on, "check": "true"});
        let mut checklist = Checklist::empty();
        let features = [
            feature("extra", false, &[]),
            feature("goal", true, &["step"]),
            feature("step", false, &["base"]),
            feature("base", false, &[]),
        ];
        checklist.add(&json!(features), "me").unwrap();
        checklist
    }

    fn verdict(checklist: &Checklist, id: &str, finding: Finding) -> Verdict {
        Verdict::example(id, checklist.get(id).unwrap().check.as_ref().unwrap(), finding, "now")
    }

    #[test]
    fn what_a_required_feature_rests_on_is_needed_until_that_is_done() {
        let mut checklist = checklist();
        assert_eq!(checklist.needed(), HashSet::from(["goal", "step", "base"]));
        let proof = verdict(&checklist, "goal", Finding::Passed);
        checklist.prove("goal", &proof).unwrap();
        assert_eq!(checklist.needed(), HashSet::from(["goal"]));
    }

    #[test]
    fn a_dependency_that_was_green_before_any_work_holds_nothing_up() {
        let mut checklist = checklist();
        assert_eq!(checklist.waits_for(checklist.get("step").unwrap()), ["base"]);
        let green = verdict(&checklist, "base", Finding::AlreadyGreen);
        checklist.set_baseline("base", &green).unwrap();
        assert_eq!(checklist.waits_for(checklist.get("step").unwrap()), Vec::<String>::new());
        assert_eq!((checklist.state("step", "now"), checklist.state("goal", "now")), (State::Open, State::Waiting));
    }

    #[test]
    fn a_milestone_waits_until_all_it_looks_over_are_done() {
        let mut checklist = checklist();
        checklist
            .add(&json!({"id": "m", "title": "m", "milestone": true, "depends_on": ["base"], "check": "true"}), "me")
            .unwrap();
        let green = verdict(&checklist, "base", Finding::AlreadyGreen);
        checklist.set_baseline("base", &green).unwrap();
        assert_eq!(checklist.waits_for(checklist.get("m").unwrap()), ["base"]);
        let proof = verdict(&checklist, "base", Finding::Passed);
        checklist.prove("base", &proof).unwrap();
        assert_eq!(checklist.state("m", "now"), State::Open);
    }

    #[test]
    fn a_milestone_without_what_it_looks_over_or_without_a_check_is_none() {
        for lacking in [
            json!({"title": "m", "milestone": true, "check": "true"}),
            json!({"title": "m", "milestone": true, "depends_on": ["base"]}),
        ] {
            let error = format!("{:#}", checklist().add(&lacking, "me").unwrap_err());
            assert!(error.contains("`milestone`: a milestone needs `depends_on` and a `check`"), "{error}");
        }
        let name = json!({"title": "m", "milestone": "v1.0"});
        checklist().add(&name, "me").unwrap();
    }
}
