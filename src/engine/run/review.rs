//! What an initializer wrote, laid out for a person: each check, and who approved it.

use crate::checklist::Checklist;
use crate::checklist::Feature;
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

/// The checks of a checklist by feature; what is to be looked at when another comes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Checks(BTreeMap<String, String>);

impl Checks {
    /// Takes the checks as they are now.
    pub fn of(checklist: &Checklist) -> Self {
        let digest = |feature: &Feature| Some((feature.id.clone(), feature.check.as_ref()?.digest()));
        Self(checklist.features().iter().filter_map(digest).collect())
    }
}

/// Renders a table of the features: id, state, who approved the check, and what it runs.
pub fn table(checklist: &Checklist, tree: &str) -> Vec<String> {
    let rows: Vec<[String; 4]> = checklist.features().iter().map(|feature| row(checklist, feature, tree)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let padded = |text: &str, width: usize| format!("{text}{}", " ".repeat(width.saturating_sub(text.width()) + 2));
    let line = |row: &[String; 4]| {
        let cells: String = widths.iter().zip(row).map(|(width, text)| padded(text, *width)).collect();
        format!("  {cells}{}", row[3])
    };
    rows.iter().map(line).collect()
}

fn row(checklist: &Checklist, feature: &Feature, tree: &str) -> [String; 4] {
    let state = checklist.state(&feature.id, tree).to_string();
    let Some(check) = &feature.check else { return [feature.id.clone(), state, "-".to_owned(), "no check".to_owned()] };
    let mut lines = check.run.lines();
    let first = lines.next().unwrap_or("a person looks");
    let more = if lines.next().is_some() { " …" } else { "" };
    [feature.id.clone(), state, format!("by {}", check.approved_by), format!("{first}{more}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_check_stands_there_with_who_approved_it() {
        let mut checklist = Checklist::empty();
        let given =
            json!([{"id": "sum", "title": "x", "check": "sh sum.sh"}, {"id": "log-in", "title": "x", "check": "a\nb"}]);
        checklist.add(&given, "initializer").unwrap();
        let none = json!([{"id": "bare", "title": "x"}, {"id": "look", "title": "x", "check": {"kind": "manual"}}]);
        checklist.add(&none, "user").unwrap();
        let expected = [
            "  sum     open      by initializer  sh sum.sh",
            "  log-in  open      by initializer  a …",
            "  bare    no check  -               no check",
            "  look    waiting   by user         a person looks",
        ];
        assert_eq!(table(&checklist, "t"), expected);
    }

    #[test]
    fn only_another_check_is_something_new() {
        let mut checklist = Checklist::empty();
        checklist.add(&json!({"id": "a", "title": "A", "check": "true"}), "user").unwrap();
        let before = Checks::of(&checklist);
        checklist.block("a", "x").unwrap();
        assert_eq!(Checks::of(&checklist), before);
        checklist.set_check("a", &json!("false"), "initializer").unwrap();
        assert_ne!(Checks::of(&checklist), before);
    }
}
