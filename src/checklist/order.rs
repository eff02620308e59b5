//! The order of work as a person sets it.

use crate::checklist::file::Checklist;
use anyhow::Result;
use anyhow::bail;
use serde_json::Value;
use serde_json::json;

/// Steps between priorities that longhaul gives, so that there is room for more.
const STEP: f64 = 10.0;

/// Where a feature is to stand in the order of work.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    First,
    Last,
    Before(String),
    After(String),
}

impl Checklist {
    /// Moves a feature in the file and, where priorities decide otherwise, gives it one; all get new ones only when that
    /// is not enough.
    pub fn move_to(&mut self, id: &str, place: &Place) -> Result<()> {
        let wanted = self.wanted_order(id, place)?;
        let at = wanted.iter().position(|known| known == id).unwrap_or_default();
        self.move_in_file(id, at.checked_sub(1).map(|before| wanted[before].clone()))?;
        if self.order() == wanted {
            return Ok(());
        }
        let priority = |at: Option<usize>| Some(self.get(wanted.get(at?)?)?.priority);
        let between = match (priority(at.checked_sub(1)), priority(Some(at + 1))) {
            (Some(before), Some(after)) => f64::midpoint(before, after),
            (Some(before), None) => before + STEP,
            (None, after) => after.unwrap_or_default() - STEP,
        };
        self.give_priority(id, between)?;
        if self.order() == wanted {
            return Ok(());
        }
        let mut next = 0.0;
        for id in &wanted {
            next += STEP;
            self.give_priority(id, next)?;
        }
        Ok(())
    }

    /// Returns all ids in the order of work, whatever their states.
    fn order(&self) -> Vec<String> {
        let mut features: Vec<_> = self.features().iter().collect();
        features.sort_by(|a, b| a.priority.total_cmp(&b.priority));
        features.into_iter().map(|feature| feature.id.clone()).collect()
    }

    fn wanted_order(&self, id: &str, place: &Place) -> Result<Vec<String>> {
        self.find(id)?;
        let mut order = self.order();
        order.retain(|known| known != id);
        let at = |order: &[String], other: &str| order.iter().position(|known| known == other).unwrap_or_default();
        let at = match place {
            Place::Before(other) | Place::After(other) if other == id => bail!("`{id}` cannot be moved next to itself"),
            Place::First => 0,
            Place::Last => order.len(),
            Place::Before(other) => at(&order, &self.find(other)?.id),
            Place::After(other) => at(&order, &self.find(other)?.id) + 1,
        };
        order.insert(at, id.to_owned());
        Ok(order)
    }

    /// Moves a feature behind another one in the file, or to its beginning.
    fn move_in_file(&mut self, id: &str, behind: Option<String>) -> Result<()> {
        let place = |id: &str| self.features().iter().position(|feature| feature.id == id);
        let (Some(from), behind) = (place(id), behind.and_then(|behind| place(&behind))) else { return Ok(()) };
        let to = behind.map_or(0, |behind| if behind < from { behind + 1 } else { behind });
        self.change_list(|list| {
            let moved = list.remove(from);
            list.insert(to, moved);
        })
    }

    fn give_priority(&mut self, id: &str, priority: f64) -> Result<()> {
        let whole = priority.fract() == 0.0 && priority.abs() < 1e15;
        let number: Value = if whole { json!(priority as i64) } else { json!(priority) };
        self.change(id, |fields| {
            fields.insert("priority".to_owned(), number);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checklist(priorities: &[Option<f64>]) -> Checklist {
        let mut checklist = Checklist::empty();
        for (name, priority) in ["a", "b", "c", "d"].iter().zip(priorities) {
            let mut feature = json!({"id": name, "title": name});
            if let Some(priority) = priority {
                feature["priority"] = json!(priority);
            }
            checklist.add(&feature, "me").unwrap();
        }
        checklist
    }

    fn moved(priorities: &[Option<f64>], id: &str, place: &Place) -> (String, Vec<Value>) {
        let mut checklist = checklist(priorities);
        checklist.move_to(id, place).unwrap();
        let given = checklist.features().iter().map(|feature| checklist.json(&feature.id).unwrap()["priority"].clone());
        (checklist.order().concat(), given.collect())
    }

    #[test]
    fn without_priorities_the_place_in_the_file_is_enough() {
        let none = [None; 4];
        for (id, place, order) in [
            ("d", Place::First, "dabc"),
            ("a", Place::Last, "bcda"),
            ("d", Place::Before("b".into()), "adbc"),
            ("a", Place::After("c".into()), "bcad"),
            ("b", Place::After("a".into()), "abcd"),
        ] {
            assert_eq!(moved(&none, id, &place), (order.to_owned(), vec![Value::Null; 4]), "{id} {place:?}");
        }
    }

    #[test]
    fn where_priorities_decide_the_moved_one_gets_another() {
        let tens = [Some(10.0), Some(20.0), Some(30.0), Some(40.0)];
        let (order, given) = moved(&tens, "d", &Place::Before("b".into()));
        assert_eq!((order.as_str(), given), ("adbc", vec![json!(10.0), json!(15), json!(20.0), json!(30.0)]));
        assert_eq!(moved(&tens, "d", &Place::First).1[0], json!(0));
        assert_eq!(moved(&tens, "a", &Place::Last).1[3], json!(50));
    }

    #[test]
    fn equal_priorities_are_told_apart_by_the_file() {
        let tight = [Some(1.0), Some(1.0), Some(1.0), Some(-5.0)];
        let (order, given) = moved(&tight, "d", &Place::After("a".into()));
        assert_eq!((order.as_str(), given), ("adbc", vec![json!(1.0), json!(1), json!(1.0), json!(1.0)]));
    }

    #[test]
    fn where_the_move_would_shift_others_past_each_other_all_get_new_ones() {
        let mixed = [None, None, Some(2.5), None];
        let (order, given) = moved(&mixed, "d", &Place::First);
        assert_eq!((order.as_str(), given), ("dabc", [10, 20, 30, 40].map(|number| json!(number)).to_vec()));
    }

    #[test]
    fn a_neighbour_must_be_another_feature() {
        let mut checklist = checklist(&[None; 4]);
        let before = checklist.render();
        assert!(checklist.move_to("a", &Place::Before("a".into())).is_err());
        assert!(checklist.move_to("a", &Place::Before("x".into())).is_err());
        assert!(checklist.move_to("x", &Place::First).is_err());
        assert_eq!(checklist.render(), before);
    }
}
